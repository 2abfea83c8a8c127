//! A server that mydyno starts: made ready, watched, ended.

use crate::copy::Storage;
use crate::error::io_at;
use crate::galera::GaleraNode;
use crate::image::Image;
use crate::instance_dir::InstanceDir;
use crate::launch::Launch;
use crate::process::{self, Ending, NotReady};
use crate::settings::Settings;
use crate::{ServerBuild, ServerError, ServerResult};
use base::{CpuList, Dilation, lock};
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};
use system::{ChildProcess, POLL_INTERVAL};
use wire::{Address, ConnectOptions, Password, Security};

/// How long a server lives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// With this process: ended and removed when the [`Instance`] is dropped, killed by the kernel
    /// where that cannot be.
    #[default]
    Private,
    /// Until [`crate::stop_named`] (`server start`). A stopped one of that name goes on with its
    /// data.
    Named(String),
}

/// How to start a server.
#[derive(Clone, Debug, Default)]
pub struct InstanceOptions {
    /// What the data directory is a copy of at first; nothing but system tables without one.
    pub image: Option<Image>,
    pub storage: Storage,
    pub lifetime: Lifetime,
    /// Server variables of a preset, which replace mydyno's base settings as far as the machine can
    /// do what they ask for.
    pub preset: Vec<(String, String)>,
    /// Server variables of the user's, which replace both. Dashes are underscores.
    pub set: Vec<(String, String)>,
    /// Where the data directory is put; must not exist yet, and is removed with the instance.
    pub data_directory: Option<PathBuf>,
    /// Further directories that `set` names (redo, undo, temp on other devices): made, and removed
    /// with the instance.
    pub scratch: Vec<PathBuf>,
    /// Variables of the server's environment, such as LD_PRELOAD. Only the server itself has them,
    /// not the process that initialises its data directory.
    pub environment: Vec<(OsString, OsString)>,
    /// Files of its own directory, which is its working directory: written anew before each start,
    /// for this user alone.
    pub files: Vec<(String, Vec<u8>)>,
    /// The CPUs that the server is kept to; those that it finds where none is named. To make its
    /// data directory ready takes all that there are.
    pub cpus: Option<CpuList>,
    /// How many times slower its clock runs, and with it what it waits for as it starts.
    pub dilation: Dilation,
    /// How many pages at random places the device of its data reads or writes in a second, where
    /// that is known: a recovery may take as long as its redo log needs for that.
    pub random_pages_per_s: Option<f64>,
    /// A port that is preferred; another is taken, with a note, where it is not free.
    pub port: Option<u16>,
    /// Statements that it runs at each start before it lets anybody in. They are in no binary log.
    pub init: Vec<String>,
    /// The node of a Galera cluster that it is. On fresh data it is none until
    /// [`Instance::begin_cluster`].
    pub galera: Option<GaleraNode>,
}

/// A running server.
#[derive(Debug)]
pub struct Instance {
    /// What it was started with, and is started again with.
    pub(crate) launch: Launch,
    /// Its port on the loopback interface.
    pub port: u16,
    pub(crate) settings: Settings,
    pub(crate) process: Mutex<ChildProcess>,
    /// What was not as asked for: fall-backs and lowered limits, for people.
    pub notes: Vec<String>,
    /// How long its data directory took to be filled, and then the server to take connections.
    pub start_times: [Duration; 2],
    /// Last, so that it is removed after the server has ended.
    pub(crate) _dir: InstanceDir,
}

impl Instance {
    /// What runs.
    pub fn build(&self) -> &ServerBuild {
        &self.launch.build
    }

    /// Login over TCP on the loopback interface.
    pub fn connect_options(&self) -> ConnectOptions {
        loopback_options(self.port, &self.launch.password, &self.launch.layout.data)
    }

    /// Its process: another one after it was started again.
    pub fn pid(&self) -> u32 {
        self.process().pid()
    }

    pub fn socket(&self) -> &Path {
        &self.launch.layout.socket
    }

    /// Its own directory, which is its working directory.
    pub fn directory(&self) -> &Path {
        &self.launch.layout.directory
    }

    pub fn data_directory(&self) -> &Path {
        &self.launch.layout.data
    }

    /// The text of its my.cnf, whose effective values are the server's to tell. There is no
    /// password in it.
    pub fn my_cnf(&self) -> String {
        self.settings.my_cnf()
    }

    /// The end of its error log.
    pub fn log_tail(&self) -> String {
        process::log_since(&self.launch.layout.log(), 0)
    }

    /// What its error log complains of.
    pub fn errors(&self) -> Option<String> {
        process::errors_since(&self.launch.layout.log(), 0)
    }

    /// How it ended, where it did. Does not wait.
    pub fn exited(&self) -> Option<String> {
        self.process().ended().map(process::describe)
    }

    /// Asks the server to shut down, waits up to `timeout`, then kills it. Its files stay until the
    /// instance is dropped.
    ///
    /// # Errors
    /// [`ServerError::Failed`] where even a killed server does not go away.
    pub fn stop(&self, timeout: Duration) -> ServerResult<Ending> {
        self.process().signal(Signal::TERM);
        match self.wait(timeout) {
            Some(status) if status.success() => Ok(Ending::Clean),
            Some(status) => Ok(Ending::Died(process::describe(status))),
            None => self.kill().map(|_| Ending::Killed),
        }
    }

    /// How it ended; `None` where it runs on then.
    fn wait(&self, timeout: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        // Locked for each look only, so that `exited` never waits for a stop.
        loop {
            let ended = self.process().ended();
            if ended.is_some() || start.elapsed() >= timeout {
                return ended;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Kills the server, as a power failure would end it.
    pub fn kill(&self) -> ServerResult<ExitStatus> {
        let ended = self.process().kill(process::KILL_TIMEOUT);
        ended.ok_or_else(|| ServerError::Failed {
            engine: self.launch.build.engine.clone(),
            stage: "did not stop",
            why: format!(
                "process {} is still there after SIGKILL; it hangs in the kernel (a hanging disk?)",
                self.pid()
            ),
            log: self.log_tail(),
        })
    }

    /// Starts a server that has ended on its own data and port, and waits until it takes
    /// connections. A node of a cluster may still be receiving then. Where this takes too long,
    /// [`Instance::kill`] from another thread ends it.
    ///
    /// # Errors
    /// [`ServerError::Failed`] with the log, [`ServerError::Data`] where a node's log does not say
    /// what it has, [`ServerError::Io`].
    pub fn start_again(&self) -> ServerResult<()> {
        let arguments = match &self.launch.options.galera {
            Some(node) => node.prepare_return(self.launch.place(), &self.recover()?)?,
            None => Vec::new(),
        };
        self.run_again(&arguments)
    }

    /// What a node says as it recovers its data, without taking part in anything.
    fn recover(&self) -> ServerResult<String> {
        let start = self.launch.begin()?;
        *self.process() = self.launch.spawn(&["--wsrep-recover".to_owned()], &start)?;
        let status = self.wait(self.launch.ready_timeout).map_or_else(|| self.kill(), Ok)?;
        self.launch.forget_init_file()?;
        match status.success() {
            true => Ok(self.launch.log_of(&start)),
            false => Err(self.launch.not_ready(NotReady::Ended(status), &start)),
        }
    }

    /// Starts a server that was stopped, and was in no cluster yet, as the first node of one: from
    /// then on its data has a place in the history of a cluster.
    ///
    /// # Errors
    /// As [`Instance::start_again`]; [`ServerError::NoCluster`] where it is no node.
    pub fn begin_cluster(&self) -> ServerResult<()> {
        let Some(node) = &self.launch.options.galera else {
            return Err(ServerError::NoCluster {
                engine: self.launch.build.engine.clone(),
                why: "it was started as a server alone; start it as a node".to_owned(),
            });
        };
        self.run_again(&node.prepare_history(self.launch.place())?)
    }

    fn run_again(&self, arguments: &[String]) -> ServerResult<()> {
        let start = self.launch.begin()?;
        *self.process() = self.launch.spawn(arguments, &start)?;
        let ready = self.launch.wait_ready(|| self.process().ended(), &start);
        if ready.is_err() {
            self.process().kill(process::KILL_TIMEOUT);
        }
        self.launch.forget_init_file()?;
        ready
    }

    pub(crate) fn process(&self) -> MutexGuard<'_, ChildProcess> {
        // A panic elsewhere leaves the process as it is, and it must still be ended.
        lock(&self.process)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.launch.options.lifetime == Lifetime::Private {
            self.process().kill(process::KILL_TIMEOUT);
        }
    }
}

/// The login at a server with this data directory, which has the key that passwords are encrypted
/// with: whoever else listens on its port learns nothing.
pub(crate) fn loopback_options(port: u16, password: &Password, data: &Path) -> ConnectOptions {
    let key = data.join("public_key.pem");
    ConnectOptions {
        address: Address::Tcp { host: "127.0.0.1".to_owned(), port },
        user: crate::initialise::USER.to_owned(),
        password: password.clone(),
        schema: None,
        security: Security {
            server_public_key_path: key.is_file().then_some(key),
            ..Security::default()
        },
    }
}

/// Reads the password of an instance that is not in this process.
pub(crate) fn read_password(path: &Path) -> ServerResult<Password> {
    let text = std::fs::read_to_string(path).map_err(io_at("read", path))?;
    Ok(Password::new(text.trim_end()))
}
