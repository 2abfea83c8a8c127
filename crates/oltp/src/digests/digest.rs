//! Digests as servers count them, what to make of them, and why that cannot be.

use base::{Exit, SessionError};

/// What to take.
#[derive(Clone, Copy, Debug)]
pub struct DigestOptions {
    /// Statements, the most frequent ones.
    pub top: usize,
    /// Rows of a table that is made up.
    pub rows_max: u64,
    /// Values of sampled statements.
    pub samples: bool,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum DigestError {
    #[error(
        "performance_schema is off on this server, and digests are in it; start the server with \
         performance_schema=ON and let the application run"
    )]
    Off,
    #[error(
        "performance_schema counts no digests, its consumer {consumer} is off; run UPDATE \
         performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = '{consumer}', and let \
         the application run"
    )]
    ConsumerOff { consumer: String },
    #[error(
        "this user may not read {what} ({error}); run GRANT SELECT ON performance_schema.* TO it, \
         and GRANT SELECT on the schema, or name another user"
    )]
    NoRights { what: String, error: SessionError },
    #[error(
        "no digest of schema {schema} is of a statement that a workload can run; let the \
         application run first, and mind that statements which the server prepares have no digests \
         before MySQL 9 ({executed} executions):\n{left_out}"
    )]
    NothingToRun { schema: String, executed: u64, left_out: String },
    #[error("reading {what} failed: {error}")]
    Failed { what: String, error: SessionError },
}

impl DigestError {
    /// What the shell is told.
    pub fn exit(&self) -> Exit {
        match self {
            DigestError::Failed { error: SessionError::Lost(_), .. } => Exit::ServerFailed,
            DigestError::Failed { .. } => Exit::Failed,
            DigestError::Off
            | DigestError::ConsumerOff { .. }
            | DigestError::NoRights { .. }
            | DigestError::NothingToRun { .. } => Exit::Environment,
        }
    }
}

/// A row of `events_statements_summary_by_digest`.
#[derive(Clone, Debug, Default)]
pub(super) struct Digest {
    pub(super) text: String,
    pub(super) calls: u64,
    pub(super) rows_affected: u64,
    pub(super) rows_sent: u64,
    pub(super) rows_examined: u64,
    /// A statement as it came, where it is asked for.
    pub(super) sample: Option<String>,
}
