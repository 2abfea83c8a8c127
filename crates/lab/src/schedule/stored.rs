//! What a results file has of a lab: which turns are still to be taken, and what was lost.

use crate::error::{LabResult, unfit};
use crate::schedule::planned::Planned;
use analyse::standing_points;
use plan::{Plan, Turn};
use spec::Connections;
use std::collections::{BTreeMap, BTreeSet};
use store::{LabId, LabStatus, Repeat, Results, StoreError, redact_plan};

/// The lab of the results file that executes this plan, where one has begun.
pub(crate) fn lab_of(results: &Results, plan: &Plan) -> LabResult<Option<LabId>> {
    // As it was stored, by an earlier version that may have taken out less.
    let text = redact_plan(plan.text());
    let is_of_plan = |stored: &str| redact_plan(stored) == text;
    let mut labs = results.labs()?;
    labs.retain(|lab| lab.plan.as_deref().is_some_and(is_of_plan) && lab.name == plan.name());
    Ok(labs.last().map(|lab| lab.id))
}

/// Refuses a plan whose lab another process executes.
///
/// # Errors
/// [`crate::LabError::Unfit`] says what to do.
pub fn require_idle(results: &Results, plan: &Plan) -> LabResult<()> {
    if let Some(lab) = lab_of(results, plan)?
        && results.lab(lab)?.status == LabStatus::Running
    {
        return Err(unfit(format!(
            "lab {lab} of this plan is being executed by another process; wait for its end, end \
             it, or name another file with --results"
        )));
    }
    Ok(())
}

/// Of these turns of a plan, those that have no result in `lab` yet.
pub(crate) fn missing(
    results: &Results,
    lab: LabId,
    (planned, turns): (&Planned, &[Turn]),
    redo: bool,
) -> LabResult<Vec<Turn>> {
    let ramps = ended_ramps(results, lab, redo)?;
    let mut ended = BTreeMap::new();
    for cell in results.cells(lab)? {
        let asked = planned.cells.iter().find(|(of, _)| of.ordinal == cell.what.ordinal);
        let wants_checks = asked.is_none_or(|(of, _)| of.what.checks);
        for repeat in results.repeats(cell.id)? {
            let is_again = redo && repeat.own_failure().is_some();
            let has_ended = !is_again && has_ended(results, &repeat, wants_checks)?;
            ended.insert((cell.what.ordinal, repeat.ordinal), has_ended);
        }
    }
    let is_missing = |turn: &Turn| {
        let cell = &planned.cells[turn.index].0;
        let place = (cell.ordinal, turn.repeat);
        match cell.what.load.connections {
            Connections::Ramp(_) => !ramps.contains(&place),
            _ => ended.get(&place) != Some(&true),
        }
    };
    Ok(turns.iter().copied().filter(is_missing).collect())
}

/// Need a repeat not be measured again? One that is to be checked proves nothing without that.
pub(crate) fn has_ended(
    results: &Results,
    repeat: &Repeat,
    wants_checks: bool,
) -> Result<bool, StoreError> {
    Ok((repeat.is_whole() && !wants_checks) || results.has_ended(repeat)?)
}

/// Ordinals of cells and repeats whose ramp is at its end; where what failed is wanted again, not
/// those that a failure ended.
fn ended_ramps(results: &Results, lab: LabId, redo: bool) -> LabResult<BTreeSet<(u32, u32)>> {
    let mut ended = BTreeSet::new();
    for ramp in results.ramps(lab)? {
        let points = || standing_points(results, ramp.id, false);
        let is_again = redo && points()?.iter().any(|point| !point.is_good());
        if ramp.finished_utc_ns.is_some() && !is_again {
            ended.insert((ramp.what.ordinal, ramp.what.repeat));
        }
    }
    Ok(ended)
}

/// Has any repeat of a lab numbers?
pub(crate) fn has_result(results: &Results, lab: LabId) -> LabResult<bool> {
    has_repeat(results, lab, |repeat| repeat.result.is_some())
}

fn has_repeat(results: &Results, lab: LabId, is: impl Fn(&Repeat) -> bool) -> LabResult<bool> {
    for cell in results.cells(lab)? {
        if results.repeats(cell.id)?.iter().any(&is) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Has any repeat that counts lost something?
pub(crate) fn has_failed_checks(results: &Results, lab: LabId) -> LabResult<bool> {
    let has_failed = |reason_code: &Option<String>| reason_code.as_deref() == Some("check_failed");
    // A point whose ramp was measured again may be none of its points any more.
    let mut of_ramps = BTreeSet::new();
    for ramp in results.ramps(lab)? {
        let standing = standing_points(results, ramp.id, false)?;
        if standing.iter().any(|point| has_failed(&point.reason_code)) {
            return Ok(true);
        }
        of_ramps.extend(results.ramp_points(ramp.id)?.iter().map(|repeat| repeat.id));
    }
    has_repeat(results, lab, |one| !of_ramps.contains(&one.id) && has_failed(&one.reason_code))
}

#[cfg(test)]
mod tests;
