//! Servers of `mydyno server start` that end with their test; those that are left end with the
//! home, see `home`.

use super::{home, install, mydyno, number, text};
use serde_json::Value;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Settings for tests that do not measure: little to initialise, little to flush.
pub const QUICK: [&str; 5] = [
    "innodb_buffer_pool_size=256M",
    "innodb_log_file_size=64M",
    "innodb_flush_log_at_trx_commit=0",
    "innodb_doublewrite=0",
    "innodb_fast_shutdown=2",
];

/// For private servers, which otherwise copy redo of 2 GiB from their image.
pub const SMALL_REDO: [&str; 2] = ["--set", "innodb_log_file_size=64M"];

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
        Server::start_as(new_name(), engine, settings, options)
    }

    fn start_as(name: String, engine: &str, settings: &[&str], options: &[&str]) -> Server {
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
        Server::copied(engine, settings, Template::Empty)
    }

    /// A quick server with one warehouse.
    pub fn loaded(engine: &str, settings: &[&str]) -> Server {
        Server::copied(engine, settings, Template::OneWarehouse)
    }

    /// A quick server that begins with a copy of the data of a stopped one, which takes a second
    /// where to initialise and to load takes many.
    fn copied(engine: &str, settings: &[&str], of: Template) -> Server {
        let name = new_name();
        copy_instance(&template(engine, of), &name);
        let all: Vec<&str> = QUICK.iter().chain(settings).copied().collect();
        Server::start_as(name, engine, &all, &[])
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

/// What is in the database `tpcc` of a server that others are copies of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Template {
    Empty,
    OneWarehouse,
}

/// The name of the stopped server that others of the engine are copies of; made at the first call.
fn template(engine: &str, kind: Template) -> String {
    static MADE: Mutex<Vec<(String, Template, String)>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |(of, is, _): &&(String, Template, String)| of == engine && *is == kind;
    if let Some((.., name)) = made.iter().find(is_it) {
        return name.clone();
    }
    // It ends with all pages written, so that a copy has nothing to recover.
    let settings = [&QUICK[..4], &["innodb_fast_shutdown=1"]].concat();
    let server = Server::start(engine, &settings);
    if kind == Template::OneWarehouse {
        let work = super::directory();
        mydyno(["load", "--dsn", &server.dsn, "-w", "1"]).in_directory(work.path()).run().exits(0);
    }
    let name = server.name.clone();
    mydyno(["server", "stop", &name]).run().exits(0);
    // Its data stays until the home goes.
    std::mem::forget(server);
    made.push((engine.to_owned(), kind, name.clone()));
    name
}

/// Copies what a stopped server has; a start with the new name goes on with it.
fn copy_instance(from: &str, to: &str) {
    let instances = home().join("instances");
    let partial = home().join(to);
    let copied = Command::new("cp")
        .args(["-a", "--sparse=always"])
        .args([&instances.join(from), &partial])
        .status();
    assert!(copied.unwrap().success(), "cannot copy {from}");
    // The server's identity, where it has one, and what it has logged.
    let _ = std::fs::remove_file(partial.join("data/auto.cnf"));
    std::fs::remove_file(partial.join("error.log")).unwrap();
    let record = partial.join("instance.json");
    let renamed = std::fs::read_to_string(&record).unwrap().replace(from, to);
    std::fs::write(&record, renamed).unwrap();
    std::fs::rename(&partial, instances.join(to)).unwrap();
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
