//! Real servers of all engines. Engines are installed once per machine, into MYDYNO_HOME or its
//! default; everything else of a test lies in a directory of its own.

// Of the tests of the whole program.
#[macro_use]
#[path = "../../../cli/tests/support/engines.rs"]
mod engines;
mod images;
mod installing;
mod lifetimes;
mod presets;
mod starting;

use base::{Connect, Session};
use engines::ENGINES;
use server::{Home, Instance, InstanceOptions, Lifetime, ServerBuild, ServerError, install};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use wire::{Address, ConnectError, ConnectOptions, Connector};

/// Enough for what does not depend on the engine's release.
pub const SOME_ENGINES: [&str; 4] = [ENGINES[0], ENGINES[1], ENGINES[2], ENGINES[3]];
/// Enough for what does not depend on the release, but on the family.
pub const FAMILIES: [&str; 2] = [ENGINES[0], ENGINES[2]];
pub const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// The engine, installed by the real `install` where it is missing.
pub fn build(engine: &str) -> ServerBuild {
    let home = Home::from_env().unwrap();
    install(&home, engine, None, &mut |_| {}).unwrap()
}

/// Starts a server that outlives this process.
pub fn start_named(
    home: &Home,
    build: &ServerBuild,
    name: &str,
    options: InstanceOptions,
) -> Result<Instance, ServerError> {
    let lifetime = Lifetime::Named(name.to_owned());
    Instance::start(home, build, InstanceOptions { lifetime, ..options })
}

/// A home of the test's own.
pub fn own_home() -> (TempDir, Home) {
    let temp = tempfile::Builder::new().prefix("mydyno-test-").tempdir().unwrap();
    let home = Home::at(temp.path().join("home")).unwrap();
    (temp, home)
}

pub fn set(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Small files: these tests measure nothing.
pub fn small() -> InstanceOptions {
    InstanceOptions {
        set: set(&[("innodb_log_file_size", "48M"), ("innodb-buffer-pool-size", "64M")]),
        ..InstanceOptions::default()
    }
}

pub fn start(home: &Home, build: &ServerBuild, options: InstanceOptions) -> Instance {
    Instance::start(home, build, options)
        .unwrap_or_else(|error| panic!("{}: {error}", build.engine))
}

/// The login over a server's unix socket.
pub fn by_socket(socket: &Path, tcp: ConnectOptions) -> ConnectOptions {
    ConnectOptions { address: Address::Unix(socket.to_owned()), ..tcp }
}

/// Runs one statement on a connection of its own; rows as text, columns joined by `|`.
pub fn query(options: &ConnectOptions, sql: &str) -> Vec<String> {
    let connector = Connector::new(options.clone()).unwrap();
    reactor::block_on(async {
        let mut connection = connector.connect().await.unwrap_or_else(|error| panic!("{error}"));
        let answer = connection.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let width = answer.width;
        answer
            .rows()
            .map(|row| {
                let columns: Vec<String> = (0..width).map(|column| row.text(column)).collect();
                columns.join("|")
            })
            .collect()
    })
    .unwrap()
}

/// Bytes of redo of all files together, as its variables have it: the status follows later.
pub fn redo_bytes(server: &Instance) -> u64 {
    let number = |name: &str| -> Option<f64> {
        let sql = format!("SHOW GLOBAL VARIABLES LIKE '{name}'");
        let row = query(&server.connect_options(), &sql).concat();
        row.split_once('|').map(|(_, value)| value.parse().unwrap())
    };
    base::redo_log_bytes(number, |_| None).unwrap() as u64
}

/// Does redo lie in this directory? Newer servers have a directory of files there.
pub fn has_redo(directory: &Path) -> bool {
    let many = std::fs::read_dir(directory.join("#innodb_redo"));
    directory.join("ib_logfile0").is_file() || many.is_ok_and(|mut files| files.next().is_some())
}

pub fn variable(options: &ConnectOptions, name: &str) -> String {
    query(options, &format!("SELECT @@global.{name}")).concat()
}

/// Why a login is refused; fails where it is not.
pub fn refused(options: &ConnectOptions) -> ConnectError {
    let connector = Connector::new(options.clone()).unwrap();
    let result = reactor::block_on(connector.connect()).unwrap();
    match result {
        Ok(_) => panic!("{} may log in as {}", options.user, options.address),
        Err(error) => error,
    }
}

/// What lies in home/run beside its lock.
pub fn left_in_run(home: &Home) -> Vec<PathBuf> {
    std::fs::read_dir(home.run())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect()
}

pub fn alive(pid: u32) -> bool {
    // A zombie has no command line.
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(600), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn exit_of(error: &ServerError) -> u8 {
    error.exit().code()
}

pub fn exists(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}
