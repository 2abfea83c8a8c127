//! What is known of cells beside their outcomes.

use crate::account::bound::BoundBy;
use crate::run::document::RunDocument;
use itertools::Itertools;

/// What is known of a cell beside its [`crate::CellOutcome`]; of one of its repeats, or of all that
/// were measured over their whole windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellEvidence {
    pub ordinal: u32,
    /// `None` where it is not known, or not the same in all of them.
    pub bound_by: Option<BoundBy>,
    /// The worst: the share of requests to emulated devices that completed in time.
    pub fidelity: Option<f64>,
    /// At which this host would have been fast enough for all of them, as far as they tell.
    pub dilation_needed: Option<f64>,
    /// The longest time in which nothing ended.
    pub silence_s: Option<f64>,
    /// Is a window too short for the response times?
    pub is_too_short: bool,
}

impl CellEvidence {
    /// What one repeat tells.
    pub fn of_repeat(ordinal: u32, run: &RunDocument) -> CellEvidence {
        let bound = run.resources.as_ref().and_then(|used| used.bound.as_ref());
        CellEvidence {
            ordinal,
            bound_by: bound.map(|bound| bound.by),
            fidelity: run.summary.fidelity,
            dilation_needed: run.dilation_needed,
            silence_s: run.longest_silence_s,
            is_too_short: run.is_too_short,
        }
    }

    /// What all of them tell together.
    pub fn of(ordinal: u32, repeats: &[CellEvidence]) -> CellEvidence {
        let bound_by = repeats.iter().map(|repeat| repeat.bound_by).all_equal_value();
        let fidelities = repeats.iter().filter_map(|repeat| repeat.fidelity);
        let needed = repeats.iter().filter_map(|repeat| repeat.dilation_needed);
        CellEvidence {
            ordinal,
            bound_by: bound_by.ok().flatten(),
            fidelity: fidelities.min_by(f64::total_cmp),
            dilation_needed: needed.max_by(f64::total_cmp),
            silence_s: repeats.iter().filter_map(|of| of.silence_s).max_by(f64::total_cmp),
            is_too_short: repeats.iter().any(|of| of.is_too_short),
        }
    }
}
