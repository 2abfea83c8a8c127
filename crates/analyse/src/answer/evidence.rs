//! What is known of cells beside their outcomes.

use crate::bound::BoundBy;
use crate::document::RunDocument;

/// What is known of a cell beside its [`crate::CellOutcome`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellEvidence {
    pub ordinal: u32,
    /// `None` where it is not known, or not the same in all repeats.
    pub bound_by: Option<BoundBy>,
    /// The worst of its repeats: the share of requests to emulated devices that completed in time.
    pub fidelity: Option<f64>,
    /// At which this host would have been fast enough for all of them, as far as they tell.
    pub dilation_needed: Option<f64>,
    /// The longest time in which nothing ended.
    pub silence_s: Option<f64>,
    /// Is a window too short for the response times?
    pub is_too_short: bool,
}

/// What one repeat tells of its cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatEvidence {
    pub bound_by: Option<BoundBy>,
    pub fidelity: Option<f64>,
    pub dilation_needed: Option<f64>,
    pub silence_s: Option<f64>,
    pub is_too_short: bool,
}

impl RepeatEvidence {
    pub(crate) fn of(run: &RunDocument) -> RepeatEvidence {
        let bound = run.resources.as_ref().and_then(|used| used.bound.as_ref());
        RepeatEvidence {
            bound_by: bound.map(|bound| bound.by),
            fidelity: run.summary.fidelity,
            dilation_needed: run.dilation_needed,
            silence_s: run.longest_silence_s,
            is_too_short: run.is_too_short,
        }
    }
}

impl CellEvidence {
    /// Of the repeats that were measured over their whole windows.
    pub fn of(ordinal: u32, repeats: &[RepeatEvidence]) -> CellEvidence {
        let mut verdicts = repeats.iter().map(|repeat| repeat.bound_by);
        let first = verdicts.next().flatten();
        let fidelities = repeats.iter().filter_map(|repeat| repeat.fidelity);
        let needed = repeats.iter().filter_map(|repeat| repeat.dilation_needed);
        CellEvidence {
            ordinal,
            bound_by: first.filter(|_| verdicts.all(|by| by == first)),
            fidelity: fidelities.min_by(f64::total_cmp),
            dilation_needed: needed.max_by(f64::total_cmp),
            silence_s: repeats.iter().filter_map(|of| of.silence_s).max_by(f64::total_cmp),
            is_too_short: repeats.iter().any(|of| of.is_too_short),
        }
    }
}
