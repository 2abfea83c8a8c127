//! Several private servers that are driven together.

use crate::support::{
    AMPLE, Running, SMALL_REDO, directory, float, install, list, mydyno, number, result,
    servers_under, shim, signal, text, until,
};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;

const ENGINE: &str = "mysql-5.7";
/// What the device of [`SLOW`] takes in a second.
const SLOW_IOPS: f64 = 500.0;
const SLOW: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../device/tests/slow.toml"));

/// Two servers with 32 MB of pool between them, on what `arguments` say.
fn start(work: &Path, arguments: &[&str]) -> Running {
    shim();
    install(ENGINE);
    let common = ["--instances", "2", "-c", "3", "--check", "--json"];
    mydyno(["run", "--engine", ENGINE, "-w", "1"])
        .and_args(common)
        .and_args(["--set", "innodb_buffer_pool_size=32M"])
        .and_args(SMALL_REDO)
        .and_args(arguments)
        .in_directory(work)
        .spawn()
}

#[test]
fn two_servers_share_a_device_and_are_proven_together() {
    let work = directory();
    std::fs::write(work.path().join("slow.toml"), SLOW).unwrap();
    let arguments = ["--warmup", "2s", "--window", "8s", "--data", "./slow.toml"];
    let document = start(work.path(), &arguments).wait().exits(0).json();
    let checks = list(&document, "/checks");
    assert_eq!(checks.len(), 18);
    assert!(checks.iter().all(|check| check["passed"] == true));
    assert_eq!(
        number(&document, "/new_orders_in_database"),
        number(&document, "/new_orders_committed_by_driver")
    );
    // Both do something, and together what the run did.
    assert_eq!(number(&document, "/instances"), 2);
    let each = list(&document, "/nopm_by_instance").iter();
    let each: Vec<f64> = each.filter_map(Value::as_f64).collect();
    assert_eq!(each.len(), 2);
    let nopm = float(&document, "/nopm");
    assert!(each.iter().all(|nopm| *nopm > 0.0), "{each:?}");
    assert!((each.iter().sum::<f64>() - nopm).abs() < 0.01, "{each:?} of {nopm}");
    let file = work.path().join("mydyno.db");
    let of_each = result(&file, "SELECT sum(primary_transactions) FROM instance_result");
    let of_all = "SELECT sum(committed + rolled_back) FROM interval WHERE phase = 'window' AND \
        transaction_type = 'new_order'";
    assert_eq!(of_each, result(&file, of_all));
    // Half of the pool each; the server may round it down to pages.
    let pool = "SELECT value FROM server_variable WHERE name = 'innodb_buffer_pool_size' AND phase \
        = 'start'";
    assert_eq!(result(&file, pool), "16777216");
    let notes = list(&document, "/notes");
    let said = |word: &str| notes.iter().filter_map(Value::as_str).any(|note| note.contains(word));
    assert!(said("16 MiB of the buffer pool's 32 MiB"), "{notes:#?}");
    // The device gives both together what it gives one: in the end every request of both has passed
    // it.
    let counted = "SELECT sum(requests) * 1e9 / max(counted_ns) FROM role_request JOIN role_io \
        USING (repeat_id, role) WHERE kind <> 'flush'";
    let per_s: f64 = result(&file, counted).parse().unwrap();
    assert!(per_s < SLOW_IOPS * 1.1, "{per_s} requests/s");
    assert!(per_s > SLOW_IOPS * 0.5, "{per_s} requests/s: the device was not what bound them");
    // Processes and status of both: each has a connection of the observer and its share of the
    // load's, once those are gone that prepared it.
    let connected = "SELECT max(value) FROM sample JOIN metric ON metric.id = metric_id WHERE name \
        = 'threads_connected' AND at_offset_ns > 1000000000";
    assert_eq!(result(&file, connected), "5");
}

#[test]
fn the_death_of_one_server_ends_the_run() {
    let work = directory();
    let file = work.path().join("mydyno.db");
    let mut running = start(work.path(), &["--warmup", "0", "--window", AMPLE]);
    running.until_stored(&file, "SELECT COUNT(*) > 0 FROM interval");
    let servers = servers_under(running.pid());
    assert_eq!(servers.len(), 2);
    let last = *servers.iter().max().unwrap();
    signal(last, Signal::KILL);
    let id = running.pid();
    let document = running.wait().exits(5).json();
    assert_eq!(text(&document, "/reason_code"), "server_died");
    let reason = text(&document, "/reason");
    assert!(reason.contains(" of 2: "), "{reason}");
    assert!(document["nopm"].is_null() && list(&document, "/nopm_by_instance").is_empty());
    until("the other server is gone", || servers_under(id).is_empty());
}
