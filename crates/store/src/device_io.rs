//! Where the files of a cell are, and what its storage did in the window of a repeat.
//!
//! Counts are of the time between two readings of the shim's counters, at the begin and the end of
//! the window.

use crate::histogram::Encoded;
use crate::ids::{CellId, RepeatId};
use crate::results::Durable;
use crate::row::{Columns, Elsewhere, Keys, Plain, StoredAs, insert, row};
use crate::values::word;
use crate::{Results, StoreError, TimeTotals};
use rusqlite::Row;
use std::borrow::Cow;

row! {
    /// Where the files of one role are.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct CellPlace {
        /// `data`, `redo`, `undo`, `doublewrite`, `binlog` or `temp`.
        pub role: String,
        /// The profile's name, or what the real device is called.
        pub device: String,
        /// Whether the device is emulated.
        pub emulated: bool,
        /// 16 hexadecimal digits of the figures of an emulated device's profile, by which a lab
        /// that goes on sees that they were changed; `None` of servers of `server start`.
        pub profile_fingerprint: Option<String>,
        /// Where the bytes really are.
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
        /// As in `cell_place`.
        pub role: String,
        /// Time between the two readings; what rates are computed from.
        pub counted_ns: u64,
        /// Most requests at the device at once, since the server started; of several servers the
        /// most of any one.
        pub outstanding_max: u64,
        /// Time with at least one request outstanding; of several servers (`instances`) the mean of
        /// their own, while other counters are sums and `outstanding_max` and the largest response
        /// times the greatest of any one.
        pub busy_ns: u64,
        /// Sum over requests of the time each was outstanding; by `counted_ns` it is the mean queue
        /// depth.
        pub outstanding_ns: u64,
        /// Emulated requests that somebody waited for when they were due.
        pub judged: u64,
        /// Those of them that completed within 2 % of the response time or 20 us of their due time;
        /// the share is the fidelity.
        pub within_tolerance: u64,
        /// The sum of how late they were.
        pub late_ns: u64,
        /// Emulated requests, judged or not, for which the host needed longer than the model.
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
        /// `read`, `write` or `flush`.
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
        /// What it was told, as TOML: every figure of every device, and the size of the page cache.
        pub setup: String,
        /// 4 KiB pages of buffered reads that the modelled page cache had, in the window.
        pub cache_hits: u64,
        /// 4 KiB pages of buffered reads that it had not.
        pub cache_misses: u64,
        /// Pages in it at the end of the window.
        pub cache_pages: u64,
        /// Those of them that were not yet written back.
        pub cache_dirty_pages: u64,
        /// Attempts to use io_uring that were refused, so that the server falls back to what the
        /// shim sees; since the server started.
        pub uring_refused: u64,
        /// Requests that were not modelled because too many were outstanding; since the server
        /// started.
        pub model_full: u64,
        /// Files that were not seen because too many were open; since the server started.
        pub files_unseen: u64,
        /// Attempts to map a file of an emulated device into memory that were refused; since the
        /// server started.
        pub maps_refused: u64,
        /// Time in the model, which is what the emulation cost in the window.
        pub model_ns: u64,
        /// Calls of the model.
        pub model_calls: u64,
        /// Time spun before due times.
        pub spin_ns: u64,
    }
}

/// Times that a histogram has all of.
struct InBounds;

impl StoredAs<TimeTotals> for InBounds {
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

    #[cfg(test)]
    fn describe(column: &str, meaning: &str, into: &mut Vec<(String, String)>) {
        let mut add =
            |part: &str, meaning: String| into.push((format!("{column}_{part}"), meaning));
        let meaning = meaning.trim();
        add("sum_ns", format!("{meaning} The exact sum."));
        add("max_ns", "The maximum, to a sixteenth.".to_owned());
        let buckets = "from buckets no wider than a sixteenth of their values";
        add("histogram_ns", format!("The same times as `latency_histogram_ns`, {buckets}."));
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
                    insert(transaction, "INSERT OR REPLACE INTO role_request", key, request)?;
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
