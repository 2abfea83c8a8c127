//! What bound a run. The rules stand in METHODOLOGY.md; each verdict carries the numbers that it rests on.

use serde::Serialize;

/// From here on a driver thread, or the host, has no time left.
const DRIVER_BUSY_SHARE: f64 = 0.9;
const CPU_BUSY_SHARE: f64 = 0.85;
/// From here on nearly every moment has a request at the redo log's device.
const REDO_BUSY_SHARE: f64 = 0.8;
/// Of the transactions under way, the share that makes what they wait for the cause.
const WAITING_SHARE: f64 = 0.5;
/// From here on the server serves a queue for locks, whatever its cores do for that.
const QUEUE_SHARE: f64 = 0.8;

/// The numbers of a window that tell what bound it; `None` is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Evidence {
    /// Transactions under way in the mean: response times per second.
    pub(crate) in_transactions_mean: f64,
    pub(crate) cpu_busy_share: Option<f64>,
    /// Of the busiest of the driver's threads.
    pub(crate) driver_cpu_share: Option<f64>,
    pub(crate) driver_run_wait_share: Option<f64>,
    /// Transactions that waited for a row lock, in the mean.
    pub(crate) lock_waiting_mean: Option<f64>,
    /// Reads of data outstanding, in the mean.
    pub(crate) reading_mean: Option<f64>,
    pub(crate) redo_busy_share: Option<f64>,
}

/// What a run could not do without more of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundBy {
    /// mydyno's own threads: the numbers are the driver's, not the server's.
    Driver,
    ReadIo,
    Redo,
    Cpu,
    Lock,
    /// None of these by itself.
    Mixed,
}

impl BoundBy {
    /// For people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            BoundBy::Driver => "driver bound",
            BoundBy::ReadIo => "read-I/O bound",
            BoundBy::Redo => "redo bound",
            BoundBy::Cpu => "CPU bound",
            BoundBy::Lock => "lock bound",
            BoundBy::Mixed => "mixed",
        }
    }
}

/// The verdict on one window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    pub by: BoundBy,
    /// For people, with the numbers.
    pub because: String,
}

/// The first rule that holds; `None` where nothing was sampled that could tell.
pub(crate) fn bound(evidence: &Evidence) -> Option<Bound> {
    let cpu = evidence.cpu_busy_share?;
    let is_cpu_busy = cpu >= CPU_BUSY_SHARE;
    let verdict = |by, because| Some(Bound { by, because });
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    if let Some(on_core) = evidence.driver_cpu_share {
        let waited = evidence.driver_run_wait_share.unwrap_or(0.0);
        // On a busy host every thread waits for cores; where cores are idle, one that waits is confined to others.
        let is_confined = !is_cpu_busy && on_core + waited >= DRIVER_BUSY_SHARE;
        if on_core >= DRIVER_BUSY_SHARE || is_confined {
            return verdict(
                BoundBy::Driver,
                format!(
                    "the busiest of mydyno's threads was on a core for {} of the time and waited for one for {}",
                    percent(on_core),
                    percent(waited)
                ),
            );
        }
    }
    let locked = evidence.lock_waiting_mean.unwrap_or(0.0);
    let under_way = evidence.in_transactions_mean;
    // Who waits for a lock waits for what its holder does.
    let others = (under_way - locked).max(0.0);
    if let Some(reading) = evidence.reading_mean.filter(|mean| *mean > 0.0)
        && reading >= WAITING_SHARE * others
        && !is_cpu_busy
    {
        return verdict(
            BoundBy::ReadIo,
            format!(
                "{reading:.1} reads of data were outstanding in the mean, with {others:.1} transactions that waited for no lock"
            ),
        );
    }
    if let Some(busy) = evidence
        .redo_busy_share
        .filter(|busy| *busy >= REDO_BUSY_SHARE)
        && !is_cpu_busy
    {
        return verdict(
            BoundBy::Redo,
            format!(
                "the redo log's device had requests for {} of the time",
                percent(busy)
            ),
        );
    }
    let of_locks =
        || format!("{locked:.1} of {under_way:.1} transactions under way waited for a row lock");
    let of_cpu = || format!("cores were busy for {} of the time", percent(cpu));
    let is_locked = |share: f64| locked > 0.0 && locked >= share * under_way;
    if is_locked(QUEUE_SHARE) {
        return verdict(BoundBy::Lock, of_locks());
    }
    match (is_cpu_busy, is_locked(WAITING_SHARE)) {
        (true, false) => verdict(BoundBy::Cpu, of_cpu()),
        (false, true) => verdict(BoundBy::Lock, of_locks()),
        (true, true) => verdict(BoundBy::Mixed, format!("{}, and {}", of_cpu(), of_locks())),
        (false, false) => verdict(
            BoundBy::Mixed,
            format!("nothing was busy by itself: {}; {}", of_cpu(), of_locks()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{BoundBy, Evidence, bound};

    const QUIET: Evidence = Evidence {
        in_transactions_mean: 32.0,
        cpu_busy_share: Some(0.4),
        driver_cpu_share: Some(0.2),
        driver_run_wait_share: Some(0.05),
        lock_waiting_mean: Some(1.0),
        reading_mean: Some(2.0),
        redo_busy_share: Some(0.3),
    };

    fn by(evidence: Evidence) -> BoundBy {
        bound(&evidence).unwrap().by
    }

    #[test]
    fn each_cause_is_found() {
        let cpu = Some(0.95);
        for (evidence, expected) in [
            (QUIET, BoundBy::Mixed),
            (
                Evidence {
                    cpu_busy_share: cpu,
                    ..QUIET
                },
                BoundBy::Cpu,
            ),
            (
                Evidence {
                    reading_mean: Some(20.0),
                    ..QUIET
                },
                BoundBy::ReadIo,
            ),
            (
                Evidence {
                    redo_busy_share: Some(0.9),
                    ..QUIET
                },
                BoundBy::Redo,
            ),
            (
                Evidence {
                    lock_waiting_mean: Some(28.0),
                    reading_mean: Some(1.0),
                    ..QUIET
                },
                BoundBy::Lock,
            ),
            (
                Evidence {
                    driver_cpu_share: Some(0.95),
                    ..QUIET
                },
                BoundBy::Driver,
            ),
            (
                Evidence {
                    driver_cpu_share: Some(0.5),
                    driver_run_wait_share: Some(0.45),
                    ..QUIET
                },
                BoundBy::Driver,
            ),
            // On a busy host waiting for cores is everybody's.
            (
                Evidence {
                    cpu_busy_share: cpu,
                    driver_cpu_share: Some(0.5),
                    driver_run_wait_share: Some(0.45),
                    ..QUIET
                },
                BoundBy::Cpu,
            ),
            (
                Evidence {
                    cpu_busy_share: cpu,
                    lock_waiting_mean: Some(20.0),
                    ..QUIET
                },
                BoundBy::Mixed,
            ),
        ] {
            assert_eq!(by(evidence), expected, "{evidence:?}");
        }
    }

    #[test]
    fn who_holds_locks_tells_what_they_wait_for() {
        // 25 of 32 wait for locks whose holders read.
        let evidence = Evidence {
            lock_waiting_mean: Some(25.0),
            reading_mean: Some(5.0),
            ..QUIET
        };
        assert_eq!(by(evidence), BoundBy::ReadIo);
        let evidence = Evidence {
            lock_waiting_mean: Some(30.0),
            redo_busy_share: Some(0.95),
            reading_mean: Some(0.0),
            ..QUIET
        };
        assert_eq!(by(evidence), BoundBy::Redo);
    }

    #[test]
    fn what_is_not_known_is_not_judged() {
        assert_eq!(
            bound(&Evidence {
                cpu_busy_share: None,
                ..QUIET
            }),
            None
        );
        let external = Evidence {
            reading_mean: None,
            redo_busy_share: None,
            driver_cpu_share: None,
            ..QUIET
        };
        assert_eq!(by(external), BoundBy::Mixed);
    }
}
