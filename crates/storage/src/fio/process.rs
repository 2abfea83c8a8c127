//! fio as a child that ends with this program, in time, or when the user asks for it.

use super::job::JobWatch;
use crate::error::{StorageError, StorageResult, io_at};
use rustix::process::Signal;
use std::ops::ControlFlow;
use std::process::{Command, ExitStatus};
use std::sync::atomic::Ordering;
use std::time::Duration;
use system::{ChildOptions, ChildProcess, DiesWith};

/// Time between asking it to end and killing it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time after that in which it should be gone. A process whose storage hangs in the kernel is not,
/// and is left behind.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// Runs a command to its end.
pub(super) fn run(
    command: Command,
    limit: Duration,
    watch: &mut JobWatch<'_>,
) -> StorageResult<ExitStatus> {
    let program = command.get_program().to_owned();
    let mut child = ChildProcess::start(command, &ChildOptions::dying_with(DiesWith::Thread))
        .map_err(io_at("start", &program))?;
    let ended = child.watch(|_, elapsed| {
        (watch.on_tick)(elapsed);
        if watch.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(StorageError::Interrupted);
        }
        if elapsed > limit {
            return ControlFlow::Break(StorageError::FioFailed {
                why: format!(
                    "it did not end within {} s and was killed; is the storage hanging?",
                    limit.as_secs()
                ),
            });
        }
        ControlFlow::Continue(())
    });
    if ended.is_err() {
        child.signal(Signal::TERM);
        if child.wait(PATIENCE).is_none() {
            child.kill(LAST_PATIENCE);
        }
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::{JobWatch, run};
    use crate::{StorageError, StorageResult};
    use std::process::Command;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    fn sleep(seconds: &str) -> Command {
        let mut command = Command::new("sleep");
        command.arg(seconds);
        command
    }

    fn run_for(seconds: &str, limit: Duration, stopped: bool) -> StorageResult<bool> {
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
