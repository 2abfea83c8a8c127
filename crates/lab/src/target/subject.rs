//! The server under test: one that mydyno starts for the command, several of them, or one that is
//! there.

use crate::error::{LabError, LabResult};
use crate::stop;
use crate::target::disk_space;
use crate::target::kept::placed_of;
use crate::target::placed::Placed;
use crate::target::preset::{Configured, configured_of};
use crate::target::revival::Supervisor;
use base::{CpuList, Dilation, Exit};
use drive::Schemas;
use itertools::Itertools;
use server::{DividedCpus, Home, Instance, NamedInstance, Target, render_dsn};
use spec::{AccountFrom, Topology};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use storage::{SharedMemory, ShimPage};
use store::RepeatFailure;
use wire::{Address, ConnectOptions, Connector, OpenConnections};

/// A server under test.
pub struct Subject {
    /// Login, with the schema.
    pub connect: ConnectOptions,
    /// How many schemas are used, numbered behind that name; where none, the schema itself.
    pub(super) schemas: Option<u32>,
    pub(crate) placed: Placed,
    /// The preset that it was started with.
    pub(crate) configured: Option<Configured>,
    pub(super) origin: Origin,
    /// Over which it is driven.
    pub(crate) driven: OpenConnections,
    /// Further servers that are driven together with this one.
    pub(super) others: Vec<Subject>,
    /// How they belong together.
    pub topology: Topology,
    /// Of private nodes of one database, those that may come back.
    pub(crate) supervisor: Supervisor,
    /// Where mydyno keeps them to some.
    pub(super) cpus: Option<DividedCpus>,
    /// Of the emulated devices that they share. The last, so that it is there as long as they are.
    #[expect(dead_code, reason = "it is what the servers have mapped")]
    pub(super) memory: Option<SharedMemory>,
}

pub(super) enum Origin {
    /// Started for this command; ends with it.
    Private(Arc<Instance>),
    /// Started by `mydyno server start`: its log and process can be looked at.
    Named(Box<NamedInstance>),
    External,
}

/// The schema of a private server's database.
pub const SCHEMA: &str = "tpcc";

impl Subject {
    /// A server that mydyno started for this command.
    pub fn private(instance: Arc<Instance>) -> Subject {
        let connect =
            ConnectOptions { schema: Some(SCHEMA.to_owned()), ..instance.connect_options() };
        Subject::of(connect, Origin::Private(instance))
    }

    /// One server with one schema, of which nothing else is known.
    fn of(connect: ConnectOptions, origin: Origin) -> Subject {
        Subject {
            connect,
            schemas: None,
            placed: Placed::default(),
            configured: None,
            origin,
            driven: OpenConnections::default(),
            others: Vec::new(),
            topology: Topology::Apart,
            supervisor: Supervisor::default(),
            cpus: None,
            memory: None,
        }
    }

    /// Is it on this machine: one that mydyno started, or one that is reached by a unix socket or a
    /// loopback address?
    pub(crate) fn is_local(&self) -> bool {
        is_local(&self.connect.address)
    }

    /// Does it end with this command?
    pub(crate) fn is_private(&self) -> bool {
        matches!(self.origin, Origin::Private(_))
    }

    /// How many times slower its clock runs.
    pub fn dilation(&self) -> Dilation {
        self.placed.dilation
    }

    /// The CPUs that are left to the driver, where the servers are kept to some.
    pub(crate) fn driver_cpus(&self) -> Option<&CpuList> {
        self.cpus.as_ref().map(|cpus| &cpus.driver)
    }

    /// Was a clone just written to a real disk for it?
    pub(crate) fn has_written_disks(&self) -> bool {
        let is_real = self.placed.places.iter().any(|place| !place.emulated);
        self.is_private() && (is_real || self.placed.places.is_empty())
    }

    /// All servers, this one first.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Subject> {
        std::iter::once(self).chain(&self.others)
    }

    /// What is to be known of all servers as they were started, each once.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.each().flat_map(|server| &server.placed.notes).unique().cloned().collect()
    }

    /// How many servers there are.
    pub fn instances(&self) -> u32 {
        self.others.len() as u32 + 1
    }

    /// What one of its databases is called, where there are several; schemas are numbered from 0.
    pub fn word_for_database(&self) -> &'static str {
        if self.others.is_empty() { "schema" } else { self.topology.word() }
    }

    /// The shim's pages of those that run under it.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &ShimPage> {
        self.each().filter_map(|server| server.placed.page.as_ref())
    }

    /// The server that a DSN or option file names. Where it is one of `mydyno server start` in
    /// `home`, it is known as such.
    ///
    /// # Errors
    /// Where the list of named servers cannot be read.
    pub fn of_target(home: Option<&Home>, target: &Target) -> LabResult<Subject> {
        let named = home.map_or_else(|| Ok(Vec::new()), server::named)?;
        let found = named.into_iter().find(|named| match &target.connect.address {
            Address::Tcp { host, port } => {
                named.port == *port && (host == "localhost" || host == "127.0.0.1")
            }
            Address::Unix(path) => named.socket == *path,
        });
        let subject = Subject::of(target.connect.clone(), Origin::External);
        let Some(named) = found.filter(|named| named.running) else { return Ok(subject) };
        Ok(Subject {
            placed: placed_of(&named.directory)?,
            configured: configured_of(&named.directory)?,
            origin: Origin::Named(Box::new(named)),
            ..subject
        })
    }

    /// How many schemas are used.
    pub fn schemas(&self) -> u32 {
        self.schemas.unwrap_or(1)
    }

    /// Logins to all schemas that are used.
    pub(crate) fn targets(&self) -> Vec<ConnectOptions> {
        targets(&self.connect, self.schemas)
    }

    /// The address for people and the store; no password.
    pub fn dsn(&self) -> String {
        render_dsn(&self.connect, server::Secret::Hidden)
    }

    /// A connector to the schema, the first one where several are used.
    ///
    /// # Errors
    /// Where host or CA file are unusable.
    pub fn connector(&self) -> LabResult<Connector> {
        Ok(self.databases()?.first().clone())
    }

    /// A connector to the server, whatever schemas it has.
    ///
    /// # Errors
    /// As [`Subject::connector`].
    pub(crate) fn without_schema(&self) -> LabResult<Connector> {
        Ok(Connector::new(ConnectOptions { schema: None, ..self.connect.clone() })?)
    }

    /// Connectors to all schemas that are used, of all servers.
    ///
    /// # Errors
    /// As [`Subject::connector`].
    pub(crate) fn databases(&self) -> LabResult<Schemas<Connector>> {
        let mut connectors = Vec::new();
        for server in self.each() {
            for target in server.targets() {
                connectors.push(Connector::new(target)?.listing(&server.driven));
            }
        }
        let first = connectors.remove(0);
        Ok(Schemas::new(first, connectors, self.topology))
    }

    /// How the server ended, where it did and can be looked at; where there are several, the first
    /// of them without which there is no going on: any, where each has a database of its own; the
    /// primary of replicas; and the nodes of several primaries all together.
    pub fn ended(&self) -> Option<String> {
        let is_up = |server: &Subject| server.ended_itself().is_none();
        match self.topology {
            Topology::PrimaryReplicas => return self.ended_itself(),
            Topology::MultiPrimary if self.each().any(is_up) => return None,
            Topology::MultiPrimary | Topology::Apart | Topology::Shards => {}
        }
        self.each().zip(1..).find_map(|(server, number)| {
            let how = server.ended_itself()?;
            Some(match self.instances() {
                1 => how,
                count => format!("server {number} of {count}: {how}"),
            })
        })
    }

    fn ended_itself(&self) -> Option<String> {
        match &self.origin {
            Origin::Private(instance) => Some(self.with_crash(instance.exited()?)),
            Origin::Named(named) => {
                // A dead process that nobody has reaped is still there, but has no command line.
                let command_line = format!("/proc/{}/cmdline", named.pid);
                let alive = std::fs::read(command_line).is_ok_and(|text| !text.is_empty());
                // Another process may have been started in its place.
                let answers = UnixStream::connect(&named.socket).is_ok();
                (!alive && !answers).then(|| {
                    let NamedInstance { name, pid, .. } = &**named;
                    self.with_crash(format!("server {name:?} (process {pid}) has ended"))
                })
            }
            Origin::External => None,
        }
    }

    fn with_crash(&self, how: String) -> String {
        match self.placed.crash() {
            Some(crash) => format!("{how}; {crash}"),
            None => how,
        }
    }

    /// From now on the devices of a private server are emulated, or from now on they are not.
    /// Nothing where it has no shim. A named server is the user's, for whom its devices are at work
    /// all the time.
    pub(crate) fn arm(&self, armed: bool) -> LabResult<()> {
        let mut private = self.each().filter(|server| server.is_private());
        private.try_for_each(|server| server.placed.arm(armed))
    }

    /// From the next connection on their shims look at the threads that serve clients, where the
    /// account of a run is from there, or they do not.
    pub(crate) fn look_at_sessions(&self, from: Option<AccountFrom>) -> LabResult<()> {
        let looked_at = from.is_none_or(|from| from == AccountFrom::Shim);
        Ok(self.pages().try_for_each(|page| page.look_at_sessions(looked_at))?)
    }

    /// A private server's are armed later.
    pub(crate) fn require_armed(&self) -> LabResult<()> {
        if self.is_private() { Ok(()) } else { self.placed.require_armed() }
    }

    /// The private server, where it is one.
    pub(crate) fn instance(&self) -> Option<&Arc<Instance>> {
        if let Origin::Private(instance) = &self.origin { Some(instance) } else { None }
    }

    /// The server's process, where it is ours.
    pub(crate) fn pid(&self) -> Option<u32> {
        match &self.origin {
            Origin::Private(instance) => Some(instance.pid()),
            Origin::Named(named) => Some(named.pid),
            Origin::External => None,
        }
    }

    /// The end of the server's error log, where it can be read; where there are several, of the
    /// first that has ended, or of the first.
    pub fn log_tail(&self) -> Option<String> {
        let has_ended = |server: &&Subject| server.ended_itself().is_some();
        match &self.each().find(has_ended).unwrap_or(self).origin {
            Origin::Private(instance) => Some(instance.log_tail()),
            Origin::Named(named) => Some(named.log_tail()),
            Origin::External => None,
        }
    }

    /// Why a repeat on it failed.
    pub(crate) fn failure(&self, reason_code: &str, reason: String) -> RepeatFailure {
        let reason_code = reason_code.to_owned();
        RepeatFailure { reason_code, reason, log_tail: self.log_tail() }
    }

    /// The catalogue's name of the engine, where mydyno started it.
    pub fn engine(&self) -> Option<&str> {
        match &self.origin {
            Origin::Private(instance) => Some(&instance.build().engine),
            Origin::Named(named) => Some(&named.engine),
            Origin::External => None,
        }
    }

    /// Why its files cannot grow, where that is so and can be seen.
    pub(crate) fn no_room(&self) -> Option<String> {
        let instance = self.instance()?;
        let others = [&self.placed.scratch[..], &[instance.directory().to_owned()]].concat();
        // Servers that are together are placed alike, below one home: each file system of theirs
        // has files of this one too.
        disk_space::full(instance.data_directory(), &others)
    }

    /// A loss of the connection, told as the server's death where that is what happened.
    pub fn explain(&self, error: LabError) -> LabError {
        // A process that is killed closes its connections before it is gone.
        if error.exit() == Exit::ServerFailed && !matches!(self.origin, Origin::External) {
            stop::comes_within(LEAVING_PATIENCE, || self.ended().is_some());
        }
        let died = |reason| LabError::ServerDied { reason, log_tail: self.log_tail() };
        self.ended().map_or(error, died)
    }
}

/// Logins to the schemas `<name>_0` to `<name>_{K-1}`, the names that tpcc-mysql gives them; to the
/// one of the target where no number is asked for.
fn targets(connect: &ConnectOptions, schemas: Option<u32>) -> Vec<ConnectOptions> {
    let Some(count) = schemas else {
        return vec![connect.clone()];
    };
    let name = connect.schema.as_deref().unwrap_or(SCHEMA);
    let target =
        |number| ConnectOptions { schema: Some(format!("{name}_{number}")), ..connect.clone() };
    (0..count.max(1)).map(target).collect()
}

/// Is what is reached there on this machine?
pub(crate) fn is_local(address: &Address) -> bool {
    match address {
        Address::Unix(_) => true,
        Address::Tcp { host, .. } => {
            let ip = host.parse::<std::net::IpAddr>();
            host.eq_ignore_ascii_case("localhost") || ip.is_ok_and(|ip| ip.is_loopback())
        }
    }
}

/// How long a server that closed its connections may take to be gone.
const LEAVING_PATIENCE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::{is_local, targets};
    use wire::{Address, ConnectOptions, Password, Security};

    #[test]
    fn only_this_machine_is_local() {
        let tcp = |host: &str| Address::Tcp { host: host.to_owned(), port: 3306 };
        for (address, expected) in [
            (Address::Unix("/run/mysqld.sock".into()), true),
            (tcp("localhost"), true),
            (tcp("127.0.0.1"), true),
            (tcp("::1"), true),
            (tcp("db.example"), false),
            (tcp("192.0.2.7"), false),
        ] {
            assert_eq!(is_local(&address), expected, "{address:?}");
        }
    }

    #[test]
    fn schemas_are_numbered_from_0() {
        let connect = |schema: Option<&str>| ConnectOptions {
            address: Address::Unix("/s".into()),
            user: "me".to_owned(),
            password: Password::default(),
            schema: schema.map(str::to_owned),
            security: Security::default(),
        };
        let names = |schema, count| -> Vec<Option<String>> {
            let targets = targets(&connect(schema), count);
            targets.into_iter().map(|target| target.schema).collect()
        };
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(names(Some("shop"), Some(2)), [some("shop_0"), some("shop_1")]);
        assert_eq!(names(None, Some(1)), [some("tpcc_0")]);
        assert_eq!(names(Some("shop"), None), [some("shop")]);
        assert_eq!(names(None, None), [None]);
    }
}
