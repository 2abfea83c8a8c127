//! What runs say of themselves, from the results file alone: each one by itself, and several of one
//! thing together.
//!
//! Several runs are judged as runs: their scatter is what another run would add. One run by itself
//! knows only how its intervals scatter; that is shown, and supports no comparison.

use crate::stats::statistics::{Estimate, NoInterval, mean};
use base::document;
use serde::Serialize;
use std::ops::Range;
use store::{
    Phase, Rates, RepeatId, RepeatStatus, Results, StoreResult, ThroughputMetric, TransactionTotals,
};

/// Of the response times that are compared, those of primary transactions.
const PERCENTILE: f64 = 0.95;
/// On either side of the percentile: where the density of response times is taken from.
const DENSITY_REACH: f64 = 0.01;
/// A difference that chance makes less often than this is one.
pub(crate) const SIGNIFICANT: f64 = 0.05;

document! {
    /// One side.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Runs from (name: &str, measured: &[Run]);
    let single = match measured {
        [only] => Some(only),
        _ => None,
    };
    let value = |of: fn(&Run) -> Option<f64>, series: fn(&Run) -> &[f64]| {
        let all: Vec<f64> = measured.iter().filter_map(of).collect();
        let estimate = match single {
            Some(only) => Estimate::of_series(series(only)),
            None => Estimate::of_repeats(&all).ok_or(NoInterval::OneRepeat),
        };
        MeanValue::new(mean(&all), estimate)
    };
    {
        /// As asked for.
        pub name: String = name.to_owned(),
        /// What `nopm` counts.
        #[serde(skip)]
        pub metric: ThroughputMetric = measured.first().map(|run| run.metric).unwrap_or_default(),
        /// Those that are done.
        pub repeat_ids: Vec<i64> = measured.iter().map(|run| run.id.0).collect(),
        /// What the intervals are from.
        pub basis: Basis = if single.is_some() { Basis::Intervals } else { Basis::Repeats },
        pub nopm: MeanValue = value(|run| run.nopm, |run| &run.nopm_series),
        pub new_order_p95_us: MeanValue =
            value(|run| run.p95_us, |run| &run.p95_us_series).at_least_of(measured),
    }
}

/// What tells how well a mean is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The scatter from run to run.
    Repeats,
    /// The scatter inside the only run, corrected for autocorrelation.
    Intervals,
}

/// A number with its 95 % interval; `None` is not known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanValue {
    pub mean: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub estimate: Option<Estimate>,
    /// Why there is no interval; `None` where there is one, or no mean.
    pub no_interval: Option<NoInterval>,
    /// Response times are at least so long: transactions were in flight at the end of a window.
    pub at_least: bool,
}

impl MeanValue {
    /// Of numbers that know nothing of each other; of one alone it has the mean and no interval.
    pub fn of_repeats(values: &[f64]) -> MeanValue {
        let estimate = Estimate::of_repeats(values);
        MeanValue::new(mean(values), estimate.ok_or(NoInterval::OneRepeat))
    }

    /// A number of runs, by those that have it: what the scatter inside one tells has no part in
    /// it.
    pub(crate) fn over_runs(runs: &[Run], number: fn(&Run) -> Option<f64>) -> MeanValue {
        MeanValue::of_repeats(&runs.iter().filter_map(number).collect::<Vec<_>>())
    }

    /// Half of the width of the interval.
    pub fn half_width(&self) -> Option<f64> {
        self.estimate.map(|estimate| estimate.half_width())
    }

    fn new(mean: Option<f64>, estimate: Result<Estimate, NoInterval>) -> MeanValue {
        let no_interval = estimate.err().filter(|_| mean.is_some());
        let estimate = estimate.ok();
        let half_width = estimate.map(|estimate| estimate.half_width());
        let at = |sign: f64| mean.zip(half_width).map(|(mean, half)| mean + sign * half);
        MeanValue { mean, low: at(-1.0), high: at(1.0), estimate, no_interval, at_least: false }
    }

    /// A percentile of these runs.
    pub(crate) fn at_least_of(self, runs: &[Run]) -> MeanValue {
        MeanValue { at_least: runs.iter().any(|run| run.p95_is_at_least), ..self }
    }
}

/// What one repeat says of itself.
pub(crate) struct Run {
    pub(crate) id: RepeatId,
    pub(crate) metric: ThroughputMetric,
    pub(crate) nopm: Option<f64>,
    pub(crate) p95_us: Option<f64>,
    p95_is_at_least: bool,
    /// One value for each interval of the window; their means are the two numbers.
    pub(crate) nopm_series: Vec<f64>,
    p95_us_series: Vec<f64>,
}

/// One interval of the window.
struct IntervalCounts {
    length_ns: f64,
    completed: f64,
    /// Of these, with a response time above the percentile.
    slow: f64,
}

impl Run {
    /// `None` where the repeat is not done.
    pub(crate) fn read(results: &Results, id: RepeatId) -> StoreResult<Option<Run>> {
        let repeat = results.repeat(id)?;
        if repeat.status != RepeatStatus::Done {
            return Ok(None);
        }
        let totals = results.window_totals(id)?;
        let nopm = Rates::of(&repeat, &totals).nopm;
        let primary = totals.primary();
        let limit_ns = primary.quantile_ns(PERCENTILE).unwrap_or(u64::MAX);
        let types = totals.iter().filter(|(of, _)| of.is_primary);
        let types: Vec<&str> = types.map(|(of, _)| of.name.as_str()).collect();
        let intervals = IntervalCounts::read(results, id, &types, limit_ns)?;
        let percentile = percentile_us(&primary, PERCENTILE);
        Ok(Some(Run {
            id,
            metric: results.cell(repeat.cell)?.what.throughput_metric,
            nopm,
            p95_us: percentile.as_ref().map(|(p95_us, _)| *p95_us),
            p95_is_at_least: primary.is_at_least(PERCENTILE),
            nopm_series: nopm.map_or_else(Vec::new, |nopm| rates(&intervals, nopm)),
            p95_us_series: percentile.map_or_else(Vec::new, |(p95_us, around_us)| {
                influences(&intervals, p95_us, around_us)
            }),
        }))
    }
}

impl IntervalCounts {
    /// The intervals of a window, of transactions of these types.
    fn read(
        results: &Results,
        id: RepeatId,
        types: &[&str],
        limit_ns: u64,
    ) -> StoreResult<Vec<IntervalCounts>> {
        let mut intervals: Vec<IntervalCounts> = Vec::new();
        let mut last_ns = None;
        results.for_each_interval(id, |row| {
            if row.phase != Phase::Window || !types.contains(&row.transaction.as_str()) {
                return;
            }
            let mut totals = TransactionTotals::default();
            totals.add(&row);
            if last_ns.replace(row.start_offset_ns) != Some(row.start_offset_ns) {
                let length_ns = (row.end_offset_ns - row.start_offset_ns) as f64;
                intervals.push(IntervalCounts { length_ns, completed: 0.0, slow: 0.0 });
            }
            if let Some(interval) = intervals.last_mut() {
                interval.completed += totals.completed() as f64;
                interval.slow += totals.not_within(limit_ns.saturating_add(1)) as f64;
            }
        })?;
        Ok(intervals)
    }
}

/// How far chance moves a percentile of a type of transactions in its window: its standard error,
/// by itself. `None` where the window does not tell.
pub(crate) fn percentile_noise_share(
    results: &Results,
    id: RepeatId,
    transaction: &str,
    totals: &TransactionTotals,
    share: f64,
) -> StoreResult<Option<f64>> {
    let (Some(limit_ns), Some((value_us, around_us))) =
        (totals.quantile_ns(share), percentile_us(totals, share))
    else {
        return Ok(None);
    };
    let intervals = IntervalCounts::read(results, id, &[transaction], limit_ns)?;
    let series = influences(&intervals, value_us, around_us);
    let estimate = Estimate::of_series(&series).ok();
    Ok(estimate.map(|estimate| estimate.standard_error / value_us))
}

/// A percentile, and the two that are [`DENSITY_REACH`] below and above it; unit: us.
fn percentile_us(totals: &TransactionTotals, share: f64) -> Option<(f64, Range<f64>)> {
    let us = |share: f64| totals.quantile_ns(share).map(|ns| ns as f64 / 1e3);
    Some((us(share)?, us(share - DENSITY_REACH)?..us(share + DENSITY_REACH)?))
}

/// What each interval adds to the window's rate, so that one which is shorter weighs less; unit:
/// NOPM.
fn rates(intervals: &[IntervalCounts], nopm: f64) -> Vec<f64> {
    let length_ns = intervals.iter().map(|of| of.length_ns).sum::<f64>() / intervals.len() as f64;
    let completed: f64 = intervals.iter().map(|of| of.completed).sum();
    let expected_per_ns = completed / (length_ns * intervals.len() as f64);
    let rate = |of: &IntervalCounts| {
        nopm + (of.completed - expected_per_ns * of.length_ns) * 60e9 / length_ns
    };
    intervals.iter().map(rate).collect()
}

/// What each interval adds to the window's percentile: its surplus of slow transactions by the
/// density of response times there (Bahadur), which the percentiles [`DENSITY_REACH`] around it
/// tell; unit: us.
fn influences(intervals: &[IntervalCounts], p95_us: f64, around_us: Range<f64>) -> Vec<f64> {
    let us_per_share = (around_us.end - around_us.start) / (2.0 * DENSITY_REACH);
    let all: f64 = intervals.iter().map(|of| of.completed).sum();
    let slow: f64 = intervals.iter().map(|of| of.slow).sum();
    let (share, mean) = (slow / all, all / intervals.len() as f64);
    let influence =
        |of: &IntervalCounts| p95_us + (of.slow - share * of.completed) / mean * us_per_share;
    intervals.iter().map(influence).collect()
}

#[cfg(test)]
mod tests {
    use super::{IntervalCounts, MeanValue, influences, rates};
    use crate::stats::noise::Noise;
    use crate::stats::statistics::{Estimate, mean};

    fn interval(seconds: f64, completed: f64, slow: f64) -> IntervalCounts {
        IntervalCounts { length_ns: seconds * 1e9, completed, slow }
    }

    #[test]
    fn the_interval_of_three_repeats() {
        let half_width = |values: &[f64]| MeanValue::of_repeats(values).half_width();
        assert_eq!((half_width(&[5.0]), half_width(&[])), (None, None));
        // Deviation 1, t = 4.303 for two degrees of freedom: 4.303 / sqrt(3) = 2.484.
        let three = half_width(&[9.0, 10.0, 11.0]);
        assert!(three.is_some_and(|width| (width - 2.484).abs() < 0.001), "{three:?}");
    }

    #[test]
    fn means_of_the_series_are_the_windows_numbers() {
        let intervals =
            [interval(1.0, 100.0, 2.0), interval(1.0, 120.0, 9.0), interval(0.5, 40.0, 2.0)];
        let nopm = 260.0 / 2.5 * 60.0;
        let rates = rates(&intervals, nopm);
        assert!((mean(&rates).unwrap() - nopm).abs() < 1e-6);
        assert!(rates[1] > nopm && rates[2] < nopm);
        let influences = influences(&intervals, 8_000.0, 7_500.0..8_500.0);
        assert!((mean(&influences).unwrap() - 8_000.0).abs() < 1e-6);
        assert!(influences[1] > 8_000.0 && influences[0] < 8_000.0);
    }

    #[test]
    fn the_percentiles_interval_holds_it() {
        // Negative exponential response times with a mean of 1,000 us: the 95th percentile is
        // 2,996, its density 5e-5 per us.
        let mut noise = Noise::new(8);
        let (trials, true_us) = (300, 1_000.0 * 20.0_f64.ln());
        let (mut given, mut holding) = (0, 0);
        for _ in 0..trials {
            let draws: Vec<Vec<f64>> =
                (0..60).map(|_| (0..100).map(|_| noise.response_time_us()).collect()).collect();
            let mut sorted: Vec<f64> = draws.concat();
            sorted.sort_by(f64::total_cmp);
            let quantile = |share: f64| sorted[(share * sorted.len() as f64) as usize];
            let (p95_us, around_us) = (quantile(0.95), quantile(0.94)..quantile(0.96));
            let intervals: Vec<IntervalCounts> = draws
                .iter()
                .map(|times| times.iter().filter(|time| **time > p95_us).count() as f64)
                .map(|slow| interval(1.0, 100.0, slow))
                .collect();
            let series = influences(&intervals, p95_us, around_us);
            let Ok(estimate) = Estimate::of_series(&series) else { continue };
            given += 1;
            holding += u32::from((p95_us - true_us).abs() <= estimate.half_width());
        }
        assert!(given >= trials - 10, "{given}");
        let share = f64::from(holding) / f64::from(given);
        assert!(share >= 0.91, "{share}");
    }
}
