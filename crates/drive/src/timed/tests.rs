//! Over a session that answers at once and has no server.

use super::Timed;
use base::{Answer, Param, RowSource, Session, SessionError, StatementId};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Statements are refused or have several answers as their number says.
#[derive(Default)]
struct Fake {
    pipelined: bool,
    queued: usize,
    in_flight: usize,
    sent: u64,
    prepared: u32,
    /// Answers from now on: the next one is the last.
    refused_in: Option<usize>,
    /// Answers that each command has.
    answers: usize,
    had: usize,
}

const ANSWER_TIME: Duration = Duration::from_micros(200);

impl Fake {
    fn send(&mut self) {
        if self.in_flight == 0 {
            self.in_flight = if self.pipelined { self.queued } else { 1 };
            self.queued -= self.in_flight;
            self.sent += self.in_flight as u64;
        }
    }
}

impl Session for Fake {
    fn queue(&mut self, _: StatementId, _: &[Param<'_>]) -> Result<(), SessionError> {
        self.queued += 1;
        Ok(())
    }

    fn queue_query(&mut self, _: &str) -> Result<(), SessionError> {
        self.queued += 1;
        Ok(())
    }

    async fn answer(&mut self) -> Result<Answer<'_>, SessionError> {
        self.send();
        let begin = Instant::now();
        while begin.elapsed() < ANSWER_TIME {}
        if let Some(left) = self.refused_in {
            self.refused_in = left.checked_sub(1);
            if left == 0 {
                self.in_flight -= 1;
                return Err(SessionError::Server {
                    code: 1213,
                    sqlstate: "40001".to_owned(),
                    message: "deadlock".to_owned(),
                });
            }
        }
        self.had += 1;
        let more = self.had < self.answers;
        if !more {
            self.had = 0;
            self.in_flight -= 1;
        }
        Ok(Answer { affected_rows: 0, last_insert_id: 0, width: 0, cells: &[], bytes: &[], more })
    }

    async fn discard(&mut self) -> Result<(), SessionError> {
        self.queued = 0;
        while self.in_flight > 0 {
            self.answer().await?;
        }
        Ok(())
    }

    fn unanswered(&self) -> usize {
        self.queued + self.in_flight
    }

    fn set_pipelined(&mut self, pipelined: bool) {
        self.pipelined = pipelined;
    }

    async fn forget_prepared(&mut self) -> Result<(), SessionError> {
        Ok(())
    }

    async fn prepare_kind(
        &mut self,
        _: &'static str,
        _: &str,
    ) -> Result<StatementId, SessionError> {
        self.sent += 1;
        self.prepared += 1;
        Ok(StatementId(self.prepared - 1))
    }

    async fn all_prepared(&mut self) -> Result<(), SessionError> {
        self.sent += 1;
        Ok(())
    }

    fn statements(&self) -> u64 {
        self.sent
    }

    async fn load_local(&mut self, _: &str, _: &mut dyn RowSource) -> Result<u64, SessionError> {
        panic!("no transaction loads")
    }
}

/// A session that answers at once never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

/// With two statements, of which the second differs by district.
fn timed() -> (Timed<Fake>, [StatementId; 3]) {
    let fake = Fake { answers: 1, ..Fake::default() };
    let mut session = Timed::new(fake);
    now(session.query("SET SESSION autocommit = 0")).unwrap();
    let ids = ["select_item", "lock_stock", "lock_stock"]
        .map(|kind| now(session.prepare_kind(kind, "SELECT 1")).unwrap());
    now(session.all_prepared()).unwrap();
    session.begin();
    (session, ids)
}

/// Kinds and times of the statements since the begin.
fn seen(session: &Timed<Fake>) -> Vec<(&'static str, u64)> {
    let of = session.times();
    let times = of.times.iter();
    times.map(|time| (of.kinds[time.kind], time.ns)).collect()
}

fn kinds(session: &Timed<Fake>) -> Vec<&'static str> {
    seen(session).into_iter().map(|(kind, _)| kind).collect()
}

#[test]
fn each_statement_has_its_kind_and_its_time() {
    let (mut session, [item, one, other]) = timed();
    let begin = Instant::now();
    for statement in [item, one, other] {
        now(session.execute(statement, &[])).unwrap();
    }
    now(session.query("COMMIT")).unwrap();
    let took_ns = begin.elapsed().as_nanos() as u64;
    let seen = seen(&session);
    let names: Vec<_> = seen.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(names, ["select_item", "lock_stock", "lock_stock", "commit"]);
    let least_ns = ANSWER_TIME.as_nanos() as u64;
    assert!(seen.iter().all(|(_, ns)| *ns >= least_ns), "{seen:?}");
    let sum_ns: u64 = seen.iter().map(|(_, ns)| ns).sum();
    assert!(sum_ns <= took_ns, "{sum_ns} of {took_ns}");
    session.begin();
    assert!(session.times().times.is_empty());
}

#[test]
fn a_call_is_one_statement_with_the_time_of_all_its_answers() {
    let (mut session, [item, _, _]) = timed();
    session.session.answers = 3;
    session.queue(item, &[]).unwrap();
    while now(session.answer()).unwrap().more {}
    let seen = seen(&session);
    assert_eq!(seen.len(), 1);
    assert!(seen[0].1 >= 3 * ANSWER_TIME.as_nanos() as u64, "{seen:?}");
}

#[test]
fn a_refused_statement_counts_and_what_was_not_sent_does_not() {
    let (mut session, [item, stock, _]) = timed();
    let sent = session.statements();
    for statement in [item, stock, item, stock] {
        session.queue(statement, &[]).unwrap();
    }
    session.session.refused_in = Some(1);
    now(session.answer()).unwrap();
    now(session.answer()).unwrap_err();
    now(session.discard()).unwrap();
    now(session.query("ROLLBACK")).unwrap();
    assert_eq!(kinds(&session), ["select_item", "lock_stock", "rollback"]);
    assert_eq!(session.statements() - sent, 3);
}

#[test]
fn what_was_sent_together_and_discarded_counts_too() {
    let (mut session, [item, stock, _]) = timed();
    session.set_pipelined(true);
    let sent = session.statements();
    for statement in [item, stock, item, stock] {
        session.queue(statement, &[]).unwrap();
    }
    session.session.refused_in = Some(0);
    now(session.answer()).unwrap_err();
    now(session.discard()).unwrap();
    now(session.query("ROLLBACK")).unwrap();
    let all = ["select_item", "lock_stock", "select_item", "lock_stock", "rollback"];
    assert_eq!(kinds(&session), all);
    assert_eq!(session.statements() - sent, all.len() as u64);
    // The time of the three that were discarded is that of the first one.
    let discarded: u64 = seen(&session)[1..4].iter().map(|(_, ns)| ns).sum();
    assert!(discarded >= 3 * ANSWER_TIME.as_nanos() as u64);
}
