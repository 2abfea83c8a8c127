//! From options to a server that takes connections, step by step; whatever fails on the way leaves
//! nothing behind.

use crate::catalogue::Flavour;
use crate::copy::Storage;
use crate::error::io_at;
use crate::home::{self, FileLock};
use crate::image;
use crate::initialise;
use crate::instance::{Data, Instance, InstanceOptions, Lifetime, read_password};
use crate::instance_dir::{self, InstanceDir};
use crate::named;
use crate::process::{self, NotReady, OnParentDeath, Process};
use crate::settings::{self, Layout, Settings};
use crate::{Home, ServerBuild, ServerError};
use base::CpuList;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wire::Password;

/// Longest wait for a server to take connections; recovery after a crash counts in.
const READY_TIMEOUT: Duration = Duration::from_secs(120);
/// Tries with another port where somebody else was faster.
const PORT_TRIES: usize = 5;
/// What a fresh data directory needs beside its redo.
const FRESH_BYTES: u64 = 256 << 20;
/// InnoDB's page size where nothing else is set.
const DEFAULT_PAGE_SIZE_BYTES: u32 = 16 << 10;

/// Everything of a start that does not change between tries.
struct Launch<'a> {
    build: &'a ServerBuild,
    layout: Layout,
    /// What replaces base lines, the last one where there are several of a name.
    set: Vec<(String, String)>,
    /// The lines that the user set.
    users: Vec<(String, String)>,
    password: Password,
    storage: Storage,
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    files: Vec<(String, Vec<u8>)>,
    cpus: Option<CpuList>,
    ready_timeout: Duration,
    on_parent_death: OnParentDeath,
    notes: Vec<String>,
}

impl Instance {
    /// Starts a server and waits until it takes connections. What earlier commands left behind is
    /// swept away first.
    ///
    /// # Errors
    /// [`ServerError::Failed`] with the log where the server ends or is not ready in time;
    /// [`ServerError::Setting`] and [`ServerError::BadName`] for bad options;
    /// [`ServerError::Disk`], [`ServerError::Data`], [`ServerError::Io`];
    /// [`ServerError::AlreadyRunning`] and [`ServerError::Locked`] for named ones.
    pub fn start(
        home: &Home,
        build: &ServerBuild,
        options: InstanceOptions,
    ) -> Result<Instance, ServerError> {
        settings::validate(&options.preset)?;
        settings::validate(&options.set)?;
        require_startable(build)?;
        let swept = instance_dir::sweep(home)?;
        let notes = match options.lifetime {
            Lifetime::Named(_) => swept,
            // Results are no place for what other commands left.
            Lifetime::Private => Vec::new(),
        };
        let (mut dir, lock, resumed) = open_directory(home, build, &options)?;
        let layout = lay_out(&mut dir, &options, resumed.as_ref())?;
        // Whoever was connected to the stopped server of that name can be so again.
        let kept = resumed.as_ref().and_then(|_| read_password(&layout.password()).ok());
        let mut launch = Launch {
            build,
            set: all_set(&options),
            users: options.set,
            password: kept.map_or_else(initialise::random_password, Ok)?,
            storage: options.storage,
            environment: options.environment,
            files: options.files,
            cpus: options.cpus,
            ready_timeout: READY_TIMEOUT.mul_f64(options.dilation.factor()),
            on_parent_death: match options.lifetime {
                Lifetime::Private => OnParentDeath::Kill,
                Lifetime::Named(_) => OnParentDeath::Survive,
            },
            notes,
            layout,
        };
        if resumed.is_some() {
            launch
                .notes
                .push("the data of the stopped server of that name is used again".to_owned());
        } else {
            launch.fill(&options.data)?;
        }
        let secret = launch.password.reveal();
        home::write_private(&launch.layout.password(), format!("{secret}\n"))?;
        let (process, port, settings) = launch.run(options.port)?;
        let mut instance = Instance {
            build: build.clone(),
            layout: launch.layout,
            port,
            settings,
            password: launch.password,
            pid: process.pid(),
            process: Mutex::new(process),
            named: false,
            notes: launch.notes,
            dir,
        };
        if let Lifetime::Named(_) = options.lifetime {
            // Until here a failure ends the server with the instance.
            named::write_record(&instance)?;
            instance.named = true;
            instance.dir.keep = true;
        }
        drop(lock);
        Ok(instance)
    }
}

/// Refuses servers that are older than those that initialise and create accounts in the way that
/// this crate uses.
pub fn require_startable(build: &ServerBuild) -> Result<(), ServerError> {
    let oldest = match build.flavour {
        Flavour::Mysql => (5, 7, 6),
        Flavour::MariaDb => (10, 1, 3),
    };
    if build.at_least(oldest) {
        return Ok(());
    }
    Err(ServerError::WrongVersion {
        what: build.binary.display().to_string(),
        wanted: format!("{}.{}.{} or newer", oldest.0, oldest.1, oldest.2),
        got: build.version.clone(),
        todo: "take a newer one, or start it yourself and name it with --dsn".to_owned(),
    })
}

/// The server's directory, its lock where it has a name, and where its data is from an earlier
/// start.
fn open_directory(
    home: &Home,
    build: &ServerBuild,
    options: &InstanceOptions,
) -> Result<(InstanceDir, Option<FileLock>, Option<PathBuf>), ServerError> {
    match &options.lifetime {
        Lifetime::Private => Ok((InstanceDir::private(home)?, None, None)),
        Lifetime::Named(name) => {
            let lock = named::lock(home, name)?;
            let resumed = named::resumable(home, name, build, &options.data)?;
            let dir = InstanceDir::named(home.instances().join(name), resumed.is_some())?;
            Ok((dir, Some(lock), resumed))
        }
    }
}

fn lay_out(
    dir: &mut InstanceDir,
    options: &InstanceOptions,
    resumed: Option<&PathBuf>,
) -> Result<Layout, ServerError> {
    let data = match (resumed, &options.data_directory) {
        (Some(path), _) => path.clone(),
        (None, Some(path)) => {
            dir.make_elsewhere(path)?;
            path.clone()
        }
        (None, None) => {
            let path = dir.path.join("data");
            home::private_directory(&path)?;
            path
        }
    };
    for path in &options.scratch {
        dir.make_elsewhere(path)?;
    }
    let layout = Layout { directory: dir.path.clone(), data, socket: dir.socket()? };
    home::private_directory(&layout.temporary())?;
    Ok(layout)
}

/// The preset, then the user's settings. A clone needs the page size of its image.
fn all_set(options: &InstanceOptions) -> Vec<(String, String)> {
    let mut set = [&options.preset[..], &options.set].concat();
    if let Data::Clone(image) = &options.data
        && image.key().page_size_bytes != DEFAULT_PAGE_SIZE_BYTES
    {
        let size = image.key().page_size_bytes.to_string();
        set.retain(|(name, _)| !name.replace('-', "_").eq_ignore_ascii_case("innodb_page_size"));
        set.push(("innodb_page_size".to_owned(), size));
    }
    set
}

impl Launch<'_> {
    fn settings(&mut self, port: u16) -> Result<Settings, ServerError> {
        let mut settings = Settings::new(self.build, &self.layout, port, &self.set);
        let mut notes = Vec::new();
        let direct_io_on = match self.storage {
            Storage::Real => Some(self.layout.data.as_path()),
            Storage::Emulated => None,
        };
        settings.fit_to_machine(&self.users, direct_io_on, &mut notes);
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let path = self.layout.my_cnf();
        fs::write(&path, settings.my_cnf()).map_err(io_at("write", &path))?;
        Ok(settings)
    }

    /// Puts the data directory's first content in place.
    fn fill(&mut self, data: &Data) -> Result<(), ServerError> {
        // No port is opened while a data directory is initialised.
        let settings = self.settings(0)?;
        match data {
            Data::Fresh => {
                let needed = settings.redo_bytes(self.build).saturating_add(FRESH_BYTES);
                home::require_free(&self.layout.data, needed, "a fresh data directory")?;
                initialise::initialise(self.build, &self.layout)
            }
            Data::Clone(image) => {
                image.require_build(self.build)?;
                let elsewhere = |name| settings.get(name).map(PathBuf::from);
                image.clone_into(&image::CloneTo {
                    data: self.layout.data.clone(),
                    redo: elsewhere("innodb_log_group_home_dir"),
                    undo: elsewhere("innodb_undo_directory"),
                    storage: self.storage,
                    redo_is_remade: settings.remakes_redo(self.build, image.redo_file_bytes(0)),
                })
            }
        }
    }

    /// Starts the server, on another port where the first is taken.
    fn run(&mut self, preferred: Option<u16>) -> Result<(Process, u16, Settings), ServerError> {
        let mut preferred = preferred;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let port = match preferred {
                Some(port) => port,
                None => free_port()?,
            };
            let settings = self.settings(port)?;
            let log_start = fs::metadata(self.layout.log()).map_or(0, |m| m.len());
            let started = self.try_port(log_start);
            match started {
                Ok(process) => {
                    self.note_limits(log_start);
                    return Ok((process, port, settings));
                }
                Err(error) => {
                    let log = process::log_since(&self.layout.log(), log_start);
                    if attempt == PORT_TRIES || !port_was_taken(&log) {
                        return Err(error);
                    }
                    if let Some(wanted) = preferred.take() {
                        self.notes.push(format!("port {wanted} is taken; another is used"));
                    }
                }
            }
        }
    }

    fn try_port(&self, log_start: u64) -> Result<Process, ServerError> {
        let init_file = self.layout.init_file();
        home::write_private(&init_file, initialise::accounts_sql(self.build, &self.password))?;
        for (name, bytes) in &self.files {
            home::write_private(&self.layout.directory.join(name), bytes)?;
        }
        // A killed server leaves it, and a process that nobody has reaped passes for its owner.
        // This directory is locked.
        let mut socket_lock = self.layout.socket.clone().into_os_string();
        socket_lock.push(".lock");
        home::remove_file_if_there(std::path::Path::new(&socket_lock))?;
        let result = self.try_start(log_start);
        // Its work is done, or there is none: no second copy of the password stays.
        home::remove_file_if_there(&init_file)?;
        result
    }

    fn try_start(&self, log_start: u64) -> Result<Process, ServerError> {
        let log = self.layout.log();
        let mut command = self.build.command();
        command
            .arg(format!("--defaults-file={}", self.layout.my_cnf().display()))
            .arg(format!("--init-file={}", self.layout.init_file().display()))
            .stdin(std::process::Stdio::null())
            .current_dir(&self.layout.directory)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        initialise::attach_log(&mut command, &log)?;
        let failed = |why: String| ServerError::Failed {
            engine: self.build.engine.clone(),
            stage: "did not start",
            why,
            log: process::log_since(&log, log_start),
        };
        let start = Instant::now();
        let child = process::spawn_on(command, self.on_parent_death, self.cpus.as_ref())
            .map_err(|e| failed(e.to_string()))?;
        let mut process = Process::new(child);
        let socket = &self.layout.socket;
        let not_ready = match process::wait_ready(&mut process, socket, self.ready_timeout) {
            Ok(()) => return Ok(process),
            Err(not_ready) => not_ready,
        };
        process.kill();
        let said = process::errors_in(&process::log_since(&log, log_start));
        Err(failed(match not_ready {
            NotReady::Ended(status) => said.unwrap_or_else(|| process::describe(status)),
            NotReady::Refused(why) => format!("it refuses connections: {why}"),
            NotReady::TimedOut => {
                format!("it took no connections within {} s", start.elapsed().as_secs())
            }
        }))
    }

    /// A server that may not open enough files lowers its limits and only its log tells.
    fn note_limits(&mut self, log_start: u64) {
        let log = process::log_since(&self.layout.log(), log_start);
        for line in log.lines() {
            if let Some(at) = line.find("Changed limits:") {
                self.notes.push(format!(
                    "the server lowered its own limits (raise `ulimit -n`): {}",
                    &line[at..]
                ));
            }
        }
    }
}

/// A port of the loopback interface that nobody has this moment.
fn free_port() -> Result<u16, ServerError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(io_at("find a free port of", &PathBuf::from("127.0.0.1")))
}

fn port_was_taken(log: &str) -> bool {
    log.contains("Address already in use") || log.contains("another mysqld server running on port")
}

#[cfg(test)]
mod tests {
    use super::{free_port, port_was_taken};

    #[test]
    fn ports() {
        assert_ne!(free_port().unwrap(), 0);
        assert!(port_was_taken(
            "[ERROR] Can't start server: Bind on TCP/IP port: Address already in use"
        ));
        assert!(!port_was_taken("[ERROR] unknown variable 'x=1'"));
    }
}
