//! What a choice gives, by windows that had no part in it.

use analyse::{Base, Blocks, Contrast, Observation, RatioInterval, mean};
use serde::Serialize;

/// Pairs that tell what a search gives. They are measured after it: what was chosen for its luck
/// has none left in them.
pub(crate) const CONFIRM_PAIRS: usize = 5;
const START: usize = 0;
const CHOSEN: usize = 1;

/// A choice against the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WholeGain {
    /// Pairs of fresh windows; of a proof, rounds of them, spread over it.
    pub pairs: usize,
    /// Means of the windows, of what was asked for: NOPM unless it is said.
    pub start_value: Option<f64>,
    pub chosen_value: Option<f64>,
    /// The interval of a proof knows that the machine drifts.
    #[serde(flatten)]
    pub ratio: RatioInterval,
}

impl WholeGain {
    /// Is it a gain beyond doubt?
    pub fn is_confirmed(&self) -> bool {
        self.ratio.low.is_some_and(|low| low > 1.0)
    }
}

/// Of pairs of the start and what was chosen, above 0.
pub(crate) fn gain_of(measured: &[[f64; 2]]) -> WholeGain {
    let of = |(block, pair): (usize, &[f64; 2])| {
        [START, CHOSEN].map(|cell| Observation { cell, block, value: pair[cell] })
    };
    let observed: Vec<Observation> = measured.iter().enumerate().flat_map(of).collect();
    let contrast = Blocks::of(&observed).contrast(CHOSEN, Base(START));
    let nopm = |cell: usize| mean(&measured.iter().map(|pair| pair[cell]).collect::<Vec<_>>());
    WholeGain {
        pairs: measured.len(),
        start_value: nopm(START),
        chosen_value: nopm(CHOSEN),
        ratio: contrast.as_ref().map(Contrast::with_interval).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::gain_of;

    #[test]
    fn a_gain_is_that_of_pairs() {
        // The machine gets slower by a half; the gain stays.
        let measured = [[100.0, 121.0], [90.0, 107.0], [70.0, 85.0], [60.0, 72.0], [50.0, 60.5]];
        let gain = gain_of(&measured);
        assert!((gain.ratio.value.unwrap() - 1.205).abs() < 0.01, "{gain:?}");
        assert!(gain.is_confirmed() && gain.ratio.high.unwrap() < 1.25, "{gain:?}");
        assert_eq!((gain.start_value, gain.pairs), (Some(74.0), 5));
        assert!(!gain_of(&measured[..1]).is_confirmed());
    }
}
