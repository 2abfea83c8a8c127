//! What is known of cells beside their outcomes.

use crate::account::bound::BoundBy;
use crate::run::document::RunDocument;
use itertools::Itertools;

/// What is known of a cell beside its [`crate::CellOutcome`], of its repeats that were measured
/// over their whole windows.
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
    /// What all of them tell together.
    pub fn of<'a>(ordinal: u32, runs: impl Iterator<Item = &'a RunDocument>) -> CellEvidence {
        let runs = runs.collect_vec();
        let bound_by = |run: &&RunDocument| Some(run.resources.as_ref()?.bound.as_ref()?.by);
        let known =
            |number: fn(&RunDocument) -> Option<f64>| runs.iter().copied().filter_map(number);
        CellEvidence {
            ordinal,
            bound_by: runs.iter().map(bound_by).all_equal_value().ok().flatten(),
            fidelity: known(|run| run.summary.fidelity).min_by(f64::total_cmp),
            dilation_needed: known(|run| run.dilation_needed).max_by(f64::total_cmp),
            silence_s: known(|run| run.longest_silence_s).max_by(f64::total_cmp),
            is_too_short: runs.iter().any(|run| run.is_too_short),
        }
    }
}
