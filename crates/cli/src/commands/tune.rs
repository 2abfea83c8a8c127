//! `mydyno tune`.

use super::advise::gain;
use super::lab::read_planned;
use super::report::write_report;
use super::{lab_options, show};
use crate::arguments::{ResultsArguments, duration, one_of};
use crate::console::stop_flag;
use crate::failure::{Failure, Outcome};
use crate::text::format::optional;
use crate::views::{Live, LiveOptions};
use analyse::{DimensionEffects, ValueEffect};
use base::{Exit, counted};
use clap::Args;
use lab::{Job, LabRunOptions, Planned, Progress, check_meters};
use plan::Plan;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::{LabId, Results};
use tune::{Found, FoundCell, Objective, Search, SearchAsked};

#[derive(Args)]
pub struct TuneArguments {
    /// Plan file: its lists are what is searched, and their first values are the start
    pub plan: PathBuf,
    /// Real time that the search may take, the comparison with the start at its end included
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub budget: Duration,
    /// What is best: nopm (the highest throughput), p95 (the shortest 95th percentile of new
    /// orders; for plans with a `rate`) or nopm-per-usd (by the price of emulated devices)
    #[arg(
        long, default_value = Objective::Nopm.name(), hide_possible_values = true,
        value_parser = one_of(Objective::ALL, Objective::name)
    )]
    pub objective: Objective,
    /// Settings with a longer 95th percentile of new orders are worse than all others [default: no
    /// limit]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub p95_max: Option<Duration>,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// HTML report
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// The JSON document of the command.
#[derive(Serialize)]
struct TuneDocument<'a> {
    #[serde(flatten)]
    found: &'a Found,
    report: &'a Path,
}

/// Searches the matrix of a plan.
pub fn run(arguments: &TuneArguments) -> Outcome {
    let file = &arguments.results.results;
    let (plan, planned) = read_planned(&arguments.plan, file)?;
    require_matrix(&planned)?;
    let options = lab_options();
    if !file.exists() {
        // Refuse what is not feasible before the results file is created.
        planned.images_for(&planned.turns)?;
    }
    let stop = stop_flag();
    check_meters(&plan.meters, &stop)?;
    let results = Results::create_or_open(file)?;
    let found = search(arguments, (&plan, planned), (&results, &options, &stop))?;
    write_report(&results, LabId(found.lab_id), &arguments.output)?;
    let exit = match &found {
        Found { interrupted: true, .. } => Exit::Interrupted,
        Found { checks_failed: true, .. } => Exit::CheckFailed,
        _ => Exit::Ok,
    };
    let report = &arguments.output;
    show(arguments.json, 1, &TuneDocument { found: &found, report }, || {
        format!("{}report: {}\n", found_text(&found), report.display())
    })?;
    Ok(exit)
}

fn require_matrix(planned: &Planned) -> Result<(), Failure> {
    let words = if planned.cells.len() < 3 {
        "the plan has too few cells to search; give lists to the settings in question \
         ([server.set] innodb_io_capacity = [200, 2000, 20000])"
    } else if planned.cells.iter().any(|(cell, _)| cell.what.load.connections.is_ramp()) {
        "a ramp has no window to compare; name `connections` instead of [ramp]"
    } else {
        return Ok(());
    };
    Err(Failure::new(Exit::PlanInvalid, words))
}

fn search(
    arguments: &TuneArguments,
    (plan, planned): (&Plan, Planned),
    (results, options, stop): (&Results, &LabRunOptions, &Arc<AtomicBool>),
) -> Result<Found, Failure> {
    let asked = SearchAsked {
        objective: arguments.objective,
        p95_max: arguments.p95_max,
        budget: arguments.budget,
    };
    let mut live = Live::begin(LiveOptions { notes_once: true, ..LiveOptions::default() }, stop)?;
    let mut told = |progress: Progress<'_>| live.tell(progress);
    let job = Job::new(stop, &mut told);
    let found = Search::begin(plan, planned, asked, (results, options), &job)?.run();
    live.finish();
    Ok(found?)
}

/// The best setting with its gain, and what each value does by itself.
fn found_text(found: &Found) -> String {
    let mut out = format!(
        "{} of {} of the plan were measured, the better ones more often; objective: {}\n",
        found.tried,
        counted(found.cells, "cell", "cells"),
        found.objective.name(),
    );
    if found.interrupted {
        out.push_str("interrupted: the same command goes on\n");
    }
    out += &format!("\nstart  {}\n", settings(&found.start));
    match &found.best {
        Some(best) => out += &format!("best   {}\n", settings(best)),
        None if found.interrupted => {}
        None => out.push_str("nothing that was measured is better than the start\n"),
    }
    if let Some(whole) = &found.gain {
        let of = gain(whole.ratio);
        out += &format!(
            "gain   {} ({} of fresh windows, {} against {}; 95 % interval)\n",
            of.unwrap_or_else(|| "not known".to_owned()),
            counted(whole.pairs, "pair", "pairs"),
            optional(whole.chosen_value, 1),
            optional(whole.start_value, 1),
        );
        // Within a limit the best may be slower than a start that is not.
        if !whole.is_confirmed() && found.p95_max_ms.is_none() {
            out.push_str("this is no gain beyond doubt: stay with the start, or search longer\n");
        }
    }
    if !found.effects.is_empty() {
        out.push_str(
            "\nthroughput by each setting alone, all windows together (95 % intervals of so many; \
             the search chose which, so that what seemed good reads high):\n",
        );
    }
    for of in &found.effects {
        effects(&mut out, of);
    }
    out
}

fn settings(cell: &FoundCell) -> String {
    let all = cell.settings.iter().map(|(name, value)| format!("{name}={value}"));
    let p95 = cell.p95_ms.map_or_else(String::new, |ms| format!("; new order p95 {ms:.1} ms"));
    format!("cell {}: {}{p95}", cell.ordinal, all.collect::<Vec<_>>().join(" "))
}

fn effects(out: &mut String, of: &DimensionEffects) {
    let DimensionEffects { dimension, baseline, values } = of;
    for ValueEffect { value, repeats, ratio } in values {
        let gain = gain(*ratio);
        let gain = gain.unwrap_or_else(|| "cannot be told from another setting".to_owned());
        let windows = counted(*repeats, "window", "windows");
        *out += &format!("  {dimension} {baseline} -> {value}: {gain} ({windows})\n");
    }
}
