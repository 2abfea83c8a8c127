//! Servers that give their sessions other defaults than MySQL does: what mydyno's own statements
//! rest on, they set. And what stands between it and the server: a proxy that refuses commands.

use crate::support::{Held, Proxy, Server, directory, execute, list, mydyno, number, text, value};
use serde_json::Value;
use std::path::Path;

/// Server variables and values that others run with. An engine that does not know one has no such
/// trouble.
const ODD: [(&str, &str); 21] = [
    ("autocommit", "0"),
    ("completion_type", "2"),
    ("default_storage_engine", "MyISAM"),
    ("explicit_defaults_for_timestamp", "0"),
    ("foreign_key_checks", "0"),
    ("group_concat_max_len", "4"),
    ("max_allowed_packet", "65536"),
    ("max_execution_time", "5"),
    ("max_join_size", "100"),
    ("max_statement_time", "0.005"),
    ("sql_mode", "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,ONLY_FULL_GROUP_BY'"),
    ("sql_generate_invisible_primary_key", "1"),
    ("sql_safe_updates", "1"),
    ("sql_select_limit", "3"),
    ("time_zone", "'-07:00'"),
    ("transaction_isolation", "'SERIALIZABLE'"),
    ("tx_isolation", "'SERIALIZABLE'"),
    ("tx_read_only", "1"),
    ("unique_checks", "0"),
    ("wait_timeout", "2"),
    // The last, as nobody writes after it.
    ("transaction_read_only", "1"),
];

/// It has no such variable, or none that can be set while it runs.
const UNSETTABLE: [u16; 2] = [1193, 1238];

/// Sets what the engine knows of them; returns whether it knew any.
fn set(server: &Server, values: &[(&str, &str)]) -> bool {
    let mut session = Held::open(&server.schema("mysql"));
    let mut is_known = false;
    for (variable, value) in values {
        match session.try_query(&format!("SET GLOBAL {variable} = {value}")) {
            Err(error) => {
                assert!(error.code().is_some_and(|code| UNSETTABLE.contains(&code)), "{error}");
            }
            Ok(_) => is_known = true,
        }
    }
    is_known
}

/// Loads, runs in every style and as text, and checks.
fn works(server: &Server, work: &Path, what: &str) {
    let run = |arguments: &[&str], dsn: &str| {
        let ran = mydyno(arguments).and_args(["--dsn", dsn, "--json"]).in_directory(work);
        ran.run().exits(0).json()
    };
    run(&["load", "-w", "1", "--force"], &server.dsn);
    for style in ["statements", "pipelined", "batched", "procedures", "statements --no-prepare"] {
        let words: Vec<&str> =
            "run -c 2 --warmup 0 --window 1s --style".split(' ').chain(style.split(' ')).collect();
        let summary = run(&words, &server.dsn);
        let driver = number(&summary, "/new_orders_committed_by_driver");
        assert!(driver > 0, "{what}, {style}: {summary:#}");
        assert_eq!(number(&summary, "/new_orders_in_database"), driver, "{what}, {style}");
        // What is tried again: a deadlock, and on MariaDB a row that changed since the snapshot.
        let is_conflict = |error: &Value| ["1213", "1020"].contains(&text(error, "/code"));
        let errors = list(&summary, "/errors");
        assert!(errors.iter().all(is_conflict), "{what}, {style}: {summary:#}");
    }
    let checked = run(&["check"], &server.dsn);
    let checks = list(&checked, "/checks");
    assert!(checks.len() == 18 && checks.iter().all(|check| check["passed"] == true), "{what}");
    let sbtest = server.schema("sbtest");
    let tables = "--workload sysbench-oltp --tables 1 --table-size 500 --force";
    run(&["load"].into_iter().chain(tables.split(' ')).collect::<Vec<_>>(), &sbtest);
    // To run it is to send statements of the server's users, to which its limits apply.
}

/// Also what `load` makes of it: rows that are there, and transactional tables.
fn all_at_once(engine: &str) {
    let server = Server::quick(engine, &[]);
    let work = directory();
    assert!(set(&server, &ODD));
    works(&server, work.path(), engine);
    let engines = "SELECT GROUP_CONCAT(DISTINCT engine) FROM information_schema.tables \
                   WHERE table_schema = 'tpcc'";
    assert_eq!(value(&server.dsn, engines), "InnoDB");
}

#[test]
fn on_mysql_8_0() {
    all_at_once("mysql-8.0");
}

#[test]
#[ignore = "make soak"]
fn on_other_engines() {
    for engine in ["mysql-5.7", "mysql-9.7", "mariadb-10.11", "mariadb-11.8", "xtradb-5.6"] {
        all_at_once(engine);
    }
}

#[test]
#[ignore = "make soak"]
fn one_after_the_other() {
    for engine in ["mysql-8.0", "mariadb-11.8"] {
        let server = Server::quick(engine, &[]);
        let work = directory();
        for odd @ (variable, _) in ODD {
            if set(&server, &[odd]) {
                works(&server, work.path(), &format!("{engine}, {variable}"));
                set(&server, &[(variable, "DEFAULT")]);
            }
        }
        mydyno(["check", "--acid", "--dsn", &server.dsn]).in_directory(work.path()).run().exits(0);
    }
}

/// Statements of a server's users run with his `sql_mode` and commit themselves, whatever a COMMIT
/// of his applications brings with it.
#[test]
fn transactions_of_a_file_end_with_their_commit() {
    const FILE: &str = r#"
[[setup]]
sql = "CREATE TABLE one (id INT PRIMARY KEY AUTO_INCREMENT, v INT)"
[[setup]]
sql = "INSERT INTO one (v) VALUES (:v)"
times = 1500
parameters.v = { uniform = { from = 1, to = 9 } }
[[setup]]
sql = "INSERT INTO one (v) VALUES (0)"
[[transaction]]
name = "single"
weight = 20
statements = ["INSERT INTO one (v) VALUES (1)"]
[[transaction]]
name = "two"
statements = [
    "INSERT INTO one (v) VALUES (2)",
    "SAVEPOINT here",
    "PREPARE other FROM 'SELECT 1'",
    "UPDATE one SET v = 0 WHERE id = 1",
]
"#;
    let server = Server::quick("mariadb-10.11", &[]);
    set(&server, &[("completion_type", "1"), ("sql_mode", "'ORACLE'")]);
    let work = directory();
    std::fs::write(work.path().join("f.toml"), FILE).unwrap();
    let on = |dsn: &str, words: &str| {
        let command = mydyno(words.split(' ')).and_args(["--dsn", dsn]);
        command.and_args(["--json"]).in_directory(work.path()).run()
    };
    let dsn = server.schema("one");
    on(&dsn, "load --workload f.toml").exits(0);
    let rows = |dsn: &str| value(dsn, "SELECT COUNT(*) FROM one").parse::<u64>().unwrap();
    assert_eq!(rows(&dsn), 1501);
    let run = "run -c 2 --warmup 0 --window 1s --workload";
    let summary = on(&dsn, &format!("{run} f.toml")).exits(0).json();
    let committed = number(&summary, "/transactions/single/committed")
        + number(&summary, "/transactions/two/committed");
    let stored = rows(&dsn) - 1501;
    // The last ones may end behind the window.
    assert!(committed > 0 && (committed..=committed + 2).contains(&stored), "{stored} {summary:#}");
    let open = FILE.replace(
        "VALUES (1)\"]",
        "VALUES (1)\"]\n[[transaction]]\nname = \"off\"\n\
        statements = [\"SET autocommit = 0\"]",
    );
    std::fs::write(work.path().join("open.toml"), open).unwrap();
    on(&dsn, &format!("{run} open.toml")).exits(1).says(&["leaves a transaction open"]);
    set(&server, &[("max_allowed_packet", "32768")]);
    for command in ["load -w 1", &format!("{run} f.toml")] {
        on(&dsn, command).exits(4).says(&["max_allowed_packet of the server is 32768"]);
    }
    set(&server, &[("max_allowed_packet", "DEFAULT")]);
    // A load that was killed.
    execute(&dsn, ["ALTER TABLE one.one COMMENT = 'mydyno: loading'"]);
    on(&dsn, &format!("{run} f.toml")).exits(4).says(&["load of these tables has not ended"]);
    on(&dsn, "load --workload f.toml --force").exits(0);
    // Rows that are not there, as sysbench's prepare leaves them out on a cluster.
    let sbtest = server.schema("gaps");
    on(&sbtest, "load --workload sysbench-oltp --tables 1 --table-size 600").exits(0);
    on(&sbtest, &format!("{run} sysbench-oltp")).exits(0);
    execute(&sbtest, ["DELETE FROM gaps.sbtest1 WHERE id % 3 <> 0"]);
    let refused = on(&sbtest, &format!("{run} sysbench-oltp")).exits(4);
    refused.says(&["of 100 ids", "auto_increment_increment"]);
    on(&sbtest, &format!("{run} sysbench-oltp-insert")).exits(0);
}

/// Its statements read the columns that they were prepared with: other ones are an error by name,
/// and are prepared anew; no value is taken for another. Where no row can tell, the run fails.
#[test]
fn a_column_that_changes_its_type_in_mid_run() {
    // Who waits for a row of one that waits for the ALTER is in no deadlock that a server sees.
    let server = Server::loaded("mysql-8.0", &["innodb_lock_wait_timeout=1"]);
    let work = directory();
    let mut running = mydyno(["run", "--dsn", &server.dsn, "--json"])
        .and_args("-c 2 --warmup 0 --window 8s --interval 1s".split(' '))
        .in_directory(work.path())
        .spawn();
    running.until_measuring(work.path());
    execute(&server.dsn, ["ALTER TABLE tpcc.stock MODIFY s_quantity INT"]);
    let committed = "SELECT COUNT(*) FROM tpcc.new_orders";
    let then = value(&server.dsn, committed);
    running.until("orders after it", || value(&server.dsn, committed) != then);
    // A number that means no other one as long as it is small: nothing but the type tells of it.
    execute(&server.dsn, ["ALTER TABLE tpcc.district MODIFY d_next_o_id INT UNSIGNED NOT NULL"]);
    let summary = running.wait().exits(6).json();
    let reason = text(&summary, "/reason");
    assert!(reason.contains("(district.d_next_o_id from int"), "{reason}");
    assert_eq!(
        value(&server.dsn, "SELECT COUNT(*) FROM order_line WHERE LENGTH(ol_dist_info) <> 24"),
        "0"
    );
    mydyno(["check", "--dsn", &server.dsn]).run().exits(0);
    // 1412: the table changed since the snapshot of the transaction, which is tried again.
    let known = |error: &Value| {
        ["unexpected_answer", "1205", "1213", "1412"].contains(&text(error, "/code"))
    };
    assert!(list(&summary, "/errors").iter().all(known), "{summary:#}");
}

/// As ProxySQL and MaxScale do, each for some commands.
#[test]
fn a_proxy_that_refuses_commands() {
    let server = Server::quick("mysql-5.7", &[]);
    let work = directory();
    let run = |arguments: &str, proxy: &Proxy| {
        let dsn = server.dsn.replace(&server.port.to_string(), &proxy.port.to_string());
        mydyno(arguments.split(' ')).and_args(["--dsn", &dsn]).in_directory(work.path()).run()
    };
    const COM_QUERY: u8 = 3;
    const COM_STMT_PREPARE: u8 = 22;
    let without_files = Proxy::to(server.port, COM_QUERY, b"LOAD DATA LOCAL");
    let loaded = run("load -w 1 --json", &without_files).exits(0).says(&["multi-row INSERT"]);
    assert_eq!(text(&loaded.json(), "/method"), "inserts");
    let without_prepare = Proxy::to(server.port, COM_STMT_PREPARE, b"");
    let drive = "run -c 2 --warmup 0 --window 1s --check";
    run(drive, &without_prepare).exits(4).says(&["1047"]);
    run(&format!("{drive} --no-prepare"), &without_prepare).exits(0);
}
