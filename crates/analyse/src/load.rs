//! What the driver did in a window: how many transactions a second, and how many were under way.

use store::{
    Cell, IntervalRow, Phase, Repeat, RepeatId, Results, StoreError, TimeKind, TimeTotals, Totals,
    WindowTotals,
};

/// The intervals of a repeat, added up.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// Of transactions that ended in the window.
    pub window: WindowTotals,
}

impl Intervals {
    /// Adds up those of a repeat.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(results: &Results, repeat: RepeatId) -> Result<Intervals, StoreError> {
        let mut intervals = Intervals::default();
        results.for_each_interval(repeat, |row| intervals.add(&row))?;
        Ok(intervals)
    }

    /// Adds one.
    pub fn add(&mut self, row: &IntervalRow) {
        if row.phase == Phase::Window {
            let of_type = self.window.entry(row.transaction.clone());
            of_type.or_default().add(row);
        }
    }

    pub(crate) fn completed(&self) -> u64 {
        self.window.values().map(Totals::completed).sum()
    }
}

/// What the resources of a window went to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Load {
    /// Transactions of all types that ended in the window, per second.
    pub(crate) ended_per_s: f64,
    /// Transactions under way in the mean.
    pub(crate) in_transactions_mean: f64,
}

impl Load {
    /// Of a window of `window_ns`, which is not 0.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn of(
        results: &Results,
        repeat: &Repeat,
        cell: &Cell,
        intervals: &Intervals,
        window_ns: u64,
    ) -> Result<Load, StoreError> {
        let ended = intervals.completed() as f64;
        let in_transactions_ns = if cell.what.rate_asked.is_some() {
            // Response times count from the intended start: the backlog is in them, and keeps no connection busy.
            let times = results.window_times(repeat.id)?;
            let service = times.get(&(TimeKind::Service, String::new()));
            let mean_ns = service.and_then(TimeTotals::mean_ns);
            mean_ns.unwrap_or(0.0) * ended
        } else {
            let response_ns = intervals.window.values().map(|of| of.response.sum_ns);
            response_ns.sum::<u64>() as f64
        };
        let window_ns = window_ns as f64;
        Ok(Load {
            ended_per_s: ended * 1e9 / window_ns,
            // Of terminals the wait for a connection is in the response time; but a connection has one transaction at a time.
            in_transactions_mean: (in_transactions_ns / window_ns)
                .min(f64::from(cell.what.connections)),
        })
    }
}
