//! Terminals and open loops against real servers, one of which stands still for two seconds.

#[expect(dead_code, unused_imports, reason = "each test file uses a part of it")]
mod support;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::{Server, directory, float, mydyno, number, text, until};

const ENGINE: &str = "mysql-5.7";
const STALL: Duration = Duration::from_secs(2);

/// A loaded server; one test at a time.
fn shared() -> MutexGuard<'static, Server> {
    static SERVER: LazyLock<Mutex<Server>> =
        LazyLock::new(|| Mutex::new(Server::loaded(ENGINE, &[])));
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the server a signal; it is one that these tests started.
fn signal(server: &Server, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(server.pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Runs, and lets the server stand still for two seconds in the window.
fn run_with_a_stall(server: &Server, work: &Path, arguments: &[&str]) -> Value {
    let mut running = mydyno(["run", "--dsn", &server.dsn, "--json"])
        .and_args(arguments)
        .in_directory(work)
        .spawn();
    let stored = "SELECT COUNT(*) FROM interval WHERE phase = 'window'";
    until("the window is under way", || {
        assert!(!running.has_ended(), "it ended early: {}", running.stderr());
        let file = work.join("mydyno.db");
        file.exists()
            && rusqlite::Connection::open(file)
                .and_then(|db| db.query_row(stored, [], |row| row.get::<_, i64>(0)))
                .is_ok_and(|count| count >= 10)
    });
    signal(server, Signal::STOP);
    std::thread::sleep(STALL);
    signal(server, Signal::CONT);
    running.wait(Duration::from_secs(120)).exits(0).json()
}

/// Histograms of the window, added up.
fn window(work: &Path, sql: &str) -> Histogram<u64> {
    let db = rusqlite::Connection::open(work.join("mydyno.db")).unwrap();
    let mut statement = db.prepare(sql).unwrap();
    let mut sum = Histogram::<u64>::new(3).unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let bytes: Vec<u8> = row.get(0).unwrap();
        let one: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .unwrap();
        sum.add(one).unwrap();
    }
    sum
}

fn longest_ms(document: &Value) -> f64 {
    let all = document["transactions"].as_object().unwrap().values();
    all.filter_map(|of| of["max_us"].as_f64())
        .fold(0.0, f64::max)
        / 1e3
}

/// Every order that the driver saw committed is in the database, and none more.
fn counts_agree(document: &Value) {
    let driver = number(document, "/new_orders_committed_by_driver");
    assert_eq!(number(document, "/new_orders_in_database"), driver);
    assert_eq!(number(document, "/new_orders_in_doubt"), 0);
}

#[test]
fn an_open_loop_shows_a_stalled_server_in_full() {
    const RATE: f64 = 50.0;
    let (server, work) = (shared(), directory());
    let arguments = [
        "--rate",
        "50/s",
        "--arrivals",
        "uniform",
        "-c",
        "8",
        "--warmup",
        "2s",
        "--window",
        "10s",
    ];
    let document = run_with_a_stall(&server, work.path(), &arguments);
    assert!(longest_ms(&document) >= 1_990.0, "{document:#}");
    let latency = window(
        work.path(),
        "SELECT latency_histogram_ns FROM interval WHERE phase = 'window' AND latency_histogram_ns IS NOT NULL",
    );
    // Those that came in its first second waited for longer than one.
    let over_1_s = latency.count_between(1_000_000_000, u64::MAX) as f64;
    assert!(
        (0.8 * RATE..2.2 * RATE).contains(&over_1_s),
        "{over_1_s}: {document:#}"
    );
    // A closed loop would have seen eight: one for each connection.
    let service = window(
        work.path(),
        "SELECT histogram_ns FROM interval_time WHERE phase = 'window' AND kind = 'service'",
    );
    let stuck = service.count_between(1_000_000_000, u64::MAX);
    assert!((1..=8).contains(&stuck), "{stuck}");
    let open_loop = &document["open_loop"];
    assert_eq!(number(open_loop, "/offered"), 500);
    assert!(number(open_loop, "/late") >= 70, "{open_loop:#}");
    assert!(number(open_loop, "/skipped") <= 5, "{open_loop:#}");
    assert_eq!(float(open_loop, "/rate_per_s"), RATE);
    assert_eq!(text(open_loop, "/rate_asked"), "50/s");
    assert!(document["terminals"].is_null());
    counts_agree(&document);
}

#[test]
fn a_share_of_the_capacity() {
    let (server, work) = (shared(), directory());
    let document = mydyno(["run", "--dsn", &server.dsn, "--json", "-c", "4"])
        .and_args(["--rate", "40%", "--warmup", "1s", "--window", "5s"])
        .in_directory(work.path())
        .run()
        .exits(0)
        .says(&["note: capacity:"])
        .json();
    let open_loop = &document["open_loop"];
    let (capacity, rate) = (
        float(open_loop, "/capacity_per_s"),
        float(open_loop, "/rate_per_s"),
    );
    assert!((rate - 0.4 * capacity).abs() < 1e-6 * capacity);
    assert_eq!(text(open_loop, "/arrivals"), "poisson");
    // A Poisson count; the closed loop's own transactions are in the totals of the whole run only.
    let expected = rate * 5.0;
    let offered = float(open_loop, "/offered");
    assert!(
        (offered - expected).abs() < 5.0 * expected.sqrt(),
        "{offered} of {expected}"
    );
    counts_agree(&document);
}

#[test]
fn terminals_see_a_stalled_server() {
    let (server, work) = (shared(), directory());
    // 1,000 terminals on one warehouse: 48 transactions per second.
    let arguments = [
        "--workload",
        "tpcc-spec",
        "-w",
        "100",
        "--inactive-warehouses",
        "99",
        "-c",
        "50",
        "--warmup",
        "2s",
        "--window",
        "10s",
    ];
    let document = run_with_a_stall(&server, work.path(), &arguments);
    assert!(longest_ms(&document) >= 1_950.0, "{document:#}");
    let terminals = &document["terminals"];
    assert_eq!(number(terminals, "/count"), 1_000);
    assert_eq!(number(terminals, "/paced_warehouses"), 100);
    assert_eq!(number(&document, "/warehouses"), 1);
    assert_eq!(number(&document, "/connections"), 50);
    assert!(float(terminals, "/deferred_deliveries/max_s") >= 0.5);
    assert!(float(terminals, "/delivery_acknowledgements/max_s") < 0.5);
    counts_agree(&document);
}

#[test]
fn a_short_run_of_terminals_reaches_its_ceiling() {
    let (server, work) = (Server::start(ENGINE, &support::QUICK), directory());
    mydyno(["load", "--dsn", &server.dsn, "-w", "2"])
        .in_directory(work.path())
        .run()
        .exits(0);
    let document = mydyno(["run", "--dsn", &server.dsn, "--json", "--check"])
        .and_args([
            "--workload",
            "tpcc-spec",
            "--warmup",
            "10s",
            "--window",
            "50s",
        ])
        .in_directory(work.path())
        .spawn()
        .wait(Duration::from_secs(180))
        .exits(0)
        .says(&["shorter than 60 s", "120 min"])
        .json();
    let terminals = &document["terminals"];
    assert_eq!(number(&document, "/connections"), 20);
    let ceiling = float(terminals, "/ceiling_nopm");
    let deviation = float(terminals, "/ceiling_deviation_nopm");
    assert!((ceiling - 25.21).abs() < 0.01);
    let nopm = float(&document, "/nopm");
    assert!((nopm - ceiling).abs() < 4.0 * deviation, "{nopm}");
    // Keying is constant; think times are judged by as many as there were.
    for (kind, seconds) in [("new_order", 18.0), ("payment", 3.0)] {
        let keying = float(terminals, &format!("/keying_mean_s/{kind}"));
        assert!(
            (seconds..seconds + 0.2).contains(&keying),
            "{kind}: {keying}"
        );
        let think = float(terminals, &format!("/think_mean_s/{kind}"));
        assert!((4.0..26.0).contains(&think), "{kind}: {think}");
    }
    let verdicts = document["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), 33);
    let failed: Vec<&Value> = verdicts.iter().filter(|v| v["passed"] == false).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    counts_agree(&document);
    server.stop();
}

#[test]
fn contradictions_are_usage_errors() {
    let dsn = "mysql://me@127.0.0.1:1/tpcc";
    for (arguments, word) in [
        (&["--workload", "tpcc-spec", "--rate", "50"][..], "--rate"),
        (&["--workload", "tpcc-spec", "--home"], "--home"),
        (&["--workload", "tpcc-spec", "--schemas", "2"], "--schemas"),
        (&["--rate", "fast"], "80%"),
        (&["--rate", "0%"], "80%"),
        (&["--arrivals", "poisson"], "--rate"),
        (&["-w", "5", "--inactive-warehouses", "1"], "tpcc-spec"),
        (
            &["--workload", "tpcc-spec", "--inactive-warehouses", "1"],
            "--warehouses",
        ),
        (
            &[
                "--workload",
                "tpcc-spec",
                "-w",
                "5",
                "--inactive-warehouses",
                "5",
            ],
            "leaves none of the warehouses",
        ),
    ] {
        mydyno(["run", "--dsn", dsn])
            .and_args(arguments)
            .in_directory(directory().path())
            .run()
            .exits(2)
            .says(&[word]);
    }
}
