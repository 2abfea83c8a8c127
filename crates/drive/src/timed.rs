//! A session that measures its statements: two readings of the clock for each, and nothing else
//! that a statement would notice.

use base::Instant;
use base::{Answer, Param, RowSource, Session, SessionResult, StatementId};
use std::collections::VecDeque;

/// What a statement does, as a place in [`StatementTimes::kinds`].
type StatementKind = usize;

const COMMIT: StatementKind = 0;
const ROLLBACK: StatementKind = 1;
const OTHER: StatementKind = 2;

/// How long one statement took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementTime {
    /// What it does, as a place in [`StatementTimes::kinds`].
    pub kind: usize,
    pub ns: u64,
}

/// The statements of one transaction, of all its tries.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatementTimes<'a> {
    /// The same in all clients of a run.
    pub kinds: &'a [&'static str],
    pub times: &'a [StatementTime],
}

/// Measures the statements of a session from sending to the whole answer. Where statements travel
/// together, a statement's time is that spent waiting for its answer: the first of those sent
/// together has nearly all of their time.
pub struct Timed<S> {
    session: S,
    clock: Clock,
}

impl<S: Session> Timed<S> {
    /// Measures the statements of this session from now on.
    pub fn new(session: S) -> Timed<S> {
        let kinds = vec!["commit", "rollback", "other"];
        Timed { session, clock: Clock { kinds, ..Clock::default() } }
    }

    /// Forgets the statements so far.
    pub fn begin(&mut self) {
        self.clock.times.clear();
    }

    /// Those since `begin`.
    pub fn times(&self) -> StatementTimes<'_> {
        StatementTimes { kinds: &self.clock.kinds, times: &self.clock.times }
    }

    /// The session that was measured.
    pub fn into_inner(self) -> S {
        self.session
    }
}

/// What is known of the statements of a session.
#[derive(Default)]
struct Clock {
    kinds: Vec<&'static str>,
    /// By the number of the prepared statement.
    by_statement: Vec<StatementKind>,
    /// Of the commands that are queued or under way, oldest first.
    unanswered: VecDeque<StatementKind>,
    /// Commands of the session that had been sent before the oldest of them.
    sent_before: u64,
    /// Time of the answer that has come in part: a CALL has several.
    partial_ns: u64,
    times: Vec<StatementTime>,
}

impl Clock {
    fn name(&mut self, statement: StatementId, kind: &'static str) {
        let known = self.kinds.iter().position(|known| *known == kind);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        });
        let index = statement.0 as usize;
        if self.by_statement.len() <= index {
            self.by_statement.resize(index + 1, OTHER);
        }
        self.by_statement[index] = kind;
    }

    fn prepared(&self, statement: StatementId) -> StatementKind {
        let kind = self.by_statement.get(statement.0 as usize);
        kind.copied().unwrap_or(OTHER)
    }

    /// The oldest command has its answer, or a part of it.
    fn answer(&mut self, ns: u64, result: &SessionResult<Answer<'_>>) {
        self.partial_ns += ns;
        let whole = match result {
            Ok(answer) => !answer.more,
            // A refusal is an answer; after any other error the session is of no use.
            Err(error) => error.code().is_some(),
        };
        if whole {
            self.whole();
        }
    }

    /// The oldest command has its whole answer.
    fn whole(&mut self) {
        let ns = std::mem::take(&mut self.partial_ns);
        if let Some(kind) = self.unanswered.pop_front() {
            self.times.push(StatementTime { kind, ns });
        }
        self.sent_before += 1;
    }

    /// Another command is queued, after so many that were sent.
    #[inline]
    fn queued(&mut self, kind: StatementKind, sent: u64) {
        if self.unanswered.is_empty() {
            self.sent_before = sent;
        }
        self.unanswered.push_back(kind);
    }
}

fn since(start: Instant) -> u64 {
    start.elapsed().as_nanos() as u64
}

impl<S: Session> Session for Timed<S> {
    #[inline]
    fn queue(&mut self, statement: StatementId, params: &[Param<'_>]) -> SessionResult<()> {
        self.session.queue(statement, params)?;
        self.clock.queued(self.clock.prepared(statement), self.session.statements());
        Ok(())
    }

    fn queue_query(&mut self, sql: &str) -> SessionResult<()> {
        self.session.queue_query(sql)?;
        let kind = match sql {
            "COMMIT" => COMMIT,
            "ROLLBACK" => ROLLBACK,
            _ => OTHER,
        };
        self.clock.queued(kind, self.session.statements());
        Ok(())
    }

    #[inline]
    async fn answer(&mut self) -> SessionResult<Answer<'_>> {
        let start = Instant::now();
        let result = self.session.answer().await;
        self.clock.answer(since(start), &result);
        result
    }

    async fn discard(&mut self) -> SessionResult<()> {
        let start = Instant::now();
        let result = self.session.discard().await;
        self.clock.partial_ns += since(start);
        // What was sent has been answered; the rest never left.
        for _ in self.clock.sent_before..self.session.statements() {
            self.clock.whole();
        }
        self.clock.unanswered.clear();
        self.clock.partial_ns = 0;
        result
    }

    fn unanswered(&self) -> usize {
        self.session.unanswered()
    }

    fn set_pipelined(&mut self, pipelined: bool) {
        self.session.set_pipelined(pipelined);
    }

    fn set_keeps_rows(&mut self, keeps_rows: bool) {
        self.session.set_keeps_rows(keeps_rows);
    }

    async fn forget_prepared(&mut self) -> SessionResult<()> {
        self.session.forget_prepared().await
    }

    async fn prepare_kind(&mut self, kind: &'static str, sql: &str) -> SessionResult<StatementId> {
        let statement = self.session.prepare_kind(kind, sql).await?;
        self.clock.name(statement, kind);
        Ok(statement)
    }

    async fn all_prepared(&mut self) -> SessionResult<()> {
        self.session.all_prepared().await
    }

    fn statements(&self) -> u64 {
        self.session.statements()
    }

    fn in_transaction(&self) -> bool {
        self.session.in_transaction()
    }

    fn is_closed(&self) -> bool {
        self.session.is_closed()
    }

    async fn load_local(&mut self, sql: &str, rows: &mut dyn RowSource) -> SessionResult<u64> {
        self.session.load_local(sql, rows).await
    }
}

#[cfg(test)]
mod tests;
