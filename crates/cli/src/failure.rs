//! Errors on their way out: the chain of causes, and the exit code of its innermost room.

use base::Exit;

/// Why the program ends with something else than success.
pub struct Failure {
    pub exit: Exit,
    /// Why, for programs, where that is known better than by the exit code.
    pub reason: Option<String>,
    pub error: anyhow::Error,
}

/// What a subcommand returns.
pub type Outcome = Result<Exit, Failure>;

impl Failure {
    /// A failure with an exit code of its own.
    pub fn new(exit: Exit, message: impl std::fmt::Display) -> Failure {
        Failure { exit, reason: None, error: anyhow::anyhow!("{message}") }
    }

    /// Why, for people.
    pub fn message(&self) -> String {
        format!("{:#}", self.error)
    }
}

macro_rules! from_error {
    ($($error:ty),+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure { exit: error.exit(), reason: None, error: error.into() }
            }
        })+
    };
}

from_error!(
    fleet::FleetError,
    live::ListenError,
    plan::PlanError,
    server::ServerError,
    storage::StorageError,
    store::MergeError,
    store::StoreError,
    report::ReportError
);

impl From<lab::LabError> for Failure {
    fn from(error: lab::LabError) -> Failure {
        let reason = error.reason_code().map(str::to_owned);
        Failure { exit: error.exit(), reason, error: error.into() }
    }
}

impl From<spec::Problem> for Failure {
    fn from(problem: spec::Problem) -> Failure {
        let flag = problem.option.replace('_', "-");
        Failure::new(Exit::Usage, format!("--{flag}: {}", problem.why))
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure { exit: Exit::Failed, reason: None, error: error.into() }
    }
}
