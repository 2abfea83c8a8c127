//! A limit on the time of one repeat.

use crate::progress::Job;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often the user's flag is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs `work` with a flag that is raised when `stop` is or when the time is over. Returns whether
/// the time was over first.
pub(crate) fn within<T>(
    limit: Duration,
    job: &Job<'_>,
    work: impl FnOnce(&Job<'_>) -> T,
) -> (T, bool) {
    let (stop, flag) = (job.stop, AtomicBool::new(false));
    thread::scope(|scope| {
        // Dropped when the work is done, however it ends.
        let (working, done) = channel::<()>();
        let watcher = scope.spawn(|| watch(limit, stop, &flag, done));
        let value = job.until(&flag, work);
        drop(working);
        (value, watcher.join().unwrap_or(false))
    })
}

fn watch(limit: Duration, stop: &AtomicBool, flag: &AtomicBool, done: Receiver<()>) -> bool {
    let begun = Instant::now();
    while done.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let is_over = begun.elapsed() >= limit;
        if is_over || stop.load(Ordering::Relaxed) {
            flag.store(true, Ordering::Relaxed);
            return is_over;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::within;
    use crate::progress::Job;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    fn until_raised(job: &Job<'_>) {
        while !job.is_stopped() {
            sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn time_ends_work_and_so_does_the_user() {
        let stop = AtomicBool::new(false);
        let long = Duration::from_secs(60);
        let begun = Instant::now();
        assert_eq!(
            within(Duration::from_millis(60), &Job::new(&stop, &mut |_| {}), until_raised),
            ((), true)
        );
        assert!(begun.elapsed() >= Duration::from_millis(60));
        assert_eq!(within(long, &Job::new(&stop, &mut |_| {}), |_| 7), (7, false));
        stop.store(true, Ordering::Relaxed);
        assert_eq!(within(long, &Job::new(&stop, &mut |_| {}), until_raised), ((), false));
        assert!(begun.elapsed() < long);
    }
}
