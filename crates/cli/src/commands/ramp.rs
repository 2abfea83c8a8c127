//! `mydyno ramp`.

use super::report::write_report;
use super::{Measured, Versioned, as_rank, lab_options, measure, show_of};
use crate::arguments::{FleetArguments, MeasuringArguments, ResultsArguments};
use crate::console::stop_flag;
use crate::failure::{Failure, Outcome};
use crate::text;
use crate::views::{Live, LiveOptions};
use analyse::{RampOutcome, ramps};
use clap::{Arg, Args};
use fleet::Leader;
use lab::{FleetWork, LabRunOptions, planned_cell};
use plan::{Given, RampOptions};
use serde::Serialize;
use spec::{Cell, defaults};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Results;

// A ramp finds what these options say: how many connections there are.
#[derive(Args)]
#[command(mut_args(without_fixed))]
pub struct RampArguments {
    /// Say how long each part of a measurement took: copying, starting, driving, checking, ending
    #[arg(short, long)]
    pub verbose: bool,
    /// HTML report
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as their sections of the help are.
    #[command(flatten)]
    pub fleet: FleetArguments,
    #[command(flatten)]
    pub measuring: MeasuringArguments,
    #[command(flatten)]
    pub ramp: RampOptions,
}

/// Refused with its reason where it is given.
fn without_fixed(arg: Arg) -> Arg {
    let fixed = ["connections", "terminals", "rate", "arrivals", "inactive_warehouses"];
    let is_fixed = fixed.contains(&arg.get_id().as_str());
    if is_fixed { arg.hide(true) } else { arg }
}

/// The JSON document of the command.
#[derive(Serialize)]
struct RampDocument<'a> {
    results_file: String,
    lab_id: i64,
    seed: u64,
    cores: Option<u32>,
    ramp: &'a RampOutcome,
    report: &'a Path,
}

/// Runs the command.
pub fn run(arguments: &RampArguments) -> Outcome {
    let cell = cell(arguments)?;
    let stop = stop_flag();
    let work = FleetWork::Drive(&cell);
    as_rank(&arguments.fleet, ("ramp", &work), &stop, |fleet| raise(arguments, &cell, fleet, &stop))
}

fn raise(
    arguments: &RampArguments,
    cell: &Cell,
    fleet: Option<Arc<Leader>>,
    stop: &Arc<AtomicBool>,
) -> Outcome {
    let shown = LiveOptions { verbose: arguments.verbose, ..LiveOptions::default() };
    let mut live = Live::begin(shown, stop)?;
    lab::check_meters(&cell.meters, stop)?;
    let results = Results::create_or_open(&arguments.results.results)?;
    let planned = planned_cell("ramp", cell.clone())?;
    let options = LabRunOptions { fleet, ..lab_options() };
    let Measured { lab, ended, .. } =
        measure((&results, planned), &options, &mut live, &mut |_, _| false);
    let Some(lab) = lab else { return Ok(ended?.exit) };
    // Whatever ended it, what it has measured is shown.
    let ramps = ramps(&results, lab)?;
    if ended.is_err() && ramps.iter().all(|ramp| ramp.points.is_empty()) {
        return Ok(ended?.exit);
    }
    write_report(&results, lab, &arguments.output)?;
    for ramp in &ramps {
        let seed = arguments.measuring.seed;
        let value = RampDocument {
            results_file: results.path().display().to_string(),
            lab_id: lab.0,
            seed,
            cores: cell.server.private().and_then(|private| private.cores),
            ramp,
            report: &arguments.output,
        };
        show_of(ramp.metric, arguments.json, &Versioned { schema_version: 2, value }, || {
            let report = arguments.output.display();
            format!("{}seed: {seed}\nreport: {report}\n", text::ramp(ramp))
        })?;
    }
    Ok(ended?.exit)
}

pub(super) fn cell(arguments: &RampArguments) -> Result<Cell, Failure> {
    arguments.measuring.cell(|options| {
        options.is_ramp = true;
        options.ramp = arguments.ramp.clone();
        options.load.window.get_or_insert(Given(defaults::WINDOW_OF_POINT));
        let most = Some(defaults::LOCK_WAIT_TIMEOUTS_MAX_SHARE);
        options.load.lock_wait_timeouts_max.get_or_insert(Given(most));
    })
}
