//! The sequence of statements, over a session that has an answer for each and no database.

use super::{PREPARED_STATEMENTS, STOCK_MIN};
use crate::input::{
    CustomerKey, Delivery, Input, NewOrder, OrderLine, OrderStatus, Payment, StockLevel,
    Transaction,
};
use crate::random::RunConstants;
use crate::tests::scripted::{Reply, ScriptedServer, ScriptedSession, now};
use crate::transactions::rules::{PriceRates, stock_after};
use crate::transactions::{Outcome, PreparedSession, StatementSet, TransactionError};
use crate::{CustomerId, InputSource};
use base::{Cents, DateTime, Random, Warehouses};
use spec::Style;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const AT: DateTime = DateTime { year: 2026, month: 11, day: 28, hour: 1, minute: 2, second: 3 };

/// Customers from here on have bad credit.
const BAD_CREDIT: u32 = 1_000;

fn answer(statement: &str) -> Reply {
    const ADDRESS: &str = "street|street|city|CA|123411111";
    let (kind, params) = statement.split_once('(').unwrap_or((statement, ""));
    let params: Vec<&str> = params.trim_end_matches(')').split(", ").collect();
    match kind {
        "select_customer" => Reply::row("0.1000|BAR|GC|0.0500"),
        "lock_district" => Reply::row("3001|0.0500"),
        // The only unused item.
        "select_item" if params == ["100001"] => Reply::no_rows(),
        "select_item" => Reply::row("12.50|name|data"),
        "lock_stock" => Reply::row("17|data|d01|d02|d03|d04|d05|d06|d07|d08|d09|d10"),
        "select_warehouse" | "select_district" => Reply::row(format!("{ADDRESS}|0123456789")),
        "select_name_count" => Reply::row(3),
        "select_customers_by_name" => Reply::rows([1_011, 1_012, 1_013]),
        "lock_customer" => {
            let is_bad = params[2].parse::<u32>().unwrap() >= BAD_CREDIT;
            let credit = if is_bad { "BC" } else { "GC" };
            Reply::row(format!("f|OE|l|{ADDRESS}|phone|{credit}|50000.00|0.1000|20.00|since"))
        }
        "lock_customer_data" => Reply::row("old"),
        "select_balance" => Reply::row("20.00|f|OE|l"),
        "select_balance_by_name" => Reply::rows([11, 12, 13].map(|c| format!("20.00|f|OE|l|{c}"))),
        "select_last_order" => Reply::row("3000|then|0"),
        "select_order_lines" => Reply::row("5|1|3|0.15|NULL"),
        "select_next_order" => Reply::row(3_001),
        "select_last_items" => Reply::rows(1..=180),
        "select_low_stock" => Reply::row(0),
        "lock_oldest_order" => Reply::row(2_100 + params[0].parse::<u32>().unwrap()),
        "select_order" => Reply::row(7),
        "select_amount" => Reply::row("12.50"),
        _ => Reply::Changed(1),
    }
}

/// A terminal on a server that has a row for each question.
fn terminal() -> (ScriptedServer, PreparedSession<ScriptedSession>) {
    let server = ScriptedServer::new(answer);
    let terminal = opened(&server);
    (server, terminal)
}

fn opened(server: &ScriptedServer) -> PreparedSession<ScriptedSession> {
    let statements = StatementSet::TpccMysql { isolation: None };
    let terminal = now(PreparedSession::open(server.session(), statements)).unwrap();
    assert_eq!(server.sent(), ["SET NAMES latin1, autocommit = 0, sql_mode = DEFAULT"]);
    assert_eq!(terminal.session.prepared.len(), PREPARED_STATEMENTS as usize);
    assert!(!terminal.session.is_pipelined);
    terminal
}

/// Results show kinds of statements by these names.
#[test]
fn kinds_begin_with_the_verb_of_their_sql() {
    let mut sessions = vec![terminal().1.into_session()];
    for style in Style::ALL {
        let isolation = spec::Isolation::RepeatableRead;
        let statements = StatementSet::Clauses { style, isolation };
        let session = ScriptedServer::new(answer).session();
        let opened = PreparedSession::open(session, statements);
        sessions.push(now(opened).unwrap().into_session());
    }
    for session in sessions {
        for (kind, sql) in &session.prepared {
            let verb = match sql.split(' ').next().unwrap() {
                "SELECT" if sql.ends_with("FOR UPDATE") => "lock".to_owned(),
                verb => verb.to_lowercase(),
            };
            assert_eq!(kind.split('_').next(), Some(verb.as_str()), "{kind}: {sql}");
        }
    }
}

/// The kinds of what was sent.
fn kinds(server: &ScriptedServer) -> Vec<String> {
    let kind = |sent: String| sent.split('(').next().unwrap().to_owned();
    server.sent().into_iter().map(kind).collect()
}

fn new_order(rolls_back: bool) -> NewOrder {
    let constants = RunConstants::for_run(None, 1);
    let mut source = InputSource::new(Random::new(1, &[]), constants, Warehouses(2), None);
    loop {
        if let Input::NewOrder(order) = source.input_of(Transaction::NewOrder)
            && order.rolls_back == rolls_back
        {
            return order;
        }
    }
}

#[test]
fn new_order_is_5_statements_and_4_for_each_line() {
    let (server, mut terminal) = terminal();
    let order = new_order(false);
    let outcome = now(terminal.run(&Input::NewOrder(order)));
    assert_eq!(outcome, Ok(Outcome::Committed));
    let mut wanted = vec![
        "select_customer",
        "lock_district",
        "update_next_order",
        "insert_order",
        "insert_new_order",
    ];
    for _ in order.lines() {
        wanted.extend(["select_item", "lock_stock", "update_stock", "insert_order_line"]);
    }
    wanted.push("COMMIT");
    assert_eq!(kinds(&server), wanted);
}

/// ol_amount has discount and taxes, ol_dist_info is of the order's district.
#[test]
fn lines_are_numbered_as_they_are_processed() {
    let (server, mut terminal) = terminal();
    let customer = CustomerId { warehouse: 2, district: 3, number: 7 };
    let line = |number, item, quantity| OrderLine { item, supply_warehouse: 2, quantity, number };
    let order = NewOrder::of_lines(customer, AT, &[line(2, 5, 16), line(1, 10, 17)]);
    now(terminal.run(&Input::NewOrder(order))).unwrap();
    let wanted = [
        "select_customer(2, 3, 7)",
        "lock_district(3, 2)",
        "update_next_order(3001, 3, 2)",
        "insert_order(3001, 3, 2, 7, 2026-11-28 1:2:3, 2, 1)",
        "insert_new_order(3001, 3, 2)",
        "select_item(5)",
        "lock_stock(5, 2)",
        "update_stock(1, 5, 2)",
        // 16 x 12.50 x 0.9 x 1.1
        "insert_order_line(3001, 3, 2, 1, 5, 2, 16, 198.00, 'd03')",
        "select_item(10)",
        "lock_stock(10, 2)",
        "update_stock(91, 10, 2)",
        "insert_order_line(3001, 3, 2, 2, 10, 2, 17, 210.38, 'd03')",
        "COMMIT",
    ];
    assert_eq!(server.sent(), wanted);
}

#[test]
fn an_unused_item_rolls_back_after_all_others() {
    let (server, mut terminal) = terminal();
    let order = new_order(true);
    let outcome = now(terminal.run(&Input::NewOrder(order)));
    assert_eq!(outcome, Ok(Outcome::RolledBack));
    let sent = server.sent();
    assert_eq!(sent.len(), 5 + 4 * (order.lines().len() - 1) + 2);
    assert_eq!(sent.last().unwrap(), "ROLLBACK");
}

#[test]
fn payment_is_7_statements_and_more_by_name_and_for_bad_credit() {
    let payment = |customer| {
        Input::Payment(Payment {
            warehouse: 1,
            district: 2,
            customer_warehouse: 3,
            customer_district: 4,
            customer,
            amount: Cents(1_200),
            entered: AT,
        })
    };
    let (server, mut terminal) = terminal();
    now(terminal.run(&payment(CustomerKey::Number(5)))).unwrap();
    let begin = [
        "update_warehouse(12.00, 1)",
        "select_warehouse(1)",
        "update_district(12.00, 1, 2)",
        "select_district(1, 2)",
    ];
    // Four spaces, as both names are as long as they can be.
    let h_data = "'01234567890123456789    '";
    let end = [
        "lock_customer(3, 4, 5)",
        "update_customer(8.00, 3, 4, 5)",
        &format!("insert_history(4, 3, 5, 2, 1, 2026-11-28 1:2:3, 12.00, {h_data})"),
        "COMMIT",
    ];
    assert_eq!(server.sent(), [&begin[..], &end].concat());

    now(terminal.run(&payment(CustomerKey::LastName(5)))).unwrap();
    let end = [
        "select_name_count(3, 4, 'BARBARESE')",
        "select_customers_by_name(3, 4, 'BARBARESE')",
        "lock_customer(3, 4, 1012)",
        "lock_customer_data(3, 4, 1012)",
        "update_customer_data(8.00, '| 1012 4 3 2 1 $12.00 old', 3, 4, 1012)",
        &format!("insert_history(4, 3, 1012, 2, 1, 2026-11-28 1:2:3, 12.00, {h_data})"),
        "COMMIT",
    ];
    assert_eq!(server.sent(), [&begin[..], &end].concat());
}

#[test]
fn order_status_and_stock_level() {
    let status = |customer| Input::OrderStatus(OrderStatus { warehouse: 1, district: 2, customer });
    let (server, mut terminal) = terminal();
    now(terminal.run(&status(CustomerKey::Number(5)))).unwrap();
    let wanted = [
        "select_balance(1, 2, 5)",
        "select_last_order(1, 2, 5, 1, 2, 5)",
        "select_order_lines(1, 2, 3000)",
        "COMMIT",
    ];
    assert_eq!(server.sent(), wanted);
    now(terminal.run(&status(CustomerKey::LastName(5)))).unwrap();
    let wanted = [
        "select_name_count(1, 2, 'BARBARESE')",
        "select_balance_by_name(1, 2, 'BARBARESE')",
        "select_last_order(1, 2, 12, 1, 2, 12)",
        "select_order_lines(1, 2, 3000)",
        "COMMIT",
    ];
    assert_eq!(server.sent(), wanted);

    let level = Input::StockLevel(StockLevel { warehouse: 1, district: 2, threshold: 15 });
    now(terminal.run(&level)).unwrap();
    let sent = server.sent();
    let begin = ["select_next_order(2, 1)", "select_last_items(1, 2, 3001, 3001)"];
    assert_eq!(sent[..2], begin);
    assert_eq!((sent[181].as_str(), sent.len()), ("select_low_stock(1, 180, 15)", 2 + 180 + 1));
}

/// What a Delivery sends for a district.
fn of_district(d: u32) -> [String; 8] {
    let o = 2_100 + d;
    [
        format!("lock_oldest_order({d}, 1)"),
        format!("delete_new_order({o}, {d}, 1)"),
        format!("select_order({o}, {d}, 1)"),
        format!("update_carrier(3, {o}, {d}, 1)"),
        format!("update_order_lines(2026-11-28 1:2:3, {o}, {d}, 1)"),
        format!("select_amount({o}, {d}, 1)"),
        format!("update_balance(12.50, 7, {d}, 1)"),
        "COMMIT".to_owned(),
    ]
}

fn delivery() -> Input {
    Input::Delivery(Delivery { warehouse: 1, carrier: 3, delivered: AT })
}

#[test]
fn a_delivery_commits_each_district_and_goes_on_where_it_failed() {
    // The n-th statement from here on is a deadlock.
    let deadlock_in = Arc::new(AtomicUsize::new(usize::MAX));
    let left = Arc::clone(&deadlock_in);
    let server = ScriptedServer::new(move |statement| match left.fetch_sub(1, Ordering::Relaxed) {
        0 => Reply::Refused(1213),
        _ => answer(statement),
    });
    let mut terminal = opened(&server);
    now(terminal.run(&delivery())).unwrap();
    let districts =
        |of: std::ops::RangeInclusive<u32>| of.flat_map(of_district).collect::<Vec<String>>();
    assert_eq!(server.sent(), districts(1..=10));

    // The second statement of the fourth district is a deadlock.
    terminal.begin();
    deadlock_in.store(3 * 8 + 1, Ordering::Relaxed);
    let failed = now(terminal.run(&delivery()));
    assert!(matches!(failed, Err(TransactionError::Statement(ref error)) if error.is_deadlock()));
    let first = server.sent();
    assert_eq!(first.len(), 3 * 8 + 3);
    assert_eq!(first.last().unwrap(), "ROLLBACK");
    let outcome = now(terminal.run(&delivery()));
    assert_eq!(outcome, Ok(Outcome::Delivered { skipped_districts: 0 }));
    assert_eq!(server.sent(), districts(4..=10));
    terminal.begin();
    now(terminal.run(&delivery())).unwrap();
    assert_eq!(server.sent(), districts(1..=10));
}

/// tpcc-mysql leaves the transaction open where the last district is skipped.
#[test]
fn a_skipped_district_leaves_no_transaction_open() {
    for (skipped, commits) in [(10, 10), (4, 9)] {
        let server = ScriptedServer::new(move |statement| {
            match statement == format!("lock_oldest_order({skipped}, 1)") {
                true => Reply::no_rows(),
                false => answer(statement),
            }
        });
        let outcome = now(opened(&server).run(&delivery()));
        assert_eq!(outcome, Ok(Outcome::Delivered { skipped_districts: 1 }));
        let sent = server.sent();
        assert_eq!(sent.iter().filter(|sql| *sql == "COMMIT").count(), commits, "{skipped}");
        assert_eq!(sent.last().unwrap(), "COMMIT");
    }
}

#[test]
fn amounts_have_taxes_and_discount() {
    let amount = |rates: PriceRates, quantity, cents| {
        rates.total(OrderLine { quantity, ..OrderLine::default() }.amount(Cents(cents)))
    };
    let rates = PriceRates { discount: 5_000, taxes: 2_000 };
    assert_eq!(amount(rates, 10, 1_000), Cents(6_000));
    let odd = PriceRates { discount: 1_200, taxes: 1_900 + 1_100 };
    // 7 * 33.33 * 1.3 * 0.88 = 266.906...
    assert_eq!(amount(odd, 7, 3_333), Cents(26_691));
}

#[test]
fn stock_falls_to_one() {
    assert_eq!(stock_after(11, 10, STOCK_MIN), 1);
    assert_eq!(stock_after(10, 10, STOCK_MIN), 91);
    assert_eq!(stock_after(1, 10, STOCK_MIN), 82);
}
