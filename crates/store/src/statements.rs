//! Where the response time of transactions goes: to which statements, and what passes without one.

use crate::ids::RepeatId;
use crate::results::Durable;
use crate::row::{Keys, Parts, insert, row};
use crate::{Results, StoreError, TimeTotals};

row! {
    /// The transactions of one type that the window counts.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct TransactionTime {
        /// As in `interval`.
        pub transaction: String = "transaction_type",
        /// Transactions that were committed or deliberately rolled back.
        pub transactions: u64,
        /// The sum of their response times, as `latency_sum_ns`.
        pub response_ns: u64 = "response_sum_ns",
        /// The part of it before the first try: since the intended start of an open loop or the
        /// submission by a terminal.
        pub queued_ns: u64 = "queued_sum_ns",
        /// The part of it that is pauses of the driver before a new try.
        pub paused_ns: u64 = "paused_sum_ns",
    }

    /// One kind of statement of the same transactions, those of all tries together.
    #[derive(Clone, Debug)]
    pub struct StoredStatementTime {
        /// As in `interval`.
        pub transaction: String = "transaction_type",
        /// `commit`, `rollback`, or what a prepared statement does: `order_district`,
        /// `update_stock`, ...; of style `procedures` the CALL, `call_new_order`, ...
        pub kind: String = "statement_kind",
        /// The exact sum of the times from sending a statement to its whole answer; where
        /// statements travel together (styles `pipelined` and `batched`) of the times spent waiting
        /// for the answer, so that the first of those sent together has nearly all of their time.
        pub times: TimeTotals as Parts = "",
    }
}

impl StoredStatementTime {
    /// Statements of this kind that were answered, by an error too.
    pub fn executions(&self) -> u64 {
        self.times.count()
    }
}

impl Results {
    /// Stores where the time of the window's transactions went; called again, it replaces it.
    pub fn record_statement_times(
        &self,
        repeat: RepeatId,
        transactions: &[TransactionTime],
        statements: &[StoredStatementTime],
    ) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            for row in transactions {
                let key: Keys<'_> = &[("repeat_id", &repeat)];
                insert(transaction, "INSERT OR REPLACE INTO transaction_time", key, row)?;
            }
            for row in statements {
                let key: Keys<'_> = &[("repeat_id", &repeat), ("executions", &row.executions())];
                insert(transaction, "INSERT OR REPLACE INTO statement_time", key, row)?;
            }
            Ok(())
        })
    }

    /// The transactions of the window by type; none where nothing was counted.
    pub fn transaction_times(&self, repeat: RepeatId) -> Result<Vec<TransactionTime>, StoreError> {
        let sql = "SELECT * FROM transaction_time WHERE repeat_id = ?1 ORDER BY transaction_type";
        self.rows(sql, [repeat])
    }

    /// The statements of the window's transactions: by transaction type, those first that took
    /// most of the time.
    pub fn statement_times(
        &self,
        repeat: RepeatId,
    ) -> Result<Vec<StoredStatementTime>, StoreError> {
        let sql = "SELECT * FROM statement_time WHERE repeat_id = ?1 \
                   ORDER BY transaction_type, sum_ns DESC, statement_kind";
        self.rows(sql, [repeat])
    }
}
