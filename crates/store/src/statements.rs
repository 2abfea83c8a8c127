//! Where the response time of transactions goes: to which statements, and what passes without one.

use crate::histogram::histogram_at;
use crate::results::Durable;
use crate::types::RepeatId;
use crate::{Results, StoreError, TimeTotals};
use rusqlite::params;

/// The transactions of one type that the window counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionTime {
    /// As [`crate::IntervalRow::transaction`].
    pub transaction: String,
    /// How many there were, deliberate rollbacks included.
    pub transactions: u64,
    /// Sum of their response times.
    pub response_ns: u64,
    /// Before the first try: since the intended start of an open loop or the submission by a
    /// terminal.
    pub queued_ns: u64,
    /// Pauses of the driver before a new try.
    pub paused_ns: u64,
}

/// One kind of statement of the same transactions, those of all tries together.
#[derive(Clone, Debug)]
pub struct StatementTime {
    /// As [`crate::IntervalRow::transaction`].
    pub transaction: String,
    /// What the statement does: `update_stock`, `commit`, ...
    pub kind: String,
    /// From sending a statement to its whole answer. Where statements travel together, a time is
    /// that spent waiting for the answer, so the first of those sent together has nearly all.
    pub times: TimeTotals,
}

impl StatementTime {
    /// Statements of this kind that were answered, by an error too.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.times.count()
    }
}

impl Results {
    /// Stores where the time of the window's transactions went; called again, it replaces it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_statement_times(
        &self,
        repeat: RepeatId,
        transactions: &[TransactionTime],
        statements: &[StatementTime],
    ) -> Result<(), StoreError> {
        let mut codec = self.codec.borrow_mut();
        let mut encoded = Vec::with_capacity(statements.len());
        for statement in statements {
            let bytes = codec.encode(&statement.times.histogram).map_err(|cause| {
                StoreError::Histogram {
                    transaction: statement.transaction.clone(),
                    cause,
                }
            })?;
            encoded.push(bytes.map(<[u8]>::to_vec));
        }
        self.step(Durable::Written, |transaction| {
            let mut insert = transaction.prepare_cached(
                "INSERT OR REPLACE INTO transaction_time (repeat_id, transaction_type, \
                 transactions, response_sum_ns, queued_sum_ns, paused_sum_ns) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for row in transactions {
                insert.execute(params![
                    repeat.0,
                    row.transaction,
                    row.transactions,
                    row.response_ns,
                    row.queued_ns,
                    row.paused_ns,
                ])?;
            }
            let mut insert = transaction.prepare_cached(
                "INSERT OR REPLACE INTO statement_time (repeat_id, transaction_type, \
                 statement_kind, executions, sum_ns, max_ns, out_of_bounds, histogram_ns) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?;
            for (row, histogram) in statements.iter().zip(&encoded) {
                insert.execute(params![
                    repeat.0,
                    row.transaction,
                    row.kind,
                    row.executions(),
                    row.times.sum_ns,
                    row.times.max_ns,
                    row.times.out_of_bounds,
                    histogram,
                ])?;
            }
            Ok(())
        })
    }

    /// The transactions of the window by type; none where the file is of a format before 11 or
    /// nothing was counted.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn transaction_times(&self, repeat: RepeatId) -> Result<Vec<TransactionTime>, StoreError> {
        self.all(
            "SELECT * FROM transaction_time WHERE repeat_id = ?1 ORDER BY transaction_type",
            params![repeat.0],
            |row| {
                Ok(TransactionTime {
                    transaction: row.get("transaction_type")?,
                    transactions: row.get("transactions")?,
                    response_ns: row.get("response_sum_ns")?,
                    queued_ns: row.get("queued_sum_ns")?,
                    paused_ns: row.get("paused_sum_ns")?,
                })
            },
        )
    }

    /// The statements of the window's transactions: by transaction type, those first that took
    /// most of the time.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn statement_times(&self, repeat: RepeatId) -> Result<Vec<StatementTime>, StoreError> {
        let mut codec = self.codec.borrow_mut();
        self.all(
            "SELECT * FROM statement_time WHERE repeat_id = ?1 \
             ORDER BY transaction_type, sum_ns DESC, statement_kind",
            params![repeat.0],
            |row| {
                Ok(StatementTime {
                    transaction: row.get("transaction_type")?,
                    kind: row.get("statement_kind")?,
                    times: TimeTotals {
                        histogram: histogram_at(row, "histogram_ns", &mut codec)?,
                        sum_ns: row.get("sum_ns")?,
                        max_ns: row.get("max_ns")?,
                        out_of_bounds: row.get("out_of_bounds")?,
                    },
                })
            },
        )
    }
}
