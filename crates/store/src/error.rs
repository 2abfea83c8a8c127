//! What can go wrong with the results file, in words that say what to do.

use base::Exit;
use std::path::{Path, PathBuf};
use thiserror::Error;

pub type StoreResult<T> = Result<T, StoreError>;

/// Why the results file could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error(
        "no results file {}; run `mydyno run` first, or name another with --results", path.display()
    )]
    Missing { path: PathBuf },

    #[error(
        "{} is not a results file of mydyno and was left as it is; name another with \
         --results", path.display()
    )]
    Foreign { path: PathBuf },

    #[error(
        "results file {} has format {found}, and this mydyno reads format {known}; read it with \
         the mydyno that wrote it, or name another file with --results", path.display()
    )]
    OtherFormat { path: PathBuf, found: i64, known: i64 },

    #[error(
        "no room to store results in {} ({cause}); free space on its file system, or name a file \
         elsewhere with --results; everything stored before is kept", path.display()
    )]
    DiskFull { path: PathBuf, cause: String },

    #[error(
        "results file {} is locked by another process ({cause}); wait for that mydyno to end, or \
         name another file with --results", path.display()
    )]
    Busy { path: PathBuf, cause: String },

    #[error(
        "results file {} is damaged ({cause}); restore a copy, or name another file with \
         --results", path.display()
    )]
    Damaged { path: PathBuf, cause: String },

    #[error(
        "cannot open results file {} ({cause}); its directory must exist and be \
         writable", path.display()
    )]
    CannotOpen { path: PathBuf, cause: String },

    #[error("results file {} failed ({cause}); name another with --results", path.display())]
    Sql { path: PathBuf, cause: rusqlite::Error },

    #[error(
        "there is no {what} {id} in {}; `mydyno lab status` lists what there is", path.display()
    )]
    NotFound { path: PathBuf, what: &'static str, id: i64 },

    #[error(
        "cell {ordinal} of this lab was measured with {name} {stored}, which is {given} now, and \
         its repeats would be of both; go back to what it was, or begin a new lab: name another \
         file with --results, or give the plan another `name`"
    )]
    CellDiffers { ordinal: u32, name: String, stored: String, given: String },

    #[error("repeat {id} is {status}, so it cannot be finished; begin a new one")]
    WrongStatus { id: i64, status: String },
}

impl StoreError {
    /// The exit code of a program that ends with this error.
    pub fn exit(&self) -> Exit {
        match self {
            StoreError::Missing { .. } | StoreError::NotFound { .. } => Exit::Usage,
            StoreError::CellDiffers { .. } => Exit::PlanInvalid,
            StoreError::Sql { .. } | StoreError::WrongStatus { .. } => Exit::Failed,
            // What is wrong with the file.
            _ => Exit::Environment,
        }
    }

    pub(crate) fn read_only(path: &Path) -> StoreError {
        StoreError::CannotOpen { path: path.to_path_buf(), cause: "it is read-only".to_owned() }
    }

    /// What an error of SQLite means for the file at `path`.
    pub(crate) fn from_sqlite(path: &Path, cause: rusqlite::Error) -> StoreError {
        use rusqlite::ffi;
        let path = path.to_path_buf();
        let rusqlite::Error::SqliteFailure(failure, _) = &cause else {
            return StoreError::Sql { path, cause };
        };
        // A file that may not grow: EFBIG, quota, or no room for the index of the write-ahead log.
        const CANNOT_GROW: [i32; 4] = [
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_IOERR_SHMSIZE,
            ffi::SQLITE_IOERR_TRUNCATE,
            ffi::SQLITE_IOERR_FSYNC,
        ];
        let text = cause.to_string();
        match failure.extended_code & 0xff {
            _ if CANNOT_GROW.contains(&failure.extended_code) => {
                StoreError::DiskFull { path, cause: text }
            }
            ffi::SQLITE_FULL => StoreError::DiskFull { path, cause: text },
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => StoreError::Busy { path, cause: text },
            ffi::SQLITE_CORRUPT => StoreError::Damaged { path, cause: text },
            ffi::SQLITE_NOTADB => StoreError::Foreign { path },
            ffi::SQLITE_CANTOPEN | ffi::SQLITE_READONLY | ffi::SQLITE_PERM => {
                StoreError::CannotOpen { path, cause: text }
            }
            _ => StoreError::Sql { path, cause },
        }
    }
}
