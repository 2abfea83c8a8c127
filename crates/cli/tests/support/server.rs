//! Servers of `mydyno server start` that end with their test; those that are left end with the
//! home, see `home`.

use super::{home, install, mydyno, number, text};
use serde_json::Value;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Settings for tests that do not measure: little to initialise, little to flush, and cores left to
/// the tests beside it.
pub const QUICK: [&str; 6] = [
    "innodb_buffer_pool_size=256M",
    "innodb_spin_wait_delay=0",
    "innodb_log_file_size=32M",
    "innodb_flush_log_at_trx_commit=0",
    "innodb_doublewrite=0",
    "innodb_fast_shutdown=2",
];

/// For private servers, which otherwise write 512 MiB of redo at their first start.
pub const SMALL_REDO: [&str; 2] = ["--set", "innodb_log_file_size=16M"];

/// A named server.
pub struct Server {
    pub name: String,
    /// With the password.
    pub dsn: String,
    pub pid: u32,
    pub port: u16,
    pub socket: PathBuf,
    pub started: Value,
}

impl Server {
    /// Starts one with a name of its own.
    pub fn start(engine: &str, settings: &[&str]) -> Server {
        Server::start_with(engine, settings, &[])
    }

    /// With further options of `mydyno server start`.
    pub fn start_with(engine: &str, settings: &[&str], options: &[&str]) -> Server {
        install(engine);
        let name = new_name();
        let mut arguments = vec!["server", "start", "--engine", engine, "--name", &name, "--json"];
        for setting in settings {
            arguments.extend(["--set", setting]);
        }
        arguments.extend(options);
        let started = mydyno(&arguments).run().exits(0).json();
        Server {
            dsn: text(&started, "/dsn").to_owned(),
            pid: u32::try_from(number(&started, "/pid")).unwrap(),
            port: u16::try_from(number(&started, "/port")).unwrap(),
            socket: PathBuf::from(text(&started, "/socket")),
            name,
            started,
        }
    }

    /// A quick server without a database.
    pub fn quick(engine: &str, settings: &[&str]) -> Server {
        Server::start(engine, &[&QUICK[..], settings].concat())
    }

    /// A quick server with one warehouse.
    pub fn loaded(engine: &str, settings: &[&str]) -> Server {
        Server::start_with(engine, &[&QUICK[..], settings].concat(), &["-w", "1"])
    }

    /// The DSN with another schema.
    pub fn schema(&self, schema: &str) -> String {
        let (server, options) = self.dsn.split_once("/tpcc").unwrap();
        format!("{server}/{schema}{options}")
    }

    /// The password in the DSN.
    pub fn password(&self) -> &str {
        let (_, rest) = self.dsn.split_once("mydyno:").unwrap();
        rest.split_once('@').unwrap().0
    }

    /// Stops it and removes its data.
    pub fn stop(self) {
        drop(self);
    }

    fn end(&self) {
        if home().join("instances").join(&self.name).exists() {
            mydyno(["server", "stop", &self.name, "--remove"]).run().exits(0);
        }
        assert!(!alive(self.pid), "server {} survives", self.name);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A second panic would hide the first; it ends with the home then.
        if !std::thread::panicking() {
            self.end();
        }
    }
}

/// A server of MySQL 5.7 with one warehouse that no other test uses meanwhile. So tests beside each
/// other need as many servers as there are at a time, and none waits for another.
pub struct Lent(Option<Server>);

/// Servers that tests have given back.
static FREE: Mutex<Vec<Server>> = Mutex::new(Vec::new());

/// Lends a server; whoever changes its variables sets them back.
pub fn lent() -> Lent {
    let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let new = || Server::loaded("mysql-5.7", &["innodb_lock_wait_timeout=50"]);
    Lent(Some(free.unwrap_or_else(new)))
}

impl Deref for Lent {
    type Target = Server;

    fn deref(&self) -> &Server {
        self.0.as_ref().expect("it is there until it is given back")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // What a test that failed has left is nobody's.
        if !std::thread::panicking() {
            let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
            free.extend(self.0.take());
        }
    }
}

fn new_name() -> String {
    static NAMED: AtomicU32 = AtomicU32::new(0);
    let ordinal = NAMED.fetch_add(1, Ordering::Relaxed);
    format!("test-{}-{ordinal}", std::process::id())
}

/// Does this process run? A dead one that nobody has reaped has no command line.
pub fn alive(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// Servers of private instances: those whose option file lies in a home under `run`, for the
/// process `owner`.
pub fn servers_under(owner: u32) -> Vec<u32> {
    let mark = format!("/run/{owner}-");
    processes()
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&mark))
        })
        .collect()
}

/// The processes of a session.
pub fn session(id: u32) -> Vec<u32> {
    let of = |pid: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // After the name, which may hold anything: state, parent, process group, session.
        stat.rsplit_once(") ")?.1.split(' ').nth(3)?.parse().ok()
    };
    processes().filter(|pid| of(*pid) == Some(id)).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}
