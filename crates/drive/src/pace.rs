//! When transactions come: as connections get free, by a schedule, or from terminals.

use crate::client::PerType;
use crate::streams::ARRIVALS;
use base::Random;
use serde::{Deserialize, Serialize};
use spec::{RateStep, Spacing};
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Transactions of all types, from which times on; the first time is 0.
    pub steps: Vec<RateStep>,
    /// After so long the steps begin anew.
    pub period: Option<Duration>,
    /// The rate of the first step stands before it for so long: the warm-up.
    pub lead: Duration,
    pub spacing: Spacing,
}

impl Arrivals {
    /// Always so many per second; above 0.
    pub fn steady(per_s: f64, spacing: Spacing) -> Arrivals {
        let steps = vec![RateStep { from: Duration::ZERO, per_s }];
        Arrivals { steps, period: None, lead: Duration::ZERO, spacing }
    }

    /// The mean rate of a window of this length.
    pub fn mean_per_s(&self, window: Duration) -> f64 {
        match self.steps.as_slice() {
            [only] => only.per_s,
            steps => {
                let curve = RateCurve::new(steps, self.period);
                curve.count_by(window.as_nanos() as f64) / window.as_secs_f64()
            }
        }
    }
}

/// How many transactions are expected by which moment of the window.
struct RateCurve {
    segments: Vec<Segment>,
    /// How long it is until the segments begin anew, in ns, and how many are expected by then.
    period: Option<(f64, f64)>,
}

/// A rate, from a moment on by which so many were expected.
struct Segment {
    from_ns: f64,
    count: f64,
    gap_ns: f64,
}

impl RateCurve {
    fn new(steps: &[RateStep], period: Option<Duration>) -> RateCurve {
        let mut curve = RateCurve { segments: Vec::new(), period: None };
        for step in steps {
            let from_ns = step.from.as_nanos() as f64;
            let count = if from_ns > 0.0 { curve.count_by(from_ns) } else { 0.0 };
            // Finite where nothing comes, so that nothing times it is nothing.
            let gap_ns = if step.per_s > 0.0 { 1e9 / step.per_s } else { f64::MAX };
            curve.segments.push(Segment { from_ns, count, gap_ns });
        }
        let period_ns = period.map(|period| period.as_nanos() as f64);
        curve.period = period_ns.map(|ns| (ns, curve.count_by(ns)));
        curve
    }

    /// The last segment for which this is so, as it is for the first.
    fn last(&self, has_begun: impl FnMut(&Segment) -> bool) -> &Segment {
        &self.segments[self.segments.partition_point(has_begun).max(1) - 1]
    }

    fn count_by(&self, ns: f64) -> f64 {
        let (period_ns, of_period) = self.period.unwrap_or((f64::MAX, 0.0));
        let (periods, ns) = ((ns / period_ns).floor(), ns % period_ns);
        let segment = self.last(|segment| segment.from_ns <= ns);
        periods * of_period + segment.count + (ns - segment.from_ns) / segment.gap_ns
    }

    fn ns_of(&self, count: f64) -> f64 {
        let (period_ns, of_period) = self.period.unwrap_or((0.0, f64::MAX));
        let (periods, count) = ((count / of_period).floor(), count % of_period);
        let segment = self.last(|segment| segment.count <= count);
        periods * period_ns + segment.from_ns + (count - segment.count) * segment.gap_ns
    }
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
    curve: RateCurve,
    lead_ns: f64,
    /// How many are expected before the curve begins.
    lead: f64,
    next: u64,
    workers: u32,
    /// How many of all workers are expected by the next start.
    expected: f64,
}

impl IntendedStarts {
    pub(crate) fn new(arrivals: &Arrivals, share: WorkerShare, seed: u64) -> IntendedStarts {
        let lead_ns = arrivals.lead.as_nanos() as f64;
        let mut plan = IntendedStarts {
            random: Random::new(seed, &[ARRIVALS, u64::from(share.worker)]),
            spacing: arrivals.spacing,
            curve: RateCurve::new(&arrivals.steps, arrivals.period),
            lead_ns,
            lead: arrivals.steps.first().map_or(0.0, |step| lead_ns * step.per_s / 1e9),
            next: u64::from(share.worker),
            workers: share.workers,
            expected: 0.0,
        };
        plan.advance();
        plan
    }

    /// The next intended start.
    pub(crate) fn next_ns(&self) -> u64 {
        let behind = self.expected - self.lead;
        match behind < 0.0 {
            true => (self.expected / self.lead * self.lead_ns) as u64,
            false => (self.lead_ns + self.curve.ns_of(behind)) as u64,
        }
    }

    /// Goes on to the one after.
    pub(crate) fn advance(&mut self) {
        match self.spacing {
            // Poisson streams of the workers make one Poisson stream together.
            Spacing::Poisson => {
                self.expected -= self.random.unit().ln() * f64::from(self.workers);
            }
            Spacing::Uniform => {
                self.expected = self.next as f64;
                self.next += u64::from(self.workers);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(spacing: Spacing, per_s: f64, workers: u32, count: usize) -> Vec<u64> {
        starts_of(&Arrivals::steady(per_s, spacing), workers, count)
    }

    fn starts_of(arrivals: &Arrivals, workers: u32, count: usize) -> Vec<u64> {
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
        let arrivals = Arrivals::steady(3_000.0, Spacing::Uniform);
        let mut plan = IntendedStarts::new(&arrivals, WorkerShare { worker: 0, workers: 1 }, 7);
        (0..10_000_000).for_each(|_| plan.advance());
        assert_eq!(plan.next_ns(), 10_000_000 * 1_000_000 / 3);
    }

    fn steps(written: &[(u64, f64)], spacing: Spacing) -> Arrivals {
        let step =
            |(s, per_s): &(u64, f64)| RateStep { from: Duration::from_secs(*s), per_s: *per_s };
        let steps = written.iter().map(step).collect();
        Arrivals { steps, period: None, lead: Duration::from_secs(10), spacing }
    }

    /// How many of the starts are in each second.
    fn by_second(starts: &[u64], seconds: u64) -> Vec<usize> {
        let of_second = |s: u64| starts.iter().filter(|ns| **ns / 1_000_000_000 == s).count();
        (0..seconds).map(of_second).collect()
    }

    #[test]
    fn steps_count_from_the_end_of_the_warmup() {
        let arrivals = steps(&[(0, 100.0), (5, 0.0), (7, 400.0)], Spacing::Uniform);
        assert_eq!(arrivals.mean_per_s(Duration::from_secs(10)), 170.0);
        let all = starts_of(&arrivals, 2, 3_000);
        let expected = [[100_usize; 15].to_vec(), vec![0; 2], vec![400; 10]].concat();
        let found = by_second(&all, 27);
        // The one that is due at the very end of a step comes with the next rate.
        assert!(expected.iter().zip(&found).all(|(a, b)| a.abs_diff(*b) <= 1), "{found:?}");
        assert_eq!(all[1_499..1_502], [14_990_000_000, 17_000_000_000, 17_002_500_000]);
        // Nothing comes any more.
        let over = starts_of(&steps(&[(0, 100.0), (5, 0.0)], Spacing::Uniform), 1, 1_600);
        assert!(over[1_501..].iter().all(|ns| *ns > 1 << 60), "{:?}", &over[1_499..1_503]);
    }

    #[test]
    fn poisson_arrivals_follow_a_rate_that_repeats() {
        let arrivals = steps(&[(0, 1_000.0), (1, 3_000.0)], Spacing::Poisson);
        let arrivals = Arrivals { period: Some(Duration::from_secs(2)), ..arrivals };
        assert_eq!(arrivals.mean_per_s(Duration::from_secs(3)), 5_000.0 / 3.0);
        let found = by_second(&starts_of(&arrivals, 2, 100_000), 90);
        let (lead, rest) = found.split_at(10);
        let is_near = |count: usize, mean: f64| (count as f64 - mean).abs() < 5.0 * mean.sqrt();
        assert!(lead.iter().all(|count| is_near(*count, 1_000.0)), "{lead:?}");
        for pair in rest.chunks(2) {
            assert!(is_near(pair[0], 1_000.0) && is_near(pair[1], 3_000.0), "{pair:?}");
        }
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
