//! Where the output goes: a reader who leaves has seen enough, and what cannot be written is told.

use crate::support::{BINARY, directory, home, mydyno};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

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
