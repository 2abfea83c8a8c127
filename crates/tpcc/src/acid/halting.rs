//! A session whose transactions stop where a test of clause 3 wants them to: before their COMMIT or
//! ROLLBACK, which the test then sends itself, or after the answer to a statement of some kind.
//!
//! So the transactions of a run are tested as they are, and know nothing of it.

use base::{Answer, Param, RowSource, Session, SessionResult, StatementId};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// Where a session stops. Shared with the test, which cannot reach into a transaction under way.
#[derive(Default)]
pub(super) struct Halt {
    /// COMMIT and ROLLBACK are answered and not sent.
    pub(super) before_end: Cell<bool>,
    /// Stop once after the answer to a statement of this kind.
    pub(super) after: Cell<Option<&'static str>>,
    /// Stopped there, until the test takes this back.
    pub(super) halted: Cell<bool>,
}

impl Halt {
    /// Stops. Whoever awaits the transaction is woken by what it awaits beside it; after that it
    /// looks here again.
    async fn halt(&self) {
        self.halted.set(true);
        poll_fn(|_| if self.halted.get() { Poll::Pending } else { Poll::Ready(()) }).await;
    }
}

/// What this session forwards to, with its stops.
pub(super) struct Halting<S> {
    pub(super) session: S,
    pub(super) halt: Rc<Halt>,
    /// Of the prepared statements, by number.
    kinds: BTreeMap<u32, &'static str>,
    /// Of the commands that are queued or under way, oldest first.
    unanswered: VecDeque<&'static str>,
    /// The end of the transaction is not sent, and its answer is due.
    end_is_due: bool,
    /// A statement has failed: the ROLLBACK that follows has to be sent.
    failed: bool,
}

impl<S> Halting<S> {
    pub(super) fn new(session: S) -> Halting<S> {
        Halting {
            session,
            halt: Rc::default(),
            kinds: BTreeMap::new(),
            unanswered: VecDeque::new(),
            end_is_due: false,
            failed: false,
        }
    }
}

impl<S: Session> Session for Halting<S> {
    fn queue(&mut self, statement: StatementId, params: &[Param<'_>]) -> SessionResult<()> {
        self.session.queue(statement, params)?;
        let kind = self.kinds.get(&statement.0).copied();
        self.unanswered.push_back(kind.unwrap_or_default());
        Ok(())
    }

    fn queue_query(&mut self, sql: &str) -> SessionResult<()> {
        let ends = matches!(sql, "COMMIT" | "ROLLBACK");
        if ends && self.halt.before_end.get() && !self.failed {
            self.end_is_due = true;
            return Ok(());
        }
        self.failed &= !ends;
        self.session.queue_query(sql)?;
        self.unanswered.push_back("");
        Ok(())
    }

    async fn answer(&mut self) -> SessionResult<Answer<'_>> {
        if std::mem::take(&mut self.end_is_due) {
            return Ok(Answer::default());
        }
        let kind = self.unanswered.pop_front();
        let answer = self.session.answer().await;
        self.failed |= answer.is_err();
        if kind.is_some() && kind == self.halt.after.get() {
            self.halt.after.set(None);
            self.halt.halt().await;
        }
        answer
    }

    async fn discard(&mut self) -> SessionResult<()> {
        self.unanswered.clear();
        self.session.discard().await
    }

    fn unanswered(&self) -> usize {
        self.session.unanswered() + usize::from(self.end_is_due)
    }

    fn set_pipelined(&mut self, pipelined: bool) {
        self.session.set_pipelined(pipelined);
    }

    async fn forget_prepared(&mut self) -> SessionResult<()> {
        self.kinds.clear();
        self.session.forget_prepared().await
    }

    async fn prepare_kind(&mut self, kind: &'static str, sql: &str) -> SessionResult<StatementId> {
        let statement = self.session.prepare_kind(kind, sql).await?;
        self.kinds.insert(statement.0, kind);
        Ok(statement)
    }

    async fn all_prepared(&mut self) -> SessionResult<()> {
        self.session.all_prepared().await
    }

    fn statements(&self) -> u64 {
        self.session.statements()
    }

    async fn load_local(&mut self, sql: &str, rows: &mut dyn RowSource) -> SessionResult<u64> {
        self.session.load_local(sql, rows).await
    }
}
