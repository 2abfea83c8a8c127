//! Warm-ups and windows that end by what they show, on a real server.

use crate::support::{
    Mydyno, SMALL_REDO, assert_described, counts_agree, directory, float, install, list, mydyno,
    result, text,
};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;

/// Short intervals, so that thirty of them are soon over.
fn run(work: &Path, arguments: &[&str]) -> Mydyno {
    install("mysql-5.7");
    mydyno(["run", "--engine", "mysql-5.7", "-w", "1", "-c", "4"])
        .and_args(["--interval", "200ms", "--json"])
        .and_args(SMALL_REDO)
        .and_args(arguments)
        .in_directory(work)
}

fn has_note(document: &Value, words: &str) -> bool {
    let notes = list(document, "/notes");
    notes.iter().any(|note| note.as_str().unwrap().contains(words))
}

#[test]
#[ignore = "make soak"]
fn a_run_ends_by_itself() {
    let work = directory();
    let arguments = ["--warmup", "auto:45s", "--window", "auto:45s", "--precision", "10%"];
    let document = run(work.path(), &arguments).run().exits(0).json();
    assert_described(&document);
    assert_eq!(text(&document, "/status"), "done");
    assert_eq!(document["interrupted"], false);
    assert_eq!(float(&document, "/warmup_s"), 45.0);
    assert_eq!(float(&document, "/precision_share"), 0.1);
    // Half a minute, and 180 intervals of the window, at least. On a busy machine either may take
    // all of its time, and says so.
    let warmup_s = float(&document, "/warmup_measured_s");
    assert!((30.0..=45.0).contains(&warmup_s), "{document:#}");
    let is_steady = document["warmup_steady"].as_bool().unwrap();
    assert_ne!(is_steady, has_note(&document, "the server was not steady"));
    let window_s = float(&document, "/window_s");
    assert!((36.0..=45.0).contains(&window_s), "{document:#}");
    let reached = document["window_precision_share"].as_f64();
    let took_most = has_note(&document, "the window took the most");
    assert!(
        !took_most || (reached.is_none_or(|reached| reached > 0.1) && window_s == 45.0),
        "{document:#}"
    );
    assert!(!has_note(&document, "judged without"), "{document:#}");
    counts_agree(&document);
    // The window begins where the warm-up ended.
    let begins = "SELECT min(start_offset_ns) / 1e9 FROM interval WHERE phase = 'window'";
    let begins: f64 = result(&work.path().join("mydyno.db"), begins).parse().unwrap();
    assert!((begins - warmup_s).abs() < 1e-6, "{begins} {warmup_s}");
}

#[test]
fn an_interrupted_window_keeps_what_it_has() {
    let work = directory();
    let arguments = ["--warmup", "0", "--window", "auto", "--precision", "0.01%"];
    let mut running = run(work.path(), &arguments).spawn();
    let file = work.path().join("mydyno.db");
    // Enough to know something of its mean.
    let stored =
        "SELECT COUNT(DISTINCT start_offset_ns) >= 40 FROM interval WHERE phase = 'window'";
    running.until_stored(&file, stored);
    running.signal(Signal::INT);
    let document = running.wait().exits(130).json();
    assert_eq!(document["interrupted"], true);
    assert!(float(&document, "/nopm") > 0.0);
    assert!(float(&document, "/window_s") < 3_600.0);
    let reached = document["window_precision_share"].as_f64();
    assert!(reached.is_none_or(|reached| reached > 0.000_1));
    assert!(document["warmup_steady"].is_null());
    counts_agree(&document);
}
