//! Whether a failure is one. What ends a job (Slurm, systemd, `docker stop`, an eviction, Ctrl-C in
//! some shells) signals all of its processes, servers too, and their end may be seen before the
//! signal to this process is. So nobody is named as dead before a stop has had the time to come.

use std::thread;
use std::time::{Duration, Instant};

/// Signals of one stop come within this time, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a stop is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Is a stop asked for, or on its way? Takes some seconds where there is none.
pub(crate) fn comes(is_asked: impl Fn() -> bool) -> bool {
    comes_within(PATIENCE, is_asked)
}

/// Is a stop asked for, or does it come within this time?
pub fn comes_within(patience: Duration, is_asked: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !is_asked() {
        if begun.elapsed() >= patience {
            return false;
        }
        thread::sleep(LOOK_EVERY.min(patience.saturating_sub(begun.elapsed())));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::comes;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn a_stop_that_is_seen_late_is_one() {
        let stop = AtomicBool::new(false);
        assert!(!comes(|| stop.load(Ordering::Relaxed)));
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(300));
                stop.store(true, Ordering::Relaxed);
            });
            assert!(comes(|| stop.load(Ordering::Relaxed)));
        });
    }
}
