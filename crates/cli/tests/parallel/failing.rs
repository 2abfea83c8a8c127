//! Servers on which transactions fail in mid-run: such a run is no result, and connections do not
//! try again as fast as the server refuses.

use crate::support::{
    ENGINES, Held, Running, Server, directory, list, mydyno, number, result, text,
};
use serde_json::Value;
use std::path::Path;

const ENGINE: &str = ENGINES[0];
/// A window that is still open when a slow machine has come to what fails transactions.
const AMPLE: &str = "8s";

/// Starts a run and waits until it measures.
fn measuring(dsn: &str, work: &Path) -> Running {
    let mut running = mydyno(["run", "--dsn", dsn, "-c", "4"])
        .and_args(["--warmup", "1s", "--window", AMPLE, "--json"])
        .in_directory(work)
        .spawn();
    running.until_measuring(work);
    running
}

/// The run ended as failed, and says why.
fn failed(running: Running, file: &Path, reason: &[&str]) -> Value {
    let summary = running.wait().exits(1).json();
    assert_eq!(text(&summary, "/status"), "failed", "{summary:#}");
    assert_eq!(text(&summary, "/reason_code"), "transaction_errors");
    assert_eq!(text(&summary, "/error/reason"), "transaction_errors");
    for words in reason {
        assert!(text(&summary, "/reason").contains(words), "{summary:#}");
    }
    assert!(summary["nopm"].is_null());
    // What it did is kept as evidence.
    let committed = "SELECT SUM(committed) > 0 FROM interval WHERE phase = 'window'";
    assert_eq!(result(file, committed), "1");
    summary
}

#[test]
fn a_server_that_turns_read_only_fails_the_run() {
    // It waits for statements under way, one of which may wait for a row of a transaction that the
    // lock of SET GLOBAL holds up.
    let server = Server::loaded(ENGINE, &["innodb_lock_wait_timeout=1"]);
    let work = directory();
    let running = measuring(&server.dsn, work.path());
    Held::open(&server.dsn).query("SET GLOBAL super_read_only = 1");
    let file = work.path().join("mydyno.db");
    let summary = failed(running, &file, &["1290", "super-read-only"]);
    let errors = list(&summary, "/errors").iter();
    let tries: u64 = errors.map(|error| number(error, "/count")).sum();
    // Without pauses they are thousands a second.
    assert!((10..2_000).contains(&tries), "{tries}");
}

#[test]
#[ignore = "make soak"]
fn a_type_of_transaction_that_always_fails_fails_the_run() {
    let server = Server::loaded(ENGINE, &[]);
    let mut other = Held::open(&server.dsn);
    for sql in [
        "CREATE USER clerk@'%' IDENTIFIED BY 'clerk'",
        "GRANT SELECT, INSERT, UPDATE ON tpcc.* TO clerk@'%'",
        "GRANT DELETE ON tpcc.new_orders TO clerk@'%'",
    ] {
        other.query(sql);
    }
    let work = directory();
    let dsn = format!("mysql://clerk:clerk@127.0.0.1:{}/tpcc", server.port);
    let running = measuring(&dsn, work.path());
    // Of a table, so that it is gone with the next statement of those who are there.
    other.query("REVOKE DELETE ON tpcc.new_orders FROM clerk@'%'");
    let file = work.path().join("mydyno.db");
    let summary = failed(running, &file, &["type delivery", "1142 in delivery"]);
    let other_errors =
        list(&summary, "/errors").iter().filter(|error| text(error, "/transaction") != "delivery");
    assert!(other_errors.count() == 0, "{summary:#}");
}
