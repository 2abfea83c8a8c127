//! `mydyno crash`.

use super::report::write_report;
use super::{Measured, lab_options, measure, show};
use crate::arguments::{MeasuringArguments, ResultsArguments};
use crate::console::stop_flag;
use crate::failure::{Failure, Outcome};
use crate::text;
use crate::views::{Live, LiveOptions};
use analyse::{DrillFigures, drills};
use base::Exit;
use clap::Args;
use lab::planned_repeats;
use plan::{CellOptions, CrashOptions, Given};
use serde::Serialize;
use spec::{Cell, Fault, Length, defaults};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::Results;

#[derive(Args)]
pub struct CrashArguments {
    /// Number of drills, each on a server of its own
    #[arg(
        long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub drills: u32,
    /// Say how long each part of a measurement took: copying, starting, driving, checking, ending
    #[arg(short, long)]
    pub verbose: bool,
    /// Report to write, an HTML page
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as their sections of the help are.
    #[command(flatten)]
    pub measuring: MeasuringArguments,
    #[command(flatten)]
    pub crash: CrashOptions,
}

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
    let Some(lab) = lab else { return Ok(ended?.exit) };
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
    Failure::usage_if(
        !arguments.measuring.options.is_private(),
        "a drill ends the server, so it is for private ones; add --engine",
    )?;
    arguments.measuring.cell(|options| {
        let CellOptions { crash, database, load, .. } = options;
        crash.fault = arguments.crash.fault.clone().or(Some(Given(Fault::PowerCut)));
        database.warehouses.get_or_insert(Given(1));
        load.connections.get_or_insert(Given(defaults::CONNECTIONS));
        load.warmup.get_or_insert(Given(Length::fixed(Duration::from_secs(1))));
        load.window.get_or_insert(Given(Length::fixed(Duration::from_secs(4))));
    })
}
