//! `mydyno ramp`.

use super::measuring::{Begun, ending};
use super::print_json_of;
use super::report::write_report;
use crate::arguments::ramp::RampArguments;
use crate::console::{print, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::text;
use analyse::{RampOutcome, ramps};
use base::Warehouses;
use lab::{RampPlace, ramp};
use serde::Serialize;
use spec::{Cell, Connections, Lengths, Load, RampLimits, defaults};
use std::path::Path;
use store::{LabId, Results};

/// The JSON document of the command.
#[derive(Serialize)]
struct RampDocument<'a> {
    schema_version: u32,
    results_file: String,
    lab_id: i64,
    seed: u64,
    ramp: &'a RampOutcome,
    report: &'a Path,
}

/// Runs the command.
pub fn run(arguments: &RampArguments) -> Outcome {
    let limits = arguments.limits();
    let cell = cell(arguments, &limits)?;
    let stop = stop_flag();
    let mut begun = Begun::of(&cell, &arguments.results, &stop)?;
    let lab = begun.lab("ramp")?;
    let Begun {
        subject,
        console,
        results,
        ..
    } = &mut begun;
    let notes = std::mem::take(&mut console.notes);
    let place = RampPlace {
        results,
        lab,
        ordinal: 1,
        repeat: 1,
        engine: None,
        settings: &arguments.measuring.settings(),
        seed: cell.load.seed,
        planned_cells: 0,
        notes: &notes,
    };
    let asked = (&cell, &limits);
    let ended = ramp(place, subject, asked, &stop, &mut |p| console.show(p));
    let ended = ended.map_err(Failure::from);
    let (status, reason) = ending(ended.as_ref().copied());
    results.finish_lab(lab, status, reason.as_deref())?;
    console.done();
    let ramps = ramps(results, lab)?;
    // Whatever ended it, what it has measured is shown.
    if ended.is_ok() || ramps.iter().any(|ramp| !ramp.points.is_empty()) {
        show(arguments, results, lab, &ramps)?;
    }
    ended
}

fn show(
    arguments: &RampArguments,
    results: &Results,
    lab: LabId,
    ramps: &[RampOutcome],
) -> Result<(), Failure> {
    write_report(results, lab, &arguments.output)?;
    for ramp in ramps {
        if arguments.json {
            print_json_of(
                ramp.metric,
                &RampDocument {
                    schema_version: 2,
                    results_file: results.path().display().to_string(),
                    lab_id: lab.0,
                    seed: arguments.measuring.seed,
                    ramp,
                    report: &arguments.output,
                },
            )?;
        } else {
            print(text::ramp(ramp))?;
            print(format!(
                "seed: {}\nreport: {}\n",
                arguments.measuring.seed,
                arguments.output.display()
            ))?;
        }
    }
    Ok(())
}

fn cell(arguments: &RampArguments, limits: &RampLimits) -> Result<Cell, Failure> {
    let load = Load {
        workload: arguments.workload.clone(),
        style: arguments.style,
        warehouses: arguments.warehouses.map(Warehouses),
        connections: Connections::Ramp(limits.clone()),
        ..Load::of_seed(arguments.measuring.seed)
    };
    let lengths = Lengths {
        warmup: arguments.warmup,
        window: arguments.window,
        ..Lengths::default()
    };
    Ok(Cell {
        checks: arguments.check,
        lock_wait_timeouts_max_share: Some(defaults::LOCK_WAIT_TIMEOUTS_MAX_SHARE),
        ..arguments.measuring.cell(load, lengths, 1)?
    })
}
