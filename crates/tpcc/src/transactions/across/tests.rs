//! Over two servers: the first has warehouses 1 and 2, the second warehouses 3 and 4.

use crate::client::TerminalClient;
use crate::input::{CustomerKey, Input, NewOrder, OrderLine, Payment, UNUSED_ITEM};
use crate::tests::scripted::{Reply, ScriptedServer, now, shard_of};
use crate::transactions::StatementSet;
use crate::transactions::tests::{AT, answer};
use crate::xa::XaRun;
use crate::{CustomerId, Database, Homes, RunConstants, ShardRanges, TpccOptions, TpccWorkload};
use base::{Cents, WarehouseRange, Warehouses};
use drive::{Attempt, Client, Failed, FailureKind, Opening, Schemas, Workload};
use spec::{Isolation, Style, Topology};

const WAREHOUSES: Warehouses = Warehouses(4);

fn shard(range: WarehouseRange) -> Database {
    shard_of(WAREHOUSES, range)
}

/// Of connections to both servers, the first of which is at home on the first.
fn workload(one: &ScriptedServer, two: &ScriptedServer) -> TpccWorkload<ScriptedServer> {
    let shards: Vec<Database> =
        WarehouseRange::all(WAREHOUSES).divided(2).into_iter().map(shard).collect();
    let options = TpccOptions {
        statements: StatementSet::Clauses {
            style: Style::Statements,
            isolation: Isolation::RepeatableRead,
        },
        constants: RunConstants::for_run(None, 1),
        warehouses: WAREHOUSES,
        seed: 1,
        homes: Homes::None,
        configured: WAREHOUSES,
        open_orders_have_no_gaps: true,
        shards: Some(ShardRanges::of(&shards).unwrap()),
        xa: Some(XaRun::new("test")),
        witness: None,
    };
    let schemas = Schemas::new(one.clone(), vec![two.clone()], Topology::Shards);
    TpccWorkload::new(schemas, options)
}

/// Answers as [`answer`] does, but for what begins with some text.
fn server_but(of: &'static str, reply: Reply) -> ScriptedServer {
    ScriptedServer::new(move |statement| match statement {
        _ if statement.starts_with(of) => reply.clone(),
        "SELECT DATABASE()" => Reply::row("tpcc"),
        _ if statement.contains("GET_LOCK") => Reply::row(1),
        _ if statement == "XA RECOVER" => Reply::no_rows(),
        _ => answer(statement),
    })
}

fn servers(first: (&'static str, Reply), second: (&'static str, Reply)) -> [ScriptedServer; 2] {
    let one = server_but(first.0, first.1);
    let two = one.beside("2: ", server_but(second.0, second.1));
    [one, two]
}

const AS_USUAL: (&str, Reply) = ("nothing", Reply::Lost);

fn opened(servers: &[ScriptedServer; 2], earlier: u32) -> TerminalClient<ScriptedServer> {
    let [one, two] = servers;
    let client = now(workload(one, two).open(Opening { connection: 0, earlier }));
    client.unwrap_or_else(|failed| panic!("{failed:?}"))
}

/// What was sent, with the names of transactions left out.
fn sent(servers: &[ScriptedServer; 2]) -> Vec<String> {
    let plain = |sql: String| match sql.split_once(" 'mydyno") {
        Some((verb, _)) => verb.to_owned(),
        None => sql,
    };
    servers[0].sent().into_iter().map(plain).collect()
}

fn line(number: u32, supply_warehouse: u32, item: u32) -> OrderLine {
    OrderLine { item, supply_warehouse, quantity: 2, number }
}

fn new_order(lines: &[OrderLine]) -> Input {
    let customer = CustomerId { warehouse: 2, district: 3, number: 7 };
    Input::NewOrder(NewOrder::of_lines(customer, AT, lines))
}

/// Lines of both shards.
fn crossing() -> Vec<OrderLine> {
    vec![line(1, 1, 5), line(3, 2, 10), line(2, 3, 5), line(4, 4, 20)]
}

fn payment(customer_warehouse: u32, customer: CustomerKey) -> Input {
    Input::Payment(Payment {
        warehouse: 2,
        district: 3,
        customer_warehouse,
        customer_district: 6,
        customer,
        amount: Cents(1_250),
        entered: AT,
    })
}

#[test]
fn an_order_takes_each_stock_where_it_is() {
    let servers = servers(AS_USUAL, AS_USUAL);
    let mut client = opened(&servers, 0);
    sent(&servers);
    client.begin();
    let before = client.statements();
    assert_eq!(now(client.attempt(&new_order(&crossing()))), Attempt::Committed);
    let sent = sent(&servers);
    let wanted = [
        "XA START",
        "2: XA START",
        "lock_district(2, 3)",
        "select_customer(2, 3, 7)",
        "select_item(5)",
        "select_item(10)",
        "select_item(5)",
        "select_item(20)",
        "lock_stock#3(1, 5)",
        "lock_stock#3(2, 10)",
        "2: lock_stock#3(3, 5)",
        "2: lock_stock#3(4, 20)",
        "update_next_order(3001, 2, 3)",
        "insert_order(3001, 3, 2, 7, 2026-11-28 1:2:3, 4, 0)",
        "insert_new_order(3001, 3, 2)",
        "update_stock(10, 2, 1, 1, 5)",
        "insert_order_line(3001, 3, 2, 1, 5, 1, 2, 0.10, '1/5')",
        "update_stock(10, 2, 0, 2, 10)",
        "insert_order_line(3001, 3, 2, 3, 10, 2, 2, 0.20, '2/10')",
        "2: update_stock(10, 2, 1, 3, 5)",
        "insert_order_line(3001, 3, 2, 2, 5, 3, 2, 0.10, '3/5')",
        "2: update_stock(10, 2, 1, 4, 20)",
        "insert_order_line(3001, 3, 2, 4, 20, 4, 2, 0.40, '4/20')",
        // The branch at home is prepared and committed first: it decides.
        "XA END",
        "XA PREPARE",
        "2: XA END",
        "2: XA PREPARE",
        "XA COMMIT",
        "2: XA COMMIT",
    ];
    assert_eq!(sent, wanted);
    // Statements and their times are those of both servers.
    assert_eq!(client.statements() - before, wanted.len() as u64);
    assert_eq!(client.statement_times().times.len(), wanted.len());
    client.begin();
    assert!(client.statement_times().times.is_empty());
}

#[test]
fn a_payment_finds_its_customer_on_another_shard() {
    for (customer, find, change) in [
        (CustomerKey::Number(7), vec![], vec!["2: update_customer(12.50, 12.50, 3, 6, 7)"]),
        (
            CustomerKey::LastName(7),
            vec!["2: select_customers_by_name(3, 6, 'BARBARCALLY')"],
            vec![
                "2: lock_customer_data(3, 6, 1012)",
                "2: update_customer_data(12.50, 12.50, '1012 6 3 3 2 12.50|old', 3, 6, 1012)",
            ],
        ),
    ] {
        let servers = servers(AS_USUAL, AS_USUAL);
        let mut client = opened(&servers, 0);
        sent(&servers);
        assert_eq!(now(client.attempt(&payment(3, customer))), Attempt::Committed);
        let number = if find.is_empty() { 7 } else { 1_012 };
        let (lock, history) = (
            format!("2: lock_customer(3, 6, {number})"),
            format!(
                "insert_history({number}, 6, 3, 3, 2, 2026-11-28 1:2:3, 12.50, 'home    part')"
            ),
        );
        let begin = [
            "XA START",
            "2: XA START",
            "update_warehouse(12.50, 2)",
            "select_warehouse(2)",
            "update_district(12.50, 2, 3)",
            "select_district(2, 3)",
        ];
        let middle = [&find[..], &[&lock], &change, &[&history]].concat();
        let sent = sent(&servers);
        assert_eq!(sent[..begin.len()], begin);
        assert_eq!(sent[begin.len()..sent.len() - 6], middle);
    }
}

#[test]
fn what_stays_on_its_shard_needs_no_xa() {
    let servers = servers(AS_USUAL, AS_USUAL);
    let mut client = opened(&servers, 0);
    let unused = [line(1, 1, 5), line(2, 2, 10), line(3, 4, UNUSED_ITEM)];
    for (input, ended) in [
        (payment(1, CustomerKey::Number(7)), Attempt::Committed),
        // An unused item has no stock, wherever it is asked for.
        (new_order(&unused), Attempt::RolledBack),
    ] {
        sent(&servers);
        assert_eq!(now(client.attempt(&input)), ended);
        let sent = sent(&servers);
        assert!(
            !sent.iter().any(|sql| sql.starts_with("XA") || sql.starts_with("2: ")),
            "{sent:?}"
        );
    }
}

#[test]
fn an_order_that_rolls_back_does_so_on_both_shards() {
    let servers = servers(AS_USUAL, AS_USUAL);
    let mut client = opened(&servers, 0);
    sent(&servers);
    let lines = [&crossing()[..], &[line(5, 2, UNUSED_ITEM)]].concat();
    assert_eq!(now(client.attempt(&new_order(&lines))), Attempt::RolledBack);
    let sent = sent(&servers);
    let end = ["2: XA END", "2: XA ROLLBACK", "XA END", "XA ROLLBACK"];
    assert_eq!(sent[sent.len() - 4..], end);
}

fn kind(attempt: Attempt) -> FailureKind {
    match attempt {
        Attempt::Failed(failed) => failed.kind,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failure_before_the_commit_rolls_back_on_both_shards() {
    let refused = |of| (of, Reply::Refused(1213));
    for (first, second) in [
        (refused("lock_district"), AS_USUAL),
        (AS_USUAL, refused("lock_stock")),
        (AS_USUAL, refused("XA PREPARE")),
        (AS_USUAL, ("update_stock", Reply::Changed(0))),
        (("insert_order_line", Reply::Changed(0)), AS_USUAL),
    ] {
        let shown = format!("{first:?} {second:?}");
        let is_missing =
            matches!((&first.1, &second.1), (Reply::Changed(0), _) | (_, Reply::Changed(0)));
        let servers = servers(first, second);
        let mut client = opened(&servers, 0);
        sent(&servers);
        let wanted = if is_missing { FailureKind::Fatal } else { FailureKind::Deadlock };
        assert_eq!(kind(now(client.attempt(&new_order(&crossing())))), wanted, "{shown}");
        let sent = sent(&servers);
        let end = ["2: XA END", "2: XA ROLLBACK", "XA END", "XA ROLLBACK"];
        assert_eq!(sent[sent.len() - 4..], end, "{shown}");
    }
}

/// Whatever the home server says to XA COMMIT: whether it is committed the shards alone tell.
#[test]
fn a_commit_that_fails_at_home_is_in_doubt() {
    for reply in [Reply::Lost, Reply::Refused(1402)] {
        let servers = servers(("XA COMMIT", reply), AS_USUAL);
        let mut client = opened(&servers, 0);
        let failed = kind(now(client.attempt(&new_order(&crossing()))));
        assert_eq!(failed, FailureKind::Lost { in_doubt: true });
        assert!(!sent(&servers).contains(&"2: XA COMMIT".to_owned()));
    }
}

#[test]
fn a_branch_that_stays_prepared_ends_the_connection_after_its_transaction() {
    let servers = servers(AS_USUAL, ("XA COMMIT", Reply::Refused(1205)));
    let mut client = opened(&servers, 0);
    assert_eq!(now(client.attempt(&new_order(&crossing()))), Attempt::Committed);
    sent(&servers);
    let next = kind(now(client.attempt(&payment(2, CustomerKey::Number(7)))));
    assert_eq!(next, FailureKind::Lost { in_doubt: false });
    assert!(sent(&servers).is_empty(), "nothing is asked any more");
}

#[test]
fn what_a_server_has_rolled_back_itself_need_not_be() {
    for (code, is_rolled_back) in
        [(1397, true), (1402, true), (1613, true), (1614, true), (1399, false)]
    {
        let second = ("XA ROLLBACK", Reply::Refused(code));
        let servers = servers(("lock_district", Reply::Refused(1213)), second);
        let mut client = opened(&servers, 0);
        let failed = kind(now(client.attempt(&new_order(&crossing()))));
        let lost = FailureKind::Lost { in_doubt: false };
        assert_eq!(failed, if is_rolled_back { FailureKind::Deadlock } else { lost }, "{code}");
    }
    let servers = servers(("lock_district", Reply::Refused(1213)), ("XA END", Reply::Lost));
    let failed = kind(now(opened(&servers, 0).attempt(&new_order(&crossing()))));
    assert_eq!(failed, FailureKind::Lost { in_doubt: false });
}

#[test]
fn a_connection_holds_its_lock_on_each_server_and_resolves_what_it_left() {
    let owner = XaRun::new("test").owner(0);
    for earlier in [0, 1] {
        let servers = servers(AS_USUAL, AS_USUAL);
        let client = opened(&servers, earlier);
        let sent = servers[0].sent();
        let locks = [
            format!("SELECT GET_LOCK('{owner}', 10)"),
            format!("2: SELECT GET_LOCK('{owner}', 10)"),
        ];
        assert_eq!(sent[..2], locks);
        let resolves = sent.iter().filter(|sql| sql.ends_with("XA RECOVER")).count();
        assert_eq!(resolves, if earlier > 0 { 2 } else { 0 });
        now(client.close());
        assert_eq!(servers[0].sent(), ["close", "2: close"]);
    }
}

#[test]
fn a_connection_that_gets_no_lock_says_why() {
    let failed = |reply| -> Failed {
        let [one, two] = servers(AS_USUAL, ("SELECT GET_LOCK", reply));
        match now(workload(&one, &two).open(Opening { connection: 0, earlier: 0 })) {
            Ok(_) => panic!("it opened"),
            Err(failed) => failed,
        }
    };
    let may_pass = FailureKind::Lost { in_doubt: false };
    for (reply, code, kind) in [
        (Reply::row(0), "busy", may_pass),
        (Reply::Refused(1235), "no_locks", FailureKind::Fatal),
        (Reply::Refused(1044), "1044", FailureKind::Fatal),
        (Reply::Lost, "lost", may_pass),
    ] {
        let failed = failed(reply);
        assert_eq!((failed.code.as_ref(), failed.kind), (code, kind));
    }
}
