//! Time that runs faster than real time, which takes a host that does nothing else.

use crate::support::{Ran, SMALL_REDO, directory, float, install, mydyno, results, shim};
use std::path::Path;
use std::time::{Duration, Instant};

const FASTER: f64 = 0.125;

/// With a pool that does not hold the tables: cores would decide.
fn run(work: &Path, arguments: &[&str]) -> Ran {
    shim();
    install("mysql-5.7");
    mydyno(["run", "--engine", "mysql-5.7", "-w", "1", "--data", "hdd-15k", "-c", "4"])
        .and_args(["--set", "innodb_buffer_pool_size=32M"])
        .and_args(SMALL_REDO)
        .and_args(arguments)
        .in_directory(work)
        .run()
}

/// A disk leaves the host idle, so that it can live faster: it is the same disk then.
#[test]
#[ignore = "make soak"]
fn a_disk_is_the_same_where_time_runs_faster() {
    let _turn = crate::turn();
    let work = directory();
    let measured = |dilate: &str| {
        let lengths = ["--warmup", "20s", "--window", "80s", "--json"];
        let begun = Instant::now();
        let ran = run(work.path(), &[&["--dilate", dilate], &lengths[..]].concat());
        (ran.exits(0).json(), begun.elapsed())
    };
    let ((faster, took), (real, _)) = (measured("1/8"), measured("1"));
    assert!(took < Duration::from_secs(90), "{took:?}");
    assert!((float(&faster, "/dilation") - FASTER).abs() < f64::EPSILON);
    assert!((float(&faster, "/window_s") - 80.0).abs() < 1.0);
    let notes = results(&work.path().join("mydyno.db"), "SELECT note FROM note");
    assert!(notes.iter().any(|note| note[0].contains("1/8 as fast")), "{notes:?}");
    // Some hundred new orders, of which each run has others.
    for of in ["/nopm", "/transactions/new_order/p95_us"] {
        let ratio = float(&faster, of) / float(&real, of);
        assert!((0.7..1.4).contains(&ratio), "{of}: {ratio}");
    }
}

/// A disk leaves the host idle: `auto` finds out how much faster it can live. How far below 1 that
/// is, depends on how soon the host's idle cores wake.
#[test]
#[ignore = "make soak"]
fn an_idle_host_is_not_slowed_down() {
    let _turn = crate::turn();
    let work = directory();
    let lengths = ["--dilate", "auto", "--warmup", "2s", "--window", "8s", "--json"];
    let document = run(work.path(), &lengths).exits(0).json();
    let factor = float(&document, "/dilation");
    assert!(factor <= 1.0, "{factor}");
    let notes = results(&work.path().join("mydyno.db"), "SELECT note FROM note");
    let is_why = |note: &str| note.contains("is the least of") && !note.contains("of 1 pilot");
    assert!(notes.iter().any(|note| is_why(&note[0])), "{notes:?}");
}
