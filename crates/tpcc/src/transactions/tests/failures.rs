//! What becomes of a transaction of which a statement fails, or does not find its row.

use super::{all_inputs, answer, open, payment, stock_level};
use crate::input::{CustomerKey, Input};
use crate::tests::scripted::{Reply, ScriptedServer, now};
use crate::transactions::{Outcome, TransactionError};
use spec::Style;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const STYLES: [Style; 2] = [Style::Statements, Style::Batched];

/// How a transaction ends where another reply comes in place of the n-th, from 0, and what it
/// sends; `None` where it sends no more than n statements.
fn with_reply(
    (style, input): (Style, &Input),
    nth: usize,
    reply: impl Fn(&str) -> Reply + Send + Sync + 'static,
) -> Option<(Result<Outcome, TransactionError>, Vec<String>)> {
    let left = Arc::new(AtomicUsize::new(usize::MAX));
    let counted = Arc::clone(&left);
    let server =
        ScriptedServer::new(move |statement| match counted.fetch_sub(1, Ordering::Relaxed) {
            0 => reply(statement),
            _ => answer(statement),
        });
    let mut terminal = open(&server, style);
    left.store(nth, Ordering::Relaxed);
    let ended = now(terminal.run(input));
    let sent = server.sent();
    (sent.len() > nth).then_some((ended, sent))
}

/// All (statement, how the transaction ends, what was sent) where one reply of each style and input
/// is another.
fn each_reply(
    reply: impl Fn(&str) -> Reply + Copy + Send + Sync + 'static,
    mut judge: impl FnMut(&str, Result<Outcome, TransactionError>, &[String]),
) {
    for style in STYLES {
        for input in all_inputs() {
            for nth in 0.. {
                let Some((ended, sent)) = with_reply((style, &input), nth, reply) else { break };
                judge(&sent[nth], ended, &sent);
            }
        }
    }
}

fn nothing(_: &str) -> Reply {
    Reply::Changed(0)
}

/// Clause 2.3.6: every row that must exist is checked to exist.
#[test]
fn a_row_that_is_missing_fails_the_transaction_and_rolls_it_back() {
    let mut missed = 0;
    each_reply(nothing, |statement, ended, sent| {
        // The open orders of a district may be none, and the stock of an unused item is nobody's.
        let may_be_none = ["COMMIT", "ROLLBACK", "lock_oldest_order"];
        if may_be_none.iter().any(|of| statement.starts_with(of)) || statement.contains("100001") {
            return;
        }
        assert!(matches!(ended, Err(TransactionError::MissingRow(_))), "{statement}: {ended:?}");
        assert_eq!(sent.last().unwrap(), "ROLLBACK", "{statement}");
        missed += 1;
    });
    assert!(missed > 150, "{missed}");
}

#[test]
fn a_statement_that_is_refused_rolls_the_transaction_back() {
    each_reply(
        |_| Reply::Refused(1213),
        |statement, ended, sent| {
            let Err(TransactionError::Statement(error)) = ended else {
                panic!("{statement}: {ended:?}")
            };
            assert!(error.is_deadlock(), "{statement}");
            assert_eq!(sent.last().unwrap(), "ROLLBACK", "{statement}");
        },
    );
}

#[test]
fn a_lost_connection_is_asked_nothing_and_only_its_commit_is_in_doubt() {
    each_reply(
        |_| Reply::Lost,
        |statement, ended, sent| {
            let is_commit = statement == "COMMIT";
            let is_in_doubt = matches!(ended, Err(TransactionError::InDoubt(_)));
            assert!(ended.is_err() && is_in_doubt == is_commit, "{statement}: {ended:?}");
            assert_eq!(sent.last().unwrap(), statement);
        },
    );
}

/// ER_NEED_REPREPARE: the server gives up making a statement anew.
#[test]
fn statements_that_the_server_has_given_up_are_prepared_again() {
    let (refused, prepared) = (Arc::new(AtomicUsize::new(1)), Arc::new(AtomicUsize::new(0)));
    let (left, count) = (Arc::clone(&refused), Arc::clone(&prepared));
    let server = ScriptedServer::new(move |statement| {
        count.fetch_add(usize::from(statement == "ROLLBACK"), Ordering::Relaxed);
        let is_it = statement.starts_with("select_next_order");
        match is_it && left.swap(0, Ordering::Relaxed) == 1 {
            true => Reply::Refused(1615),
            false => answer(statement),
        }
    });
    let mut terminal = open(&server, Style::Statements);
    let before = terminal.session().prepared.clone();
    assert!(now(terminal.run(&stock_level())).is_err());
    assert_eq!(terminal.session().prepared, before, "forgotten and made again");
    assert_eq!(prepared.load(Ordering::Relaxed), 1);
    assert_eq!(now(terminal.run(&stock_level())), Ok(Outcome::OrdersBelow(3001)));
}

/// Rows that belong to no district from 1 to 10, and a customer's number that is none.
#[test]
fn numbers_that_cannot_be_are_no_rows() {
    let fails = |style, input: &Input, of: &'static str, row: &'static str| {
        let server = ScriptedServer::new(move |statement| match statement.starts_with(of) {
            true => Reply::row(row),
            false => answer(statement),
        });
        let ended = now(open(&server, style).run(input));
        assert!(ended.is_err(), "{of}: {row}: {ended:?}");
    };
    let [_, _, _, _, _, _, delivery, _] = all_inputs();
    for row in ["0|100", "11|100"] {
        fails(Style::Batched, &delivery, "lock_orders", row);
    }
    let by_name = payment(CustomerKey::LastName(7));
    fails(Style::Statements, &by_name, "select_customers_by_name", "-1");
    fails(Style::Statements, &stock_level(), "select_next_order", "-1");
}
