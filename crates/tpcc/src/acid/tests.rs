//! What the tests of clause 3 make of servers that keep a rule and that break it.

use super::finding::{AcidError, Phenomenon};
use super::fixture::{Fixture, PAID};
use super::halting::Halting;
use super::{AcidTest, AcidVerdict, Seen, finding, order_until_lost, what_survived};
use crate::tests::scripted::{Reply, ScriptedServer, ScriptedSession, now};
use crate::transactions::TransactionError;
use crate::witness::Witness;
use crate::{InputSource, RunConstants};
use base::{Cents, Random, Session, SessionError, WarehouseRange, Warehouses};
use spec::Isolation;
use std::pin::pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Waker};

const LEVEL: Isolation = Isolation::RepeatableRead;
const TEST: AcidTest = AcidTest { name: "A1", title: "it holds", clause: "3.2.2.1" };

fn fixture(server: &ScriptedServer) -> Fixture<'_, ScriptedServer> {
    let place = (WarehouseRange::all(Warehouses(3)), Random::new(1, &[]));
    now(Fixture::open(server, place, LEVEL)).unwrap()
}

fn phenomenon(seen: Seen) -> Option<Phenomenon> {
    let found = seen.finding(TEST, LEVEL);
    let verdict =
        if found.phenomenon.is_some() { AcidVerdict::Failed } else { AcidVerdict::Passed };
    assert_eq!(found.verdict, verdict);
    assert!(!found.evidence.is_empty());
    found.phenomenon
}

/// A database where a Payment changes all sums, but for one by `off` cents or rows.
fn paying(off_at: usize, off: i64) -> ScriptedServer {
    let committed = AtomicI64::new(0);
    ScriptedServer::new(move |sql| {
        let rises = [PAID.0, PAID.0, -PAID.0, PAID.0, 1, 1];
        let after = |place: usize| {
            let off = if place == off_at { off } else { 0 };
            committed.load(Ordering::Relaxed) * (rises[place] + off)
        };
        let is_read = |of: &str| sql.starts_with(&format!("SELECT {of} FROM"));
        match sql {
            "SELECT CONNECTION_ID()" => Reply::row(5),
            "COMMIT" => {
                committed.store(1, Ordering::Relaxed);
                Reply::Changed(0)
            }
            _ if is_read("w_ytd") => Reply::row(Cents(300 + after(0))),
            _ if is_read("d_ytd") => Reply::row(Cents(after(1))),
            _ if is_read("c_balance") => Reply::row(Cents(after(2))),
            _ if is_read("c_ytd_payment") => Reply::row(Cents(after(3))),
            _ if is_read("c_payment_cnt") => Reply::row(1 + after(4)),
            _ if is_read("COUNT(*)") => Reply::row(1 + after(5)),
            _ if sql.starts_with("SELECT * FROM warehouse") => {
                Reply::row(format!("7|{}", after(0)))
            }
            _ if sql.starts_with("select_") => Reply::row("name|street"),
            _ if sql.starts_with("lock_customer") => {
                Reply::row("f|OE|l|s|s|c|CA|1|p|since|GC|50000.00|0.1000|9.00")
            }
            _ => Reply::Changed(1),
        }
    })
}

#[test]
fn a_payment_has_to_change_all_of_its_rows() {
    let right = paying(0, 0);
    let seen = now(fixture(&right).committed()).unwrap();
    assert_eq!(phenomenon(seen), None);
    assert_eq!(right.sent().last().unwrap(), "close");
    for place in 0..6 {
        let wrong = paying(place, 1);
        let seen = now(fixture(&wrong).committed()).unwrap();
        assert_eq!(phenomenon(seen), Some(Phenomenon::Part), "{place}");
    }
}

#[test]
fn a_payment_that_is_rolled_back_has_to_leave_all_rows() {
    let server = paying(0, 0);
    let seen = now(fixture(&server).rolled_back()).unwrap();
    assert_eq!(phenomenon(seen), None);
    let sent = server.sent();
    let end = sent.iter().rposition(|sql| sql == "ROLLBACK" || sql == "COMMIT").unwrap();
    assert_eq!(sent[end], "ROLLBACK", "in place of COMMIT");
}

/// Gives each New-Order the next number of its district; every `repeats`-th one the last again.
fn ordering(repeats: bool) -> ScriptedServer {
    let next = AtomicI64::new(3_001);
    ScriptedServer::new(move |sql| {
        let order = next.load(Ordering::Relaxed);
        match sql {
            "SELECT CONNECTION_ID()" => Reply::row(5),
            _ if sql.starts_with("SELECT d_next_o_id") => Reply::row(order),
            _ if sql.starts_with("SELECT COUNT(*) FROM information_schema") => Reply::row(0),
            _ if sql.starts_with("lock_district") => Reply::row(format!("{order}|0.02")),
            _ if sql.starts_with("update_next_order") => {
                next.store(order + i64::from(!repeats), Ordering::Relaxed);
                Reply::Changed(1)
            }
            _ if sql.starts_with("select_customer") => Reply::row("0.1|BAR|GC|0.05"),
            _ if sql.starts_with("select_item") => Reply::row("1.00|name|data"),
            _ if sql.starts_with("lock_stock") => Reply::row("50|dist|data"),
            _ => Reply::Changed(1),
        }
    })
}

#[test]
fn two_orders_have_to_have_numbers_in_sequence() {
    for (repeats, wanted) in [(false, None), (true, Some(Phenomenon::LostUpdate))] {
        let server = ordering(repeats);
        let seen = reactor::block_on(async { fixture(&server).two_orders().await });
        assert_eq!(phenomenon(seen.unwrap().unwrap()), wanted);
    }
}

#[test]
fn what_a_server_refuses_fails_a_test_and_a_lost_one_ends_all() {
    let refused = SessionError::Unexpected("no".to_owned());
    let found = finding(Err(AcidError::Session(refused)), TEST, LEVEL).unwrap();
    assert_eq!((found.verdict, &found.evidence[..]), (AcidVerdict::Failed, &["no".to_owned()][..]));
    let lost = || SessionError::Lost("reset".to_owned());
    for error in [
        AcidError::Connect("refused".to_owned()),
        AcidError::Session(lost()),
        AcidError::Transaction(TransactionError::Statement(lost())),
        AcidError::Transaction(TransactionError::InDoubt(lost())),
    ] {
        assert!(finding(Err(error), TEST, LEVEL).is_err());
    }
}

/// A session that is to stop, with a statement of kind `read` prepared.
fn halting(first: Vec<(&'static str, Reply)>) -> (ScriptedServer, Halting<ScriptedSession>) {
    let server = ScriptedServer::of_replies(first);
    let mut session = Halting::new(server.session());
    now(session.prepare_kind("read", "SELECT 1")).unwrap();
    (server, session)
}

#[test]
fn an_end_is_answered_and_not_sent_where_a_test_says_so() {
    let (server, mut session) = halting(Vec::new());
    session.halt.before_end.set(true);
    for end in ["COMMIT", "ROLLBACK"] {
        session.queue_query(end).unwrap();
        assert_eq!(session.unanswered(), 1);
        now(session.answer()).unwrap();
        assert_eq!((session.unanswered(), server.sent().len()), (0, 0));
    }
    now(session.query("SELECT 2")).unwrap();
    session.halt.before_end.set(false);
    now(session.query("COMMIT")).unwrap();
    assert_eq!(server.sent(), ["SELECT 2", "COMMIT"]);
    assert_eq!(session.statements(), 2);
}

/// Else its locks would stay.
#[test]
fn the_rollback_after_a_failure_is_sent() {
    let (server, mut session) = halting(vec![("SELECT 2", Reply::Refused(1213))]);
    session.halt.before_end.set(true);
    now(session.query("SELECT 2")).unwrap_err();
    now(session.query("ROLLBACK")).unwrap();
    now(session.query("COMMIT")).unwrap();
    assert_eq!(server.sent(), ["SELECT 2", "ROLLBACK"]);
}

#[test]
fn a_session_stops_once_after_a_statement_of_a_kind() {
    let (_, mut session) = halting(vec![("read", Reply::row(7))]);
    let halt = std::rc::Rc::clone(&session.halt);
    halt.after.set(Some("read"));
    now(session.query("SELECT 2")).unwrap();
    let statement = base::StatementId(0);
    {
        let mut reading = pin!(session.execute(statement, &[]));
        let context = &mut Context::from_waker(Waker::noop());
        assert!(reading.as_mut().poll(context).is_pending() && halt.halted.get());
        halt.halted.set(false);
        let std::task::Poll::Ready(answer) = reading.poll(context) else { panic!("it stops") };
        assert_eq!(answer.unwrap().int(), Ok(Some(7)));
    }
    now(session.execute(statement, &[])).unwrap();
    // What is discarded is not waited for.
    halt.after.set(Some("read"));
    session.queue(statement, &[]).unwrap();
    now(session.discard()).unwrap();
    now(session.query("SELECT 2")).unwrap();
    now(session.forget_prepared()).unwrap();
    now(session.prepare_kind("other", "SELECT 1")).unwrap();
    now(session.execute(statement, &[])).unwrap();
    assert!(!halt.halted.get());
}

/// Orders until the server is killed, which is after so many COMMITs, and how that ended.
fn ordered_until(last: Reply, commits: i64) -> (Result<(), AcidError>, Witness) {
    let left = AtomicI64::new(commits);
    let server = ScriptedServer::new(move |sql| match sql {
        "COMMIT" if left.fetch_sub(1, Ordering::Relaxed) == 0 => last.clone(),
        _ => crate::transactions::tests::answer(sql),
    });
    let witness = now(Witness::begin(&mut ScriptedServer::of_replies(Vec::new()).session()));
    let witness = witness.unwrap();
    let (random, constants) = (Random::new(1, &[]), RunConstants::for_run(None, 1));
    let source = InputSource::new(random, constants, Warehouses(1), None);
    let ended = now(order_until_lost(&server, (source, LEVEL), &witness));
    (ended, witness)
}

#[test]
fn a_load_ends_with_its_server_and_tells_what_is_missing() {
    let (ended, witness) = ordered_until(Reply::Lost, 30);
    assert!(ended.is_ok());
    let empty = ScriptedServer::of_replies(Vec::new());
    let seen = now(what_survived(&mut empty.session(), &witness)).unwrap();
    assert_eq!(phenomenon(seen), Some(Phenomenon::LostCommit));
    let (ended, witness) = ordered_until(Reply::Lost, 0);
    assert!(ended.is_ok());
    let seen = now(what_survived(&mut empty.session(), &witness)).unwrap();
    assert_eq!(phenomenon(seen), None, "a COMMIT without an answer may not be there");
    let strange = ScriptedServer::of_replies(vec![("FROM history", Reply::row("1|2|3|4|5.00|1"))]);
    let seen = now(what_survived(&mut strange.session(), &witness)).unwrap();
    assert_eq!(phenomenon(seen), Some(Phenomenon::Part), "nobody paid that");
    let (ended, _) = ordered_until(Reply::Refused(1146), 3);
    assert!(matches!(ended, Err(AcidError::Session(_))));
}
