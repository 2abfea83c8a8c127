//! The exit codes of the program: a documented interface for scripts.

/// Why the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done.
    Ok = 0,
    /// It failed for a reason that no other code names.
    Failed = 1,
    /// The command line asks for something that cannot be.
    Usage = 2,
    /// The plan file is invalid.
    PlanInvalid = 3,
    /// The machine, the target or the database is not fit for the request; the message names what.
    Environment = 4,
    /// The server died or failed while it was needed.
    ServerFailed = 5,
    /// A consistency check failed.
    CheckFailed = 6,
    /// A comparison found a regression, or a figure is beyond what `--fail-if` allows.
    Regression = 7,
    /// The user interrupted; what was measured until then is kept.
    Interrupted = 130,
}

impl Exit {
    const ALL: [Exit; 9] = [
        Exit::Ok,
        Exit::Failed,
        Exit::Usage,
        Exit::PlanInvalid,
        Exit::Environment,
        Exit::ServerFailed,
        Exit::CheckFailed,
        Exit::Regression,
        Exit::Interrupted,
    ];

    /// What another process ended with.
    pub fn of_code(code: u8) -> Exit {
        Exit::ALL.into_iter().find(|exit| exit.code() == code).unwrap_or(Exit::Failed)
    }

    /// The reason where no other is known, for programs. `docs/json.md` lists them.
    pub fn word(self) -> &'static str {
        match self {
            Exit::Ok => "ok",
            Exit::Failed => "failed",
            Exit::Usage => "usage",
            Exit::PlanInvalid => "plan_invalid",
            Exit::Environment => "environment",
            Exit::ServerFailed => "server_failed",
            Exit::CheckFailed => "check_failed",
            Exit::Regression => "regression",
            Exit::Interrupted => "interrupted",
        }
    }

    /// The same in words, where a command has told why by what it found.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Ok => "everything asked for was done",
            Exit::Failed => "a part of what was asked for failed",
            Exit::Usage => "the command line asks for something that cannot be",
            Exit::PlanInvalid => "the plan is invalid",
            Exit::Environment => "the machine, the target or the database is not fit for this",
            Exit::ServerFailed => "the server died or failed",
            Exit::CheckFailed => "a check failed",
            Exit::Regression => "there is a regression",
            Exit::Interrupted => "interrupted; what was measured until then is kept",
        }
    }

    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }
}
