//! What the driver did in a window: how many transactions a second, and how many were under way.

use crate::run::samples::ReadRepeat;
use store::{StoreResult, StoredConnectionTime, TimeKind, TimeTotals};

/// What the resources of a window went to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WindowLoad {
    /// Transactions of all types that ended in the window, per second.
    pub(crate) ended_per_s: f64,
    /// Transactions under way in the mean.
    pub(crate) in_transactions_mean: f64,
    /// Is that the time of the connections in the window? Else it is the response times of what
    /// ended in it, as in a window that is under way.
    pub(crate) is_of_window: bool,
}

impl WindowLoad {
    /// Of a window of `window_ns`, which is not 0.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn of(of: ReadRepeat<'_>, window_ns: u64) -> StoreResult<WindowLoad> {
        let ReadRepeat { results, repeat, cell, totals, .. } = of;
        let ended = totals.completed() as f64;
        let of_window = results.get::<StoredConnectionTime>(repeat.id)?.pop();
        let in_transactions_ns = if let Some(time) = of_window {
            time.in_transactions_ns as f64
        } else if cell.what.rate_asked.is_some() {
            // Response times count from the intended start: the backlog is in them, and keeps no
            // connection busy.
            let times = results.window_times(repeat.id)?;
            let service = times.get(&(TimeKind::Service, String::new()));
            let mean_ns = service.and_then(TimeTotals::mean_ns);
            mean_ns.unwrap_or(0.0) * ended
        } else {
            let response_ns = totals.iter().map(|(_, of)| of.response.sum_ns);
            response_ns.sum::<u64>() as f64
        };
        let window_ns = window_ns as f64;
        Ok(WindowLoad {
            ended_per_s: ended * 1e9 / window_ns,
            // Of terminals the wait for a connection is in the response time; but a connection has
            // one transaction at a time.
            in_transactions_mean: (in_transactions_ns / window_ns)
                .min(f64::from(cell.what.connections)),
            is_of_window: of_window.is_some(),
        })
    }
}
