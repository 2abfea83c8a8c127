//! What the charts draw: time series with at most [`POINTS_MAX`] points, fewer in a lab of many
//! repeats, and latency distributions.
//!
//! Many intervals become one point by adding counts and merging histograms, so a percentile of a
//! point is the percentile of its transactions and not a mean of percentiles.

use crate::format::{seconds, transaction};
use itertools::Itertools;
use serde::Serialize;
use std::collections::BTreeMap;
use store::{
    CellTransaction, IntervalRow, Phase, RepeatId, Results, StoreResult, TransactionTotals,
    WindowTotals,
};

/// The name under which primary types are drawn together, where there are several.
const PRIMARY: &str = "primary";

/// Most points of a series: about one for each pixel column of a chart.
const POINTS_MAX: u64 = 900;
/// Fewer show nothing of a course.
const POINTS_MIN: u64 = 120;
/// Of all repeats of a page together: some megabytes.
const POINTS_TOTAL: u64 = 15_000;

/// Most points of each series of a page with so many repeats.
pub fn points_max(repeats: usize) -> u64 {
    (POINTS_TOTAL / (repeats as u64).max(1)).clamp(POINTS_MIN, POINTS_MAX)
}

/// Everything of one repeat that is drawn.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Series {
    /// End of each point in seconds from the start of the run.
    pub time_s: Vec<f64>,
    /// Length of one point in seconds, of whole ones.
    pub point_s: f64,
    pub window_start_s: f64,
    pub window_end_s: f64,
    /// Name and title of each type, in the workload's order.
    pub names: Vec<(String, String)>,
    /// The one of `types` that is the throughput.
    pub primary: String,
    pub types: BTreeMap<String, TypeSeries>,
}

/// One transaction type over time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TypeSeries {
    pub per_minute: Vec<f64>,
    pub p50_ms: Vec<Option<f64>>,
    pub p95_ms: Vec<Option<f64>>,
    pub p99_ms: Vec<Option<f64>>,
    pub max_ms: Vec<Option<f64>>,
}

/// Latency distribution of one transaction type over the window.
#[derive(Clone, Debug, Serialize)]
pub struct Distribution {
    /// 1 / (1 - p) of each point of the percentile curve, so that a logarithmic axis spreads the
    /// tail.
    pub tail: Vec<f64>,
    pub tail_ms: Vec<f64>,
    /// Upper ends of the histogram's bins, [`BINS_PER_DECADE`] to a decade, and the share of
    /// transactions in each, in percent.
    pub bin_ms: Vec<f64>,
    pub bin_percent: Vec<f64>,
}

const BINS_PER_DECADE: f64 = 10.0;

/// Collects intervals into points.
struct Collector {
    intervals_per_point: u64,
    series: Series,
    point: Option<ChartPoint>,
    window: Option<(u64, u64)>,
    totals: WindowTotals,
}

struct ChartPoint {
    phase: Phase,
    start_ns: u64,
    end_ns: u64,
    last_start_ns: u64,
    intervals: u64,
    types: BTreeMap<String, TransactionTotals>,
}

/// Reads a repeat once: its series of so many points at most for the charts, and its intervals
/// added up.
pub fn read(
    results: &Results,
    repeat: RepeatId,
    points_max: u64,
) -> StoreResult<(Series, WindowTotals)> {
    let count = results.interval_count(repeat)?;
    let totals = results.no_window_totals(repeat)?;
    let types: Vec<CellTransaction> = totals.iter().map(|(of, _)| of.clone()).collect();
    let primary = types.iter().filter(|of| of.is_primary).exactly_one();
    let primary = primary.map_or(PRIMARY, |of| &of.name).to_owned();
    let name = |of: &CellTransaction| (of.name.clone(), transaction(&of.name));
    let mut collector = Collector {
        intervals_per_point: count.div_ceil(points_max).max(1),
        series: Series { names: types.iter().map(name).collect(), primary, ..Series::default() },
        point: None,
        window: None,
        totals,
    };
    results.for_each_interval(repeat, |row| collector.add(&row))?;
    collector.end_point();
    let (start_ns, end_ns) = collector.window.unwrap_or_default();
    collector.series.window_start_s = seconds(start_ns);
    collector.series.window_end_s = seconds(end_ns);
    Ok((collector.series, collector.totals))
}

impl Collector {
    fn add(&mut self, row: &IntervalRow) {
        self.totals.add(row);
        if row.phase == Phase::Drain {
            return;
        }
        if row.phase == Phase::Window {
            let (start, end) = self.window.unwrap_or((row.start_offset_ns, 0));
            self.window = Some((start.min(row.start_offset_ns), end.max(row.end_offset_ns)));
        }
        let full = self.point.as_ref().is_some_and(|point| {
            row.start_offset_ns != point.last_start_ns
                && (point.intervals >= self.intervals_per_point || row.phase != point.phase)
        });
        if full {
            self.end_point();
        }
        let point = self.point.get_or_insert_with(|| ChartPoint {
            phase: row.phase,
            start_ns: row.start_offset_ns,
            end_ns: row.end_offset_ns,
            last_start_ns: row.start_offset_ns,
            intervals: 1,
            types: BTreeMap::new(),
        });
        if row.start_offset_ns != point.last_start_ns {
            point.last_start_ns = row.start_offset_ns;
            point.intervals += 1;
        }
        point.end_ns = point.end_ns.max(row.end_offset_ns);
        point.types.entry(row.transaction.clone()).or_default().add(row);
        let is_primary =
            |(of, _): (&CellTransaction, _)| of.is_primary && of.name == row.transaction;
        if self.series.primary == PRIMARY && self.totals.iter().any(is_primary) {
            point.types.entry(PRIMARY.to_owned()).or_default().add(row);
        }
    }

    fn end_point(&mut self) {
        let Some(point) = self.point.take() else { return };
        let length_s = seconds(point.end_ns.saturating_sub(point.start_ns));
        self.series.point_s = self.series.point_s.max(length_s);
        self.series.time_s.push(rounded(seconds(point.end_ns)));
        let nothing = TransactionTotals::default();
        let together = Some(PRIMARY).filter(|_| self.series.primary == PRIMARY);
        let names = self.series.names.iter().map(|(name, _)| name.as_str());
        for name in names.chain(together) {
            let totals = point.types.get(name).unwrap_or(&nothing);
            let series = self.series.types.entry(name.to_owned()).or_default();
            let per_minute =
                if length_s > 0.0 { totals.completed() as f64 * 60.0 / length_s } else { 0.0 };
            let quantile = |q: f64| totals.quantile_ns(q).map(|ns| rounded(ns as f64 / 1e6));
            series.per_minute.push(rounded(per_minute));
            series.p50_ms.push(quantile(0.5));
            series.p95_ms.push(quantile(0.95));
            series.p99_ms.push(quantile(0.99));
            series.max_ms.push(totals.max_ns().map(|ns| rounded(ns as f64 / 1e6)));
        }
    }
}

/// The distribution of `totals` over the window; `None` where nothing completed.
pub fn distribution(totals: &TransactionTotals) -> Option<Distribution> {
    let samples = Some(totals.response.count()).filter(|samples| *samples > 0)?;
    // 1/(1-p) from 1 (minimum) in steps of a tenth of a decade, as far as there are samples.
    let most = samples as f64;
    let steps = (most.log10() * 10.0).floor() as u32;
    let tails = (0..=steps).map(|step| 10_f64.powf(f64::from(step) / 10.0));
    let curve = tails.filter_map(|tail| Some((tail, totals.quantile_ns(1.0 - 1.0 / tail)?)));
    let longest = totals.max_ns().map(|ns| (most * 1.000_1, ns));
    let point = |(tail, ns): (f64, u64)| (rounded(tail), rounded(ns as f64 / 1e6));
    let (tail, tail_ms) = curve.chain(longest).map(point).unzip();
    let mut bins: BTreeMap<i64, u64> = BTreeMap::new();
    for value in totals.response.histogram.iter_recorded() {
        let ms = (value.value_iterated_to() as f64 / 1e6).max(1e-6);
        let bin = (ms.log10() * BINS_PER_DECADE).ceil() as i64;
        *bins.entry(bin).or_default() += value.count_at_value();
    }
    let first = bins.keys().next().copied().unwrap_or(0) - 1;
    let last = bins.keys().next_back().copied().unwrap_or(0) + 1;
    let bin = |bin: i64| {
        let count = bins.get(&bin).copied().unwrap_or(0);
        let end_ms = 10_f64.powf(bin as f64 / BINS_PER_DECADE);
        (rounded(end_ms), rounded(count as f64 * 100.0 / most))
    };
    let (bin_ms, bin_percent) = (first..=last).map(bin).unzip();
    Some(Distribution { tail, tail_ms, bin_ms, bin_percent })
}

/// Five significant digits: more than a chart shows, and half the size of the document.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powf(4.0 - value.abs().log10().floor());
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::points_max;

    #[test]
    fn many_repeats_have_fewer_points_each() {
        let points = [0, 1, 16, 32, 128, 2_000].map(points_max);
        assert_eq!(points, [900, 900, 900, 468, 120, 120]);
    }
}
