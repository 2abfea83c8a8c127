//! Why there is no report.

use base::Exit;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use store::StoreError;
use thiserror::Error;

pub type ReportResult<T> = Result<T, ReportError>;

/// Why a report or an export was not made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    #[error(transparent)]
    Store(#[from] StoreError),

    #[error(
        "cannot turn numbers of the report into JSON ({0}); this is an error in mydyno, report it"
    )]
    Json(serde_json::Error),

    #[error(
        "the lab has no chart {name}; it has {}",
        if known.is_empty() { "none over a number".to_owned() } else { known.join(", ") }
    )]
    NoFigure { name: String, known: Vec<String> },

    #[error("cannot draw the chart as PNG: {0}; -o with a name that ends in .svg needs no more")]
    Raster(String),

    #[error(
        "cannot write {} ({cause}); name a directory that exists, is writable and has room",
        path.display()
    )]
    Write { path: PathBuf, cause: String },
}

impl ReportError {
    /// The exit code of a program that ends with this error.
    pub fn exit(&self) -> Exit {
        match self {
            ReportError::Store(cause) => cause.exit(),
            ReportError::NoFigure { .. } => Exit::Usage,
            ReportError::Json(_) => Exit::Failed,
            ReportError::Raster(_) | ReportError::Write { .. } => Exit::Environment,
        }
    }
}

/// Of a file, or a directory, of an export.
pub(crate) fn cannot_write<E: Display>(path: &Path) -> impl FnOnce(E) -> ReportError {
    move |cause: E| ReportError::Write { path: path.to_owned(), cause: cause.to_string() }
}
