//! The tests of clause 3: atomicity (3.2), isolation (3.4) and durability (3.5), by the
//! transactions of style `statements` as a run sends them. Consistency (3.3) is what
//! [`crate::checks`] proves.
//!
//! A test opens its own sessions, lets one of them stop in its transaction (`halting`) and another
//! one go on, and tells what each has read. Whether a session waits is the server's word
//! (`actor`), not a matter of time.

mod actor;
mod atomicity;
mod durability;
mod fixture;
mod halting;
mod isolation;

pub use durability::{order_until_lost, what_survived};

use crate::transactions::TransactionError;
use actor::End;
use base::{Connect, Random, SessionError, WarehouseRange};
use fixture::Fixture;
use spec::Isolation;

/// What a transaction saw or did that it must not (clauses 3.2.1, 3.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phenomenon {
    /// A part of a transaction stayed, or a part was missing.
    Part,
    /// What another transaction had not committed was read.
    DirtyRead,
    /// A row had another value when it was read again.
    NonRepeatableRead,
    /// A row came up when the same rows were read again.
    Phantom,
    /// A change was overwritten by one that did not know of it.
    LostUpdate,
    /// What was acknowledged is not there.
    LostCommit,
}

impl Phenomenon {
    /// The name in results and for people.
    pub const fn name(self) -> &'static str {
        match self {
            Phenomenon::Part => "part of a transaction",
            Phenomenon::DirtyRead => "dirty read",
            Phenomenon::NonRepeatableRead => "non-repeatable read",
            Phenomenon::Phantom => "phantom",
            Phenomenon::LostUpdate => "lost update",
            Phenomenon::LostCommit => "lost commit",
        }
    }
}

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcidVerdict {
    Passed,
    Failed,
    NotTested,
}

impl AcidVerdict {
    /// The name in results and for people.
    pub const fn name(self) -> &'static str {
        match self {
            AcidVerdict::Passed => "passed",
            AcidVerdict::Failed => "failed",
            AcidVerdict::NotTested => "not tested",
        }
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
    fn forbid(&mut self, is_so: bool, phenomenon: Phenomenon) {
        if is_so {
            self.phenomenon = self.phenomenon.or(Some(phenomenon));
        }
    }

    /// The finding of the test in which this was seen.
    pub fn finding(self, test: AcidTest, isolation: Isolation) -> AcidFinding {
        let verdict = match self.phenomenon {
            None => AcidVerdict::Passed,
            Some(_) => AcidVerdict::Failed,
        };
        let Seen { phenomenon, evidence } = self;
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
    #[error("{0}")]
    Transaction(TransactionError),
    /// Bounded, because it should be seen at once.
    #[error(
        "a transaction neither ended nor waited for a lock, by the server's word, for 30 s; is the \
         server overloaded?"
    )]
    Undecided,
    #[error("a transaction did not send the statement after which it was to stop")]
    NotHalted,
}

impl From<TransactionError> for AcidError {
    fn from(error: TransactionError) -> AcidError {
        AcidError::Transaction(error)
    }
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

/// D1, which needs a server that may be killed; see [`order_until_lost`] and [`what_survived`].
pub const DURABILITY: AcidTest = AcidTest {
    name: "D1",
    title: "after a kill -9 under load every acknowledged order is there",
    clause: "3.5.3.2",
};

/// The tests that [`run_acid_tests`] runs.
pub const ACID_TESTS: [AcidTest; 11] = [
    atomicity::COMMITTED,
    atomicity::ROLLED_BACK,
    isolation::I1,
    isolation::I2,
    isolation::I3,
    isolation::I4,
    isolation::I5,
    isolation::I6,
    isolation::I7,
    isolation::I8,
    isolation::I9,
];

/// Runs the tests of atomicity and isolation at a level, on rows of a warehouse of `range` that
/// `random` names. Nobody else may change the database meanwhile, and transactions are left in it
/// as a run leaves them: all checks hold before and after. `progress` hears of each test that
/// begins.
///
/// # Errors
/// Where the server is lost. What it refuses fails the test, with its words as evidence.
pub async fn run_acid_tests<C: Connect>(
    connect: &C,
    (range, random): (WarehouseRange, Random),
    isolation: Isolation,
    progress: &mut dyn FnMut(AcidTest),
) -> Result<Vec<AcidFinding>, AcidError> {
    let mut fixture = Fixture::open(connect, (range, random), isolation).await?;
    let mut findings = Vec::new();
    for test in ACID_TESTS {
        progress(test);
        findings.push(match run_test(&mut fixture, test).await {
            Ok(seen) => seen.finding(test, isolation),
            Err(error) if error.is_loss() => return Err(error),
            Err(error) => AcidFinding {
                verdict: AcidVerdict::Failed,
                ..Seen { phenomenon: None, evidence: vec![error.to_string()] }
                    .finding(test, isolation)
            },
        });
    }
    fixture.close().await;
    Ok(findings)
}

async fn run_test<C: Connect>(
    fixture: &mut Fixture<'_, C>,
    test: AcidTest,
) -> Result<Seen, AcidError> {
    match test {
        atomicity::COMMITTED => atomicity::committed(fixture).await,
        atomicity::ROLLED_BACK => atomicity::rolled_back(fixture).await,
        isolation::I1 => isolation::read_while_ordering(fixture).await,
        isolation::I2 => isolation::read_what_is_rolled_back(fixture).await,
        isolation::I3 => isolation::two_orders(fixture).await,
        isolation::I4 => isolation::order_beside_a_rollback(fixture).await,
        isolation::I5 => isolation::pay_beside_a_delivery(fixture, End::Commit).await,
        isolation::I6 => isolation::pay_beside_a_delivery(fixture, End::Rollback).await,
        isolation::I7 => isolation::prices_twice(fixture).await,
        isolation::I8 => isolation::open_orders_twice(fixture).await,
        _ => isolation::last_order_twice(fixture).await,
    }
}
