//! Server processes: started tied to this process or free of it, watched, and ended.
//!
//! A tied server gets PR_SET_PDEATHSIG. The kernel sends that signal when the *thread* that forked
//! ends, not the process, so all tied servers are forked by one thread which lives as long as the
//! process.

use crate::ServerError;
use crate::cpus::cpu_set;
use crate::error::io_at;
use base::CpuList;
use base::limits::LOG_TAIL_BYTES;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Pause between looks at a server that starts or stops.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long a killed process may take to be gone: the kernel frees its memory first.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);

/// Whether a server dies with this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnParentDeath {
    /// Killed by the kernel when this process ends in any way.
    Kill,
    /// In a session of its own.
    Survive,
}

struct SpawnOrder {
    command: Command,
    answer: Sender<io::Result<Child>>,
}

/// Starts `command` in a process group of its own.
pub(crate) fn spawn(command: Command, on_parent_death: OnParentDeath) -> io::Result<Child> {
    spawn_on(command, on_parent_death, None)
}

/// The same, kept to some CPUs from its first instruction on.
pub(crate) fn spawn_on(
    mut command: Command,
    on_parent_death: OnParentDeath,
    cpus: Option<&CpuList>,
) -> io::Result<Child> {
    static SPAWNER: OnceLock<Sender<SpawnOrder>> = OnceLock::new();
    prepare_child(&mut command, on_parent_death, cpus.map(cpu_set));
    if on_parent_death == OnParentDeath::Survive {
        return command.spawn();
    }
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox) = channel::<SpawnOrder>();
        // Where no thread can be made the channel is closed, and the caller below is told.
        let _ = thread::Builder::new().name("spawn-servers".to_owned()).spawn(move || {
            for mut order in inbox {
                let child = order.command.spawn();
                if let Err(returned) = order.answer.send(child)
                    && let Ok(mut child) = returned.0
                {
                    // Nobody waits for it any more.
                    let _ = child.kill().and_then(|()| child.wait());
                }
            }
        });
        orders
    });
    let (answer, inbox) = channel();
    let gone = || io::Error::other("the thread that starts servers is gone");
    spawner.send(SpawnOrder { command, answer }).map_err(|_| gone())?;
    inbox.recv().map_err(|_| gone())?
}

#[expect(
    unsafe_code,
    reason = "the death signal and the session must be set between fork and exec, and std offers \
        only pre_exec for it"
)]
fn prepare_child(command: &mut Command, on_parent_death: OnParentDeath, cpus: Option<CpuSet>) {
    let parent = rustix::process::getpid();
    if on_parent_death == OnParentDeath::Kill {
        command.process_group(0);
    }
    let before_exec = move || -> io::Result<()> {
        // A server with fewer file descriptors than it wants lowers max_connections without a word.
        let limit = rustix::process::getrlimit(Resource::Nofile);
        let _ = rustix::process::setrlimit(
            Resource::Nofile,
            Rlimit { current: limit.maximum, maximum: limit.maximum },
        );
        if let Some(cpus) = &cpus {
            sched_setaffinity(None, cpus)?;
        }
        match on_parent_death {
            OnParentDeath::Kill => {
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
                // The parent may have died before the signal was set.
                if rustix::process::getppid() != Some(parent) {
                    return Err(rustix::io::Errno::SRCH.into());
                }
            }
            OnParentDeath::Survive => {
                rustix::process::setsid()?;
            }
        }
        Ok(())
    };
    // SAFETY: the closure runs in the forked child, where only async-signal-safe calls are allowed;
    // it makes system calls by rustix (getrlimit, setrlimit, sched_setaffinity, prctl, getppid,
    // setsid) and allocates nothing.
    unsafe {
        command.pre_exec(before_exec);
    }
}

/// A child that is asked for its end without waiting, any number of times.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    ended: Option<ExitStatus>,
}

impl Process {
    pub(crate) fn new(child: Child) -> Process {
        Process { child, ended: None }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Asks it to end. It is our child and not yet waited for, so its id is its own.
    pub(crate) fn terminate(&mut self) {
        if self.ended().is_none() {
            let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
    }

    /// Waits until it ended, no longer than `timeout`.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            if start.elapsed() >= timeout {
                return None;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Kills it and waits until it is gone.
    pub(crate) fn kill(&mut self) -> Option<ExitStatus> {
        if self.ended().is_none() {
            let _ = self.child.kill();
        }
        self.wait(KILL_TIMEOUT)
    }
}

/// `exit status: 1`, `signal: 9 (SIGKILL)`.
pub(crate) fn describe(status: ExitStatus) -> String {
    format!("it ended with {status}")
}

/// Why a server was not ready.
pub(crate) enum NotReady {
    Ended(ExitStatus),
    TimedOut,
    /// It answers, and refuses everybody.
    Refused(String),
}

/// Waits until the server greets a client on its socket, which it does only after it ran its init
/// file. `ended` says how its process ended, if it did.
pub(crate) fn wait_ready(
    mut ended: impl FnMut() -> Option<ExitStatus>,
    socket: &Path,
    timeout: Duration,
) -> Result<(), NotReady> {
    let start = Instant::now();
    let mut connection: Option<UnixStream> = None;
    let mut greeting = Vec::new();
    loop {
        if let Some(status) = ended() {
            return Err(NotReady::Ended(status));
        }
        if start.elapsed() >= timeout {
            return Err(NotReady::TimedOut);
        }
        match &mut connection {
            None => {
                connection = UnixStream::connect(socket)
                    .ok()
                    .filter(|s| s.set_read_timeout(Some(POLL_INTERVAL)).is_ok());
                greeting.clear();
            }
            Some(stream) => {
                let mut buffer = [0u8; 256];
                match stream.read(&mut buffer) {
                    Ok(0) => connection = None,
                    Ok(n) => greeting.extend_from_slice(&buffer[..n]),
                    Err(error) if would_block(&error) => {}
                    Err(_) => connection = None,
                }
                // Four bytes of header, then the protocol version, or 255 before an error.
                match greeting.get(4) {
                    Some(10) => return Ok(()),
                    Some(_) => {
                        let text = greeting.get(7..).unwrap_or_default();
                        return Err(NotReady::Refused(String::from_utf8_lossy(text).into_owned()));
                    }
                    None => continue,
                }
            }
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn would_block(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

/// The end of a log file, from byte `from` on, cut at a line where it is long.
pub(crate) fn log_since(path: &Path, from: u64) -> String {
    log_part(path, from, LOG_TAIL_BYTES)
}

/// What a log complains of from byte `from` on, or in its last megabyte: a page that is dumped into
/// it takes 100 KB.
pub(crate) fn errors_since(path: &Path, from: u64) -> Option<String> {
    errors_in(&log_part(path, from, 1 << 20))
}

fn log_part(path: &Path, from: u64, most: usize) -> String {
    let read = || -> io::Result<(bool, Vec<u8>)> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        let start = from.max(len.saturating_sub(most as u64));
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(most as u64).read_to_end(&mut bytes)?;
        Ok((start > from, bytes))
    };
    // A server that died at once has no log; that is what an empty text says.
    let (cut, bytes) = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match text.find('\n') {
        Some(end) if cut => text[end + 1..].to_owned(),
        _ => text,
    }
}

/// The lines of an error log that say what is wrong, without their times; `None` where none does.
pub fn errors_in(log: &str) -> Option<String> {
    let mut found: Vec<&str> = Vec::new();
    for line in log.lines() {
        let message = match line.split_once("[ERROR]") {
            Some((_, message)) => message.trim(),
            None if line.contains("error while loading shared libraries")
                || line.starts_with("ERROR:")
                || line.contains("unknown variable")
                || line.contains("unknown option") =>
            {
                line.trim()
            }
            None => continue,
        };
        let says_nothing = message.is_empty() || message.ends_with("Aborting");
        if !says_nothing && !found.contains(&message) {
            found.push(message);
        }
    }
    found.truncate(3);
    (!found.is_empty()).then(|| found.join("; "))
}

/// Servers that run with this my.cnf, whoever started them.
pub(crate) fn servers_with(my_cnf: &Path) -> Vec<Pid> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        if let Some(pid) = number.and_then(Pid::from_raw)
            && is_server_with(pid, my_cnf)
        {
            found.push(pid);
        }
    }
    found
}

/// Is this process a server with this my.cnf? (A pager that shows the file is none.)
pub(crate) fn is_server_with(pid: Pid, my_cnf: &Path) -> bool {
    let Ok(line) = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())) else {
        return false;
    };
    let mut arguments = line.split(|&b| b == 0);
    let program = PathBuf::from(std::ffi::OsStr::from_bytes(arguments.next().unwrap_or_default()));
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let mut wanted = b"--defaults-file=".to_vec();
    wanted.extend_from_slice(my_cnf.as_os_str().as_bytes());
    (name.contains("mysqld") || name.contains("mariadbd")) && arguments.any(|a| a == wanted)
}

/// How a server that is not our child was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndedBy {
    Itself,
    Kill,
}

/// Ends a server that is not our child: asks, waits `patience`, kills. The process is held by a
/// descriptor, so that a reused id never hits another program.
pub(crate) fn end_foreign(
    pid: Pid,
    my_cnf: &Path,
    patience: Duration,
) -> Result<EndedBy, ServerError> {
    let Ok(handle) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
        return Ok(EndedBy::Itself);
    };
    if !is_server_with(pid, my_cnf) {
        return Ok(EndedBy::Itself);
    }
    let gone = |timeout: Duration| -> Result<bool, ServerError> {
        let start = Instant::now();
        while start.elapsed() < timeout {
            let mut fds = [PollFd::new(&handle, PollFlags::IN)];
            let wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            match rustix::event::poll(&mut fds, Some(&wait)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(io_at("wait for the server of", my_cnf)(error)),
            }
        }
        Ok(false)
    };
    if !patience.is_zero() {
        signal(&handle, Signal::TERM, my_cnf)?;
        if gone(patience)? {
            return Ok(EndedBy::Itself);
        }
    }
    signal(&handle, Signal::KILL, my_cnf)?;
    if gone(KILL_TIMEOUT)? {
        return Ok(EndedBy::Kill);
    }
    Err(ServerError::Data {
        what: format!(
            "process {} does not end; it is stuck in the kernel (a hanging disk?) with",
            pid.as_raw_nonzero()
        ),
        path: my_cnf.to_owned(),
    })
}

fn signal(handle: &rustix::fd::OwnedFd, signal: Signal, my_cnf: &Path) -> Result<(), ServerError> {
    match rustix::process::pidfd_send_signal(handle, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(io_at("signal the server of", my_cnf)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::{OnParentDeath, Process, errors_in, log_since, spawn, spawn_on};
    use crate::cpus::allowed_cpus;
    use base::CpuList;
    use std::fs;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn logs_are_cut_at_lines_and_errors_found() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        assert_eq!(log_since(&path, 0), "");
        fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(log_since(&path, 0), "one\ntwo\n");
        assert_eq!(log_since(&path, 4), "two\n");
        fs::write(&path, "0123456789\n".repeat(10_000)).unwrap();
        let tail = log_since(&path, 0);
        assert!(tail.len() <= 16 << 10 && tail.starts_with("0123"));

        let log = "2026-11-21T10:25:11Z 0 [Note] x\n\
            2026-11-21T10:25:11Z 0 [ERROR] unknown variable 'foo=1'\n\
            2026-11-21T10:25:11Z 0 [ERROR] Aborting\n";
        assert_eq!(errors_in(log).as_deref(), Some("unknown variable 'foo=1'"));
        assert_eq!(errors_in("2026 [Note] fine\n"), None);
    }

    #[test]
    fn a_tied_child_outlives_the_thread_that_asked_for_it() {
        let mut process = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            command.arg("30");
            Process::new(spawn(command, OnParentDeath::Kill).unwrap())
        })
        .join()
        .unwrap();
        assert_eq!(process.wait(Duration::from_millis(300)), None);
        process.terminate();
        let status = process.wait(Duration::from_secs(5)).unwrap();
        assert!(!status.success());
        assert!(process.ended().is_some());
    }

    #[test]
    fn a_child_is_kept_to_its_cpus() {
        let all = allowed_cpus(None).unwrap();
        let last: CpuList = all.iter().last().into_iter().collect();
        for (cpus, expected) in [(Some(&last), &last), (None, &all)] {
            let mut command = Command::new("sleep");
            command.arg("30");
            let child = spawn_on(command, OnParentDeath::Kill, cpus).unwrap();
            let mut process = Process::new(child);
            assert_eq!(&allowed_cpus(Some(process.pid())).unwrap(), expected);
            process.kill();
        }
    }

    #[test]
    fn what_cannot_be_started_is_told() {
        for on_parent_death in [OnParentDeath::Kill, OnParentDeath::Survive] {
            let error = spawn(Command::new("/nonexistent/mysqld"), on_parent_death).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        }
    }
}
