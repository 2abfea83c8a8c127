//! `mydyno run`.

use super::run_request::validate;
use super::{begin_lab, print_json, start_private};
use crate::arguments::{Format, RunArguments};
use crate::console::{Console, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::live::Live;
use crate::tpcc_mysql_live::Live as TpccMysqlLive;
use crate::words;
use ::server::Home;
use base::{Exit, Warehouses};
use lab::{
    Measured, Meters, OnProgress, OpenLoop, Place, PrivateSpec, Progress, RunSpec, Spacing,
    Subject, measure, reach, record_load,
};
use std::sync::atomic::AtomicBool;
use store::{LabId, LabStatus, NoteOn, Results};

/// Warehouses of a private server where none are named.
const PRIVATE_WAREHOUSES: u32 = 10;

/// Runs the command.
pub fn run(arguments: &RunArguments) -> Outcome {
    validate(arguments)?;
    let stop = stop_flag();
    // An address that cannot be had is told before anything is started.
    let mut live = Live::begin(arguments, &stop)?;
    let home = Home::from_env()?;
    let results = Results::create_or_open(&arguments.results.results)?;
    let mut console = Console::new();
    let warehouses = loaded(arguments).map_or(PRIVATE_WAREHOUSES, |loaded| loaded.0);
    let (subject, load) = match arguments.target.private(warehouses, arguments.seed, true) {
        Some(spec) => {
            let spec = PrivateSpec {
                preset: arguments.preset.for_warehouses(spec.warehouses),
                placement: arguments.places.placement(),
                ..spec
            };
            start_private(&home, &spec, &stop, &mut console)?
        }
        None => {
            let target = &arguments.target;
            let subject = target.external(&home, arguments.schemas, &mut console)?;
            (subject, None)
        }
    };
    // A target that cannot be reached is an error of the command and no lab.
    reach(&subject)?;
    let lab = begin_lab(&results, "run", subject.data_directory())?;
    if let Some(load) = &load {
        record_load(&results, Some(lab), load)?;
    }
    live.runs_on(arguments, &subject);
    let mut tpcc_mysql =
        (arguments.format == Format::TpccMysql).then(|| TpccMysqlLive::begin(arguments, &subject));
    let measured = measure_in(&results, lab, &subject, arguments, &stop, &mut |p| {
        live.take(&p);
        show(p, tpcc_mysql.as_mut(), &mut live, &mut console);
    });
    live.finish(&mut console);
    console.done();
    let (status, reason) = ending(&measured);
    results.finish_lab(lab, status, reason.as_deref())?;
    let measured = measured?;
    for note in &console.notes {
        results.record_note(NoteOn::Repeat(measured.repeat), note)?;
    }
    let measurement = analyse::measurement(&results, measured.repeat)?;
    let summary = &measurement.summary;
    if let Some(tpcc_mysql) = &mut tpcc_mysql {
        tpcc_mysql.finish(&results, measured.repeat)?;
    } else if arguments.json {
        print_json(&measurement)?;
    } else {
        println!("{}", words::summary(&measurement));
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

/// How the lab ended, and why where it failed without a repeat.
fn ending(measured: &Result<Measured, Failure>) -> (LabStatus, Option<String>) {
    match measured {
        Ok(Measured { exit: Exit::Ok, .. }) => (LabStatus::Done, None),
        Ok(Measured {
            exit: Exit::Interrupted,
            ..
        }) => (LabStatus::Interrupted, None),
        Ok(_) => (LabStatus::Failed, None),
        Err(failure) => (LabStatus::Failed, Some(format!("{:#}", failure.error))),
    }
}

/// What else names the cell.
fn settings(arguments: &RunArguments) -> Vec<(String, String)> {
    let page_cache = arguments.places.page_cache;
    let page_cache = page_cache.map(|bytes| ("page_cache_bytes".to_owned(), bytes.to_string()));
    arguments
        .target
        .set
        .iter()
        .cloned()
        .chain(page_cache)
        .collect()
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
    on_progress: &mut OnProgress<'_>,
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
        meters: Meters {
            power_command: arguments.power_command.clone(),
            host_metrics: arguments.host_metrics.clone(),
        },
        settings: settings(arguments),
    };
    let place = Place {
        results,
        lab,
        ordinal: 1,
    };
    Ok(measure(place, subject, &spec, stop, on_progress)?)
}

/// A live format takes the place of the bar.
fn show(
    progress: Progress<'_>,
    tpcc_mysql: Option<&mut TpccMysqlLive>,
    live: &mut Live,
    console: &mut Console,
) {
    match (tpcc_mysql, &progress) {
        (Some(format), Progress::RunStarts(_) | Progress::Run(_) | Progress::Interval(_)) => {
            format.show(&progress);
        }
        _ => live.show(progress, console),
    }
}
