//! The main job on every engine, as the acceptance says it: start, load, run, check, stop.

use crate::styles::{is_described, time_adds_up};
use crate::support::{
    Held, Server, alive, directory, execute, float, home, mydyno, number, text, until,
};
use base::Warehouses;
use serde_json::Value;
use spec::Style;
use std::fs;
use std::path::Path;

use tpcc::population::database_bytes_estimate;

const CONNECTIONS: u64 = 8;
const TRANSACTIONS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// The main job in the style `statements`; `make soak` has all of them on all engines.
fn main_job(engine: &str) {
    let work = directory();
    let server =
        Server::start(engine, &["innodb_buffer_pool_size=256M", "innodb_log_file_size=16M"]);
    assert_eq!(text(&server.started, "/engine"), engine);
    let loaded = mydyno(["load", "--dsn", &server.dsn, "-w", "2", "--json"])
        .in_directory(work.path())
        .run()
        .exits(0)
        .json();
    loaded_as_asked(&loaded, engine);
    let audited = mydyno(["check", "--dsn", &server.dsn, "--population"]).run().exits(0);
    assert!(audited.stdout.contains("37 of 37 checks passed"), "{}", audited.stdout);
    let summary = run_and_watch_prepares(&server, work.path());
    summary_is_whole(&summary, engine);
    is_described(&summary, engine, Style::Statements);
    time_adds_up(&summary, &work.path().join("mydyno.db"));
    tables_can_be_partitioned(&server);
    stops_and_leaves_nothing(server);
}

engines! {
    main_job;
    test: mysql_8_0, xtradb_5_6;
    others: soak;
}

fn tables_can_be_partitioned(server: &Server) {
    let schema = server.schema("partitioned");
    execute(&server.dsn, ["CREATE DATABASE partitioned"]);
    let mut session = Held::open(&schema);
    for table in tpcc::Table::ALL {
        session.query(&tpcc::schema::create_sql(table, 4, false, ""));
        if let Some(indexes) = tpcc::schema::indexes_sql(table, false) {
            session.query(&indexes);
        }
    }
    let partitions = "SELECT COUNT(*) FROM information_schema.partitions \
        WHERE table_schema = DATABASE() AND partition_name IS NOT NULL";
    assert_eq!(session.query(partitions), [(7 * 4).to_string()]);
    let directory = Path::new(&session.query("SELECT @@datadir")[0]).join("partitioned");
    // What is asked of a disk has room for each partition's file.
    let of_partition =
        |file: &fs::DirEntry| file.file_name().to_string_lossy().to_lowercase().contains("#p#");
    let files = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let lengths = files.filter(of_partition).map(|file| file.metadata().unwrap().len());
    let bytes: u64 = lengths.sum();
    let estimate = |partitions| database_bytes_estimate(Warehouses(1), false, partitions);
    let estimated = estimate(5) - estimate(1);
    assert!((bytes * 4 / 5..bytes * 2).contains(&estimated), "{bytes}, and {estimated} estimated");
}

fn loaded_as_asked(loaded: &Value, engine: &str) {
    assert_eq!(text(loaded, "/engine"), engine);
    assert_eq!(text(loaded, "/method"), "local_infile");
    assert_eq!(number(loaded, "/warehouses"), 2);
    assert_eq!(loaded["foreign_keys"], true);
    assert_eq!(loaded["tables"].as_array().unwrap().len(), 9);
    assert!(!text(loaded, "/target").contains("mydyno:"), "{loaded:#}");
}

/// Runs, and looks at `Com_stmt_prepare` meanwhile: statements are prepared before the start and
/// not again.
fn run_and_watch_prepares(server: &Server, work: &Path) -> Value {
    let connections = CONNECTIONS.to_string();
    let mut watcher = Held::open(&server.dsn);
    let mut prepares = |statement: &str| -> u64 {
        let rows = watcher.query(&format!("SHOW GLOBAL STATUS LIKE '{statement}'"));
        rows[0].split_once('|').unwrap().1.parse().unwrap()
    };
    let before = prepares("Com_stmt_prepare");
    let executed_before = prepares("Com_stmt_execute");
    let mut running = mydyno(["run", "--dsn", &server.dsn, "-c", &connections, "--warmup", "1s"])
        .in_directory(work)
        .and_args(["--window", "3s", "--seed", "42", "--check", "--json"])
        .spawn();
    let all = CONNECTIONS * u64::from(tpcc::prepared_statements(Style::Statements));
    until("transactions run", || {
        running.has_ended() || prepares("Com_stmt_execute") > executed_before + 100
    });
    assert_eq!(prepares("Com_stmt_prepare") - before, all, "prepared before the start");
    let summary = running.wait().exits(0).json();
    assert_eq!(prepares("Com_stmt_prepare") - before, all, "prepared in the whole run");
    assert!(prepares("Com_stmt_execute") - executed_before >= number(&summary, "/statements") / 2);
    assert_eq!(prepares("Prepared_stmt_count"), 0, "statements are closed with their sessions");
    summary
}

fn summary_is_whole(summary: &Value, engine: &str) {
    assert_eq!(text(summary, "/status"), "done", "{summary:#}");
    assert_eq!(text(summary, "/engine"), engine);
    assert_eq!(text(summary, "/workload"), "tpcc");
    assert_eq!(text(summary, "/style"), "statements");
    assert_eq!(text(summary, "/transport"), "tcp");
    assert_eq!(number(summary, "/seed"), 42);
    assert_eq!(number(summary, "/connections"), CONNECTIONS);
    assert_eq!(number(summary, "/warehouses"), 2);
    assert_eq!(summary["interrupted"], false);
    let window_s = float(summary, "/window_s");
    assert!((2.9..7.0).contains(&window_s), "{window_s}");
    assert!(float(summary, "/client_cpu_s") > 0.0);
    assert!(number(summary, "/statements") > 0);
    for name in TRANSACTIONS {
        transaction_is_whole(&summary["transactions"][name], name);
    }
    rates_are_those_of_the_counts(summary, window_s);
    let driver = number(summary, "/new_orders_committed_by_driver");
    assert_eq!(number(summary, "/new_orders_in_database"), driver);
    assert!(driver >= number(summary, "/transactions/new_order/committed"));
    assert_eq!(number(summary, "/new_orders_in_doubt"), 0);
    assert_eq!(number(summary, "/reconnects"), 0);
    inputs_are_legal(&summary["inputs"]);
    all_checks_passed(&summary["checks"]);
}

/// The counters of clause 5.5.1.5 are within their bands, or as near as so short a window lets
/// chance come.
fn inputs_are_legal(inputs: &Value) {
    let inputs = inputs.as_array().unwrap();
    let mut names: Vec<&str> = inputs.iter().map(|input| text(input, "/name")).collect();
    names.sort_unstable();
    let expected = [
        "lines_per_order",
        "order_status_by_name_share",
        "payment_by_name_share",
        "remote_line_share",
        "remote_payment_share",
        "rollback_share",
        "skipped_delivery_share",
    ];
    assert_eq!(names, expected);
    for input in inputs {
        let verdict = text(input, "/verdict");
        assert!(["within", "chance"].contains(&verdict), "{input:#}");
    }
}

fn transaction_is_whole(of: &Value, name: &str) {
    assert!(number(of, "/committed") > 0, "{name}: {of:#}");
    assert_eq!(number(of, "/errors"), 0, "{name}: {of:#}");
    let causes = ["retries_deadlock", "retries_lock_wait_timeout", "retries_other"];
    let by_cause: u64 = causes.iter().map(|cause| number(of, &format!("/{cause}"))).sum();
    assert_eq!(number(of, "/retries"), by_cause, "{name}");
    if name != "new_order" {
        assert_eq!(number(of, "/rolled_back"), 0, "{name}");
    }
    let keys = ["p50_us", "p90_us", "p95_us", "p99_us", "p999_us"];
    let percentiles: Vec<f64> = keys.iter().map(|key| float(of, &format!("/{key}"))).collect();
    assert!(percentiles[0] > 0.0, "{name}: {of:#}");
    assert!(percentiles.is_sorted(), "{name}: {percentiles:?}");
    // The histogram keeps three digits, the maximum is exact.
    assert!(percentiles[4] <= float(of, "/max_us") * 1.001, "{name}: {of:#}");
    let mean = float(of, "/mean_us");
    assert!(mean > 0.0 && mean <= float(of, "/max_us"), "{name}: {of:#}");
}

fn rates_are_those_of_the_counts(summary: &Value, window_s: f64) {
    let ended = |name: &str| {
        let of = &summary["transactions"][name];
        number(of, "/committed") + number(of, "/rolled_back")
    };
    let nopm = ended("new_order") as f64 / window_s * 60.0;
    let tpm: f64 =
        TRANSACTIONS.iter().map(|name| ended(name) as f64).sum::<f64>() / window_s * 60.0;
    assert!(nopm > 0.0 && (float(summary, "/nopm") / nopm - 1.0).abs() < 1e-6, "{nopm}");
    assert!((float(summary, "/tpm_total") / tpm - 1.0).abs() < 1e-6, "{tpm}");
}

fn all_checks_passed(checks: &Value) {
    let checks = checks.as_array().unwrap();
    assert_eq!(checks.len(), 18);
    for check in checks {
        assert_eq!(check["passed"], true, "{check:#}");
        assert_eq!(number(check, "/offending_rows"), 0, "{check:#}");
    }
    let mut names: Vec<&str> = checks.iter().map(|check| text(check, "/name")).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 18);
}

fn stops_and_leaves_nothing(server: Server) {
    let (name, pid) = (server.name.clone(), server.pid);
    let listed = mydyno(["server", "list", "--json"]).run().exits(0).json();
    let mine = |listed: &Value| {
        let servers = listed["servers"].as_array().unwrap();
        servers.iter().any(|one| one["name"] == name.as_str() && one["running"] == true)
    };
    assert!(mine(&listed), "{listed:#}");
    server.stop();
    assert!(!alive(pid));
    assert!(!home().join("instances").join(&name).exists());
    let listed = mydyno(["server", "list", "--json"]).run().exits(0).json();
    assert!(!mine(&listed), "{listed:#}");
}
