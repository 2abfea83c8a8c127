//! Where the files of a cell are, and what its storage did in the window of a repeat.
//!
//! Counts are of the time between two readings of the shim's counters, at the begin and the end of the window.

use crate::histogram::Encoded;
use crate::ids::{CellId, RepeatId};
use crate::results::Durable;
use crate::row::{Columns, Elsewhere, Keys, Kind, Plain, insert, row};
use crate::values::word;
use crate::{Results, StoreError, TimeTotals};
use rusqlite::Row;
use std::borrow::Cow;

row! {
    /// Where the files of one role are.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct CellPlace {
        /// `data`, `redo`, `undo`, `doublewrite`, `binlog`, `temp`.
        pub role: String,
        /// `nvme-pm1725`, or what a real one is called.
        pub device: String,
        pub emulated: bool,
        /// Of an emulated one: tells its figures from those of another with the same name. `None` in files of format 7 and of named servers.
        pub profile_fingerprint: Option<String>,
        /// Where the bytes really are: `tmpfs /dev/shm`.
        pub backing: String,
    }
}

word!(
    /// What a request asks of a device.
    RequestKind {
        Read = "read",
        Write = "write",
        Flush = "flush",
    }
);

/// What a server asked of its storage in the window, as the shim counted it.
#[derive(Clone, Debug, Default)]
pub struct DeviceIo {
    pub shim: ShimFacts,
    /// Those that had requests, or a place of their own.
    pub roles: Vec<RoleIo>,
}

row! {
    /// Counters of one role.
    #[derive(Clone, Debug, Default)]
    pub struct RoleIo {
        pub role: String,
        /// Time between the two readings.
        pub counted_ns: u64,
        /// Most requests that were outstanding at once since the server started.
        pub outstanding_max: u64,
        /// Time with at least one request outstanding, and the sum over requests of the time each was.
        pub busy_ns: u64,
        pub outstanding_ns: u64,
        /// Emulated requests whose completion was judged; of them, those within 2 % of the response time or 20 us of their due
        /// time; how late all of them were together; those for which the host needed longer than the model.
        pub judged: u64,
        pub within_tolerance: u64,
        pub late_ns: u64,
        pub overruns: u64,
        pub requests: Vec<RequestIo> as Elsewhere,
    }
}

impl RoleIo {
    /// Requests that an emulated device has served, whether or not somebody waited for them.
    pub fn emulated_requests(&self) -> u64 {
        let served = |request: &RequestIo| request.service.histogram.len();
        self.requests.iter().map(served).sum()
    }
}

row! {
    /// Requests of one kind of one role.
    #[derive(Clone, Debug)]
    pub struct RequestIo {
        pub kind: RequestKind,
        pub requests: u64,
        pub bytes: u64,
        /// From submission to completion.
        pub response: TimeTotals as InBounds,
        /// On the device, without waiting in its queue; of emulated devices only.
        pub service: TimeTotals as InBounds,
    }

    /// What the shim counted for the whole process.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct ShimFacts {
        /// What it was told: every figure of every device, the size of the page cache; TOML.
        pub setup: String,
        /// 4 KiB pages of buffered reads that were in the modelled page cache, and that were not.
        pub cache_hits: u64,
        pub cache_misses: u64,
        /// In it at the end of the window.
        pub cache_pages: u64,
        pub cache_dirty_pages: u64,
        /// Since the server started, as the next three.
        pub uring_refused: u64,
        pub model_full: u64,
        pub files_unseen: u64,
        pub maps_refused: u64,
        /// What the emulation cost.
        pub model_ns: u64,
        pub model_calls: u64,
        pub spin_ns: u64,
    }
}

/// Times that a histogram has all of.
struct InBounds;

impl Kind<TimeTotals> for InBounds {
    fn put<'a>(
        column: Cow<'static, str>,
        times: &'a TimeTotals,
        into: &mut Columns<'a>,
    ) -> rusqlite::Result<()> {
        Plain::put(format!("{column}_sum_ns").into(), &times.sum_ns, into)?;
        Plain::put(format!("{column}_max_ns").into(), &times.max_ns, into)?;
        let column = format!("{column}_histogram_ns");
        Encoded::put(column.into(), &times.histogram, into)
    }

    fn get(row: &Row<'_>, column: &str) -> rusqlite::Result<TimeTotals> {
        Ok(TimeTotals {
            histogram: Encoded::get(row, &format!("{column}_histogram_ns"))?,
            sum_ns: Plain::get(row, &format!("{column}_sum_ns"))?,
            max_ns: Plain::get(row, &format!("{column}_max_ns"))?,
            out_of_bounds: 0,
        })
    }
}

impl Results {
    /// Stores what the storage did in the window; called again, it replaces it.
    pub fn record_device_io(&self, repeat: RepeatId, io: &DeviceIo) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            let key: Keys<'_> = &[("repeat_id", &repeat)];
            insert(transaction, "INSERT OR REPLACE INTO shim", key, &io.shim)?;
            for role in &io.roles {
                insert(transaction, "INSERT OR REPLACE INTO role_io", key, role)?;
                let key: Keys<'_> = &[("repeat_id", &repeat), ("role", &role.role)];
                for request in &role.requests {
                    insert(
                        transaction,
                        "INSERT OR REPLACE INTO role_request",
                        key,
                        request,
                    )?;
                }
            }
            Ok(())
        })
    }

    /// What the storage did in the window; `None` where nobody counted.
    pub fn device_io(&self, repeat: RepeatId) -> Result<Option<DeviceIo>, StoreError> {
        let sql = "SELECT * FROM shim WHERE repeat_id = ?1";
        let Some(shim) = self.rows(sql, [repeat])?.pop() else {
            return Ok(None);
        };
        let sql = "SELECT * FROM role_io WHERE repeat_id = ?1";
        let mut roles: Vec<RoleIo> = self.rows(sql, [repeat])?;
        for role in &mut roles {
            let sql = "SELECT * FROM role_request WHERE repeat_id = ?1 AND role = ?2";
            role.requests = self.rows(sql, (repeat, &role.role))?;
            role.requests.sort_by_key(|request| request.kind);
        }
        roles.sort_by_key(|role| rank(&role.role));
        Ok(Some(DeviceIo { shim, roles }))
    }

    pub(crate) fn places(&self, cell: CellId) -> Result<Vec<CellPlace>, StoreError> {
        let sql = "SELECT * FROM cell_place WHERE cell_id = ?1";
        let mut places: Vec<CellPlace> = self.rows(sql, [cell])?;
        places.sort_by_key(|place| rank(&place.role));
        Ok(places)
    }
}

/// The order in which roles are shown.
pub(crate) fn rank(role: &str) -> usize {
    const ORDER: [&str; 6] = ["data", "redo", "undo", "doublewrite", "binlog", "temp"];
    let place = ORDER.iter().position(|known| *known == role);
    place.unwrap_or(ORDER.len())
}
