use super::text::{self, VERSION};
use super::{InstallError, install};
use crate::input::{CustomerKey, Input, UNUSED_ITEM};
use crate::lock::lock_name;
use crate::tests::scripted::{Reply, ScriptedServer, now};
use crate::transactions::tests::{
    delivery, new_order, open, order_status, payment, rolled_back_order, stock_level,
};
use crate::transactions::{Outcome, TransactionError};
use spec::Style;

/// What a procedure answers to a CALL: the rows of an order's lines, of which so many are written,
/// then its head; or one row, and of an Order-Status the lines of the order.
fn reply(statement: &str, lines: usize) -> Reply {
    let results = match statement.split('(').next().unwrap() {
        "call_new_order" => {
            let line = "5|1|2|3|0.15|0.05|12|name|G";
            vec![vec![line; lines], vec!["3001|0.1000|BAR|GC|0.0500|0.0200"]]
        }
        "call_payment" => vec![vec![
            "s|s|c|CA|1|s|s|c|CA|1|7|f|OE|l|s|s|c|CA|1|p|since|GC|9.00|50000.00|0.1|NULL",
        ]],
        "call_order_status" => {
            vec![vec!["7|9.00|f|OE|l"], vec!["3001|then|NULL|5|1|3|0.15|NULL"]]
        }
        "call_delivery" => vec![vec!["1"]],
        "call_stock_level" => vec![vec!["4"]],
        other => panic!("{other}"),
    };
    let strings = |of: Vec<&str>| of.into_iter().map(str::to_owned).collect();
    Reply::Call(results.into_iter().map(strings).collect())
}

/// How a transaction ends, and the one statement that it sends.
fn called(input: &Input, lines: usize) -> (Result<Outcome, TransactionError>, Vec<String>) {
    let server = ScriptedServer::new(move |statement| match statement.starts_with("call_") {
        true => reply(statement, lines),
        false => Reply::Changed(0),
    });
    let ended = now(open(&server, Style::Procedures).run(input));
    (ended, server.sent())
}

/// Lines of the home warehouse stand at their place; remote ones, and an item that the order has
/// already, in the texts of what is taken before and after them.
#[test]
fn an_order_is_one_call() {
    let zeros = |count: usize| vec!["0"; count].join(", ");
    let (ended, sent) = called(&new_order(), 5);
    assert_eq!(ended, Ok(Outcome::Committed));
    let (items, quantities) =
        (format!("10, 0, 0, 0, 20, {}", zeros(10)), format!("4, 0, 0, 0, 2, {}", zeros(10)));
    let call = format!(
        "call_new_order(2, 3, 7, 2026-11-28 1:2:3, 5, 0, {items}, {quantities}, '4,5,1,3;', \
         '3,10,2,2;2,30,3,1;')"
    );
    assert_eq!(sent, [call]);
}

#[test]
fn an_order_whose_unused_item_alone_is_not_written_was_rolled_back() {
    let (ended, sent) = called(&rolled_back_order(), 5);
    assert_eq!(ended, Ok(Outcome::RolledBack));
    assert!(sent[0].contains(&format!("10, 0, 0, 0, 20, {UNUSED_ITEM}, ")), "{sent:?}");
    for (input, lines) in [(rolled_back_order(), 4), (new_order(), 4), (new_order(), 3)] {
        let (ended, sent) = called(&input, lines);
        assert!(matches!(ended, Err(TransactionError::MissingRow(_))), "{lines}: {ended:?}");
        assert_eq!(sent.last().unwrap(), "ROLLBACK");
    }
}

#[test]
fn a_customer_is_called_by_number_or_name() {
    let (number, name) = (CustomerKey::Number(7), CustomerKey::LastName(7));
    let (ended, sent) = called(&payment(number), 0);
    assert_eq!(ended, Ok(Outcome::Committed));
    assert_eq!(sent, ["call_payment(2, 3, 5, 6, 7, NULL, 12.50, 2026-11-28 1:2:3)"]);
    let by_name = called(&payment(name), 0).1;
    assert_eq!(by_name, ["call_payment(2, 3, 5, 6, NULL, 'BARBARCALLY', 12.50, 2026-11-28 1:2:3)"]);
    let (ended, sent) = called(&order_status(number), 0);
    assert_eq!(ended, Ok(Outcome::Committed));
    assert_eq!(sent, ["call_order_status(2, 3, 7, NULL)"]);
    assert_eq!(called(&order_status(name), 0).1, ["call_order_status(2, 3, NULL, 'BARBARCALLY')"]);
}

#[test]
fn a_delivery_tells_how_many_districts_it_skipped() {
    let (ended, sent) = called(&delivery(), 0);
    assert_eq!(ended, Ok(Outcome::Delivered { skipped_districts: 1 }));
    assert_eq!(sent, ["call_delivery(2, 8, 2026-11-28 1:2:3)"]);
    let (ended, sent) = called(&stock_level(), 0);
    assert_eq!(
        (ended, sent),
        (Ok(Outcome::Committed), vec!["call_stock_level(2, 3, 15)".to_owned()])
    );
}

/// A CALL commits: where the connection is lost meanwhile, nobody knows whether it did.
#[test]
fn a_call_without_an_answer_is_in_doubt() {
    let server = ScriptedServer::new(|statement| match statement.starts_with("call_") {
        true => Reply::Lost,
        false => Reply::Changed(0),
    });
    let ended = now(open(&server, Style::Procedures).run(&stock_level()));
    assert!(matches!(ended, Err(TransactionError::InDoubt(_))), "{ended:?}");
}

const TEXTS: &str = "CHARACTER SET latin1 COLLATE latin1_bin";

/// The routines of a schema that has all of them, with this comment.
fn present(comment: &str) -> Vec<String> {
    text::all(TEXTS).map(|(name, _)| format!("mydyno_{name}|{comment}")).to_vec()
}

fn comment() -> String {
    format!("mydyno {VERSION} {TEXTS}")
}

/// Installs in a schema with these routines; and what was changed there.
fn installed(
    routines: Vec<String>,
    first: Vec<(&'static str, Reply)>,
) -> (Result<bool, InstallError>, Vec<String>) {
    let mut replies = first;
    replies.extend([
        ("SELECT DATABASE()", Reply::row("tpcc")),
        ("GET_LOCK", Reply::row(1)),
        ("information_schema.columns", Reply::row("latin1|latin1_bin")),
        ("information_schema.routines", Reply::rows(routines)),
    ]);
    let server = ScriptedServer::of_replies(replies);
    let installed = now(install(&mut server.session()));
    let mut sent = server.sent();
    sent.retain(|sql| !sql.contains("information_schema") && !sql.contains("DATABASE"));
    (installed, sent)
}

#[test]
fn procedures_of_this_version_are_kept_and_others_made_anew() {
    let lock = format!("{}:procedures", lock_name("tpcc"));
    let (take, release) =
        (format!("SELECT GET_LOCK('{lock}', 60)"), format!("SELECT RELEASE_LOCK('{lock}')"));
    let (kept, sent) = installed(present(&comment()), Vec::new());
    assert_eq!((kept, sent), (Ok(false), vec![take, release.clone()]));
    let mut one_old = present(&comment());
    one_old[1] = "mydyno_payment|mydyno 1 latin1".to_owned();
    let (made, sent) = installed(one_old, Vec::new());
    assert_eq!(made, Ok(true));
    assert_eq!(sent[1], "DROP PROCEDURE IF EXISTS mydyno_payment");
    let create = format!("MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT '{}' BEGIN", comment());
    assert!(sent[2].starts_with("CREATE PROCEDURE mydyno_payment(p_w INT,"), "{}", sent[2]);
    assert!(sent[2].contains(&create), "{}", sent[2]);
    assert_eq!(sent[3..], [release]);
    let (made, sent) = installed(Vec::new(), Vec::new());
    let count = |of: &str| sent.iter().filter(|sql| sql.starts_with(of)).count();
    assert_eq!((made, count("CREATE PROCEDURE")), (Ok(true), 5));
}

#[test]
fn a_procedure_of_somebody_else_is_left_alone() {
    let (refused, sent) = installed(present("made by hand"), Vec::new());
    assert_eq!(refused, Err(InstallError::Foreign("mydyno_new_order".to_owned())));
    assert!(!sent.iter().any(|sql| sql.starts_with("DROP")));
    assert!(sent.last().unwrap().contains("RELEASE_LOCK"));
}

#[test]
fn texts_of_procedures_are_compared_as_the_column_is() {
    let columns = vec![("information_schema.columns", Reply::row("NULL|NULL"))];
    let of_bytes = format!("mydyno {VERSION} CHARACTER SET binary");
    assert_eq!(installed(present(&of_bytes), columns).0, Ok(false));
}

#[test]
fn two_that_install_at_once_do_not_fail() {
    let busy = installed(Vec::new(), vec![("GET_LOCK", Reply::row(0))]).0;
    assert_eq!(busy, Err(InstallError::Locked));
    // Without locks the second one finds what the first has made meanwhile.
    let made = std::sync::atomic::AtomicBool::new(false);
    let server = ScriptedServer::new(move |sql| {
        use std::sync::atomic::Ordering::Relaxed;
        match sql {
            _ if sql.contains("GET_LOCK") => Reply::Refused(1235),
            _ if sql.contains("information_schema.columns") => Reply::row("latin1|latin1_bin"),
            _ if sql.contains("information_schema.routines") && made.load(Relaxed) => {
                Reply::rows(present(&comment()))
            }
            _ if sql.starts_with("CREATE PROCEDURE") => {
                made.store(true, Relaxed);
                Reply::Refused(1304)
            }
            _ => Reply::no_rows(),
        }
    });
    assert_eq!(now(install(&mut server.session())), Ok(false));
    let refused = vec![("GET_LOCK", Reply::Refused(1235)), ("CREATE", Reply::Refused(1044))];
    assert!(matches!(installed(Vec::new(), refused).0, Err(InstallError::Session(_))));
}
