//! One proposal against what there is: pairs of windows, until it is decided.

use analyse::PairedRatios;
use serde::Serialize;

/// From so many pairs on, a mean gain that does not matter ends a comparison. It claims nothing:
/// the proposal is left out, as it would be without a comparison.
const PAIRS_UNTIL_FUTILE: usize = 3;

/// When a comparison ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeLimits {
    /// The share of comparisons in which a proposal that changes nothing may be found to change
    /// something, however often one looks.
    pub error_rate: f64,
    /// A gain of a smaller share is not worth a line.
    pub gain_min_share: f64,
    pub pairs_max: usize,
}

impl Default for JudgeLimits {
    fn default() -> JudgeLimits {
        JudgeLimits { error_rate: 0.05, gain_min_share: 0.02, pairs_max: 10 }
    }
}

/// What came of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalVerdict {
    /// It helps.
    Kept,
    /// It is slower than without.
    Harms,
    /// Whether it helps was not to be seen, or it does not matter.
    NoGain,
    /// The server does not start with it, or the load failed.
    Fails,
}

/// A proposal with what was measured of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedProposal {
    pub verdict: ProposalVerdict,
    /// Measured pairs.
    pub pairs: usize,
    /// Throughput with it by that without it; `None` where no pair has both.
    pub ratio: Option<f64>,
    /// The interval of the look that ended it. Those of all looks hold the ratio, but for a share
    /// of `error_rate` of all comparisons.
    pub ratio_low: Option<f64>,
    pub ratio_high: Option<f64>,
    /// Why it fails.
    pub reason: Option<String>,
}

/// Throughput of one pair, above 0, or why the proposal has none.
pub(crate) type Pair = Result<[f64; 2], String>;

/// Measures pairs until it is decided. `pair` gets the number of the pair, from 0.
pub(crate) fn judge<E>(
    limits: &JudgeLimits,
    mut pair: impl FnMut(usize) -> Result<Pair, E>,
) -> Result<JudgedProposal, E> {
    let mut ratios = PairedRatios::default();
    loop {
        match pair(ratios.pairs())? {
            Ok(pair) => ratios.push(pair),
            Err(reason) => {
                return Ok(judged(limits, &ratios, ProposalVerdict::Fails, Some(reason)));
            }
        }
        if let Some(verdict) = decided(limits, &ratios) {
            return Ok(judged(limits, &ratios, verdict, None));
        }
    }
}

fn decided(limits: &JudgeLimits, ratios: &PairedRatios) -> Option<ProposalVerdict> {
    let (pairs, ratio) = (ratios.pairs(), ratios.ratio());
    let matters = ratio > 1.0 + limits.gain_min_share;
    match interval(limits, ratios) {
        Some([low, _]) if low > 1.0 => {
            return Some(if matters { ProposalVerdict::Kept } else { ProposalVerdict::NoGain });
        }
        Some([_, high]) if high < 1.0 => return Some(ProposalVerdict::Harms),
        _ => {}
    }
    let is_futile = pairs >= PAIRS_UNTIL_FUTILE && !matters;
    (is_futile || pairs >= limits.pairs_max).then_some(ProposalVerdict::NoGain)
}

/// Half of the error rate is for the looks that may end it early, and half for the last one: its
/// number is known beforehand, so that it sees what these have to leave open.
fn interval(limits: &JudgeLimits, ratios: &PairedRatios) -> Option<[f64; 2]> {
    let half = limits.error_rate / 2.0;
    match ratios.pairs() < limits.pairs_max {
        true => ratios.interval(half),
        false => ratios.interval_of_one_look(half),
    }
}

fn judged(
    limits: &JudgeLimits,
    ratios: &PairedRatios,
    verdict: ProposalVerdict,
    reason: Option<String>,
) -> JudgedProposal {
    let interval = interval(limits, ratios);
    JudgedProposal {
        verdict,
        pairs: ratios.pairs(),
        ratio: (ratios.pairs() > 0).then(|| ratios.ratio()),
        ratio_low: interval.map(|[low, _]| low),
        ratio_high: interval.map(|[_, high]| high),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::{JudgeLimits, JudgedProposal, Pair, ProposalVerdict, judge};
    use base::Random;
    use std::convert::Infallible;
    use std::f64::consts::TAU;

    fn normal(random: &mut Random) -> f64 {
        (-2.0 * random.unit().ln()).sqrt() * (TAU * random.unit()).cos()
    }

    /// How many of `runs` comparisons end so, and their mean number of pairs, where the proposal is
    /// worth `effect` and windows scatter by `noise`, on a machine that drifts.
    fn ended(verdict: ProposalVerdict, effect: f64, noise: f64) -> (usize, f64) {
        let mut random = Random::new(11, &[]);
        let (mut ended, mut pairs) = (0, 0);
        let runs = 2000;
        for _ in 0..runs {
            let mut drift = 0.0;
            let judged = judge(&JudgeLimits::default(), |_| {
                drift += 0.05 * normal(&mut random);
                let mut window = |effect: f64| (drift + effect + noise * normal(&mut random)).exp();
                Ok::<Pair, Infallible>(Ok([window(0.0), window(effect)]))
            });
            let judged: JudgedProposal = judged.unwrap_or_else(|never| match never {});
            ended += usize::from(judged.verdict == verdict);
            pairs += judged.pairs;
        }
        (ended, pairs as f64 / f64::from(runs))
    }

    #[test]
    fn what_changes_nothing_is_left_out() {
        for noise in [0.005, 0.02, 0.1] {
            let (kept, pairs) = ended(ProposalVerdict::Kept, 0.0, noise);
            // Half of the error rate is on this side: with two looks at most one in twenty is kept.
            assert!(kept < 50, "{kept} of 2000 with a noise of {noise}");
            assert!(pairs < 7.0, "{pairs} pairs with a noise of {noise}");
        }
    }

    #[test]
    fn what_harms_is_never_kept() {
        for (effect, noise) in [(-0.05, 0.02), (-0.1, 0.05), (-0.5, 0.1)] {
            let (kept, _) = ended(ProposalVerdict::Kept, effect, noise);
            assert_eq!(kept, 0, "{effect} with a noise of {noise}");
        }
    }

    #[test]
    fn what_helps_is_kept() {
        for (effect, noise, least, pairs_most) in [
            (0.5, 0.05, 1990, 4.0),
            (0.1, 0.05, 1700, 9.0),
            (0.1, 0.02, 1980, 6.0),
            (0.05, 0.01, 1980, 6.0),
        ] {
            let (kept, pairs) = ended(ProposalVerdict::Kept, effect, noise);
            assert!(kept >= least, "{kept} of 2000 of {effect} with a noise of {noise}");
            assert!(pairs < pairs_most, "{pairs} pairs of {effect} with a noise of {noise}");
        }
    }

    #[test]
    fn what_fails_says_why() {
        let judged = judge(&JudgeLimits::default(), |pair| {
            let both = (pair == 0).then_some([100.0, 110.0]);
            Ok::<Pair, Infallible>(both.ok_or_else(|| "it did not start".to_owned()))
        });
        let judged = judged.unwrap_or_else(|never| match never {});
        assert_eq!((judged.verdict, judged.pairs), (ProposalVerdict::Fails, 1));
        assert_eq!(judged.reason.as_deref(), Some("it did not start"));
    }
}
