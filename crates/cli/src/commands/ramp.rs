//! `mydyno ramp`.

use super::fleet_role::as_rank;
use super::measured::{Measured, measure};
use super::report::write_report;
use super::{Versioned, lab_options, show_of};
use crate::arguments::ramp::RampArguments;
use crate::console::stop_flag;
use crate::failure::{Failure, Outcome};
use crate::text;
use crate::views::{Live, LiveOptions};
use analyse::{RampOutcome, ramps};
use fleet::Leader;
use lab::{FleetWork, LabRunOptions, planned_cell};
use plan::Given;
use serde::Serialize;
use spec::{Cell, defaults};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{LabId, Results};

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
        measure((&results, planned), &options, &mut live, stop, &mut |_, _| false);
    // Whatever ended it, what it has measured is shown.
    if let Some(lab) = lab {
        let ramps = ramps(&results, lab)?;
        if ended.is_ok() || ramps.iter().any(|ramp| !ramp.points.is_empty()) {
            show_ramps((arguments, cell), &results, lab, &ramps)?;
        }
    }
    Ok(ended?.exit)
}

fn show_ramps(
    (arguments, cell): (&RampArguments, &Cell),
    results: &Results,
    lab: LabId,
    ramps: &[RampOutcome],
) -> Result<(), Failure> {
    write_report(results, lab, &arguments.output)?;
    for ramp in ramps {
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
    Ok(())
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
