//! `mydyno run`.

use super::{begin_lab, print_json, start_private};
use crate::arguments::RunArguments;
use crate::console::{Console, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::words;
use ::server::Home;
use base::{Exit, Warehouses};
use lab::{
    Measured, OpenLoop, Place, RunSpec, Spacing, Subject, Workload, measure, reach, record_load,
};
use std::sync::atomic::AtomicBool;
use store::{LabId, LabStatus, NoteOn, Results};

/// Warehouses of a private server where none are named.
const PRIVATE_WAREHOUSES: u32 = 10;

/// Runs the command.
pub fn run(arguments: &RunArguments) -> Outcome {
    check_usage(arguments)?;
    let stop = stop_flag();
    let home = Home::from_env()?;
    let results = Results::create_or_open(&arguments.results.results)?;
    let mut console = Console::new();
    let warehouses = loaded(arguments).map_or(PRIVATE_WAREHOUSES, |loaded| loaded.0);
    let (subject, load) = match arguments.target.private(warehouses, arguments.seed, true) {
        Some(spec) => start_private(&home, &spec, &stop, &mut console)?,
        None => (arguments.target.external(&home, &mut console)?, None),
    };
    // A target that cannot be reached is an error of the command and no lab.
    reach(&subject)?;
    let lab = begin_lab(&results, "run", subject.data_directory())?;
    if let Some(load) = &load {
        record_load(&results, Some(lab), load)?;
    }
    let measured = measure_in(&results, lab, &subject, arguments, &stop, &mut console);
    console.done();
    let (status, reason) = match &measured {
        Ok(Measured { exit: Exit::Ok, .. }) => (LabStatus::Done, None),
        Ok(Measured {
            exit: Exit::Interrupted,
            ..
        }) => (LabStatus::Interrupted, None),
        Ok(_) => (LabStatus::Failed, None),
        Err(failure) => (LabStatus::Failed, Some(format!("{:#}", failure.error))),
    };
    results.finish_lab(lab, status, reason.as_deref())?;
    let measured = measured?;
    for note in &console.notes {
        results.record_note(NoteOn::Repeat(measured.repeat), note)?;
    }
    let summary = results.summary(measured.repeat)?;
    if arguments.json {
        print_json(&summary)?;
    } else {
        println!("{}", words::summary(&summary));
    }
    if let (Some(reason), false) = (&summary.reason, measured.exit == Exit::Ok) {
        let log = results
            .repeat(measured.repeat)?
            .log_tail
            .unwrap_or_default();
        let tail = if log.is_empty() {
            String::new()
        } else {
            format!("; the end of the server's log:\n{log}")
        };
        return Err(Failure::new(
            measured.exit,
            format!("the run failed: {reason}{tail}"),
        ));
    }
    Ok(measured.exit)
}

/// Arguments that contradict each other.
fn check_usage(arguments: &RunArguments) -> Result<(), Failure> {
    let terminals = arguments.workload == Workload::TpccSpec;
    let inactive = arguments.inactive_warehouses;
    let contradiction = if terminals && arguments.rate.is_some() {
        "--rate sets the pace of a workload without terminals, and --workload tpcc-spec has its own: leave one out"
            .to_owned()
    } else if terminals && arguments.home {
        "--home is for connections, and the terminals of --workload tpcc-spec have home warehouses anyway: leave it out"
            .to_owned()
    } else if inactive > 0 && !terminals {
        "--inactive-warehouses is for terminals: add --workload tpcc-spec".to_owned()
    } else if arguments.warehouses.is_some_and(|all| inactive >= all) {
        format!(
            "--inactive-warehouses {inactive} leaves none of the warehouses of -w with rows; name fewer"
        )
    } else {
        return Ok(());
    };
    Err(Failure::new(Exit::Usage, contradiction))
}

/// Warehouses with rows, where a number is named.
fn loaded(arguments: &RunArguments) -> Option<Warehouses> {
    let all = arguments.warehouses?;
    Some(Warehouses(all - arguments.inactive_warehouses))
}

fn measure_in(
    results: &Results,
    lab: LabId,
    subject: &Subject,
    arguments: &RunArguments,
    stop: &AtomicBool,
    console: &mut Console,
) -> Result<Measured, Failure> {
    let spec = RunSpec {
        workload: arguments.workload,
        style: arguments.style,
        connections: arguments.connections,
        rate: arguments.rate.map(|rate| OpenLoop {
            rate,
            spacing: arguments.arrivals.unwrap_or(Spacing::Poisson),
        }),
        inactive_warehouses: arguments.inactive_warehouses,
        warmup: arguments.warmup,
        window: arguments.window,
        interval: arguments.interval,
        seed: arguments.seed,
        warehouses: loaded(arguments),
        home: arguments.home,
        checks: arguments.check,
        settings: arguments.target.set.clone(),
    };
    let place = Place {
        results,
        lab,
        ordinal: 1,
    };
    Ok(measure(place, subject, &spec, stop, &mut |p| {
        console.show(p);
    })?)
}
