//! `mydyno crash`.

use super::measured::{Measured, measure};
use super::report::write_report;
use super::{lab_options, show};
use crate::arguments::crash::CrashArguments;
use crate::console::stop_flag;
use crate::failure::{Failure, Outcome};
use crate::text;
use crate::views::{Live, LiveOptions};
use analyse::{DrillFigures, drills};
use base::Exit;
use lab::planned_repeats;
use plan::{CellOptions, Given};
use serde::Serialize;
use spec::{Cell, Fault, Length, defaults};
use std::path::Path;
use std::time::Duration;
use store::Results;

/// The JSON document of the command.
#[derive(Serialize)]
struct CrashDocument<'a> {
    results_file: String,
    lab_id: i64,
    seed: u64,
    drills: Option<&'a DrillFigures>,
    report: &'a Path,
}

/// Runs the command.
pub fn run(arguments: &CrashArguments) -> Outcome {
    let cell = cell(arguments)?;
    let stop = stop_flag();
    let shown = LiveOptions { verbose: arguments.verbose, ..LiveOptions::default() };
    let mut live = Live::begin(shown, &stop)?;
    let results = Results::create_or_open(&arguments.results.results)?;
    let planned = planned_repeats("crash", cell, arguments.drills)?;
    let Measured { lab, ended, .. } =
        measure((&results, planned), &lab_options(), &mut live, &stop, &mut |_, _| false);
    let Some(lab) = lab else {
        return Ok(ended?.exit);
    };
    // Whatever ended it, the drills that were made are shown.
    let all = drills(&results, lab)?;
    let figures = all.first();
    if figures.is_some() {
        write_report(&results, lab, &arguments.output)?;
    }
    let seed = arguments.measuring.seed;
    let found = CrashDocument {
        results_file: results.path().display().to_string(),
        lab_id: lab.0,
        seed,
        drills: figures,
        report: &arguments.output,
    };
    show(arguments.json, 1, &found, || {
        let report = arguments.output.display();
        let words = |of| format!("{}seed: {seed}\nreport: {report}\n", text::drills(of));
        figures.map_or_else(String::new, words)
    })?;
    let exit = ended?.exit;
    Ok(match figures {
        Some(figures) if exit == Exit::Ok && !figures.is_kept() => Exit::CheckFailed,
        _ => exit,
    })
}

pub(super) fn cell(arguments: &CrashArguments) -> Result<Cell, Failure> {
    if !arguments.measuring.options.is_private() {
        let words = "a drill ends the server, so it is for private ones; add --engine";
        return Err(Failure::new(Exit::Usage, words));
    }
    arguments.measuring.cell(|options| {
        let CellOptions { crash, database, load, .. } = options;
        crash.fault = arguments.crash.fault.clone().or(Some(Given(Fault::PowerCut)));
        database.warehouses.get_or_insert(Given(1));
        load.connections.get_or_insert(Given(defaults::CONNECTIONS));
        load.warmup.get_or_insert(Given(Length::fixed(Duration::from_secs(1))));
        load.window.get_or_insert(Given(Length::fixed(Duration::from_secs(4))));
    })
}
