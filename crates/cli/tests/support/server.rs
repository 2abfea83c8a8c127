//! Servers of `mydyno server start` that end with their test; those that are left end with the home, see `home`.

use super::{home, install, mydyno, number, text};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

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
        static STARTED: AtomicU32 = AtomicU32::new(0);
        install(engine);
        let ordinal = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("test-{}-{ordinal}", std::process::id());
        let mut arguments = vec![
            "server", "start", "--engine", engine, "--name", &name, "--json",
        ];
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

    /// A quick server with one warehouse.
    pub fn loaded(engine: &str, settings: &[&str]) -> Server {
        let all: Vec<&str> = QUICK.iter().chain(settings).copied().collect();
        let server = Server::start(engine, &all);
        let work = super::directory();
        mydyno(["load", "--dsn", &server.dsn, "-w", "1"])
            .in_directory(work.path())
            .run()
            .exits(0);
        server
    }

    /// The DSN with another schema.
    pub fn schema(&self, schema: &str) -> String {
        let (server, _) = self.dsn.rsplit_once('/').unwrap();
        format!("{server}/{schema}")
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
            mydyno(["server", "stop", &self.name, "--remove"])
                .run()
                .exits(0);
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

/// Does this process run? A dead one that nobody has reaped has no command line.
pub fn alive(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// Servers of private instances: those whose option file lies in a home under `run`, for the process `owner`.
pub fn servers_under(owner: u32) -> Vec<u32> {
    let mark = format!("/run/{owner}-");
    processes()
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&mark))
        })
        .collect()
}

fn processes() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}
