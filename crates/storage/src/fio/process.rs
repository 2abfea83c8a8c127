//! A child that ends with this program, in time, or when the user asks for it.

use super::job::JobWatch;
use crate::error::{StorageError, io_at};
use crate::kill_with_parent::kill_with_parent;
use rustix::process::{Pid, Signal, kill_process_group};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time between asking it to end and killing it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time after that in which it should be gone. A process whose storage hangs in the kernel is not,
/// and is left behind.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// Runs a command to its end, in a process group of its own.
pub(super) fn run(
    mut command: Command,
    limit: Duration,
    watch: &mut JobWatch<'_>,
) -> Result<ExitStatus, StorageError> {
    kill_with_parent(&mut command);
    let start = Instant::now();
    let program = command.get_program().to_owned();
    let mut child = command.spawn().map_err(io_at("start", &program))?;
    loop {
        if let Some(status) = child.try_wait().map_err(io_at("wait for", &program))? {
            return Ok(status);
        }
        (watch.on_tick)(start.elapsed());
        if watch.stop.load(Ordering::Relaxed) {
            end(&mut child);
            return Err(StorageError::Interrupted);
        }
        if start.elapsed() > limit {
            end(&mut child);
            return Err(StorageError::FioFailed {
                why: format!(
                    "it did not end within {} s and was killed; is the storage hanging?",
                    limit.as_secs()
                ),
            });
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Ends the group: asks, then kills. The child is not waited for yet, so its id, which is the
/// group's, is its own.
fn end(child: &mut Child) {
    let group = Pid::from_child(child);
    for (signal, patience) in [(Signal::TERM, PATIENCE), (Signal::KILL, LAST_PATIENCE)] {
        let _ = kill_process_group(group, signal);
        if has_ended(child, patience) {
            return;
        }
    }
}

fn has_ended(child: &mut Child, patience: Duration) -> bool {
    let asked = Instant::now();
    while asked.elapsed() < patience {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return true;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{JobWatch, run};
    use crate::StorageError;
    use std::process::Command;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    fn sleep(seconds: &str) -> Command {
        let mut command = Command::new("sleep");
        command.arg(seconds);
        command
    }

    fn run_for(seconds: &str, limit: Duration, stopped: bool) -> Result<bool, StorageError> {
        let stop = AtomicBool::new(stopped);
        let mut watch = JobWatch { stop: &stop, on_tick: &mut |_| {} };
        run(sleep(seconds), limit, &mut watch).map(|status| status.success())
    }

    #[test]
    fn children_end_in_time_or_when_asked() {
        let long = Duration::from_secs(20);
        assert!(run_for("0", long, false).unwrap());
        let start = Instant::now();
        let late = run_for("30", Duration::from_millis(50), false).unwrap_err();
        assert!(matches!(late, StorageError::FioFailed { .. }));
        let stopped = run_for("30", long, true).unwrap_err();
        assert!(matches!(stopped, StorageError::Interrupted));
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
