//! Why results files do not become one.

use crate::StoreError;
use base::Exit;
use std::path::Path;
use thiserror::Error;

pub(super) type MergeResult<T> = Result<T, MergeError>;

/// Why results files were not merged. All files are as they were.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MergeError {
    #[error(transparent)]
    Store(#[from] StoreError),

    /// What stands against it, and what to do.
    #[error("{why}")]
    Refused { exit: Exit, why: String },
}

impl MergeError {
    pub(super) fn refused(exit: Exit, why: String) -> MergeError {
        MergeError::Refused { exit, why }
    }

    pub(super) fn write(output: &Path, cause: &std::io::Error) -> MergeError {
        let output = output.display();
        let why = format!(
            "cannot write {output} ({cause}); its directory must exist, be writable and have room"
        );
        MergeError::refused(Exit::Environment, why)
    }

    /// The exit code of a program that ends with this error.
    pub fn exit(&self) -> Exit {
        match self {
            MergeError::Store(error) => error.exit(),
            MergeError::Refused { exit, .. } => *exit,
        }
    }
}
