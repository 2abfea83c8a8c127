//! Everything that can stop a command, with the exit code that the shell is told.

use base::{Exit, SessionError};
use drive::RunError;
use fleet::FleetError;
use oltp::SbtestError;
use plan::PlanError;
use server::ServerError;
use storage::StorageError;
use store::{RepeatFailure, StoreError};
use tpcc::acid::AcidError;
use tpcc::{InspectError, LoadError};
use wire::ConnectError;

pub type LabResult<T> = Result<T, LabError>;

/// Why a command did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Inspect(#[from] InspectError),
    #[error("an ACID test failed to run: {0}")]
    Acid(#[from] AcidError),
    #[error("{doing} failed: {error}")]
    Session { doing: &'static str, error: SessionError },
    #[error(transparent)]
    LoadOltp(#[from] oltp::ScriptLoadError),
    #[error(transparent)]
    Digests(#[from] oltp::DigestError),
    /// A file with a workload.
    #[error("{path}: {error}; docs/oltp.md has the keys")]
    BadWorkload { path: String, error: oltp::file::FileError },
    /// The target is not fit for the request.
    #[error("{0}")]
    Unfit(String),
    /// Where files are to be.
    #[error("{0}")]
    NoRoom(String),
    #[error("the server is gone: {reason}{}", tail(log_tail))]
    ServerDied { reason: String, log_tail: Option<String> },
    /// Variables of a server that is not mydyno's own.
    #[error("this server could not be set back to what it was ({why}); run: {statements}")]
    NotSetBack { why: String, statements: String },
    #[error("interrupted")]
    Interrupted,
    #[error("this thread's reactor failed: {0}; check the limit of open files (ulimit -n)")]
    Reactor(std::io::Error),
}

fn tail(log: &Option<String>) -> String {
    match log {
        Some(log) if !log.is_empty() => format!("; the end of its log:\n{log}"),
        _ => String::new(),
    }
}

/// The target is not fit for the request, for this reason.
pub(crate) fn unfit(why: impl ToString) -> LabError {
    LabError::Unfit(why.to_string())
}

/// Says what a session was doing when it failed.
pub(crate) trait WhileDoing<T> {
    fn doing(self, doing: &'static str) -> LabResult<T>;
}

impl<T> WhileDoing<T> for Result<T, SessionError> {
    fn doing(self, doing: &'static str) -> LabResult<T> {
        self.map_err(|error| LabError::Session { doing, error })
    }
}

impl From<SbtestError> for LabError {
    fn from(error: SbtestError) -> LabError {
        unfit(error)
    }
}

impl LabError {
    /// What the shell is told.
    pub fn exit(&self) -> Exit {
        match self {
            LabError::Server(error) => error.exit(),
            LabError::Storage(error) => error.exit(),
            LabError::Plan(error) => error.exit(),
            LabError::Connect(error) => error.exit(),
            LabError::Load(error) => error.exit(),
            LabError::LoadOltp(error) => error.exit(),
            LabError::Digests(error) => error.exit(),
            LabError::BadWorkload { .. } => Exit::PlanInvalid,
            LabError::Run(error) => error.exit(),
            LabError::Store(error) => error.exit(),
            LabError::Fleet(error) => error.exit(),
            LabError::Acid(error) if !error.is_loss() => Exit::Failed,
            LabError::Acid(_)
            | LabError::Inspect(InspectError::Session(SessionError::Lost(_)))
            | LabError::Session { error: SessionError::Lost(_), .. }
            | LabError::ServerDied { .. } => Exit::ServerFailed,
            LabError::Session { .. } => Exit::Failed,
            LabError::Interrupted => Exit::Interrupted,
            LabError::Inspect(_)
            | LabError::Unfit(_)
            | LabError::NoRoom(_)
            | LabError::NotSetBack { .. }
            | LabError::Reactor(_) => Exit::Environment,
        }
    }

    /// May a stop be why, which takes the server along before this process hears of it?
    pub(crate) fn may_be_a_stop(&self) -> bool {
        let is_of_asking = matches!(
            self,
            LabError::Unfit(_)
                | LabError::Plan(_)
                | LabError::BadWorkload { .. }
                | LabError::Store(_)
                | LabError::NotSetBack { .. }
        );
        !is_of_asking && self.exit() != Exit::Interrupted
    }

    /// Why, for programs; `None` where there is no more to tell than that it failed.
    pub fn reason_code(&self) -> Option<&'static str> {
        match self {
            LabError::Load(_) => Some("load_failed"),
            LabError::ServerDied { .. } => Some("server_died"),
            LabError::Unfit(_) => Some("refused"),
            _ if self.exit() == Exit::ServerFailed => Some("server_failed"),
            _ => None,
        }
    }

    /// The same as why a repeat has no result.
    pub(crate) fn failure(&self) -> RepeatFailure {
        RepeatFailure {
            reason_code: self.reason_code().unwrap_or("failed").to_owned(),
            reason: self.to_string(),
            log_tail: None,
        }
    }
}
