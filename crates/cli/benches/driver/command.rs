//! A command that is run to its end, with its time and the CPU time of all its processes.

use crate::meter::interrupted;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time to end in good order after Ctrl-C.
const GRACE: Duration = Duration::from_secs(10);
const POLL_EVERY: Duration = Duration::from_millis(5);

/// How it ended.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub wall_s: f64,
    /// User and system time of it and of what it has waited for. In steps of the kernel's clock
    /// tick, 10 ms.
    pub cpu_s: f64,
}

impl Ended {
    /// Why it failed, in one line: its first line that says so, or else its last.
    pub fn why(&self) -> String {
        let mut lines = self.stderr.lines().filter(|line| !line.trim().is_empty());
        let says_so = |line: &&str| line.starts_with("error:") || line.starts_with("mydyno:");
        let line = lines.clone().find(says_so).or_else(|| lines.next_back());
        line.map_or_else(|| self.status.to_string(), str::to_owned)
    }
}

/// Ended with this value, whatever happens: with its process group, so that what a shell started
/// ends too.
struct Group {
    child: Child,
    ended: bool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        // It may have ended by now.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }

    fn wait(&mut self) -> Result<ExitStatus> {
        let mut asked_at: Option<Instant> = None;
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.ended = true;
                if asked_at.is_some() {
                    bail!("interrupted");
                }
                return Ok(status);
            }
            match asked_at {
                None if interrupted() => {
                    self.signal(Signal::TERM);
                    asked_at = Some(Instant::now());
                }
                Some(at) if at.elapsed() > GRACE => bail!("interrupted"),
                _ => thread::sleep(POLL_EVERY),
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Runs it; `scratch` takes what it prints.
pub fn run(mut command: Command, scratch: &Path) -> Result<Ended> {
    let (stdout, stderr) = (scratch.join("stdout"), scratch.join("stderr"));
    command
        .stdin(Stdio::null())
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?)
        .current_dir(scratch)
        // A group, not a session: scheduling by session must see one session, see
        // bench/measured.md.
        .process_group(0);
    let cpu_before_s = children_cpu_s()?;
    let start = Instant::now();
    let child = command
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let mut group = Group { child, ended: false };
    let status = group.wait()?;
    let wall_s = start.elapsed().as_secs_f64();
    let read = |path: &Path| -> Result<String> {
        Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
    };
    Ok(Ended {
        status,
        stdout: read(&stdout)?,
        stderr: read(&stderr)?,
        wall_s,
        cpu_s: children_cpu_s()? - cpu_before_s,
    })
}

/// Fields 16 and 17 of `/proc/self/stat`: CPU time of children that have ended and were waited for.
fn children_cpu_s() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<f64> =
        after_name.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    // The state, field 3, is no number: field 4 comes first.
    let (Some(user), Some(system)) = (fields.get(12), fields.get(13)) else {
        bail!("/proc/self/stat has another form than expected");
    };
    Ok((user + system) / rustix::param::clock_ticks_per_second() as f64)
}
