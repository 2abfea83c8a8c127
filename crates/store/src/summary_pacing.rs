//! The parts of the summary that tell of terminals, schedules and the standard's requirements.

use crate::document::document;
use crate::pacing::{Requirement, ScheduleCounts, TimeKind, WindowTimes};
use crate::summary::ByTransaction;
use crate::totals::{TimeTotals, WindowTotals};
use crate::types::{Cell, NewCell, Repeat, RepeatResult, RepeatStatus};
use crate::{Results, StoreError};

document! {
    /// Terminals of workload `tpcc-spec`. Times are of the window, and not shown where the repeat
    /// failed.
    pub struct TerminalsSummary from (
        repeat: &Repeat, cell: &NewCell, totals: &WindowTotals, times: &WindowTimes
    );
    let done = is_done(repeat);
    let result = repeat.result.as_ref().filter(|_| done);
    let nothing = TimeTotals::default();
    let of = |kind: TimeKind, name: &str| times.get(&(kind, name.to_owned())).unwrap_or(&nothing);
    let means = |kind: TimeKind| {
        let mean = |name: &str| of(kind, name).mean_ns().filter(|_| done);
        let each = cell.transactions.iter().map(|of| of.name.clone());
        ByTransaction(each.map(|name| (name.clone(), mean(&name).map(|ns| ns / 1e9))).collect())
    };
    let deliveries = totals.get("delivery").map(|totals| &totals.response);
    {
        pub count: u32 = cell.terminals.unwrap_or_default(),
        pub paced_warehouses: u32 = cell.warehouses.unwrap_or_default(),
        pub inactive_warehouses: Option<u32> = cell.inactive_warehouses,
        pub ceiling_nopm: Option<f64> = result.and_then(|r| r.ceiling_nopm),
        pub ceiling_deviation_nopm: Option<f64> = result.and_then(|r| r.ceiling_deviation_nopm),
        pub nopm_within_window: Option<f64> = result.and_then(RepeatResult::nopm_within_window),
        pub efficiency: Option<f64> = result.and_then(|r| r.efficiency),
        pub keying_mean_s: ByTransaction<Option<f64>> = means(TimeKind::Keying),
        pub think_mean_s: ByTransaction<Option<f64>> = means(TimeKind::Think),
        pub delivery_acknowledgements: DurationsSummary =
            DurationsSummary::of(of(TimeKind::Acknowledgement, "delivery"), done),
        pub deferred_deliveries: DurationsSummary =
            DurationsSummary::of(deliveries.unwrap_or(&nothing), done),
        pub pending_deliveries: Option<u64> = result.and_then(|r| r.pending_deliveries),
    }
}

document! {
    /// Some durations.
    pub struct DurationsSummary from (times: &TimeTotals, done: bool);
    let seconds = |ns: Option<f64>| ns.filter(|_| done).map(|ns| ns / 1e9);
    {
        pub count: u64 = times.count(),
        pub mean_s: Option<f64> = seconds(times.mean_ns()),
        pub p90_s: Option<f64> = seconds(times.quantile_ns(0.9).map(|ns| ns as f64)),
        pub max_s: Option<f64> = seconds(times.max_ns().map(|ns| ns as f64)),
    }
}

document! {
    /// The schedule of `--rate`, over the window.
    pub struct OpenLoopSummary from (
        repeat: &Repeat, cell: &NewCell, totals: &WindowTotals, counts: ScheduleCounts,
        times: &WindowTimes
    );
    let done = is_done(repeat);
    let result = repeat.result.as_ref();
    let nothing = TimeTotals::default();
    let of = |kind| times.get(&(kind, String::new())).unwrap_or(&nothing);
    let us = |ns: Option<f64>| ns.filter(|_| done).map(|ns| ns / 1e3);
    let quantile = |kind, q| us(of(kind).quantile_ns(q).map(|ns| ns as f64));
    let longest = |kind| us(of(kind).max_ns().map(|ns| ns as f64));
    {
        pub rate_asked: String = cell.rate_asked.clone().unwrap_or_default(),
        pub arrivals: String = cell.arrivals.clone().unwrap_or_default(),
        pub rate_per_s: Option<f64> = result.and_then(|r| r.rate_per_s),
        pub capacity_per_s: Option<f64> = result.and_then(|r| r.capacity_per_s),
        pub capacity_precision_share: Option<f64> =
            result.and_then(|r| r.capacity_precision_share),
        pub offered: u64 = counts.offered,
        pub completed: u64 = totals.completed(),
        pub late: u64 = counts.late,
        pub skipped: u64 = counts.skipped,
        pub lag_p50_us: Option<f64> = quantile(TimeKind::Lag, 0.5),
        pub lag_p99_us: Option<f64> = quantile(TimeKind::Lag, 0.99),
        pub lag_max_us: Option<f64> = longest(TimeKind::Lag),
        pub service_mean_us: Option<f64> = us(of(TimeKind::Service).mean_ns()),
        pub service_p50_us: Option<f64> = quantile(TimeKind::Service, 0.5),
        pub service_p90_us: Option<f64> = quantile(TimeKind::Service, 0.9),
        pub service_p99_us: Option<f64> = quantile(TimeKind::Service, 0.99),
        pub service_max_us: Option<f64> = longest(TimeKind::Service),
    }
}

document! {
    /// A requirement of the standard.
    pub struct VerdictSummary from (requirement: Requirement);
    let passed = requirement.passed();
    {
        pub name: String = requirement.name,
        pub title: String = requirement.title,
        pub clause: String = requirement.clause,
        pub unit: String = requirement.unit.to_string(),
        pub value: Option<f64> = requirement.value,
        pub allowed_low: Option<f64> = requirement.allowed.low,
        pub allowed_high: Option<f64> = requirement.allowed.high,
        pub chance_low: Option<f64> = requirement.chance.low,
        pub chance_high: Option<f64> = requirement.chance.high,
        pub verdict: String = requirement.verdict.to_string(),
        pub passed: Option<bool> = passed,
    }
}

/// What terminals and schedule were, and what came of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacingSummary {
    pub terminals: Option<TerminalsSummary>,
    pub open_loop: Option<OpenLoopSummary>,
}

impl Results {
    /// What a repeat shows of terminals and schedule; `totals` are those of its window.
    pub fn pacing_summary(
        &self,
        repeat: &Repeat,
        cell: &Cell,
        totals: &WindowTotals,
    ) -> Result<PacingSummary, StoreError> {
        let what = &cell.what;
        if what.terminals.is_none() && what.rate_asked.is_none() {
            return Ok(PacingSummary::default());
        }
        let times = self.window_times(repeat.id)?;
        let counts = self.window_schedule(repeat.id)?.unwrap_or_default();
        let terminals = || TerminalsSummary::of(repeat, what, totals, &times);
        let open_loop = || OpenLoopSummary::of(repeat, what, totals, counts, &times);
        Ok(PacingSummary {
            terminals: what.terminals.is_some().then(terminals),
            open_loop: what.rate_asked.is_some().then(open_loop),
        })
    }
}

impl RepeatResult {
    /// New orders per minute that began and ended in the window, of workload `tpcc-spec`.
    pub fn nopm_within_window(&self) -> Option<f64> {
        let new_orders = self.new_orders_within_window? as f64;
        (self.measured_window_ns > 0).then(|| new_orders * 60e9 / self.measured_window_ns as f64)
    }
}

fn is_done(repeat: &Repeat) -> bool {
    repeat.status == RepeatStatus::Done
}
