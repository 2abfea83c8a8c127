//! Where the output goes: a reader who leaves has seen enough, and what cannot be written is told.

use crate::support::{BINARY, SMALL_REDO, directory, home, mydyno, populate};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const PRINTING: [&[&str]; 5] = [
    &["device", "list"],
    &["device", "list", "--json"],
    &["device", "show", "hdd-15k"],
    &["server", "list"],
    &["server", "list", "--json"],
];

#[test]
fn a_reader_who_has_gone_is_no_failure() {
    for arguments in PRINTING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = mydyno(arguments).spawn_to(writer);
        let ran = ran.wait().exits(0);
        assert_eq!(ran.stderr, "", "{arguments:?}");
    }
}

#[test]
fn a_stdout_that_takes_nothing_is_told() {
    for arguments in PRINTING {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ran = mydyno(arguments).spawn_to(full);
        ran.wait().exits(1).says(&["cannot write to stdout", "No space left"]);
    }
}

/// The exit code of `mydyno` whose stderr nobody reads.
fn unheard(arguments: &[&str], work: &Path) -> Option<i32> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ran = Command::new(BINARY)
        .args(arguments)
        .env("MYDYNO_HOME", home())
        .env_remove("MYDYNO_PASSWORD")
        .current_dir(work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(writer)
        .status();
    ran.unwrap().code()
}

#[test]
fn what_nobody_hears_changes_no_exit_code() {
    let work = directory();
    let unreachable = ["run", "--dsn", "mysql://me@127.0.0.1:1/tpcc"];
    assert_eq!(unheard(&unreachable, work.path()), Some(4));
    assert_eq!(unheard(&["device", "list"], work.path()), Some(0));
    assert_eq!(unheard(&["report", "7"], work.path()), Some(2));
}

#[test]
fn a_run_tells_what_its_time_went_into() {
    const PARTS: [&str; 8] = [
        "copying the image",
        "starting the server",
        "reaching it, and what its host is",
        "reading variables, status and tables",
        "seeing whether the host is quiet",
        "connecting, warm-up, window and drain",
        "reading them again, and storing",
        "checking",
    ];
    populate("mysql-5.7");
    let work = directory();
    let run = || {
        let run = mydyno(["run", "--engine", "mysql-5.7", "-w", "1", "-c", "4", "--check"]);
        let run = run.and_args(SMALL_REDO).and_args(["--warmup", "0", "--window", "1s"]);
        run.in_directory(work.path())
    };
    let begun = Instant::now();
    let ran = run().and_args(["-v"]).run().exits(0);
    let whole_s = begun.elapsed().as_secs_f64();
    let parts: Vec<(f64, &str)> = ran
        .stderr
        .lines()
        .filter_map(|line| line.trim_start().split_once(" s  "))
        .filter_map(|(time, part)| Some((time.parse().ok()?, part)))
        .collect();
    let names: Vec<&str> = parts.iter().map(|(_, part)| *part).collect();
    assert_eq!(names, [&PARTS[..], &["ending the server"]].concat(), "{}", ran.stderr);
    let told_s: f64 = parts.iter().map(|(time, _)| time).sum();
    // Each is rounded to a hundredth; what is left are the command's own begin and its summary.
    assert!(told_s < whole_s + 0.1 && told_s > 0.6 * whole_s, "{told_s} of {whole_s} s");
    assert!(!run().run().exits(0).stderr.contains("copying"), "not without -v");
}
