//! The five transactions of clauses 2.4 to 2.8 over a [`Session`], in four styles.
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
mod outcome;
pub mod procedures;
mod rules;
mod sets;
mod single;
pub(crate) mod sql;

use crate::input::Input;
pub(crate) use across::{Across, AcrossOptions};
use base::{Session, SessionError};
use drive::set_isolation;
pub(crate) use outcome::commit;
pub use outcome::{Outcome, TransactionError};
pub(crate) use rules::{PriceRates, middle_row, one_row, only_row};

use procedures::Procedures;
use sets::Sets;
use single::Single;
use spec::{Isolation, Style};

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
    style: Style,
    statements: StyleStatements,
}

/// The prepared statements of a style, and how they make transactions.
enum StyleStatements {
    Single(Single),
    Sets(Sets),
    Procedures(Procedures),
}

impl StyleStatements {
    async fn prepare<S: Session>(
        session: &mut S,
        style: Style,
    ) -> Result<StyleStatements, SessionError> {
        let statements = match style {
            Style::Statements | Style::Pipelined => {
                StyleStatements::Single(Single::prepare(session).await?)
            }
            Style::Batched => StyleStatements::Sets(Sets::prepare(session).await?),
            Style::Procedures => StyleStatements::Procedures(Procedures::prepare(session).await?),
        };
        // What a CALL will return is not known when it is prepared.
        if style != Style::Procedures {
            session.all_prepared().await?;
        }
        Ok(statements)
    }
}

impl<S: Session> PreparedSession<S> {
    /// Sets the session up and prepares its statements. Do this before the start barrier.
    ///
    /// # Errors
    /// Where the server refuses a statement; a missing table is error 1146.
    pub async fn open(
        mut session: S,
        style: Style,
        isolation: Isolation,
    ) -> Result<PreparedSession<S>, SessionError> {
        set_isolation(&mut session, isolation).await?;
        // Strict: a value that does not fit is an error and not another value. The time-out is the
        // server's largest.
        let set =
            "SET SESSION autocommit = 0, sql_mode = 'STRICT_TRANS_TABLES', wait_timeout = 2147483";
        session.query(set).await?;
        let statements = StyleStatements::prepare(&mut session, style).await?;
        session.set_pipelined(matches!(style, Style::Pipelined | Style::Batched));
        Ok(PreparedSession { session, style, statements })
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

    /// Prepares all statements again, of which the server has given one up.
    async fn prepare_anew(&mut self) -> Result<(), SessionError> {
        self.session.forget_prepared().await?;
        self.statements = StyleStatements::prepare(&mut self.session, self.style).await?;
        Ok(())
    }

    /// The session with the statements of styles `statements` and `pipelined`.
    fn single(&mut self) -> Result<(&mut S, &mut Single), SessionError> {
        match &mut self.statements {
            StyleStatements::Single(single) => Ok((&mut self.session, single)),
            StyleStatements::Sets(_) | StyleStatements::Procedures(_) => {
                let style = self.style.name();
                Err(SessionError::Unexpected(format!("style {style} has no statements for XA")))
            }
        }
    }

    /// Runs one transaction to its COMMIT or ROLLBACK. After a [`TransactionError::Statement`] of
    /// the server or a missing row, the transaction has been rolled back and the session is ready
    /// for the next try.
    ///
    /// # Errors
    /// Any [`TransactionError`].
    pub async fn run(&mut self, input: &Input) -> Result<Outcome, TransactionError> {
        let session = &mut self.session;
        let result = match &mut self.statements {
            StyleStatements::Single(single) => single.run(session, input).await,
            StyleStatements::Sets(sets) => sets.run(session, input).await,
            StyleStatements::Procedures(procedures) => procedures.run(session, input).await,
        };
        match result {
            Err(failure) if failure.is_to_roll_back() => {
                self.session.discard().await?;
                // A deadlock has ended the transaction already, but what was sent behind it began
                // another.
                self.session.query("ROLLBACK").await?;
                if failure.needs_prepare() {
                    self.prepare_anew().await?;
                }
                Err(failure)
            }
            other => other,
        }
    }
}
