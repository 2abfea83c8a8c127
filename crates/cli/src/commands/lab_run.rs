//! `mydyno lab run`, `lab check` and `lab status`.

use super::lab::read;
use super::measured::measure;
use super::report::write_report;
use super::{lab_options, lab_or_last, show_of};
use crate::arguments::lab::LabRunArguments;
use crate::arguments::results::ResultsArguments;
use crate::console::{stop_flag, tell};
use crate::failure::{Failure, Outcome};
use crate::text;
use crate::views::{Live, LiveOptions};
use ::server::Home;
use analyse::{LabAnswer, LabOutcome, lab_answer, lab_outcome};
use base::{Exit, counted};
use lab::{
    LabRunOptions, LabRunSummary, Planned, Progress, check_meters, planned, require_idle,
    require_possible,
};
use plan::{Plan, Shard};
use serde::Serialize;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use store::{LabId, RepeatId, Results, StoreError, ThroughputMetric};

/// The JSON document of `lab status`.
#[derive(Serialize)]
struct AnsweredLab {
    #[serde(flatten)]
    outcome: LabOutcome,
    answer: LabAnswer,
}

/// The JSON document of `lab run` and `lab check`.
#[derive(Serialize)]
struct LabRunDocument<'a> {
    #[serde(flatten)]
    lab: &'a AnsweredLab,
    /// Repeats that are still missing.
    left: usize,
    report: Option<&'a Path>,
}

impl AnsweredLab {
    fn read(results: &Results, lab: LabId) -> Result<AnsweredLab, Failure> {
        let outcome = lab_outcome(results, lab)?;
        Ok(AnsweredLab { answer: lab_answer(results, &outcome)?, outcome })
    }

    fn metric(&self) -> ThroughputMetric {
        self.outcome.metric()
    }

    /// The lab for people.
    fn words(&self) -> String {
        format!("{}\n{}", text::lab(&self.outcome), text::answer(&self.answer))
    }
}

/// A plan and its cells, where no other command measures it into this results file.
pub(super) fn read_planned(plan: &Path, results: &Path) -> Result<(Plan, Planned), Failure> {
    let plan = read(plan)?;
    let home = Home::from_env()?;
    // One that is measured has the room that another would look for.
    if results.exists() {
        require_idle(&Results::open(results)?, &plan)?;
    }
    let planned = planned(&home, &plan)?;
    Ok((plan, planned))
}

/// Executes what is missing of a plan.
pub fn run(arguments: &LabRunArguments) -> Outcome {
    let file = &arguments.results.results;
    let (plan, mut planned) = read_planned(&arguments.plan, file)?;
    if let Some(shard) = arguments.shard {
        keep_shard(&plan, &mut planned, shard)?;
    }
    if let Some(unknown) = unknown_cell(&planned, &arguments.only) {
        return Err(unknown);
    }
    let options = LabRunOptions {
        only: arguments.only.clone(),
        redo: arguments.redo,
        meters: arguments.meters.meters(),
        ..lab_options()
    };
    if !file.exists() {
        // Refuse what is not feasible before the results file is created.
        require_possible(&planned, &options)?;
    }
    let stop = stop_flag();
    let LabRunArguments { watch, metrics_listen, verbose, .. } = *arguments;
    let shown = LiveOptions { watch, metrics_listen, verbose, notes_once: true };
    let mut live = Live::begin(shown, &stop)?;
    check_meters(&options.meters, &stop)?;
    check_meters(&plan.meters, &stop)?;
    let results = Results::create_or_open(file)?;
    let summary = execute((&results, planned), &options, &stop, &mut live)?;
    let lab = summary.lab;
    if summary.measured == 0 && summary.left == 0 {
        let all = arguments.shard.map_or("this plan".to_owned(), |shard| format!("shard {shard}"));
        tell(format!("nothing is left to do: lab {lab} has every repeat of {all}"));
    }
    if let Some(missing) = summary.missing_text() {
        let goes_on = match (summary.left, arguments.only.is_empty()) {
            (0, _) => "",
            (_, true) => "; the same command goes on",
            (_, false) => "; the command without --only goes on",
        };
        tell(format!("{missing}{goes_on}"));
    }
    if summary.exit == Exit::Failed {
        tell("no repeat has a result; mend why, and `--redo` measures them again");
    }
    write_report(&results, lab, &arguments.output)?;
    let lab = &AnsweredLab::read(&results, lab)?;
    let report = &arguments.output;
    let found = LabRunDocument { lab, left: summary.left, report: Some(report) };
    show_of(lab.metric(), arguments.json, &found, || {
        format!("{}report: {}\n", lab.words(), report.display())
    })?;
    Ok(summary.exit)
}

/// Leaves the turns of a shard.
fn keep_shard(plan: &Plan, planned: &mut Planned, shard: Shard) -> Result<(), Failure> {
    planned.keep_shard(shard);
    if !planned.turns.is_empty() {
        return Ok(());
    }
    let words = format!(
        "shard {shard} has nothing to measure: the plan has {}, and a shard takes whole ones; \
         raise `repeats` to {} or more, or use fewer shards",
        counted(plan.schedule().repeats as usize, "repeat", "repeats"),
        shard.repeats_min()
    );
    Err(Failure::new(Exit::Usage, words))
}

fn unknown_cell(planned: &Planned, only: &[u32]) -> Option<Failure> {
    let is_known = |ordinal: &u32| planned.cells.iter().any(|(cell, _)| cell.ordinal == *ordinal);
    let unknown = only.iter().find(|ordinal| !is_known(ordinal))?;
    let words = format!(
        "the plan has no cell {unknown}; it has {}, and `mydyno lab plan` lists them",
        planned.cells.len()
    );
    Some(Failure::new(Exit::Usage, words))
}

/// Takes the turns that are missing, and shows what comes of them.
fn execute(
    (results, planned): (&Results, Planned),
    options: &LabRunOptions,
    stop: &AtomicBool,
    live: &mut Live,
) -> Result<LabRunSummary, Failure> {
    let measured = measure((results, planned), options, live, stop, &mut |progress, live| {
        let Progress::TurnEnds(repeat) = progress else { return false };
        live.show_result(&result_of(results, *repeat));
        true
    });
    Ok(measured.ended?)
}

/// What came of a repeat; or why that cannot be read, which ends the lab soon.
fn result_of(results: &Results, repeat: RepeatId) -> String {
    let read = || {
        let of = results.repeat(repeat)?;
        let cell = results.cell(of.cell)?.what.ordinal;
        let result = text::repeat(&results.summary(repeat)?);
        Ok(format!("cell {cell}, repeat {}: {result}", of.ordinal))
    };
    read().unwrap_or_else(|error: StoreError| error.to_string())
}

/// Runs each cell for seconds, in a results file that goes away: does every server start with what
/// the plan asks of it?
pub fn check(plan: &Path, json: bool) -> Outcome {
    let plan = read(plan)?.shortened();
    let home = Home::from_env()?;
    let planned = planned(&home, &plan)?;
    let directory = tempfile::tempdir().map_err(|error| {
        let words = format!(
            "cannot make a directory for the results: {error}; set TMPDIR to one that takes files"
        );
        Failure::new(Exit::Environment, words)
    })?;
    let results = Results::create_or_open(&directory.path().join("check.db"))?;
    let stop = stop_flag();
    let mut live = Live::begin(LiveOptions { notes_once: true, ..LiveOptions::default() }, &stop)?;
    let cells = counted(planned.cells.len(), "cell", "cells");
    let summary = execute((&results, planned), &lab_options(), &stop, &mut live)?;
    let lab = &AnsweredLab::read(&results, summary.lab)?;
    let failed = summary.failed;
    let found = LabRunDocument { lab, left: summary.left, report: None };
    show_of(lab.metric(), json, &found, || lab.words())?;
    if summary.exit == Exit::Ok && failed > 0 {
        let words = format!("of {cells}, {failed} without a result");
        return Err(Failure::new(Exit::Failed, words));
    }
    Ok(summary.exit)
}

/// What a results file has of its labs.
pub fn status(results: &ResultsArguments, lab: Option<i64>, json: bool) -> Outcome {
    let results = Results::open(&results.results)?;
    let lab = lab_or_last(&results, lab)?;
    let lab = AnsweredLab::read(&results, lab)?;
    show_of(lab.metric(), json, &lab, || lab.words())
}
