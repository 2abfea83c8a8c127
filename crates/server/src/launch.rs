//! From the files of a server to one that takes connections, the first time and again.

use crate::builds::before_inherited;
use crate::copy::Storage;
use crate::error::io_at;
use crate::galera::NodePlace;
use crate::home;
use crate::image::{CloneTo, Image};
use crate::initialise;
use crate::initialised;
use crate::instance::{InstanceOptions, Lifetime};
use crate::process::{self, NotReady};
use crate::record::NamedInstance;
use crate::settings::{Layout, Settings};
use crate::{Home, ServerBuild, ServerError, ServerResult};
use std::fs;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use system::{ChildOptions, ChildProcess, DiesWith};
use wire::Password;

/// Longest wait for a server to take connections, beside what a recovery may take.
const READY_TIMEOUT: Duration = Duration::from_secs(120);
/// Redo of which a recovery reads and writes a page: records are shorter, and many are of one page.
const REDO_BYTES_PER_PAGE: f64 = 4096.0;
/// Pages that a device of which nothing is known reads or writes in a second.
const RANDOM_PAGES_PER_S: f64 = 1000.0;
/// Tries with another port where somebody else was faster.
const PORT_TRIES: usize = 5;
/// On a command line, which wins over the my.cnf.
const GALERA_OFF: &str = "--wsrep-on=OFF";

/// Longest wait for a server to take connections: a recovery after a crash counts in, of a redo log
/// of so many bytes on a device that reads or writes so many pages in a second.
pub(crate) fn ready_timeout(redo_bytes: u64, random_pages_per_s: Option<f64>) -> Duration {
    let pages_per_s = random_pages_per_s.unwrap_or(RANDOM_PAGES_PER_S).max(1.0);
    let pages = redo_bytes as f64 / REDO_BYTES_PER_PAGE;
    READY_TIMEOUT + Duration::from_secs_f64(pages / pages_per_s)
}

/// Everything of a start that does not change between tries, and that a server is started again
/// with.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) build: ServerBuild,
    pub(crate) layout: Layout,
    pub(crate) options: InstanceOptions,
    /// What replaces base lines, the last one where there are several of a name.
    pub(crate) set: Vec<(String, String)>,
    pub(crate) password: Password,
    pub(crate) ready_timeout: Duration,
    pub(crate) notes: Vec<String>,
    /// The name of the image that its data directory has been copied from for this start.
    pub(crate) copied: Option<String>,
}

/// When a process of the server was started, and where its log stood.
pub(crate) struct StartTry {
    at: Instant,
    log_bytes: u64,
}

impl Launch {
    fn settings(&mut self, port: u16) -> ServerResult<Settings> {
        let mut set = self.set.clone();
        if let Some(node) = &self.options.galera {
            set.extend(node.lines(&self.layout, &self.set));
        }
        let mut settings = Settings::new(&self.build, &self.layout, port, &set);
        let is_real = self.options.storage == Storage::Real;
        let direct_io_on = is_real.then_some(self.layout.data.as_path());
        for note in settings.fit_to_machine(&self.options.set, direct_io_on) {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let path = self.layout.my_cnf();
        fs::write(&path, settings.my_cnf()).map_err(io_at("write", &path))?;
        Ok(settings)
    }

    /// Puts the data directory's first content in place.
    pub(crate) fn fill(&mut self, home: &Home) -> ServerResult<()> {
        // No port is opened while a data directory is initialised.
        let settings = self.settings(0)?;
        match &self.options.image {
            None => {
                initialise::require_room(&self.build, &self.layout, &settings)?;
                match initialised::image(home, &self.build, &settings)? {
                    Some(image) => self.clone_from(&image, &settings),
                    None => initialise::initialise(&self.build, &self.layout),
                }
            }
            Some(image) => {
                image.require_build(&self.build)?;
                self.clone_from(&image.clone(), &settings)
            }
        }
    }

    fn clone_from(&mut self, image: &Image, settings: &Settings) -> ServerResult<()> {
        let elsewhere = |name| settings.get(name).map(PathBuf::from);
        image.clone_into(&CloneTo {
            data: self.layout.data.clone(),
            redo: elsewhere("innodb_log_group_home_dir"),
            undo: elsewhere("innodb_undo_directory"),
            storage: self.options.storage,
            redo_bytes: settings.redo_bytes(&self.build),
            redo_is_remade: settings.remakes_redo(&self.build, image.redo_file_bytes(0)),
        })?;
        self.copied = Some(image.name());
        Ok(())
    }

    pub(crate) fn place(&self) -> NodePlace<'_> {
        NodePlace { build: &self.build, layout: &self.layout, files: &self.options.files }
    }

    /// Starts the server, on another port where the first is taken.
    pub(crate) fn run(&mut self) -> ServerResult<(ChildProcess, u16, Settings)> {
        // A server that is to be loaded is in no cluster yet: each row would be kept for nodes that
        // are not there.
        let arguments = match (&self.options.galera, &self.options.image) {
            (None, _) => Vec::new(),
            (Some(_), None) => vec![GALERA_OFF.to_owned()],
            (Some(node), Some(_)) => node.prepare_clone(self.place())?,
        };
        let mut preferred = self.options.port;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let port =
                preferred.map_or_else(|| process::free_ports(1).map(|ports| ports[0]), Ok)?;
            let settings = self.settings(port)?;
            for (name, bytes) in &self.options.files {
                home::write_private(&self.layout.directory.join(name), bytes)?;
            }
            let begun = self.begin()?;
            match self.try_start(&arguments, &begun, port) {
                Ok(process) => {
                    self.note_limits(&self.log_of(&begun));
                    return Ok((process, port, settings));
                }
                Err(error) if attempt == PORT_TRIES || !port_was_taken(&self.log_of(&begun)) => {
                    return Err(error);
                }
                Err(_) => {
                    let taken = preferred.take();
                    let note = |port| format!("port {port} is taken; another is used");
                    self.notes.extend(taken.map(note));
                }
            }
        }
    }

    fn try_start(
        &self,
        arguments: &[String],
        begun: &StartTry,
        port: u16,
    ) -> ServerResult<ChildProcess> {
        let started = self.spawn(arguments, begun).and_then(|mut process| {
            let recorded = match self.options.lifetime {
                Lifetime::Named(_) => self.record(process.pid(), port),
                Lifetime::Private => Ok(()),
            };
            let ready = recorded.and_then(|()| self.wait_ready(|| process.ended(), begun));
            if ready.is_err() {
                process.kill(process::KILL_TIMEOUT);
            }
            ready.map(|()| process)
        });
        self.forget_init_file()?;
        started
    }

    /// Writes down a named server once its process is there: whatever becomes of the command that
    /// starts it, `server list` shows it and `server stop` ends it.
    fn record(&self, pid: u32, port: u16) -> ServerResult<()> {
        let record = NamedInstance {
            engine: self.build.engine.clone(),
            version: self.build.version.clone(),
            pid,
            port,
            socket: self.layout.socket.clone(),
            data: self.layout.data.clone(),
            started_utc_ns: base::now_utc_ns(),
            ..NamedInstance::default()
        };
        record.write(&self.layout.directory)
    }

    /// Before a process of the server is started: its init file is there, with the password.
    pub(crate) fn begin(&self) -> ServerResult<StartTry> {
        let mut sql = String::from("SET SESSION sql_log_bin = 0;\n");
        if self.options.galera.is_some() {
            sql += "SET SESSION wsrep_on = OFF;\n";
        }
        sql += &initialise::accounts_sql(&self.build, &self.password);
        sql.extend(self.options.init.iter().map(|statement| format!("{statement};\n")));
        home::write_private(&self.layout.init_file(), sql)?;
        // A killed server leaves it, and a process that nobody has reaped passes for its owner.
        // This directory is locked.
        let mut socket_lock = self.layout.socket.clone().into_os_string();
        socket_lock.push(".lock");
        home::remove_file_if_there(std::path::Path::new(&socket_lock))?;
        let log_bytes = fs::metadata(self.layout.log()).map_or(0, |m| m.len());
        Ok(StartTry { at: Instant::now(), log_bytes })
    }

    /// The init file's work is done, or there is none: no second copy of the password stays.
    pub(crate) fn forget_init_file(&self) -> ServerResult<()> {
        home::remove_file_if_there(&self.layout.init_file())
    }

    pub(crate) fn spawn(
        &self,
        arguments: &[String],
        begun: &StartTry,
    ) -> ServerResult<ChildProcess> {
        let mut command = self.build.command();
        command
            .arg(format!("--defaults-file={}", self.layout.my_cnf().display()))
            .arg(format!("--init-file={}", self.layout.init_file().display()))
            .args(arguments)
            .stdin(std::process::Stdio::null())
            .current_dir(&self.layout.directory)
            .envs(self.options.environment.iter().map(|(name, value)| (name, value)));
        if self.options.galera.is_some() {
            // Its own script comes before the machine's.
            command.env("PATH", before_inherited(&self.layout.directory, "PATH"));
        }
        initialise::attach_log(&mut command, &self.layout.log())?;
        let dies_with = match self.options.lifetime {
            Lifetime::Private => DiesWith::Program,
            Lifetime::Named(_) => DiesWith::Nobody,
        };
        let cpus = self.options.cpus.clone();
        let options = ChildOptions { cpus, ..process::server_options(dies_with) };
        ChildProcess::start(command, &options)
            .map_err(|error| self.failed(error.to_string(), begun))
    }

    /// Waits until the server greets a client; `ended` looks whether its process has.
    pub(crate) fn wait_ready(
        &self,
        ended: impl FnMut() -> Option<ExitStatus>,
        begun: &StartTry,
    ) -> ServerResult<()> {
        let ready = process::wait_ready(ended, &self.layout.socket, self.ready_timeout);
        ready.map_err(|not_ready| self.not_ready(not_ready, begun))
    }

    /// Why a start, or a recovery, came to nothing.
    pub(crate) fn not_ready(&self, not_ready: NotReady, begun: &StartTry) -> ServerError {
        let said = process::errors_since(&self.layout.log(), begun.log_bytes);
        let why = match not_ready {
            NotReady::Ended(status) => said.unwrap_or_else(|| process::describe(status)),
            NotReady::Refused(why) => format!("it refuses connections: {why}"),
            NotReady::TimedOut => {
                format!("it took no connections within {} s", begun.at.elapsed().as_secs())
            }
        };
        self.failed(why, begun)
    }

    /// What it has logged since then.
    pub(crate) fn log_of(&self, begun: &StartTry) -> String {
        process::log_since(&self.layout.log(), begun.log_bytes)
    }

    fn failed(&self, mut why: String, begun: &StartTry) -> ServerError {
        let log = self.log_of(begun);
        if let Some(image) = self.copied.as_ref().filter(|_| tells_of_damage(&log)) {
            why += &format!(
                "; its files are a copy of the image {image}, which may be damaged: `mydyno server \
                 images --remove {image}` lets it be made anew"
            );
        }
        let engine = self.build.engine.clone();
        ServerError::Failed { engine, stage: "did not start", why, log }
    }

    /// A server that may not open enough files lowers its limits and only its log tells.
    fn note_limits(&mut self, log: &str) {
        let told = log.lines().filter_map(|line| Some(&line[line.find("Changed limits:")?..]));
        let note = |told| format!("the server lowered its own limits (raise `ulimit -n`): {told}");
        self.notes.extend(told.map(note));
    }
}

fn tells_of_damage(log: &str) -> bool {
    let log = log.to_ascii_lowercase();
    let words = ["corrupt", "checksum", "crashed", "incorrect file format", "flags are invalid"];
    words.iter().any(|word| log.contains(word))
}

fn port_was_taken(log: &str) -> bool {
    log.contains("Address already in use") || log.contains("another mysqld server running on port")
}

#[cfg(test)]
mod tests {
    use super::{READY_TIMEOUT, port_was_taken, ready_timeout, tells_of_damage};
    use std::time::Duration;

    /// A disk of 80 reads a second takes half an hour for what an NVMe drive does in seconds.
    #[test]
    fn patience_grows_with_the_redo_log_and_the_device() {
        let disk = ready_timeout(512 << 20, Some(80.0));
        assert_eq!(disk.as_secs(), 120 + (512 << 20) / 4096 / 80);
        let nvme = ready_timeout(512 << 20, Some(100_000.0));
        assert!((READY_TIMEOUT..READY_TIMEOUT + Duration::from_secs(2)).contains(&nvme));
        assert!(ready_timeout(2 << 30, Some(80.0)) > disk);
        assert!(ready_timeout(96 << 20, None) < READY_TIMEOUT + Duration::from_secs(30));
        assert!(ready_timeout(u64::MAX, Some(0.0)) > disk);
    }

    #[test]
    fn ports() {
        let [one, other] = crate::process::free_ports(2).unwrap()[..] else { panic!() };
        assert!(one != 0 && other != 0 && one != other);
        assert!(port_was_taken(
            "[ERROR] Can't start server: Bind on TCP/IP port: Address already in use"
        ));
        assert!(!port_was_taken("[ERROR] unknown variable 'x=1'"));
    }

    #[test]
    fn damage_is_no_other_failure() {
        for log in [
            "[ERROR] InnoDB: Corrupted page [page id: space=4294967295, page number=0] of datafile",
            "Can't open and lock privilege tables: Incorrect file format 'global_priv'",
            "[ERROR] Tablespace flags are invalid in datafile: mysql.ibd",
        ] {
            assert!(tells_of_damage(log), "{log}");
        }
        assert!(!tells_of_damage("[ERROR] unknown variable 'x=1'"));
        assert!(!tells_of_damage("[ERROR] InnoDB: Cannot allocate memory for the buffer pool"));
    }
}
