//! All styles do the same work: equal databases and equal inputs, one after another, end in equal
//! databases.

use crate::support::{
    QUICK, Server, connect_options, directory, execute, mydyno, query, without_its_rows,
};
use base::{Connect, Random, Session, Warehouses};
use spec::{Isolation, Style};
use std::collections::BTreeSet;
use tpcc::transactions::{Outcome, PreparedSession, StatementSet, procedures};
use tpcc::{Input, InputSource, NewOrder, RunConstants, Transaction};
use wire::Connector;

const WAREHOUSES: Warehouses = Warehouses(2);
const TABLES: &str =
    "warehouse, district, customer, history, orders, new_orders, order_line, item, stock";

/// How an order differs from most: items that it has twice, remote lines below and above home, its
/// rollback.
fn peculiarities(order: &NewOrder) -> Vec<&'static str> {
    let lines = order.lines();
    let pairs = || lines.windows(2).map(|pair| (pair[0], pair[1]));
    let twice = |remote: bool| {
        pairs().any(|(a, b)| {
            (a.item, a.supply_warehouse) == (b.item, b.supply_warehouse)
                && (a.supply_warehouse != order.warehouse) == remote
        })
    };
    let split = pairs().any(|(a, b)| a.item == b.item && a.supply_warehouse != b.supply_warehouse);
    let all = [
        (twice(false), "an item twice"),
        (twice(true), "a remote item twice"),
        (split, "an item from two warehouses"),
        (lines.iter().any(|l| l.supply_warehouse < order.warehouse), "remote below home"),
        (lines.iter().any(|l| l.supply_warehouse > order.warehouse), "remote above home"),
        (order.rolls_back, "a rollback"),
        (order.rolls_back && order.remote_lines() > 0, "a rollback with a remote line"),
    ];
    all.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect()
}

/// Inputs as they come, and then orders that are rare: some of each peculiarity that turns up.
fn inputs() -> Vec<Input> {
    let constants = RunConstants::for_run(Some(1), 1);
    let mut source = InputSource::new(Random::new(9, &[]), constants, WAREHOUSES, None);
    let mut inputs: Vec<Input> = (0..400).map(|_| source.next_input()).collect();
    let mut seen = std::collections::BTreeMap::<&str, u32>::new();
    for _ in 0..400_000 {
        let Input::NewOrder(order) = source.input_of(Transaction::NewOrder) else {
            panic!("it is a New-Order")
        };
        let rare = peculiarities(&order);
        if rare.iter().any(|name| seen.get(name).is_none_or(|&n| n < 5)) {
            rare.into_iter().for_each(|name| *seen.entry(name).or_default() += 1);
            inputs.push(Input::NewOrder(order));
        }
    }
    let names: BTreeSet<&str> = seen.keys().copied().collect();
    for wanted in
        ["an item twice", "remote below home", "remote above home", "a rollback with a remote line"]
    {
        assert!(names.contains(wanted), "{names:?}");
    }
    // Deliveries until districts have nothing more to deliver would take 900 each; some, one after
    // another.
    inputs.extend((0..20).map(|_| source.input_of(Transaction::Delivery)));
    inputs
}

/// Has the server take its two warehouses for 1,600, as its own statistics of larger tables do: an
/// optimizer that believes them reads all stock of a warehouse for an order. MariaDB reads what is
/// stored of a table again where the table has another name.
fn mislead_about_stock(dsn: &str, schema: &str) {
    let statistics = format!(
        "UPDATE mysql.innodb_index_stats SET stat_value = 1600 WHERE database_name = '{schema}' \
         AND table_name = 'stock' AND index_name = 'PRIMARY' AND stat_name = 'n_diff_pfx01'"
    );
    let rename = |from: &str, to: &str| format!("RENAME TABLE {schema}.{from} TO {schema}.{to}");
    execute(dsn, [statistics, rename("stock", "renamed"), rename("renamed", "stock")]);
}

/// Does all of it over one connection; how each ended, and the checksum of each table after it.
fn work(dsn: &str, style: Style, inputs: &[Input]) -> (Vec<Outcome>, Vec<String>) {
    let connector = Connector::new(connect_options(dsn)).unwrap();
    let outcomes = reactor::block_on(async {
        let mut session = connector.connect().await.unwrap();
        if style == Style::Procedures {
            procedures::install(&mut session).await.unwrap();
        }
        let isolation = Isolation::RepeatableRead;
        let statements = StatementSet::Clauses { style, isolation };
        let mut terminal = PreparedSession::open(session, statements).await.unwrap();
        let mut outcomes = Vec::new();
        for input in inputs {
            let outcome = terminal.run(input).await;
            let outcome =
                outcome.unwrap_or_else(|failure| panic!("{style:?} {input:?}: {failure}"));
            outcomes.push(without_its_rows(outcome));
        }
        let mut session = terminal.into_session();
        session.query("COMMIT").await.unwrap();
        let status = session.query("SHOW SESSION STATUS LIKE 'Handler_read_next'").await.unwrap();
        let rows_read: usize = status.row(0).unwrap().text(1).parse().unwrap();
        // A Stock-Level reads 200 lines, a Delivery 10 orders' lines twice.
        assert!(
            rows_read < 200 * inputs.len(),
            "{style:?} read {rows_read} rows of indexes in order"
        );
        outcomes
    })
    .unwrap();
    let checksums = query(dsn, &format!("CHECKSUM TABLE {TABLES}"));
    let without_schema = |line: String| line.split_once('.').unwrap().1.to_owned();
    (outcomes, checksums.into_iter().map(without_schema).collect())
}

fn all_styles_on(engine: &str) {
    let work_directory = directory();
    let settings: &[&str] = match engine {
        "mariadb-10.11" => &["innodb_flush_log_at_trx_commit=0", "innodb_log_file_size=16M"],
        _ => &QUICK,
    };
    let server = Server::start(engine, settings);
    let inputs = inputs();
    let mut first: Option<(Vec<Outcome>, Vec<String>)> = None;
    for style in Style::ALL {
        let dsn = server.schema(style.name());
        mydyno(["load", "--dsn", &dsn, "-w", "2", "--seed", "1"])
            .in_directory(work_directory.path())
            .run()
            .exits(0);
        mislead_about_stock(&dsn, style.name());
        let done = work(&dsn, style, &inputs);
        let wanted = first.get_or_insert_with(|| done.clone());
        assert_eq!(done.0, wanted.0, "how transactions ended in {style:?}");
        assert_eq!(done.1, wanted.1, "tables after {style:?}");
    }
}

engines! {
    all_styles_on;
    soak: mysql_5_7, mariadb_10_11;
}
