//! `mydyno tune`.

use super::lab_run::read_planned;
use super::report::write_report;
use super::{lab_options, show};
use crate::arguments::tune::TuneArguments;
use crate::console::stop_flag;
use crate::failure::{Failure, Outcome};
use crate::text::found;
use crate::views::{Live, LiveOptions};
use base::Exit;
use lab::{Job, LabRunOptions, Planned, Progress, check_meters};
use plan::Plan;
use serde::Serialize;
use spec::Connections;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{LabId, Results};
use tune::{Found, Search, SearchAsked};

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
        format!("{}report: {}\n", found::text(&found), report.display())
    })?;
    Ok(exit)
}

fn require_matrix(planned: &Planned) -> Result<(), Failure> {
    let is_ramp = |connections: &Connections| matches!(connections, Connections::Ramp(_));
    let words = if planned.cells.len() < 3 {
        "the plan has too few cells to search; give lists to the settings in question \
         ([server.set] innodb_io_capacity = [200, 2000, 20000])"
    } else if planned.cells.iter().any(|(cell, _)| is_ramp(&cell.what.load.connections)) {
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
