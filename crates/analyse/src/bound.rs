//! What bound a run. The rules stand in METHODOLOGY.md; each verdict carries the numbers that it rests on.

use serde::Serialize;

/// From here on a driver thread, or the host, has no time left.
const DRIVER_BUSY_SHARE: f64 = 0.9;
const CPU_BUSY_SHARE: f64 = 0.85;
/// From here on stolen time is told of with the time that cores were busy.
const STEAL_SHARE: f64 = 0.05;
/// From here on nearly every moment has a request at the redo log's device.
const REDO_BUSY_SHARE: f64 = 0.8;
/// Of the transactions under way, the share that makes what they wait for the cause.
const WAITING_SHARE: f64 = 0.5;
/// From here on the server serves a queue for locks, whatever its cores do for that.
const QUEUE_SHARE: f64 = 0.8;
/// Fewer transactions than one are not enough for anything to be measured by them.
const TRANSACTIONS_MIN: f64 = 1.0;

/// The numbers of a window that tell what bound it; `None` is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Evidence<'a> {
    /// Transactions under way in the mean.
    pub(crate) in_transactions_mean: f64,
    /// Of the server's machine.
    pub(crate) cpu: Option<HostCpu>,
    pub(crate) driver_threads: &'a [DriverThread],
    /// Transactions that waited for a row lock, in the mean.
    pub(crate) lock_waiting_mean: Option<f64>,
    /// Reads of data outstanding.
    pub(crate) reading: Option<Reading>,
    pub(crate) redo_busy_share: Option<f64>,
}

/// CPU time of the server's machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HostCpu {
    /// All but idle and iowait.
    pub(crate) busy_share: f64,
    /// The part of it that other guests of the hypervisor had.
    pub(crate) steal_share: f64,
    /// Does the driver run on that machine too?
    pub(crate) is_drivers: bool,
}

impl HostCpu {
    fn is_busy(self) -> bool {
        self.busy_share >= CPU_BUSY_SHARE
    }

    fn in_words(self) -> String {
        let busy = percent(self.busy_share);
        if self.steal_share < STEAL_SHARE {
            return format!("cores were busy for {busy} of the time");
        }
        format!(
            "cores were busy for {busy} of the time, {} of it stolen by other guests of the hypervisor",
            percent(self.steal_share / self.busy_share)
        )
    }
}

/// One of the threads that carry connections: the shares of time that it was on a core, and that it was ready but had none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DriverThread {
    pub(crate) on_core_share: f64,
    /// `None` where the kernel does not keep it.
    pub(crate) run_wait_share: Option<f64>,
}

impl DriverThread {
    fn wanted_share(&self) -> f64 {
        self.on_core_share + self.run_wait_share.unwrap_or(0.0)
    }
}

/// Reads of data that were outstanding in the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) mean: f64,
    pub(crate) counted_by: ReadsCounted,
}

/// Who counted reads of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadsCounted {
    /// Each read for as long as it was outstanding.
    Shim,
    /// Those under way whenever its status was read.
    Server,
    /// All disks of the machine, whoever read.
    Disks,
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

fn verdict(by: BoundBy, because: String) -> Option<Bound> {
    Some(Bound { by, because })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The first rule that holds; `None` where what was sampled does not tell.
pub(crate) fn bound(evidence: &Evidence<'_>) -> Option<Bound> {
    if let Some(bound) = driver(evidence) {
        return Some(bound);
    }
    let under_way = evidence.in_transactions_mean;
    // A wait is counted as a whole when it ends, so that those of a window may be longer than it.
    let locked = evidence.lock_waiting_mean.unwrap_or(0.0).min(under_way);
    // Who waits for a lock waits for what its holder does.
    let others = under_way - locked;
    let by_storage = read_io(evidence, others).or_else(|| redo(evidence));
    match (by_storage, evidence.cpu.map(HostCpu::is_busy)) {
        (Some(bound), Some(false)) => return Some(bound),
        // Whether it was storage or the cores, nobody can say.
        (Some(_), None) => return None,
        _ => {}
    }
    let of_locks =
        || format!("{locked:.1} of {under_way:.1} transactions under way waited for a row lock");
    let is_locked = |share: f64| locked > 0.0 && locked >= share * under_way;
    if is_locked(QUEUE_SHARE) {
        return verdict(BoundBy::Lock, of_locks());
    }
    let cpu = evidence.cpu?;
    let of_both = || format!("{}, and {}", cpu.in_words(), of_locks());
    match (cpu.is_busy(), is_locked(WAITING_SHARE)) {
        (true, false) => verdict(BoundBy::Cpu, cpu.in_words()),
        (false, true) => verdict(BoundBy::Lock, of_locks()),
        (true, true) => verdict(BoundBy::Mixed, of_both()),
        (false, false) => verdict(
            BoundBy::Mixed,
            format!("nothing was busy by itself: {}", of_both()),
        ),
    }
}

fn driver(evidence: &Evidence<'_>) -> Option<Bound> {
    let highest = |share: fn(&DriverThread) -> f64| {
        let threads = evidence.driver_threads.iter();
        threads.max_by(|a, b| share(a).total_cmp(&share(b)))
    };
    let told = |which: &str, of: &DriverThread| {
        let on_core = percent(of.on_core_share);
        let waited = of.run_wait_share.map_or_else(String::new, |share| {
            format!(" and waited for one for {}", percent(share))
        });
        format!("{which} of mydyno's threads was on a core for {on_core} of the time{waited}")
    };
    let busiest = highest(|of| of.on_core_share)?;
    if busiest.on_core_share >= DRIVER_BUSY_SHARE {
        return verdict(BoundBy::Driver, told("the busiest", busiest));
    }
    // On a busy host every thread waits for cores; where cores are idle, one that waits is confined to others.
    let has_idle_cores = evidence
        .cpu
        .is_some_and(|cpu| cpu.is_drivers && !cpu.is_busy());
    let starved = highest(DriverThread::wanted_share)?;
    if has_idle_cores && starved.wanted_share() >= DRIVER_BUSY_SHARE {
        let because = told("one", starved) + ", although the host had idle cores";
        return verdict(BoundBy::Driver, because);
    }
    None
}

fn read_io(evidence: &Evidence<'_>, others: f64) -> Option<Bound> {
    let Reading { mean, counted_by } = evidence.reading?;
    if mean < WAITING_SHARE * others.max(TRANSACTIONS_MIN) {
        return None;
    }
    let who = match counted_by {
        ReadsCounted::Shim => format!("{mean:.1} reads of data were outstanding in the mean"),
        ReadsCounted::Server => format!(
            "the server had {mean:.1} reads of data under way in the mean of its status readings"
        ),
        ReadsCounted::Disks => {
            format!("the machine's disks had {mean:.1} reads outstanding in the mean")
        }
    };
    let because = format!("{who}, with {others:.1} transactions that waited for no lock");
    verdict(BoundBy::ReadIo, because)
}

fn redo(evidence: &Evidence<'_>) -> Option<Bound> {
    let busy = evidence
        .redo_busy_share
        .filter(|busy| *busy >= REDO_BUSY_SHARE)?;
    let because = format!(
        "the redo log's device had requests for {} of the time",
        percent(busy)
    );
    verdict(BoundBy::Redo, because)
}

#[cfg(test)]
mod tests {
    use super::{BoundBy, DriverThread, Evidence, HostCpu, Reading, ReadsCounted, bound};

    const FREE: DriverThread = thread(0.2, 0.05);

    const QUIET: Evidence = Evidence {
        in_transactions_mean: 32.0,
        cpu: busy(0.4),
        driver_threads: &[FREE],
        lock_waiting_mean: Some(1.0),
        reading: reading(2.0),
        redo_busy_share: Some(0.3),
    };

    const fn thread(on_core_share: f64, run_wait_share: f64) -> DriverThread {
        DriverThread {
            on_core_share,
            run_wait_share: Some(run_wait_share),
        }
    }

    const fn busy(busy_share: f64) -> Option<HostCpu> {
        Some(HostCpu {
            busy_share,
            steal_share: 0.0,
            is_drivers: true,
        })
    }

    const fn reading(mean: f64) -> Option<Reading> {
        let counted_by = ReadsCounted::Shim;
        Some(Reading { mean, counted_by })
    }

    #[track_caller]
    fn by(evidence: &Evidence) -> BoundBy {
        bound(evidence).unwrap().by
    }

    #[test]
    fn each_cause_is_found() {
        let of = |change: fn(&mut Evidence)| {
            let mut evidence = QUIET;
            change(&mut evidence);
            evidence
        };
        for (evidence, expected) in [
            (QUIET, BoundBy::Mixed),
            (of(|e| e.cpu = busy(0.95)), BoundBy::Cpu),
            (of(|e| e.reading = reading(20.0)), BoundBy::ReadIo),
            (of(|e| e.redo_busy_share = Some(0.9)), BoundBy::Redo),
            (
                of(|e| {
                    e.lock_waiting_mean = Some(28.0);
                    e.reading = reading(1.0);
                }),
                BoundBy::Lock,
            ),
            // Waits that began before the window: more than were under way, and a read or two beside them.
            (
                of(|e| {
                    e.lock_waiting_mean = Some(40.0);
                    e.reading = reading(0.3);
                }),
                BoundBy::Lock,
            ),
            (
                of(|e| {
                    e.lock_waiting_mean = Some(31.8);
                    e.reading = reading(0.4);
                }),
                BoundBy::Lock,
            ),
            (
                of(|e| {
                    e.lock_waiting_mean = Some(40.0);
                    e.reading = reading(0.6);
                }),
                BoundBy::ReadIo,
            ),
            (
                of(|e| {
                    e.cpu = busy(0.95);
                    e.lock_waiting_mean = Some(20.0);
                }),
                BoundBy::Mixed,
            ),
        ] {
            assert_eq!(by(&evidence), expected, "{evidence:?}");
        }
    }

    #[test]
    fn who_holds_locks_tells_what_they_wait_for() {
        // 25 of 32 wait for locks whose holders read.
        let evidence = Evidence {
            lock_waiting_mean: Some(25.0),
            reading: reading(5.0),
            ..QUIET
        };
        assert_eq!(by(&evidence), BoundBy::ReadIo);
        let evidence = Evidence {
            lock_waiting_mean: Some(30.0),
            redo_busy_share: Some(0.95),
            reading: reading(0.0),
            ..QUIET
        };
        assert_eq!(by(&evidence), BoundBy::Redo);
    }

    #[test]
    fn each_thread_of_the_driver_is_looked_at() {
        fn with(driver_threads: &[DriverThread]) -> Evidence<'_> {
            Evidence {
                driver_threads,
                ..QUIET
            }
        }
        assert_eq!(by(&with(&[FREE, thread(0.95, 0.0)])), BoundBy::Driver);
        // The one that is starved was on a core for less time than the one that is free.
        let starved = [thread(0.45, 0.01), thread(0.2, 0.75)];
        let verdict = bound(&with(&starved)).unwrap();
        assert_eq!(verdict.by, BoundBy::Driver);
        let words = "one of mydyno's threads was on a core for 20 % of the time and waited for one for 75 %";
        assert!(verdict.because.starts_with(words), "{}", verdict.because);
        // On a busy host waiting for cores is everybody's.
        let evidence = Evidence {
            cpu: busy(0.95),
            ..with(&starved)
        };
        assert_eq!(by(&evidence), BoundBy::Cpu);
        assert_eq!(by(&with(&[])), BoundBy::Mixed);
    }

    #[test]
    fn another_machine_says_nothing_of_the_drivers_cores() {
        let starved = [thread(0.2, 0.75)];
        let idle = HostCpu {
            busy_share: 0.3,
            steal_share: 0.0,
            is_drivers: false,
        };
        let evidence = Evidence {
            cpu: Some(idle),
            driver_threads: &starved,
            ..QUIET
        };
        assert_eq!(by(&evidence), BoundBy::Mixed);
        let evidence = Evidence {
            driver_threads: &[thread(0.99, 0.0)],
            ..evidence
        };
        assert_eq!(by(&evidence), BoundBy::Driver);
    }

    #[test]
    fn what_is_not_known_is_not_judged() {
        // A server on a machine of which nothing is known.
        let remote = Evidence {
            cpu: None,
            reading: None,
            redo_busy_share: None,
            ..QUIET
        };
        assert_eq!(bound(&remote), None);
        let with = |change: fn(&mut Evidence)| {
            let mut evidence = remote;
            change(&mut evidence);
            bound(&evidence).map(|bound| bound.by)
        };
        let at_its_end = with(|e| e.driver_threads = const { &[thread(0.99, 0.0)] });
        assert_eq!(at_its_end, Some(BoundBy::Driver));
        assert_eq!(
            with(|e| e.lock_waiting_mean = Some(30.0)),
            Some(BoundBy::Lock)
        );
        assert_eq!(with(|e| e.lock_waiting_mean = Some(20.0)), None);
        // The holders of the locks read, or wait for cores.
        let holders_read = with(|e| {
            e.lock_waiting_mean = Some(30.0);
            e.reading = reading(2.0);
        });
        assert_eq!(holders_read, None);
        // And nothing but the host's cores.
        let bare = Evidence {
            reading: None,
            redo_busy_share: None,
            driver_threads: &[],
            lock_waiting_mean: None,
            ..QUIET
        };
        assert_eq!(by(&bare), BoundBy::Mixed);
    }

    #[test]
    fn the_reason_names_who_counted_and_what_was_stolen() {
        let because = |counted_by| {
            let reading = Some(Reading {
                mean: 20.0,
                counted_by,
            });
            bound(&Evidence { reading, ..QUIET }).unwrap().because
        };
        for (counted_by, words) in [
            (ReadsCounted::Shim, "20.0 reads of data were outstanding"),
            (ReadsCounted::Server, "the server had 20.0 reads of data"),
            (ReadsCounted::Disks, "the machine's disks had 20.0 reads"),
        ] {
            let because = because(counted_by);
            assert!(because.starts_with(words), "{because}");
        }
        let cpu = Some(HostCpu {
            busy_share: 0.9,
            steal_share: 0.45,
            is_drivers: true,
        });
        let verdict = bound(&Evidence { cpu, ..QUIET }).unwrap();
        assert_eq!(verdict.by, BoundBy::Cpu);
        assert_eq!(
            verdict.because,
            "cores were busy for 90 % of the time, 50 % of it stolen by other guests of the hypervisor"
        );
    }
}
