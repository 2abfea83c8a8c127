//! Errors on their way out: the chain of causes, and the exit code of its innermost room.

use base::Exit;

/// Why the program ends with something else than success.
pub struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
}

/// What a subcommand returns.
pub type Outcome = Result<Exit, Failure>;

impl Failure {
    /// A failure with an exit code of its own.
    pub fn new(exit: Exit, message: impl std::fmt::Display) -> Failure {
        Failure { exit, error: anyhow::anyhow!("{message}") }
    }
}

macro_rules! from_error {
    ($($error:ty),+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure { exit: error.exit(), error: error.into() }
            }
        })+
    };
}

from_error!(
    fleet::FleetError,
    lab::LabError,
    live::ListenError,
    plan::PlanError,
    server::ServerError,
    storage::StorageError,
    store::MergeError,
    store::StoreError,
    report::ReportError
);

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure { exit: Exit::Failed, error: error.into() }
    }
}
