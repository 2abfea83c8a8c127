//! What happened between two moments of a run, type by type.

use crate::client::{PerType, TransactionInfo, WorkloadCounters};
use crate::merge::{Merge, merge_fields};
use crate::silence::{Silence, common};
use crate::times::Times;
use crate::totals::{FailuresByCode, of_known_names};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    #[default]
    Warmup,
    Window,
    /// After the window, until the last transaction has ended.
    Drain,
}

/// One transaction type in one interval.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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

merge_fields!(TransactionStats {
    committed,
    rolled_back,
    deadlocks,
    lock_wait_timeouts,
    other_retries,
    errors,
    latency,
});

impl TransactionStats {
    /// What ended well: committed and deliberately rolled back.
    pub fn completed(&self) -> u64 {
        self.committed + self.rolled_back
    }
}

/// How an open loop kept its schedule in one interval.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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

merge_fields!(ScheduleStats { offered, late, skipped, lag, service });

/// What terminals did in one interval besides their transactions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TerminalStats {
    /// Keying times that ended, as measured.
    pub keying: PerType<Times>,
    /// Think times that began, as drawn.
    pub think: PerType<Times>,
    /// From the submission of a deferred transaction to the word that it has been queued.
    pub acknowledgement: Times,
}

merge_fields!(TerminalStats { keying, think, acknowledgement });

/// What happened between two moments of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interval {
    pub phase: Phase,
    /// From the start of the run.
    pub start_offset_ns: u64,
    pub end_offset_ns: u64,
    /// The types of the workload. Another process that reports the interval does not tell them.
    #[serde(skip)]
    pub types: &'static [TransactionInfo],
    pub transactions: PerType<TransactionStats>,
    /// Transactions of primary types that ended well, by database
    /// ([`crate::Client::server`]); as long as the last one that had any.
    pub primary: Vec<u64>,
    pub statements: u64,
    pub counters: WorkloadCounters,
    pub schedule: ScheduleStats,
    pub terminals: TerminalStats,
    /// Times in which nothing ended well, in order: those at its begin and its end, and between
    /// them those of at least [`base::limits::FAILED_SILENCE_MIN`].
    pub silences: Vec<Silence>,
    /// Transactions that were given up, and connections that could not be opened again.
    #[serde(deserialize_with = "of_known_names")]
    pub failures: FailuresByCode,
}

/// What tells intervals of a run apart, by phase and start; they come in this order.
pub(crate) type IntervalKey = (Phase, u64);

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
            ..Interval::default()
        }
    }

    /// An early end may cut the workers' last intervals at slightly different moments: the drain is
    /// one for all.
    pub(crate) fn key(&self) -> IntervalKey {
        match self.phase {
            Phase::Drain => (Phase::Drain, 0),
            phase => (phase, self.start_offset_ns),
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

    /// How long it was, 1 at the least.
    pub fn length_ns(&self) -> u64 {
        self.end_offset_ns.saturating_sub(self.start_offset_ns).max(1)
    }

    /// The rate of [`Interval::primary_completed`].
    pub fn primary_per_minute(&self) -> f64 {
        self.primary_completed() as f64 * 60e9 / self.length_ns() as f64
    }

    /// Transactions of all types that ended well, per second.
    pub fn completed_per_s(&self) -> f64 {
        let completed: u64 = self.transactions.iter().map(|of| of.completed()).sum();
        completed as f64 * 1e9 / self.length_ns() as f64
    }

    /// Response times of primary types.
    pub fn primary_latency(&self) -> Times {
        let mut all = Times::default();
        for (_, stats) in self.by_type().filter(|(of, _)| of.is_primary) {
            all.merge(&stats.latency);
        }
        all
    }

    /// Is it one that a process can have reported which drives these types?
    pub fn is_consistent(&self) -> bool {
        let is_in_order =
            |of: &Silence| of.from_ns <= of.busy_from_ns && of.busy_from_ns <= of.to_ns;
        let others = self.transactions.get(self.types.len()..).unwrap_or_default();
        self.start_offset_ns <= self.end_offset_ns
            && others.iter().all(|of| of.completed() == 0 && of.errors == 0)
            && self.silences.iter().all(is_in_order)
    }

    pub(crate) fn add_primary(&mut self, database: usize, transactions: u64) {
        if self.primary.len() <= database {
            self.primary.resize(database + 1, 0);
        }
        self.primary[database] += transactions;
    }
}

/// Adds another worker's share of the same interval.
impl Merge for Interval {
    fn merge(&mut self, other: &Interval) {
        self.end_offset_ns = self.end_offset_ns.max(other.end_offset_ns);
        self.transactions.merge(&other.transactions);
        self.primary.merge(&other.primary);
        self.statements += other.statements;
        self.counters.merge(&other.counters);
        self.schedule.merge(&other.schedule);
        self.terminals.merge(&other.terminals);
        self.silences = common(&self.silences, &other.silences);
        Merge::merge(&mut self.failures, &other.failures);
    }
}
