//! What the engine drives.

use crate::timed::StatementTimes;
use std::borrow::Cow;
use std::future::Future;
use tpcc::{InputCounters, Transaction};

/// Makes the sources and clients of a run. Shared by the workers.
pub trait Workload: Sync {
    /// The input of one transaction. A retry uses it again unchanged.
    type Operation;
    type Source: Source<Operation = Self::Operation>;
    type Client: Client<Operation = Self::Operation>;

    /// What decides the transactions of one connection or, where there are terminals, of one terminal; from 0.
    fn source(&self, of: u32) -> Self::Source;

    /// Which of several databases a connection works on, from 0.
    fn database(&self, _connection: u32) -> usize {
        0
    }

    /// Opens what a connection runs on, ready to start. Called again after a loss.
    ///
    /// # Errors
    /// Why it cannot be opened; [`FailureKind::Lost`] where a later call may succeed.
    fn open(&self, which: Opening) -> impl Future<Output = Result<Self::Client, Failed>>;
}

/// Which connection is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// From 0.
    pub connection: u32,
}

/// Decides what comes next. It outlives the connections that its transactions run on, so no input comes twice (clause
/// 2.4.1.4).
pub trait Source {
    type Operation;

    /// The type of the next transaction.
    fn deal(&mut self) -> Transaction;

    /// Fresh input for a transaction of this type.
    fn draw(&mut self, transaction: Transaction) -> Self::Operation;
}

/// A connection, on which transactions are tried.
pub trait Client {
    type Operation;

    /// What is tried next is a fresh operation, and no new try of the last one.
    fn begin(&mut self) {}

    /// Tries an operation once.
    fn attempt(&mut self, operation: &Self::Operation) -> impl Future<Output = Attempt>;

    /// Statements sent so far over this client.
    fn statements(&self) -> u64;

    /// How long each statement since [`Client::begin`] took, of all tries; none where the client
    /// does not measure it.
    fn statement_times(&self) -> StatementTimes<'_> {
        StatementTimes::default()
    }

    /// Counts the operation tried last, which has ended well or is in doubt.
    fn count_inputs(&self, operation: &Self::Operation, counters: &mut InputCounters);

    /// Ends the connection in good order.
    fn close(self) -> impl Future<Output = ()>;
}

/// How one try ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    Committed,
    /// The deliberate rollback of clause 2.4.1.4.
    RolledBack,
    Failed(Failed),
}

/// A try that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    pub kind: FailureKind,
    /// The server's error number as text, or a word such as `lost`.
    pub code: Cow<'static, str>,
    pub message: String,
}

/// What a failed try means for the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    Deadlock,
    LockWaitTimeout,
    /// Another conflict that a new try may win.
    Conflict,
    /// Trying again is useless: the transaction is an error.
    Fatal,
    /// The connection is gone. `in_doubt`: while COMMIT was under way.
    Lost {
        in_doubt: bool,
    },
}
