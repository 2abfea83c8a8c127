//! The open results file.

use crate::open::{IfMissing, open};
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
    pub(crate) writable: bool,
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
        open(path, IfMissing::Fail)?.without_abandoned()
    }

    /// Opens a results file, made first where there is none.
    ///
    /// # Errors
    /// The file is not ours, of another format, or cannot be written.
    pub fn create_or_open(path: &Path) -> StoreResult<Results> {
        open(path, IfMissing::Create)?.without_abandoned()
    }

    /// Opens a results file that exists, and leaves labs and repeats `running` that are so in it:
    /// they may run on another machine.
    pub(crate) fn open_as_it_is(path: &Path) -> StoreResult<Results> {
        open(path, IfMissing::Fail)
    }

    /// Where the file is, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Marks what a process that is gone has left `running`; what a living one runs is not touched.
    fn without_abandoned(self) -> StoreResult<Results> {
        let abandoned = |table: &str| -> StoreResult<Vec<i64>> {
            let sql = format!("SELECT id, process FROM {table} WHERE status = 'running'");
            let mut running: Vec<(i64, String)> = self.pairs(&sql, [])?;
            running.retain(|(_, process)| !process::is_alive(process));
            Ok(running.into_iter().map(|(id, _)| id).collect())
        };
        if !self.writable {
            return Ok(self);
        }
        let (repeats, labs) = (abandoned("repeat")?, abandoned("lab")?);
        if repeats.is_empty() && labs.is_empty() {
            return Ok(self);
        }
        let repeat_ended = "status = 'failed', reason_code = 'interrupted_process', \
             reason = 'the mydyno process that measured was killed or its machine went down'";
        let lab_ended = "status = 'interrupted', \
             reason = 'the mydyno process was killed or its machine went down'";
        let now = now_utc_ns();
        self.step(Durable::Flushed, |transaction| {
            for (table, ids, ended) in [("repeat", repeats, repeat_ended), ("lab", labs, lab_ended)]
            {
                let sql = format!(
                    "UPDATE {table} SET {ended}, finished_utc_ns = ?2 \
                     WHERE id = ?1 AND status = 'running'"
                );
                for id in ids {
                    transaction.execute(&sql, (id, now))?;
                }
            }
            Ok(())
        })?;
        Ok(self)
    }

    /// One step: all of `body` or nothing.
    pub(crate) fn step<T>(
        &self,
        durable: Durable,
        body: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> StoreResult<T> {
        if !self.writable {
            return Err(StoreError::read_only(&self.path));
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
