//! Why something could not be observed.

use std::path::{Path, PathBuf};

/// A reading that failed. The run goes on with a gap.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error("{} has not the form that Linux documents: {what}", path.display())]
    Form { path: PathBuf, what: String },
    #[error("{url} gave no metrics: {why}")]
    Exporter { url: String, why: String },
    #[error("`{command}` gave no watts: {why}")]
    Meter { command: String, why: String },
    #[error("cannot read the server's status: {0}")]
    Server(String),
    #[error("cannot read the shim's counters: {0}")]
    Shim(#[from] storage::StorageError),
}

/// For `map_err` of a reading of `path`.
pub(crate) fn read_at(path: &Path) -> impl FnOnce(std::io::Error) -> ObserveError {
    let path = path.to_owned();
    move |cause| ObserveError::Read { path, cause }
}
