//! `mydyno lab run`: a plan executed, taken up again, and its failures.

#[expect(dead_code, unused_imports, reason = "each test file uses a part of it")]
mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;
use support::{
    Mydyno, PATIENCE, Ran, directory, install, list, mydyno, number, results, shim, text,
};

const DATABASE: &str = "tiny.db";

/// A plan of one warehouse in a directory of its own.
fn plan(directory: &Path, tables: &str) {
    let text = format!("[lab]\nname = \"tiny\"\n{tables}");
    fs::write(directory.join("plan.toml"), text).unwrap();
}

fn lab_run(directory: &Path, more: &[&str]) -> Mydyno {
    shim();
    install("mysql-5.7");
    let all = ["lab", "run", "plan.toml", "--results", DATABASE, "--json"];
    mydyno(all.iter().chain(more)).in_directory(directory)
}

/// A lab's end, for which an image may have to be made.
fn ended(directory: &Path, more: &[&str]) -> Ran {
    lab_run(directory, more).spawn().wait(PATIENCE * 4)
}

/// Repeats that are done, by cell and repeat.
fn done(directory: &Path) -> Vec<Vec<String>> {
    results(
        &directory.join(DATABASE),
        "SELECT c.ordinal, r.ordinal, r.id FROM repeat r JOIN cell c ON c.id = r.cell_id WHERE r.status = 'done' \
         ORDER BY c.ordinal, r.ordinal",
    )
}

#[test]
fn a_lab_goes_on_where_it_was_killed() {
    let temp = directory();
    let here = temp.path();
    plan(
        here,
        "repeats = 2\n[server]\nengine = [\"mysql-5.7\"]\npreset = [\"config-3\"]\n[storage]\ndata = [\"nvme-pm1725\", \"sata-850pro\"]\n\
         [load]\nwarehouses = [1]\nconnections = [2]\nwarmup = \"0s\"\nwindow = \"2s\"\n",
    );
    let mut first = lab_run(here, &[]).spawn();
    // It ends by itself should that never come.
    while !first.stderr().contains("2 of 4") && !first.has_ended() {
        std::thread::sleep(Duration::from_millis(20));
    }
    first.signal(rustix::process::Signal::KILL);
    drop(first);
    let before = done(here);
    assert_eq!(before.len(), 1, "{before:?}");

    let second = ended(here, &[]).exits(0).says(&["goes on"]);
    let document = second.json();
    let cells = list(&document, "/cells");
    assert_eq!(cells.len(), 2);
    assert_eq!(number(&document, "/left"), 0);
    let after = done(here);
    let turns: Vec<[&str; 2]> = after
        .iter()
        .map(|row| [row[0].as_str(), row[1].as_str()])
        .collect();
    assert_eq!(turns, [["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"]]);
    // What was there was not measured again.
    assert!(
        before.iter().all(|row| after.contains(row)),
        "{before:?} {after:?}"
    );
    for cell in cells {
        assert_eq!(text(cell, "/preset"), "config-3");
        assert!(cell["nopm"]["mean"].as_f64().unwrap() > 0.0, "{cell}");
        assert!(cell["nopm"]["high"].is_number(), "{cell}");
    }

    ended(here, &[]).exits(0).says(&["nothing is left to do"]);
    assert_eq!(done(here), after);
    let status = mydyno(["lab", "status", "--results", DATABASE]).in_directory(here);
    let words = status.run().exits(0).stdout;
    assert!(
        words.contains("nvme-pm1725") && words.contains("2 connections"),
        "{words}"
    );
}

#[test]
fn cells_that_fail_are_results() {
    let temp = directory();
    let here = temp.path();
    // The second server refuses to start.
    plan(
        here,
        "repeats = 1\norder = \"listed\"\n[server]\nengine = [\"mysql-5.7\"]\nset = { sql_mode = [\"ANSI\", \"NO_SUCH_MODE\"] }\n\
         [load]\nwarehouses = [1]\nconnections = [2]\nwarmup = \"0s\"\nwindow = \"2s\"\n",
    );
    let document = ended(here, &[]).exits(0).json();
    let cells = list(&document, "/cells");
    assert_eq!(text(&cells[0], "/repeats/0/status"), "done");
    assert_eq!(text(&cells[1], "/repeats/0/status"), "failed");
    assert_eq!(text(&cells[1], "/repeats/0/reason_code"), "server_failed");
    assert!(cells[1]["nopm"]["mean"].is_null());
    let status = mydyno(["lab", "status", "--results", DATABASE]).in_directory(here);
    let words = status.run().exits(0).stdout;
    let line = |name: &str| words.lines().find(|line| line.starts_with(name));
    let (good, bad) = (line("ANSI").unwrap(), line("NO_SUCH_MODE").unwrap());
    assert!(bad.ends_with("NA") && !good.contains("NA"), "{words}");
    let attempts = "SELECT count(*) FROM repeat";
    let count = |expected: &str| {
        let found = results(&here.join(DATABASE), attempts);
        assert_eq!(found, [[expected.to_owned()]]);
    };
    count("2");
    // A failure is a result: nothing is left, unless it is asked for again.
    ended(here, &[]).exits(0).says(&["nothing is left"]);
    count("2");
    ended(here, &["--redo"]).exits(0);
    count("3");
    ended(here, &["--only", "7"]).exits(2).says(&["no cell 7"]);
}

#[test]
fn lock_waits_and_time_end_a_cell() {
    let temp = directory();
    let here = temp.path();
    // Many connections on one warehouse, on a device that takes 5 ms: locks are held for long.
    plan(
        here,
        "repeats = 1\norder = \"listed\"\n[server]\nengine = [\"mysql-5.7\"]\nset = { innodb_lock_wait_timeout = [1], innodb_buffer_pool_size = [\"8M\"] }\n\
         [storage]\ndata = [\"hdd-15k\"]\n[load]\nwarehouses = [1]\nconnections = [64]\nwarmup = \"0s\"\nwindow = \"10s\"\n",
    );
    let document = ended(here, &[]).exits(0).json();
    let repeat = &list(&document, "/cells")[0]["repeats"][0];
    assert_eq!(
        text(repeat, "/reason_code"),
        "lock_wait_timeout",
        "{repeat}"
    );

    plan(
        here,
        "repeats = 1\nrepeat_time_limit = \"3100ms\"\n[server]\nengine = [\"mysql-5.7\"]\n[load]\nwarehouses = [1]\nconnections = [2]\nwarmup = \"0s\"\nwindow = \"3s\"\n",
    );
    let document = ended(here, &[]).exits(0).json();
    let repeat = &list(&document, "/cells")[0]["repeats"][0];
    assert_eq!(text(repeat, "/reason_code"), "timed_out", "{repeat}");
    ended(here, &[]).exits(0).says(&["nothing is left"]);
}
