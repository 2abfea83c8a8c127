//! Compatibility with tpcc-mysql: its statements, its output, its several schemas, and a database
//! as its loader makes one.

use crate::support::{
    Held, Mydyno, Server, directory, execute, lent, mydyno, number, query, result, text, value,
};
use serde_json::Value;
use std::sync::LazyLock;
use tempfile::TempDir;

static WORK: LazyLock<TempDir> = LazyLock::new(directory);

fn load(dsn: &str, arguments: &[&str]) -> Mydyno {
    mydyno(["load", "--json", "--dsn", dsn]).and_args(arguments).in_directory(WORK.path())
}

fn run(dsn: &str, arguments: &[&str]) -> Mydyno {
    run_for("2", dsn, arguments)
}

fn run_for(window: &str, dsn: &str, arguments: &[&str]) -> Mydyno {
    mydyno(["run", "--dsn", dsn, "--warmup", "1", "--window", window])
        .and_args(arguments)
        .in_directory(WORK.path())
}

/// Names of the checks that did not hold.
fn failed(document: &Value) -> Vec<&str> {
    let checks = document["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 18);
    let failed = checks.iter().filter(|check| check["passed"] == false);
    failed.map(|check| text(check, "/name")).collect()
}

#[track_caller]
fn counts_are_equal(summary: &Value) {
    assert_eq!(
        number(summary, "/new_orders_in_database"),
        number(summary, "/new_orders_committed_by_driver")
    );
    assert!(number(summary, "/new_orders_committed_by_driver") > 0);
    assert_eq!(
        summary["errors"].as_array().unwrap().iter().filter(|e| e["code"] != "1213").count(),
        0
    );
}

#[test]
fn its_statements_on_a_database_of_ours() {
    let server = Server::loaded("mysql-5.7", &[]);
    let dsn = &server.dsn;
    // Enough connections on one warehouse that two Deliveries would take one order, if they could.
    let arguments = ["--workload", "tpcc-mysql", "-c", "8", "--check", "--json"];
    let summary = run(dsn, &arguments)
        .run()
        .exits(0)
        .says(&["note: workload tpcc-mysql keeps", "which is expected"])
        .json();
    assert_eq!(text(&summary, "/workload"), "tpcc-mysql");
    assert_eq!(text(&summary, "/style"), "statements");
    assert_eq!(number(&summary, "/schemas"), 1);
    counts_are_equal(&summary);
    assert_eq!(failed(&summary), ["C12", "X1", "X2", "X4"]);
    let per_new_order = summary["statements_per_new_order"].as_f64().unwrap();
    // 46 by New-Order, 10 by Payment, 8 by Delivery, 18 by Stock-Level and a few; it is a short
    // run.
    assert!((70.0..105.0).contains(&per_new_order), "{per_new_order}");
    // Whole amounts, and c_data of bad credit is written.
    let cents = "SELECT COUNT(*) FROM history WHERE h_amount <> FLOOR(h_amount)";
    assert_eq!(value(dsn, cents), "0");
    let written = "SELECT COUNT(*) > 0, MIN(LENGTH(c_data)) > 300 FROM customer WHERE c_data LIKE \
        '| %' AND c_credit = 'BC'";
    assert_eq!(query(dsn, written), ["1|1"]);

    // The database remembers, and says what it can no longer prove; a fault beyond that is still
    // found.
    let checked = mydyno(["check", "--dsn", dsn, "--json"]).run().exits(0).json();
    assert_eq!(failed(&checked), ["C12", "X1", "X2", "X4"]);
    assert!(checked["notes"].to_string().contains("tpcc-mysql has run"));
    query(dsn, "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 1");
    let broken = mydyno(["check", "--dsn", dsn, "--json"]).run().exits(6).json();
    assert!(failed(&broken).contains(&"C1"));
    load(dsn, &["-w", "1", "--force"]).run().exits(0);
    let anew = mydyno(["check", "--dsn", dsn, "--json"]).run().exits(0).json();
    assert_eq!(failed(&anew), Vec::<&str>::new());
}

/// Lines of the format, without those before the banner.
fn lines_of<'a>(printed: &'a str, password: &str) -> Vec<&'a str> {
    assert!(!printed.contains(password), "{printed}");
    let lines: Vec<&str> = printed.lines().skip_while(|line| line.starts_with("# ")).collect();
    assert_eq!(lines[1], "*** ###easy### TPC-C Load Generator ***");
    for line in [
        "option c with value '3'",
        "  [warehouse]: 1",
        "RAMP-UP TIME.(1 sec.)",
        "MEASURING START.",
        "STOPPING THREADS...",
        " in 4 sec.",
    ] {
        assert!(lines.contains(&line), "{line}: {printed}");
    }
    lines
}

/// What `tpcc_start` prints, by the words that scripts look for.
#[test]
fn its_output() {
    let server = Server::loaded("mysql-5.7", &[]);
    for workload in ["tpcc-mysql", "tpcc"] {
        let ran = run_for("4", &server.dsn, &["--workload", workload, "--format", "tpcc-mysql"])
            .and_args(["-c", "3", "--interval", "2"])
            .run()
            .exits(0);
        let lines = lines_of(&ran.stdout, server.password());
        let number_behind = |line: &str, word: &str| -> Option<u64> {
            let rest = line.split_once(word)?.1;
            rest.split([',', ' ']).next()?.parse().ok()
        };
        let intervals: Vec<(&str, u64)> = lines
            .iter()
            .filter_map(|line| Some((*line, number_behind(line, ", trx: ")?)))
            .collect();
        assert_eq!(intervals.len(), 2, "{}", ran.stdout);
        assert!(intervals[0].0.starts_with("   2, ") && intervals[1].0.starts_with("   4, "));
        let success = lines.iter().find_map(|line| number_behind(line, "  [0] sc:"));
        let success = success.unwrap();
        assert_eq!(intervals[0].1 + intervals[1].1, success);
        let tpmc = lines.iter().find_map(|line| line.strip_suffix(" TpmC"));
        let tpmc: f64 = tpmc.unwrap().trim().parse().unwrap();
        // Of the window as it was, which is 4 s to some ms.
        let nopm = success as f64 * 15.0;
        assert!((tpmc / nopm - 1.0).abs() < 0.2, "{tpmc} {nopm}");
    }
}

#[test]
fn contradictions_are_usage_errors() {
    let dsn = "mysql://me@127.0.0.1:1/tpcc";
    let tool = "tpcc-mysql";
    for (arguments, words) in [
        // Unit tests hold the others.
        (&["--format", tool, "--json"][..], "cannot be used with"),
        (&["--workload", tool, "--style", "batched"], "leave the style out"),
    ] {
        run(dsn, arguments).run().exits(2).says(&[words]);
    }
    for command in ["run", "load", "check"] {
        mydyno([command, "--engine", "mysql-5.7", "--schemas", "2"])
            .in_directory(WORK.path())
            .run()
            .exits(2)
            .says(&["server start", "name it by --dsn"]);
    }
}

#[test]
#[ignore = "make soak"]
fn several_schemas_are_driven_and_proven_together() {
    let work = directory();
    let server = lent();
    let dsn = server.schema("many");
    let loaded = load(&dsn, &["--schemas", "2", "-w", "1"]).run().exits(0).json();
    assert_eq!(number(&loaded, "/schemas"), 2);
    assert_eq!(loaded["loads"][0]["tables"], loaded["loads"][1]["tables"]);
    assert!(text(&loaded, "/loads/1/target").ends_with("/many_1"));
    for workload in ["tpcc", "tpcc-mysql"] {
        let before: Vec<String> = [0, 1].map(|i| orders(&server, i)).to_vec();
        let arguments = ["--schemas", "2", "--workload", workload, "-c", "3", "--check", "--json"];
        let summary = run(&dsn, &arguments).in_directory(work.path()).run().exits(0).json();
        counts_are_equal(&summary);
        assert_eq!(number(&summary, "/schemas"), 2);
        assert_eq!(number(&summary, "/warehouses"), 1);
        assert!((0..2).all(|i| orders(&server, i) != before[i]), "both were driven");
    }
    let last = "SELECT schemas FROM cell ORDER BY id DESC LIMIT 1";
    assert_eq!(result(&work.path().join("mydyno.db"), last), "2");
    let check = |code| {
        mydyno(["check", "--dsn", &dsn, "--schemas", "2", "--json"]).run().exits(code).json()
    };
    assert_eq!(number(&check(0), "/schemas"), 2);
    // A fault in the second one alone.
    let second = server.schema("many_1");
    query(&second, "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 1");
    let found = check(6);
    assert!(found["checks"][0]["examples"].to_string().contains("schema 1, w_id 1"), "{found:#}");

    run(&dsn, &["--schemas", "3"]).run().exits(4);
    run(&dsn, &[]).run().exits(4);
    load(&second, &["-w", "1", "--seed", "5", "--force"]).run().exits(0);
    run(&dsn, &["--schemas", "2"])
        .run()
        .exits(4)
        .says(&["schema 0 and schema 1 differ in", "--schemas"]);
    execute(&server.dsn, ["DROP DATABASE many_0", "DROP DATABASE many_1"]);
}

fn orders(server: &Server, schema: usize) -> String {
    value(&server.schema(&format!("many_{schema}")), "SELECT SUM(d_next_o_id) FROM district")
}

/// Types as the scripts of tpcc-mysql declare them, where they are narrower or wider than ours.
const THEIR_TYPES: [&str; 8] = [
    "ALTER TABLE warehouse MODIFY w_id SMALLINT NOT NULL, MODIFY w_tax DECIMAL(4,2), MODIFY w_zip \
     CHAR(9)",
    "ALTER TABLE district MODIFY d_w_id SMALLINT NOT NULL, MODIFY d_tax DECIMAL(4,2), MODIFY \
     d_next_o_id INT",
    "ALTER TABLE customer MODIFY c_w_id SMALLINT NOT NULL, MODIFY c_credit_lim BIGINT, MODIFY \
     c_discount DECIMAL(4,2), MODIFY c_payment_cnt SMALLINT, MODIFY c_delivery_cnt SMALLINT, \
     MODIFY c_data TEXT",
    "ALTER TABLE history MODIFY h_c_w_id SMALLINT, MODIFY h_w_id SMALLINT, MODIFY h_data \
     VARCHAR(24)",
    "ALTER TABLE new_orders MODIFY no_w_id SMALLINT NOT NULL",
    "ALTER TABLE orders MODIFY o_w_id SMALLINT NOT NULL, MODIFY o_entry_d DATETIME, MODIFY \
     o_all_local TINYINT",
    "ALTER TABLE order_line MODIFY ol_w_id SMALLINT NOT NULL, MODIFY ol_supply_w_id SMALLINT",
    "ALTER TABLE stock MODIFY s_w_id SMALLINT NOT NULL, MODIFY s_ytd DECIMAL(8,0), MODIFY \
     s_order_cnt SMALLINT, MODIFY s_remote_cnt SMALLINT",
];

#[test]
#[ignore = "make soak"]
fn a_database_as_its_loader_makes_one() {
    let server = lent();
    let dsn = server.schema("theirs");
    load(&dsn, &["-w", "1", "--foreign-keys=false"]).run().exits(0);
    let mut session = Held::open(&dsn);
    session.query("DROP TABLE mydyno_meta, mydyno_load");
    // Two decimals, lower-case text and half of the customers with bad credit.
    session.query("UPDATE warehouse SET w_tax = ROUND(w_tax, 2)");
    session.query("UPDATE district SET d_tax = ROUND(d_tax, 2)");
    session.query(
        "UPDATE customer SET c_discount = ROUND(c_discount, 2), c_credit = IF(c_id % 2, \
        'GC', 'BC')",
    );
    for sql in THEIR_TYPES {
        session.query(sql);
    }
    let arguments = |workload| ["--workload", workload, "-c", "4", "--check", "--json"];
    let summary =
        run(&dsn, &arguments("tpcc")).run().exits(0).says(&["not loaded by mydyno"]).json();
    counts_are_equal(&summary);
    assert!(!summary["notes"].to_string().contains("lacks indexes"), "{summary:#}");

    // As without add_fkey_idx.sql.
    for row in session.query(
        "SELECT DISTINCT table_name, index_name FROM information_schema.statistics WHERE \
         table_schema = 'theirs' AND index_name <> 'PRIMARY'",
    ) {
        let (table, index) = row.split_once('|').unwrap();
        session.query(&format!("ALTER TABLE {table} DROP INDEX {index}"));
    }
    let summary = run(&dsn, &arguments("tpcc-mysql"))
        .run()
        .exits(0)
        .says(&["lacks indexes on customer (c_w_id, c_d_id, c_last, c_first) and orders"])
        .json();
    counts_are_equal(&summary);
    assert_eq!(failed(&summary), ["C12", "X1", "X2", "X4"]);
    // It is another's, so nothing is written into it to remember by.
    assert_eq!(session.query("SHOW TABLES").len(), 9);
    mydyno(["check", "--dsn", &dsn]).run().exits(6);
    execute(&server.dsn, ["DROP DATABASE theirs"]);
}
