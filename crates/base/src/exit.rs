//! The exit codes of the program: a documented interface for scripts.

/// Defines the codes: each with its number, its word for programs and its meaning for people.
macro_rules! exits {
    ($($(#[$doc:meta])* $exit:ident = $code:literal, $word:literal, $meaning:literal;)+) => {
        /// Why the program ended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Exit { $($(#[$doc])* $exit = $code,)+ }

        impl Exit {
            /// What another process ended with.
            pub fn of_code(code: u8) -> Exit {
                match code {
                    $($code => Exit::$exit,)+
                    _ => Exit::Failed,
                }
            }

            /// The reason where no other is known, for programs. `docs/json.md` lists them.
            pub fn word(self) -> &'static str {
                match self { $(Exit::$exit => $word,)+ }
            }

            /// The same in words, where a command has told why by what it found.
            pub fn meaning(self) -> &'static str {
                match self { $(Exit::$exit => $meaning,)+ }
            }
        }
    };
}

exits! {
    /// Everything asked for was done.
    Ok = 0, "ok", "everything asked for was done";
    /// It failed for a reason that no other code names.
    Failed = 1, "failed", "a part of what was asked for failed";
    /// The command line asks for something that cannot be.
    Usage = 2, "usage", "the command line asks for something that cannot be";
    /// The plan file is invalid.
    PlanInvalid = 3, "plan_invalid", "the plan is invalid";
    /// The machine, the target or the database is not fit for the request; the message names what.
    Environment = 4, "environment",
        "the machine, the target or the database is not fit for this";
    /// The server died or failed while it was needed.
    ServerFailed = 5, "server_failed", "the server died or failed";
    /// A consistency check failed.
    CheckFailed = 6, "check_failed", "a check failed";
    /// A comparison found a regression, or a figure is beyond what `--fail-if` allows.
    Regression = 7, "regression", "there is a regression";
    /// The user interrupted; what was measured until then is kept.
    Interrupted = 130, "interrupted", "interrupted; what was measured until then is kept";
}

impl Exit {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }
}
