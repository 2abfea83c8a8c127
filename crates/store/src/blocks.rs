//! Blocks of a lab, the canary at the start of each, and what else the host did before a repeat.

use crate::ids::{LabId, RepeatId};
use crate::machines::number_of;
use crate::results::Durable;
use crate::row::{Keys, Parts, insert, row};
use crate::{Results, StoreError};
use base::now_utc_ns;

row! {
    /// How long a fixed piece of work took on this host: more in a later block shows that the host
    /// has become slower.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Canary {
        /// Time of a fixed piece of arithmetic on one core, the median of several; `None` where the
        /// canary could not be taken.
        pub cpu_ns: u64,
        /// Time of a fixed number of dependent reads in a buffer larger than the caches.
        pub memory_ns: u64,
        /// The time from the end of a sleep until the thread ran again, in the median.
        pub wake_up_latency_ns: u64,
    }

    /// One block of a lab.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Block {
        /// The number of the block, from 1, in the order of time.
        pub block: u32,
        pub started_utc_ns: i64,
        /// The machine that measured it, by its number in the lab.
        pub machine: u32,
        /// `None` where it could not be taken.
        pub canary: Option<Canary> as Parts,
    }

    /// What else the host did in the moment before a repeat.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct HostBefore {
        /// Share of all cores that processes other than mydyno and its servers used.
        pub others_cpu_share: f64,
        /// Share of all cores that the hypervisor gave to other guests.
        pub steal_share: f64,
        /// Bytes that all disks read and wrote.
        pub disk_bytes_per_s: f64,
    }
}

impl Results {
    /// Begins the next block of a lab on the machine with these facts. Repeats belong to it from
    /// now on. Returns its number.
    pub fn begin_block(
        &self,
        lab: LabId,
        host_facts: &[(String, String)],
        canary: Option<Canary>,
    ) -> Result<u32, StoreError> {
        let mut machines = self.machines(lab)?;
        self.step(Durable::Flushed, |transaction| {
            // Repeats outside of blocks have no row here; their block is their ordinal.
            let block = transaction.query_row(
                "SELECT 1 + max(coalesce((SELECT max(block) FROM block WHERE lab_id = ?1), 0), \
                 coalesce((SELECT max(coalesce(r.block, r.ordinal)) FROM repeat AS r \
                 JOIN cell AS c ON c.id = r.cell_id WHERE c.lab_id = ?1), 0))",
                [lab],
                |row| row.get(0),
            )?;
            let machine = number_of(transaction, lab.0, &mut machines, host_facts)?;
            let row = Block { block, started_utc_ns: now_utc_ns(), machine, canary };
            insert(transaction, "INSERT INTO block", &[("lab_id", &lab)], &row)?;
            Ok(block)
        })
    }

    /// Blocks of a lab in the order of time.
    pub fn blocks(&self, lab: LabId) -> Result<Vec<Block>, StoreError> {
        self.rows("SELECT * FROM block WHERE lab_id = ?1 ORDER BY block", [lab])
    }

    /// Stores what else the host did before a repeat.
    pub fn record_host_before(
        &self,
        repeat: RepeatId,
        host: &HostBefore,
    ) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            let key: Keys<'_> = &[("repeat_id", &repeat)];
            insert(transaction, "INSERT OR REPLACE INTO host_before", key, host).map(drop)
        })
    }

    /// What else the host did before a repeat; `None` where nobody looked.
    pub fn host_before(&self, repeat: RepeatId) -> Result<Option<HostBefore>, StoreError> {
        let sql = "SELECT * FROM host_before WHERE repeat_id = ?1";
        Ok(self.rows(sql, [repeat])?.pop())
    }
}
