//! The parts of the summary that tell of what did not end in the window.

use crate::document::document;
use crate::rows::{NewCell, Repeat, StoredConnectionTime, StoredSilence};
use crate::totals::{WindowTotals, finite};
use crate::{Results, StoreResult};

document! {
    /// Where the connections were in the window, in the mean. What began before it, or ended after
    /// it, counts as far as it was in it.
    pub struct ConnectionTimeSummary from (
        time: StoredConnectionTime, connections: u32, window_ns: u64, totals: &WindowTotals
    );
    let mean = |ns: u64| ns as f64 / window_ns.max(1) as f64;
    let in_transactions_ns = time.in_transactions_ns;
    let known = mean(in_transactions_ns + time.idle_ns + time.error_pauses_ns + time.lost_ns);
    let response_ns = totals.iter().map(|(_, of)| of.response.sum_ns);
    let ended = totals.completed() as f64;
    {
        /// Connections that were in a transaction.
        pub in_transactions: f64 = mean(in_transactions_ns),
        /// Those between two: waiting for a transaction to come, or drawing its input.
        pub idle: f64 = mean(time.idle_ns),
        /// Those that paused after a transaction that was given up.
        pub error_pauses: f64 = mean(time.error_pauses_ns),
        /// Those that were lost and opened again.
        pub lost: f64 = mean(time.lost_ns),
        /// The share of `connections` that is none of these: what is not known. 0 but for chance.
        pub missing_share: f64 = 1.0 - known / f64::from(connections.max(1)),
        /// Throughput times the mean response time of what ended. In a closed loop that is
        /// `in_transactions`, by Little's law, where what was in flight at the begin of the window
        /// is as much as what was at its end.
        pub throughput_times_response: f64 = mean(response_ns.sum()),
        /// The window by the connections' time for each transaction that ended: so many response
        /// times fit into it; `None` where nothing ended.
        pub response_times_in_window: Option<f64> =
            finite(ended * window_ns as f64 / in_transactions_ns as f64),
    }
}

document! {
    /// A time in which transactions were in flight, or failed, and none ended well, of more than
    /// 1 s (0.1 s with failures) and ten median response times.
    pub struct SilenceSummary from (silence: StoredSilence, window_start_ns: u64);
    let from_window = |at_ns: u64| (at_ns as f64 - window_start_ns as f64) / 1e9;
    let ns = silence.end_offset_ns.saturating_sub(silence.start_offset_ns);
    let duration_s = ns as f64 / 1e9;
    {
        /// Begin and end, from the begin of the window: below 0 before it, and above `window_s`
        /// after it.
        pub start_s: f64 = from_window(silence.start_offset_ns),
        pub end_s: f64 = from_window(silence.end_offset_ns),
        /// The time between them.
        pub duration_s: f64 = duration_s,
        /// Transactions that were in flight, those in a queue included.
        pub in_flight: u64 = silence.in_flight,
        /// Transactions that were given up in it, and tries to open connections again that failed.
        pub failures: u64 = silence.failures,
        /// The recovery time of a failover: `duration_s` where there were failures, and a
        /// transaction ended well after them; else `None`.
        pub recovery_s: Option<f64> =
            (silence.failures > 0 && silence.is_over).then_some(duration_s),
    }
}

/// What of a window did not end in it, and where its connections were.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowSummary {
    pub window_s: f64,
    pub silences: Vec<SilenceSummary>,
    /// `None` without a window.
    pub connection_time: Option<ConnectionTimeSummary>,
}

impl Results {
    /// Of a repeat, whose window added up to `totals`.
    pub fn window_summary(
        &self,
        repeat: &Repeat,
        cell: &NewCell,
        totals: &WindowTotals,
    ) -> StoreResult<WindowSummary> {
        let start_ns = repeat.warmup_ns(cell);
        let window_ns = repeat.result.as_ref().map_or(0, |result| result.measured_window_ns);
        let time = self.get(repeat.id)?.pop();
        let silences = self.get(repeat.id)?;
        Ok(WindowSummary {
            window_s: window_ns as f64 / 1e9,
            silences: silences.into_iter().map(|of| SilenceSummary::of(of, start_ns)).collect(),
            connection_time: time
                .map(|of| ConnectionTimeSummary::of(of, cell.connections, window_ns, totals)),
        })
    }
}
