//! Workload `tpcc-mysql`: the statement sequence of Percona's tpcc-mysql (commit 1ec1c5e), for numbers that compare with
//! published ones.
//!
//! Number, kind and order of statements are that tool's, one prepared statement per round trip, and so is the session:
//! autocommit off, the server's isolation level and SQL mode. What it does otherwise than the clauses of TPC-C is kept
//! where it is the load, and fixed where it makes a run unrepeatable or a database inconsistent beyond what is said here:
//! [`DEVIATIONS`] decides one by one.

mod delivery;
mod deviations;
mod inputs;
mod new_order;
mod order_status;
mod payment;
mod statements;
mod stock_level;
#[cfg(test)]
mod tests;

pub use deviations::{DEVIATIONS, Decision, Deviation, FAILING_CHECKS};
pub use inputs::Inputs;

use crate::input::Input;
use crate::transactions::{Failure, Outcome};
use base::{Session, SessionError};
use delivery::Progress;
use statements::Statements;

/// Prepared statements that each terminal holds: what `max_prepared_stmt_count` must leave room for.
pub const PREPARED_STATEMENTS: u32 = Statements::COUNT;

/// A session that is ready for transactions.
pub struct Terminal<S> {
    session: S,
    statements: Statements,
    progress: Progress,
    /// Text under construction: h_data, c_data, ol_dist_info.
    text: Vec<u8>,
    /// Items of a Stock-Level.
    items: Vec<i64>,
}

impl<S: Session> Terminal<S> {
    /// Sets the session up and prepares its statements. Do this before the start barrier.
    ///
    /// # Errors
    /// Where the server refuses a statement; a missing table is error 1146.
    pub async fn open(mut session: S) -> Result<Terminal<S>, SessionError> {
        session.query("SET SESSION autocommit = 0").await?;
        let statements = Statements::prepare(&mut session).await?;
        session.all_prepared().await?;
        Ok(Terminal {
            session,
            statements,
            progress: Progress::default(),
            text: Vec::with_capacity(1_024),
            items: Vec::with_capacity(300),
        })
    }

    /// The session, to close it.
    pub fn into_session(self) -> S {
        self.session
    }

    /// Commands sent so far.
    pub fn statements(&self) -> u64 {
        self.session.statements()
    }

    /// What is run next is a fresh input, and no new try of the last one.
    pub fn begin(&mut self) {
        self.progress = Progress::default();
    }

    /// Runs one transaction to its COMMIT or ROLLBACK. After a [`Failure::Statement`] of the server or a missing row,
    /// what was not committed has been rolled back and the terminal is ready for the next try.
    ///
    /// # Errors
    /// Any [`Failure`].
    pub async fn run(&mut self, input: &Input) -> Result<Outcome, Failure> {
        let result = match input {
            Input::NewOrder(order) => self.new_order(order).await,
            Input::Payment(payment) => self.payment(payment).await,
            Input::OrderStatus(status) => self.order_status(status).await,
            Input::Delivery(delivery) => self.delivery(delivery).await,
            Input::StockLevel(level) => self.stock_level(level).await,
        };
        match result {
            Err(
                failure
                @ (Failure::Statement(SessionError::Server { .. }) | Failure::MissingRow(_)),
            ) => {
                // A deadlock has ended the transaction already, where ROLLBACK is harmless.
                self.session.query("ROLLBACK").await?;
                Err(failure)
            }
            other => other,
        }
    }

    async fn commit(&mut self) -> Result<(), Failure> {
        let answer = self.session.query("COMMIT").await;
        answer.map(drop).map_err(Failure::of_commit)
    }
}
