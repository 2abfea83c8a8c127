//! A comparison that is looked at after every pair of measurements, and ends when it is decided.
//!
//! A p-value that is looked at again and again until it is small will be small some day, whatever
//! is compared. This interval holds at every look at once. It is that of the Bayes factor of
//! Student's t with a normal prior of the effect in units of its deviation, N(0, `PRIOR`²), and the
//! right Haar prior of the deviation, which is a test martingale (Hendriksen, de Heide and
//! Grünwald, "Optional stopping with Bayes factors", Bayesian Analysis 16, 2021): by Ville's
//! inequality the probability that it ever excludes the truth is at most the error rate.

use crate::stats::statistics::{Estimate, mean};
use crate::stats::student::Student;

/// Effects that are looked for, in deviations of one pair. Large, as a setting that matters is
/// worth several: then three pairs may decide.
const PRIOR: f64 = 4.0;
/// Two have one degree of freedom, whose interval would never exclude anything.
const PAIRS_MIN: usize = 3;

/// Ratios of pairs that were measured one beside the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairedRatios {
    logs: Vec<f64>,
}

impl PairedRatios {
    /// Adds the pair of a base and what is compared with it, both above 0.
    pub fn push(&mut self, [base, other]: [f64; 2]) {
        if base > 0.0 && other > 0.0 {
            self.logs.push((other / base).ln());
        }
    }

    pub fn pairs(&self) -> usize {
        self.logs.len()
    }

    /// The geometric mean; 1 where there is no pair.
    pub fn ratio(&self) -> f64 {
        mean(&self.logs).unwrap_or(0.0).exp()
    }

    /// The interval that holds the true ratio at all looks, but for a share of `error_rate` of all
    /// comparisons; `None` where so few pairs exclude nothing.
    pub fn interval(&self, error_rate: f64) -> Option<[f64; 2]> {
        let n = self.pairs() as f64;
        // The Bayes factor is 1/error_rate where (1 + x) / (1 + x/g) = R, with x = t²/(n-1).
        let g = 1.0 + n * PRIOR * PRIOR;
        let r = (g.sqrt() / error_rate).powf(2.0 / n);
        let x = (r < g).then(|| (r - 1.0) / (1.0 - r / g))?;
        self.around_mean((x * (n - 1.0)).sqrt())
    }

    /// The interval of a single look, after a number of pairs that was chosen beforehand: that of
    /// Student's t. It is narrower than that of all looks.
    pub fn interval_of_one_look(&self, error_rate: f64) -> Option<[f64; 2]> {
        let student = Student { degrees_of_freedom: self.pairs().checked_sub(1)? as f64 };
        self.around_mean(student.reach(1.0 - error_rate))
    }

    /// Reaches `t` standard errors of the mean to either side.
    fn around_mean(&self, t: f64) -> Option<[f64; 2]> {
        let estimate = Estimate::of_repeats(&self.logs).filter(|of| of.count >= PAIRS_MIN)?;
        let reach = t * estimate.standard_error;
        Some([-reach, reach].map(|reach| (estimate.mean + reach).exp()))
    }
}

#[cfg(test)]
mod tests {
    use super::PairedRatios;
    use crate::stats::noise::Noise;

    const ERROR_RATE: f64 = 0.05;

    /// Looks after every pair: is 1 excluded at any look, and on which side?
    fn decided(noise: &mut Noise, effect: f64, pairs: usize) -> Option<(bool, usize)> {
        let mut ratios = PairedRatios::default();
        for pair in 1..=pairs {
            ratios.push([1.0, (effect + 0.03 * noise.normal()).exp()]);
            match ratios.interval(ERROR_RATE) {
                Some([low, _]) if low > 1.0 => return Some((true, pair)),
                Some([_, high]) if high < 1.0 => return Some((false, pair)),
                _ => {}
            }
        }
        None
    }

    #[test]
    fn it_is_wrong_at_any_look_no_more_often_than_said() {
        let mut noise = Noise::new(7);
        let runs = 4000;
        let wrong = (0..runs).filter(|_| decided(&mut noise, 0.0, 50).is_some()).count();
        // Five in a hundred, and what chance adds to 4,000 runs.
        assert!(wrong < 230, "{wrong} of {runs}");
        // It is no empty promise: it would be 0 if nothing was ever excluded.
        assert!(wrong > 10, "{wrong} of {runs}");
    }

    #[test]
    fn a_large_effect_needs_few_pairs() {
        let mut noise = Noise::new(8);
        let runs = 1000;
        let mut all_pairs = 0;
        for _ in 0..runs {
            let (is_gain, pairs) = decided(&mut noise, 0.3, 12).unwrap();
            assert!(is_gain);
            all_pairs += pairs;
        }
        assert!(all_pairs < 4 * runs, "{all_pairs} pairs in {runs} comparisons");
    }

    #[test]
    fn one_look_sees_more_and_is_wrong_no_more_often_than_said() {
        let mut noise = Noise::new(9);
        let (runs, mut wrong) = (4000, 0);
        for _ in 0..runs {
            let mut ratios = PairedRatios::default();
            (0..10).for_each(|_| ratios.push([1.0, (0.03 * noise.normal()).exp()]));
            let [low, high] = ratios.interval_of_one_look(ERROR_RATE).unwrap();
            let [low_of_all, high_of_all] = ratios.interval(ERROR_RATE).unwrap();
            assert!(low_of_all < low && high < high_of_all);
            wrong += usize::from(!(low..high).contains(&1.0));
        }
        assert!((160..240).contains(&wrong), "{wrong} of {runs}");
    }

    #[test]
    fn few_pairs_say_nothing() {
        let mut ratios = PairedRatios::default();
        assert_eq!((ratios.ratio(), ratios.interval(ERROR_RATE)), (1.0, None));
        assert_eq!(ratios.interval_of_one_look(ERROR_RATE), None);
        ratios.push([100.0, 120.0]);
        ratios.push([100.0, 120.0]);
        ratios.push([0.0, 120.0]);
        assert_eq!((ratios.pairs(), ratios.interval(ERROR_RATE)), (2, None));
        assert_eq!(ratios.interval_of_one_look(ERROR_RATE), None);
        // Equal ratios scatter by nothing but rounding.
        ratios.push([100.0, 120.0]);
        let [low, high] = ratios.interval(ERROR_RATE).unwrap();
        assert!((low - 1.2).abs() < 1e-6 && (high - 1.2).abs() < 1e-6, "{low} {high}");
    }
}
