//! `mydyno crash`.

use super::report::write_report;
use super::{Measured, lab_options, measure, show};
use crate::arguments::{MeasuringArguments, ResultsArguments};
use crate::console::stop_flag;
use crate::failure::{Failure, Outcome};
use crate::views::{Live, LiveOptions};
use analyse::{DrillFigures, Table, drills};
use base::{Exit, counted};
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
        measure((&results, planned), &lab_options(), &mut live, &mut |_, _| false);
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
        let words = |of| format!("{}seed: {seed}\nreport: {report}\n", drills_text(of));
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

/// What a command of drills prints.
fn drills_text(of: &DrillFigures) -> String {
    let drills = counted(of.drills as usize, "drill", "drills");
    let mut text = format!("{drills} ({}): the server recovered from {}", of.fault, of.recovered);
    if let (Some(mean_s), Some(max_s)) = (of.recovery_mean_s, of.recovery_max_s) {
        text += &format!(", in {mean_s:.1} s in the mean and {max_s:.1} s at most");
    }
    if let Some(reactions) = of.reactions_in_words() {
        let errors: u64 = of.reactions.iter().map(|of| of.client_errors).sum();
        text += &format!("\nunder the fault it {reactions}; clients gave up {errors} transactions");
    }
    text.push_str("\n\n");
    text += &Table::of(&of.witnessed)
        .words("rows", |kind| kind.name.replace('_', " "))
        .numbers("acknowledged", |kind| kind.acknowledged.to_string())
        .numbers("in doubt", |kind| kind.in_doubt.to_string())
        .numbers("lost", |kind| kind.lost.to_string())
        .numbers("unexplained", |kind| kind.unexplained.to_string())
        .text();
    if of.with_losses > 0 {
        text += &format!(
            "\nafter {} of {drills} something was lost that had been acknowledged, at most what \
             was of the last {:.2} s\n",
            of.with_losses, of.lost_span_max_s
        );
    }
    if of.unstable_writes > 0 {
        text += &format!(
            "\nof {} writes that were not promised {} were lost and {} torn\n",
            of.unstable_writes, of.lost_writes, of.torn_writes
        );
    }
    if of.forced_writes > 0 {
        text += &format!(
            "{} more count as kept, as the journal had no room for what they replaced\n",
            of.forced_writes
        );
    }
    if of.torn_pages + of.corrupt_pages > 0 {
        text += &format!(
            "{} pages were not whole before the recoveries, {} at the end\n",
            of.torn_pages, of.corrupt_pages
        );
    }
    for reaction in &of.reactions {
        let said = reaction.said.as_deref().unwrap_or("its log says nothing of it");
        text += &format!("\ndrill {}: {}: {said}\n", reaction.drill, reaction.reaction);
    }
    for damage in &of.damage {
        text += &format!("\ndrill {}: {}\n", damage.drill, damage.what);
    }
    let verdict = if of.is_kept() { "nothing is lost or damaged" } else { "NOT KEPT" };
    text += &format!("\n{verdict}\n");
    text
}
