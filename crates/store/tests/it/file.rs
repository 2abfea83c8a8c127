//! The file: formats, foreign files, full disks, and what a killed process leaves behind.

use crate::common::{cell, interval, lab, result, running};
use base::Exit;
use rusqlite::Connection;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use store::{
    APPLICATION_ID, FORMAT, LabStatus, Phase, RepeatFailure, RepeatStatus, Results, StoreError,
};
use testkit::begin;

fn error_of(outcome: Result<Results, StoreError>) -> StoreError {
    outcome.err().expect("the file was opened")
}

#[test]
fn a_new_file_gets_the_newest_format_and_keeps_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    for _ in 0..2 {
        Results::create_or_open(&path).unwrap();
        let connection = Connection::open(&path).unwrap();
        let pragma = |name: &str| -> String {
            connection
                .pragma_query_value(None, name, |row| {
                    row.get_ref(0)?
                        .as_str()
                        .map(str::to_owned)
                        .or_else(|_| Ok(row.get::<_, i64>(0)?.to_string()))
                })
                .unwrap()
        };
        assert_eq!(pragma("user_version"), FORMAT.to_string());
        assert_eq!(pragma("application_id"), APPLICATION_ID.to_string());
        assert_eq!(pragma("journal_mode"), "wal");
        assert_eq!(pragma("integrity_check"), "ok");
    }
}

#[test]
fn an_empty_file_is_taken_and_a_missing_one_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let missing = error_of(Results::open(&path));
    assert_eq!(missing.exit(), Exit::Usage);
    assert!(missing.to_string().contains("mydyno.db; run `mydyno run` first"), "{missing}");
    std::fs::write(&path, "").unwrap();
    // Who reads makes nothing of it.
    assert!(matches!(error_of(Results::open(&path)), StoreError::Foreign { .. }));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    Results::create_or_open(&path).unwrap();
    let nowhere = error_of(Results::create_or_open(&directory.path().join("no/such/place.db")));
    assert!(matches!(nowhere, StoreError::CannotOpen { .. }), "{nowhere}");
    assert_eq!(nowhere.exit(), Exit::Environment);
}

/// Two labs that start at once and name the same new file.
#[test]
fn many_may_make_the_file_at_once() {
    for _ in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mydyno.db");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| lab(&Results::create_or_open(&path).unwrap()));
            }
        });
        assert_eq!(Results::open(&path).unwrap().labs().unwrap().len(), 8);
    }
}

/// As a newer mydyno would write, or one before the first release.
#[test]
fn another_format_is_refused_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    drop(Results::create_or_open(&path).unwrap());
    for format in [0, 2, 20, 7_000] {
        Connection::open(&path).unwrap().pragma_update(None, "user_version", format).unwrap();
        let before = std::fs::read(&path).unwrap();
        for error in [error_of(Results::open(&path)), error_of(Results::create_or_open(&path))] {
            assert_eq!(error.exit(), Exit::Environment);
            let text = error.to_string();
            let found = format!("has format {format}, and this mydyno reads format {FORMAT}");
            assert!(text.contains(&found) && text.contains("another file"), "{text}");
        }
        assert!(std::fs::read(&path).unwrap() == before, "the file was changed");
    }
}

/// Who reads makes no tables, whatever SQLite has put there.
#[test]
fn an_empty_database_is_taken_by_who_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let empty = Connection::open(&path).unwrap();
    empty.execute_batch("CREATE TABLE one (n INTEGER); DROP TABLE one; VACUUM").unwrap();
    drop(empty);
    let before = std::fs::read(&path).unwrap();
    assert!(!before.is_empty());
    assert!(matches!(error_of(Results::open(&path)), StoreError::Foreign { .. }));
    assert!(std::fs::read(&path).unwrap() == before, "the file was changed");
    assert_eq!(Results::create_or_open(&path).unwrap().labs().unwrap(), []);
}

#[test]
fn a_foreign_file_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "not a database, but long enough to look like one. ".repeat(40)).unwrap();
    let database = directory.path().join("other.db");
    let other = Connection::open(&database).unwrap();
    other.execute_batch("CREATE TABLE lab (id INTEGER)").unwrap();
    drop(other);
    for path in [&text, &database] {
        let before = std::fs::read(path).unwrap();
        for error in [error_of(Results::open(path)), error_of(Results::create_or_open(path))] {
            assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
            assert_eq!(error.exit(), Exit::Environment);
        }
        assert!(std::fs::read(path).unwrap() == before, "{} was changed", path.display());
    }
    assert!(matches!(error_of(Results::open(directory.path())), StoreError::Foreign { .. }));
}

/// Root may write everything, so the archive is a file system that is mounted for reading; without
/// the right to mount, the test shows the other half: that reading asks for nothing but the file.
#[test]
fn a_file_in_a_directory_that_cannot_be_written_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a b%.db");
    let (results, lab, ..) = running(&path);
    drop(results);
    let place = directory.path().to_str().unwrap();
    let bound = Mounted::new(&["--bind", "-o", "ro", place], directory.path());
    let results = Results::open(&path).unwrap();
    assert_eq!(results.lab(lab).unwrap().name, "test");
    if bound.is_some() {
        let refused = results.finish_lab(lab, LabStatus::Done, None).unwrap_err();
        assert!(refused.to_string().contains("read-only"), "{refused}");
    }
    drop((results, bound));
}

/// A mounted file system that goes away with its value.
struct Mounted(std::path::PathBuf);

impl Mounted {
    /// `None` where this user may not mount.
    fn new(arguments: &[&str], place: &Path) -> Option<Mounted> {
        let mut command = Command::new("mount");
        command.args(arguments).arg(place);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let mounted = command.status().is_ok_and(|status| status.success());
        mounted.then(|| Mounted(place.to_path_buf()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

/// Set in the child process of the tests below: the file to write to.
const CHILD: &str = "MYDYNO_STORE_TEST_CHILD";

/// Runs the test `name` of this binary as a process of its own, through `launcher` where one is
/// given.
fn child(name: &str, path: &Path, launcher: &[&str]) -> Command {
    let this = std::env::current_exe().unwrap();
    let mut command = match launcher {
        [] => Command::new(&this),
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).arg(&this);
            command
        }
    };
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    command.env(CHILD, path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// As the child: finishes one repeat, then measures another until it is killed.
#[test]
fn child_measures_forever() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let (results, _, cell, first) = running(Path::new(&path));
    results.put(first, &[interval(0, Phase::Window, &[1_000, 2_000])]).unwrap();
    results.finish_repeat(first, &result()).unwrap();
    let second = begin(&results, cell, 2);
    for n in 0.. {
        results.put(second, &[interval(n, Phase::Window, &[1_000, 2_000])]).unwrap();
    }
}

#[test]
fn kill_9_loses_only_the_running_repeat() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let mut child = child("file::child_measures_forever", &path, &[]).spawn().unwrap();
    // It has begun its second repeat and stored intervals of it.
    let deadline = Instant::now() + Duration::from_secs(30);
    let stored = || -> Option<i64> {
        let connection = Connection::open(&path).ok()?;
        let count = "SELECT count(*) FROM interval WHERE repeat_id = 2";
        connection.query_row(count, [], |row| row.get(0)).ok()
    };
    while stored().unwrap_or(0) < 50 {
        assert!(Instant::now() < deadline, "the child stores nothing");
        std::thread::sleep(Duration::from_millis(10));
    }

    // While it lives, nobody takes its repeat away.
    let living = Results::open(&path).unwrap();
    let cell_id = living.cells(living.labs().unwrap()[0].id).unwrap()[0].id;
    assert_eq!(living.repeats(cell_id).unwrap()[1].status, RepeatStatus::Running);
    drop(living);

    child.kill().unwrap();
    child.wait().unwrap();
    let results = Results::open(&path).unwrap();
    let lab = results.labs().unwrap().remove(0);
    assert_eq!(lab.status, LabStatus::Interrupted);
    let repeats = results.repeats(cell_id).unwrap();
    assert_eq!(repeats[0].status, RepeatStatus::Done);
    assert_eq!(repeats[0].result, Some(result()));
    assert_eq!(repeats[1].status, RepeatStatus::Failed);
    assert_eq!(repeats[1].reason_code.as_deref(), Some("interrupted_process"));
    let mut intervals = 0;
    results.for_each_interval(repeats[1].id, |_| intervals += 1).unwrap();
    assert!(intervals >= 50, "{intervals} intervals");

    // The lab goes on: the same cell, a further attempt of the same repeat.
    results.resume_lab(lab.id).unwrap();
    assert_eq!(results.begin_cell(lab.id, &cell()).unwrap(), cell_id);
    let again = begin(&results, cell_id, 2);
    results.finish_repeat(again, &result()).unwrap();
    let repeats = results.repeats(cell_id).unwrap();
    assert_eq!((repeats.len(), repeats[1].attempt, repeats[1].status), (2, 2, RepeatStatus::Done));
    assert_eq!(results.attempts(cell_id).unwrap().len(), 3);
    let integrity: String = Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(integrity, "ok");
}

/// As the child, under a limit on the size of files: stores until that fails; 0 only where it fails
/// as it should.
#[test]
fn child_fills_the_disk() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let path = Path::new(&path);
    let (results, _, _, repeat) = running(path);
    let filled = (0..100_000).find_map(|n| {
        let rows: Vec<_> =
            (0..20).map(|k| interval(n * 20 + k, Phase::Window, &[1_000, 2_000 + n])).collect();
        results.put(repeat, &rows).err()
    });
    let error = filled.expect("the limit was never reached");
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
    assert_eq!(error.exit(), Exit::Environment);
    let text = error.to_string();
    assert!(text.contains("mydyno.db") && text.contains("free space"), "{text}");
    assert!(text.contains("everything stored before is kept"), "{text}");
}

#[test]
fn a_full_disk_is_an_error_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    // The shell ignores SIGXFSZ for its successors, so that a write beyond the limit fails instead
    // of killing.
    let limited = ["sh", "-c", "trap '' XFSZ; exec prlimit --fsize=400000 -- \"$0\" \"$@\""];
    let status = child("file::child_fills_the_disk", &path, &limited).status().unwrap();
    assert!(
        status.success(),
        "the child said {status}; 127 means that prlimit of the package util-linux is missing"
    );
    what_was_stored_is_there(&path);

    // A real full file system, where this user may mount one.
    let small = directory.path().join("small");
    std::fs::create_dir(&small).unwrap();
    if let Some(_mounted) = Mounted::new(&["-t", "tmpfs", "-o", "size=600k", "tmpfs"], &small) {
        let path = small.join("mydyno.db");
        let status = child("file::child_fills_the_disk", &path, &[]).status().unwrap();
        assert!(status.success(), "the child on tmpfs said {status}");
        // To where there is room, with what the write-ahead log holds.
        let copy = directory.path().join("copy.db");
        for suffix in ["", "-wal"] {
            let name = |base: &Path| format!("{}{suffix}", base.display());
            std::fs::copy(name(&path), name(&copy)).unwrap();
        }
        what_was_stored_is_there(&copy);
    } else {
        println!("not tried: this user may mount no file system");
    }
}

fn what_was_stored_is_there(path: &Path) {
    let results = Results::open(path).unwrap();
    let lab = results.labs().unwrap()[0].id;
    let cell = results.cells(lab).unwrap()[0].id;
    let repeat = results.repeats(cell).unwrap().remove(0);
    assert_eq!(repeat.reason_code.as_deref(), Some("interrupted_process"));
    let mut intervals = 0;
    results.for_each_interval(repeat.id, |row| intervals += row.committed).unwrap();
    assert!(
        intervals > 0 && intervals % 20 == 0,
        "{intervals}: a step is stored whole or not at all"
    );
}

#[test]
fn no_password_reaches_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let (results, _, _, repeat) = running(&path);
    let why = RepeatFailure {
        reason_code: "server_died".to_owned(),
        reason: "no answer from mysql://u:geheim@h:3306/d".to_owned(),
        log_tail: Some("started with --password=geheim\n".to_owned()),
    };
    results.fail_repeat(repeat, &why).unwrap();
    let lab = lab(&results);
    results.finish_lab(lab, LabStatus::Failed, Some("mysql://u:geheim@h")).unwrap();
    drop(results);
    let file = std::fs::read(&path).unwrap();
    assert!(file.windows(11).any(|bytes| bytes == b"server_died"), "it is not in this file yet");
    assert!(!file.windows(6).any(|bytes| bytes == b"geheim"));
}
