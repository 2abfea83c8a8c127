//! How a transaction ends.

use base::SessionError;
use drive::{leaves_in_doubt, needs_prepare};

/// How a transaction ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// The deliberate rollback of 1 % of the New-Orders (clause 2.4.1.4): work done, counted as
    /// throughput (5.4.2).
    RolledBack,
    /// A Delivery that committed and found so many of its ten districts without an open order
    /// (clause 2.7.4.2).
    Delivered {
        skipped_districts: u32,
    },
    /// A New-Order that committed as this order of its district.
    Ordered(u32),
    /// An Order-Status that found this to be the customer's last order.
    LastOrder {
        customer: u32,
        order: u32,
    },
    /// A Stock-Level that found all orders of the district to be below this one.
    OrdersBelow(u32),
}

/// Why a transaction did not end well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransactionError {
    /// A statement failed before COMMIT was sent: nothing of the transaction stays.
    #[error(transparent)]
    Statement(#[from] SessionError),
    /// The connection was lost while COMMIT was under way: the transaction may be there or not.
    #[error("COMMIT without an answer: {0}")]
    InDoubt(SessionError),
    /// A row that the database must have is missing (clause 2.3.6); what was done has been rolled
    /// back.
    #[error("no row for {0}; the database is not a whole TPC-C one: run `mydyno check`")]
    MissingRow(&'static str),
}

/// What a step of a transaction gives.
pub(crate) type StepResult<T = ()> = Result<T, TransactionError>;

impl TransactionError {
    /// What an error of COMMIT means.
    pub(crate) fn of_commit(error: SessionError) -> TransactionError {
        if leaves_in_doubt(&error) {
            TransactionError::InDoubt(error)
        } else {
            TransactionError::Statement(error)
        }
    }

    /// The same of a statement that commits.
    pub(crate) fn in_commit(self) -> TransactionError {
        match self {
            TransactionError::Statement(error) => TransactionError::of_commit(error),
            other => other,
        }
    }

    /// Is the session ready to roll back what was done?
    pub(crate) fn is_to_roll_back(&self) -> bool {
        matches!(
            self,
            TransactionError::Statement(SessionError::Server { .. })
                | TransactionError::MissingRow(_)
        )
    }

    /// ER_NEED_REPREPARE: the server gave up making its statement anew; the client has to.
    pub(crate) fn needs_prepare(&self) -> bool {
        matches!(self, TransactionError::Statement(error) if needs_prepare(error))
    }
}
