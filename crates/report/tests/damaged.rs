//! Results files that are damaged, written by somebody else, or no results files at all: whatever
//! is in one, what reads it ends soon, with what is there or with an error, and takes no memory
//! that the file does not need. Memory is that of the process, so no other tests are in it.

#[expect(dead_code, reason = "most of it is for `it`")]
mod common;

use analyse::{lab_answer, lab_outcome, measurement};
use common::{ONE_CELL, Shape, build};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRng, TestRunner};
use report::{export_csv, export_hlog, export_markdown, render};
use rusqlite::Connection;
use rusqlite::types::Value;
use std::cell::Cell;
use std::fmt::Debug;
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use store::{FORMAT, LabId, Results, StoreError};
use tempfile::TempDir;

/// Cases of each kind in `make test`, and in `make soak`.
const CASES: u32 = 60;
const CASES_OF_SOAK: u32 = 20_000;
/// Far more than a machine needs that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(300);
/// The file has 400 KB; its report takes 30 MB.
const MEMORY_MAX_KB: u64 = 400 << 10;
/// Labs of a file that are read: it may say that it has very many.
const LABS_READ: usize = 2;

/// Two cells, one of which fails, with samples and devices.
const LAB: Shape = Shape {
    name: "damaged",
    devices: &["nvme-pm1725"],
    connections: &[8, 32],
    repeats: 2,
    warmup_s: 2,
    window_s: 4,
    failing_cell: Some(2),
    observed: true,
    ..ONE_CELL
};
const RAMP: Shape = Shape {
    name: "ramp",
    connections: &[1, 2, 4],
    warmup_s: 1,
    window_s: 4,
    is_ramp: true,
    ..ONE_CELL
};

/// The bytes of sound files, and of the same without the types of their columns.
static SOUND: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| [sound(&LAB), sound(&RAMP)]);
static UNTYPED: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| [0, 1].map(|at| untyped(&SOUND[at])));

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn sound(shape: &Shape) -> Vec<u8> {
    let scratch = scratch();
    let file = scratch.path().join("mydyno.db");
    drop(build(&file, shape));
    fs::read(file).unwrap()
}

/// SQLite enforces the types of STRICT tables; a file from elsewhere need not have any.
fn untyped(sound: &[u8]) -> Vec<u8> {
    let scratch = scratch();
    let file = scratch.path().join("mydyno.db");
    fs::write(&file, sound).unwrap();
    let database = Connection::open(&file).unwrap();
    let without = "PRAGMA journal_mode = DELETE; PRAGMA writable_schema = ON; UPDATE sqlite_schema \
                   SET sql = replace(replace(sql, 'STRICT, ', ''), 'STRICT', '')";
    database.execute_batch(without).unwrap();
    drop(database);
    fs::read(file).unwrap()
}

/// What is done to a file.
#[derive(Clone, Debug)]
enum Damage {
    Cut(Index),
    Bytes(Vec<(Index, u8)>),
    /// Pages of SQLite are put in each other's places.
    Pages(Index, Index),
    /// Values of columns; of rows with the value that one has, or of all.
    Values(Vec<(Index, Index, Option<Index>, Odd)>),
}

/// A value that no run stores there.
#[derive(Clone, Debug)]
enum Odd {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl Odd {
    fn value(&self) -> Value {
        match self.clone() {
            Odd::Null => Value::Null,
            Odd::Integer(number) => Value::Integer(number),
            Odd::Real(number) => Value::Real(number),
            Odd::Text(text) => Value::Text(text),
            Odd::Blob(bytes) => Value::Blob(bytes),
        }
    }
}

fn odd() -> impl Strategy<Value = Odd> {
    // Up to what programs hold exactly that read the JSON.
    let edges = [-1, 0, 1, 1 << 31, 1 << 40, 1 << 53];
    prop_oneof![
        1 => Just(Odd::Null),
        4 => prop::sample::select(edges.to_vec()).prop_map(Odd::Integer),
        1 => any::<i32>().prop_map(|number| Odd::Integer(number.into())),
        2 => any::<f64>().prop_map(Odd::Real),
        2 => "\\PC{0,20}".prop_map(Odd::Text),
        1 => Just(Odd::Text("x".repeat(100_000))),
        1 => prop::collection::vec(any::<u8>(), 0..64).prop_map(Odd::Blob),
        1 => Just(Odd::Blob(vec![0xff; 100_000])),
    ]
}

fn bytes() -> impl Strategy<Value = Damage> {
    prop_oneof![
        1 => any::<Index>().prop_map(Damage::Cut),
        4 => prop::collection::vec(any::<(Index, u8)>(), 1..40).prop_map(Damage::Bytes),
        1 => any::<(Index, Index)>().prop_map(|(one, other)| Damage::Pages(one, other)),
    ]
}

fn values() -> impl Strategy<Value = Damage> {
    let one = (any::<Index>(), any::<Index>(), any::<Option<Index>>(), odd());
    prop::collection::vec(one, 1..4).prop_map(Damage::Values)
}

impl Damage {
    /// Writes the damaged file; whether something was done to it.
    fn apply(&self, which: bool, file: &Path) -> bool {
        let which = usize::from(which);
        let mut content = match self {
            Damage::Values(_) => UNTYPED[which].clone(),
            _ => SOUND[which].clone(),
        };
        match self {
            Damage::Cut(at) => content.truncate(at.index(content.len())),
            Damage::Bytes(changed) => {
                for (at, byte) in changed {
                    let at = at.index(content.len());
                    content[at] = *byte;
                }
            }
            Damage::Pages(one, other) => {
                let pages = content.len() / 4096;
                for at in 0..4096 {
                    content.swap(one.index(pages) * 4096 + at, other.index(pages) * 4096 + at);
                }
            }
            Damage::Values(_) => {}
        }
        fs::write(file, content).unwrap();
        if let Damage::Values(changed) = self {
            let database = Connection::open(file).unwrap();
            let hasty = "PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF; \
                         PRAGMA journal_mode = MEMORY";
            database.execute_batch(hasty).unwrap();
            return changed.iter().filter(|one| change(&database, one)).count() > 0;
        }
        true
    }
}

fn change(database: &Connection, change: &(Index, Index, Option<Index>, Odd)) -> bool {
    let (table, column, row, odd) = change;
    let names = |sql: &str| -> Vec<String> {
        let mut found = database.prepare(sql).unwrap();
        found.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables = names(
        "SELECT format('\"%w\"', name) FROM sqlite_schema WHERE type = 'table' ORDER BY name",
    );
    let table = table.get(&tables);
    let columns = names(&format!("SELECT format('\"%w\"', name) FROM pragma_table_info({table})"));
    let column = column.get(&columns);
    let of = match row {
        Some(row) => {
            let count: i64 = database
                .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
                .unwrap();
            let row = row.index(count.max(1) as usize);
            format!(" WHERE {column} IS (SELECT {column} FROM {table} LIMIT 1 OFFSET {row})")
        }
        None => String::new(),
    };
    // What the keys of the table do not let be is no case.
    let sql = format!("UPDATE {table} SET {column} = ?1{of}");
    database.execute(&sql, [odd.value()]).is_ok_and(|rows| rows > 0)
}

/// What `report`, `lab status`, `run --json` and `export` read of a file.
fn read(file: &Path) -> Result<(), String> {
    let results = Results::open(file).map_err(|error| error.to_string())?;
    let labs = results.labs().map_err(|error| error.to_string())?;
    for lab in labs.iter().take(LABS_READ) {
        let told = lab_outcome(&results, lab.id).and_then(|of| lab_answer(&results, &of));
        let told = told.map_err(|error| error.to_string());
        let page = render(&results, lab.id).map_err(|error| error.to_string());
        let out = file.parent().unwrap().join("out");
        let csv = export_csv(&results, lab.id, &out).map_err(|error| error.to_string());
        let logs = export_hlog(&results, lab.id, &out).map_err(|error| error.to_string());
        let text = export_markdown(&results, lab.id).map_err(|error| error.to_string());
        let runs = runs(&results, lab.id).map_err(|error| error.to_string());
        let ended = [told.err(), page.err(), csv.err(), logs.err(), text.err(), runs.err()];
        // An error says something.
        assert!(ended.iter().flatten().all(|words| !words.is_empty()), "{ended:?}");
    }
    Ok(())
}

fn runs(results: &Results, lab: LabId) -> Result<(), StoreError> {
    for cell in results.cells(lab)? {
        for repeat in results.repeats(cell.id)? {
            measurement(results, repeat.id)?;
        }
    }
    Ok(())
}

/// Reads a file in a thread, which may neither panic, nor hang, nor take much memory.
fn read_within_limits(file: &Path, what: &dyn Debug) -> Result<(), String> {
    // The peak of the process from now on.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before_kb = memory_kb("VmRSS:");
    let (ending, ended) = channel();
    let of_thread = file.to_owned();
    let reader = std::thread::spawn(move || {
        // Nobody waits any more where the test has given up.
        let _ = ending.send(read(&of_thread));
    });
    let read = match ended.recv_timeout(PATIENCE) {
        Ok(read) => read,
        Err(RecvTimeoutError::Timeout) => panic!("it hangs: {what:?}"),
        Err(RecvTimeoutError::Disconnected) => {
            let _ = reader.join();
            panic!("it panics: {what:?}");
        }
    };
    let taken_kb = memory_kb("VmHWM:").saturating_sub(before_kb);
    assert!(taken_kb < MEMORY_MAX_KB, "it takes {taken_kb} KB: {what:?}");
    read
}

fn memory_kb(which: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(which)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The same cases in each run, which are the first of those of `make soak`.
fn damage(cases: u32, kind: impl Strategy<Value = Damage>) {
    let scratch = scratch();
    let file = scratch.path().join("mydyno.db");
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 50, ..Config::default() };
    let random = TestRng::deterministic_rng(config.rng_algorithm);
    let mut runner = TestRunner::new_with_rng(config, random);
    let (damaged, readable) = (Cell::new(0), Cell::new(0));
    let tried = runner.run(&(any::<bool>(), kind), |(which, damage)| {
        for left in ["mydyno.db-wal", "mydyno.db-shm"] {
            let _ = fs::remove_file(scratch.path().join(left));
        }
        damaged.set(damaged.get() + u32::from(damage.apply(which, &file)));
        // Whether it is an error is the file's business.
        readable.set(readable.get() + u32::from(read_within_limits(&file, &damage).is_ok()));
        Ok(())
    });
    tried.unwrap();
    // Else these are no cases.
    let least = cases / 50;
    assert!(damaged.get() > least, "{} of {cases} are damaged", damaged.get());
    assert!(readable.get() > least, "{} of {cases} can be opened", readable.get());
}

#[test]
fn damaged_bytes_end_in_order() {
    damage(CASES, bytes());
}

#[test]
fn odd_values_end_in_order() {
    damage(CASES, values());
}

#[test]
#[ignore = "make soak"]
fn very_many_damages_end_in_order() {
    damage(CASES_OF_SOAK, bytes());
    damage(CASES_OF_SOAK, values());
}

#[test]
fn sound_files_are_read() {
    let scratch = scratch();
    let file = scratch.path().join("mydyno.db");
    for content in SOUND.iter().chain(UNTYPED.iter()) {
        fs::write(&file, content).unwrap();
        assert_eq!(read_within_limits(&file, &"nothing"), Ok(()));
        let results = Results::open(&file).unwrap();
        assert!(render(&results, results.labs().unwrap()[0].id).is_ok());
    }
}

/// Files that are none of ours, each with a word of what is said about it.
fn strangers(directory: &Path) -> Vec<(PathBuf, &'static str)> {
    let at = |name: &str| directory.join(name);
    fs::write(at("text"), "no database, but some text\n".repeat(200)).unwrap();
    fs::write(at("header"), b"SQLite format 3\0").unwrap();
    fs::create_dir(at("directory")).unwrap();
    assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
    drop(UnixListener::bind(at("socket")).unwrap());
    std::os::unix::fs::symlink("loop", at("loop")).unwrap();
    let other = Connection::open(at("other.db")).unwrap();
    other.execute_batch("CREATE TABLE lab (id INTEGER); INSERT INTO lab VALUES (1)").unwrap();
    drop(other);
    fs::write(at("newer.db"), &SOUND[0]).unwrap();
    let newer = Connection::open(at("newer.db")).unwrap();
    newer.pragma_update(None, "user_version", FORMAT + 1).unwrap();
    drop(newer);
    vec![
        (at("text"), "is not a results file of mydyno"),
        (at("header"), "is not a results file of mydyno"),
        (at("directory"), "is not a results file of mydyno"),
        (at("fifo"), "is not a results file of mydyno"),
        (at("socket"), "is not a results file of mydyno"),
        (PathBuf::from("/dev/zero"), "is not a results file of mydyno"),
        (at("loop"), ""),
        (at("none"), "none"),
        (at("other.db"), "is not a results file of mydyno"),
        (at("newer.db"), "this mydyno reads format"),
    ]
}

#[test]
fn strangers_are_refused() {
    let scratch = scratch();
    for (file, words) in strangers(scratch.path()) {
        let refused = read_within_limits(&file, &file).unwrap_err();
        assert!(refused.contains(words), "{}: {refused}", file.display());
    }
}
