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
        self.merge(&row.latency);
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
        self.merge(&other.latency);
    }

    fn merge(&mut self, latency: &Histogram<u64>) {
        if latency.is_empty() {
            return;
        }
        if self.latency.is_empty() {
            // Take over the bounds: merging histograms of one shape is a plain addition.
            self.latency = latency.clone();
            self.latency.auto(true);
        } else {
            self.latency
                .add(latency)
                .expect("a histogram that resizes itself takes any other");
        }
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
        let samples = self.samples();
        if samples == 0 {
            return None;
        }
        let rank = (quantile * samples as f64).ceil().max(1.0);
        let inside = self.latency.len();
        if rank > inside as f64 {
            return Some(self.latency_max_ns);
        }
        let value = self.latency.value_at_quantile(rank / inside as f64);
        Some(value.min(self.latency_max_ns))
    }
}
