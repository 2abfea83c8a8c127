//! What a window has besides the transactions that ended in it: those in flight at its end, where
//! its connections were, and times in which nothing ended.

use crate::ids::RepeatId;
use crate::results::Durable;
use crate::row::{Keys, Parts, insert, insert_in_order, row};
use crate::totals::{TimeTotals, WindowTotals};
use crate::{Results, StoreError};

row! {
    /// Transactions of one type that were in flight at the end of the window.
    #[derive(Clone, Debug)]
    pub struct InFlight {
        /// As in `interval`.
        pub transaction: String = "transaction_type",
        /// Their ages at the end of the window: from the begin of the first try, the submission or
        /// the intended start. A transaction of an open loop that had not begun by then was of no
        /// type yet, and counts for the types by their shares.
        pub ages: TimeTotals as Parts = "",
    }

    /// Where the connections were in the window: times of all together.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct StoredConnectionTime {
        /// In transactions, from the begin of the first try on; of those that began before the
        /// window or ended after it, what lies in it.
        pub in_transactions_ns: u64,
        /// Between transactions: waiting for one to come, or drawing its input.
        pub idle_ns: u64,
        /// Pausing after transactions that were given up.
        pub error_pauses_ns: u64,
        /// Lost, and being opened again. With the others it is the window for each connection.
        pub lost_ns: u64,
    }

    /// A time in which transactions were in flight and none ended, of more than 1 s and ten median
    /// response times. It lies in the window at least in part.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StoredSilence {
        /// From the start of the run; it may begin before the window.
        pub start_offset_ns: u64,
        /// May be after the window.
        pub end_offset_ns: u64,
        /// Transactions that were in flight, those in a queue included.
        pub in_flight: u64,
    }
}

impl Results {
    /// Stores what a window has besides what ended in it; called again, it replaces that.
    pub fn record_in_flight(
        &self,
        repeat: RepeatId,
        in_flight: &[InFlight],
        time: &StoredConnectionTime,
        silences: &[StoredSilence],
    ) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            for row in in_flight {
                let count = row.ages.count();
                let key: Keys<'_> = &[("repeat_id", &repeat), ("transactions", &count)];
                insert(transaction, "INSERT OR REPLACE INTO in_flight", key, row)?;
            }
            let key: Keys<'_> = &[("repeat_id", &repeat)];
            insert(transaction, "INSERT OR REPLACE INTO connection_time", key, time)?;
            let into = "INSERT OR REPLACE INTO silence";
            insert_in_order(transaction, into, ("repeat_id", &repeat), silences)
        })
    }

    /// Totals of a window to which no interval is added yet.
    pub fn no_window_totals(&self, repeat: RepeatId) -> Result<WindowTotals, StoreError> {
        let mut totals = WindowTotals::of_types(self.transactions(repeat)?);
        for row in self.in_flight(repeat)? {
            totals.add_in_flight(&row.transaction, &row.ages);
        }
        Ok(totals)
    }

    /// What was in flight at the end of the window.
    pub fn in_flight(&self, repeat: RepeatId) -> Result<Vec<InFlight>, StoreError> {
        self.rows("SELECT * FROM in_flight WHERE repeat_id = ?1", [repeat])
    }

    /// Where the connections were; `None` without a window.
    pub fn connection_time(
        &self,
        repeat: RepeatId,
    ) -> Result<Option<StoredConnectionTime>, StoreError> {
        let sql = "SELECT * FROM connection_time WHERE repeat_id = ?1";
        Ok(self.rows(sql, [repeat])?.pop())
    }

    /// Times in which nothing ended, in their order.
    pub fn silences(&self, repeat: RepeatId) -> Result<Vec<StoredSilence>, StoreError> {
        self.rows("SELECT * FROM silence WHERE repeat_id = ?1 ORDER BY ordinal", [repeat])
    }
}
