//! What happened between two moments of a run, type by type.

use crate::client::{PerType, TransactionInfo, WorkloadCounters};
use crate::silence::{Silence, common};
use crate::times::Times;
use std::ops::Range;

/// Part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Warmup,
    Window,
    /// After the window, until the last transaction has ended.
    Drain,
}

/// One transaction type in one interval.
#[derive(Clone, Debug, Default)]
pub struct TransactionStats {
    pub committed: u64,
    /// Deliberate rollbacks.
    pub rolled_back: u64,
    pub deadlocks: u64,
    pub lock_wait_timeouts: u64,
    pub other_retries: u64,
    /// Transactions given up.
    pub errors: u64,
    /// Response times of what ended well in the interval, whenever it began: from the first try,
    /// the submission or the intended start to the end of the last try.
    pub latency: Times,
}

impl TransactionStats {
    pub(crate) fn merge(&mut self, other: &TransactionStats) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.deadlocks += other.deadlocks;
        self.lock_wait_timeouts += other.lock_wait_timeouts;
        self.other_retries += other.other_retries;
        self.errors += other.errors;
        self.latency.merge(&other.latency);
    }

    /// What ended well: committed and deliberately rolled back.
    pub fn completed(&self) -> u64 {
        self.committed + self.rolled_back
    }
}

/// How an open loop kept its schedule in one interval.
#[derive(Clone, Debug, Default)]
pub struct ScheduleStats {
    /// Transactions whose intended start lies in the interval.
    pub offered: u64,
    /// Those that began more than [`base::limits::LATE_AFTER`] after their intended start.
    pub late: u64,
    /// Those that never began: the queue was full, or the window ended before their turn.
    pub skipped: u64,
    /// From the intended start to the begin of the first try or, of what waited for its turn until
    /// the window was over, to the end of that.
    pub lag: Times,
    /// From there to the end of the last try, of what ended well.
    pub service: Times,
}

impl ScheduleStats {
    pub(crate) fn merge(&mut self, other: &ScheduleStats) {
        self.offered += other.offered;
        self.late += other.late;
        self.skipped += other.skipped;
        self.lag.merge(&other.lag);
        self.service.merge(&other.service);
    }
}

/// What terminals did in one interval besides their transactions.
#[derive(Clone, Debug, Default)]
pub struct TerminalStats {
    /// Keying times that ended, as measured.
    pub keying: PerType<Times>,
    /// Think times that began, as drawn.
    pub think: PerType<Times>,
    /// From the submission of a deferred transaction to the word that it has been queued.
    pub acknowledgement: Times,
}

impl TerminalStats {
    fn merge(&mut self, other: &TerminalStats) {
        for (mine, theirs) in self.keying.iter_mut().zip(&other.keying) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.think.iter_mut().zip(&other.think) {
            mine.merge(theirs);
        }
        self.acknowledgement.merge(&other.acknowledgement);
    }
}

/// What happened between two moments of a run.
#[derive(Clone, Debug)]
pub struct Interval {
    pub phase: Phase,
    /// From the start of the run.
    pub start_offset_ns: u64,
    pub end_offset_ns: u64,
    /// The types of the workload.
    pub types: &'static [TransactionInfo],
    pub transactions: PerType<TransactionStats>,
    /// Transactions of primary types that ended well, by database
    /// ([`crate::Workload::database`]); as long as the last one that had any.
    pub primary: Vec<u64>,
    pub statements: u64,
    pub counters: WorkloadCounters,
    pub schedule: ScheduleStats,
    pub terminals: TerminalStats,
    /// Times in which nothing ended, in order: those at its begin and its end, and between them
    /// those of at least [`base::limits::SILENCE_MIN`].
    pub silences: Vec<Silence>,
}

/// What tells intervals of a run apart; they come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IntervalKey {
    phase: Phase,
    start_offset_ns: u64,
}

impl IntervalKey {
    /// An early end may cut the workers' last intervals at slightly different moments: the drain is
    /// one for all.
    pub(crate) fn of(interval: &Interval) -> IntervalKey {
        let start_offset_ns = match interval.phase {
            Phase::Drain => 0,
            Phase::Warmup | Phase::Window => interval.start_offset_ns,
        };
        IntervalKey { phase: interval.phase, start_offset_ns }
    }
}

impl Interval {
    /// An interval in which nothing has happened yet.
    pub fn new(
        types: &'static [TransactionInfo],
        phase: Phase,
        offsets_ns: Range<u64>,
    ) -> Interval {
        Interval {
            phase,
            start_offset_ns: offsets_ns.start,
            end_offset_ns: offsets_ns.end,
            types,
            transactions: Default::default(),
            primary: Vec::new(),
            statements: 0,
            counters: WorkloadCounters::default(),
            schedule: ScheduleStats::default(),
            terminals: TerminalStats::default(),
            silences: Vec::new(),
        }
    }

    /// Each type of the workload with what it did.
    pub fn by_type(&self) -> impl Iterator<Item = (&'static TransactionInfo, &TransactionStats)> {
        self.types.iter().zip(&self.transactions)
    }

    /// Transactions of primary types that ended well: the workload's throughput counts these.
    pub fn primary_completed(&self) -> u64 {
        let primary = self.by_type().filter(|(of, _)| of.is_primary);
        primary.map(|(_, stats)| stats.completed()).sum()
    }

    /// Response times of primary types.
    pub fn primary_latency(&self) -> Times {
        let mut all = Times::default();
        for (_, stats) in self.by_type().filter(|(of, _)| of.is_primary) {
            all.merge(&stats.latency);
        }
        all
    }

    pub(crate) fn add_primary(&mut self, database: usize, transactions: u64) {
        if self.primary.len() <= database {
            self.primary.resize(database + 1, 0);
        }
        self.primary[database] += transactions;
    }

    /// Adds another worker's share of the same interval.
    pub(crate) fn merge(&mut self, other: &Interval) {
        self.end_offset_ns = self.end_offset_ns.max(other.end_offset_ns);
        for (mine, theirs) in self.transactions.iter_mut().zip(&other.transactions) {
            mine.merge(theirs);
        }
        for (database, transactions) in other.primary.iter().enumerate() {
            self.add_primary(database, *transactions);
        }
        self.statements += other.statements;
        self.counters.add(&other.counters);
        self.schedule.merge(&other.schedule);
        self.terminals.merge(&other.terminals);
        self.silences = common(&self.silences, &other.silences);
    }
}
