//! A child while it runs, and its end.

use crate::spawn::{ChildOptions, DiesWith, on_lasting_thread, prepare};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use std::io::{self, ErrorKind, Read};
use std::ops::ControlFlow;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// Pause between looks at a child that starts or ends.
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long a child that is dropped may take to be gone. One that hangs in the kernel is not, and
/// is left behind.
const DROP_PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of an output that are taken at one time.
const HEARD_AT_ONCE: u64 = 1 << 20;

/// A child that is asked for its end without waiting, any number of times. Unless it was to die
/// with nobody, what it leaves in its process group ends with it, and it with this.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    is_tied: bool,
    /// `None` until it has been reaped. Until then its id, which is its group's, is its own.
    status: Option<ExitStatus>,
}

impl ChildProcess {
    /// Starts a command in a process group of its own.
    ///
    /// # Errors
    /// The program is not there, or this user may not run it or use these CPUs.
    pub fn start(mut command: Command, options: &ChildOptions) -> io::Result<ChildProcess> {
        let is_tied = options.dies_with != DiesWith::Nobody;
        prepare(&mut command, options);
        let mut spawn = move || -> io::Result<ChildProcess> {
            Ok(ChildProcess { child: command.spawn()?, is_tied, status: None })
        };
        let started = match options.dies_with {
            DiesWith::Program => on_lasting_thread(spawn)??,
            DiesWith::Thread | DiesWith::Nobody => spawn()?,
        };
        if let Some(stdout) = &started.child.stdout {
            ioctl_fionbio(stdout, true)?;
        }
        if let Some(stderr) = &started.child.stderr {
            ioctl_fionbio(stderr, true)?;
        }
        Ok(started)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let pid = Pid::from_child(&self.child);
        if self.status.is_none()
            && matches!(rustix::process::waitid(WaitId::Pid(pid), options), Ok(Some(_)))
        {
            if self.is_tied {
                // There may be nobody left in it.
                let _ = rustix::process::kill_process_group(pid, Signal::KILL);
            }
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// Waits until it ends by itself, and looks after it meanwhile. A look that breaks ends the
    /// waiting, and not the child.
    pub fn watch<B>(
        &mut self,
        mut look: impl FnMut(&mut ChildProcess, Duration) -> ControlFlow<B>,
    ) -> Result<ExitStatus, B> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return Ok(status);
            }
            if let ControlFlow::Break(why) = look(self, begun.elapsed()) {
                return Err(why);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until it has ended, no longer than `timeout`.
    pub fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let is_late = |elapsed| match elapsed >= timeout {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        self.watch(|_, elapsed| is_late(elapsed)).ok()
    }

    /// Takes what it has said since, where its outputs are pipes. Does not wait.
    pub fn hear(&mut self, stdout: &mut Vec<u8>, stderr: &mut Vec<u8>) -> io::Result<()> {
        hear(self.child.stdout.as_mut(), stdout)?;
        hear(self.child.stderr.as_mut(), stderr)
    }

    /// Sends it a signal, unless it has ended.
    pub fn signal(&mut self, signal: Signal) {
        if self.ended().is_none() {
            let _ = rustix::process::kill_process(Pid::from_child(&self.child), signal);
        }
    }

    /// Kills it and its group, and waits until it is gone, no longer than `timeout`: the kernel
    /// frees its memory first.
    pub fn kill(&mut self, timeout: Duration) -> Option<ExitStatus> {
        if self.ended().is_none() {
            let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
        self.wait(timeout)
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.is_tied {
            self.kill(DROP_PATIENCE);
        }
    }
}

fn hear(output: Option<impl Read>, heard: &mut Vec<u8>) -> io::Result<()> {
    let Some(output) = output else { return Ok(()) };
    match output.take(HEARD_AT_ONCE).read_to_end(heard) {
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{ChildOptions, ChildProcess, DiesWith, POLL_INTERVAL};
    use base::CpuList;
    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
    use rustix::thread::{CpuSet, sched_getaffinity};
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    const ALL: [DiesWith; 3] = [DiesWith::Thread, DiesWith::Program, DiesWith::Nobody];

    fn start(dies_with: DiesWith, script: &str) -> ChildProcess {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
        ChildProcess::start(command, &ChildOptions::dying_with(dies_with)).unwrap()
    }

    /// Waits for a child that nobody else waits for.
    fn was_killed(pid: u32) -> bool {
        let pid = Pid::from_raw(pid.cast_signed()).unwrap();
        let begun = Instant::now();
        loop {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            if let Some(status) = waitid(WaitId::Pid(pid), options).unwrap() {
                return status.killed();
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "it lives on");
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    #[test]
    fn a_child_dies_with_the_thread_that_started_it_or_not() {
        let in_thread = |dies_with| {
            let started = std::thread::spawn(move || start(dies_with, "exec sleep 30"));
            started.join().unwrap()
        };
        let tied = in_thread(DiesWith::Thread);
        // As when the whole program is killed: nobody drops it.
        let pid = tied.pid();
        std::mem::forget(tied);
        assert!(was_killed(pid));
        for dies_with in [DiesWith::Program, DiesWith::Nobody] {
            let mut child = in_thread(dies_with);
            assert_eq!(child.wait(Duration::from_millis(300)), None);
            child.signal(Signal::TERM);
            let status = child.wait(Duration::from_secs(5)).unwrap();
            assert!(!status.success());
            assert!(child.ended().is_some());
        }
    }

    #[test]
    fn a_child_that_is_dropped_ends_unless_it_is_free() {
        for dies_with in ALL {
            let child = start(dies_with, "exec sleep 30");
            let pid = Pid::from_raw(child.pid().cast_signed()).unwrap();
            drop(child);
            let is_there = rustix::process::test_kill_process(pid).is_ok();
            assert_eq!(is_there, dies_with == DiesWith::Nobody);
            if is_there {
                rustix::process::kill_process(pid, Signal::KILL).unwrap();
                assert!(was_killed(pid.as_raw_nonzero().get().cast_unsigned()));
            }
        }
    }

    /// What a child left running, by its id in the child's output.
    fn left_by(child: &mut ChildProcess) -> Pid {
        let mut line = String::new();
        let output = child.child.stdout.take().unwrap();
        rustix::io::ioctl_fionbio(&output, false).unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        Pid::from_raw(line.trim().parse().unwrap()).unwrap()
    }

    #[test]
    fn the_group_ends_with_a_child_unless_it_is_free() {
        for dies_with in ALL {
            let mut child = start(dies_with, "sleep 30 & echo $!");
            let left = left_by(&mut child);
            assert!(child.wait(Duration::from_secs(5)).unwrap().success());
            let stat = || std::fs::read_to_string(format!("/proc/{left}/stat")).unwrap_or_default();
            let has_ended = || stat().is_empty() || stat().contains(") Z ");
            let begun = Instant::now();
            if dies_with == DiesWith::Nobody {
                assert!(!has_ended());
                rustix::process::kill_process(left, Signal::KILL).unwrap();
            }
            while !has_ended() {
                assert!(begun.elapsed() < Duration::from_secs(5), "{dies_with:?}");
            }
        }
    }

    #[test]
    fn a_child_is_killed_with_its_group() {
        let mut child = start(DiesWith::Thread, "sleep 30 & echo $!; wait");
        let left = left_by(&mut child);
        assert!(!child.kill(Duration::from_secs(5)).unwrap().success());
        let begun = Instant::now();
        while std::fs::read(format!("/proc/{left}/cmdline")).is_ok_and(|line| !line.is_empty()) {
            assert!(begun.elapsed() < Duration::from_secs(5));
        }
    }

    #[test]
    fn what_it_says_is_heard() {
        let mut child = start(DiesWith::Thread, "echo begun; echo odd >&2; sleep 0.1; echo done");
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let status = child.watch(|child, _| -> std::ops::ControlFlow<()> {
            child.hear(&mut stdout, &mut stderr).unwrap();
            std::ops::ControlFlow::Continue(())
        });
        assert!(status.unwrap().success());
        child.hear(&mut stdout, &mut stderr).unwrap();
        assert_eq!((&stdout[..], &stderr[..]), (&b"begun\ndone\n"[..], &b"odd\n"[..]));
    }

    #[test]
    fn a_child_is_kept_to_its_cpus() {
        let cpus_of = |pid| {
            let set = sched_getaffinity(pid).unwrap();
            let all = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
            all.map(|cpu| cpu as u32).collect::<CpuList>()
        };
        let all = cpus_of(None);
        let last: CpuList = all.iter().last().into_iter().collect();
        for (cpus, expected) in [(Some(last.clone()), &last), (None, &all)] {
            let mut command = Command::new("sleep");
            command.arg("30");
            let options = ChildOptions { cpus, ..ChildOptions::dying_with(DiesWith::Program) };
            let child = ChildProcess::start(command, &options).unwrap();
            assert_eq!(&cpus_of(Pid::from_raw(child.pid().cast_signed())), expected);
        }
    }

    #[test]
    fn what_cannot_be_started_is_told() {
        for dies_with in ALL {
            let options = ChildOptions::dying_with(dies_with);
            let error = ChildProcess::start(Command::new("/nonexistent/mysqld"), &options);
            assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::NotFound);
        }
    }
}
