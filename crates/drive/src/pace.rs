//! When transactions come: as connections get free, by a schedule, or from terminals.

use crate::client::PerType;
use crate::streams::ARRIVALS;
use base::Random;
use serde::{Deserialize, Serialize};
use spec::Spacing;
use std::time::Duration;

/// When transactions come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "a run has one")]
pub enum Pace {
    /// A connection begins its next transaction when the last one has ended.
    #[default]
    Closed,
    /// A schedule says when, whether a connection is free or not.
    Arrivals(Arrivals),
    /// Terminals with keying and think times share the connections.
    Terminals(Terminals),
}

/// The schedule of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Transactions of all types per second; above 0.
    pub per_s: f64,
    pub spacing: Spacing,
}

/// Terminals and their times, by type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminals {
    pub count: u32,
    /// Constant.
    pub keying: PerType<Duration>,
    /// Mean of the think time, which is negative exponential.
    pub think_mean: PerType<Duration>,
    /// A source deals the same types again after so many transactions: terminals start anywhere
    /// among them.
    pub deck_size: u32,
}

/// A think time may be cut at so many means (clause 5.2.5.4 of TPC-C).
const THINK_CUT_MEANS: f64 = 10.0;

/// A think time: negative exponential with this mean, cut at ten of them.
pub fn think_time(random: &mut Random, mean: Duration) -> Duration {
    let means = -random.unit().ln();
    mean.mul_f64(means.min(THINK_CUT_MEANS))
}

/// One worker of several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerShare {
    pub(crate) worker: u32,
    pub(crate) workers: u32,
}

/// Intended starts of one worker, in ns from the start of the run. Arithmetic on the number of the
/// arrival: a moment that passed unseen is still there.
pub(crate) struct IntendedStarts {
    random: Random,
    spacing: Spacing,
    /// Of this worker, where arrivals are independent; of all, where they are not.
    gap_ns: f64,
    next: u64,
    step: u64,
    at_ns: f64,
}

impl IntendedStarts {
    pub(crate) fn new(arrivals: Arrivals, share: WorkerShare, seed: u64) -> IntendedStarts {
        let gap_ns = 1e9 / arrivals.per_s;
        let mut plan = IntendedStarts {
            random: Random::new(seed, &[ARRIVALS, u64::from(share.worker)]),
            spacing: arrivals.spacing,
            gap_ns: match arrivals.spacing {
                // Poisson streams of the workers make one Poisson stream together.
                Spacing::Poisson => gap_ns * f64::from(share.workers),
                Spacing::Uniform => gap_ns,
            },
            next: u64::from(share.worker),
            step: u64::from(share.workers),
            at_ns: 0.0,
        };
        plan.advance();
        plan
    }

    /// The next intended start.
    pub(crate) fn next_ns(&self) -> u64 {
        self.at_ns as u64
    }

    /// Goes on to the one after.
    pub(crate) fn advance(&mut self) {
        match self.spacing {
            Spacing::Poisson => self.at_ns -= self.random.unit().ln() * self.gap_ns,
            Spacing::Uniform => {
                self.at_ns = self.next as f64 * self.gap_ns;
                self.next += self.step;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(spacing: Spacing, per_s: f64, workers: u32, count: usize) -> Vec<u64> {
        let arrivals = Arrivals { per_s, spacing };
        let mut all = Vec::new();
        for worker in 0..workers {
            let mut plan = IntendedStarts::new(arrivals, WorkerShare { worker, workers }, 7);
            for _ in 0..count {
                all.push(plan.next_ns());
                plan.advance();
            }
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn uniform_arrivals_are_exact() {
        let expected: Vec<u64> = (0..3_000).map(|n| n * 2_500_000).collect();
        assert_eq!(starts(Spacing::Uniform, 400.0, 3, 1_000), expected);
        // A third of a nanosecond is not added up: after 10 million arrivals the schedule is still
        // right.
        let arrivals = Arrivals { per_s: 3_000.0, spacing: Spacing::Uniform };
        let mut plan = IntendedStarts::new(arrivals, WorkerShare { worker: 0, workers: 1 }, 7);
        (0..10_000_000).for_each(|_| plan.advance());
        assert_eq!(plan.next_ns(), 10_000_000 * 1_000_000 / 3);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_variance_of_an_exponential() {
        // Merged from two workers, cut where the first of them ends.
        let all = starts(Spacing::Poisson, 1_000.0, 2, 100_000);
        let gaps: Vec<f64> =
            all[..150_000].windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
        // Standard errors: 0.0026 of the mean, 0.0073 of the variance.
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!((variance - 1.0).abs() < 0.03, "{variance}");
        let beyond = gaps.iter().filter(|gap| **gap > 3.0).count() as f64 / n;
        assert!((beyond - (-3f64).exp()).abs() < 0.002, "{beyond}");
    }
}
