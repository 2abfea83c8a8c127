//! Servers that stand still: stopped, behind a lock, and behind a network that forwards nothing, in
//! the middle of a window and across its begin and end. Each time is named with its length.

use crate::support::{
    Held, Relay, Running, SMALL_REDO, Server, counts_agree, directory, float, install, list,
    mydyno, number, servers_under, shim, signal,
};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const WARMUP_S: f64 = 4.0;
const WINDOW_S: f64 = 14.0;
/// Where a server stands still, in seconds from the start of the run: across the begin of the
/// window, in it, and across its end, there for longest.
const STALLS_S: [(f64, f64); 3] = [(2.5, 5.5), (8.0, 11.0), (13.5, 19.5)];

/// How far a length may be off. Long tests have the machine to themselves; beside other tests, the
/// driver may wait for a core for some tenths of a second before it notes what has ended.
fn off_max() -> f64 {
    let is_alone = std::env::args().any(|argument| argument == "--ignored");
    if is_alone { 0.1 } else { 0.2 }
}

/// A run over that window.
fn run(dsn: &str, work: &Path, arguments: &[&str]) -> Running {
    mydyno(["run", "--dsn", dsn, "--json", "--warmup", "4s", "--window", "14s"])
        .and_args(["--interval", "100ms"])
        .and_args(arguments)
        .in_directory(work)
        .spawn()
}

/// Lets it stand still three times; returns how long each time was.
fn stand_still(running: &mut Running, work: &Path, mut stop: impl FnMut(bool)) -> Vec<f64> {
    let sql = "SELECT COUNT(*) > 0 FROM interval WHERE repeat_id = (SELECT MAX(id) FROM repeat)";
    running.until_stored(&work.join("mydyno.db"), sql);
    let begun = Instant::now();
    let at = |s: f64| thread::sleep(Duration::from_secs_f64(s).saturating_sub(begun.elapsed()));
    let lengths = STALLS_S.map(|(from_s, to_s)| {
        at(from_s);
        stop(true);
        let from = Instant::now();
        at(to_s);
        stop(false);
        from.elapsed().as_secs_f64()
    });
    lengths.to_vec()
}

/// Are these times named, and nothing else?
#[track_caller]
fn are_named(document: &Value, stalls_s: &[f64]) {
    let silences = list(document, "/silences");
    assert_eq!(silences.len(), stalls_s.len(), "{silences:#?}");
    for (silence, stall_s) in silences.iter().zip(stalls_s) {
        let off = float(silence, "/duration_s") / stall_s - 1.0;
        assert!(off.abs() < off_max(), "{off}: {silence:#} of {stall_s} s");
        assert!(number(silence, "/in_flight") > 0, "{silence:#}");
    }
    let start_s = |at: usize| float(&silences[at], "/start_s");
    assert!(start_s(0) < 0.0 && start_s(1) > 0.0, "{silences:#?}");
    assert!(float(&silences[2], "/end_s") > WINDOW_S, "{silences:#?}");
    let remarks: Vec<&str> = list(document, "/remarks").iter().filter_map(Value::as_str).collect();
    let told = |words: &str| remarks.iter().any(|remark| remark.contains(words));
    assert!(told("s before the window to ") && told("to the end and for "), "{remarks:#?}");
    // What was in flight at the end is known with its age, and in the maximum.
    let transactions = document["transactions"].as_object().unwrap();
    let in_flight: u64 = transactions.values().map(|of| number(of, "/in_flight")).sum();
    assert!(in_flight > 0, "{transactions:#?}");
    let age_us = (WARMUP_S + WINDOW_S - STALLS_S[2].0) * 1e6;
    let longest_us = |of: &&Value| of["max_us"].as_f64().unwrap_or(0.0);
    let marked =
        transactions.values().filter(|of| list(of, "/at_least").iter().any(|key| key == "max_us"));
    assert!(marked.map(|of| longest_us(&of)).fold(0.0, f64::max) > 0.8 * age_us);
    counts_agree(document);
}

static SERVER: LazyLock<Mutex<Server>> =
    LazyLock::new(|| Mutex::new(Server::loaded("mysql-5.7", &[])));

/// For one test at a time.
fn server() -> MutexGuard<'static, Server> {
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

const CLOSED: &[&str] = &["-c", "4"];
const OPEN: &[&str] = &["-c", "8", "--rate", "50/s"];
/// Of several connections one would hold rows that another waits for, and the lock both.
const CLOSED_BY_ONE: &[&str] = &["-c", "1"];
const OPEN_BY_ONE: &[&str] = &["-c", "1", "--rate", "20/s"];

fn with_stopped_server(arguments: &[&str]) -> Value {
    let (server, work) = (server(), directory());
    let mut running = run(&server.dsn, work.path(), arguments);
    let stop = |is_stopped| {
        signal(server.pid, if is_stopped { Signal::STOP } else { Signal::CONT });
    };
    let stalls_s = stand_still(&mut running, work.path(), stop);
    let document = running.wait().exits(0).json();
    are_named(&document, &stalls_s);
    document
}

/// Connections of a closed loop are in transactions all the time, whatever ends in the window.
fn are_all_in_transactions(document: &Value, connections: f64) {
    let in_transactions = float(document, "/connection_time/in_transactions");
    assert!(in_transactions > 0.99 * connections, "{document:#}");
    let account = &document["resources"]["account"];
    assert!(account.is_null() || float(account, "/remainder_us") >= 0.0, "{account:#}");
}

#[test]
#[ignore = "make soak"]
fn a_stopped_server_is_named_wherever_it_stops() {
    are_all_in_transactions(&with_stopped_server(CLOSED), 4.0);
}

#[test]
#[ignore = "make soak"]
fn a_stopped_server_is_named_in_an_open_loop() {
    let document = with_stopped_server(OPEN);
    assert!(number(&document["open_loop"], "/skipped") > 50, "{document:#}");
}

/// One that never goes on cannot be asked any more: why there is no result tells of it.
#[test]
#[ignore = "make soak"]
fn a_server_that_stays_stopped_is_named() {
    let (server, work) = (server(), directory());
    let mut running = run(&server.dsn, work.path(), CLOSED);
    running.until_measuring(work.path());
    signal(server.pid, Signal::STOP);
    let ran = running.wait().exits(5);
    signal(server.pid, Signal::CONT);
    let document = ran.json();
    let told = document.to_string();
    assert!(told.contains("nothing ended from") && told.contains("4 transactions"), "{told}");
}

fn with_lock(arguments: &[&str]) -> Value {
    let (server, work) = (server(), directory());
    let mut session = Held::open(&server.dsn);
    let mut running = run(&server.dsn, work.path(), arguments);
    let stop = |is_stopped| {
        let sql = if is_stopped { "FLUSH TABLES WITH READ LOCK" } else { "UNLOCK TABLES" };
        session.query(sql);
    };
    let stalls_s = stand_still(&mut running, work.path(), stop);
    let document = running.wait().exits(0).json();
    are_named(&document, &stalls_s);
    document
}

#[test]
fn a_lock_is_named_wherever_it_comes() {
    are_all_in_transactions(&with_lock(CLOSED_BY_ONE), 1.0);
}

#[test]
#[ignore = "make soak"]
fn a_lock_is_named_in_an_open_loop() {
    with_lock(OPEN_BY_ONE);
}

fn with_silent_network(arguments: &[&str]) -> Value {
    let (server, work) = (server(), directory());
    let relay = Relay::to(server.port);
    let dsn = server.dsn.replace(&format!(":{}", server.port), &format!(":{}", relay.port));
    let mut running = run(&dsn, work.path(), arguments);
    let stop = |is_stopped| relay.stop(is_stopped);
    let stalls_s = stand_still(&mut running, work.path(), stop);
    let document = running.wait().exits(0).json();
    are_named(&document, &stalls_s);
    document
}

/// An open loop: what is due meanwhile waits, and counts from its intended start.
#[test]
fn a_network_that_forwards_nothing_is_named_in_an_open_loop() {
    let document = with_silent_network(OPEN);
    // 50 a second came for 4.5 s, or as long as the machine made it, and none began.
    let waited = number(&document["open_loop"], "/skipped");
    let last = &list(&document, "/silences")[2];
    assert!(waited > 50 && number(last, "/in_flight") >= waited, "{waited}: {last:#}");
}

#[test]
#[ignore = "make soak"]
fn a_network_that_forwards_nothing_is_named_in_a_closed_loop() {
    are_all_in_transactions(&with_silent_network(CLOSED), 4.0);
}

/// A run without a stall says nothing of one, and its connections are all accounted for.
#[test]
fn a_server_that_goes_on_has_no_remarks_on_silences() {
    let (server, work) = (server(), directory());
    let document = mydyno(["run", "--dsn", &server.dsn, "--json", "-c", "2", "--warmup", "1s"])
        .and_args(["--window", "4s"])
        .in_directory(work.path())
        .run()
        .exits(0)
        .json();
    counts_agree(&document);
    let time = &document["connection_time"];
    let in_transactions = float(time, "/in_transactions");
    assert!((1.9..2.01).contains(&in_transactions), "{time:#}");
    // By each transaction that ended, connections were in transactions for so long.
    let held = float(time, "/response_times_in_window");
    let ended: u64 = document["transactions"]
        .as_object()
        .unwrap()
        .values()
        .fold(0, |sum, of| sum + number(of, "/committed") + number(of, "/rolled_back"));
    let product = ended as f64 / held;
    assert!((product / in_transactions - 1.0).abs() < 0.01, "{product}: {time:#}");
}

const LAB: &str = "[lab]\nname = \"still\"\nrepeats = 1\n[server]\nengine = [\"mysql-5.7\"]\n\
    set = { innodb_log_file_size = \"16M\" }\n[load]\nwarehouses = [1]\nconnections = [2]\n\
    warmup = \"1s\"\nwindow = \"6s\"\n";

/// Stops the server of a process for 3 s in its window, and returns how long that was.
fn stop_private(running: &mut Running, file: &Path) -> f64 {
    let sql = "SELECT COUNT(*) >= 10 FROM interval WHERE phase = 'window' AND repeat_id = (SELECT \
               MAX(id) FROM repeat)";
    running.until_stored(file, sql);
    let servers = servers_under(running.pid());
    assert_eq!(servers.len(), 1);
    signal(servers[0], Signal::STOP);
    let from = Instant::now();
    thread::sleep(Duration::from_secs(3));
    signal(servers[0], Signal::CONT);
    from.elapsed().as_secs_f64()
}

/// Is a time of this length named in one of these sentences?
#[track_caller]
fn is_said(sentences: &[Value], stall_s: f64) {
    let lengths = sentences.iter().filter_map(Value::as_str).filter_map(|sentence| {
        let (_, length) = sentence.split_once("nothing ended")?;
        let seconds = length.split(['(', ' ']).filter_map(|word| word.parse::<f64>().ok());
        seconds.fold(None, |least: Option<f64>, s| {
            let off = (s / stall_s - 1.0).abs();
            Some(least.map_or(off, |least| least.min(off)))
        })
    });
    assert!(lengths.fold(1.0, f64::min) < off_max(), "{stall_s} s in {sentences:#?}");
}

#[test]
fn the_answer_of_a_lab_names_a_stall() {
    let work = directory();
    shim();
    install("mysql-5.7");
    std::fs::write(work.path().join("plan.toml"), LAB).unwrap();
    let mut running = mydyno(["lab", "run", "plan.toml", "--json", "--results", "mydyno.db"])
        .in_directory(work.path())
        .spawn();
    let stall_s = stop_private(&mut running, &work.path().join("mydyno.db"));
    let document = running.wait().exits(0).json();
    let limits = list(&document, "/answer/limits");
    let told = limits.iter().filter_map(Value::as_str);
    let told = told.filter_map(|of| of.strip_prefix("For up to ")?.split(' ').next()?.parse().ok());
    let longest_s: Vec<f64> = told.collect();
    assert!((longest_s[0] / stall_s - 1.0).abs() < off_max(), "{stall_s} s in {limits:#?}");
    let report = ["report", "--results", "mydyno.db", "-o", "page.html"];
    mydyno(report).in_directory(work.path()).run().exits(0);
    let page = std::fs::read_to_string(work.path().join("page.html")).unwrap();
    assert!(page.contains("In this window nothing ended from "));
}

#[test]
#[ignore = "make soak"]
fn a_step_of_a_ramp_names_a_stall() {
    let work = directory();
    shim();
    install("mysql-5.7");
    let arguments = ["ramp", "--engine", "mysql-5.7", "-w", "1", "--json", "--warmup", "1s"];
    let mut running = mydyno(arguments)
        .and_args(["--window", "8s", "--connections-max", "2", "--start", "1"])
        .and_args(SMALL_REDO)
        .in_directory(work.path())
        .spawn();
    let stall_s = stop_private(&mut running, &work.path().join("mydyno.db"));
    let document = running.wait().exits(0).json();
    let points = list(&document, "/ramp/points");
    let remarks: Vec<Value> = points.iter().flat_map(|of| list(of, "/remarks").to_vec()).collect();
    is_said(&remarks, stall_s);
}
