//! The five transactions of clauses 2.4 to 2.8 over a [`Session`], in four styles
//! and as tpcc-mysql has them.
//!
//! `single` has one statement for each thing that is done, for styles `statements` and `pipelined`:
//! what they send is the same, and the session's mode says how much of it travels together. `sets`
//! has as few statements as possible for `batched`, `procedures` calls stored ones.
//!
//! A transaction asks in waves: it queues all statements whose inputs are known, then reads the
//! answers in order. COMMIT is queued when every answer has been read, so nothing that may fail is
//! under way together with it: after a deadlock the server has begun a new transaction for the rest
//! of the wave, which must not be committed. After any failure the rest is discarded, and ROLLBACK
//! comes before anything else.
//!
//! Every row that must exist is checked to exist (clause 2.3.6), every read that a write depends on
//! is locked or the write is relative, so that REPEATABLE READ gives the isolation of clause 3.4.
//! Sessions run with autocommit off.

mod across;
mod on_session;
mod outcome;
pub mod procedures;
mod rules;
mod sets;
mod single;
pub(crate) mod sql;
pub mod tpcc_mysql;

use crate::input::Input;
pub(crate) use across::Across;
use base::{Session, SessionError, SessionResult};
use drive::set_isolation;
pub use outcome::{Outcome, TransactionError};
pub(crate) use rules::{only_row, require};

use on_session::OnSession;
use procedures::Procedures;
use sets::Sets;
use single::Single;
use spec::{Isolation, Style};
use tpcc_mysql::{DeliveryProgress, TpccMysql};

/// Which statements the transactions send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementSet {
    /// Those of clause 2.
    Clauses { style: Style, isolation: Isolation },
    /// Those of tpcc-mysql, at the server's own level where none is named.
    TpccMysql { isolation: Option<Isolation> },
}

/// Statements of a style that each terminal holds prepared: what `max_prepared_stmt_count` must
/// leave room for.
pub fn prepared_statements(style: Style) -> u32 {
    match style {
        Style::Statements | Style::Pipelined => Single::PREPARED,
        Style::Batched => Sets::PREPARED,
        Style::Procedures => Procedures::PREPARED,
    }
}

/// A session that is ready for transactions.
pub struct PreparedSession<S> {
    session: S,
    set: StatementSet,
    statements: Statements,
}

/// The prepared statements of a set, and how they make transactions.
enum Statements {
    Single(Single),
    Sets(Sets),
    Procedures(Procedures),
    TpccMysql(TpccMysql),
}

impl Statements {
    async fn prepare<S: Session>(session: &mut S, set: StatementSet) -> SessionResult<Statements> {
        let statements = match set {
            StatementSet::Clauses { style: Style::Statements | Style::Pipelined, .. } => {
                Statements::Single(Single::prepare(session).await?)
            }
            StatementSet::Clauses { style: Style::Batched, .. } => {
                Statements::Sets(Sets::prepare(session).await?)
            }
            StatementSet::Clauses { style: Style::Procedures, .. } => {
                Statements::Procedures(Procedures::prepare(session).await?)
            }
            StatementSet::TpccMysql { .. } => {
                Statements::TpccMysql(TpccMysql::prepare(session).await?)
            }
        };
        session.all_prepared().await?;
        Ok(statements)
    }
}

impl<S: Session> PreparedSession<S> {
    /// Sets the session up and prepares its statements. Do this before the start barrier.
    ///
    /// # Errors
    /// Where the server refuses a statement; a missing table is error 1146.
    pub async fn open(mut session: S, set: StatementSet) -> SessionResult<PreparedSession<S>> {
        // latin1 is the character set of the tables, so that neither side converts.
        let (isolation, set_up) = match set {
            StatementSet::Clauses { isolation, .. } => {
                (Some(isolation), "SET NAMES latin1, autocommit = 0")
            }
            StatementSet::TpccMysql { isolation } => {
                (isolation, "SET NAMES latin1, autocommit = 0, sql_mode = DEFAULT")
            }
        };
        if let Some(isolation) = isolation {
            set_isolation(&mut session, isolation).await?;
        }
        session.query(set_up).await?;
        let statements = Statements::prepare(&mut session, set).await?;
        session.set_pipelined(matches!(
            set,
            StatementSet::Clauses { style: Style::Pipelined | Style::Batched, .. }
        ));
        Ok(PreparedSession { session, set, statements })
    }

    /// The session, to close it.
    pub fn into_session(self) -> S {
        self.session
    }

    /// The session, for what it knows beside answers.
    pub fn session(&self) -> &S {
        &self.session
    }

    /// The session, between two transactions.
    pub fn session_mut(&mut self) -> &mut S {
        &mut self.session
    }

    /// What is run next is a fresh input, and no new try of the last one.
    pub fn begin(&mut self) {
        if let Statements::TpccMysql(statements) = &mut self.statements {
            statements.progress = DeliveryProgress::default();
        }
    }

    /// Prepares all statements again, of which the server has given one up.
    async fn prepare_anew(&mut self) -> SessionResult<()> {
        self.session.forget_prepared().await?;
        let mut statements = Statements::prepare(&mut self.session, self.set).await?;
        // The next try goes on where this one failed.
        if let (Statements::TpccMysql(new), Statements::TpccMysql(old)) =
            (&mut statements, &self.statements)
        {
            new.progress = old.progress;
        }
        self.statements = statements;
        Ok(())
    }

    /// The session with the statements of styles `statements` and `pipelined`.
    fn single(&mut self) -> SessionResult<OnSession<'_, S, Single>> {
        let style = match self.set {
            StatementSet::Clauses { style, .. } => style.name(),
            StatementSet::TpccMysql { .. } => "tpcc-mysql",
        };
        match &mut self.statements {
            Statements::Single(set) => Ok(OnSession { session: &mut self.session, set }),
            _ => Err(SessionError::Unexpected(format!("style {style} has no statements for XA"))),
        }
    }

    /// Runs one transaction to its COMMIT or ROLLBACK. After a [`TransactionError::Statement`] of
    /// the server or a missing row, what was not committed has been rolled back and the session is
    /// ready for the next try.
    ///
    /// # Errors
    /// Any [`TransactionError`].
    pub async fn run(&mut self, input: &Input) -> Result<Outcome, TransactionError> {
        let session = &mut self.session;
        /// The transaction of a set that the input is for.
        macro_rules! run {
            ($set:ident) => {{
                let mut on = OnSession { session, set: $set };
                match input {
                    Input::NewOrder(order) => on.new_order(order).await,
                    Input::Payment(payment) => on.payment(payment).await,
                    Input::OrderStatus(status) => on.order_status(status).await,
                    Input::Delivery(delivery) => on.delivery(delivery).await,
                    Input::StockLevel(level) => on.stock_level(level).await,
                }
            }};
        }
        let result = match &mut self.statements {
            Statements::Single(single) => run!(single),
            Statements::Sets(sets) => run!(sets),
            // The procedure commits: a connection that is lost meanwhile leaves that open.
            Statements::Procedures(procedures) => {
                run!(procedures).map_err(TransactionError::in_commit)
            }
            Statements::TpccMysql(tpcc_mysql) => run!(tpcc_mysql),
        };
        if result.as_ref().is_err_and(TransactionError::is_to_roll_back) {
            self.session.discard().await?;
            // A deadlock has ended the transaction already, but what was sent behind it began
            // another.
            self.session.query("ROLLBACK").await?;
        }
        if result.as_ref().is_err_and(TransactionError::needs_prepare) {
            self.prepare_anew().await?;
        }
        result
    }
}

#[cfg(test)]
pub(crate) mod tests;
