//! The parts of the summary that tell of terminals, schedules and the standard's requirements.

use crate::document::{ByTransaction, document};
use crate::read::WindowTimes;
use crate::rows::{NewCell, Repeat, RepeatResult, RepeatStatus, ScheduleCounts, TimeKind};
use crate::totals::{TimeTotals, WindowTotals};

document! {
    /// Terminals of workload `tpcc-spec`. Times are of the window, and not shown where the repeat
    /// failed.
    pub struct TerminalsSummary from (
        repeat: &Repeat, cell: &NewCell, totals: &WindowTotals, times: &WindowTimes
    );
    let done = repeat.status == RepeatStatus::Done;
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
        /// Terminals; warehouses that they are for; inactive ones, with rows and without
        /// terminals.
        pub count: u32 = cell.terminals.unwrap_or_default(),
        pub paced_warehouses: u32 = cell.warehouses.unwrap_or_default(),
        pub inactive_warehouses: Option<u32> = cell.inactive_warehouses,
        /// New orders per minute of terminals that wait for nothing but their users, and its
        /// standard deviation in a window of this length.
        pub ceiling_nopm: Option<f64> = result.and_then(|r| r.ceiling_nopm),
        pub ceiling_deviation_nopm: Option<f64> = result.and_then(|r| r.ceiling_deviation_nopm),
        /// New orders per minute that began and ended in the window (clause 5.4.2), by which the
        /// requirements are judged.
        pub nopm_within_window: Option<f64> = result.and_then(RepeatResult::nopm_within_window),
        /// `nopm_within_window` / (12.86 x `paced_warehouses`); `None` where `count` is not ten for
        /// each.
        pub efficiency: Option<f64> = result.and_then(|r| r.efficiency),
        /// Keying times as measured, think times as drawn, each an object with the keys of
        /// `transactions`.
        pub keying_mean_s: ByTransaction<Option<f64>> = means(TimeKind::Keying),
        pub think_mean_s: ByTransaction<Option<f64>> = means(TimeKind::Think),
        /// Until a delivery was queued: `count`, `mean_s`, `p90_s`, `max_s`.
        pub delivery_acknowledgements: DurationsSummary =
            DurationsSummary::of(of(TimeKind::Acknowledgement, "delivery"), done),
        /// Of deliveries that ended in the window, from their queueing to their end: the same keys.
        pub deferred_deliveries: DurationsSummary =
            DurationsSummary::of(deliveries.unwrap_or(&nothing), done),
        /// Deliveries that were queued or under way at the end of the window; the requirement
        /// `deferred_delivery_p90` counts them with their age then, and has no value in a window
        /// below 80 s.
        pub pending_deliveries: Option<u64> = result.and_then(|r| r.pending_deliveries),
    }
}

document! {
    /// Some durations.
    pub struct DurationsSummary from (times: &TimeTotals, done: bool);
    let seconds = |ns: Option<f64>| ns.filter(|_| done).map(|ns| ns / 1e9);
    {
        /// How many there are, with their mean, 90th percentile and maximum.
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
    let done = repeat.status == RepeatStatus::Done;
    let result = repeat.result.as_ref();
    let nothing = TimeTotals::default();
    let of = |kind| times.get(&(kind, String::new())).unwrap_or(&nothing);
    let us = |ns: Option<f64>| ns.filter(|_| done).map(|ns| ns / 1e3);
    let quantile = |kind, q| us(of(kind).quantile_ns(q).map(|ns| ns as f64));
    let longest = |kind| us(of(kind).max_ns().map(|ns| ns as f64));
    {
        /// As in the results file.
        pub rate_asked: String = cell.rate_asked.clone().unwrap_or_default(),
        pub arrivals: String = cell.arrivals.clone().unwrap_or_default(),
        /// Transactions of all types per second: of the schedule; of the closed loop before it,
        /// where the rate is a share of that.
        pub rate_per_s: Option<f64> = result.and_then(|r| r.rate_per_s),
        pub capacity_per_s: Option<f64> = result.and_then(|r| r.capacity_per_s),
        /// Half the width of the 95 % interval of that capacity, as a share of it; `None` where
        /// there was none or it was too short to tell.
        pub capacity_precision_share: Option<f64> =
            result.and_then(|r| r.capacity_precision_share),
        /// Transactions whose intended start lies in the window.
        pub offered: u64 = counts.offered,
        /// Transactions that ended well in the window, whenever they were due.
        pub completed: u64 = totals.completed(),
        /// Those that began more than 1 ms after their intended start.
        pub late: u64 = counts.late,
        /// Those that never began.
        pub skipped: u64 = counts.skipped,
        /// From the intended start to the begin of the first try, or to the end of the window where
        /// that came before it.
        pub lag_p50_us: Option<f64> = quantile(TimeKind::Lag, 0.5),
        pub lag_p99_us: Option<f64> = quantile(TimeKind::Lag, 0.99),
        pub lag_max_us: Option<f64> = longest(TimeKind::Lag),
        /// From there to the end of the last try, all types together.
        pub service_mean_us: Option<f64> = us(of(TimeKind::Service).mean_ns()),
        pub service_p50_us: Option<f64> = quantile(TimeKind::Service, 0.5),
        pub service_p90_us: Option<f64> = quantile(TimeKind::Service, 0.9),
        pub service_p99_us: Option<f64> = quantile(TimeKind::Service, 0.99),
        pub service_max_us: Option<f64> = longest(TimeKind::Service),
    }
}

impl RepeatResult {
    /// New orders per minute that began and ended in the window, of workload `tpcc-spec`.
    pub fn nopm_within_window(&self) -> Option<f64> {
        let new_orders = self.new_orders_within_window? as f64;
        (self.measured_window_ns > 0).then(|| new_orders * 60e9 / self.measured_window_ns as f64)
    }
}
