//! Intervals added up: what one transaction type did over many of them.

use crate::empty_histogram;
use crate::histogram::Encoded;
use crate::row::{ColumnName, Columns, Stored, StoredAs, row};
use crate::rows::{CellTransaction, IntervalRow, Phase};
use hdrhistogram::Histogram;
use rusqlite::{Result, Row};

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
    /// Ages of what was in flight at the end of the window.
    pub in_flight: TimeTotals,
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
        self.response.add(&row.latency);
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
        self.in_flight.add(&other.in_flight);
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

    /// The same with the ages of what was in flight, which is at least so long.
    pub fn mean_with_in_flight_ns(&self) -> Option<f64> {
        let count = self.response.count() + self.in_flight.count();
        finite((self.response.sum_ns + self.in_flight.sum_ns) as f64 / count as f64)
    }

    /// Exact maximum or, where that is longer, the highest age; `None` where there was nothing.
    pub fn max_ns(&self) -> Option<u64> {
        self.response.max_ns().max(self.in_flight.max_ns())
    }

    /// Is the maximum an age?
    pub fn max_is_at_least(&self) -> bool {
        self.in_flight.max_ns() > self.response.max_ns()
    }

    /// As [`TimeTotals::quantile_ns`], of response times. What was in flight counts as the
    /// estimator of Kaplan and Meier has it: a transaction is longer than its age, and of how much
    /// longer it tells nothing. Where no response time is long enough, the quantile is an age.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        self.quantile(quantile).map(|(ns, _)| ns)
    }

    /// Is the quantile an age, so that response times are at least so long?
    pub fn is_at_least(&self, quantile: f64) -> bool {
        self.quantile(quantile).is_some_and(|(_, is_at_least)| is_at_least)
    }

    fn quantile(&self, quantile: f64) -> Option<(u64, bool)> {
        let (ended, in_flight) = (&self.response, &self.in_flight);
        let alone_ns = ended.quantile_ns(quantile);
        // So it is in nearly every run.
        if alone_ns >= in_flight.max_ns() {
            return alone_ns.map(|ns| (ns, false));
        }
        let mut ages = in_flight.histogram.iter_recorded().peekable();
        let mut longer = in_flight.count();
        let mut unended = ended.count();
        let mut exceed_share = 1.0;
        for time in ended.histogram.iter_recorded() {
            let ns = time.value_iterated_to();
            while let Some(age) = ages.next_if(|age| age.value_iterated_to() < ns) {
                longer -= age.count_at_value();
            }
            let count = time.count_at_value();
            exceed_share *= 1.0 - count as f64 / (unended + longer) as f64;
            unended -= count;
            if 1.0 - exceed_share >= quantile {
                return Some((ns.min(ended.max_ns), false));
            }
        }
        if longer == 0 {
            return Some((ended.max_ns, false));
        }
        // The rest is among those that are in flight for longer than that, in equal parts.
        let left = 1.0 - (1.0 - quantile) / exceed_share;
        let rank = in_flight.count() - longer + ((left * longer as f64).ceil() as u64).max(1);
        in_flight.at_rank(rank).map(|ns| (ns.max(ended.max_ns), true))
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

    /// Adds what was in flight at the end of the window.
    pub(crate) fn add_in_flight(&mut self, transaction: &str, ages: &TimeTotals) {
        let found = self.0.iter_mut().find(|(of, _)| of.name == transaction);
        if let Some((_, totals)) = found {
            totals.in_flight.add(ages);
        }
    }

    /// Each type with what it did.
    pub fn iter(&self) -> impl Iterator<Item = (&CellTransaction, &TransactionTotals)> + Clone {
        self.0.iter().map(|(of, totals)| (of, totals))
    }

    /// What the type of this name did.
    pub fn get(&self, name: &str) -> Option<&TransactionTotals> {
        self.iter().find(|(of, _)| of.name == name).map(|(_, totals)| totals)
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
        /// The maximum; exact but for `role_request`.
        pub max_ns: u64,
        /// Times above the histogram's bound: in sum and maximum, not in the histogram.
        pub out_of_bounds: u64,
        /// The same times, as `latency_histogram_ns` of `interval`.
        pub histogram: Histogram<u64> as Encoded = "histogram_ns",
    }
}

/// Times, with how many they are in the column of the field's name.
pub(crate) struct WithCount;

impl StoredAs<TimeTotals> for WithCount {
    fn put<'a>(column: ColumnName, times: &'a TimeTotals, into: &mut Columns<'a>) -> Result<()> {
        into.own(column, times.count().cast_signed());
        times.put("", into)
    }

    fn get(row: &Row<'_>, _: &str) -> Result<TimeTotals> {
        TimeTotals::get(row, "")
    }

    #[cfg(test)]
    fn describe(column: &str, meaning: &str, into: &mut Vec<(String, String)>) {
        <crate::row::Plain as StoredAs<u64>>::describe(column, "How many.", into);
        <crate::row::Nested as StoredAs<TimeTotals>>::describe("", meaning, into);
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
        self.at_rank((quantile * self.count() as f64).ceil().max(1.0) as u64)
    }

    /// The one of them that so many, itself included, do not exceed; `None` where there are fewer.
    fn at_rank(&self, rank: u64) -> Option<u64> {
        let inside = self.histogram.len();
        if rank > inside {
            return (rank <= self.count()).then_some(self.max_ns);
        }
        let value = self.histogram.value_at_quantile(rank as f64 / inside as f64);
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

#[cfg(test)]
mod tests {
    use super::{TimeTotals, TransactionTotals};
    use base::Random;

    fn times(ns: &[u64]) -> TimeTotals {
        let mut times = TimeTotals::default();
        for ns in ns {
            times.histogram.record(*ns).unwrap();
            times.sum_ns += ns;
            times.max_ns = times.max_ns.max(*ns);
        }
        times
    }

    fn totals(ended_ms: &[u64], in_flight_ms: &[u64]) -> TransactionTotals {
        let [response, in_flight] = [ended_ms, in_flight_ms].map(|all| {
            let ns: Vec<u64> = all.iter().map(|ms| ms * 1_000_000).collect();
            times(&ns)
        });
        TransactionTotals { response, in_flight, ..TransactionTotals::default() }
    }

    fn quantile_ms(of: &TransactionTotals, quantile: f64) -> (u64, bool) {
        let (ns, is_at_least) = of.quantile(quantile).unwrap();
        ((ns as f64 / 1e6).round() as u64, is_at_least)
    }

    /// 2,600 of some 10 ms, and four connections that stood still for 5 s at the end.
    #[test]
    fn percentiles_reach_what_was_in_flight() {
        let ended: Vec<u64> = (0..2_600).map(|n| 5 + n % 11).collect();
        let of = totals(&ended, &[5_000; 4]);
        assert_eq!(quantile_ms(&of, 0.5), quantile_ms(&totals(&ended, &[]), 0.5));
        assert_eq!(quantile_ms(&of, 0.99), (15, false));
        assert_eq!(quantile_ms(&of, 0.999), (5_000, true));
        assert!(of.max_is_at_least() && !of.is_at_least(0.99));
        assert_eq!(of.max_ns(), Some(5_000_000_000));
        // With what is in flight for less than the percentile nothing changes.
        let short = totals(&ended, &[3; 4]);
        assert_eq!(quantile_ms(&short, 0.5), (10, false));
        assert_eq!(quantile_ms(&short, 0.999), (15, false));
        assert!(!short.max_is_at_least());
    }

    /// 428 of 3,000 connections have ended anything at all.
    #[test]
    fn a_window_that_is_too_short_knows_lower_bounds_alone() {
        let ended: Vec<u64> = (0..428).map(|n| 10_000 + n).collect();
        let of = totals(&ended, &[12_000; 2_572]);
        let (tenth_ms, is_at_least) = quantile_ms(&of, 0.1);
        assert!((10_290..10_310).contains(&tenth_ms) && !is_at_least, "{tenth_ms}");
        assert_eq!(quantile_ms(&of, 0.5), (12_000, true));
        let nothing_ended = totals(&[], &[100, 200, 300, 400]);
        assert_eq!(quantile_ms(&nothing_ended, 0.5), (200, true));
        assert_eq!(totals(&[], &[]).quantile_ns(0.5), None);
        let longest = totals(&[1; 99], &[7_000]);
        assert_eq!(quantile_ms(&longest, 0.99), (1, false));
        assert_eq!(quantile_ms(&longest, 0.995), (7_000, true));
    }

    /// Where it is chance which transactions are cut, percentiles are those without a cut.
    #[test]
    fn percentiles_are_those_without_a_cut() {
        let mut random = Random::new(7, &[]);
        let mut draw = || (-random.unit().ln() * 1e9) as u64;
        let (mut ended, mut in_flight, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..40_000 {
            let ns = draw();
            all.push(ns);
            let cut_ns = if n % 4 == 0 { 3 * draw() } else { u64::MAX };
            if ns > cut_ns { in_flight.push(cut_ns) } else { ended.push(ns) }
        }
        let of = TransactionTotals {
            response: times(&ended),
            in_flight: times(&in_flight),
            ..TransactionTotals::default()
        };
        for quantile in [0.5, 0.9, 0.95, 0.99] {
            let truth = times(&all).quantile_ns(quantile).unwrap() as f64;
            let found = of.quantile_ns(quantile).unwrap() as f64 / truth;
            assert!((found - 1.0).abs() < 0.04, "{quantile}: {found}");
        }
    }
}
