//! `mydyno crash`: what was acknowledged survives where it was made durable, and where it was not,
//! the drills say so.

use crate::support::{
    ENGINES, Mydyno, Running, SMALL_REDO, alive, directory, home_of_its_own, install, list, mydyno,
    number, result, servers_under, shim, signal, text, until,
};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;

/// The second of two drills with this seed keeps nothing but what was promised.
const OF_THE_LEAST: [&str; 4] = ["--drills", "2", "--seed", "859640367"];

fn crash(work: &Path, engine: &str, more: &[&str]) -> Mydyno {
    crash_in_pool("32M", work, engine, more)
}

fn crash_in_pool(pool: &str, work: &Path, engine: &str, more: &[&str]) -> Mydyno {
    let pool = format!("innodb_buffer_pool_size={pool}");
    install(engine);
    shim();
    mydyno(["crash", "--engine", engine, "-w", "1", "-c", "4", "--json"])
        .and_args(["--warmup", "0", "--window", "2s", "--set", &pool])
        .and_args(SMALL_REDO)
        .and_args(more)
        .in_directory(work)
}

fn drills(work: &Path, engine: &str, code: i32, more: &[&str]) -> Value {
    crash(work, engine, more).run().exits(code).json()
}

fn of_orders(document: &Value, what: &str) -> u64 {
    let kinds = list(document, "/drills/witnessed");
    let orders = kinds.iter().find(|kind| kind["name"] == "new_order").unwrap();
    number(orders, &format!("/{what}"))
}

/// A consumer's drive keeps what it has flushed, and a log that is flushed with each commit has
/// all. What servers do wrong (docs/power-cut.md) is left out, or known by its message.
fn all_is_kept(engine: &str) {
    let work = directory();
    // With O_DIRECT, MySQL 8.0.20 and newer do not flush their doublewrite files.
    let is_new = ["mysql-8.0", "mysql-9.7"].contains(&engine);
    let method = if is_new { "fsync" } else { "O_DIRECT" };
    let method = format!("innodb_flush_method={method}");
    // A full one drains its cache for half a second at each flush. Some cuts come just after one.
    let data = ["--data", "sata-850pro", "--used", "10%", "--drills", "4", "--set", &method];
    let flushed = [&data[..], &["--set", "innodb_flush_log_at_trx_commit=1"]].concat();
    let ran = crash(work.path(), engine, &flushed).run();
    let document = ran.json();
    let damage = list(&document, "/drills/damage");
    let known: &[&str] = match engine {
        "xtradb-5.6" => &["ibdata1 read of page 5", "Set innodb_force_recovery", "./mysql/user"],
        "mariadb-10.11" => &["The first page of file"],
        _ => &[],
    };
    let is_known = |damage: &Value| known.iter().any(|known| text(damage, "/what").contains(known));
    assert!(damage.iter().all(is_known), "{document:#}");
    ran.exits(if damage.is_empty() { 0 } else { 6 });
    let recovered = number(&document, "/drills/recovered") as usize;
    // A server that recovers may have lost a table.
    assert!(recovered + damage.len() >= 4 && recovered > 0, "{document:#}");
    assert!(of_orders(&document, "acknowledged") > 0, "{document:#}");
    assert_eq!(of_orders(&document, "lost"), 0, "{document:#}");
    if damage.is_empty() {
        assert_eq!(number(&document, "/drills/corrupt_pages"), 0, "{document:#}");
    }
    assert!(number(&document, "/drills/unstable_writes") > 0, "{document:#}");
    // It is a lab like any other.
    let file = work.path().join("mydyno.db");
    assert_eq!(result(&file, "SELECT status FROM lab"), "done");
    let report = std::fs::read_to_string(work.path().join("report.html")).unwrap();
    assert!(report.contains("What survives"));
}

engines! {
    all_is_kept;
    test: mysql_5_7;
    others: soak;
}

/// The log is flushed once a minute: a cut that comes just after it would lose nothing.
const LAZY: [&str; 4] =
    ["--set", "innodb_flush_log_at_trx_commit=0", "--set", "innodb_flush_log_at_timeout=60"];

fn something_is_lost(work: &Path, more: &[&str]) {
    // A page that has to leave the pool takes the log along to the device.
    let document = crash_in_pool("256M", work, ENGINES[0], more).run().exits(6).json();
    assert!(number(&document, "/drills/with_losses") > 0, "{document:#}");
}

#[test]
#[ignore = "make soak"]
fn what_is_in_the_servers_own_buffer_goes_with_it() {
    let kill = [&["--fault", "kill", "--drills", "1"][..], &LAZY].concat();
    something_is_lost(directory().path(), &kill);
}

#[test]
fn what_is_not_flushed_is_lost() {
    let work = directory();
    let cut = [&LAZY[..], &["--data", "sata-850pro", "--used", "10%"], &OF_THE_LEAST].concat();
    something_is_lost(work.path(), &cut);
    // What the server has written, its machine keeps.
    let work = directory();
    let kill = ["--fault", "kill", "--drills", "1", "--set"];
    let written = [&kill[..], &["innodb_flush_log_at_trx_commit=2"]].concat();
    let document = drills(work.path(), ENGINES[0], 0, &written);
    assert_eq!(text(&document, "/drills/fault"), "kill");
    assert_eq!(of_orders(&document, "lost"), 0, "{document:#}");
}

/// A drive that acknowledges flushes and does nothing takes back what it said.
#[test]
#[ignore = "make soak"]
fn what_a_lying_drive_acknowledged_is_lost() {
    let work = directory();
    let data = ["--data", "sata-lying", "--set", "innodb_flush_log_at_trx_commit=1"];
    let flushed = [&data[..], &OF_THE_LEAST].concat();
    let document = drills(work.path(), ENGINES[0], 6, &flushed);
    let of = |key: &str| number(&document, &format!("/drills/{key}"));
    assert!(of("with_losses") + of("damaged") > 0, "{document:#}");
}

/// One drill with a fault of its devices: what the server did, and all that is known of it.
fn reaction(device: &str, fault: &str, code: i32) -> (String, Value) {
    let work = directory();
    let arguments = ["--data", device, "--fault", fault, "--drills", "1"];
    let document = drills(work.path(), ENGINES[0], code, &arguments);
    assert_eq!(text(&document, "/drills/fault"), fault);
    (text(&document, "/drills/reactions/0/reaction").to_owned(), document)
}

/// InnoDB ends where its log cannot be written; nothing that it had acknowledged is lost.
#[test]
#[ignore = "make soak"]
fn a_log_that_cannot_be_written_stops_the_server() {
    let (did, document) = reaction("sata-850pro", "io-error:redo", 0);
    assert_eq!(did, "stopped", "{document:#}");
    assert_eq!(number(&document, "/drills/recovered"), 1, "{document:#}");
    assert_eq!(of_orders(&document, "lost"), 0, "{document:#}");
}

#[test]
#[ignore = "make soak"]
fn an_array_with_mirrors_outlives_a_member_and_a_slow_device_is_only_slow() {
    for (device, fault) in [("raid1-nvme-2", "device-lost"), ("sata-850pro", "fail-slow")] {
        let (did, document) = reaction(device, fault, 0);
        assert_eq!(did, "kept running", "{document:#}");
        assert_eq!(number(&document, "/drills/reactions/0/client_errors"), 0, "{document:#}");
    }
    let (did, document) = reaction("sata-850pro", "device-lost", 0);
    assert_ne!(did, "kept running", "{document:#}");
}

/// What was acknowledged by a drive that wrote a half of it is not there, or not whole.
#[test]
#[ignore = "make soak"]
fn writes_that_are_silently_short_are_found() {
    let work = directory();
    let fault = ["--data", "sata-850pro", "--fault", "short-write:data", "--drills", "1"];
    let ran = crash(work.path(), ENGINES[0], &fault).run();
    let document = ran.json();
    let damaged = list(&document, "/drills/damage").len();
    ran.exits(if damaged == 0 { 0 } else { 6 });
    let did = &document["drills"]["reactions"][0];
    if text(did, "/reaction") == "stopped" {
        // It has read such a page, which its recovery may mend from the copy.
        assert!(text(did, "/said").contains("corrupt"), "{document:#}");
    } else {
        assert!(number(&document, "/drills/torn_pages") > 0, "{document:#}");
        assert_eq!(damaged, 1, "{document:#}");
    }
}

/// Starts one drill and waits for the server that recovers in it. Returns both.
fn recovering(work: &Path, home: &Path) -> (Running, u32) {
    let kill = crash(work, ENGINES[0], &["--fault", "kill", "--drills", "1"]);
    let mut running = kill.env("MYDYNO_HOME", home).spawn();
    // The first one has ended by then.
    running.until_says("recovering");
    let owner = running.pid();
    let mut servers = Vec::new();
    running.until("the server recovers", || {
        servers = servers_under(owner);
        !servers.is_empty()
    });
    (running, servers[0])
}

/// Directories of private servers, which begin with the number of their owner.
fn left_in_run(home: &Path) -> usize {
    let entries = std::fs::read_dir(home.join("run")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(|first: char| first.is_ascii_digit())).count()
}

/// A drill whose server never comes back is a result with its reason, and leaves nothing behind.
fn never_recovers(sent: Signal, says: &str) {
    let (work, home) = (directory(), home_of_its_own());
    let (running, server) = recovering(work.path(), home.path());
    signal(server, sent);
    let document = running.wait().exits(6).json();
    let what = text(&document, "/drills/damage/0/what");
    assert!(what.contains(says), "{what}");
    assert_eq!(number(&document, "/drills/recovered"), 0);
    assert!(!alive(server));
    assert_eq!(left_in_run(home.path()), 0);
}

#[test]
#[ignore = "make soak"]
fn a_server_that_dies_of_its_recovery_is_told() {
    never_recovers(Signal::KILL, "it does not recover: ");
}

#[test]
#[ignore = "make soak"]
fn a_server_that_recovers_for_ever_is_ended() {
    // Two minutes, and what the redo log may take.
    never_recovers(Signal::STOP, "it took no connections within 1");
}

#[test]
#[ignore = "make soak"]
fn mydyno_is_killed_in_a_drill() {
    let (work, home) = (directory(), home_of_its_own());
    let (running, server) = recovering(work.path(), home.path());
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    until("the server is gone with its owner", || !alive(server));
    assert_eq!(left_in_run(home.path()), 1);
    // The next command takes away what is left, and says what became of the drill.
    let next = crash(work.path(), ENGINES[0], &["--fault", "kill", "--drills", "1"]);
    next.env("MYDYNO_HOME", home.path()).run().exits(0);
    let file = work.path().join("mydyno.db");
    assert_eq!(result(&file, "SELECT status FROM lab WHERE id = 1"), "interrupted");
    assert_eq!(result(&file, "SELECT COUNT(*) FROM drill"), "1");
    assert_eq!(left_in_run(home.path()), 0);
}

#[test]
fn what_cannot_be_a_drill_is_refused() {
    let nodes = ["--topology", "primary-replicas", "--nodes", "2"];
    let of_nodes = [&["--engine", "mysql-5.7", "--fault", "kill"][..], &nodes].concat();
    for (arguments, says) in [
        (&["--dsn", "mysql://u@127.0.0.1/tpcc"][..], "it is for private ones"),
        (&["--engine", "mysql-5.7"], "only an emulated device can lose its power"),
        (&["--engine", "mysql-5.7", "--fault", "io-error:log"], "a role may follow"),
        (&of_nodes, "several are asked for"),
    ] {
        let work = directory();
        let ran = mydyno(["crash"]).and_args(arguments).in_directory(work.path()).run();
        ran.exits(2).says(&[says]);
    }
}
