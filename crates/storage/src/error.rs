//! What can go wrong with places.

use base::Exit;
use std::path::PathBuf;

pub type StorageResult<T> = Result<T, StorageError>;

/// What failed, on what, why, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// A library that is preloaded is not where it should be.
    #[error("the {what} {library} is missing: {todo}")]
    NoShim { what: &'static str, library: PathBuf, todo: String },
    #[error("cannot {action} {path}: {cause}")]
    Io {
        action: &'static str,
        path: PathBuf,
        /// In the message, and no `source`, which would be told a second time.
        cause: std::io::Error,
    },
    /// A word that is no place.
    #[error(
        "unknown device {name:?}{nearest}; `mydyno device list` has the profiles, a profile file \
         ends in .toml, and a directory has a slash in it (./{name})"
    )]
    UnknownProfile {
        name: String,
        /// `; the nearest is "hdd-15k"`, or nothing.
        nearest: String,
    },
    #[error("the place {place:?} is none: {why}")]
    BadPlace { place: String, why: String },
    /// A profile file that cannot be used.
    #[error("the device profile {path} cannot be used: {why}")]
    BadProfile { path: PathBuf, why: String },
    /// A log of iostat that tells no profile.
    #[error("the iostat log {path} cannot be used: {why}")]
    BadLog { path: PathBuf, why: String },
    /// There is nothing to verify.
    #[error(
        "the [sheet] of {name} promises nothing that could be verified; give it a figure, such as \
         read_latency_us (docs/profiles.md has all of them)"
    )]
    EmptySheet { name: String },
    #[error("{path} cannot hold files of a server: {why}")]
    BadDirectory {
        /// Whose place it was to be.
        role: Option<&'static str>,
        path: PathBuf,
        why: String,
    },
    #[error(
        "{path} is too small: it has {} MiB free and {what} need {} MiB; free some space or name \
         another place",
        free_bytes >> 20,
        needed_bytes >> 20
    )]
    Disk {
        /// Whose place it was to be.
        role: Option<&'static str>,
        path: PathBuf,
        what: String,
        needed_bytes: u64,
        free_bytes: u64,
    },
    #[error(
        "the server's files need {} MiB, and {device} has {} MiB for them; use more of it \
         (--used), or take a larger device",
        needed_bytes >> 20,
        used_bytes >> 20
    )]
    DeviceTooSmall { device: String, used_bytes: u64, needed_bytes: u64 },
    /// A server that cannot run under the shim, or in dilated time.
    #[error("{binary} cannot run {how}: {why}")]
    UnfitBinary { binary: PathBuf, how: &'static str, why: String },
    /// This server cannot have these files in a directory of their own.
    #[error("{role} cannot be placed apart from data on this server: {why}")]
    NotPlaceable { role: &'static str, why: String },
    #[error(
        "--set {variable} and --{role} contradict each other: the place is set by that variable; \
         leave one of them out"
    )]
    Contradiction { role: &'static str, variable: String },
    /// Files that would not be where their role's device is.
    #[error(
        "--set {variable} puts files outside of where --data puts them, and results would name the \
         wrong device; use --{role} to place them, or leave the variable out"
    )]
    Outside { role: &'static str, variable: &'static str },
    #[error("fio is needed and {why}; install the package fio (3.16 or newer), or put it on PATH")]
    NoFio { why: String },
    #[error("fio failed: {why}")]
    FioFailed { why: String },
    /// The user asked for the end.
    #[error("interrupted")]
    Interrupted,
    /// Nothing is known of what the devices would lose.
    #[error("the power of the devices cannot be cut: {why}")]
    NotRecordable { why: &'static str },
    #[error(transparent)]
    Setup(#[from] device::SetupError),
}

impl StorageError {
    /// The exit code of a command that ends with this error.
    pub fn exit(&self) -> Exit {
        match self {
            StorageError::UnknownProfile { .. }
            | StorageError::BadPlace { .. }
            | StorageError::BadProfile { .. }
            | StorageError::BadLog { .. }
            | StorageError::EmptySheet { .. }
            | StorageError::NotPlaceable { .. }
            | StorageError::NotRecordable { .. }
            | StorageError::Contradiction { .. }
            | StorageError::DeviceTooSmall { .. }
            | StorageError::Outside { .. } => Exit::Usage,
            StorageError::FioFailed { .. } | StorageError::Setup(_) => Exit::Failed,
            StorageError::Interrupted => Exit::Interrupted,
            StorageError::NoShim { .. }
            | StorageError::Io { .. }
            | StorageError::BadDirectory { .. }
            | StorageError::Disk { .. }
            | StorageError::UnfitBinary { .. }
            | StorageError::NoFio { .. } => Exit::Environment,
        }
    }
}

/// An error of the operating system on that path.
pub(crate) fn io_at<E: Into<std::io::Error>>(
    action: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(E) -> StorageError {
    let path = path.into();
    move |error| StorageError::Io { action, path, cause: error.into() }
}
