//! What clusters and strict servers answer and demand: transactions are tried again, and HISTORY
//! has a key.

use crate::support::{
    BINARY, ENGINES, Held, QUICK, Server, all_checks_hold, counts_agree, directory, execute, lent,
    mydyno, number, query, result, results, text, value,
};
use serde_json::Value;
use spec::Style;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A trigger that fails this share of the payments with the error number.
fn failing(error: u16, share: f64) -> String {
    format!(
        "CREATE TRIGGER failing BEFORE INSERT ON history FOR EACH ROW IF RAND() < {share} THEN \
         SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {error}, MESSAGE_TEXT = 'of the test'; END IF"
    )
}

fn run(server: &Server, work: &Path, more: &[&str]) -> Value {
    mydyno(["run", "--dsn", &server.dsn, "--json", "--check", "-c", "4"])
        .and_args(["--warmup", "0", "--window", "2s"])
        .and_args(more)
        .in_directory(work)
        .run()
        .exits(0)
        .json()
}

/// Tries that ended so in the last run.
fn failed_tries(work: &Path, error: u16) -> u64 {
    let sql = format!(
        "SELECT coalesce(sum(occurrences), 0) FROM failure WHERE error_code = '{error}' AND \
         repeat_id = (SELECT max(id) FROM repeat)"
    );
    result(&work.join("mydyno.db"), &sql).parse().unwrap()
}

fn errors(summary: &Value) -> u64 {
    let transactions = summary["transactions"].as_object().unwrap().values();
    transactions.map(|one| number(one, "/errors")).sum()
}

/// What Group Replication and Galera answer where two members change one row, and what a server
/// answers that cannot keep a statement prepared, costs a try and no transaction.
fn conflicts_are_tried_again_on(engine: &str) {
    let server = Server::loaded(engine, &[]);
    let work = directory();
    for (error, style) in [
        (3101, Style::Statements),
        (1180, Style::Batched),
        (1615, Style::Pipelined),
        (1615, Style::Procedures),
    ] {
        let mut session = Held::open(&server.dsn);
        session.query(&failing(error, 0.1));
        let asked = "SHOW GLOBAL STATUS LIKE 'Com_stmt_prepare'";
        let count = |session: &mut Held| -> u64 {
            let row = &session.query(asked)[0];
            row.split_once('|').unwrap().1.parse().unwrap()
        };
        let before = count(&mut session);
        let summary = run(&server, work.path(), &["--style", style.name()]);
        let after = count(&mut session);
        session.query("DROP TRIGGER failing");
        let tries = failed_tries(work.path(), error);
        assert!(tries > 0, "{error} {style:?}: {summary:#}");
        assert_eq!(errors(&summary), 0, "{error} {style:?}: {summary:#}");
        assert_eq!(number(&summary, "/reconnects"), 0, "{error} {style:?}");
        all_checks_hold(&summary);
        counts_agree(&summary);
        // Connections prepare their statements when they are opened, and again after each 1615.
        let times = 4 + if error == 1615 { tries } else { 0 };
        let wanted = times * u64::from(tpcc::prepared_statements(style));
        let prepared = after - before;
        assert!((wanted..wanted + 100).contains(&prepared), "{error} {style:?}: {prepared}");
        let held = value(&server.dsn, "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'");
        assert_eq!(held, "Prepared_stmt_count|0");
    }
}

engines! {
    conflicts_are_tried_again_on;
    soak: mysql_5_7, mysql_8_0;
}

/// A Galera node that is not ready answers 1047: the connection is closed and made anew.
#[test]
fn a_node_that_is_not_ready_is_connected_to_again() {
    let server = Server::loaded(ENGINES[0], &[]);
    let work = directory();
    Held::open(&server.dsn).query(&failing(1047, 0.05));
    // Whether so many lost connections make a result is not asked here.
    let summary = mydyno(["run", "--dsn", &server.dsn, "--json", "-c", "4"])
        .and_args(["--warmup", "0", "--window", "3s"])
        .in_directory(work.path())
        .run()
        .json();
    let tries = failed_tries(work.path(), 1047);
    assert!(tries > 0, "{summary:#}");
    assert!(number(&summary, "/reconnects") > 0, "{summary:#}");
    mydyno(["check", "--dsn", &server.dsn]).run().exits(0);
    counts_agree(&summary);
}

/// Loads a schema, and returns the document.
fn load(server: &Server, schema: &str, work: &Path, more: &[&str]) -> Value {
    mydyno(["load", "--dsn", &server.schema(schema), "-w", "1", "--json"])
        .and_args(more)
        .in_directory(work)
        .run()
        .exits(0)
        .json()
}

const HAS_KEY: &str = "SELECT COUNT(*) FROM information_schema.table_constraints WHERE \
    table_schema = DATABASE() AND table_name = 'history' AND constraint_type = 'PRIMARY KEY'";

/// With and without the key the rows are the same, and these styles do the same on them.
fn history_may_have_a_key_on(
    engine: &str,
    settings: &[&str],
    demand: Option<&str>,
    styles: &[Style],
) -> (Server, TempDir) {
    let server = Server::start(engine, settings);
    let work = directory();
    let without = load(&server, "plain", work.path(), &[]);
    assert_eq!(without["history_key"], false);
    assert_eq!(value(&server.schema("plain"), HAS_KEY), "0");
    let more: &[&str] = match demand {
        Some(demand) => {
            execute(&server.dsn, [demand]);
            &[]
        }
        None => &["--history-key"],
    };
    let with = load(&server, "tpcc", work.path(), more);
    assert_eq!(with["history_key"], true);
    assert_eq!(value(&server.dsn, HAS_KEY), "1");
    assert_eq!(with["tables"], without["tables"]);
    let fact = "SELECT value FROM mydyno_meta WHERE name = 'history_key'";
    assert_eq!(value(&server.dsn, fact), "1");
    for style in styles {
        let summary = run(&server, work.path(), &["--style", style.name()]);
        assert_eq!(summary["history_key"], true);
        assert_eq!(errors(&summary), 0, "{summary:#}");
        all_checks_hold(&summary);
        counts_agree(&summary);
    }
    let file = work.path().join("mydyno.db");
    let stored = results(&file, "SELECT DISTINCT history_key FROM cell");
    assert_eq!(stored, [["1"]]);
    let stored = results(&file, "SELECT history_key FROM load ORDER BY id");
    assert_eq!(stored, [["0"], ["1"]]);
    (server, work)
}

#[test]
#[ignore = "make soak"]
fn history_has_a_key_where_mysql_8_0_demands_one() {
    let demand = "SET GLOBAL sql_require_primary_key = 1";
    let (server, work) = history_may_have_a_key_on(ENGINES[1], &QUICK, Some(demand), &Style::ALL);
    let summary = run(&server, work.path(), &["--workload", "tpcc-mysql"]);
    assert_eq!(errors(&summary), 0, "{summary:#}");
}

#[test]
#[ignore = "make soak"]
fn history_has_a_key_where_mariadb_demands_one() {
    let demand = "SET GLOBAL innodb_force_primary_key = 1";
    let settings = ["innodb_flush_log_at_trx_commit=0", "innodb_log_file_size=16M"];
    let styles = [Style::Procedures];
    history_may_have_a_key_on(ENGINES[2], &settings, Some(demand), &styles);
}

#[test]
#[ignore = "make soak"]
fn history_has_a_key_where_the_user_asks_for_one() {
    history_may_have_a_key_on(ENGINES[0], &QUICK, None, &[Style::Batched]);
}

#[test]
#[ignore = "make soak"]
fn history_may_have_a_key_on_xtradb_5_6() {
    history_may_have_a_key_on(ENGINES[3], &QUICK, None, &Style::ALL);
}

/// Sessions have the level that is asked for, and the result says which.
#[test]
#[ignore = "make soak"]
fn the_isolation_level_is_an_option() {
    let server = Server::loaded(ENGINES[0], &["transaction_isolation=READ-COMMITTED"]);
    let work = directory();
    let level = |more: &[&str]| -> String {
        text(&run(&server, work.path(), more), "/isolation").to_owned()
    };
    assert_eq!(level(&[]), "repeatable-read");
    assert_eq!(level(&["--workload", "tpcc-mysql"]), "read-committed");
    let note =
        "SELECT COUNT(*) FROM note WHERE note LIKE '%read-committed is weaker than TPC-C demands%'";
    assert_eq!(result(&work.path().join("mydyno.db"), note), "1");
    // What the sessions tell the server themselves.
    execute(&server.dsn, ["SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = 1"]);
    assert_eq!(level(&["--isolation", "serializable"]), "serializable");
    assert_eq!(level(&["--isolation", "read-committed"]), "read-committed");
    execute(&server.dsn, ["SET GLOBAL general_log = 0"]);
    let sent = "SELECT COUNT(*) FROM mysql.general_log WHERE argument LIKE 'SET SESSION \
        TRANSACTION ISOLATION LEVEL ";
    for level in ["SERIALIZABLE", "READ COMMITTED"] {
        assert_eq!(query(&server.dsn, &format!("{sent}{level}'")), ["4"], "{level}");
    }
}

/// A server that somebody else runs needs nothing of this user's directories.
#[test]
fn a_server_with_a_dsn_needs_no_home() {
    let (server, work) = (lent(), directory());
    let bare = |arguments: &[&str]| {
        let output = Command::new(BINARY)
            .args(arguments)
            .env_clear()
            .current_dir(work.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
    };
    let small = ["--workload", "sysbench-oltp", "--tables", "1", "--table-size", "100"];
    bare(&[&["load", "--dsn", &server.schema("homeless")][..], &small].concat());
    execute(&server.dsn, ["DROP DATABASE homeless"]);
    bare(&["check", "--dsn", &server.dsn]);
    let short = ["--warmup", "0", "--window", "1s", "-c", "2"];
    bare(&[&["run", "--dsn", &server.dsn][..], &short].concat());
}
