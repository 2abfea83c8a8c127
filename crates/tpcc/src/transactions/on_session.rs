//! Statements on the session that they are prepared on.

use super::outcome::{Outcome, StepResult, TransactionError};
use super::rules::{only_row, require};
use base::{Param, Row, Session, StatementId};

/// The statements of a set, on the session that they are prepared on.
pub(crate) struct OnSession<'a, S, T> {
    pub(super) session: &'a mut S,
    pub(super) set: &'a mut T,
}

impl<S: Session, T> OnSession<'_, S, T> {
    /// Queues a statement.
    #[inline]
    pub(super) fn ask(&mut self, statement: StatementId, params: &[Param<'_>]) -> StepResult {
        Ok(self.session.queue(statement, params)?)
    }

    /// Sends a statement and reads the first row of its answer, which must have one.
    pub(super) async fn row(
        &mut self,
        statement: StatementId,
        params: &[Param<'_>],
        what: &'static str,
    ) -> StepResult<Row<'_>> {
        only_row(&self.session.execute(statement, params).await?, what)
    }

    /// Reads the first row of the next answer, which must have one.
    #[inline]
    pub(super) async fn next_row(&mut self, what: &'static str) -> StepResult<Row<'_>> {
        only_row(&self.session.answer().await?, what)
    }

    /// Sends a change that must find its one row.
    pub(super) async fn change(
        &mut self,
        statement: StatementId,
        params: &[Param<'_>],
        what: &'static str,
    ) -> StepResult {
        self.ask(statement, params)?;
        self.changed(what).await
    }

    /// Reads the next answer, of a change that must have found its one row.
    #[inline]
    pub(super) async fn changed(&mut self, what: &'static str) -> StepResult {
        self.changed_rows(1, what).await
    }

    /// The same of a change of several rows.
    pub(super) async fn changed_rows(&mut self, rows: u64, what: &'static str) -> StepResult {
        require(self.session.answer().await?.affected_rows == rows, what)
    }

    /// Commits, for which every answer before must have been read, or rolls back on purpose.
    pub(super) async fn end(&mut self, outcome: Outcome) -> StepResult<Outcome> {
        match outcome {
            Outcome::RolledBack => drop(self.session.query("ROLLBACK").await?),
            _ => {
                let committed = self.session.query("COMMIT").await;
                committed.map_err(TransactionError::of_commit)?;
            }
        }
        Ok(outcome)
    }
}
