//! The five transactions of clauses 2.4 to 2.8 over a [`Session`], in style `statements`: one prepared statement per
//! round trip, as applications do.
//!
//! Every row that must exist is checked to exist (clause 2.3.6), every read that a write depends on is locked or the
//! write is relative, so that REPEATABLE READ gives the isolation of clause 3.4. Sessions run with autocommit off.

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod statements;
mod stock_level;

use crate::input::Input;
use base::{Answer, Row, Session, SessionError};
use statements::Statements;
use std::fmt;

/// Prepared statements that each terminal holds: what `max_prepared_stmt_count` must leave room for.
pub const PREPARED_STATEMENTS: u32 = Statements::COUNT;

/// How a transaction ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// The deliberate rollback of 1 % of the New-Orders (clause 2.4.1.4): work done, counted as throughput (5.4.2).
    RolledBack,
    /// A Delivery that committed and found so many of its ten districts without an open order (clause 2.7.4.2).
    Delivered {
        skipped_districts: u32,
    },
}

/// Why a transaction did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A statement failed before COMMIT was sent: nothing of the transaction stays.
    Statement(SessionError),
    /// The connection was lost while COMMIT was under way: the transaction may be there or not.
    InDoubt(SessionError),
    /// A row that the database must have is missing (clause 2.3.6); what was done has been rolled back.
    MissingRow(&'static str),
}

impl Failure {
    /// What an error of COMMIT means.
    pub(crate) fn of_commit(error: SessionError) -> Failure {
        match error.code() {
            // A kill or shutdown may have hit between the commit and its answer.
            None | Some(1053 | 1317 | 1927) => Failure::InDoubt(error),
            Some(_) => Failure::Statement(error),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Failure {
        Failure::Statement(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Statement(error) => error.fmt(f),
            Failure::InDoubt(error) => write!(f, "COMMIT without an answer: {error}"),
            Failure::MissingRow(what) => {
                write!(
                    f,
                    "no row for {what}; the database is not a whole TPC-C one: run `mydyno check`"
                )
            }
        }
    }
}

/// How the statements of a transaction travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// One prepared statement per round trip, as applications do.
    Statements,
    /// The same statements; those whose inputs are known travel together.
    Pipelined,
    /// As few statements as clause 2 needs, each on a set of rows; they travel together too.
    Batched,
    /// A stored procedure for each transaction.
    Procedures,
}

impl Style {
    pub const ALL: [Style; 4] = [
        Style::Statements,
        Style::Pipelined,
        Style::Batched,
        Style::Procedures,
    ];

    /// The name on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Style::Statements => "statements",
            Style::Pipelined => "pipelined",
            Style::Batched => "batched",
            Style::Procedures => "procedures",
        }
    }
}

/// A session that is ready for transactions.
pub struct Terminal<S> {
    session: S,
    statements: Statements,
    /// Text under construction: h_data, c_data.
    text: Vec<u8>,
}

impl<S: Session> Terminal<S> {
    /// Sets the session up and prepares its statements. Do this before the start barrier.
    ///
    /// # Errors
    /// Where the server refuses a statement; a missing table is error 1146.
    pub async fn open(mut session: S, style: Style) -> Result<Terminal<S>, SessionError> {
        session
            .query("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            .await?;
        // Strict: a value that does not fit is an error and not another value. The time-out is the server's largest.
        let set =
            "SET SESSION autocommit = 0, sql_mode = 'STRICT_TRANS_TABLES', wait_timeout = 2147483";
        session.query(set).await?;
        let statements = Statements::prepare(&mut session).await?;
        session.all_prepared().await?;
        session.set_pipelined(style != Style::Statements);
        Ok(Terminal {
            session,
            statements,
            text: Vec::with_capacity(1_024),
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

    /// Runs one transaction to its COMMIT or ROLLBACK. After a [`Failure::Statement`] of the server or a missing row,
    /// the transaction has been rolled back and the terminal is ready for the next try.
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
        match self.session.query("COMMIT").await {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::of_commit(error)),
        }
    }
}

/// The first row of an answer that must have one.
pub(crate) fn only_row<'a>(answer: &Answer<'a>, what: &'static str) -> Result<Row<'a>, Failure> {
    answer.row(0).ok_or(Failure::MissingRow(what))
}

/// A change that must have found its one row.
pub(crate) fn one_row(answer: &Answer<'_>, what: &'static str) -> Result<(), Failure> {
    if answer.affected_rows == 1 {
        Ok(())
    } else {
        Err(Failure::MissingRow(what))
    }
}

/// The row at position ceil(n/2), counted from 1, of the customers with one last name (clauses 2.5.2.2, 2.6.2.2).
pub(crate) fn middle_row<'a>(answer: &Answer<'a>) -> Result<Row<'a>, Failure> {
    let middle = answer.len().div_ceil(2);
    middle
        .checked_sub(1)
        .and_then(|index| answer.row(index))
        .ok_or(Failure::MissingRow("a customer with this last name"))
}

#[cfg(test)]
mod tests {
    use super::middle_row;
    use base::{Answer, Cell};

    #[test]
    fn the_middle_is_rounded_up_from_one() {
        for (rows, expected) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3)] {
            let cells: Vec<Cell> = (1..=rows).map(Cell::Int).collect();
            let answer = Answer {
                affected_rows: 0,
                width: 1,
                cells: &cells,
                bytes: &[],
                more: false,
            };
            assert_eq!(
                middle_row(&answer).unwrap().int(0).unwrap(),
                expected,
                "of {rows}"
            );
        }
        let none = Answer {
            affected_rows: 0,
            width: 1,
            cells: &[],
            bytes: &[],
            more: false,
        };
        assert!(middle_row(&none).is_err());
    }
}
