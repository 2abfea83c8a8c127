//! Readers of the output who stall, go, or stop the run with Ctrl-Z: none of them holds up what is
//! measured.

use crate::support::{
    AMPLE, ENTER, LEAVE, Mydyno, OnTerminal, SHOW_CURSOR, Server, alive, directory, fill, lent,
    mydyno, result, until,
};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read};
use std::path::Path;
use std::time::Duration;

/// How the last lab of a results file stands, where there is one.
fn status(file: &Path) -> Option<String> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = rusqlite::Connection::open_with_flags(file, flags).ok()?;
    let sql = "SELECT status FROM lab ORDER BY id DESC LIMIT 1";
    connection.query_row(sql, [], |row| row.get(0)).ok()
}

/// Waits until a run with a window of `window_s` is stored as a whole, and looks whether its marks
/// are where they should be.
fn is_stored_in_time(work: &Path, window_s: f64) {
    let file = work.join("mydyno.db");
    until("the run is stored", || status(&file).as_deref() == Some("done"));
    let marks = "SELECT (window_ended_utc_ns - window_started_utc_ns) / 1e9 FROM repeat";
    let marked_s: f64 = result(&file, marks).parse().unwrap();
    // A thread that marks it may have to wait for a core, but not for a reader.
    assert!((window_s - 1.0..window_s + 10.0).contains(&marked_s), "{marked_s} s");
}

/// A run that leaves cores to the tests beside it.
fn run(server: &Server, work: &Path, window: &str) -> Mydyno {
    mydyno(["run", "--dsn", &server.dsn, "-c", "2", "--rate", "50/s", "--warmup", "1s"])
        .and_args(["--window", window])
        .in_directory(work)
}

/// A pipe that is full: who writes to it waits until it is read.
fn full_pipe() -> (PipeReader, PipeWriter, usize) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let filled = fill(&mut writer);
    (reader, writer, filled)
}

#[test]
fn a_pipe_that_is_not_read_does_not_hold_up_the_run() {
    let server = lent();
    let cases = [
        &["--watch", "--interval", "100ms"][..],
        &["--workload", "tpcc-mysql", "--format", "tpcc-mysql"],
    ];
    for (arguments, last) in cases.into_iter().zip([" NOPM, ", "<TpmC>"]) {
        let work = directory();
        let (mut reader, writer, filled) = full_pipe();
        let mut running = run(&server, work.path(), "4s").and_args(arguments).spawn_to(writer);
        is_stored_in_time(work.path(), 4.0);
        assert!(!running.has_ended(), "it waits for its reader now");
        let mut said = String::new();
        reader.read_to_string(&mut said).unwrap();
        running.wait().exits(0);
        let said = &said[filled..];
        assert!(said.contains(last) && !said.contains("left out"), "{said}");
        if arguments.contains(&"--watch") {
            let is_of_window = |line: &&str| line.split_whitespace().nth(1) == Some("window");
            assert_eq!(said.lines().filter(is_of_window).count(), 40, "{said}");
        }
    }
}

#[test]
fn a_reader_who_goes_is_no_failure() {
    let server = lent();
    let work = directory();
    let (reader, writer) = std::io::pipe().unwrap();
    let running = run(&server, work.path(), "2s").and_args(["--watch"]).spawn_to(writer);
    let mut lines = BufReader::new(reader).lines();
    for _ in 0..2 {
        assert!(!lines.next().unwrap().unwrap().is_empty());
    }
    drop(lines);
    let ran = running.wait().exits(0);
    // The tests beside this one keep the host busy, which notes say.
    let is_told = |line: &str| {
        line.contains("the host was not quiet") || line.contains("of the schedule never began")
    };
    assert!(ran.stderr.lines().all(is_told), "{}", ran.stderr);
    is_stored_in_time(work.path(), 2.0);
}

#[test]
fn a_terminal_that_is_not_read_does_not_hold_up_the_run() {
    let server = lent();
    let arguments =
        format!("run --dsn '{}' -c 2 --rate 50/s --warmup 1s --window 5s --watch", server.dsn);
    let mut terminal = OnTerminal::start(&arguments);
    until("it is watched", || terminal.seen().contains(ENTER));
    terminal.stall();
    is_stored_in_time(terminal.work.path(), 5.0);
    assert_eq!(terminal.script.try_wait().unwrap(), None);
    terminal.go_on();
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.seen());
    let seen = terminal.seen();
    let (_, after) = seen.rsplit_once(LEAVE).unwrap();
    assert!(after.contains(" NOPM, ") && !after.contains(ENTER), "{after}");
}

#[test]
fn a_second_signal_ends_it_where_the_terminal_is_not_read() {
    let server = lent();
    for watch in ["", "--watch"] {
        let arguments =
            format!("run --dsn '{}' -c 1 --warmup 1s --window {AMPLE} {watch}", server.dsn);
        let terminal = OnTerminal::start(&arguments);
        until("it runs", || {
            terminal.seen().contains(if watch.is_empty() { "NOPM" } else { ENTER })
        });
        terminal.stall();
        // Both at once: the first cannot end the run before the second comes.
        terminal.signal(Signal::INT);
        std::thread::sleep(Duration::from_millis(50));
        terminal.signal(Signal::INT);
        let pid = terminal.pid();
        until("it has ended", || !alive(pid));
        terminal.go_on();
    }
}

#[test]
fn a_stop_gives_the_terminal_back() {
    let server = lent();
    let arguments = format!("run --dsn '{}' -c 1 --warmup 1s --window {AMPLE} --watch", server.dsn);
    let mut terminal = OnTerminal::start(&arguments);
    terminal.until_numbers(&[(" NOPM ", 1)]);
    terminal.signal(Signal::TSTP);
    until("it is stopped", || terminal.is_stopped());
    // `script` stops with what it runs, and goes on with it.
    until("the terminal is given back", || {
        terminal.go_on();
        let seen = terminal.seen();
        seen.contains(&format!("{LEAVE}{SHOW_CURSOR}"))
    });
    until("it is watched again", || {
        terminal.go_on();
        terminal.signal(Signal::CONT);
        terminal.seen().matches(ENTER).count() == 2
    });
    terminal.until_numbers(&[(" NOPM ", 1)]);
    terminal.signal(Signal::INT);
    assert_eq!(terminal.wait(), Some(130), "{}", terminal.seen());
    let seen = terminal.seen();
    assert_eq!(seen.matches(LEAVE).count(), 2, "{seen}");
}
