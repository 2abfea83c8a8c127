//! Children that never outlive who started them.

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Puts a child into a process group of its own, and has the kernel kill it when the thread that
/// starts it ends.
#[expect(
    unsafe_code,
    reason = "the death signal must be set between fork and exec, and std offers only pre_exec for \
        it"
)]
pub fn kill_with_parent(command: &mut Command) {
    let parent = getpid();
    command.process_group(0);
    let before_exec = move || -> std::io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the signal was set.
        if getppid() != Some(parent) {
            return Err(rustix::io::Errno::SRCH.into());
        }
        Ok(())
    };
    // SAFETY: the closure runs in the forked child, where only async-signal-safe calls are allowed;
    // it makes system calls by rustix (prctl, getppid) and allocates nothing.
    unsafe {
        command.pre_exec(before_exec);
    }
}
