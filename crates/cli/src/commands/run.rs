//! `mydyno run`.

use super::measuring::{Begun, ending};
use super::print_json_of;
use super::run_request::validate;
use crate::arguments::run::{Format, RunArguments};
use crate::console::{Console, print, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::text;
use crate::tpcc_mysql_live::TpccMysqlLive;
use crate::views::Live;
use base::{Exit, Warehouses};
use lab::{Place, Progress, Subject, measure};
use live::About;
use spec::{Cell, Connections, Lengths, Load, OpenLoop, defaults};

/// Runs the command.
pub fn run(arguments: &RunArguments) -> Outcome {
    let cell = request(arguments)?;
    let stop = stop_flag();
    // An address that cannot be had is told before anything is started.
    let mut live = Live::begin(arguments.watch, arguments.metrics_listen, &stop)?;
    let mut begun = Begun::of(&cell, &arguments.results, &stop)?;
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
    live.runs_on(about(arguments, subject));
    let notes = std::mem::take(&mut console.notes);
    let place = Place {
        results,
        lab,
        ordinal: 1,
        repeat: 1,
        engine: None,
        settings: &arguments.measuring.settings(),
        notes: &notes,
        seed: cell.load.seed,
        ramp: None,
    };
    let measured = measure(place, subject, &cell, &stop, &mut |p| {
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
        print_json_of(summary.throughput_metric, &measurement)?;
    } else {
        print(format_args!("{}\n", text::summary(&measurement)))?;
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

fn about(arguments: &RunArguments, subject: &Subject) -> About {
    let engine = subject.engine().map(str::to_owned);
    About {
        target: engine.unwrap_or_else(|| subject.dsn()),
        workload: arguments.workload.name().to_owned(),
        style: arguments.style.name().to_owned(),
    }
}

/// What is asked for.
///
/// # Errors
/// What contradicts itself.
pub(super) fn request(arguments: &RunArguments) -> Result<Cell, Failure> {
    validate(arguments)?;
    let measuring = &arguments.measuring;
    let connections = arguments.connections;
    let load = Load {
        workload: arguments.workload.clone(),
        style: arguments.style,
        warehouses: arguments.warehouses.map(Warehouses),
        inactive_warehouses: arguments.inactive_warehouses,
        connections: connections.map_or(Connections::ByDefault, Connections::Fixed),
        terminals: arguments.terminals,
        rate: arguments.rate.map(|rate| OpenLoop {
            rate,
            spacing: arguments.arrivals.unwrap_or(defaults::SPACING),
        }),
        ..Load::of_seed(measuring.seed)
    };
    let lengths = Lengths {
        warmup: arguments.warmup,
        window: arguments.window,
        precision_share: arguments.precision,
        ..Lengths::default()
    };
    Ok(Cell {
        checks: arguments.check,
        ..measuring.cell(load, lengths, arguments.instances)?
    })
}

/// A live format takes the place of the bar.
fn show(
    progress: Progress<'_>,
    tpcc_mysql: Option<&mut TpccMysqlLive>,
    live: &mut Live,
    console: &mut Console,
) {
    match (tpcc_mysql, &progress) {
        (Some(format), Progress::RunStarts { .. } | Progress::Run(_) | Progress::Interval(_)) => {
            format.show(&progress);
        }
        _ => live.show(progress, console),
    }
}
