//! Where the mean response time of a transaction went: parts that add up to it.
//!
//! A transaction is either with its client, or a thread of the server works on it. That thread
//! runs, is ready but has no core, waits in a request to storage that it made itself, or is blocked
//! by another: by the holder of a row lock, by the flush of a group at COMMIT, by a latch. The shim
//! knows of each thread that serves a client when it is with its client, what it waits for in
//! storage, and where in the program it is blocked; the kernel knows its CPU time and its waits for
//! a core. Without the shim parts are estimated, each no larger than what the ones before it left.
//!
//! Amounts in this file are transactions in the mean: of those under way, how many ran, waited for
//! a read, and so on. By Little's law one of them is a time once it is divided by the rate.

pub(crate) mod bound;
pub(crate) mod cell_account;
pub(crate) mod driver;
pub(crate) mod evidence;
pub(crate) mod host_shortfall;
pub(crate) mod load;

use base::{WaitCause, named};
use serde::{Serialize, Serializer};
use std::ops::{Index, IndexMut};

named! {
    /// What a transaction spends its time in, by the key in JSON.
    pub enum Part {
        Running = "running_us" => "running",
        CoreWait = "core_wait_us" => "waiting for a core",
        Reads = "reads_us" => "reads of pages",
        RowLocks = "row_locks_us" => "row locks",
        Latches = "latches_us" => "latches",
        Log = "log_us" => "the log at commit",
        RedoRoom = "redo_room_us" => "room in the redo log",
        PageWrites = "page_writes_us" => "page writes",
        Admission = "admission_us" => "admission",
        Metadata = "metadata_us" => "metadata locks",
        Replication = "replication_us" => "replication",
        OtherWaits = "other_waits_us" => "other waits",
        Unseen = "unseen_us" => "CPU or unseen by performance_schema",
        NetworkAndDriver = "network_and_driver_us" => "network and driver",
        Remainder = "remainder_us" => "remainder",
    }
}

impl Part {
    /// The one that waits of that cause are in.
    fn of(cause: WaitCause) -> Part {
        match cause {
            WaitCause::Read => Part::Reads,
            WaitCause::RowLock => Part::RowLocks,
            WaitCause::Commit => Part::Log,
            WaitCause::RedoRoom => Part::RedoRoom,
            WaitCause::PageLatch | WaitCause::IndexLatch | WaitCause::Latch => Part::Latches,
            WaitCause::FreePage | WaitCause::Doublewrite => Part::PageWrites,
            WaitCause::Admission => Part::Admission,
            WaitCause::Metadata => Part::Metadata,
            WaitCause::Replication => Part::Replication,
            WaitCause::Asked | WaitCause::Unnamed => Part::OtherWaits,
        }
    }

    /// Is it told where it took so long? Waits that a server seldom has are where it has them.
    pub fn is_told(self, us: f64) -> bool {
        use Part::{Admission, Latches, Metadata, OtherWaits, RedoRoom, Replication, Unseen};
        let is_seldom = matches!(
            self,
            Latches | RedoRoom | Admission | Metadata | Replication | OtherWaits | Unseen
        );
        us > 0.0 || !is_seldom
    }
}

/// A number of each part, in the order of [`Part::ALL`]; `None` is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OfParts(pub(crate) [Option<f64>; Part::ALL.len()]);

impl OfParts {
    fn from<const N: usize>(known: [(Part, Option<f64>); N]) -> OfParts {
        let mut parts = OfParts::default();
        known.into_iter().for_each(|(part, number)| parts[part] = number);
        parts
    }

    /// To what is known; a part that is not is known then.
    fn add(&mut self, part: Part, number: f64) {
        *self[part].get_or_insert(0.0) += number;
    }
}

impl Index<Part> for OfParts {
    type Output = Option<f64>;

    fn index(&self, part: Part) -> &Option<f64> {
        &self.0[part as usize]
    }
}

impl IndexMut<Part> for OfParts {
    fn index_mut(&mut self, part: Part) -> &mut Option<f64> {
        &mut self.0[part as usize]
    }
}

impl Serialize for OfParts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Part::ALL.map(|part| (part.name(), self[part])))
    }
}

/// One transaction of a window in the mean of all types. `None` is not known, and in the remainder.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Account {
    /// From the begin of its first try to its end: the sum of the parts.
    pub time_us: f64,
    pub known_by: KnownBy,
    /// In us.
    #[serde(flatten)]
    pub parts: OfParts,
    /// By how much the parts as they were seen are more than the whole, as a share of it; they are
    /// reduced alike, so that they add up. Above 0 the window was too short for the account: parts
    /// are of samples a second apart.
    pub excess_share: f64,
    /// Before the first try, beside `time_us`: behind a schedule, or for a connection.
    pub queued_us: Option<f64>,
}

/// Who tells of the server's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// The threads that serve clients, under the shim.
    #[default]
    Sessions,
    /// The threads that serve the driver, as the server's instruments time them.
    PerformanceSchema,
    /// The server as a whole, background threads included: estimates.
    Server,
}

impl Account {
    /// The share of a part in the whole; 0 where it is not known.
    pub fn share(&self, part: Part) -> f64 {
        self.parts[part].unwrap_or(0.0) / self.time_us
    }
}

/// What was seen of a window's transactions. Amounts are transactions in the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Under way.
    pub(crate) under_way: f64,
    pub(crate) ended_per_s: f64,
    /// Not begun yet.
    pub(crate) queued: Option<f64>,
    pub(crate) sessions: Option<Sessions>,
    pub(crate) row_locks: Option<f64>,
    /// With their client, as the driver saw it, and those that wait for the log at COMMIT.
    pub(crate) at_driver: Option<f64>,
    pub(crate) committing: Option<f64>,
    /// The same by the rule of [`GroupCommit`].
    pub(crate) group_commit: Option<f64>,
    /// Cores that the server used and wanted, and reads that it had outstanding.
    pub(crate) server_cores: Option<f64>,
    pub(crate) server_run_wait: Option<f64>,
    pub(crate) reading: Option<f64>,
}

/// What the threads were at that serve clients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sessions {
    pub(crate) known_by: KnownBy,
    /// Not with their client.
    pub(crate) active: f64,
    pub(crate) running: f64,
    pub(crate) core_wait: f64,
    pub(crate) reads: f64,
    /// In writes and flushes of their own, of logs and of pages.
    pub(crate) log: f64,
    pub(crate) page_writes: f64,
    /// Asleep, as the server asked for it.
    pub(crate) asleep: f64,
    /// Asleep or blocked, by what for; `None` where the shim did not tell.
    pub(crate) waits: Option<BlockedTime>,
}

/// What the threads that serve clients waited for in other threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct BlockedTime {
    /// All of it, as it was timed.
    pub(crate) all: f64,
    /// What stacks tell of it, by [`WaitCause`], and what waited in functions that have no cause.
    pub(crate) by_cause: [f64; WaitCause::ALL.len()],
    pub(crate) other: f64,
}

impl BlockedTime {
    /// Amounts by cause whose sum is no more than `most`: what was timed, in the proportions of the
    /// stacks. `None` where no stack was taken.
    fn within(&self, most: f64) -> Option<BlockedTime> {
        let placed = self.by_cause.iter().sum::<f64>() + self.other;
        let all = self.all.min(most);
        (placed > 0.0).then(|| BlockedTime {
            all,
            by_cause: self.by_cause.map(|amount| amount * all / placed),
            other: self.other * all / placed,
        })
    }

    /// Adds what has a cause to its part. Returns what has no name.
    fn give_to(&self, parts: &mut OfParts) -> f64 {
        parts.add(Part::OtherWaits, self.other);
        let named = WaitCause::ALL.into_iter().filter(|cause| *cause != WaitCause::Unnamed);
        named.for_each(|cause| parts.add(Part::of(cause), self.by_cause[cause as usize]));
        self.by_cause[WaitCause::Unnamed as usize]
    }
}

/// Flushes of a log that several commits share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GroupCommit {
    pub(crate) flushes_per_s: f64,
    pub(crate) flush_s: f64,
    /// Transactions that changed rows, and as many as may be in one group.
    pub(crate) commits_per_s: f64,
    pub(crate) group_max: f64,
}

impl GroupCommit {
    /// Commits that wait. One that finds a flush under way, which began without it, waits for the
    /// rest of that, half of one in the mean, and then for a whole one.
    pub(crate) fn waiting(&self) -> f64 {
        // Where more commit between two flushes than there are, they do not wait for them.
        if self.commits_per_s > self.group_max * self.flushes_per_s {
            return 0.0;
        }
        let busy_share = (self.flushes_per_s * self.flush_s).min(1.0);
        self.commits_per_s * self.flush_s * (1.0 + busy_share / 2.0)
    }
}

impl Observed {
    /// The account; `None` where nothing was under way or ended.
    pub(crate) fn account(&self) -> Option<Account> {
        if self.under_way <= 0.0 || self.ended_per_s <= 0.0 {
            return None;
        }
        let (known_by, amounts) = match &self.sessions {
            Some(sessions) => (sessions.known_by, self.by_sessions(sessions)),
            None => (KnownBy::Server, self.by_server()),
        };
        let seen = amounts.0.iter().flatten().sum::<f64>();
        let excess_share = (seen / self.under_way - 1.0).max(0.0);
        let whole_us = |amount: f64| amount / self.ended_per_s * 1e6;
        let us = |amount: f64| whole_us(amount) / (1.0 + excess_share);
        let mut parts = OfParts(amounts.0.map(|amount| amount.map(us)));
        parts[Part::Remainder] = Some(whole_us((self.under_way - seen).max(0.0)));
        Some(Account {
            time_us: whole_us(self.under_way),
            known_by,
            parts,
            excess_share,
            queued_us: self.queued.map(whole_us),
        })
    }

    /// Amounts of the parts, but for the remainder.
    fn by_sessions(&self, sessions: &Sessions) -> OfParts {
        let Sessions {
            known_by,
            active,
            running,
            core_wait,
            reads,
            log,
            page_writes,
            asleep,
            waits,
        } = *sessions;
        let has_unseen = known_by == KnownBy::PerformanceSchema;
        // Whose process is not known has its CPU time in what is not seen.
        let known = |amount: f64| (amount > 0.0 || !has_unseen).then_some(amount);
        let not_alone = (active - running - reads - log - page_writes).max(0.0);
        // A wait as it was timed ends when the thread runs again, and so has in it what the thread
        // then waited for a core. What is no such wait is one for a core, as far as the kernel
        // knows of them; the others came after the messages of clients, before the work began.
        let timed = waits.map_or(asleep, |waits| waits.all);
        let at_work = core_wait.min((not_alone - timed).max(0.0));
        let not_alone = not_alone - at_work;
        let away = (self.under_way - active).max(0.0);
        let before_work = (core_wait - at_work).min(away);
        let mut parts = OfParts::from([
            (Part::Running, known(running)),
            (Part::CoreWait, known(at_work + before_work)),
            (Part::Reads, Some(reads)),
            (Part::Log, Some(log)),
            (Part::PageWrites, Some(page_writes)),
            (Part::NetworkAndDriver, Some(away - before_work)),
        ]);
        let waits = waits.and_then(|waits| waits.within(not_alone));
        let unnamed = match waits {
            // It knows no other time of them than that of waits which have names.
            Some(waits) if has_unseen => waits.give_to(&mut parts) + not_alone - waits.all,
            Some(waits) => waits.give_to(&mut parts),
            None if has_unseen => not_alone,
            // Without stacks nobody knows why; but a server that finds no free page sleeps.
            None => {
                let asleep = asleep.min(not_alone);
                parts.add(Part::PageWrites, asleep);
                not_alone - asleep
            }
        };
        // Of what has no name: a wait is counted as a whole when it ends, so that those of a window
        // may be longer than it.
        let beyond_known = |all: Option<f64>, part: Part| {
            (all.unwrap_or(0.0) - parts[part].unwrap_or(0.0)).clamp(0.0, unnamed)
        };
        let locked = beyond_known(self.row_locks, Part::RowLocks);
        // What they did not wait for by themselves, they waited for others to write.
        let behind_others = beyond_known(self.committing.or(self.group_commit), Part::Log);
        let overlap = ((locked + behind_others) / unnamed.max(f64::EPSILON)).max(1.0);
        let (locked, behind_others) = (locked / overlap, behind_others / overlap);
        if self.row_locks.is_some() {
            parts.add(Part::RowLocks, locked);
        }
        parts.add(Part::Log, behind_others);
        if has_unseen || waits.is_some() {
            let part = if has_unseen { Part::Unseen } else { Part::OtherWaits };
            parts.add(part, (unnamed - locked - behind_others).max(0.0));
        }
        parts
    }

    /// The best known first, as the later ones have no more than what is left.
    fn by_server(&self) -> OfParts {
        let mut left = self.under_way;
        let mut take = |amount: Option<f64>| {
            let taken = amount?.clamp(0.0, left);
            left -= taken;
            Some(taken)
        };
        let client = take(self.at_driver);
        let committing = take(self.committing);
        OfParts::from([
            (Part::NetworkAndDriver, client),
            (Part::RowLocks, take(self.row_locks)),
            (Part::Running, take(self.server_cores)),
            (Part::Reads, take(self.reading)),
            (Part::CoreWait, take(self.server_run_wait)),
            (Part::Log, committing.or_else(|| take(self.group_commit))),
        ])
    }
}

#[cfg(test)]
mod tests;
