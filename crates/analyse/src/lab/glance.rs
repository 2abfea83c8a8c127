//! A lab at a glance, for lists of labs.

use crate::lab::answer::{LabAnswer, highest_cell, lab_answer};
use crate::lab::cells::CellOutcome;
use crate::lab::outcomes::{LabOutcome, lab_outcome};
use crate::run::runs::{MeanValue, Run};
use crate::stats::statistics::mean;
use store::{LabId, RepeatId, Results, StoreResult, ThroughputMetric};

/// Of a verdict.
const SENTENCES_MAX: usize = 2;
/// Of a chart.
const VALUES_MAX: usize = 40;

/// What a list says of what a lab found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabGlance {
    /// Throughput is per minute, of this.
    pub metric: ThroughputMetric,
    /// The highest mean, as the answer has it, and that cell's 95th percentile of new orders; unit:
    /// us.
    pub highest: Option<f64>,
    pub p95_us: Option<MeanValue>,
    /// Throughput of the cells, in the order of the plan; where there is one, of the intervals of
    /// its first repeat. Without those that have none; of many, means of several.
    pub chart: Vec<f64>,
    /// What the numbers show, in a sentence or two; without numbers, why there are none.
    pub verdict: String,
}

/// What a lab found.
///
/// # Errors
/// There is no such lab, or the file cannot be read.
pub fn lab_glance(results: &Results, id: LabId) -> StoreResult<LabGlance> {
    let lab = lab_outcome(results, id)?;
    let highest = highest_cell(&lab);
    let values = match lab.cells.as_slice() {
        [cell] => series(results, cell)?,
        cells => cells.iter().filter_map(|cell| cell.nopm.mean).collect(),
    };
    Ok(LabGlance {
        metric: lab.metric(),
        highest: highest.map(|(_, mean)| mean),
        p95_us: highest.map(|(at, _)| lab.cells[at].new_order_p95_us),
        chart: few(&values),
        verdict: verdict(results, &lab)?,
    })
}

/// Means of as many neighbours as it takes.
fn few(values: &[f64]) -> Vec<f64> {
    let each = values.len().div_ceil(VALUES_MAX).max(1);
    values.chunks(each).filter_map(mean).collect()
}

/// Throughput of the intervals of a cell's first repeat that has a number.
fn series(results: &Results, cell: &CellOutcome) -> StoreResult<Vec<f64>> {
    let repeat = cell.repeats.iter().find(|of| of.nopm.is_some());
    let run = repeat.map(|of| Run::read(results, RepeatId(of.repeat_id))).transpose()?.flatten();
    Ok(run.map_or_else(Vec::new, |run| run.nopm_series))
}

fn verdict(results: &Results, lab: &LabOutcome) -> StoreResult<String> {
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
    let alone = usize::from(is_one && shown.len() > 1);
    let first = if lab.drills.is_empty() { alone } else { shown.len() - 1 };
    Ok(shown.into_iter().skip(first).take(SENTENCES_MAX).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::few;

    #[test]
    fn a_chart_has_few_values_with_the_same_mean() {
        assert_eq!(few(&[]), Vec::<f64>::new());
        assert_eq!(few(&[1.0, 3.0]), [1.0, 3.0]);
        let many: Vec<f64> = (0..80_i8).map(f64::from).collect();
        assert_eq!(few(&many).len(), 40);
        assert_eq!(few(&many)[1], 2.5);
        assert_eq!(few(&vec![1.0; 1_000]), vec![1.0; 40]);
    }
}
