//! Errors on their way out: the chain of causes, and the exit code of its innermost room.

use base::Exit;
use clap::{Args, Command};
use plan::CellOptions;

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

    /// A command line that cannot be obeyed.
    pub fn usage(message: impl std::fmt::Display) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// Refuses the command line where that is so.
    pub fn usage_if(is_wrong: bool, message: impl std::fmt::Display) -> Result<(), Failure> {
        if is_wrong { Err(Failure::usage(message)) } else { Ok(()) }
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
        Failure::usage(format!("--{flag}: {}", with_flags(&problem.why)))
    }
}

/// Names other options as the command line does: `--rate` instead of the plan's `rate`.
fn with_flags(why: &str) -> String {
    let options = CellOptions::augment_args(Command::new(""));
    let flag_of = |quoted: &str| {
        let flag = quoted.replace('_', "-");
        let is_flag = options.get_arguments().any(|of| of.get_long() == Some(flag.as_str()));
        if is_flag { format!("--{flag}") } else { format!("`{quoted}`") }
    };
    // What is quoted stands at the odd places.
    let parts = why.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { flag_of(part) } else { part.to_owned() }).collect()
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure { exit: Exit::Failed, reason: None, error: error.into() }
    }
}
