//! What was read from each replica of a repeat.

use crate::ids::RepeatId;
use crate::results::Durable;
use crate::row::{Keys, insert, row};
use crate::{Results, StoreError};

row! {
    /// Reads from a replica in one repeat, those of the warm-up included.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct StoredReplica {
        /// Among the servers of the repeat, from 1; the first is the primary.
        pub node: u32,
        /// Order-Statuses and Stock-Levels that it answered.
        pub reads: u64,
        /// Those of them that did not see an order which this driver had committed before.
        pub stale_reads: u64,
        /// The longest time between such a commit and the begin of the read; 0 without one.
        pub stale_max_ns: u64,
    }
}

impl Results {
    /// Stores what was read from each replica in a repeat; called again, it replaces that.
    pub fn record_replicas(
        &self,
        repeat: RepeatId,
        replicas: &[StoredReplica],
    ) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            for replica in replicas {
                let key: Keys<'_> = &[("repeat_id", &repeat)];
                insert(transaction, "INSERT OR REPLACE INTO replica", key, replica)?;
            }
            Ok(())
        })
    }

    /// The replicas of a repeat, in their order; none where nothing was read from one.
    pub fn replicas(&self, repeat: RepeatId) -> Result<Vec<StoredReplica>, StoreError> {
        self.rows("SELECT * FROM replica WHERE repeat_id = ?1 ORDER BY node", [repeat])
    }
}
