//! How a child is started: in a process group of its own, tied to this program or free of it.
//!
//! A tied child gets PR_SET_PDEATHSIG. The kernel sends that signal when the *thread* that forked
//! ends, not the process. What has to live as long as the program is therefore forked by one thread
//! that does so, too.

use base::CpuList;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// How a child is started.
#[derive(Clone, Debug)]
pub struct ChildOptions {
    pub dies_with: DiesWith,
    /// The CPUs that it is kept to from its first instruction on; `None` for those of the thread
    /// that starts it.
    pub cpus: Option<CpuList>,
    /// Whether it may open as many files as this user may at all.
    pub opens_many_files: bool,
}

impl ChildOptions {
    /// On the CPUs of the thread that starts it and with the limits of this process.
    pub fn dying_with(dies_with: DiesWith) -> ChildOptions {
        ChildOptions { dies_with, cpus: None, opens_many_files: false }
    }
}

/// With whose end the kernel kills a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiesWith {
    /// The thread that starts it, and so the program too.
    Thread,
    /// This program, in whatever way it ends.
    Program,
    /// Nobody: it is in a session of its own.
    Nobody,
}

/// Does some work on a thread that lives as long as this program.
pub(crate) fn on_lasting_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    type Work = Box<dyn FnOnce() + Send>;
    static THREAD: OnceLock<Sender<Work>> = OnceLock::new();
    let lasting = THREAD.get_or_init(|| {
        let (sender, inbox) = channel::<Work>();
        // Where no thread can be made the channel is closed, and the caller below is told.
        let builder = thread::Builder::new().name("spawn-servers".to_owned());
        let _ = builder.spawn(move || inbox.into_iter().for_each(|work| work()));
        sender
    });
    let (answer, inbox) = channel();
    let gone = || io::Error::other("the thread that starts servers is gone");
    lasting.send(Box::new(move || drop(answer.send(work())))).map_err(|_| gone())?;
    inbox.recv().map_err(|_| gone())
}

#[expect(
    unsafe_code,
    reason = "the death signal and the session must be set between fork and exec, and std offers \
        only pre_exec for it"
)]
pub(crate) fn prepare(command: &mut Command, options: &ChildOptions) {
    let ChildOptions { dies_with, opens_many_files, .. } = *options;
    let cpus = options.cpus.as_ref().map(cpu_set);
    let parent = rustix::process::getpid();
    if dies_with != DiesWith::Nobody {
        command.process_group(0);
    }
    let before_exec = move || -> io::Result<()> {
        if opens_many_files {
            let limit = rustix::process::getrlimit(Resource::Nofile);
            let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
            let _ = rustix::process::setrlimit(Resource::Nofile, raised);
        }
        if let Some(cpus) = &cpus {
            sched_setaffinity(None, cpus)?;
        }
        if dies_with == DiesWith::Nobody {
            rustix::process::setsid()?;
            return Ok(());
        }
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the signal was set.
        if rustix::process::getppid() != Some(parent) {
            return Err(Errno::SRCH.into());
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

/// A list of CPUs for the kernel.
pub fn cpu_set(cpus: &CpuList) -> CpuSet {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| (*cpu as usize) < CpuSet::MAX_CPU) {
        set.set(cpu as usize);
    }
    set
}
