//! Where the files of a cell are, and what its storage did in the window of a repeat: rows, writing them, reading them.
//!
//! Counts are of the time between two readings of the shim's counters, at the begin and the end of the window.

use crate::histogram::{Codec, histogram_at};
use crate::read::word;
use crate::results::Durable;
use crate::types::{CellId, RepeatId, word};
use crate::{Results, StoreError, TimeTotals};
use rusqlite::{Row, Transaction, params};

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
    pub requests: Vec<RequestIo>,
}

impl RoleIo {
    /// Requests that an emulated device has served, whether or not somebody waited for them.
    #[must_use]
    pub fn emulated_requests(&self) -> u64 {
        let served = |request: &RequestIo| request.service.histogram.len();
        self.requests.iter().map(served).sum()
    }
}

/// Requests of one kind of one role.
#[derive(Clone, Debug)]
pub struct RequestIo {
    pub kind: RequestKind,
    pub requests: u64,
    pub bytes: u64,
    /// From submission to completion.
    pub response: TimeTotals,
    /// On the device, without waiting in its queue; of emulated devices only.
    pub service: TimeTotals,
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

impl Results {
    /// Stores what the storage did in the window; called again, it replaces it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_device_io(&self, repeat: RepeatId, io: &DeviceIo) -> Result<(), StoreError> {
        let mut codec = self.codec.borrow_mut();
        let mut encoded = Vec::new();
        for role in &io.roles {
            for request in &role.requests {
                let response = encode(&mut codec, &request.response, role)?;
                let service = encode(&mut codec, &request.service, role)?;
                encoded.push((role.role.as_str(), request, response, service));
            }
        }
        self.step(Durable::Written, |transaction| {
            insert_shim(transaction, repeat, &io.shim)?;
            for role in &io.roles {
                insert_role(transaction, repeat, role)?;
            }
            let mut insert = transaction.prepare_cached(
                "INSERT OR REPLACE INTO role_request (repeat_id, role, kind, requests, bytes, response_sum_ns, \
                 response_max_ns, response_histogram_ns, service_sum_ns, service_max_ns, service_histogram_ns) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?;
            for (role, request, response, service) in &encoded {
                insert.execute(params![
                    repeat.0,
                    role,
                    request.kind.as_str(),
                    request.requests,
                    request.bytes,
                    request.response.sum_ns,
                    request.response.max_ns,
                    response,
                    request.service.sum_ns,
                    request.service.max_ns,
                    service,
                ])?;
            }
            Ok(())
        })
    }

    /// What the storage did in the window; `None` where nobody counted.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn device_io(&self, repeat: RepeatId) -> Result<Option<DeviceIo>, StoreError> {
        let sql = "SELECT * FROM shim WHERE repeat_id = ?1";
        let Some(shim) = self.all(sql, params![repeat.0], read_shim)?.pop() else {
            return Ok(None);
        };
        let sql = "SELECT * FROM role_io WHERE repeat_id = ?1";
        let mut roles = self.all(sql, params![repeat.0], read_role)?;
        let mut codec = self.codec.borrow_mut();
        for role in &mut roles {
            let sql = "SELECT * FROM role_request WHERE repeat_id = ?1 AND role = ?2";
            role.requests = self.all(sql, params![repeat.0, role.role], |row| {
                read_request(row, &mut codec)
            })?;
            role.requests.sort_by_key(|request| request.kind);
        }
        roles.sort_by_key(|role| rank(&role.role));
        Ok(Some(DeviceIo { shim, roles }))
    }

    pub(crate) fn places(&self, cell: CellId) -> Result<Vec<CellPlace>, StoreError> {
        let sql = "SELECT * FROM cell_place WHERE cell_id = ?1";
        let mut places = self.all(sql, params![cell.0], |row| {
            Ok(CellPlace {
                role: row.get("role")?,
                device: row.get("device")?,
                emulated: row.get("emulated")?,
                profile_fingerprint: row.get("profile_fingerprint")?,
                backing: row.get("backing")?,
            })
        })?;
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

pub(crate) fn insert_places(
    transaction: &Transaction<'_>,
    cell: CellId,
    places: &[CellPlace],
) -> rusqlite::Result<()> {
    for place in places {
        transaction.execute(
            "INSERT OR REPLACE INTO cell_place (cell_id, role, device, emulated, backing, profile_fingerprint) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                cell.0,
                place.role,
                place.device,
                place.emulated,
                place.backing,
                place.profile_fingerprint
            ],
        )?;
    }
    Ok(())
}

fn encode(
    codec: &mut Codec,
    times: &TimeTotals,
    role: &RoleIo,
) -> Result<Option<Vec<u8>>, StoreError> {
    let bytes = codec
        .encode(&times.histogram)
        .map_err(|cause| StoreError::Histogram {
            transaction: role.role.clone(),
            cause,
        })?;
    Ok(bytes.map(<[u8]>::to_vec))
}

fn insert_shim(
    transaction: &Transaction<'_>,
    repeat: RepeatId,
    shim: &ShimFacts,
) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT OR REPLACE INTO shim (repeat_id, setup, cache_hits, cache_misses, cache_pages, cache_dirty_pages, uring_refused, \
         model_full, files_unseen, maps_refused, model_ns, model_calls, spin_ns) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            repeat.0,
            shim.setup,
            shim.cache_hits,
            shim.cache_misses,
            shim.cache_pages,
            shim.cache_dirty_pages,
            shim.uring_refused,
            shim.model_full,
            shim.files_unseen,
            shim.maps_refused,
            shim.model_ns,
            shim.model_calls,
            shim.spin_ns,
        ],
    )?;
    Ok(())
}

fn insert_role(
    transaction: &Transaction<'_>,
    repeat: RepeatId,
    role: &RoleIo,
) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT OR REPLACE INTO role_io (repeat_id, role, counted_ns, outstanding_max, busy_ns, outstanding_ns, judged, \
         within_tolerance, late_ns, overruns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            repeat.0,
            role.role,
            role.counted_ns,
            role.outstanding_max,
            role.busy_ns,
            role.outstanding_ns,
            role.judged,
            role.within_tolerance,
            role.late_ns,
            role.overruns,
        ],
    )?;
    Ok(())
}

fn read_shim(row: &Row<'_>) -> rusqlite::Result<ShimFacts> {
    Ok(ShimFacts {
        setup: row.get("setup")?,
        cache_hits: row.get("cache_hits")?,
        cache_misses: row.get("cache_misses")?,
        cache_pages: row.get("cache_pages")?,
        cache_dirty_pages: row.get("cache_dirty_pages")?,
        uring_refused: row.get("uring_refused")?,
        model_full: row.get("model_full")?,
        files_unseen: row.get("files_unseen")?,
        maps_refused: row.get("maps_refused")?,
        model_ns: row.get("model_ns")?,
        model_calls: row.get("model_calls")?,
        spin_ns: row.get("spin_ns")?,
    })
}

fn read_role(row: &Row<'_>) -> rusqlite::Result<RoleIo> {
    Ok(RoleIo {
        role: row.get("role")?,
        counted_ns: row.get("counted_ns")?,
        outstanding_max: row.get("outstanding_max")?,
        busy_ns: row.get("busy_ns")?,
        outstanding_ns: row.get("outstanding_ns")?,
        judged: row.get("judged")?,
        within_tolerance: row.get("within_tolerance")?,
        late_ns: row.get("late_ns")?,
        overruns: row.get("overruns")?,
        requests: Vec::new(),
    })
}

fn read_request(row: &Row<'_>, codec: &mut Codec) -> rusqlite::Result<RequestIo> {
    let mut times = |name: &str| -> rusqlite::Result<TimeTotals> {
        Ok(TimeTotals {
            histogram: histogram_at(row, &format!("{name}_histogram_ns"), codec)?,
            sum_ns: row.get(format!("{name}_sum_ns").as_str())?,
            max_ns: row.get(format!("{name}_max_ns").as_str())?,
            out_of_bounds: 0,
        })
    };
    Ok(RequestIo {
        kind: word(row, "kind", RequestKind::parse)?,
        requests: row.get("requests")?,
        bytes: row.get("bytes")?,
        response: times("response")?,
        service: times("service")?,
    })
}
