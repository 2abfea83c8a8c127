//! What the transactions send, to a server that has a row for each question.

mod failures;

use super::{Outcome, PreparedSession, StatementSet, prepared_statements};
use crate::CustomerId;
use crate::input::{
    CustomerKey, Delivery, Input, NewOrder, OrderLine, OrderStatus, Payment, StockLevel,
    UNUSED_ITEM,
};
use crate::tests::scripted::{Reply, ScriptedServer, ScriptedSession, now};
use base::{Cents, DateTime};
use spec::{Isolation, Style};
use std::collections::BTreeSet;

pub(super) const AT: DateTime =
    DateTime { year: 2026, month: 11, day: 28, hour: 1, minute: 2, second: 3 };
const CUSTOMER: CustomerId = CustomerId { warehouse: 2, district: 3, number: 7 };
/// Customers from here on have bad credit.
const BAD_CREDIT: u32 = 1_000;

/// Each item costs as many cents as its number, and there are 12 pieces of it in each warehouse. No
/// district but 4 is without an open order.
pub(crate) fn answer(statement: &str) -> Reply {
    let (kind, params) = statement.split_once('(').unwrap_or((statement, ""));
    let params: Vec<&str> = params.trim_end_matches(')').split(", ").collect();
    let kind = kind.split('#').next().unwrap();
    let used = |items: &[&str]| -> BTreeSet<u32> {
        let known = items.iter().map(|item| item.parse().unwrap());
        known.filter(|item| *item != UNUSED_ITEM).collect()
    };
    let price = |item: u32| Cents(i64::from(item));
    match kind {
        "lock_district" => Reply::row("3001|0.0200"),
        "select_customer" => Reply::row("0.1000|BAR|GC|0.0500"),
        "select_rates" => Reply::row("0.1000|BAR|GC|0.0500|0.0200"),
        "update_next_order" => Reply::Inserted(3001),
        "select_item" => {
            Reply::rows(used(&params).into_iter().map(|item| format!("{}|name|data", price(item))))
        }
        "select_items" => Reply::rows(
            used(&params).into_iter().map(|item| format!("{item}|{}|name|data", price(item))),
        ),
        "lock_stock" | "lock_stocks" => {
            let (w, items) = (params[0], used(&params[1..]));
            Reply::rows(items.into_iter().map(|item| format!("12|{w}/{item}|data|{item}")))
        }
        "update_stocks" => Reply::Changed(used(&params[61..]).len() as u64),
        "insert_order_lines" => Reply::Changed(params.len() as u64 / 9),
        _ => answer_to_others(kind, &params),
    }
}

fn answer_to_others(kind: &str, params: &[&str]) -> Reply {
    const ADDRESS: &str = "street|street|city|CA|123411111";
    let districts = (1..=10).filter(|district| *district != 4);
    match kind {
        "select_warehouse" => Reply::row(format!("home|{ADDRESS}")),
        "select_district" => Reply::row(format!("part|{ADDRESS}")),
        "select_addresses" => Reply::row(format!("home|{ADDRESS}|part|{ADDRESS}")),
        "select_customers_by_name" => Reply::rows([1_011, 1_012, 1_013, 1_014]),
        "lock_customer" => {
            let is_bad = params[2].parse::<u32>().unwrap() >= BAD_CREDIT;
            let credit = if is_bad { "BC" } else { "GC" };
            let name = "first|OE|last";
            Reply::row(format!("{name}|{ADDRESS}|phone|since|{credit}|50000.00|0.1000|9.00|old"))
        }
        "lock_customer_data" => Reply::row("old"),
        "select_balance" => Reply::row(format!("{}|9.00|first|OE|last", params[2])),
        "select_balance_by_name" => {
            Reply::rows([11, 12, 13].map(|c| format!("{c}|9.00|first|OE|last")))
        }
        "select_last_order" => Reply::row("3001|then|NULL"),
        "select_order_lines" => Reply::rows(["5|1|3|0.15|NULL", "6|1|4|0.24|NULL"]),
        "select_last_order_lines" => Reply::row("3001|then|NULL|5|1|3|0.15|NULL"),
        "lock_oldest_order" if params[1] == "4" => Reply::no_rows(),
        "lock_oldest_order" => Reply::row(2_100 + params[1].parse::<u32>().unwrap()),
        "lock_order" => Reply::row(format!("{}00", params[1])),
        "lock_orders" => Reply::rows(districts.map(|d| format!("{d}|{d}00"))),
        "select_amount" => Reply::row(format!("{}.50", params[1])),
        "select_amounts" => Reply::rows(districts.map(|d| format!("{d}|{d}.50"))),
        "delete_new_orders" | "update_carriers" | "update_balances" => Reply::Changed(9),
        "update_order_lines" => Reply::Changed(10),
        "select_next_order" => Reply::row("3001"),
        "select_low_stock" => Reply::row("4"),
        _ => Reply::Changed(1),
    }
}

fn line(number: u32, supply_warehouse: u32, item: u32, quantity: u32) -> OrderLine {
    OrderLine { item, supply_warehouse, quantity, number }
}

/// Lines of warehouses below and above home, and an item twice.
fn lines() -> Vec<OrderLine> {
    let [below, twice, again, last, above] = [
        line(4, 1, 5, 3),
        line(1, 2, 10, 4),
        line(3, 2, 10, 2),
        line(5, 2, 20, 2),
        line(2, 3, 30, 1),
    ];
    vec![below, twice, again, last, above]
}

pub(super) fn new_order() -> Input {
    Input::NewOrder(NewOrder::of_lines(CUSTOMER, AT, &lines()))
}

pub(super) fn rolled_back_order() -> Input {
    let lines = [&lines()[..], &[line(6, 2, UNUSED_ITEM, 1)]].concat();
    Input::NewOrder(NewOrder::of_lines(CUSTOMER, AT, &lines))
}

pub(super) fn payment(customer: CustomerKey) -> Input {
    Input::Payment(Payment {
        warehouse: 2,
        district: 3,
        customer_warehouse: 5,
        customer_district: 6,
        customer,
        amount: Cents(1_250),
        entered: AT,
    })
}

pub(super) fn order_status(customer: CustomerKey) -> Input {
    Input::OrderStatus(OrderStatus { warehouse: 2, district: 3, customer })
}

pub(super) fn delivery() -> Input {
    Input::Delivery(Delivery { warehouse: 2, carrier: 8, delivered: AT })
}

pub(super) fn stock_level() -> Input {
    Input::StockLevel(StockLevel { warehouse: 2, district: 3, threshold: 15 })
}

fn set_of(style: Style) -> StatementSet {
    StatementSet::Clauses { style, isolation: Isolation::RepeatableRead }
}

pub(super) fn open(server: &ScriptedServer, style: Style) -> PreparedSession<ScriptedSession> {
    let terminal = now(PreparedSession::open(server.session(), set_of(style))).unwrap();
    server.sent();
    terminal
}

fn all_inputs() -> [Input; 8] {
    let [number, name] = [CustomerKey::Number(7), CustomerKey::LastName(7)];
    [
        new_order(),
        rolled_back_order(),
        payment(number),
        payment(name),
        order_status(number),
        order_status(name),
        delivery(),
        stock_level(),
    ]
}

/// How a transaction ends in a style, and what it sends.
fn sent(style: Style, input: &Input) -> (Outcome, Vec<String>) {
    let server = ScriptedServer::new(answer);
    let outcome = now(open(&server, style).run(input)).unwrap();
    (outcome, server.sent())
}

fn strings(of: &[&str]) -> Vec<String> {
    of.iter().map(|text| (*text).to_owned()).collect()
}

/// With commas between what `f` gives of each number.
fn each(numbers: impl IntoIterator<Item = u32>, f: impl Fn(u32) -> String) -> String {
    numbers.into_iter().map(f).collect::<Vec<_>>().join(", ")
}

#[test]
fn single_statements_are_the_same_whether_they_travel_together_or_not() {
    for input in all_inputs() {
        assert_eq!(sent(Style::Statements, &input), sent(Style::Pipelined, &input));
    }
    let server = ScriptedServer::new(answer);
    for (style, is_pipelined) in [
        (Style::Statements, false),
        (Style::Pipelined, true),
        (Style::Batched, true),
        (Style::Procedures, false),
    ] {
        let session = open(&server, style).into_session();
        assert_eq!(session.is_pipelined, is_pipelined, "{style:?}");
        assert_eq!(session.prepared.len(), prepared_statements(style) as usize, "{style:?}");
    }
}

/// Of the lines of an order: what is left of their stock, whether it is remote, their amounts, and
/// the district's own text of each stock row.
#[test]
fn an_order_is_written_line_by_line() {
    let (outcome, sent) = sent(Style::Statements, &new_order());
    assert_eq!(outcome, Outcome::Ordered(3001));
    let reads = [
        "lock_district(2, 3)",
        "select_customer(2, 3, 7)",
        "select_item(5)",
        "lock_stock#3(1, 5)",
        "select_item(10)",
        "lock_stock#3(2, 10)",
        "select_item(10)",
        "lock_stock#3(2, 10)",
        "select_item(20)",
        "lock_stock#3(2, 20)",
        "select_item(30)",
        "lock_stock#3(3, 30)",
    ];
    assert_eq!(sent[..reads.len()], reads);
    let writes = [
        "update_next_order(3001, 2, 3)",
        "insert_order(3001, 3, 2, 7, 2026-11-28 1:2:3, 5, 0)",
        "insert_new_order(3001, 3, 2)",
        "update_stock(100, 3, 1, 1, 5)",
        "insert_order_line(3001, 3, 2, 4, 5, 1, 3, 0.15, '1/5')",
        // The second line takes from what the first has left.
        "update_stock(99, 4, 0, 2, 10)",
        "insert_order_line(3001, 3, 2, 1, 10, 2, 4, 0.40, '2/10')",
        "update_stock(97, 2, 0, 2, 10)",
        "insert_order_line(3001, 3, 2, 3, 10, 2, 2, 0.20, '2/10')",
        "update_stock(10, 2, 0, 2, 20)",
        "insert_order_line(3001, 3, 2, 5, 20, 2, 2, 0.40, '2/20')",
        "update_stock(11, 1, 1, 3, 30)",
        "insert_order_line(3001, 3, 2, 2, 30, 3, 1, 0.30, '3/30')",
    ];
    assert_eq!(sent[reads.len()..sent.len() - 1], writes);
    assert_eq!(sent.last().unwrap(), "COMMIT");
}

#[test]
fn an_order_is_written_in_sets_of_its_home_warehouse() {
    let (outcome, sent) = sent(Style::Batched, &new_order());
    assert_eq!(outcome, Outcome::Committed);
    let again = |member: &str, places: usize| vec![member; places].join(", ");
    let (last_items, last_pairs) = (again("20", 14), again("20, 10", 14));
    let wanted = [
        "update_next_order(2, 3)".to_owned(),
        "select_rates(2, 2, 3, 2, 3, 7)".to_owned(),
        format!("select_items(5, 10, 10, 20, {})", again("30", 11)),
        "lock_stock#3(1, 5)".to_owned(),
        format!("lock_stocks#3(2, 10, {last_items})"),
        "lock_stock#3(3, 30)".to_owned(),
        "insert_order(3, 2, 7, 2026-11-28 1:2:3, 5, 0)".to_owned(),
        "insert_new_order(3, 2)".to_owned(),
        format!(
            "update_stocks(10, 99, {last_pairs}, 10, 4, {}, 2, 10, {last_items})",
            again("20, 2", 14)
        ),
        "update_stock(100, 3, 1, 1, 5)".to_owned(),
        "update_stock(97, 2, 0, 2, 10)".to_owned(),
        "update_stock(11, 1, 1, 3, 30)".to_owned(),
        "insert_order_lines#2(3001, 3, 2, 4, 5, 1, 3, 0.15, '1/5', 3001, 3, 2, 1, 10, 2, 4, 0.40, \
         '2/10', 3001, 3, 2, 3, 10, 2, 2, 0.20, '2/10', 3001, 3, 2, 5, 20, 2, 2, 0.40, '2/20', \
         3001, 3, 2, 2, 30, 3, 1, 0.30, '3/30')"
            .to_owned(),
        "COMMIT".to_owned(),
    ];
    assert_eq!(sent, wanted);
}

#[test]
fn an_order_with_an_unused_item_writes_the_others_and_rolls_back() {
    for (style, only) in [(Style::Statements, "update_stock("), (Style::Batched, "update_stock")] {
        let [whole, unused] = [new_order(), rolled_back_order()].map(|input| sent(style, &input));
        assert_eq!(unused.0, Outcome::RolledBack);
        assert_eq!(unused.1.last().unwrap(), "ROLLBACK");
        let writes = |sent: &[String]| -> Vec<String> {
            let of = sent
                .iter()
                .filter(|sent| sent.starts_with(only) || sent.starts_with("insert_order_line"));
            of.cloned().collect()
        };
        assert_eq!(writes(&unused.1), writes(&whole.1), "{style:?}");
    }
}

#[test]
fn a_payment_is_of_the_customer_where_that_one_lives() {
    let by_number = sent(Style::Statements, &payment(CustomerKey::Number(7)));
    let begin = [
        "update_warehouse(12.50, 2)",
        "select_warehouse(2)",
        "update_district(12.50, 2, 3)",
        "select_district(2, 3)",
    ];
    let end = [
        "lock_customer(5, 6, 7)",
        "update_customer(12.50, 12.50, 5, 6, 7)",
        "insert_history(7, 6, 5, 3, 2, 2026-11-28 1:2:3, 12.50, 'home    part')",
        "COMMIT",
    ];
    assert_eq!(by_number, (Outcome::Committed, strings(&[&begin[..], &end].concat())));
    let batched = sent(Style::Batched, &payment(CustomerKey::Number(7)));
    let begin = [begin[0], begin[2], "select_addresses(2, 2, 3)"];
    assert_eq!(batched, (Outcome::Committed, strings(&[&begin[..], &end].concat())));
}

/// The middle one of the four customers of this name has bad credit.
#[test]
fn a_payment_of_bad_credit_changes_the_data_of_the_customer() {
    let data = "'1012 6 5 3 2 12.50|old'";
    let change = format!("update_customer_data(12.50, 12.50, {data}, 5, 6, 1012)");
    let history =
        "insert_history(1012, 6, 5, 3, 2, 2026-11-28 1:2:3, 12.50, 'home    part')".to_owned();
    let find = ["select_customers_by_name(5, 6, 'BARBARCALLY')", "lock_customer(5, 6, 1012)"];
    let find = find.map(str::to_owned);
    for (style, begin, change) in [
        (
            Style::Statements,
            4,
            vec!["lock_customer_data(5, 6, 1012)".to_owned(), history.clone(), change.clone()],
        ),
        (Style::Batched, 3, vec![change, history]),
    ] {
        let (outcome, sent) = sent(style, &payment(CustomerKey::LastName(7)));
        assert_eq!(outcome, Outcome::Committed);
        let wanted = [&find[..], &change, &["COMMIT".to_owned()]].concat();
        assert_eq!(sent[begin..], wanted, "{style:?}");
    }
}

#[test]
fn an_order_status_is_of_the_last_order_of_the_customer() {
    let by = |customer| order_status(customer);
    let (number, name) = (by(CustomerKey::Number(7)), by(CustomerKey::LastName(7)));
    let lines = "select_order_lines(2, 3, 3001)";
    let wanted = ["select_balance(2, 3, 7)", "select_last_order(2, 3, 7)", lines, "COMMIT"];
    let last_order = |customer| Outcome::LastOrder { customer, order: 3001 };
    assert_eq!(sent(Style::Statements, &number), (last_order(7), strings(&wanted)));
    let by_name = "select_balance_by_name(2, 3, 'BARBARCALLY')";
    let wanted = [by_name, "select_last_order(2, 3, 12)", lines, "COMMIT"];
    assert_eq!(sent(Style::Statements, &name), (last_order(12), strings(&wanted)));
    let wanted = ["select_balance(2, 3, 7)", "select_last_order_lines(2, 3, 7, 2, 3)", "COMMIT"];
    assert_eq!(sent(Style::Batched, &number).1, wanted);
    let wanted = [by_name, "select_last_order_lines(2, 3, 12, 2, 3)", "COMMIT"];
    assert_eq!(sent(Style::Batched, &name).1, wanted);
}

#[test]
fn a_delivery_skips_the_district_without_an_open_order() {
    let (outcome, single) = sent(Style::Statements, &delivery());
    assert_eq!(outcome, Outcome::Delivered { skipped_districts: 1 });
    let locks: Vec<String> = (1..=10).map(|d| format!("lock_oldest_order(2, {d})")).collect();
    let delivered = || (1..=10).filter(|district| *district != 4);
    let of_order = |d: u32| {
        let o = 2_100 + d;
        [
            format!("delete_new_order(2, {d}, {o})"),
            format!("lock_order(2, {d}, {o})"),
            format!("update_carrier(8, 2, {d}, {o})"),
            format!("update_order_lines(2026-11-28 1:2:3, 2, {d}, {o})"),
            format!("select_amount(2, {d}, {o})"),
        ]
    };
    let mut wanted = locks.clone();
    wanted.extend(delivered().flat_map(of_order));
    wanted.extend(delivered().map(|d| format!("update_balance({d}.50, 2, {d}, {d}00)")));
    wanted.push("COMMIT".to_owned());
    assert_eq!(single, wanted);

    let (outcome, batched) = sent(Style::Batched, &delivery());
    assert_eq!(outcome, Outcome::Delivered { skipped_districts: 1 });
    // A pair that matches nothing stands for the district.
    let orders = each(1..=10, |d| format!("{d}, {}", if d == 4 { 0 } else { 2_100 + d }));
    let amounts =
        each(1..=10, |d| if d == 4 { "4, 0.00".to_owned() } else { format!("{d}, {d}.50") });
    let owners = each(1..=10, |d| if d == 4 { "4, 0".to_owned() } else { format!("{d}, {d}00") });
    let mut wanted = locks;
    wanted.extend([
        format!("delete_new_orders(2, {orders})"),
        format!("lock_orders(2, {orders})"),
        format!("update_carriers(8, 2, {orders})"),
        format!("update_order_lines(2026-11-28 1:2:3, 2, {orders})"),
        format!("select_amounts(2, {orders})"),
        format!("update_balances({amounts}, 2, {owners})"),
        "COMMIT".to_owned(),
    ]);
    assert_eq!(batched, wanted);
}

#[test]
fn a_delivery_without_any_open_order_changes_nothing() {
    for style in [Style::Statements, Style::Batched] {
        let server = ScriptedServer::new(|statement| match statement {
            of if of.starts_with("lock_oldest_order") => Reply::no_rows(),
            other => answer(other),
        });
        let outcome = now(open(&server, style).run(&delivery())).unwrap();
        assert_eq!(outcome, Outcome::Delivered { skipped_districts: 10 });
        let sent = server.sent();
        assert_eq!((sent.len(), sent.last().unwrap().as_str()), (11, "COMMIT"), "{style:?}");
    }
}

#[test]
fn a_stock_level_looks_at_the_last_twenty_orders() {
    let (outcome, single) = sent(Style::Statements, &stock_level());
    assert_eq!(outcome, Outcome::OrdersBelow(3001));
    let wanted = ["select_next_order(2, 3)", "select_low_stock(2, 3, 2981, 3001, 15)", "COMMIT"];
    assert_eq!(single, wanted);
    let batched = sent(Style::Batched, &stock_level()).1;
    assert_eq!(batched, ["select_low_stock(2, 3, 2, 3, 15)", "COMMIT"]);
}
