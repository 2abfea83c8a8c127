//! Columns as the white papers' tables have them: a mean for each configuration or device, its
//! ratio to a baseline, and the difference in percent.

use crate::run::runs::{MeanValue, SIGNIFICANT};
use crate::stats::blocks::{Contrast, holm};
use crate::stats::statistics::RatioInterval;
use base::document;

document! {
    /// How a cell stands to a baseline. `None` where there is no number: NA, or nothing to compare
    /// with, as where there is no contrast.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Ratio from (value: &MeanValue, contrast: Option<&Contrast>);
    let ratio = contrast.map(Contrast::with_interval).unwrap_or_default();
    let p_value = contrast.and_then(Contrast::p_value);
    {
        /// Over repeats.
        pub mean: Option<f64> = value.mean,
        /// Of the mean's interval.
        pub half_width: Option<f64> = value.half_width(),
        /// The cell by the baseline, compared inside blocks, with its own 95 % interval.
        #[serde(flatten)]
        pub ratio: RatioInterval = ratio,
        pub percent_difference: Option<f64> = ratio.value.map(|ratio| (ratio - 1.0) * 100.0),
        /// The probability of such a difference where there is none, 0 to 1; of two repeats on
        /// either side at least, and not of the baseline itself.
        pub p_value: Option<f64> = p_value,
        /// The same after Holm's correction for all comparisons of the table; of three repeats on
        /// either side at least.
        pub p_corrected: Option<f64> =
            p_value.filter(|_| contrast.is_some_and(Contrast::supports_claims)),
    }
}

impl Ratio {
    /// That of the baseline itself.
    pub(crate) fn of_baseline(value: &MeanValue) -> Ratio {
        let is_known = value.mean.filter(|mean| *mean > 0.0);
        Ratio {
            ratio: RatioInterval::of(is_known.map(|_| 1.0), None),
            percent_difference: is_known.map(|_| 0.0),
            ..Ratio::of(value, None)
        }
    }

    /// Is there a difference that chance makes less often than once in twenty tables?
    pub fn differs(&self) -> bool {
        self.p_corrected.is_some_and(|p| p < SIGNIFICANT)
    }
}

/// Corrects the ratios of one table for their number.
pub(crate) fn correct(table: Vec<&mut Ratio>) {
    let known = table.into_iter().filter_map(|ratio| ratio.p_corrected.as_mut());
    let known: Vec<&mut f64> = known.collect();
    let corrected = holm(&known.iter().map(|p| **p).collect::<Vec<_>>());
    for (p, corrected) in known.into_iter().zip(corrected) {
        *p = corrected;
    }
}
