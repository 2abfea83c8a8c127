//! The server that all parts measure on: one of the bench's own, or one that is there.

use crate::command::{self, Ended};
use anyhow::{Context, Result, bail, ensure};
use base::{Connect, Session};
use server::{Home, Instance, InstanceOptions, Secret, Target, TargetRequest, render_dsn};
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;
use wire::{Address, ConnectOptions, Connection, Connector};

const BINARY: &str = env!("CARGO_BIN_EXE_mydyno");
const ENGINE: &str = "mysql-5.7";
const POOL: &str = "4G";

pub struct Bed {
    /// What is driven.
    pub login: ConnectOptions,
    /// The same server over its unix socket, where it is on this machine.
    pub socket_login: Option<ConnectOptions>,
    /// Server and scheduling, for people.
    pub about: Vec<String>,
    scratch: TempDir,
    control: Connection,
    /// Last: ended after everything that uses it.
    _instance: Option<Instance>,
}

impl Bed {
    /// Starts a server of the reference set-up and loads it.
    pub fn start_own(warehouses: u32) -> Result<Bed> {
        let home = Home::from_env()?;
        let build = match server::find(&home, ENGINE) {
            Ok(build) => build,
            Err(_) => server::install(&home, ENGINE, None, &mut |what| eprintln!("{what}"))?,
        };
        let options = InstanceOptions {
            set: vec![("innodb_buffer_pool_size".to_owned(), POOL.to_owned())],
            ..InstanceOptions::default()
        };
        let instance = Instance::start(&home, &build, options)?;
        let with_schema = |login: ConnectOptions| ConnectOptions {
            schema: Some(lab::SCHEMA.to_owned()),
            ..login
        };
        let login = with_schema(instance.connect_options());
        let scratch = tempfile::tempdir()?;
        let mut load = mydyno(&login);
        load.args(["load", "--warehouses", &warehouses.to_string()]);
        with_dsn(&mut load, &login);
        eprintln!("loading {warehouses} warehouses");
        let loaded = command::run(load, scratch.path())?;
        ensure!(loaded.status.success(), "loading failed: {}", loaded.why());
        let about = vec![
            format!("a private server of its own, {warehouses} warehouses, buffer pool {POOL}"),
            scheduling(Some(instance.pid())),
        ];
        let address = Address::Unix(instance.socket().to_owned());
        let socket_login = Some(ConnectOptions { address, ..login.clone() });
        Bed::new(login, socket_login, about, scratch, Some(instance))
    }

    /// Takes a server that is there, with a database that is loaded.
    pub fn existing(dsn: &str) -> Result<Bed> {
        let login = Target::resolve(&TargetRequest::from_env(Some(dsn), None))?.connect;
        ensure!(login.schema.is_some(), "the DSN names no schema; use mysql://user@host/tpcc");
        let scratch = tempfile::tempdir()?;
        let mut bed = Bed::new(login, None, Vec::new(), scratch, None)?;
        let is_local = match &bed.login.address {
            Address::Unix(_) => true,
            Address::Tcp { host, .. } => ["127.0.0.1", "localhost", "::1"].contains(&host.as_str()),
        };
        let mut pid = None;
        if is_local {
            let socket = PathBuf::from(bed.value("SELECT @@socket")?);
            bed.socket_login = socket
                .exists()
                .then(|| ConnectOptions { address: Address::Unix(socket), ..bed.login.clone() });
            let pid_file = bed.value("SELECT @@pid_file")?;
            pid = std::fs::read_to_string(pid_file).ok();
        }
        let shown = render_dsn(&bed.login, Secret::Hidden);
        bed.about.push(format!("an existing server, {shown}"));
        bed.about.push(scheduling(pid.and_then(|pid| pid.trim().parse().ok())));
        Ok(bed)
    }

    fn new(
        login: ConnectOptions,
        socket_login: Option<ConnectOptions>,
        about: Vec<String>,
        scratch: TempDir,
        instance: Option<Instance>,
    ) -> Result<Bed> {
        let control = reactor::block_on(Connector::new(login.clone())?.connect())??;
        let mut bed = Bed { login, socket_login, about, scratch, control, _instance: instance };
        let version = bed.value("SELECT CONCAT(@@version_comment, ' ', @@version)")?;
        bed.about.insert(0, version);
        ensure!(
            bed.value("SELECT COUNT(*) FROM item").is_ok_and(|count| count == "100000"),
            "the schema holds no TPC-C database; load it with `mydyno load --dsn ...`"
        );
        Ok(bed)
    }

    /// The address of the server as arguments of a peer: host and port.
    pub fn host_and_port(&self) -> Option<(String, u16)> {
        match &self.login.address {
            Address::Tcp { host, port } => Some((host.clone(), *port)),
            Address::Unix(_) => None,
        }
    }

    /// One value. A statement of the bench's own: see `peers` for how those are left out of the
    /// count.
    pub fn value(&mut self, sql: &str) -> Result<String> {
        let control = &mut self.control;
        let found = reactor::block_on(async {
            let answer = control.query(sql).await?;
            let last = answer.width.saturating_sub(1);
            Ok::<_, base::SessionError>(answer.row(0).map(|row| row.text(last)))
        })?;
        found.with_context(|| sql.to_owned())?.with_context(|| format!("no answer to {sql}"))
    }

    /// A number that one statement gives.
    pub fn count(&mut self, sql: &str) -> Result<u64> {
        let text = self.value(sql)?;
        match text.parse() {
            Ok(number) => Ok(number),
            Err(_) => bail!("{sql} gives {text}, which is no count"),
        }
    }

    /// `mydyno` on this server, with these arguments and the DSN.
    pub fn mydyno(&self, arguments: &[String]) -> Command {
        let mut command = mydyno(&self.login);
        command.args(arguments);
        with_dsn(&mut command, &self.login);
        command
    }

    pub fn run(&self, command: Command) -> Result<Ended> {
        command::run(command, self.scratch.path())
    }
}

/// The binary of this tree. The password goes by the environment: the process list shows arguments.
fn mydyno(login: &ConnectOptions) -> Command {
    let mut command = Command::new(BINARY);
    command.env("MYDYNO_PASSWORD", login.password.reveal());
    command
}

fn with_dsn(command: &mut Command, login: &ConnectOptions) {
    command.args(["--dsn", &render_dsn(login, Secret::Hidden)]);
}

/// Whether the server shares the driver's scheduling group, on which client CPU depends; see
/// bench/measured.md.
fn scheduling(server: Option<u32>) -> String {
    let autogroup = std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled");
    let autogroup = match autogroup.as_deref().map(str::trim) {
        Ok("1") => "on",
        Ok(_) => "off",
        Err(_) => "not in this kernel",
    };
    let own = rustix::process::getsid(None).ok();
    let server = server
        .and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed()))
        .and_then(|pid| rustix::process::getsid(Some(pid)).ok());
    let shared = match server {
        Some(server) if Some(server) == own => "server and drivers share a session",
        Some(_) => "the server has a session of its own",
        None => "the server's session is unknown",
    };
    format!("autogroup scheduling {autogroup}; {shared}")
}
