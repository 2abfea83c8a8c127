//! What the engine drives: a workload, with its types of transactions by number.

use crate::merge::Merge;
use crate::timed::StatementTimes;
use base::limits::{TRANSACTION_TYPES_MAX, WORKLOAD_COUNTERS_MAX};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::future::Future;

/// A type of transactions: its place in [`Workload::transactions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionType(pub u8);

impl TransactionType {
    /// The place in lists by type.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What the engine knows of a type of transactions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransactionInfo {
    /// The name in results.
    pub name: &'static str,
    /// Transactions of this type are the workload's throughput; the others are done beside them.
    pub is_primary: bool,
    /// Terminals do not wait for the answer, and connections do these last.
    pub is_deferred: bool,
    /// Of the transactions that are dealt.
    pub share: f64,
    /// Bytes of rows that one changes, as long as rows typically are; 0 where it only reads, `None`
    /// where nobody knows.
    pub row_bytes: Option<u64>,
}

/// One value for each type, in the workload's order; the rest stays at its default.
pub type PerType<T> = [T; TRANSACTION_TYPES_MAX];

/// The values of the first types; those of the others are the default.
pub fn per_type<T: Default, const N: usize>(first: [T; N]) -> PerType<T> {
    let mut first = first.into_iter();
    std::array::from_fn(|_| first.next().unwrap_or_default())
}

/// What a workload counts besides what every workload has. The workload alone knows what each
/// number means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadCounters(pub [u64; WORKLOAD_COUNTERS_MAX]);

impl Merge for WorkloadCounters {
    #[inline]
    fn merge(&mut self, other: &WorkloadCounters) {
        self.0.merge(&other.0);
    }
}

/// Makes the sources and clients of a run. Shared by the workers.
pub trait Workload: Sync {
    /// The input of one transaction. A retry uses it again unchanged.
    type Operation;
    type Source: Source<Operation = Self::Operation>;
    type Client: Client<Operation = Self::Operation>;

    /// The types of its transactions; at most [`TRANSACTION_TYPES_MAX`].
    fn transactions(&self) -> &'static [TransactionInfo];

    /// What decides the transactions of one connection or, where there are terminals, of one
    /// terminal; from 0.
    fn source(&self, of: u32) -> Self::Source;

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
    /// How often it has been opened before, in vain or not.
    pub earlier: u32,
}

/// Decides what comes next. It outlives the connections that its transactions run on, so no input
/// comes twice (clause 2.4.1.4).
pub trait Source {
    type Operation;

    /// The type of the next transaction.
    fn deal(&mut self) -> TransactionType;

    /// Fresh input for a transaction of this type.
    fn draw(&mut self, transaction: TransactionType) -> Self::Operation;
}

/// A connection, on which transactions are tried.
pub trait Client {
    type Operation;

    /// Which of several servers it writes to, from 0.
    fn server(&self) -> usize {
        0
    }

    /// What is tried next is a fresh operation, and no new try of the last one.
    fn begin(&mut self) {}

    /// Tries an operation once.
    fn attempt(&mut self, operation: &Self::Operation) -> impl Future<Output = Attempt>;

    /// Statements sent so far over this client.
    fn statements(&self) -> u64;

    /// Has the other end closed the connection while it was idle? Nothing is lost by that.
    fn is_closed(&self) -> bool {
        false
    }

    /// How long each statement since [`Client::begin`] took, of all tries; none where the client
    /// does not measure it.
    fn statement_times(&self) -> StatementTimes<'_> {
        StatementTimes::default()
    }

    /// Adds the operation tried last, which has ended well or is in doubt, to what the workload
    /// counts.
    fn count(&self, _operation: &Self::Operation, _counters: &mut WorkloadCounters) {}

    /// Asks the server whether it takes writes, where it refused them before.
    ///
    /// # Errors
    /// Why it does not.
    fn takes_writes(&mut self) -> impl Future<Output = Result<(), Failed>> {
        std::future::ready(Ok(()))
    }

    /// Ends the connection in good order.
    fn close(self) -> impl Future<Output = ()>;
}

/// How one try ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    Committed,
    /// Rolled back on purpose, as clause 2.4.1.4 of TPC-C has it.
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
    /// The server takes no writes any more. Another may have its place, so the connection is opened
    /// again.
    NoWrites,
    /// The connection is gone. `in_doubt`: while COMMIT was under way.
    Lost {
        in_doubt: bool,
    },
}
