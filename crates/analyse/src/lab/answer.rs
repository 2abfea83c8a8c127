//! What a lab says, in sentences: what was asked, what its numbers show, and what they do not
//! carry.
//!
//! A sentence about a difference stands on a comparison inside blocks that survives Holm's
//! correction; one about a limit on what the repeats agree in. What was measured too seldom, or
//! tells of the host, is among the limits with what to do about it.

mod cells;
mod differences;
mod evidence;
mod limits;
#[cfg(test)]
mod tests;
mod words;

use crate::account::bound::BoundBy;
use crate::lab::cells::CellOutcome;
use crate::lab::outcomes::LabOutcome;
use crate::run::document::measurement;
use crate::stats::blocks::CLAIM_REPEATS_MIN;
use base::{by_key, joined, truncated};
use cells::LabCells;
pub use evidence::CellEvidence;
use serde::Serialize;
use store::{RepeatId, Results, StoreResult};
pub use words::capitalised;

/// Values of one dimension that the question names one by one.
const VALUES_NAMED_MAX: usize = 6;

/// The top of a report, and the end of `lab run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabAnswer {
    pub question: String,
    /// What the numbers show, the most important first.
    pub shown: Vec<String>,
    /// What cannot be said, why, and what to do about it.
    pub limits: Vec<String>,
}

/// The answer of a lab, whose measurements are read for it.
///
/// # Errors
/// The file cannot be read.
pub fn lab_answer(results: &Results, lab: &LabOutcome) -> StoreResult<LabAnswer> {
    let mut evidence = Vec::new();
    for cell in &lab.cells {
        let mut runs = Vec::new();
        for repeat in cell.repeats.iter().filter(|of| of.nopm.is_some() && !of.measured_again) {
            runs.push(measurement(results, RepeatId(repeat.repeat_id))?);
        }
        evidence.push(CellEvidence::of(cell.ordinal, runs.iter()));
    }
    Ok(LabAnswer::of(lab, &evidence))
}

impl LabAnswer {
    /// Of a lab, with what is known of its cells.
    pub fn of(lab: &LabOutcome, evidence: &[CellEvidence]) -> LabAnswer {
        let cells = LabCells::of(&lab.cells);
        let mut shown = Vec::new();
        if lab.ramps.is_empty() {
            shown.extend(highest(lab, &cells));
            shown.extend(differences::by_value(lab, &cells));
            shown.extend(differences::by_connections(&cells));
        } else {
            shown.extend(lab.ramps.iter().map(|ramp| supported(ramp, lab, &cells)));
        }
        shown.extend(bounds(&cells, evidence));
        shown.extend(limits::survived(lab, &cells));
        LabAnswer {
            question: question(lab, &cells),
            shown,
            limits: limits::limits(lab, &cells, evidence),
        }
    }
}

/// What the cells differ in.
fn question(lab: &LabOutcome, cells: &LabCells<'_>) -> String {
    let dimensions = cells.matrix.dimensions().iter().map(|dimension| {
        let values = &dimension.values;
        match values.as_slice() {
            [first, .., last] if values.len() > VALUES_NAMED_MAX => {
                format!("{} ({} values, {first} to {last})", dimension.name, values.len())
            }
            _ => format!("{} ({})", dimension.name, values.join(", ")),
        }
    });
    let dimensions: Vec<String> = dimensions.collect();
    if !dimensions.is_empty() {
        return format!("How does throughput depend on {}?", joined(&dimensions));
    }
    let engine = lab.cells.first().map_or("the server", |cell| cell.engine.as_str());
    format!("What throughput does {engine} give, and what bounds it?")
}

/// Those with a mean.
fn with_mean(lab: &LabOutcome) -> impl Iterator<Item = (usize, &CellOutcome)> {
    lab.cells.iter().enumerate().filter(|(_, cell)| cell.nopm.mean.is_some())
}

/// Has it failed more often than another cell with a mean?
fn failed_more(lab: &LabOutcome, cell: &CellOutcome) -> bool {
    with_mean(lab).any(|(_, other)| cell.failed_more_often(other))
}

/// Of the cells that failed least often the one with the highest mean: its place, and that.
pub(crate) fn highest_cell(lab: &LabOutcome) -> Option<(usize, f64)> {
    let sure = with_mean(lab).filter(|(_, cell)| !failed_more(lab, cell));
    let measured = sure.filter_map(|(at, cell)| Some((at, cell.nopm.mean?)));
    measured.max_by(|one, other| one.1.total_cmp(&other.1))
}

/// The cell with the highest mean, and how well that is known.
fn highest(lab: &LabOutcome, cells: &LabCells<'_>) -> Option<String> {
    let (at, mean) = highest_cell(lab)?;
    let cell = &lab.cells[at];
    let known = interval(cell);
    let gives = format!("{} {}", truncated(mean), cell.metric.title());
    if cell.counted_repeats() < CLAIM_REPEATS_MIN
        && let Some(words) = differences::measured(cells, at, &gives)
    {
        return Some(words);
    }
    Some(match cells.label(at).as_str() {
        "" => format!("{} gives {gives} ({known}).", cell.engine),
        label => {
            let some_failed = with_mean(lab).any(|(_, cell)| failed_more(lab, cell));
            let of = if some_failed { " of the cells that failed least often" } else { "" };
            format!("The highest mean{of} is {gives} ({known}): {label}.")
        }
    })
}

/// How well a mean is known over repeats.
fn interval(cell: &CellOutcome) -> String {
    match cell.nopm.low.zip(cell.nopm.high) {
        Some((low, high)) => format!("95 %: {} to {}", truncated(low), truncated(high)),
        None => "one repeat".to_owned(),
    }
}

/// How many connections a ramp's configuration supports.
fn supported(ramp: &crate::RampOutcome, lab: &LabOutcome, cells: &LabCells<'_>) -> String {
    let first = ramp.points.first().map(|point| point.cell);
    let at = first.and_then(|first| lab.cells.iter().position(|cell| cell.ordinal == first));
    let group = at.map(|at| cells.line(at)).filter(|group| !group.is_empty());
    let repeat = match lab.ramps.iter().filter(|other| other.ordinal == ramp.ordinal).count() {
        1 => String::new(),
        _ => format!("repeat {}, ", ramp.repeat),
    };
    let group = group.map_or_else(String::new, |group| format!("{group}, "));
    capitalised(&format!("{group}{repeat}connections supported: {}.", ramp.supported_words()))
}

/// What bounds which cells, that of the most cells first.
fn bounds(cells: &LabCells<'_>, evidence: &[CellEvidence]) -> Vec<String> {
    let known = cells.evidence(evidence, |of| of.bound_by).into_iter();
    let mut by = by_key(known.map(|(at, bound_by)| (bound_by, at)));
    by.sort_by_key(|(_, of)| std::cmp::Reverse(of.len()));
    let words = |(by, of): &(BoundBy, Vec<usize>)| match cells.words(of).as_str() {
        "" => format!("It is {}.", by.title()),
        which => format!("{}: {which}.", capitalised(by.title())),
    };
    by.iter().map(words).collect()
}
