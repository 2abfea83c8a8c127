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
    /// A comparison found a regression.
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

    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }
}
