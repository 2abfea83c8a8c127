//! The ranks of a fleet, side by side.

use crate::table::Table;
use store::{StoredRank, Summary};

/// What each rank did in the window; `None` where one process drove.
pub fn ranks_table<C: From<String>>(summary: &Summary) -> Option<Table<&StoredRank, C>> {
    let per_minute = |rank: &StoredRank| {
        let per_minute =
            summary.rates.window_s.map(|s| rank.primary_transactions as f64 * 60.0 / s.max(1e-9));
        per_minute.map_or_else(|| "NA".to_owned(), |nopm| format!("{:.0}", nopm.trunc()))
    };
    let lost = |rank: &StoredRank| rank.lost.as_ref().map(|why| format!("lost: {why}"));
    let table = Table::of(&summary.ranks)
        .words("rank", |rank| rank.rank.to_string())
        .words("host", |rank| rank.host.clone())
        .numbers("threads", |rank| rank.driver_threads.to_string())
        .numbers(summary.throughput_metric.title(), |rank| per_minute(rank))
        .numbers_in(("CPU", "s"), |rank| format!("{:.2}", rank.client_cpu_ns as f64 / 1e9))
        .numbers_in(("wait", "s"), |rank| format!("{:.2}", rank.run_wait_ns as f64 / 1e9))
        .numbers_in(("network", "MB"), |rank| format!("{:.1}", rank.network_bytes as f64 / 1e6))
        .numbers_in(("clock", "us"), |rank| format!("{:.1}", rank.clock_error_ns as f64 / 1e3))
        .numbers_in(("late", "us"), |rank| format!("{:.1}", rank.start_late_ns as f64 / 1e3))
        .words("", |rank| lost(rank).unwrap_or_default());
    (!summary.ranks.is_empty()).then_some(table)
}
