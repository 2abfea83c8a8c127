//! Why a run does not come to its end, or not to be.

use crate::client::Failed;
use base::Exit;

/// Why a run is ended before its time, where it was not the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abort {
    pub cause: AbortCause,
    /// For people.
    pub reason: String,
}

/// The kinds of [`Abort`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortCause {
    ServerGone,
    /// Every transaction fails.
    Useless,
    /// One that drives a share of the connections is gone, or late.
    PartnerLost,
}

/// Why there was no run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot open {connections} connections: {}", failed.message)]
    Open { connections: u32, failed: Failed },
    #[error("interrupted before all connections were open")]
    Interrupted,
    #[error("{0}")]
    Aborted(String),
    #[error("a worker thread failed: {0}; check the limits of open files and memory")]
    Worker(std::io::Error),
    #[error("{0}")]
    PartnerLost(String),
}

impl RunError {
    /// What the shell is told.
    pub fn exit(&self) -> Exit {
        match self {
            RunError::Interrupted => Exit::Interrupted,
            RunError::Aborted(_) => Exit::ServerFailed,
            RunError::Open { .. } | RunError::Worker(_) | RunError::PartnerLost(_) => {
                Exit::Environment
            }
        }
    }
}
