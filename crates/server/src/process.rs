//! Server processes: what they say of their end, watched until they are ready, and ended where they
//! are not our children.

use crate::error::io_at;
use crate::home::file_name;
use crate::{ServerError, ServerResult};
use base::limits::LOG_TAIL_BYTES;
use itertools::Itertools;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};
use system::{ChildOptions, DiesWith, POLL_INTERVAL, end_of_file};

/// How long a killed process may take to be gone: the kernel frees its memory first.
pub(crate) const KILL_TIMEOUT: Duration = Duration::from_secs(30);

/// How servers are started: one with fewer file descriptors than it wants lowers max_connections
/// without a word.
pub(crate) fn server_options(dies_with: DiesWith) -> ChildOptions {
    ChildOptions { opens_many_files: true, ..ChildOptions::dying_with(dies_with) }
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
    [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted].contains(&error.kind())
}

/// The end of a log file, from byte `from` on, cut at a line where it is long.
pub(crate) fn log_since(path: &Path, from: u64) -> String {
    end_of_file(path, from, LOG_TAIL_BYTES)
}

/// What a log complains of from byte `from` on, or in its last megabyte: a page that is dumped into
/// it takes 100 KB.
pub(crate) fn errors_since(path: &Path, from: u64) -> Option<String> {
    errors_in(&end_of_file(path, from, 1 << 20))
}

/// The lines of an error log that say what is wrong, without their times; `None` where none does.
pub fn errors_in(log: &str) -> Option<String> {
    let messages = log.lines().filter_map(|line| match line.split_once("[ERROR]") {
        Some((_, message)) => Some(message.trim()),
        None if line.contains("error while loading shared libraries")
            || line.starts_with("ERROR:")
            || line.contains("Set innodb_force_recovery")
            || line.contains("unknown variable")
            || line.contains("unknown option") =>
        {
            Some(line.trim())
        }
        None => None,
    });
    // A buffer pool that was never dumped is not missed.
    let is_idle = |text: &str| text.ends_with("Aborting") || text.contains("ib_buffer_pool' for");
    let says = |message: &&str| !message.is_empty() && !is_idle(message);
    let found = messages.filter(says).unique().take(3).join("; ");
    (!found.is_empty()).then_some(found)
}

/// Servers that run with this my.cnf, whoever started them.
pub(crate) fn servers_with(my_cnf: &Path) -> Vec<Pid> {
    let pid_of = |entry: fs::DirEntry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?);
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(pid_of);
    pids.filter(|pid| is_server_with(*pid, my_cnf)).collect()
}

/// Is this process a server with this my.cnf? (A pager that shows the file is none.)
pub(crate) fn is_server_with(pid: Pid, my_cnf: &Path) -> bool {
    let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
    let mut arguments = line.split(|&b| b == 0);
    let program = Path::new(OsStr::from_bytes(arguments.next().unwrap_or_default()));
    let name = file_name(program);
    let wanted = [&b"--defaults-file="[..], my_cnf.as_os_str().as_bytes()].concat();
    (name.contains("mysqld") || name.contains("mariadbd")) && arguments.any(|a| a == wanted)
}

/// So many ports of the loopback interface that nobody has this moment.
pub(crate) fn free_ports(count: usize) -> ServerResult<Vec<u16>> {
    // All are held until the last is found, so that no port comes twice.
    let held = (0..count).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let port = |listener: &TcpListener| Ok(listener.local_addr()?.port());
    let ports = held.collect::<io::Result<Vec<_>>>().and_then(|all| all.iter().map(port).collect());
    ports.map_err(io_at("find a free port of", Path::new("127.0.0.1")))
}

/// How a server ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It shut down when asked: its data directory is whole.
    Clean,
    /// It did not in time, and was killed.
    Killed,
    /// It had ended before, or ended otherwise than asked; says how.
    Died(String),
}

/// Ends a server that is not our child: asks, waits `patience`, kills. The process is held by a
/// descriptor, so that a reused id never hits another program.
pub(crate) fn end_foreign(pid: Pid, my_cnf: &Path, patience: Duration) -> ServerResult<Ending> {
    let handle = pidfd_open(pid, PidfdFlags::empty());
    let Some(handle) = handle.ok().filter(|_| is_server_with(pid, my_cnf)) else {
        return Ok(Ending::Clean);
    };
    let signal = |signal| match pidfd_send_signal(&handle, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(io_at("signal the server of", my_cnf)(error)),
    };
    let gone = |timeout: Duration| -> ServerResult<bool> {
        let start = Instant::now();
        while start.elapsed() < timeout {
            let mut fds = [PollFd::new(&handle, PollFlags::IN)];
            let wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            match rustix::event::poll(&mut fds, Some(&wait)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(io_at("wait for the server of", my_cnf)(error)),
            }
        }
        Ok(false)
    };
    if !patience.is_zero() {
        signal(Signal::TERM)?;
        if gone(patience)? {
            return Ok(Ending::Clean);
        }
    }
    signal(Signal::KILL)?;
    if gone(KILL_TIMEOUT)? {
        return Ok(Ending::Killed);
    }
    let pid = pid.as_raw_nonzero();
    let why =
        format!("process {pid} does not end; it is stuck in the kernel (a hanging disk?) with");
    Err(ServerError::data(my_cnf, why))
}

#[cfg(test)]
mod tests {
    use super::{errors_in, log_since};
    use std::fs;

    #[test]
    fn logs_are_cut_at_lines_and_errors_found() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        fs::write(&path, "0123456789\n".repeat(10_000)).unwrap();
        let tail = log_since(&path, 0);
        assert!(tail.len() <= 16 << 10 && tail.starts_with("0123"));

        let log = "2026-11-21T10:25:11Z 0 [Note] x\n\
            2026-11-21T10:25:11Z 0 [ERROR] unknown variable 'foo=1'\n\
            2026-11-21T10:25:11Z 0 [ERROR] InnoDB: Cannot open '/d/ib_buffer_pool' for reading: No \
            such file or directory\n\
            2026-11-21T10:25:11Z 0 [ERROR] Aborting\n";
        assert_eq!(errors_in(log).as_deref(), Some("unknown variable 'foo=1'"));
        assert_eq!(errors_in("2026 [Note] fine\n"), None);
        let log = "InnoDB: Set innodb_force_recovery to ignore this error.\n\
            2026-11-29 23:27:03 1 [ERROR] Plugin 'InnoDB' init function returned error.\n";
        let found = errors_in(log).unwrap();
        assert!(found.starts_with("InnoDB: Set innodb_force_recovery to ignore"), "{found}");
    }
}
