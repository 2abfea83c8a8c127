//! What a test of clause 3 is, and what it may find.

use crate::transactions::TransactionError;
use base::{SessionError, named};
use spec::Isolation;

pub type AcidResult<T> = Result<T, AcidError>;

named! {
    /// What a transaction saw or did that it must not (clauses 3.2.1, 3.4.1).
    pub enum Phenomenon {
        /// A part of a transaction stayed, or a part was missing.
        Part = "part of a transaction",
        /// What another transaction had not committed was read.
        DirtyRead = "dirty read",
        /// A row had another value when it was read again.
        NonRepeatableRead = "non-repeatable read",
        /// A row came up when the same rows were read again.
        Phantom = "phantom",
        /// A change was overwritten by one that did not know of it.
        LostUpdate = "lost update",
        /// What was acknowledged is not there.
        LostCommit = "lost commit",
    }
}

named! {
    /// What became of a test.
    pub enum AcidVerdict {
        Passed = "passed",
        Failed = "failed",
        NotTested = "not tested",
    }
}

/// A test of clause 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcidTest {
    /// A1 and A2 are of atomicity, I1..I9 the isolation tests 1 to 9, D1 is of durability.
    pub name: &'static str,
    /// What must hold.
    pub title: &'static str,
    pub clause: &'static str,
}

/// What a test found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcidFinding {
    pub test: AcidTest,
    /// The level of the transactions.
    pub isolation: Isolation,
    pub verdict: AcidVerdict,
    /// What went wrong, where that has a name.
    pub phenomenon: Option<Phenomenon>,
    /// What was read and done, in order.
    pub evidence: Vec<String>,
}

/// What was seen in a test: what was read, in order, and what must not be.
#[derive(Debug, Default)]
pub struct Seen {
    phenomenon: Option<Phenomenon>,
    evidence: Vec<String>,
}

impl Seen {
    /// Adds what was read.
    pub fn saw(&mut self, what: String) {
        self.evidence.push(what);
    }

    /// Adds a phenomenon, where it is so; the first one names the failure.
    pub(super) fn forbid(&mut self, is_so: bool, phenomenon: Phenomenon) {
        if is_so {
            self.phenomenon = self.phenomenon.or(Some(phenomenon));
        }
    }

    /// The finding of the test in which this was seen.
    pub fn finding(self, test: AcidTest, isolation: Isolation) -> AcidFinding {
        let Seen { phenomenon, evidence } = self;
        let verdict = phenomenon.map_or(AcidVerdict::Passed, |_| AcidVerdict::Failed);
        AcidFinding { test, isolation, verdict, phenomenon, evidence }
    }
}

/// Why a test came to no verdict.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AcidError {
    #[error("no connection: {0}")]
    Connect(String),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// Bounded, because it should be seen at once.
    #[error(
        "a transaction neither ended nor waited for a lock, by the server's word, for 30 s; is the \
         server overloaded?"
    )]
    Undecided,
    #[error("a transaction did not send the statement after which it was to stop")]
    NotHalted,
}

impl AcidError {
    /// Is the server to be reached no more?
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            AcidError::Connect(_)
                | AcidError::Session(SessionError::Lost(_))
                | AcidError::Transaction(
                    TransactionError::Statement(SessionError::Lost(_))
                        | TransactionError::InDoubt(_)
                )
        )
    }
}
