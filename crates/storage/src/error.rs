//! What can go wrong with places.

use base::Exit;
use std::path::PathBuf;

/// What failed, on what, why, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    #[error("the shim {library} is missing: {todo}")]
    NoShim { library: PathBuf, todo: String },
    #[error("cannot {action} {path}: {source}")]
    Io {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
}

impl StorageError {
    /// The exit code of a command that ends with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            StorageError::NoShim { .. } | StorageError::Io { .. } => Exit::Environment,
        }
    }
}
