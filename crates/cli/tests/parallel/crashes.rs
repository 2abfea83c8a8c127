//! `mydyno crash`: what was acknowledged survives where it was made durable, and where it was not,
//! the drills say so.

use crate::support::{
    ENGINES, SMALL_REDO, directory, install, list, mydyno, number, result, shim, text,
};
use serde_json::Value;
use std::path::Path;

/// The second of two drills with this seed keeps nothing but what was promised.
const OF_THE_LEAST: [&str; 4] = ["--cuts", "2", "--seed", "859640367"];

fn drills(work: &Path, engine: &str, code: i32, more: &[&str]) -> Value {
    install(engine);
    shim();
    mydyno(["crash", "--engine", engine, "-w", "1", "-c", "4", "--json"])
        .and_args(["--warmup", "0", "--window", "2s", "--set", "innodb_buffer_pool_size=32M"])
        .and_args(SMALL_REDO)
        .and_args(more)
        .in_directory(work)
        .run()
        .exits(code)
        .json()
}

fn of_orders(document: &Value, what: &str) -> u64 {
    let kinds = list(document, "/drills/witnessed");
    let orders = kinds.iter().find(|kind| kind["name"] == "new_order").unwrap();
    number(orders, &format!("/{what}"))
}

/// A consumer's drive keeps what it has flushed, and a log that is flushed with each commit has all.
fn all_is_kept(engine: &str) {
    let work = directory();
    let data = ["--data", "sata-850pro", "--cuts", "2", "--set"];
    let flushed = [&data[..], &["innodb_flush_log_at_trx_commit=1"]].concat();
    let document = drills(work.path(), engine, 0, &flushed);
    assert_eq!(number(&document, "/drills/recovered"), 2, "{document:#}");
    assert!(of_orders(&document, "acknowledged") > 0, "{document:#}");
    assert_eq!(of_orders(&document, "lost"), 0, "{document:#}");
    assert_eq!(list(&document, "/drills/damage").len(), 0, "{document:#}");
    assert!(number(&document, "/drills/unstable_writes") > 0, "{document:#}");
    // It is a lab like any other.
    let file = work.path().join("mydyno.db");
    assert_eq!(result(&file, "SELECT status FROM lab"), "done");
    let report = std::fs::read_to_string(work.path().join("report.html")).unwrap();
    assert!(report.contains("What survives"));
}

#[test]
fn mysql_5_7_keeps_what_is_flushed() {
    all_is_kept(ENGINES[0]);
}

#[test]
#[ignore = "make soak"]
fn the_other_engines_keep_what_is_flushed() {
    ENGINES[1..].iter().for_each(|engine| all_is_kept(engine));
}

#[test]
fn what_is_not_flushed_is_lost() {
    let lazy = ["--set", "innodb_flush_log_at_trx_commit=0"];
    let work = directory();
    let cut = [&lazy[..], &["--data", "sata-850pro"], &OF_THE_LEAST].concat();
    let document = drills(work.path(), ENGINES[0], 6, &cut);
    assert!(number(&document, "/drills/with_losses") > 0, "{document:#}");
    // What the server has written, its machine keeps; what is in its own buffer goes with it.
    let work = directory();
    let kill = ["--fault", "kill", "--cuts", "1", "--set"];
    let written = [&kill[..], &["innodb_flush_log_at_trx_commit=2"]].concat();
    let document = drills(work.path(), ENGINES[0], 0, &written);
    assert_eq!(text(&document, "/drills/fault"), "kill");
    assert_eq!(of_orders(&document, "lost"), 0, "{document:#}");
    let work = directory();
    let document = drills(work.path(), ENGINES[0], 6, &[&kill[..4], &lazy].concat());
    assert!(number(&document, "/drills/with_losses") > 0, "{document:#}");
}

/// A drive that acknowledges flushes and does nothing takes back what it said.
#[test]
#[ignore = "make soak"]
fn what_a_lying_drive_acknowledged_is_lost() {
    let work = directory();
    let shown = mydyno(["device", "show", "sata-850pro"]).run().exits(0).stdout;
    let lying = shown.replace("[solid_state]\n", "[solid_state]\nflush_lies = true\n");
    assert_ne!(lying, shown);
    std::fs::write(work.path().join("lying.toml"), lying.replace("sata-850pro", "lying")).unwrap();
    let data = ["--data", "./lying.toml", "--set", "innodb_flush_log_at_trx_commit=1"];
    let flushed = [&data[..], &OF_THE_LEAST].concat();
    let document = drills(work.path(), ENGINES[0], 6, &flushed);
    let of = |key: &str| number(&document, &format!("/drills/{key}"));
    assert!(of("with_losses") + of("damaged") > 0, "{document:#}");
}

#[test]
fn what_cannot_be_a_drill_is_refused() {
    let nodes = ["--topology", "primary-replicas", "--nodes", "2"];
    let of_nodes = [&["--engine", "mysql-5.7", "--fault", "kill"][..], &nodes].concat();
    for (arguments, says) in [
        (&["--dsn", "mysql://u@127.0.0.1/tpcc"][..], "it is for private ones"),
        (&["--engine", "mysql-5.7"], "only an emulated device can lose its power"),
        (&of_nodes, "several are asked for"),
    ] {
        let work = directory();
        let ran = mydyno(["crash"]).and_args(arguments).in_directory(work.path()).run();
        ran.exits(2).says(&[says]);
    }
}
