//! Blocks of a lab, the canary at the start of each, and what else the host did before a repeat.

use crate::results::Durable;
use crate::types::{LabId, RepeatId};
use crate::{Results, StoreError};
use base::now_utc_ns;
use rusqlite::params;

/// How long a fixed piece of work took on this host: more in a later block shows that the host has
/// become slower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Canary {
    /// Arithmetic on one core.
    pub cpu_ns: u64,
    /// Dependent reads all over a buffer that is larger than the caches.
    pub memory_ns: u64,
    /// From the end of a sleep to the moment at which the thread runs again, in the median.
    pub wake_up_latency_ns: u64,
}

/// One block of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// From 1, in the order of time.
    pub block: u32,
    pub started_utc_ns: i64,
    /// `None` where it could not be taken.
    pub canary: Option<Canary>,
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

impl Results {
    /// Begins the next block of a lab, to which its repeats belong from now on, and returns its
    /// number.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin_block(&self, lab: LabId, canary: Option<Canary>) -> Result<u32, StoreError> {
        self.step(Durable::Flushed, |transaction| {
            // Repeats of an earlier format have no row here; their block is their ordinal.
            let block: u32 = transaction.query_row(
                "SELECT 1 + max(coalesce((SELECT max(block) FROM block WHERE lab_id = ?1), 0), \
                 coalesce((SELECT max(coalesce(r.block, r.ordinal)) FROM repeat AS r \
                 JOIN cell AS c ON c.id = r.cell_id WHERE c.lab_id = ?1), 0))",
                params![lab.0],
                |row| row.get(0),
            )?;
            transaction.execute(
                "INSERT INTO block (lab_id, block, started_utc_ns, canary_cpu_ns, \
                 canary_memory_ns, canary_wake_up_latency_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    lab.0,
                    block,
                    now_utc_ns(),
                    canary.map(|canary| canary.cpu_ns),
                    canary.map(|canary| canary.memory_ns),
                    canary.map(|canary| canary.wake_up_latency_ns),
                ],
            )?;
            Ok(block)
        })
    }

    /// Blocks of a lab in the order of time; none of a file of a format before 11.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn blocks(&self, lab: LabId) -> Result<Vec<Block>, StoreError> {
        self.all(
            "SELECT * FROM block WHERE lab_id = ?1 ORDER BY block",
            params![lab.0],
            |row| {
                let cpu_ns: Option<u64> = row.get("canary_cpu_ns")?;
                let canary = match cpu_ns {
                    None => None,
                    Some(cpu_ns) => Some(Canary {
                        cpu_ns,
                        memory_ns: row.get("canary_memory_ns")?,
                        wake_up_latency_ns: row.get("canary_wake_up_latency_ns")?,
                    }),
                };
                Ok(Block {
                    block: row.get("block")?,
                    started_utc_ns: row.get("started_utc_ns")?,
                    canary,
                })
            },
        )
    }

    /// Stores what else the host did before a repeat.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_host_before(
        &self,
        repeat: RepeatId,
        host: &HostBefore,
    ) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO host_before (repeat_id, others_cpu_share, steal_share, \
                 disk_bytes_per_s) VALUES (?1, ?2, ?3, ?4)",
                params![
                    repeat.0,
                    host.others_cpu_share,
                    host.steal_share,
                    host.disk_bytes_per_s,
                ],
            )?;
            Ok(())
        })
    }

    /// What else the host did before a repeat; `None` where nobody looked.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn host_before(&self, repeat: RepeatId) -> Result<Option<HostBefore>, StoreError> {
        let mut found = self.all(
            "SELECT * FROM host_before WHERE repeat_id = ?1",
            params![repeat.0],
            |row| {
                Ok(HostBefore {
                    others_cpu_share: row.get("others_cpu_share")?,
                    steal_share: row.get("steal_share")?,
                    disk_bytes_per_s: row.get("disk_bytes_per_s")?,
                })
            },
        )?;
        Ok(found.pop())
    }
}
