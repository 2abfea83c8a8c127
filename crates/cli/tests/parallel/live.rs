//! A run that is watched: plain lines where stdout is no terminal, a dashboard on one, and metrics
//! for Prometheus.

use crate::support::{
    AMPLE, ENTER, Held, LEAVE, Mydyno, OnTerminal, PATIENCE, SHOW_CURSOR, Server, directory, lent,
    mydyno, number, populate, screen, servers_under, shim, until,
};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

fn run(server: &Server, work: &Path, window: &str) -> Mydyno {
    mydyno(["run", "--dsn", &server.dsn, "-c", "2", "--warmup", "1s"])
        .and_args(["--window", window])
        .in_directory(work)
}

#[test]
fn where_stdout_is_no_terminal_there_are_lines() {
    let server = lent();
    let work = directory();
    let ran = run(&server, work.path(), "4s").and_args(["--watch"]).run().exits(0);
    let lines: Vec<Vec<&str>> =
        ran.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..4], ["time", "s", "phase", "NOPM"], "{}", ran.stdout);
    let of_phase = |phase: &str| {
        let of_it = lines.iter().filter(|words| words.get(1) == Some(&phase));
        of_it.collect::<Vec<_>>()
    };
    assert_eq!(of_phase("warm-up").len(), 1, "{}", ran.stdout);
    let window = of_phase("window");
    assert_eq!(window.len(), 4, "{}", ran.stdout);
    for (second, words) in window.iter().enumerate() {
        assert_eq!(words[0], format!("{}.0", second + 2));
        assert_eq!(words.len(), 8, "{words:?}");
        assert_eq!(words[7], "0", "{words:?}");
    }
    // Throughput, response time and CPU; a machine that is busy with other things may have a second
    // without one.
    for column in 2..5 {
        let mut numbers = window.iter().filter_map(|words| words[column].parse().ok());
        assert!(numbers.any(|number: f64| number > 0.0), "{}", ran.stdout);
    }
    assert_eq!(of_phase("drain").len(), 1, "{}", ran.stdout);
    // The summary comes after the last line, and the bar was not shown.
    let (_, rest) = ran.stdout.rsplit_once(" drain ").unwrap();
    assert!(rest.contains(" NOPM, ") && rest.contains("new_order"), "{rest}");
    assert!(!ran.stderr.contains("ETA"), "{}", ran.stderr);
    assert!(!ran.stdout.contains('\x1b'), "{}", ran.stdout);
}

#[test]
fn on_a_terminal_there_is_a_dashboard() {
    let server = lent();
    let arguments = format!("run --dsn '{}' -c 2 --warmup 1s --window {AMPLE} --watch", server.dsn);
    let mut terminal = OnTerminal::start(&arguments);
    terminal.until_numbers(&[
        (" NOPM ", 1),
        (" CPU ", 1),
        ("new_order ", 2),
        ("server ", 1),
        ("mydyno ", 1),
    ]);
    let seen = terminal.seen();
    assert_eq!(seen.matches(ENTER).count(), 1, "{seen}");
    assert!(!seen.contains(LEAVE), "{seen}");
    let shown = screen(&seen).join("\n");
    for words in [
        "mysql-5.7, 1 warehouse, 2 connections, workload tpcc",
        "completed/s   p95 ms   retries   errors",
        "I/O by disk",
        "Ctrl-C stops the run",
    ] {
        assert!(shown.contains(words), "no {words:?} in\n{shown}");
    }
    terminal.signal(Signal::INT);
    assert_eq!(terminal.wait(), Some(130), "{}", terminal.seen());
    let seen = terminal.seen();
    assert!(!seen.contains(server.password()), "{seen}");
    let (watched, after) = seen.rsplit_once(LEAVE).unwrap();
    assert!(after.contains(SHOW_CURSOR), "{after}");
    assert!(!after.contains(ENTER) && !watched.contains("panicked"), "{seen}");
    // The summary is on the terminal as it was before; while it was watched, nothing was printed
    // over the dashboard.
    assert!(after.contains("interrupted") && after.contains(" NOPM, "), "{after}");
    assert!(!watched.contains("ETA") && !watched.contains("to stop immediately\r\n"), "{seen}");
}

#[test]
fn io_on_emulated_devices_is_shown_by_role() {
    // Both take long where the machine is busy, and without the shim there is no run.
    shim();
    populate("mysql-5.7");
    let mut terminal = OnTerminal::start(&format!(
        "run --engine mysql-5.7 -w 1 -c 2 --warmup 1s --window {AMPLE} --data nvme-pm1725 --set \
         innodb_log_file_size=16M --watch",
    ));
    terminal.until_numbers(&[(" NOPM ", 1), ("data ", 5), ("redo ", 5)]);
    let shown = screen(&terminal.seen()).join("\n");
    assert!(shown.contains(" I/O by role "), "{shown}");
    terminal.signal(Signal::INT);
    assert_eq!(terminal.wait(), Some(130), "{}", terminal.seen());
    let seen = terminal.seen();
    let (_, after) = seen.rsplit_once(LEAVE).unwrap();
    // Told while the dashboard was shown, or before it.
    assert!(seen.contains("note: the bytes of emulated devices"), "{seen}");
    assert!(after.contains("nvme-pm1725") && !after.contains(ENTER), "{after}");
}

#[test]
fn a_second_signal_restores_the_terminal_too() {
    let server = lent();
    let arguments = format!("run --dsn '{}' -c 1 --warmup 1s --window {AMPLE} --watch", server.dsn);
    // The transaction under way will wait for a lock, so that the first signal does not end the
    // run.
    let mut holder = Held::open(&server.dsn);
    let mut terminal = OnTerminal::start(&arguments);
    until("it is watched", || terminal.seen().contains(ENTER));
    holder.query("START TRANSACTION");
    // A Payment waits for it soon.
    holder.query("SELECT w_id FROM warehouse FOR UPDATE");
    // Not of innodb_trx, which stays as it was for those who ask often.
    let waits = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'";
    until("it waits", || holder.query(waits)[0].ends_with("|1"));
    terminal.signal(Signal::INT);
    until("it says so", || {
        let shown = screen(&terminal.seen());
        shown.iter().any(|row| row.starts_with("stopping; "))
    });
    terminal.signal(Signal::INT);
    assert_eq!(terminal.wait(), Some(130), "{}", terminal.seen());
    holder.query("ROLLBACK");
    let seen = terminal.seen();
    assert!(seen.ends_with(&format!("{LEAVE}{SHOW_CURSOR}")), "{seen:?}");
}

/// An address with a port that was free a moment ago.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// The metrics, where they are answered.
fn metrics(address: SocketAddr) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    Some(body.to_owned())
}

/// The sum of the samples whose name and labels begin so.
fn sum(text: &str, sample: &str) -> f64 {
    let of_it = text.lines().filter(|line| line.starts_with(sample));
    of_it.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}

const NEW_ORDERS: &str = "mydyno_transactions_total{type=\"new_order\",outcome=\"committed\"}";

#[test]
fn prometheus_is_answered_while_a_run_goes_on() {
    let server = lent();
    let work = directory();
    let address = free_address();
    let mut running = run(&server, work.path(), AMPLE)
        .and_args(["--json", "--metrics-listen", &address.to_string()])
        .spawn();
    let mut before = String::new();
    until("new orders are counted", || {
        assert!(!running.has_ended(), "it ended early: {}", running.stderr());
        before = metrics(address).unwrap_or_default();
        sum(&before, NEW_ORDERS) > 0.0
    });
    // This one never asks.
    let silent = TcpStream::connect(address).unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    let mut after = String::new();
    until("counters grow", || {
        after = metrics(address).unwrap();
        let grows = |counter: &&str| sum(&before, counter) < sum(&after, counter);
        let counters = [NEW_ORDERS, "mydyno_transactions_total{", "mydyno_cpu_seconds_total"];
        counters.iter().all(grows) && sum(&after, "mydyno_nopm") > 0.0
    });
    assert_eq!(sum(&after, "mydyno_connections"), 2.0);
    assert_eq!(sum(&after, "mydyno_phase{"), 1.0, "{after}");
    let info = "mydyno_run_info{target=\"mysql-5.7\",workload=\"tpcc\",style=\"statements\",\
                dilation=\"1\",warehouses=\"1\"}";
    assert_eq!(sum(&after, info), 1.0, "{after}");
    let p99 = "mydyno_response_seconds{type=\"new_order\",quantile=\"0.99\"}";
    let p99_s = sum(&after, p99);
    assert!(p99_s > 0.0 && p99_s < 60.0, "{p99_s}");
    assert!(!after.contains(server.password()), "{after}");
    running.signal(Signal::INT);
    let mut last = sum(&after, NEW_ORDERS);
    while !running.has_ended() {
        if let Some(text) = metrics(address) {
            last = last.max(sum(&text, NEW_ORDERS));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let summary = running.wait().exits(130).json();
    let committed = number(&summary, "/new_orders_committed_by_driver") as f64;
    assert!(0.0 < last && last <= committed, "{last} of {committed}");
    drop(silent);
}

#[test]
fn an_address_in_use_is_refused_before_anything_is_started() {
    let work = directory();
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = held.local_addr().unwrap().to_string();
    let running = mydyno(["run", "--engine", "mysql-5.7", "--metrics-listen", &address])
        .in_directory(work.path())
        .spawn();
    let owner = running.pid();
    let ran = running.wait().exits(2).says(&["--metrics-listen", &address, "choose another port"]);
    assert_eq!(ran.stdout, "");
    assert!(!ran.stderr.contains("starting"), "{}", ran.stderr);
    assert!(!work.path().join("mydyno.db").exists());
    assert_eq!(servers_under(owner), Vec::<u32>::new());
}
