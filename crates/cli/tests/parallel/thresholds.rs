//! What pipelines read: one JSON document whatever happens, the exit code of `--fail-if`, and the
//! file of `--junit`.

use crate::support::{assert_described, directory, lent, list, mydyno, text};
use serde_json::Value;
use std::path::Path;

const NOBODY: [&str; 2] = ["--dsn", "mysql://me@127.0.0.1:1/tpcc"];

/// Why a command failed, by the document that is all of its stdout.
#[track_caller]
fn error_of(arguments: &[&str], work: &Path, exit: i32) -> Value {
    let ran = mydyno(arguments).in_directory(work).run().exits(exit);
    let document = ran.json();
    let error = document["error"].clone();
    assert_eq!(error["exit_code"], exit, "{arguments:?}: {document:#}");
    // People are told the same.
    let words = text(&error, "/message").lines().next().unwrap();
    assert!(!words.is_empty() && ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    assert_described(&document);
    error
}

#[test]
fn each_command_that_fails_has_one_document() {
    let work = directory();
    let reason = |arguments: &[&str], exit| {
        let error = error_of(arguments, work.path(), exit);
        text(&error, "/reason").to_owned()
    };
    for command in ["run", "load", "ramp", "check", "advise"] {
        let asked = [&[command][..], &NOBODY, &["--json"]].concat();
        assert_eq!(reason(&asked, 4), "environment", "{command}");
    }
    std::fs::write(work.path().join("bad.toml"), "[lab]\nnonsense = 1\n").unwrap();
    for command in [&["lab", "run"][..], &["lab", "check"], &["lab", "plan"], &["tune"]] {
        assert_eq!(reason(&[command, &["bad.toml", "--json"]].concat(), 3), "plan_invalid");
    }
    for (asked, exit, why) in [
        (&["run", "--json", "--connections", "0"][..], 2, "usage"),
        (&["run", "--json", "--no-such-option"], 2, "usage"),
        (&["run", "--dsn", NOBODY[1], "--instances", "2", "--json"], 2, "usage"),
        (&["crash", "--dsn", NOBODY[1], "--json"], 2, "usage"),
        (&["lab", "status", "--results", "none.db", "--json"], 2, "usage"),
        (&["compare", "1", "2", "--results", "none.db", "--json"], 2, "usage"),
        (&["device", "show", "none", "--json"], 2, "usage"),
    ] {
        assert_eq!(reason(asked, exit), why, "{asked:?}");
    }
    // Without --json stdout is for people.
    let ran = mydyno([&["run"][..], &NOBODY].concat()).in_directory(work.path()).run().exits(4);
    assert_eq!(ran.stdout, "");
}

#[test]
fn an_unknown_figure_is_told_before_anything_starts() {
    let work = directory();
    let asked = [&["run"][..], &NOBODY, &["--json", "--fail-if", "p95>50"]].concat();
    let error = error_of(&asked, work.path(), 2);
    let message = text(&error, "/message");
    assert!(message.contains("unknown figure \"p95\"") && message.contains("p95_ms"), "{message}");
    // Of another workload.
    let asked = [&["run"][..], &NOBODY, &["--json", "--fail-if", "tpm<1"]].concat();
    error_of(&asked, work.path(), 2);
    assert!(!work.path().join("mydyno.db").exists());
}

#[test]
fn a_run_is_judged_by_its_figures() {
    let work = directory();
    let server = lent();
    let run = |conditions: &[&str]| {
        let conditions = conditions.iter().flat_map(|condition| ["--fail-if", condition]);
        mydyno(["run", "--dsn", &server.dsn, "-w", "1", "-c", "2"])
            .and_args(["--warmup", "0", "--window", "1s", "--junit", "junit.xml"])
            .and_args(conditions)
            .in_directory(work.path())
    };
    let junit = || std::fs::read_to_string(work.path().join("junit.xml")).unwrap();
    // Each holds of every run.
    let ran =
        run(&["nopm<1e9", "p95_ms > 0.001", "errors>1e9"]).and_args(["--json", "--check"]).run();
    let document = ran.exits(7).json();
    assert_eq!(text(&document, "/status"), "done");
    assert_eq!(document["error"]["exit_code"], 7);
    assert_eq!(text(&document, "/error/reason"), "fail_if");
    assert!(text(&document, "/error/message").contains("2 of 3 conditions"), "{document:#}");
    let judged: Vec<(&str, bool)> = list(&document, "/conditions")
        .iter()
        .map(|of| (text(of, "/name"), of["failed"].as_bool().unwrap()))
        .collect();
    assert_eq!(judged, [("nopm", true), ("p95_ms", true), ("errors", false)]);
    assert_eq!(document["conditions"][0]["value"], document["nopm"]);
    assert_described(&document);
    let xml = junit();
    // The run, twelve conditions of TPC-C and more, and three conditions.
    assert!(xml.contains("name=\"run\"") && xml.contains("classname=\"mydyno.check\""), "{xml}");
    assert_eq!(xml.matches("<failure").count(), 2, "{xml}");
    assert_eq!(xml.matches("<error").count(), 0, "{xml}");
    assert!(xml.contains("name=\"p95_ms &gt; 0.001\""), "{xml}");
    assert!(xml.contains("failures=\"2\" errors=\"0\""), "{xml}");
    // People read the same, of conditions that all pass.
    let ran = run(&["nopm<1", "p99_ms>1e9"]).run().exits(0);
    assert!(ran.stdout.contains("\nok      fail if nopm < 1:"), "{}", ran.stdout);
    assert!(junit().contains("failures=\"0\" errors=\"0\""));
    // Without emulated devices there is no fidelity, which a pipeline wanted.
    let ran = run(&["fidelity<0.9"]).run().exits(7);
    ran.says(&["1 of 1 condition of --fail-if: fidelity is not known"]);
}

#[test]
fn a_run_that_measures_nothing_has_its_tests_too() {
    let work = directory();
    let asked = [&["run"][..], &NOBODY, &["--fail-if", "nopm<1", "--junit", "junit.xml"]].concat();
    mydyno(&asked).in_directory(work.path()).run().exits(4);
    let xml = std::fs::read_to_string(work.path().join("junit.xml")).unwrap();
    assert!(xml.contains("tests=\"2\" failures=\"1\" errors=\"1\""), "{xml}");
    assert!(xml.contains("<error type=\"environment\""), "{xml}");
    assert!(xml.contains("<failure message=\"nopm is not known\""), "{xml}");
    // A file that cannot be is told before anything starts.
    let asked = [&["run"][..], &NOBODY, &["--junit", "none/junit.xml"]].concat();
    let ran = mydyno(&asked).in_directory(work.path()).run().exits(4);
    ran.says(&["none/junit.xml", "--junit"]);
}
