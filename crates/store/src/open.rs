//! Opening the file: is it ours, is it of our format, and making one of an empty file.
//!
//! Nothing is written before the file is known to be ours or empty.

use crate::{Results, StoreError, StoreResult};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// "mydy" in the file's header (`PRAGMA application_id`), by which `file` and we know the format.
pub const APPLICATION_ID: i64 = 0x6d79_6479;

/// What an empty file becomes.
const SCHEMA: &str = include_str!("schema.sql");

/// The format (`PRAGMA user_version`), the only one that this program reads and writes.
pub const FORMAT: i64 = 1;

/// How long a write waits for another process to end its transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// What may be done where there is no file.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum IfMissing {
    Create,
    Fail,
}

pub(crate) fn open(path: &Path, if_missing: IfMissing) -> StoreResult<Results> {
    let exists = path.exists();
    if !exists && if_missing == IfMissing::Fail {
        return Err(StoreError::Missing { path: path.to_path_buf() });
    }
    // An empty file is for `create_or_open`: who only reads writes nothing into it.
    let is_empty =
        || if_missing == IfMissing::Fail && path.metadata().is_ok_and(|of| of.len() == 0);
    if exists && (!path.is_file() || is_empty()) {
        return Err(StoreError::Foreign { path: path.to_path_buf() });
    }
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    if if_missing == IfMissing::Create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    // Files may be attached by their URI; this one is never taken for one.
    let mut results = connect(path, Path::new(".").join(path), flags)?;
    // SQLite falls back to reading only where the file's mode says so.
    let is_readonly = results.connection.is_readonly("main").map_err(|cause| results.sql(cause))?;
    results.writable = !is_readonly && directory_is_writable(path);
    if results.writable {
        set_up(&mut results, if_missing)?;
        return Ok(results);
    }
    drop(results);
    if if_missing == IfMissing::Create {
        return Err(StoreError::read_only(path));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let results = connect(path, uri(path, false)?, flags)?;
    match has_format(&results.connection, path)? {
        true => Ok(results),
        false => Err(StoreError::Foreign { path: path.to_path_buf() }),
    }
}

/// Connects to the file at `path`, which SQLite is told as `named`.
fn connect(path: &Path, named: impl AsRef<Path>, flags: OpenFlags) -> StoreResult<Results> {
    let sql = |cause| StoreError::from_sqlite(path, cause);
    let connection = Connection::open_with_flags(named, flags).map_err(sql)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(sql)?;
    Ok(Results { connection, path: path.to_path_buf(), writable: false })
}

/// The URI by which SQLite opens a file. One that cannot be written (a mounted archive, another
/// user's) is opened without write-ahead log, which would need files beside it.
pub(crate) fn uri(path: &Path, writable: bool) -> StoreResult<String> {
    let unfinished = beside(path, "-wal").metadata().is_ok_and(|of| of.len() > 0);
    let how = match writable {
        true => "",
        false if unfinished => "?mode=ro",
        false => "?immutable=1",
    };
    let absolute = std::path::absolute(path).map_err(|cause| StoreError::CannotOpen {
        path: path.to_path_buf(),
        cause: cause.to_string(),
    })?;
    let encoded = base::percent_encoded(absolute.as_os_str().as_bytes()).replace("%2F", "/");
    Ok(format!("file://{encoded}{how}"))
}

fn set_up(results: &mut Results, if_missing: IfMissing) -> StoreResult<()> {
    let Results { connection, path, .. } = results;
    let sql = |cause| StoreError::from_sqlite(path, cause);
    let is_made = patiently(|| {
        let is_made = has_format(connection, path)?;
        if !is_made && if_missing == IfMissing::Fail {
            return Err(StoreError::Foreign { path: path.clone() });
        }
        connection.pragma_update(None, "journal_mode", "wal").map_err(sql)?;
        Ok(is_made)
    })?;
    connection.pragma_update(None, "synchronous", "normal").map_err(sql)?;
    connection.pragma_update(None, "foreign_keys", "on").map_err(sql)?;
    if !is_made {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        // Read again under the lock: another process may have made the file in the meantime.
        if !has_format(&transaction, path)? {
            transaction.execute_batch(SCHEMA).map_err(sql)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
            transaction.pragma_update(None, "user_version", FORMAT).map_err(sql)?;
        }
        transaction.commit().map_err(sql)?;
    }
    Ok(())
}

/// Tries until the file is not busy. Changing the journal mode is where SQLite does not wait by
/// itself: two processes that make a file at once would each wait for the other.
fn patiently<T>(mut attempt: impl FnMut() -> StoreResult<T>) -> StoreResult<T> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match attempt() {
            Err(StoreError::Busy { .. }) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            outcome => return outcome,
        }
    }
}

/// Has a file that is ours to use tables of our format, or is it an empty database? Reads only.
fn has_format(connection: &Connection, path: &Path) -> StoreResult<bool> {
    // One statement sees one state of the file: another process may be making it at this moment.
    let found: (i64, i64, i64) = connection
        .query_row(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) \
             FROM pragma_application_id, pragma_user_version",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .map_err(|cause| StoreError::from_sqlite(path, cause))?;
    let path = path.to_path_buf();
    match found {
        (APPLICATION_ID, FORMAT, _) => Ok(true),
        (APPLICATION_ID, found, _) => Err(StoreError::OtherFormat { path, found, known: FORMAT }),
        (0, 0, 0) => Ok(false),
        _ => Err(StoreError::Foreign { path }),
    }
}

/// Can files be made beside `path`? SQLite needs two for the write-ahead log.
fn directory_is_writable(path: &Path) -> bool {
    rustix::fs::access(directory_of(path), rustix::fs::Access::WRITE_OK).is_ok()
}

/// Where a file is.
pub(crate) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file whose name goes on with `suffix`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::{StoreError, patiently};

    #[test]
    fn a_busy_file_is_waited_for() {
        let mut tries = 0;
        let opened = patiently(|| {
            tries += 1;
            match tries {
                3 => Ok("open"),
                _ => Err(StoreError::Busy { path: "r.db".into(), cause: "locked".to_owned() }),
            }
        });
        assert_eq!((opened.unwrap(), tries), ("open", 3));
    }
}
