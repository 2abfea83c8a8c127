//! `mydyno run`.

use super::run_request::validate;
use super::{PRIVATE_WAREHOUSES, begin_lab, print_json, settings, start_private};
use crate::arguments::{Format, RunArguments};
use crate::console::{Console, print, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::live::Live;
use crate::tpcc_mysql_live::Live as TpccMysqlLive;
use crate::words;
use ::server::Home;
use base::{Exit, Warehouses};
use lab::{
    Measured, Meters, OpenLoop, Place, PrivateSpec, Progress, RunSpec, Spacing, Subject, measure,
    reach, record_load,
};
use plan::PRECISION_DEFAULT;
use std::sync::atomic::AtomicBool;
use store::{LabStatus, Load, Results};

/// Runs the command.
pub fn run(arguments: &RunArguments) -> Outcome {
    validate(arguments)?;
    let stop = stop_flag();
    // An address that cannot be had is told before anything is started, and so is a meter that says nothing.
    let mut live = Live::begin(arguments.watch, arguments.metrics_listen, &stop)?;
    let meters = Meters {
        power_command: arguments.power_command.clone(),
        host_metrics: arguments.host_metrics.clone(),
    };
    lab::check_meters(&meters, &stop)?;
    let home = Home::from_env()?;
    let results = Results::create_or_open(&arguments.results.results)?;
    let mut console = Console::new()?;
    let (subject, load) = subject(arguments, &home, &stop, &mut console)?;
    // A target that cannot be reached is an error of the command and no lab.
    reach(&subject)?;
    let mut tpcc_mysql = match arguments.format {
        Format::Words => None,
        Format::TpccMysql => Some(TpccMysqlLive::begin(arguments, &subject)?),
    };
    let lab = begin_lab(&results, "run", subject.data_directory())?;
    if let Some(load) = &load {
        record_load(&results, Some(lab), load)?;
    }
    live.runs_on(arguments, &subject);
    let notes = std::mem::take(&mut console.notes);
    let place = Place {
        results: &results,
        lab,
        ordinal: 1,
        repeat: 1,
        notes: &notes,
        ramp: None,
    };
    let measured = measure(place, &subject, &spec(arguments, meters), &stop, &mut |p| {
        live.take(&p);
        show(p, tpcc_mysql.as_mut(), &mut live, &mut console);
    });
    let measured = measured.map_err(Failure::from);
    live.end_of_load();
    let (status, reason) = ending(&measured);
    results.finish_lab(lab, status, reason.as_deref())?;
    // All is stored: from here on a reader who stalls may be waited for.
    live.finish(&mut console);
    console.done();
    let measured = measured?;
    let measurement = analyse::measurement(&results, measured.repeat)?;
    let summary = &measurement.summary;
    if let Some(tpcc_mysql) = &mut tpcc_mysql {
        tpcc_mysql.finish(&results, measured.repeat)?;
    } else if arguments.json {
        print_json(&measurement)?;
    } else {
        print(format_args!("{}\n", words::summary(&measurement)))?;
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

/// The server that is asked for, with the load of its image where one was made.
fn subject(
    arguments: &RunArguments,
    home: &Home,
    stop: &AtomicBool,
    console: &mut Console,
) -> Result<(Subject, Option<Load>), Failure> {
    let warehouses = loaded(arguments).map_or(PRIVATE_WAREHOUSES, |loaded| loaded.0);
    let target = &arguments.target;
    match target.private(warehouses, arguments.seed, arguments.schema) {
        Some(spec) => {
            let spec = PrivateSpec {
                preset: arguments.preset.for_warehouses(spec.warehouses),
                placement: arguments.places.placement(),
                instances: arguments.instances,
                ..spec
            };
            start_private(home, &spec, stop, console)
        }
        None => Ok((target.external(home, arguments.schemas, console)?, None)),
    }
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

/// Warehouses with rows, where a number is named.
fn loaded(arguments: &RunArguments) -> Option<Warehouses> {
    let all = arguments.warehouses?;
    Some(Warehouses(all - arguments.inactive_warehouses))
}

fn spec(arguments: &RunArguments, meters: Meters) -> RunSpec {
    RunSpec {
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
        precision_share: arguments.precision.unwrap_or(PRECISION_DEFAULT),
        interval: arguments.interval,
        seed: arguments.seed,
        warehouses: loaded(arguments),
        home: arguments.home,
        checks: arguments.check,
        lock_wait_timeouts_max_share: None,
        meters,
        settings: settings(&arguments.target, &arguments.places),
    }
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
