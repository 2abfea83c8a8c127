//! Intervals added up: what one transaction type did over many of them.

use crate::histogram::Encoded;
use crate::row::row;
use crate::{CellTransaction, IntervalRow, Phase, empty_histogram};
use hdrhistogram::Histogram;

/// `None` where there was nothing to divide by.
pub(crate) fn finite(quotient: f64) -> Option<f64> {
    quotient.is_finite().then_some(quotient)
}

/// Sums of one transaction type over some intervals.
#[derive(Clone, Debug, Default)]
pub struct TransactionTotals {
    pub committed: u64,
    pub rolled_back: u64,
    pub deadlocks: u64,
    pub lock_wait_timeouts: u64,
    pub other_retries: u64,
    pub errors: u64,
    /// Response times of what completed.
    pub response: TimeTotals,
}

impl TransactionTotals {
    /// Adds an interval.
    pub fn add(&mut self, row: &IntervalRow) {
        self.committed += row.committed;
        self.rolled_back += row.rolled_back;
        self.deadlocks += row.deadlocks;
        self.lock_wait_timeouts += row.lock_wait_timeouts;
        self.other_retries += row.other_retries;
        self.errors += row.errors;
        merge(&mut self.response.histogram, &row.latency);
        self.response.sum_ns = self.response.sum_ns.saturating_add(row.latency_sum_ns);
        self.response.max_ns = self.response.max_ns.max(row.latency_max_ns);
        self.response.out_of_bounds += row.latency_out_of_bounds;
    }

    /// Adds those of another type.
    fn merge(&mut self, other: &TransactionTotals) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.deadlocks += other.deadlocks;
        self.lock_wait_timeouts += other.lock_wait_timeouts;
        self.other_retries += other.other_retries;
        self.errors += other.errors;
        self.response.add(&other.response);
    }

    /// Tries that were made again, whatever the cause.
    pub fn retries(&self) -> u64 {
        self.deadlocks + self.lock_wait_timeouts + self.other_retries
    }

    /// Transactions that ended as the clauses want: committed, or rolled back on purpose.
    pub fn completed(&self) -> u64 {
        self.committed + self.rolled_back
    }

    /// Completed transactions whose response time was `limit_ns` or longer, to the histogram's
    /// three digits.
    pub fn not_within(&self, limit_ns: u64) -> u64 {
        let slow = self.response.histogram.count_between(limit_ns, u64::MAX);
        slow + self.response.out_of_bounds
    }

    /// Exact mean response time; `None` where nothing completed.
    pub fn mean_ns(&self) -> Option<f64> {
        self.response.mean_ns()
    }

    /// Exact maximum; `None` where nothing completed.
    pub fn max_ns(&self) -> Option<u64> {
        self.response.max_ns()
    }

    /// As [`TimeTotals::quantile_ns`], of response times.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        self.response.quantile_ns(quantile)
    }
}

/// Totals of each type of transactions over the window, in the order of the workload.
#[derive(Clone, Debug, Default)]
pub struct WindowTotals(Vec<(CellTransaction, TransactionTotals)>);

impl WindowTotals {
    /// Those of a window in which nothing has ended yet.
    pub fn of_types(types: Vec<CellTransaction>) -> WindowTotals {
        let none = types.into_iter().map(|of| (of, TransactionTotals::default()));
        WindowTotals(none.collect())
    }

    /// Adds an interval, where it is of the window.
    pub fn add(&mut self, row: &IntervalRow) {
        let mut types = self.0.iter_mut();
        let found = types.find(|(of, _)| of.name == row.transaction);
        if let Some((_, totals)) = found.filter(|_| row.phase == Phase::Window) {
            totals.add(row);
        }
    }

    /// Each type with what it did.
    pub fn iter(&self) -> impl Iterator<Item = (&CellTransaction, &TransactionTotals)> + Clone {
        self.0.iter().map(|(of, totals)| (of, totals))
    }

    /// What the type of this name did.
    pub fn get(&self, name: &str) -> Option<&TransactionTotals> {
        let found = self.iter().find(|(of, _)| of.name == name);
        found.map(|(_, totals)| totals)
    }

    /// Does a transaction of the type of this name change rows? One that nobody knows may.
    pub fn changes_rows(&self, name: &str) -> bool {
        let found = self.iter().find(|(of, _)| of.name == name);
        found.is_none_or(|(of, _)| of.changes_rows())
    }

    /// Transactions of all types that ended well.
    pub fn completed(&self) -> u64 {
        self.iter().map(|(_, totals)| totals.completed()).sum()
    }

    /// What the primary types did together: the throughput.
    pub fn primary(&self) -> TransactionTotals {
        let mut primary = TransactionTotals::default();
        for (_, totals) in self.iter().filter(|(of, _)| of.is_primary) {
            primary.merge(totals);
        }
        primary
    }
}

impl FromIterator<(CellTransaction, TransactionTotals)> for WindowTotals {
    fn from_iter<I: IntoIterator<Item = (CellTransaction, TransactionTotals)>>(
        types: I,
    ) -> WindowTotals {
        WindowTotals(types.into_iter().collect())
    }
}

row! {
    /// Sums of times of one kind over some intervals.
    #[derive(Clone, Debug)]
    pub struct TimeTotals {
        pub sum_ns: u64,
        /// The exact maximum.
        pub max_ns: u64,
        /// Times above the histogram's bound: in sum and maximum, not in the histogram.
        pub out_of_bounds: u64,
        /// The same times, as `latency_histogram_ns`.
        pub histogram: Histogram<u64> as Encoded = "histogram_ns",
    }
}

impl Default for TimeTotals {
    fn default() -> Self {
        TimeTotals { histogram: empty_histogram(), sum_ns: 0, max_ns: 0, out_of_bounds: 0 }
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
    pub fn count(&self) -> u64 {
        self.histogram.len() + self.out_of_bounds
    }

    /// Exact mean; `None` where there are none.
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_ns as f64 / count as f64)
    }

    /// Exact maximum; `None` where there are none.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max_ns)
    }

    /// The time that a share `quantile` (0..=1) of them did not exceed, to three digits. What was
    /// out of the histogram's bounds counts as slowest, with the maximum as its time.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let inside = self.histogram.len();
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = (quantile * count as f64).ceil().max(1.0);
        if rank > inside as f64 {
            return Some(self.max_ns);
        }
        let value = self.histogram.value_at_quantile(rank / inside as f64);
        Some(value.min(self.max_ns))
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
        into.add(other).expect("a histogram that resizes itself takes any other");
    }
}
