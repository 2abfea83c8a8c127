//! The clock under a real program: this test's own, which runs itself again with a job.

#![expect(unsafe_code, reason = "C functions are called as the programs under the library do it")]

mod common;
mod edges;
mod reading;
mod threads;
mod timers;
mod waits;

#[test]
fn child() {
    let Some(name) = common::job() else {
        return;
    };
    match name.as_str() {
        "reading" => reading::job(),
        "waits" => waits::job(),
        "threads" => threads::job(),
        "timers" => timers::job(),
        "seconds" => timers::seconds(),
        "edges" => edges::job(),
        "nothing" => {}
        _ => panic!("no such job: {name}"),
    }
}

/// Slower, and faster.
const FACTORS: [f64; 3] = [8.0, 1.5, 0.125];

#[test]
fn clocks_run_slower() {
    for factor in FACTORS {
        common::run("reading", factor);
    }
}

#[test]
fn waits_take_longer() {
    for factor in FACTORS {
        common::run("waits", factor);
    }
}

#[test]
fn waits_for_threads_take_longer() {
    for factor in FACTORS {
        common::run("threads", factor);
    }
}

#[test]
fn timers_run_slower() {
    for factor in FACTORS {
        common::run("timers", factor);
    }
    for factor in [1.5, 0.125] {
        common::run("seconds", factor);
    }
}

#[test]
fn what_is_no_time_stays_as_it_is() {
    for factor in FACTORS {
        common::run("edges", factor);
    }
}

#[test]
fn without_a_clock_nothing_is_dilated() {
    for clock in [None, Some(""), Some("1@0")] {
        let mut command = common::command("waits", clock);
        common::has_run(&command.env("MYDYNO_CLOCK_TEST_FACTOR", "1").output().unwrap());
    }
}

#[test]
fn what_is_no_clock_ends_the_process() {
    for clock in ["8", "x@1", "0.01@1"] {
        let output = common::command("nothing", Some(clock)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{clock}");
        assert!(said.contains("MYDYNO_CLOCK"), "{said}");
    }
}

/// A function that is missing would be real, one that is more would not be known to who judges
/// whether a program can be dilated.
#[test]
fn exactly_the_known_functions_are_taken_over() {
    let output = std::process::Command::new("nm")
        .args(["--dynamic", "--defined-only", "--format=posix"])
        .arg(common::library())
        .output()
        .unwrap();
    common::must_succeed(&output);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut exported: Vec<&str> =
        text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let mut known: Vec<&str> = include_str!("../dilated_functions.txt").lines().collect();
    exported.sort_unstable();
    known.sort_unstable();
    assert_eq!(exported, known);
    for name in base::UNDILATED_FUNCTIONS {
        assert!(!known.contains(name), "{name}");
    }
}
