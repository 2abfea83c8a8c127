//! What bound a run: cells that are made to be bound by one thing get that verdict, and what it
//! rests on agrees with the raw samples.

use crate::support::{
    QUICK, SMALL_REDO, Server, assert_described, directory, float, install, list, mydyno, number,
    result, shim, text,
};
use crate::turn;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const ATTEMPTS: u32 = 3;
/// Beside so many, the driver has less of its core than it needs for a few hundred transactions a
/// second.
const HOGS: u32 = 32;

fn run(work: &Path, warehouses: &str, arguments: &[&str]) -> Value {
    shim();
    install("mysql-5.7");
    let all = ["run", "--engine", "mysql-5.7", "--json", "-w", warehouses];
    mydyno(all).and_args(SMALL_REDO).and_args(arguments).in_directory(work).run().exits(0).json()
}

/// Runs until the verdict is `by`. Other programs on this machine take cores, which changes what a
/// run is bound by; a wrong rule is wrong every time.
fn assert_bound(by: &str, run: impl Fn() -> Value) -> Value {
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let document = run();
        let resources = &document["resources"];
        if resources["bound"]["by"] == by {
            assert!(!text(resources, "/bound/because").is_empty());
            adds_up(&resources["account"]);
            return document;
        }
        seen.push(document["resources"].clone());
    }
    panic!("not {by} in {ATTEMPTS} runs: {seen:#?}");
}

/// The parts are the whole, and little of it is not explained.
fn adds_up(account: &Value) {
    let whole = float(account, "/time_us");
    let of = account.as_object().unwrap();
    let parts = of.iter().filter(|(name, _)| {
        name.ends_with("_us") && !["time_us", "queued_us"].contains(&name.as_str())
    });
    let sum: f64 = parts.filter_map(|(_, part)| part.as_f64()).sum();
    assert!((sum / whole - 1.0).abs() < 0.03, "{account}");
    let remainder = float(account, "/remainder_us");
    assert!(remainder.abs() < 0.15 * whole, "{account}");
}

/// A pool that holds everything.
const IN_MEMORY: [&str; 9] =
    ["-c", "8", "--warmup", "4s", "--window", "6s", "--style", "batched", "--count-io"];

/// Whatever bound it on this machine.
#[test]
fn an_account_adds_up_and_agrees_with_its_samples() {
    let _turn = turn();
    let work = directory();
    let document = run(work.path(), "1", &IN_MEMORY);
    assert_described(&document);
    adds_up(&document["resources"]["account"]);
    agrees_with_its_samples(&document, &work.path().join("mydyno.db"));
}

#[test]
#[ignore = "make soak"]
fn a_pool_that_holds_everything_is_cpu_bound() {
    let _turn = turn();
    let work = directory();
    assert_bound("cpu", || run(work.path(), "4", &IN_MEMORY));
}

/// On a machine with more of them, most of which are idle.
#[test]
#[ignore = "make soak"]
fn a_server_that_has_used_up_its_one_core_is_cpu_bound() {
    let _turn = turn();
    let work = directory();
    let arguments = [&IN_MEMORY[..], &["--cores", "1"]].concat();
    let document = assert_bound("cpu", || run(work.path(), "4", &arguments));
    let because = text(&document, "/resources/bound/because");
    assert!(because.contains("the server's core was busy for"), "{because}");
}

/// Path length by hand, from the samples of the window's first and last second.
fn agrees_with_its_samples(document: &Value, file: &Path) {
    let repeat = number(document, "/repeat_id");
    assert_eq!(document["resources"]["host"]["machine"], "driver");
    let rise = |name: &str, condition: &str| -> f64 {
        let sql = format!(
            "SELECT 1.0 * (max(value) - min(value)) / (max(at_offset_ns) - min(at_offset_ns)) FROM \
             sample JOIN metric ON metric.id = metric_id WHERE repeat_id = {repeat} AND name = \
             '{name}' AND {condition} AND at_offset_ns BETWEEN 3900000000 AND 10100000000"
        );
        result(file, &sql).parse().unwrap()
    };
    let of_host = |name: &str| rise(name, "source = 'host' AND label = ''");
    let executed: f64 = ["user", "system", "irq", "softirq"]
        .iter()
        .map(|part| of_host(&format!("cpu_{part}_ns")))
        .sum();
    let busy = executed + of_host("cpu_steal_ns");
    let cores = float(document, "/resources/host/cpu_cores");
    let share = float(document, "/resources/host/cpu_busy_share");
    assert!((share - busy / cores).abs() < 1e-6, "{share} {busy} {cores}");
    let hz = float(document, "/resources/host/cpu_frequency_hz");
    let per_s = float(document, "/tpm_total") / 60.0;
    let cycles = float(document, "/resources/per_transaction/path_length_cycles");
    let by_hand = hz * executed / per_s;
    assert!((cycles / by_hand - 1.0).abs() < 1e-6, "{cycles} {by_hand}");
    // The driver's CPU is known from its own clock too, over the very window.
    let driver = float(document, "/resources/driver/cpu_cores_used");
    let by_clock = float(document, "/client_cpu_s") / float(document, "/window_s");
    assert!((driver - by_clock).abs() < 0.1 * by_clock + 0.02, "{driver} {by_clock}");
    // No gap: a sample each second of each source, to a late one.
    let counts = format!(
        "SELECT min(n) FROM (SELECT count(*) AS n FROM sample JOIN metric ON metric.id = metric_id \
         WHERE repeat_id = {repeat} AND name IN ('cpu_idle_ns', 'questions', 'resident_bytes') \
         GROUP BY metric_id)"
    );
    let samples: u64 = result(file, &counts).parse().unwrap();
    assert!((8..=13).contains(&samples), "{samples}");
}

#[test]
#[ignore = "make soak"]
fn a_tiny_pool_on_a_disk_is_read_bound() {
    let _turn = turn();
    let work = directory();
    let arguments = [
        "-c",
        "8",
        "--warmup",
        "2s",
        "--window",
        "10s",
        "--data",
        "hdd-15k",
        "--set",
        "innodb_buffer_pool_size=10M",
    ];
    let document = assert_bound("read_io", || run(work.path(), "4", &arguments));
    assert!(float(&document, "/resources/host/emulated_iowait_share") > 0.3);
    counts_roles_alike(&document, &work.path().join("mydyno.db"));
}

/// The series of the shim's counters and its two readings at the window's ends are of one page.
fn counts_roles_alike(document: &Value, file: &Path) {
    let data = list(document, "/devices").iter().find(|device| device["role"] == "data").unwrap();
    let repeat = number(document, "/repeat_id");
    for (name, pointer) in [("reads", "/read"), ("writes", "/write")] {
        let sql = format!(
            "SELECT max(value) - min(value) FROM sample JOIN metric ON metric.id = metric_id WHERE \
             repeat_id = {repeat} AND source = 'shim' AND label = 'data' AND name = '{name}' AND \
             at_offset_ns BETWEEN 1900000000 AND 12100000000"
        );
        let sampled: f64 = result(file, &sql).parse().unwrap();
        let counted = number(data, &format!("{pointer}/requests")) as f64;
        assert!((sampled / counted - 1.0).abs() < 0.1, "{name} {sampled} {counted}");
    }
}

#[test]
#[ignore = "make soak"]
fn a_slow_flush_of_the_log_bounds_by_the_log() {
    let _turn = turn();
    let work = directory();
    let arguments = ["-c", "8", "--warmup", "3s", "--window", "8s", "--redo", "hdd-7k2"];
    assert_bound("log", || run(work.path(), "4", &arguments));
}

#[test]
#[ignore = "make soak"]
fn one_warehouse_for_many_is_lock_bound() {
    let _turn = turn();
    let work = directory();
    let arguments = ["-c", "64", "--warmup", "3s", "--window", "8s", "--count-io"];
    let document = assert_bound("lock", || run(work.path(), "1", &arguments));
    assert!(float(&document, "/resources/server/row_lock_waiting_mean") > 10.0);
}

/// A process that leaves nothing of the first core.
struct Hog(Child);

impl Hog {
    fn start() -> Hog {
        let mut command = Command::new("taskset");
        command.args(["-c", "0", "sh", "-c", "while :; do :; done"]);
        Hog(command.stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "make soak"]
fn a_driver_without_a_core_is_driver_bound() {
    let _turn = turn();
    let work = directory();
    shim();
    let server = Server::start_with("mysql-5.7", &QUICK, &["--count-io"]);
    // With fewer warehouses, locks are held for as long as the driver waits for its core, and it is
    // they that are waited for.
    mydyno(["load", "--dsn", &server.dsn, "-w", "8"]).in_directory(work.path()).run().exits(0);
    let confined = || {
        let driver = mydyno([
            "run",
            "--dsn",
            &server.dsn,
            "-c",
            "16",
            "--warmup",
            "3s",
            "--window",
            "6s",
            "--json",
        ])
        .in_directory(work.path())
        .spawn();
        let pid = driver.pid().to_string();
        let taskset = Command::new("taskset").args(["-a", "-c", "-p", "0", &pid]).output().unwrap();
        assert!(taskset.status.success(), "{taskset:?}");
        let hogs: Vec<Hog> = (0..HOGS).map(|_| Hog::start()).collect();
        let document = driver.wait().exits(0).json();
        drop(hogs);
        document
    };
    let document = assert_bound("driver", confined);
    // It is the server of `mydyno server start`, whose process is known.
    assert!(float(&document, "/resources/server_process/cpu_cores_used") > 0.0);
    server.stop();
}
