//! Is there room for what a server writes? A full disk is no fault of a cell, so whatever a server
//! dies of where there is one is told as that.

use crate::error::{LabError, LabResult};
use server::{Home, Instance, InstanceOptions, ServerBuild, ServerError};
use std::path::{Path, PathBuf};
use store::{DISK_FULL, Repeat};

/// A tablespace grows by so much in a step.
const TABLES_MIN_BYTES: u64 = 64 << 20;
/// The same of temporary and log files. Redo is made at once and may leave no more than this on a
/// device of its own.
const OTHERS_MIN_BYTES: u64 = 16 << 20;

/// Why a server's files cannot grow, where that is so and can be seen: of its tables in one
/// directory, and its logs and temporary files in others.
pub(crate) fn full(tables: &Path, others: &[PathBuf]) -> Option<String> {
    let others = others.iter().map(|other| (other.as_path(), OTHERS_MIN_BYTES));
    let mut all = [(tables, TABLES_MIN_BYTES)].into_iter().chain(others);
    all.find_map(|(directory, min_bytes)| {
        let free_bytes = storage::room_bytes(directory).ok()?;
        (free_bytes < min_bytes).then(|| words(directory, free_bytes))
    })
}

fn words(directory: &Path, free_bytes: u64) -> String {
    format!(
        "the file system of {} is full ({:.1} MB are free); free some space, or put the files \
         elsewhere",
        directory.display(),
        free_bytes as f64 / 1e6
    )
}

/// Starts a server.
///
/// # Errors
/// [`LabError::NoRoom`] where its files had none; else what [`Instance::start`] says.
pub(crate) fn start(
    home: &Home,
    build: &ServerBuild,
    options: InstanceOptions,
) -> LabResult<Instance> {
    // Those above its own, which go away where it does not start.
    let above = |path: &PathBuf| path.parent().unwrap_or(path).to_owned();
    let root = home.root().to_owned();
    let tables = options.data_directory.as_ref().map_or_else(|| root.clone(), above);
    let others: Vec<PathBuf> = options.scratch.iter().map(above).chain([root]).collect();
    Instance::start(home, build, options).map_err(|error| {
        let ServerError::Failed { why, log, .. } = &error else { return error.into() };
        // What it wrote is gone by now, and its room is there again; its log knows.
        let told = (says_full(why) || says_full(log)).then(|| {
            "a file system of the server's files is full; free some space, or put the files \
             elsewhere"
                .to_owned()
        });
        match full(&tables, &others).or(told) {
            Some(full) => LabError::NoRoom(format!("{full}; {error}")),
            None => error.into(),
        }
    })
}

/// A full disk is no cell's fault: what measured this repeat ends, and goes on with it when there
/// is room.
///
/// # Errors
/// [`LabError::NoRoom`] with what the repeat ended by.
pub(crate) fn require_of(repeat: &Repeat) -> LabResult<()> {
    match &repeat.reason {
        Some(reason) if repeat.reason_code.as_deref() == Some(DISK_FULL) => {
            Err(LabError::NoRoom(reason.clone()))
        }
        _ => Ok(()),
    }
}

/// Does a server's log tell of a full file system (error 28, ENOSPC)?
fn says_full(log: &str) -> bool {
    const WORDS: [&str; 6] = [
        "no space left on device",
        "error number 28",
        "errno: 28",
        "errcode: 28",
        "os error: 28",
        "os error 28",
    ];
    let log = log.to_ascii_lowercase();
    WORDS.iter().any(|words| {
        log.match_indices(words).any(|(at, words)| {
            let behind = log.as_bytes().get(at + words.len());
            !behind.is_some_and(u8::is_ascii_digit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{says_full, words};
    use std::path::Path;

    #[test]
    fn servers_tell_of_a_full_file_system() {
        for log in [
            "[ERROR] InnoDB: Error number 28 means 'No space left on device'",
            "[ERROR] [MY-012144] [InnoDB] posix_fallocate(): Failed to preallocate data for file \
             ./#innodb_redo/#ib_redo0_tmp, desired size 3276800 bytes. Operating system error \
             number 28. Check that the disk is not full",
            "Error writing file (Errcode: 28 \"No space left on device\")",
            "mysqld: Disk is full writing './binlog.000001' (OS errno 28 - No space left on \
             device)",
        ] {
            assert!(says_full(log), "{log}");
        }
        for log in [
            "",
            "[ERROR] unknown variable 'x=28'",
            "Operating system error number 280 in a file operation",
            "[Note] InnoDB: Waiting for purge to start",
        ] {
            assert!(!says_full(log), "{log}");
        }
    }

    #[test]
    fn any_directory_may_be_full() {
        let here = std::env::temp_dir();
        // Its file system has no blocks at all.
        let full = Path::new("/proc");
        let found = |tables: &Path, other: &Path| super::full(tables, &[other.to_owned()]);
        assert_eq!(found(&here, &here), None);
        assert_eq!(found(&here, full), Some(words(full, 0)));
        assert_eq!(found(full, &here), Some(words(full, 0)));
        assert_eq!(found(&here, Path::new("/nowhere")), None);
    }
}
