//! What bound a run, read from the account of its transactions. Each verdict carries its numbers.

use crate::account::{Account, KnownBy, Part};
use base::named;
use serde::Serialize;

/// From here on a driver thread, or the host, has no time left.
pub(crate) const DRIVER_BUSY_SHARE: f64 = 0.9;
const CPU_BUSY_SHARE: f64 = 0.85;
/// From here on stolen time is told of with the time that cores were busy.
const STEAL_SHARE: f64 = 0.05;
/// Of the time that cores were busy, what the server and mydyno have of it where they keep them so.
const OWN_CPU_SHARE: f64 = 0.5;
/// A part limits from this share of a transaction on.
const LIMITS_SHARE: f64 = 0.3;
/// What the holders of row locks spend most of their time in is what others wait for.
const HOLDERS_SHARE: f64 = 0.5;
/// From here on the server serves a queue for locks, whatever its cores do for that.
const QUEUE_SHARE: f64 = 0.8;

/// Where nothing ended for so much of a window, nothing is said to have bound it.
const SILENT_SHARE: f64 = 0.1;

/// The numbers of a window that tell what bound it; `None` is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Evidence<'a> {
    pub(crate) account: Option<Account>,
    pub(crate) offered: Option<Offered>,
    /// Of the server's machine.
    pub(crate) cpu: Option<HostCpu>,
    pub(crate) driver_threads: &'a [DriverThread],
    /// Of the window, the time in which nothing ended and something was in flight, where that is
    /// far longer than a response takes: a silence.
    pub(crate) silent_share: f64,
}

/// What was asked of the server, where that is not as much as it can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Offered {
    /// By a schedule: transactions that it had and that ended, and in the mean how long one waited
    /// to be begun and was served.
    Schedule { offered: u64, ended: u64, lag_us: f64, service_us: f64 },
    /// By terminals: new orders per minute, and those that they would do if nothing took time, with
    /// the standard deviation of that.
    Terminals { nopm: f64, ceiling_nopm: f64, deviation_nopm: f64 },
}

impl Offered {
    const MET_SHARE: f64 = 0.95;

    /// What is said of it where the server did what it was asked for.
    fn met(self) -> Option<String> {
        match self {
            Offered::Schedule { offered, ended, lag_us, service_us } => {
                let is_met = ended as f64 >= Offered::MET_SHARE * offered as f64;
                (is_met && offered > 0 && lag_us <= service_us / 2.0).then(|| {
                    let lag = lag_us / 1e3;
                    let service = service_us / 1e3;
                    format!(
                        "it did what was asked: of {offered} transactions offered {ended} ended; \
                         one waited {lag:.2} ms to be begun and was served in {service:.2} ms"
                    )
                })
            }
            Offered::Terminals { nopm, ceiling_nopm, deviation_nopm } => {
                let is_met = nopm + deviation_nopm >= Offered::MET_SHARE * ceiling_nopm;
                is_met.then(|| {
                    format!(
                        "it did what was asked: {nopm:.1} NOPM, and the terminals would do \
                         {ceiling_nopm:.1} if nothing took time"
                    )
                })
            }
        }
    }
}

/// CPU time of the server's machine or, where the server is kept to some of its cores, of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HostCpu {
    /// All but idle and iowait.
    pub(crate) busy_share: f64,
    /// The part of it that other guests of the hypervisor had.
    pub(crate) steal_share: f64,
    /// The part of it that the server and mydyno had, where it is known.
    pub(crate) own_share: Option<f64>,
    /// Does the driver run on that machine too, and on those cores?
    pub(crate) is_drivers: bool,
    /// How many cores the server is kept to.
    pub(crate) server_cores: Option<u32>,
}

impl HostCpu {
    fn is_busy(self) -> bool {
        self.busy_share >= CPU_BUSY_SHARE
    }

    /// Do others have most of what is busy?
    fn is_others(self) -> bool {
        let executed = self.busy_share - self.steal_share;
        self.own_share.is_some_and(|own| own < OWN_CPU_SHARE * executed)
    }

    /// Has the driver cores of this machine that the server does not have?
    fn has_driver_elsewhere(self) -> bool {
        self.server_cores.is_some() && !self.is_drivers
    }

    fn in_words(self) -> String {
        let busy = percent(self.busy_share);
        let cores = match self.server_cores {
            None => "cores were".to_owned(),
            Some(1) => "the server's core was".to_owned(),
            Some(cores) => format!("the server's {cores} cores were"),
        };
        let mut words = format!("{cores} busy for {busy} of the time");
        if self.steal_share >= STEAL_SHARE {
            let stolen = percent(self.steal_share / self.busy_share);
            words += &format!(", {stolen} of it stolen by other guests of the hypervisor");
        }
        if let Some(own) = self.own_share.filter(|_| self.is_others()) {
            let own = percent(own / self.busy_share);
            let who =
                if self.has_driver_elsewhere() { "the server" } else { "the server and mydyno" };
            words += &format!(", {own} of it by {who}");
        }
        words
    }
}

/// One of the threads that carry connections: the shares of time that it was on a core, and that it
/// was ready but had none.
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

named! {
    /// What a run could not do without more of.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum BoundBy {
        /// mydyno's own threads: the numbers are the driver's, not the server's.
        Driver = "driver" => "driver bound",
        /// Nothing: it did what the schedule or the terminals asked.
        OfferedLoad = "offered_load" => "not bound",
        ReadIo = "read_io" => "bound by reads",
        Log = "log" => "bound by the log",
        PageWrites = "page_writes" => "bound by page writes",
        Cpu = "cpu" => "CPU bound",
        /// Cores that others had, or that the server may not use.
        CoreWait = "core_wait" => "bound by waits for cores",
        Lock = "lock" => "bound by row locks",
        /// Of pages and indexes that other threads read, write or change.
        Latches = "latches" => "bound by latches",
        /// A checkpoint has to advance before more can be logged.
        RedoRoom = "redo_room" => "bound by room in the redo log",
        /// The server lets only so many work at a time.
        Admission = "admission" => "bound by admission",
        Metadata = "metadata" => "bound by metadata locks",
        /// The network, and what the driver does between statements.
        Network = "network" => "bound by the network",
        /// Replicas that have to confirm, or a node that applies what the others write more slowly
        /// than they write it.
        Replication = "replication" => "bound by replication",
        /// None of these by itself.
        Mixed = "mixed" => "mixed",
    }
}

/// The verdict on one window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    pub by: BoundBy,
    /// The share of a transaction's time that it rests on; `None` where it rests on something else.
    pub share: Option<f64>,
    /// For people, with the numbers.
    pub because: String,
}

fn verdict(by: BoundBy, share: Option<f64>, because: String) -> Option<Bound> {
    Some(Bound { by, share, because })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// What limited; `None` where what was sampled does not tell.
pub(crate) fn bound(evidence: &Evidence<'_>) -> Option<Bound> {
    // What held the server up is not among the parts, and was no limit of the rest of the time.
    if evidence.silent_share >= SILENT_SHARE {
        return None;
    }
    if let Some(bound) = driver(evidence) {
        return Some(bound);
    }
    if let Some(because) = evidence.offered.and_then(Offered::met) {
        return verdict(BoundBy::OfferedLoad, None, because);
    }
    let Some(account) = evidence.account else {
        let cpu = evidence.cpu.filter(|cpu| cpu.is_busy())?;
        return verdict(BoundBy::Cpu, None, cpu.in_words());
    };
    let locked = account.share(Part::RowLocks);
    let holders = Limit::largest(&account, evidence.cpu);
    let of_holders = holders.share / (1.0 - locked).max(f64::EPSILON);
    if locked > holders.share && locked >= LIMITS_SHARE {
        return locks(evidence, locked, (holders, of_holders));
    }
    if holders.share < LIMITS_SHARE {
        return mixed(&account, holders, locked);
    }
    let because = holders.in_words(holders.share, "a transaction's time");
    limited(evidence, holders, because)
}

/// Row locks are the largest part. Who waits for one waits for what its holder does.
fn locks(evidence: &Evidence<'_>, locked: f64, holders: (Limit, f64)) -> Option<Bound> {
    let account = evidence.account?;
    let (limit, share) = holders;
    let of_locks = Limit { part: Part::RowLocks, ..limit }.in_words(locked, "a transaction's time");
    let because = match limit.part {
        Part::Remainder => of_locks,
        _ => {
            let of_holders = limit.in_words(share, "what those who hold them do");
            format!("{of_locks}, and {of_holders}")
        }
    };
    let is_cpu = limit.part == Part::Running && evidence.cpu.is_some_and(HostCpu::is_busy);
    let is_storage = matches!(limit.part, Part::Reads | Part::Log | Part::PageWrites);
    if share >= HOLDERS_SHARE && (is_storage || (is_cpu && locked < QUEUE_SHARE)) {
        return limited(evidence, limit, because);
    }
    // Estimates do not tell what the holders do.
    let is_known = account.known_by != KnownBy::Server || evidence.cpu.is_some();
    if !is_known && locked < QUEUE_SHARE {
        return None;
    }
    verdict(BoundBy::Lock, Some(locked), because)
}

/// No part is large.
fn mixed(account: &Account, largest: Limit, locked: f64) -> Option<Bound> {
    // What is not known may be all of one kind.
    let is_of_server = account.known_by == KnownBy::Server;
    if largest.part == Part::Unseen || (is_of_server && largest.part == Part::Remainder) {
        return None;
    }
    let because = format!(
        "no part is large: {}, waits for row locks {}",
        largest.in_words(largest.share, "a transaction's time"),
        percent(locked)
    );
    verdict(BoundBy::Mixed, Some(largest.share), because)
}

/// The largest part limits.
fn limited(evidence: &Evidence<'_>, limit: Limit, because: String) -> Option<Bound> {
    let account = evidence.account?;
    let by = |by, because| verdict(by, Some(limit.share), because);
    match limit.part {
        Part::Reads => by(BoundBy::ReadIo, because),
        Part::Log => by(BoundBy::Log, because),
        Part::PageWrites => by(BoundBy::PageWrites, because),
        Part::NetworkAndDriver => by(BoundBy::Network, because),
        Part::RowLocks => by(BoundBy::Lock, because),
        Part::Latches => by(BoundBy::Latches, because),
        Part::RedoRoom => by(BoundBy::RedoRoom, because),
        Part::Admission => by(BoundBy::Admission, because),
        Part::Metadata => by(BoundBy::Metadata, because),
        Part::Replication => by(BoundBy::Replication, because),
        // It has the CPU time in it, and may be all of one kind.
        Part::Unseen => {
            let cpu = evidence.cpu.filter(|cpu| cpu.is_busy() && !cpu.is_others())?;
            by(BoundBy::Cpu, format!("{because}, and {}", cpu.in_words()))
        }
        Part::Remainder if account.known_by == KnownBy::Server => None,
        Part::OtherWaits | Part::Remainder => by(BoundBy::Mixed, because),
        Part::Running | Part::CoreWait => {
            let cpu = evidence.cpu?;
            let waits_more = account.share(Part::CoreWait) > account.share(Part::Running);
            let because = format!("{because}, and {}", cpu.in_words());
            if cpu.is_busy() && !cpu.is_others() {
                by(BoundBy::Cpu, because)
            } else if cpu.is_busy() || waits_more {
                by(BoundBy::CoreWait, because)
            } else {
                by(BoundBy::Mixed, format!("{because}: more connections may do more"))
            }
        }
    }
}

/// What may limit beside row locks, with its share of a transaction's time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limit {
    /// [`Part::Running`] stands for all that the CPU takes, waits for a core too.
    part: Part,
    share: f64,
    /// Of the time at the CPU, the share that waits for a core.
    core_wait_share: f64,
    /// The time at the CPU is the driver's, too.
    has_driver: bool,
}

impl Limit {
    /// The largest.
    fn largest(account: &Account, cpu: Option<HostCpu>) -> Limit {
        let share = |part| account.share(part).max(0.0);
        let waiting = share(Part::CoreWait);
        // Where the driver shares busy cores, what its part takes is a wait for them too.
        let client = share(Part::NetworkAndDriver);
        let is_shared = cpu.is_some_and(|cpu| cpu.is_drivers && cpu.is_busy());
        let (of_cores, client) = if is_shared { (client, 0.0) } else { (0.0, client) };
        let at_cpu = share(Part::Running) + waiting + of_cores;
        let is_other =
            |part: &Part| !matches!(part, Part::Running | Part::CoreWait | Part::RowLocks);
        let rest = |part| if part == Part::NetworkAndDriver { client } else { share(part) };
        let others = Part::ALL.into_iter().filter(is_other).map(|part| (part, rest(part)));
        let larger = |a: (Part, f64), b: (Part, f64)| if b.1 > a.1 { b } else { a };
        let (part, share) = others.fold((Part::Running, at_cpu), larger);
        let core_wait_share = waiting / at_cpu.max(f64::EPSILON);
        Limit { part, share, core_wait_share, has_driver: of_cores > 0.0 }
    }

    /// `share` of `whole`, in words.
    fn in_words(self, share: f64, whole: &str) -> String {
        let what = match self.part {
            Part::Running | Part::CoreWait if self.has_driver => {
                "running, waiting for a core, and the driver on the same cores are"
            }
            Part::Running | Part::CoreWait => "running and waiting for a core are",
            Part::Reads => "waits for reads of pages are",
            Part::RowLocks => "waits for row locks are",
            Part::Latches => {
                "waits for latches of pages and indexes, which others read, write or change, are"
            }
            Part::Log => "waits for the log at commit are",
            Part::RedoRoom => "waits for room in the redo log, which a checkpoint has to free, are",
            Part::PageWrites => "waits for free pages and page writes are",
            Part::Admission => {
                "waits to be let in (innodb_thread_concurrency, innodb_max_purge_lag) are"
            }
            Part::Metadata => "waits for metadata locks are",
            Part::Replication => "waits for replicas that confirm are",
            Part::OtherWaits => "other waits for threads of the server are",
            Part::Unseen => "CPU time or waits that performance_schema does not see are",
            Part::NetworkAndDriver => "the network and the driver are",
            Part::Remainder => "what is not explained is",
        };
        let waiting = match self.part {
            Part::Running | Part::CoreWait => {
                format!(" ({} of it waiting)", percent(self.core_wait_share))
            }
            _ => String::new(),
        };
        format!("{what} {} of {whole}{waiting}", percent(share))
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
        return verdict(BoundBy::Driver, None, told("the busiest", busiest));
    }
    // On a busy host every thread waits for cores; where cores are idle, one that waits is confined
    // to others. Where the server has none of the driver's cores, the driver's are too few.
    let why = match evidence.cpu? {
        cpu if cpu.has_driver_elsewhere() => "on cores that the server did not have",
        cpu if cpu.is_drivers && !cpu.is_busy() => "although the host had idle cores",
        _ => return None,
    };
    let starved = highest(DriverThread::wanted_share)?;
    let bound = verdict(BoundBy::Driver, None, format!("{}, {why}", told("one", starved)));
    bound.filter(|_| starved.wanted_share() >= DRIVER_BUSY_SHARE)
}

#[cfg(test)]
mod tests;
