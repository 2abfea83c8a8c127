//! `mydyno run`.

use super::fleet_role::as_rank;
use super::measured::measure;
use super::run_request::validate;
use super::run_verdict::RunVerdict;
use super::{lab_options, show_of};
use crate::arguments::run::{Format, RunArguments};
use crate::console::{live_stdout, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::text;
use crate::tpcc_mysql_format::Asked;
use crate::tpcc_mysql_live::TpccMysqlLive;
use crate::views::{Live, LiveOptions};
use analyse::{JudgedCondition, RunDocument};
use base::Exit;
use fleet::Leader;
use lab::{FleetWork, LabRunOptions, Progress, planned_cell};
use serde::Serialize;
use spec::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Results;

/// The JSON document of the command.
#[derive(Serialize)]
struct JudgedRunDocument<'a> {
    #[serde(flatten)]
    measurement: &'a RunDocument,
    conditions: &'a [JudgedCondition],
}

/// Runs the command.
pub fn run(arguments: &RunArguments) -> Outcome {
    let mut verdict = RunVerdict::begin(arguments)?;
    let ended = drive(arguments, &mut verdict);
    verdict.end(ended)
}

fn drive(arguments: &RunArguments, verdict: &mut RunVerdict<'_>) -> Outcome {
    let cell = request(arguments)?;
    let stop = stop_flag();
    let work = FleetWork::Drive(&cell);
    as_rank(&arguments.fleet, ("run", &work), &stop, |fleet| {
        drive_cell((arguments, verdict), &cell, fleet, &stop)
    })
}

fn drive_cell(
    (arguments, verdict): (&RunArguments, &mut RunVerdict<'_>),
    cell: &Cell,
    fleet: Option<Arc<Leader>>,
    stop: &Arc<AtomicBool>,
) -> Outcome {
    // An address that cannot be had is told before anything is started.
    let RunArguments { watch, metrics_listen, verbose, .. } = *arguments;
    let shown = LiveOptions { watch, metrics_listen, verbose, ..LiveOptions::default() };
    let mut live = Live::begin(shown, stop)?;
    lab::check_meters(&cell.meters, stop)?;
    let results = Results::create_or_open(&arguments.results.results)?;
    let planned = planned_cell("run", cell.clone())?;
    let is_tpcc_mysql = arguments.format == Format::TpccMysql;
    let mut outlet = is_tpcc_mysql.then(live_stdout).transpose()?;
    let mut tpcc_mysql: Option<TpccMysqlLive<'_>> = None;
    let options = LabRunOptions { fleet, ..lab_options() };
    let planned = (&results, planned);
    let measured = measure(planned, &options, &mut live, stop, &mut |progress, _| {
        match (&mut tpcc_mysql, progress) {
            (_, Progress::Reached { subject, .. }) => {
                let (options, connect) = (&arguments.measuring.options, subject.connect.clone());
                let begin = |outlet| TpccMysqlLive::begin(outlet, Asked { options, cell, connect });
                tpcc_mysql = outlet.take().map(begin);
                false
            }
            // A live format takes the place of the bar.
            (
                Some(format),
                Progress::RunStarts { .. } | Progress::Run(_) | Progress::Interval(_),
            ) => {
                format.show(progress);
                true
            }
            _ => false,
        }
    });
    let exit = measured.ended?.exit;
    let Some(repeat) = measured.repeats.first().copied() else {
        return Ok(exit);
    };
    let (measurement, conditions) = verdict.judge(analyse::measurement(&results, repeat)?);
    let summary = &measurement.summary;
    if let Some(tpcc_mysql) = &mut tpcc_mysql {
        tpcc_mysql.finish(&results, repeat)?;
    } else {
        let found = JudgedRunDocument { measurement, conditions: &conditions };
        show_of(summary.throughput_metric, arguments.json, &found, || {
            let (run, judged) = (text::summary(measurement), text::conditions(&conditions));
            let file = arguments.results.results.display();
            format!("{run}{judged}\nfull report: mydyno report --results {file}\n")
        })?;
    }
    if let (Some(reason), false) = (&summary.reason, exit == Exit::Ok) {
        let log = results.repeat(repeat)?.log_tail.unwrap_or_default();
        let failure = Failure::new(
            exit,
            match (exit, log.as_str()) {
                (Exit::Interrupted, _) => reason.clone(),
                (_, "") => format!("the run failed: {reason}"),
                _ => format!("the run failed: {reason}; the end of the server's log:\n{log}"),
            },
        );
        return Err(Failure { reason: summary.reason_code.clone(), ..failure });
    }
    Ok(exit)
}

/// What is asked for.
///
/// # Errors
/// What contradicts itself.
pub(super) fn request(arguments: &RunArguments) -> Result<Cell, Failure> {
    let cell = arguments.measuring.cell(|_| ())?;
    validate(arguments, &cell)?;
    Ok(cell)
}
