//! Open loops and terminals against a server that stands still for some seconds: how long each
//! waited is known.

use crate::support::{Server, counts_agree, directory, float, mydyno, number, signal, text};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Runs, and lets the server stand still for some seconds in the window.
fn run_with_a_stall(work: &Path, stall_s: u64, arguments: &[&str]) -> Value {
    let server = Server::loaded("mysql-5.7", &[]);
    let mut running = mydyno(["run", "--dsn", &server.dsn, "--json"])
        .and_args(arguments)
        .in_directory(work)
        .spawn();
    running.until_measuring(work);
    signal(server.pid, Signal::STOP);
    std::thread::sleep(Duration::from_secs(stall_s));
    signal(server.pid, Signal::CONT);
    running.wait().exits(0).json()
}

/// Histograms of the window, added up.
fn window(work: &Path, sql: &str) -> Histogram<u64> {
    let db = rusqlite::Connection::open(work.join("mydyno.db")).unwrap();
    let mut statement = db.prepare(sql).unwrap();
    let mut sum = Histogram::<u64>::new(3).unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let bytes: Vec<u8> = row.get(0).unwrap();
        let one: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        sum.add(one).unwrap();
    }
    sum
}

fn longest_ms(document: &Value) -> f64 {
    let all = document["transactions"].as_object().unwrap().values();
    all.filter_map(|of| of["max_us"].as_f64()).fold(0.0, f64::max) / 1e3
}

#[test]
fn an_open_loop_shows_a_stalled_server_in_full() {
    const RATE: f64 = 50.0;
    let work = directory();
    let arguments =
        ["--rate", "50/s", "--arrivals", "uniform", "-c", "8", "--warmup", "2s", "--window", "10s"];
    let document = run_with_a_stall(work.path(), 2, &arguments);
    // One comes each 20 ms, so the first that the stop holds up may come so much later.
    assert!(longest_ms(&document) >= 1_900.0, "{document:#}");
    let latency = window(
        work.path(),
        "SELECT latency_histogram_ns FROM interval WHERE phase = 'window' AND latency_histogram_ns \
         IS NOT NULL",
    );
    // Those that came in its first second waited for longer than one.
    let over_1_s = latency.count_between(1_000_000_000, u64::MAX) as f64;
    assert!((0.8 * RATE..2.2 * RATE).contains(&over_1_s), "{over_1_s}: {document:#}");
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
fn terminals_see_a_stalled_server() {
    let work = directory();
    // 1,000 terminals on one warehouse: 48 transactions per second.
    let arguments = [
        "--workload",
        "tpcc-spec",
        "-w",
        "1",
        "--terminals",
        "1000",
        "-c",
        "50",
        "--warmup",
        "2s",
        "--window",
        "10s",
    ];
    let document = run_with_a_stall(work.path(), 5, &arguments);
    // 48 a second by chance: none in half a second is one chance in 10^10.
    assert!(longest_ms(&document) >= 4_500.0, "{document:#}");
    let terminals = &document["terminals"];
    assert_eq!(number(terminals, "/count"), 1_000);
    assert_eq!(number(terminals, "/paced_warehouses"), 1);
    assert_eq!(number(&document, "/warehouses"), 1);
    assert_eq!(number(&document, "/connections"), 50);
    // 2 of the 48 are deliveries: none in the first 4.5 s is one chance in 8,000.
    assert!(float(terminals, "/deferred_deliveries/max_s") >= 0.5, "{document:#}");
    assert!(float(terminals, "/delivery_acknowledgements/max_s") < 0.5);
    counts_agree(&document);
}
