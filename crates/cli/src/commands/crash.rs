//! `mydyno crash`.

use super::report::write_report;
use super::{lab_options, print_json};
use crate::arguments::crash::CrashArguments;
use crate::arguments::measuring::valid;
use crate::console::{Console, print, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::text;
use analyse::{DrillFigures, drills};
use base::{Exit, Warehouses};
use lab::{Job, Progress, planned_repeats, run_lab};
use serde::Serialize;
use spec::{Cell, Connections, Lengths, Load, Private, Server};
use std::path::Path;
use store::Results;

/// The JSON document of the command.
#[derive(Serialize)]
struct CrashDocument<'a> {
    schema_version: u32,
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
    let mut console = Console::new()?;
    console.is_verbose = arguments.verbose;
    let results = Results::create_or_open(&arguments.results.results)?;
    let settings = arguments.measuring.settings();
    let planned = planned_repeats("crash", cell, settings, arguments.cuts)?;
    let mut begun = None;
    let mut show = |progress: Progress<'_>| {
        if let Progress::LabBegins(lab) = progress {
            begun = Some(lab);
        }
        console.show(progress);
    };
    let ended = run_lab(&results, &planned, &lab_options(), &Job::new(&stop, &mut show));
    console.done();
    let Some(lab) = begun else {
        return Ok(ended?.exit);
    };
    // Whatever ended it, the drills that were made are shown.
    let all = drills(&results, lab)?;
    let figures = all.first();
    if figures.is_some() {
        write_report(&results, lab, &arguments.output)?;
    }
    if arguments.json {
        print_json(&CrashDocument {
            schema_version: 1,
            results_file: results.path().display().to_string(),
            lab_id: lab.0,
            seed: arguments.measuring.seed,
            drills: figures,
            report: &arguments.output,
        })?;
    } else if let Some(figures) = figures {
        print(text::drills(figures))?;
        print(format_args!(
            "seed: {}\nreport: {}\n",
            arguments.measuring.seed,
            arguments.output.display()
        ))?;
    }
    let exit = ended?.exit;
    Ok(match figures {
        Some(figures) if exit == Exit::Ok && !figures.is_kept() => Exit::CheckFailed,
        _ => exit,
    })
}

fn cell(arguments: &CrashArguments) -> Result<Cell, Failure> {
    let load = Load {
        style: arguments.style,
        warehouses: Some(Warehouses(arguments.warehouses)),
        connections: Connections::Fixed(arguments.connections),
        ..Load::of_seed(arguments.measuring.seed)
    };
    let lengths =
        Lengths { warmup: arguments.warmup, window: arguments.window, ..Lengths::default() };
    let cell = arguments.measuring.cell(load, lengths, 1)?;
    let Server::Private(private) = cell.server else {
        let words = "a drill ends the server, so it is for private ones; add --engine";
        return Err(Failure::new(Exit::Usage, words));
    };
    let private = Private { fault: Some(arguments.fault), ..private };
    valid(Cell { server: Server::Private(private), ..cell })
}
