//! What the engine drives.

use std::borrow::Cow;
use std::future::Future;
use tpcc::{InputCounters, Transaction};

/// Makes the clients of a run. Shared by the workers.
pub trait Workload: Sync {
    type Client: Client;

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
    /// How often it was lost before: inputs go on and are not repeated (clause 2.4.1.4).
    pub losses: u32,
}

/// One connection's worth of work.
pub trait Client {
    /// Draws the next operation, which every try until the next call repeats.
    fn draw(&mut self) -> Transaction;

    /// Tries the drawn operation once.
    fn attempt(&mut self) -> impl Future<Output = Attempt>;

    /// Statements sent so far over this client.
    fn statements(&self) -> u64;

    /// Counts the drawn operation, which has ended well inside the window.
    fn count_inputs(&self, counters: &mut InputCounters);

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
