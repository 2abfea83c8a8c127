//! One seed, one database: whatever the threads and the way of loading. And its size is that of the
//! clauses.

use crate::support::{
    Held, Ran, Server, directory, execute, lent, mydyno, number, query, text, value,
};
use serde_json::Value;

const WAREHOUSES: u64 = 1;

fn load(dsn: &str, arguments: &[&str]) -> Ran {
    let work = directory();
    mydyno(["load", "--json", "--dsn", dsn])
        .and_args(arguments)
        .in_directory(work.path())
        .run()
        .exits(0)
}

/// Name, rows and checksum of each table, as mydyno computed them.
fn checksums(load: &Value) -> Vec<(String, u64, String)> {
    let of = |table: &Value| {
        let text = |key| text(table, key).to_owned();
        (text("/name"), number(table, "/rows"), text("/checksum"))
    };
    load["tables"].as_array().unwrap().iter().map(of).collect()
}

/// The server's own checksum of each table.
fn server_checksums(dsn: &str) -> Vec<String> {
    let mut session = Held::open(dsn);
    let mut one = |table: tpcc::Table| {
        let rows = session.query(&format!("CHECKSUM TABLE {table}"));
        let (_, checksum) = rows[0].split_once('|').unwrap();
        format!("{table} {checksum}")
    };
    tpcc::Table::ALL.map(&mut one).to_vec()
}

#[test]
fn a_run_draws_its_inputs_and_says_which() {
    let server = lent();
    let work = directory();
    let run = |more: &[&str]| {
        mydyno(["run", "--dsn", &server.dsn, "-c", "2", "--warmup", "0"])
            .and_args(["--window", "1s", "--json", "--threads", "2"])
            .and_args(more)
            .in_directory(work.path())
            .run()
            .exits(0)
            .json()
    };
    let (first, second) = (run(&[]), run(&[]));
    let seed = number(&first, "/seed");
    assert_ne!(seed, number(&second, "/seed"));
    assert_eq!(number(&first, "/driver_threads"), 2);
    // It is what the inputs derive from: the same come again.
    let again = run(&["--seed", &seed.to_string()]);
    assert_eq!(number(&again, "/seed"), seed);
    let stored = crate::support::results(
        &work.path().join("mydyno.db"),
        "SELECT seed, driver_threads FROM repeat ORDER BY id",
    );
    let expected = [&first, &second, &again].map(|run| number(run, "/seed").to_string());
    for (row, seed) in stored.iter().zip(expected) {
        assert_eq!(*row, [seed, "2".to_owned()]);
    }
}

#[test]
fn equal_seeds_give_equal_databases() {
    let server = Server::quick("mysql-5.7", &[]);
    let (one, other, third) =
        (server.schema("one"), server.schema("other"), server.schema("third"));
    let first = load(&one, &["-w", "1", "--seed", "7", "--threads", "1"]);
    assert!(!first.stderr.contains("local_infile"), "{}", first.stderr);
    let first = first.json();
    assert_eq!(text(&first, "/method"), "local_infile");
    assert_eq!(number(&first, "/threads"), 1);

    execute(&server.dsn, ["SET GLOBAL local_infile = OFF"]);
    let second = load(&other, &["-w", "1", "--seed", "7", "--threads", "4"]).says(&[
        "note: local_infile is off",
        "multi-row INSERT",
        "SET GLOBAL local_infile = 1",
    ]);
    let second = second.json();
    assert_eq!(text(&second, "/method"), "inserts");
    assert_eq!(number(&second, "/threads"), 4);
    execute(&server.dsn, ["SET GLOBAL local_infile = ON"]);

    assert_eq!(checksums(&first), checksums(&second));
    let in_server = server_checksums(&one);
    assert_eq!(in_server, server_checksums(&other));
    rows_are_those_of_the_clauses(&one, &first);
    mydyno(["check", "--dsn", &one]).run().exits(0);

    let third_load =
        load(&third, &["-w", "2", "--seed", "8", "--foreign-keys=false", "--partitions", "2"]);
    let third_load = third_load.json();
    // There are as many items in two warehouses as in one.
    let items = |load| checksums(load).into_iter().find(|(name, ..)| name == "item").unwrap();
    assert_ne!(items(&first), items(&third_load));
    assert_ne!(in_server, server_checksums(&third));
    foreign_keys_are_as_asked(&one, 10);
    foreign_keys_are_as_asked(&third, 0);
    assert_eq!(third_load["foreign_keys"], false);
    assert_eq!(number(&third_load, "/partitions"), 2);
    partitions_are_as_asked(&third);
    let work = directory();
    let ran =
        mydyno(["run", "--dsn", &third, "-c", "2", "--warmup", "0", "--window", "2s", "--check"])
            .and_args(["--json"])
            .in_directory(work.path())
            .run()
            .exits(0)
            .json();
    assert_eq!(number(&ran, "/partitions"), 2);
    assert_eq!(ran["checks"].as_array().unwrap().len(), 18);
}

/// Every table whose primary key has the warehouse, with a warehouse in each partition.
fn partitions_are_as_asked(dsn: &str) {
    let mut split = query(
        dsn,
        "SELECT table_name, COUNT(*) FROM information_schema.partitions \
         WHERE table_schema = DATABASE() AND partition_name IS NOT NULL GROUP BY 1",
    );
    split.sort();
    let expected =
        ["customer", "district", "new_orders", "order_line", "orders", "stock", "warehouse"];
    assert_eq!(split, expected.map(|table| format!("{table}|2")));
    for partition in ["p0", "p1"] {
        let count = value(dsn, &format!("SELECT COUNT(*) FROM district PARTITION ({partition})"));
        assert_eq!(count, "10", "{partition}");
    }
}

/// Clause 4.3.3.1 and the cardinalities of clause 1.2.1.
fn rows_are_those_of_the_clauses(dsn: &str, load: &Value) {
    let lines: u64 = value(dsn, "SELECT SUM(o_ol_cnt) FROM orders").parse().unwrap();
    let mut total = 0;
    for (name, rows, _) in checksums(load) {
        let expected = match name.as_str() {
            "warehouse" => WAREHOUSES,
            "district" => 10 * WAREHOUSES,
            "customer" | "history" | "orders" => 30_000 * WAREHOUSES,
            "new_orders" => 9_000 * WAREHOUSES,
            "stock" => 100_000 * WAREHOUSES,
            "item" => 100_000,
            "order_line" => lines,
            _ => panic!("{name} is no table of TPC-C"),
        };
        assert_eq!(rows, expected, "{name}");
        let counted = value(dsn, &format!("SELECT COUNT(*) FROM {name}"));
        assert_eq!(counted, expected.to_string(), "{name} in the server");
        total += rows;
    }
    assert_eq!(number(load, "/rows"), total);
    // 5 to 15 lines per order, 10 on average.
    let average = lines as f64 / (30_000 * WAREHOUSES) as f64;
    assert!((9.9..10.1).contains(&average), "{average}");
}

fn foreign_keys_are_as_asked(dsn: &str, expected: usize) {
    let sql = "SELECT constraint_name FROM information_schema.referential_constraints \
               WHERE constraint_schema = DATABASE()";
    let present = query(dsn, sql);
    assert_eq!(present.len(), expected, "{present:?}");
}
