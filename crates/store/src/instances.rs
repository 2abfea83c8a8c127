//! What each of several servers did that were driven together.

use crate::ids::RepeatId;
use crate::repeats::{Repeat, RepeatStatus};
use crate::results::Durable;
use crate::row::{Keys, insert};
use crate::{Results, StoreError};

impl Results {
    /// Stores the primary transactions of the window, deliberate rollbacks included, of each of
    /// several servers in their order; called again, it replaces them.
    pub fn record_instances(
        &self,
        repeat: RepeatId,
        transactions: &[u64],
    ) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            for (index, transactions) in transactions.iter().enumerate() {
                let row: Keys<'_> = &[
                    ("repeat_id", &repeat),
                    ("instance", &(index + 1)),
                    ("primary_transactions", transactions),
                ];
                insert(transaction, "INSERT OR REPLACE INTO instance_result", row, &())?;
            }
            Ok(())
        })
    }

    /// The primary transactions of the window of each of several servers; none where there was one.
    pub fn instances(&self, repeat: RepeatId) -> Result<Vec<u64>, StoreError> {
        let sql = "SELECT primary_transactions FROM instance_result WHERE repeat_id = ?1 ORDER BY \
            instance";
        self.all(sql, [repeat], |row| row.get(0))
    }

    /// The throughput of each of several servers; none where there was one, or where the
    /// repeat has no numbers to show.
    pub fn throughput_by_instance(&self, repeat: &Repeat) -> Result<Vec<f64>, StoreError> {
        let (RepeatStatus::Done, Some(result)) = (repeat.status, &repeat.result) else {
            return Ok(Vec::new());
        };
        let window_ns = result.measured_window_ns.max(1) as f64;
        let per_minute = |transactions: u64| transactions as f64 * 60e9 / window_ns;
        let each = self.instances(repeat.id)?.into_iter();
        Ok(each.map(per_minute).collect())
    }
}
