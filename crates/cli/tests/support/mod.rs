//! What the tests of the real binary share: a home for its servers, the binary with a time limit,
//! servers that never outlive the test process, SQL, and the results file.
//!
//! Engines are installed once, by the real `server install`, into the user's own home. Images stay
//! under cargo's directory for tests, for as long as the sources do that they are made by.
//! Everything else of these tests lies in a home of the test process in the directory for temporary
//! files, and goes away with it.

#[macro_use]
mod engines;
mod observed;
mod process;
mod relay;
mod server;
mod sheets;
mod shim;
mod sql;
mod tab;
mod terminal;

pub use engines::ENGINES;
pub use observed::{Bed, Documented, OBSERVED, documented, monitor, other_reading, read, table};
pub use process::{Mydyno, Ran, Running, mydyno};
pub use relay::{Proxy, Relay};
pub use server::{QUICK, SMALL_REDO, Server, alive, lent, servers_under, session};
pub use sheets::{PATIENT, verified};
pub use shim::shim;
pub use sql::{Held, connect_options, execute, query, try_connect, value};
pub use tab::Tab;
pub use terminal::{ENTER, LEAVE, OnTerminal, SHOW_CURSOR, fill, screen};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tpcc::transactions::Outcome;

pub const BINARY: &str = env!("CARGO_BIN_EXE_mydyno");
/// Longest time for anything that these tests wait for: far more than a busy machine needs.
pub const PATIENCE: Duration = Duration::from_secs(600);
/// A window that is longer than that: who waits for the end of such a run knows that something else
/// has ended it.
pub const AMPLE: &str = "1000s";

/// The home of this process's servers and images. A shell removes it as soon as this process is
/// gone, however it ends: the shell's stdin is a pipe from here.
pub fn home() -> &'static Path {
    static HOME: LazyLock<(PathBuf, Child)> = LazyLock::new(|| {
        let home = std::env::temp_dir().join(format!("mydyno-cli-{}", std::process::id()));
        std::fs::create_dir_all(&home).unwrap();
        link_engines(&home);
        symlink(images(), home.join("images")).unwrap();
        let clean_up = "read _; cd \"$MYDYNO_HOME/instances\" && for name in *; do [ -d \"$name\" \
            ] && \"$0\" server stop \"$name\" --remove; done; rm -rf \"$MYDYNO_HOME\"";
        let shell = Command::new("sh")
            .args(["-c", clean_up, BINARY])
            .env("MYDYNO_HOME", &home)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C at the terminal is for the tests, whose end is the signal.
            .process_group(0)
            .spawn()
            .unwrap();
        (home, shell)
    });
    &HOME.0
}

/// A home of one test, which none other sweeps, with the images of the common one.
pub fn home_of_its_own() -> TempDir {
    let own = directory();
    link_engines(own.path());
    symlink(images(), own.path().join("images")).unwrap();
    own
}

/// The directory of the images of all tests, by what they are made by: those of other sources go.
fn images() -> &'static Path {
    static IMAGES: LazyLock<PathBuf> = LazyLock::new(|| {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut sources: Vec<PathBuf> = ["lab/src/target", "oltp/src", "server/src", "tpcc/src"]
            .iter()
            .flat_map(|folder| files_below(&crates.join(folder)))
            .collect();
        sources.sort();
        let mut hash = DefaultHasher::new();
        for source in &sources {
            std::fs::read(source).unwrap().hash(&mut hash);
        }
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let name = format!("images-{:016x}", hash.finish());
        for entry in std::fs::read_dir(root).unwrap().flatten() {
            let other = entry.file_name().to_string_lossy().into_owned();
            if other.starts_with("images-") && other != name {
                // Another process may be about it too.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let images = root.join(name);
        std::fs::create_dir_all(&images).unwrap();
        images
    });
    &IMAGES
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}

/// Gives a home the engines of this user.
pub fn link_engines(home: &Path) {
    let engines = user_home().join("engines");
    std::fs::create_dir_all(&engines).unwrap();
    symlink(engines, home.join("engines")).unwrap();
}

fn user_home() -> PathBuf {
    ::server::Home::from_env().unwrap().root().to_owned()
}

/// Installs the engine where it is missing.
pub fn install(engine: &str) {
    static INSTALLED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if installed.iter().any(|known| known == engine) {
        return;
    }
    // With the environment as it is: the user's own home.
    let output = Command::new(BINARY).args(["server", "install", engine]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "installing {engine}: {said}");
    installed.push(engine.to_owned());
}

/// Makes the image of one warehouse, where another test has not: who waits for a run to measure has
/// less patience than that may take.
pub fn populate(engine: &str) {
    install(engine);
    let work = directory();
    mydyno(["load", "--engine", engine, "-w", "1"]).in_directory(work.path()).run().exits(0);
}

/// A working directory of a test.
pub fn directory() -> TempDir {
    tempfile::Builder::new().prefix("work-").tempdir_in(home()).unwrap()
}

/// The same on a disk, wherever other files of tests are: servers treat memory in other ways.
pub fn directory_on_disk() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Polls until the condition holds.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How a transaction ended, without the rows that some styles tell beside it.
pub fn without_its_rows(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Ordered(_) | Outcome::LastOrder { .. } | Outcome::OrdersBelow(_) => {
            Outcome::Committed
        }
        other => other,
    }
}

/// Sends a signal to a process.
pub fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Does a query of a results file give true? It does not where there is no such file or row.
pub fn holds(file: &Path, sql: &str) -> bool {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    rusqlite::Connection::open_with_flags(file, flags)
        .and_then(|file| file.query_row(sql, [], |row| row.get::<_, Option<bool>>(0)))
        .is_ok_and(|is_so| is_so == Some(true))
}

/// Rows of the results file; columns as text, NULL as `NULL`.
pub fn results(file: &Path, sql: &str) -> Vec<Vec<String>> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = rusqlite::Connection::open_with_flags(file, flags).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let width = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..width)
            .map(|column| {
                Ok(match row.get::<_, rusqlite::types::Value>(column)? {
                    rusqlite::types::Value::Null => "NULL".to_owned(),
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Real(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    rusqlite::types::Value::Blob(bytes) => format!("{} bytes", bytes.len()),
                })
            })
            .collect()
    });
    rows.unwrap().map(|row| row.unwrap()).collect()
}

/// One value of the results file.
pub fn result(file: &Path, sql: &str) -> String {
    let rows = results(file, sql);
    assert_eq!(rows.len(), 1, "{sql}: {rows:?}");
    rows[0][0].clone()
}

/// An unsigned number of a JSON document, by its JSON pointer.
pub fn number(document: &Value, pointer: &str) -> u64 {
    document
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("{pointer} is no count in {document:#}"))
}

/// A number of a JSON document, by its JSON pointer.
pub fn float(document: &Value, pointer: &str) -> f64 {
    document
        .pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("{pointer} is no number in {document:#}"))
}

/// A text of a JSON document, by its JSON pointer.
pub fn text<'a>(document: &'a Value, pointer: &str) -> &'a str {
    document
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("{pointer} is no text in {document:#}"))
}

/// A list of a JSON document, by its JSON pointer.
pub fn list<'a>(document: &'a Value, pointer: &str) -> &'a [Value] {
    document.pointer(pointer).unwrap().as_array().unwrap()
}

/// Every order that the driver saw committed is in the database, and none more.
#[track_caller]
pub fn counts_agree(document: &Value) {
    let driver = number(document, "/new_orders_committed_by_driver");
    assert_eq!(number(document, "/new_orders_in_database"), driver);
    assert_eq!(number(document, "/new_orders_in_doubt"), 0);
    // Connections = throughput x response time, with what passes between transactions.
    let missing_share = float(document, "/connection_time/missing_share");
    assert!(missing_share.abs() < 0.01, "{:#}", document["connection_time"]);
}

/// Every check of the run passed.
#[track_caller]
pub fn all_checks_hold(document: &Value) {
    let checks = list(document, "/checks");
    assert!(!checks.is_empty());
    assert!(checks.iter().all(|check| check["passed"] == true), "{checks:#?}");
}

/// `docs/json.md` is an interface: it names every key.
pub fn assert_described(document: &Value) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let read = |name| std::fs::read_to_string(docs.join(name)).unwrap();
    let described = read("json.md");
    let profiles = read("profiles.md");
    let mut open = vec![document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    let is_named =
                        described.contains(&format!("`{key}`")) || profiles.contains(key);
                    assert!(is_named, "docs/json.md does not describe {key}");
                    // Its keys are those of the profile.
                    if key != "sources" {
                        open.push(value);
                    }
                }
            }
            Value::Array(values) => open.extend(values),
            _ => {}
        }
    }
}
