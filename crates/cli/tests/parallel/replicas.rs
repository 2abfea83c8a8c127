//! A primary and its replica as one target: what is read, what was stale, and what is refused.

use crate::support::{
    Relay, Running, Server, all_checks_hold, counts_agree, directory, execute, list, mydyno,
    number, query, text,
};
use serde_json::Value;
use std::path::Path;
use std::thread;
use std::time::Duration;

const ENGINE: &str = "mariadb-10.11";
const PRIMARY: [&str; 3] = ["log_bin=ON", "binlog_format=ROW", "server_id=1"];
const REPLICA: [&str; 3] = ["log_bin=ON", "binlog_format=ROW", "server_id=2"];

/// Two servers with one database, the second of which follows the first.
fn pair() -> (Server, Server) {
    let primary = Server::loaded(ENGINE, &PRIMARY);
    let replica = Server::loaded(ENGINE, &REPLICA);
    let position = query(&primary.dsn, "SELECT @@gtid_binlog_pos").remove(0);
    execute(
        &replica.dsn,
        [
            format!("SET GLOBAL gtid_slave_pos = '{position}'"),
            format!(
                "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {}, MASTER_USER = \
                 'mydyno', MASTER_PASSWORD = '{}', MASTER_USE_GTID = slave_pos",
                primary.port,
                primary.password()
            ),
            "SET GLOBAL read_only = 1".to_owned(),
            "START SLAVE".to_owned(),
        ],
    );
    (primary, replica)
}

fn start(work: &Path, dsns: [&str; 2]) -> Running {
    mydyno(["run", "--topology", "primary-replicas", "--json", "--check", "-c", "4"])
        .and_args(["--dsn", dsns[0], "--dsn", dsns[1]])
        .and_args(["--warmup", "0", "--window", "2s"])
        .in_directory(work)
        .spawn()
}

fn run(work: &Path, dsns: [&str; 2]) -> Value {
    start(work, dsns).wait().exits(0).json()
}

/// Why a run is refused.
fn refused(arguments: &[&str]) -> String {
    let work = directory();
    let all = ["run", "-c", "2", "--warmup", "0", "--window", "2s"];
    let ran = mydyno(all).and_args(arguments).in_directory(work.path()).run();
    assert_ne!(ran.code, Some(0), "{arguments:?}");
    ran.stderr
}

#[test]
fn reads_go_to_the_replica_and_stale_ones_are_counted() {
    let (primary, replica) = pair();
    let work = directory();
    let dsns = [primary.dsn.as_str(), replica.dsn.as_str()];
    let document = run(work.path(), dsns);
    counts_agree(&document);
    all_checks_hold(&document);
    assert_eq!(text(&document, "/topology"), "primary-replicas");
    let of_replica = |document: &Value| {
        let node = list(document, "/nodes").iter().find(|node| node["node"] == 2);
        node.cloned().unwrap_or_else(|| panic!("no second node in {document:#}"))
    };
    let answered = |document: &Value| {
        let each = ["order_status", "stock_level"];
        each.map(|name| number(document, &format!("/transactions/{name}/committed"))).iter().sum()
    };
    // Those that ended behind the window were read, too.
    let (reads, window): (u64, u64) =
        (number(&of_replica(&document), "/reads"), answered(&document));
    assert!(reads >= window && window > 0 && reads <= window + 4, "{reads} and {window}");

    execute(&replica.dsn, ["STOP SLAVE", "CHANGE MASTER TO MASTER_DELAY = 1", "START SLAVE"]);
    let document = run(work.path(), dsns);
    counts_agree(&document);
    all_checks_hold(&document);
    let node = of_replica(&document);
    let stale = number(&node, "/stale_reads");
    // A district has an order in every second, so that most of its Stock-Levels miss one.
    assert!(stale > 0 && stale <= number(&node, "/reads"), "{node:#}");
    let by_ms = node["stale_max_ms"].as_f64().unwrap();
    assert!((100.0..30_000.0).contains(&by_ms), "{node:#}");

    let swapped = ["--topology", "primary-replicas", "--dsn", dsns[1], "--dsn", dsns[0]];
    assert!(refused(&swapped).contains("read-only"));
    let right = ["--topology", "primary-replicas", "--dsn", dsns[0], "--dsn", dsns[1]];
    let diverge = |by: i32| {
        let sql = format!("UPDATE tpcc.district SET d_next_o_id = d_next_o_id + {by} LIMIT 1");
        execute(&replica.dsn, [sql]);
    };
    diverge(1);
    let words = refused(&right);
    assert!(words.contains("node 2 adds up to") && words.contains("has diverged"), "{words}");
    diverge(-1);
    execute(&replica.dsn, ["STOP SLAVE"]);
    let words = refused(&right);
    assert!(words.contains("node 2 of 2") && words.contains("does not replicate"), "{words}");

    // One that was just started connects yet, and is waited for.
    let relay = Relay::to(primary.port);
    relay.stop(true);
    let source = format!("CHANGE MASTER TO MASTER_DELAY = 0, MASTER_PORT = {}", relay.port);
    execute(&replica.dsn, [source.as_str(), "START SLAVE"]);
    let running = start(work.path(), dsns);
    thread::sleep(Duration::from_millis(1_500));
    relay.stop(false);
    all_checks_hold(&running.wait().exits(0).json());

    execute(&replica.dsn, ["STOP SLAVE"]);
    execute(&replica.dsn, ["RESET SLAVE ALL"]);
    assert!(refused(&right).contains("replicates from nobody"));
}

#[test]
fn servers_that_do_not_belong_together_are_refused() {
    let server = Server::loaded(ENGINE, &[]);
    let dsn = server.dsn.as_str();
    let by_socket = format!("{dsn}?socket={}", server.socket.display());
    for (arguments, word) in [
        (&["--dsn", dsn, "--dsn", &by_socket][..], "say how they belong together"),
        (&["--topology", "multi-primary", "--dsn", dsn], "one is named"),
        (&["--topology", "multi-primary", "--dsn", dsn, "--dsn", dsn], "named twice"),
        (&["--topology", "multi-primary", "--dsn", dsn, "--dsn", &by_socket], "in no cluster"),
        (
            &["--topology", "primary-replicas", "--dsn", dsn, "--dsn", &by_socket],
            "replicates from nobody",
        ),
        (
            &["--topology", "primary-replicas", "--dsn", dsn, "--style", "procedures"],
            "statements and pipelined",
        ),
        (&["--dsn", dsn, "--nodes", "2"], "--nodes: it is for servers that mydyno starts"),
    ] {
        let words = refused(arguments);
        assert!(words.contains(word), "{arguments:?}: {words}");
        assert!(!words.contains(server.password()), "{words}");
    }
}
