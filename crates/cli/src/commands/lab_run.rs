//! `mydyno lab run`, `lab check` and `lab status`.

use super::lab::read;
use super::report::write_report;
use super::{lab_or_last, new_lab, print_json_of};
use crate::arguments::lab::LabRunArguments;
use crate::arguments::target::ResultsArguments;
use crate::console::{Console, print, stop_flag, tell};
use crate::failure::{Failure, Outcome};
use crate::text;
use crate::views::Live;
use ::server::Home;
use analyse::{LabOutcome, lab_outcome};
use base::{Exit, counted};
use lab::{
    LabError, LabRunOptions, LabRunSummary, Planned, Progress, check_meters, file_system_facts,
    lab_of, missing, planned, require_same, run_lab, to_do,
};
use plan::Plan;
use serde::Serialize;
use spec::Meters;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use store::{LabId, LabStatus, RepeatId, Results, StoreError};

/// The JSON document of `lab run` and `lab check`.
#[derive(Serialize)]
struct LabRunDocument<'a> {
    #[serde(flatten)]
    outcome: LabOutcome,
    /// Repeats that are still missing.
    left: usize,
    report: Option<&'a Path>,
}

/// Executes what is missing of a plan.
pub fn run(arguments: &LabRunArguments) -> Outcome {
    let plan = read(&arguments.plan)?;
    let home = Home::from_env()?;
    // One that is measured has the room that another would look for.
    let file = &arguments.results.results;
    if file.exists() {
        require_idle(&Results::open(file)?, &plan)?;
    }
    let planned = planned(&home, &plan)?;
    if let Some(unknown) = unknown_cell(&planned, &arguments.only) {
        return Err(unknown);
    }
    let meters = Meters {
        power_command: arguments.power_command.clone(),
        host_metrics: arguments.host_metrics.clone(),
    };
    let spec = LabRunOptions {
        only: arguments.only.clone(),
        redo: arguments.redo,
        meters,
    };
    if !file.exists() {
        // What cannot be done leaves no file.
        let turns = to_do(None, &planned, &spec)?;
        planned.needs(&plan, &turns)?;
        planned.images_for(&turns).map_err(LabError::from)?;
    }
    let stop = stop_flag();
    let mut live = Live::begin(arguments.watch, arguments.metrics_listen, &stop)?;
    check_meters(&spec.meters, &stop)?;
    check_meters(plan.meters(), &stop)?;
    let results = Results::create_or_open(file)?;
    let place = (&home, &results);
    let (lab, summary) = execute(place, &plan, &planned, &spec, &stop, &mut live)?;
    if summary.measured == 0 && summary.left == 0 {
        tell(format!(
            "nothing is left to do: lab {lab} has every repeat of this plan"
        ));
    }
    if summary.left > 0 {
        let command = match arguments.only.is_empty() {
            true => "the same command",
            false => "the command without --only",
        };
        tell(format!(
            "{}; {command} goes on",
            missing_words(summary.left)
        ));
    }
    write_report(&results, lab, &arguments.output)?;
    let outcome = lab_outcome(&results, lab)?;
    if arguments.json {
        print_json_of(
            outcome.metric(),
            &LabRunDocument {
                outcome,
                left: summary.left,
                report: Some(&arguments.output),
            },
        )?;
    } else {
        print(text::lab(&outcome))?;
        print(format!("report: {}\n", arguments.output.display()))?;
    }
    Ok(summary.exit)
}

fn unknown_cell(planned: &Planned, only: &[u32]) -> Option<Failure> {
    let is_known = |ordinal: &u32| {
        planned
            .cells
            .iter()
            .any(|(cell, _)| cell.ordinal == *ordinal)
    };
    let unknown = only.iter().find(|ordinal| !is_known(ordinal))?;
    let words = format!(
        "the plan has no cell {unknown}; it has {}, and `mydyno lab plan` lists them",
        planned.cells.len()
    );
    Some(Failure::new(Exit::Usage, words))
}

/// Refuses a plan whose lab another process executes.
fn require_idle(results: &Results, plan: &Plan) -> Result<(), Failure> {
    if let Some(lab) = lab_of(results, plan)?
        && results.lab(lab)?.status == LabStatus::Running
    {
        let words = format!(
            "lab {lab} of this plan is being executed by another process; wait for its end, end it, or name another file with --results"
        );
        return Err(Failure::new(Exit::Environment, words));
    }
    Ok(())
}

/// The lab of a plan.
struct Taken {
    lab: LabId,
    notes: Vec<String>,
    /// There is nothing to do, and it stays as it ended.
    is_over: bool,
}

/// Begins the lab of the plan, or goes on with it, and says what to know of it.
fn begin(
    (home, results): (&Home, &Results),
    plan: &Plan,
    planned: &Planned,
    spec: &LabRunOptions,
) -> Result<Taken, Failure> {
    // Another may have begun meanwhile.
    require_idle(results, plan)?;
    let begun = lab_of(results, plan)?;
    let turns = to_do(begun.map(|lab| (results, lab)), planned, spec)?;
    planned.needs(plan, &turns)?;
    let note = planned.note_on_images(&turns);
    let notes = planned.notes.iter().cloned().chain(note).collect();
    let Some(lab) = begun else {
        let mut lab = new_lab(plan.name(), Some(home.root()));
        lab.plan = Some(plan.text().to_owned());
        lab.host_facts.extend(file_system_facts(planned));
        let lab = results.begin_lab(&lab)?;
        return Ok(Taken {
            lab,
            notes,
            is_over: false,
        });
    };
    require_same((home, results, lab), plan, planned, &turns)?;
    let left = missing(results, lab, planned, spec.redo)?.len();
    // Where its end was not stored, it is stored now.
    let is_over = turns.is_empty() && (left > 0 || results.lab(lab)?.status == LabStatus::Done);
    if !is_over {
        let all = planned.turns.len();
        tell(format!(
            "lab {lab} goes on: {} of {all} repeats are there",
            all - left
        ));
        results.resume_lab(lab)?;
    }
    Ok(Taken {
        lab,
        notes,
        is_over,
    })
}

fn missing_words(left: usize) -> String {
    counted(left, "repeat is missing", "repeats are missing")
}

fn execute(
    (home, results): (&Home, &Results),
    plan: &Plan,
    planned: &Planned,
    spec: &LabRunOptions,
    stop: &AtomicBool,
    live: &mut Live,
) -> Result<(LabId, LabRunSummary), Failure> {
    let taken = begin((home, results), plan, planned, spec)?;
    let (lab, mut told) = (taken.lab, taken.notes);
    let mut console = Console::new()?;
    for note in &told {
        console.show(Progress::Note(note));
    }
    let place = (home, results, lab);
    let summary = run_lab(place, plan, planned, spec, stop, &mut |progress| {
        // Most cells have the same to tell; the results file keeps it for each.
        if let Progress::Note(note) = &progress {
            if told.iter().any(|other| other == note) {
                return;
            }
            told.push((*note).to_owned());
        }
        live.take(&progress);
        match progress {
            Progress::TurnEnds(repeat) => {
                live.show_result(&result_of(results, repeat), &mut console);
            }
            other => live.show(other, &mut console),
        }
    });
    live.end_of_load();
    live.finish(&mut console);
    console.done();
    let (status, reason) = match &summary {
        Ok(LabRunSummary { left: 0, .. }) => (LabStatus::Done, None),
        Ok(summary) => (LabStatus::Interrupted, Some(missing_words(summary.left))),
        Err(error) => (LabStatus::Failed, Some(error.to_string())),
    };
    if !taken.is_over {
        results.finish_lab(lab, status, reason.as_deref())?;
    }
    Ok((lab, summary?))
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

/// Runs each cell for seconds, in a results file that goes away: does every server start with what the plan asks of it?
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
    let spec = LabRunOptions::default();
    let mut live = Live::begin(false, None, &stop)?;
    let place = (&home, &results);
    let (lab, summary) = execute(place, &plan, &planned, &spec, &stop, &mut live)?;
    let outcome = lab_outcome(&results, lab)?;
    let failed = summary.failed;
    if json {
        print_json_of(
            outcome.metric(),
            &LabRunDocument {
                outcome,
                left: summary.left,
                report: None,
            },
        )?;
    } else {
        print(text::lab(&outcome))?;
    }
    if summary.exit == Exit::Ok && failed > 0 {
        let words = format!(
            "of {}, {failed} without a result",
            counted(planned.cells.len(), "cell", "cells")
        );
        return Err(Failure::new(Exit::Failed, words));
    }
    Ok(summary.exit)
}

/// What a results file has of its labs.
pub fn status(results: &ResultsArguments, lab: Option<i64>, json: bool) -> Outcome {
    let results = Results::open(&results.results)?;
    let lab = lab_or_last(&results, lab)?;
    let outcome = lab_outcome(&results, lab)?;
    if json {
        return print_json_of(outcome.metric(), &outcome).map(|()| Exit::Ok);
    }
    print(text::lab(&outcome))?;
    Ok(Exit::Ok)
}
