//! What each rank of a fleet did that drove a repeat together.

use crate::document::document;
use crate::ids::RepeatId;
use crate::results::Durable;
use crate::row::{Keys, insert, row};
use crate::{Results, StoreError};

row! {
    /// A rank of a fleet in one repeat.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct StoredRank {
        /// From 0, which leads.
        pub rank: u32,
        /// The name of its machine.
        pub host: String,
        pub driver_threads: u32,
        /// CPU time of its process over the window.
        pub client_cpu_ns: u64,
        /// Time in the window that its driver's threads were ready to run while no core was free,
        /// all together.
        pub run_wait_ns: u64,
        /// What its machine received and sent in the window, without loopback.
        pub network_bytes: u64,
        /// How far its clock may be from that of rank 0, after correction.
        pub clock_error_ns: u64,
        /// Between the agreed start and the moment at which it began.
        pub start_late_ns: u64,
        /// Of its connections, in the window, deliberate rollbacks included.
        pub primary_transactions: u64,
        /// Why it was lost in the run; `None` where it was not.
        pub lost: Option<String>,
    }
}

document! {
    /// A rank of a fleet, and what it used in the window.
    pub struct RankSummary from (of: StoredRank);
    {
        /// Its number, from 0, and the name of its machine.
        pub rank: u32 = of.rank,
        pub host: String = of.host,
        pub driver_threads: u32 = of.driver_threads,
        /// New orders of its connections in the window, or what else throughput counts.
        pub primary_transactions: u64 = of.primary_transactions,
        /// CPU time of its process.
        pub client_cpu_s: f64 = of.client_cpu_ns as f64 / 1e9,
        /// Time that its driver's threads were ready to run while no core was free, all together.
        pub run_wait_s: f64 = of.run_wait_ns as f64 / 1e9,
        /// What its machine received and sent, without loopback.
        pub network_bytes: u64 = of.network_bytes,
        /// How far its clock may be from that of rank 0, after correction, and how late it began.
        pub clock_error_us: f64 = of.clock_error_ns as f64 / 1e3,
        pub start_late_us: f64 = of.start_late_ns as f64 / 1e3,
        /// Why it was lost in the run; `None` where it was not.
        pub lost: Option<String> = of.lost,
    }
}

impl Results {
    /// Stores what each rank of a fleet did in a repeat; called again, it replaces that.
    pub fn record_ranks(&self, repeat: RepeatId, ranks: &[StoredRank]) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            for rank in ranks {
                let key: Keys<'_> = &[("repeat_id", &repeat)];
                insert(transaction, "INSERT OR REPLACE INTO fleet_rank", key, rank)?;
            }
            Ok(())
        })
    }

    /// The ranks that drove a repeat, in their order; none where one process drove it.
    pub fn ranks(&self, repeat: RepeatId) -> Result<Vec<StoredRank>, StoreError> {
        self.rows("SELECT * FROM fleet_rank WHERE repeat_id = ?1 ORDER BY rank", [repeat])
    }
}
