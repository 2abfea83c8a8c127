//! `mydyno run`.

use super::measuring::{Begun, ending};
use super::print_json;
use super::run_request::validate;
use crate::arguments::{Format, RunArguments};
use crate::console::{Console, print, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::live::Live;
use crate::tpcc_mysql_live::Live as TpccMysqlLive;
use crate::words;
use base::{Exit, Warehouses};
use lab::{OpenLoop, Place, PrivateSpec, Progress, RunSpec, Spacing, measure, with_room};
use plan::PRECISION_DEFAULT;

/// Runs the command.
pub fn run(arguments: &RunArguments) -> Outcome {
    validate(arguments)?;
    let stop = stop_flag();
    // An address that cannot be had is told before anything is started.
    let mut live = Live::begin(arguments.watch, arguments.metrics_listen, &stop)?;
    let mut begun = Begun::of(
        &arguments.measuring,
        private(arguments)?,
        &arguments.results,
        &stop,
    )?;
    let mut tpcc_mysql = match arguments.format {
        Format::Words => None,
        Format::TpccMysql => Some(TpccMysqlLive::begin(arguments, &begun.subject)?),
    };
    let lab = begun.lab("run")?;
    let Begun {
        subject,
        console,
        results,
        ..
    } = &mut begun;
    live.runs_on(arguments, subject);
    let notes = std::mem::take(&mut console.notes);
    let place = Place {
        results,
        lab,
        ordinal: 1,
        repeat: 1,
        notes: &notes,
        seed: arguments.measuring.seed,
        ramp: None,
    };
    let measured = measure(place, subject, &spec(arguments), &stop, &mut |p| {
        live.take(&p);
        show(p, tpcc_mysql.as_mut(), &mut live, console);
    });
    let measured = measured.map_err(Failure::from);
    live.end_of_load();
    let (status, reason) = ending(measured.as_ref().map(|measured| measured.exit));
    results.finish_lab(lab, status, reason.as_deref())?;
    // All is stored: from here on a reader who stalls may be waited for.
    live.finish(console);
    console.done();
    let measured = measured?;
    let measurement = analyse::measurement(results, measured.repeat)?;
    let summary = &measurement.summary;
    if let Some(tpcc_mysql) = &mut tpcc_mysql {
        tpcc_mysql.finish(results, measured.repeat)?;
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

/// The private servers that are asked for, if any are.
fn private(arguments: &RunArguments) -> Result<Option<PrivateSpec>, Failure> {
    let Some(one) = arguments
        .measuring
        .private(arguments.warehouses.map(Warehouses))
    else {
        return Ok(None);
    };
    let all = PrivateSpec {
        instances: arguments.instances,
        ..one
    };
    let connections = lab::connections(&spec(arguments), all.warehouses)?;
    Ok(Some(with_room(all, connections)))
}

fn spec(arguments: &RunArguments) -> RunSpec {
    let measuring = &arguments.measuring;
    RunSpec {
        workload: arguments.workload,
        style: arguments.style,
        isolation: measuring.isolation,
        connections: arguments.connections,
        threads: measuring.threads,
        rate: arguments.rate.map(|rate| OpenLoop {
            rate,
            spacing: arguments.arrivals.unwrap_or(Spacing::Poisson),
        }),
        inactive_warehouses: arguments.inactive_warehouses,
        terminals: arguments.terminals,
        warmup: arguments.warmup,
        window: arguments.window,
        precision_share: arguments.precision.unwrap_or(PRECISION_DEFAULT),
        interval: measuring.interval,
        seed: measuring.seed,
        warehouses: arguments.warehouses.map(Warehouses),
        home: measuring.home,
        checks: arguments.check,
        lock_wait_timeouts_max_share: None,
        meters: measuring.meters(),
        engine: None,
        settings: measuring.settings(),
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
