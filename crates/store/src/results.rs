//! The open results file.

use crate::open::{IfMissing, Opened, open, uri};
use crate::{StoreError, StoreResult, process};
use base::now_utc_ns;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};

/// An open results file. Writes of one call are one transaction.
///
/// The file is in WAL mode. Intervals are committed without waiting for the disk
/// (`synchronous=NORMAL`): they survive a `kill -9`, and a flush each second would be load of our
/// own on the storage that is measured. A step that ends something (`finish_...`, `fail_...`,
/// `record_...`) is flushed (`synchronous=FULL`), and flushes everything before it.
pub struct Results {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    writable: bool,
}

/// Must a step outlive a power failure?
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Durable {
    Flushed,
    Written,
}

impl Results {
    /// Opens a results file that exists. One that this user cannot write is opened for reading.
    ///
    /// # Errors
    /// The file is missing, not ours, of another format, or cannot be read.
    pub fn open(path: &Path) -> StoreResult<Results> {
        Results::with(path, open(path, IfMissing::Fail)?)
    }

    /// Opens a results file, made first where there is none.
    ///
    /// # Errors
    /// The file is not ours, of another format, or cannot be written.
    pub fn create_or_open(path: &Path) -> StoreResult<Results> {
        Results::with(path, open(path, IfMissing::Create)?)
    }

    /// Opens a results file that exists, and leaves labs and repeats `running` that are so in it:
    /// they may run on another machine.
    pub(crate) fn open_as_it_is(path: &Path) -> StoreResult<Results> {
        Ok(Results::of(path, open(path, IfMissing::Fail)?))
    }

    fn of(path: &Path, Opened { connection, writable }: Opened) -> Results {
        Results { connection, path: path.to_path_buf(), writable }
    }

    fn with(path: &Path, opened: Opened) -> StoreResult<Results> {
        let results = Results::of(path, opened);
        if results.writable {
            results.end_abandoned()?;
        }
        Ok(results)
    }

    /// Where the file is, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The URI by which another connection reads the file.
    pub(crate) fn uri(&self) -> StoreResult<String> {
        uri(&self.path, self.writable)
    }

    /// Marks what a process that is gone has left `running`; what a living one runs is not touched.
    fn end_abandoned(&self) -> StoreResult<()> {
        let abandoned = |table: &str| -> StoreResult<Vec<i64>> {
            let sql = format!("SELECT id, process FROM {table} WHERE status = 'running'");
            let mut running: Vec<(i64, String)> = self.pairs(&sql, [])?;
            running.retain(|(_, process)| !process::is_alive(process));
            Ok(running.into_iter().map(|(id, _)| id).collect())
        };
        let (repeats, labs) = (abandoned("repeat")?, abandoned("lab")?);
        if repeats.is_empty() && labs.is_empty() {
            return Ok(());
        }
        let now = now_utc_ns();
        self.step(Durable::Flushed, |transaction| {
            for id in repeats {
                transaction.execute(
                    "UPDATE repeat SET status = 'failed', reason_code = 'interrupted_process', \
                     finished_utc_ns = ?2, reason = 'the mydyno process that measured was killed \
                     or its machine went down' WHERE id = ?1 AND status = 'running'",
                    (id, now),
                )?;
            }
            for id in labs {
                transaction.execute(
                    "UPDATE lab SET status = 'interrupted', finished_utc_ns = ?2, \
                     reason = 'the mydyno process was killed or its machine went down' \
                     WHERE id = ?1 AND status = 'running'",
                    (id, now),
                )?;
            }
            Ok(())
        })
    }

    /// One step: all of `body` or nothing.
    pub(crate) fn step<T>(
        &self,
        durable: Durable,
        body: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> StoreResult<T> {
        if !self.writable {
            return Err(StoreError::CannotOpen {
                path: self.path.clone(),
                cause: "it is read-only".to_owned(),
            });
        }
        let run = || -> rusqlite::Result<T> {
            let level = match durable {
                Durable::Flushed => "full",
                Durable::Written => "normal",
            };
            self.connection.pragma_update(None, "synchronous", level)?;
            let transaction =
                Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
            let value = body(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        run().map_err(|cause| self.sql(cause))
    }

    pub(crate) fn sql(&self, cause: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, cause)
    }
}
