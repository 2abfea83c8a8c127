//! A lab at a glance, for lists of labs.

use crate::lab::answer::{LabAnswer, lab_answer};
use crate::lab::cells::CellOutcome;
use crate::lab::outcomes::{LabOutcome, lab_outcome};
use crate::run::runs::Run;
use store::{LabId, RepeatId, Results, StoreError, ThroughputMetric};

/// Of a verdict.
const SENTENCES_MAX: usize = 2;

/// What a list says of what a lab found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabGlance {
    /// Throughput is per minute, of this.
    pub metric: ThroughputMetric,
    /// The highest mean of a cell, and its 95th percentile of new orders; unit: us.
    pub highest: Option<f64>,
    pub p95_us: Option<f64>,
    /// Throughput of the cells, in the order of the plan; where there is one, of the intervals of
    /// its first repeat. Without those that have none.
    pub chart: Vec<f64>,
    /// What the numbers show, in a sentence or two; without numbers, why there are none.
    pub verdict: String,
}

/// What a lab found.
///
/// # Errors
/// There is no such lab, or the file cannot be read.
pub fn lab_glance(results: &Results, id: LabId) -> Result<LabGlance, StoreError> {
    let lab = lab_outcome(results, id)?;
    let measured = || lab.cells.iter().filter_map(|cell| Some((cell, cell.nopm.mean?)));
    let highest = measured().max_by(|(_, one), (_, other)| one.total_cmp(other));
    Ok(LabGlance {
        metric: lab.metric(),
        highest: highest.map(|(_, mean)| mean),
        p95_us: highest.and_then(|(cell, _)| cell.new_order_p95_us.mean),
        chart: match lab.cells.as_slice() {
            [cell] => series(results, cell)?,
            _ => measured().map(|(_, mean)| mean).collect(),
        },
        verdict: verdict(results, &lab)?,
    })
}

/// Throughput of the intervals of a cell's first repeat that has a number.
fn series(results: &Results, cell: &CellOutcome) -> Result<Vec<f64>, StoreError> {
    let Some(repeat) = cell.repeats.iter().find(|of| of.nopm.is_some()) else {
        return Ok(Vec::new());
    };
    let run = Run::read(results, RepeatId(repeat.repeat_id))?;
    Ok(run.map_or_else(Vec::new, |run| run.nopm_series))
}

fn verdict(results: &Results, lab: &LabOutcome) -> Result<String, StoreError> {
    // What bounds a cell is read from all samples of its repeats.
    let is_one = lab.cells.len() == 1;
    let answer = if is_one { lab_answer(results, lab)? } else { LabAnswer::of(lab, &[]) };
    let shown = answer.shown;
    if shown.is_empty() {
        let repeats = lab.cells.iter().flat_map(|cell| &cell.repeats);
        let why = lab.reason.clone().or_else(|| repeats.filter_map(|of| of.reason.clone()).next());
        return Ok(why.unwrap_or_default());
    }
    // What drills were for comes last; the throughput of a cell alone is said already.
    let first = match lab.drills.is_empty() {
        false => shown.len() - 1,
        true => usize::from(is_one && shown.len() > 1),
    };
    Ok(shown.into_iter().skip(first).take(SENTENCES_MAX).collect::<Vec<_>>().join(" "))
}
