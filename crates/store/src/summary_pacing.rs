//! The parts of the summary that tell of terminals, schedules and the standard's requirements.

use crate::pacing::{ScheduleCounts, TimeKind, WindowTimes};
use crate::summary::{ByTransaction, WindowTotals};
use crate::totals::{TimeTotals, Totals};
use crate::types::{Cell, Repeat, RepeatResult, RepeatStatus};
use crate::{Results, StoreError};
use serde::Serialize;

/// Terminals of workload `tpcc-spec`. Times are of the window, and not shown where the repeat failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TerminalsSummary {
    pub count: u32,
    pub paced_warehouses: u32,
    pub inactive_warehouses: Option<u32>,
    pub ceiling_nopm: Option<f64>,
    pub ceiling_deviation_nopm: Option<f64>,
    pub nopm_within_window: Option<f64>,
    pub efficiency: Option<f64>,
    pub keying_mean_s: ByTransaction<Option<f64>>,
    pub think_mean_s: ByTransaction<Option<f64>>,
    pub delivery_acknowledgements: DurationsSummary,
    pub deferred_deliveries: DurationsSummary,
    pub pending_deliveries: Option<u64>,
}

/// Some durations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DurationsSummary {
    pub count: u64,
    pub mean_s: Option<f64>,
    pub p90_s: Option<f64>,
    pub max_s: Option<f64>,
}

/// The schedule of `--rate`, over the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenLoopSummary {
    pub rate_asked: String,
    pub arrivals: String,
    pub rate_per_s: Option<f64>,
    pub capacity_per_s: Option<f64>,
    pub capacity_precision_share: Option<f64>,
    pub offered: u64,
    pub completed: u64,
    pub late: u64,
    pub skipped: u64,
    pub lag_p50_us: Option<f64>,
    pub lag_p99_us: Option<f64>,
    pub lag_max_us: Option<f64>,
    pub service_mean_us: Option<f64>,
    pub service_p50_us: Option<f64>,
    pub service_p90_us: Option<f64>,
    pub service_p99_us: Option<f64>,
    pub service_max_us: Option<f64>,
}

/// A requirement of the standard.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerdictSummary {
    pub name: String,
    pub title: String,
    pub clause: String,
    pub unit: String,
    pub value: Option<f64>,
    pub allowed_low: Option<f64>,
    pub allowed_high: Option<f64>,
    pub chance_low: Option<f64>,
    pub chance_high: Option<f64>,
    pub verdict: String,
    pub passed: Option<bool>,
}

/// What terminals and schedule were, and what came of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacingSummary {
    pub terminals: Option<TerminalsSummary>,
    pub open_loop: Option<OpenLoopSummary>,
}

impl Results {
    /// What a repeat shows of terminals and schedule; `totals` are those of its window.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn pacing_summary(
        &self,
        repeat: &Repeat,
        cell: &Cell,
        totals: &WindowTotals,
    ) -> Result<PacingSummary, StoreError> {
        if cell.what.terminals.is_none() && cell.what.rate_asked.is_none() {
            return Ok(PacingSummary::default());
        }
        let times = self.window_times(repeat.id)?;
        let counts = self.window_schedule(repeat.id)?.unwrap_or_default();
        let terminals = cell.what.terminals;
        let rate_asked = cell.what.rate_asked.as_ref();
        Ok(PacingSummary {
            terminals: terminals.map(|count| terminals_of(count, repeat, cell, totals, &times)),
            open_loop: rate_asked
                .map(|asked| open_loop_of(asked, repeat, cell, totals, (counts, &times))),
        })
    }

    pub(crate) fn verdict_summaries(
        &self,
        repeat: &Repeat,
    ) -> Result<Vec<VerdictSummary>, StoreError> {
        let requirements = self.requirements(repeat.id)?;
        Ok(requirements
            .into_iter()
            .map(|requirement| VerdictSummary {
                passed: requirement.passed(),
                name: requirement.name,
                title: requirement.title,
                clause: requirement.clause,
                unit: requirement.unit.to_string(),
                value: requirement.value,
                allowed_low: requirement.allowed.low,
                allowed_high: requirement.allowed.high,
                chance_low: requirement.chance.low,
                chance_high: requirement.chance.high,
                verdict: requirement.verdict.to_string(),
            })
            .collect())
    }
}

impl RepeatResult {
    /// New orders per minute that began and ended in the window, of workload `tpcc-spec`.
    #[must_use]
    pub fn nopm_within_window(&self) -> Option<f64> {
        let new_orders = self.new_orders_within_window? as f64;
        (self.measured_window_ns > 0).then(|| new_orders * 60e9 / self.measured_window_ns as f64)
    }
}

fn is_done(repeat: &Repeat) -> bool {
    repeat.status == RepeatStatus::Done
}

fn terminals_of(
    count: u32,
    repeat: &Repeat,
    cell: &Cell,
    totals: &WindowTotals,
    times: &WindowTimes,
) -> TerminalsSummary {
    let done = is_done(repeat);
    let result = repeat.result.as_ref().filter(|_| done);
    let nothing = TimeTotals::default();
    let of = |kind: TimeKind, name: &str| times.get(&(kind, name.to_owned())).unwrap_or(&nothing);
    let means = |kind: TimeKind| {
        let mean = |name: &str| of(kind, name).mean_ns().filter(|_| done);
        ByTransaction::new(|name| mean(name).map(|ns| ns / 1e9))
    };
    let deliveries = totals.get("delivery").map(Totals::response_times);
    TerminalsSummary {
        count,
        paced_warehouses: cell.what.warehouses,
        inactive_warehouses: cell.what.inactive_warehouses,
        ceiling_nopm: result.and_then(|r| r.ceiling_nopm),
        ceiling_deviation_nopm: result.and_then(|r| r.ceiling_deviation_nopm),
        nopm_within_window: result.and_then(RepeatResult::nopm_within_window),
        efficiency: result.and_then(|r| r.efficiency),
        keying_mean_s: means(TimeKind::Keying),
        think_mean_s: means(TimeKind::Think),
        delivery_acknowledgements: durations(of(TimeKind::Acknowledgement, "delivery"), done),
        deferred_deliveries: durations(&deliveries.unwrap_or_default(), done),
        pending_deliveries: result.and_then(|r| r.pending_deliveries),
    }
}

fn durations(of: &TimeTotals, done: bool) -> DurationsSummary {
    let seconds = |ns: Option<f64>| ns.filter(|_| done).map(|ns| ns / 1e9);
    DurationsSummary {
        count: of.count(),
        mean_s: seconds(of.mean_ns()),
        p90_s: seconds(of.quantile_ns(0.9).map(|ns| ns as f64)),
        max_s: seconds(of.max_ns().map(|ns| ns as f64)),
    }
}

fn open_loop_of(
    rate_asked: &str,
    repeat: &Repeat,
    cell: &Cell,
    totals: &WindowTotals,
    (counts, times): (ScheduleCounts, &WindowTimes),
) -> OpenLoopSummary {
    let done = is_done(repeat);
    let result = repeat.result.as_ref();
    let nothing = TimeTotals::default();
    let of = |kind| times.get(&(kind, String::new())).unwrap_or(&nothing);
    let us = |ns: Option<f64>| ns.filter(|_| done).map(|ns| ns / 1e3);
    let quantile = |kind, q| us(of(kind).quantile_ns(q).map(|ns| ns as f64));
    let longest = |kind| us(of(kind).max_ns().map(|ns| ns as f64));
    OpenLoopSummary {
        rate_asked: rate_asked.to_owned(),
        arrivals: cell.what.arrivals.clone().unwrap_or_default(),
        rate_per_s: result.and_then(|r| r.rate_per_s),
        capacity_per_s: result.and_then(|r| r.capacity_per_s),
        capacity_precision_share: result.and_then(|r| r.capacity_precision_share),
        offered: counts.offered,
        completed: totals.values().map(Totals::completed).sum(),
        late: counts.late,
        skipped: counts.skipped,
        lag_p50_us: quantile(TimeKind::Lag, 0.5),
        lag_p99_us: quantile(TimeKind::Lag, 0.99),
        lag_max_us: longest(TimeKind::Lag),
        service_mean_us: us(of(TimeKind::Service).mean_ns()),
        service_p50_us: quantile(TimeKind::Service, 0.5),
        service_p90_us: quantile(TimeKind::Service, 0.9),
        service_p99_us: quantile(TimeKind::Service, 0.99),
        service_max_us: longest(TimeKind::Service),
    }
}
