//! Intervals added up: what one transaction type did over many of them.

use crate::{IntervalRow, empty_histogram};
use hdrhistogram::Histogram;

/// Sums of one transaction type over some intervals.
#[derive(Clone, Debug)]
pub struct Totals {
    pub committed: u64,
    pub rolled_back: u64,
    pub deadlocks: u64,
    pub lock_wait_timeouts: u64,
    pub other_retries: u64,
    pub errors: u64,
    /// Merged; values in ns.
    pub latency: Histogram<u64>,
    pub latency_sum_ns: u64,
    pub latency_max_ns: u64,
    pub latency_out_of_bounds: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Totals {
            committed: 0,
            rolled_back: 0,
            deadlocks: 0,
            lock_wait_timeouts: 0,
            other_retries: 0,
            errors: 0,
            latency: empty_histogram(),
            latency_sum_ns: 0,
            latency_max_ns: 0,
            latency_out_of_bounds: 0,
        }
    }
}

impl Totals {
    /// Adds an interval.
    pub fn add(&mut self, row: &IntervalRow) {
        self.committed += row.committed;
        self.rolled_back += row.rolled_back;
        self.deadlocks += row.deadlocks;
        self.lock_wait_timeouts += row.lock_wait_timeouts;
        self.other_retries += row.other_retries;
        self.errors += row.errors;
        self.latency_sum_ns = self.latency_sum_ns.saturating_add(row.latency_sum_ns);
        self.latency_max_ns = self.latency_max_ns.max(row.latency_max_ns);
        self.latency_out_of_bounds += row.latency_out_of_bounds;
        merge(&mut self.latency, &row.latency);
    }

    /// Adds other totals, of further intervals or of another type.
    pub fn add_totals(&mut self, other: &Totals) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.deadlocks += other.deadlocks;
        self.lock_wait_timeouts += other.lock_wait_timeouts;
        self.other_retries += other.other_retries;
        self.errors += other.errors;
        self.latency_sum_ns = self.latency_sum_ns.saturating_add(other.latency_sum_ns);
        self.latency_max_ns = self.latency_max_ns.max(other.latency_max_ns);
        self.latency_out_of_bounds += other.latency_out_of_bounds;
        merge(&mut self.latency, &other.latency);
    }

    /// Tries that were made again, whatever the cause.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.deadlocks + self.lock_wait_timeouts + self.other_retries
    }

    /// Transactions that ended as the clauses want: committed, or rolled back on purpose.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.committed + self.rolled_back
    }

    /// Completed transactions whose response time was `limit_ns` or longer, to the histogram's three digits.
    #[must_use]
    pub fn not_within(&self, limit_ns: u64) -> u64 {
        let slow = self.latency.count_between(limit_ns, u64::MAX);
        slow + self.latency_out_of_bounds
    }

    /// The response times by themselves.
    #[must_use]
    pub fn response_times(&self) -> TimeTotals {
        TimeTotals {
            histogram: self.latency.clone(),
            sum_ns: self.latency_sum_ns,
            max_ns: self.latency_max_ns,
            out_of_bounds: self.latency_out_of_bounds,
        }
    }

    fn samples(&self) -> u64 {
        self.latency.len() + self.latency_out_of_bounds
    }

    /// Exact mean response time; `None` where nothing completed.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        let samples = self.samples();
        (samples > 0).then(|| self.latency_sum_ns as f64 / samples as f64)
    }

    /// Exact maximum; `None` where nothing completed.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (self.samples() > 0).then_some(self.latency_max_ns)
    }

    /// The response time that a share `quantile` (0..=1) of the transactions did not exceed, to three digits. What was out of
    /// the histogram's bounds counts as slowest, with the maximum as its time.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let beyond = (self.latency_out_of_bounds, self.latency_max_ns);
        quantile_ns(&self.latency, beyond, quantile)
    }
}

/// Sums of times of one kind over some intervals.
#[derive(Clone, Debug)]
pub struct TimeTotals {
    /// Merged; values in ns.
    pub histogram: Histogram<u64>,
    pub sum_ns: u64,
    pub max_ns: u64,
    /// In sum and maximum, not in the histogram.
    pub out_of_bounds: u64,
}

impl Default for TimeTotals {
    fn default() -> Self {
        TimeTotals {
            histogram: empty_histogram(),
            sum_ns: 0,
            max_ns: 0,
            out_of_bounds: 0,
        }
    }
}

impl TimeTotals {
    /// Adds those of another interval.
    pub fn add(&mut self, other: &TimeTotals) {
        merge(&mut self.histogram, &other.histogram);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.out_of_bounds += other.out_of_bounds;
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len() + self.out_of_bounds
    }

    /// Exact mean; `None` where there are none.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_ns as f64 / count as f64)
    }

    /// Exact maximum; `None` where there are none.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max_ns)
    }

    /// As [`Totals::quantile_ns`].
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let beyond = (self.out_of_bounds, self.max_ns);
        quantile_ns(&self.histogram, beyond, quantile)
    }
}

fn merge(into: &mut Histogram<u64>, other: &Histogram<u64>) {
    if other.is_empty() {
        return;
    }
    if into.is_empty() {
        // Take over the bounds: merging histograms of one shape is a plain addition.
        *into = other.clone();
        into.auto(true);
    } else {
        into.add(other)
            .expect("a histogram that resizes itself takes any other");
    }
}

fn quantile_ns(
    histogram: &Histogram<u64>,
    (out_of_bounds, max_ns): (u64, u64),
    quantile: f64,
) -> Option<u64> {
    let inside = histogram.len();
    let samples = inside + out_of_bounds;
    if samples == 0 {
        return None;
    }
    let rank = (quantile * samples as f64).ceil().max(1.0);
    if rank > inside as f64 {
        return Some(max_ns);
    }
    let value = histogram.value_at_quantile(rank / inside as f64);
    Some(value.min(max_ns))
}
