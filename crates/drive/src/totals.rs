//! What is counted over the whole run, beside its intervals.

use crate::client::{PerType, WorkloadCounters};
use crate::times::Times;
use base::limits::TRANSACTION_TYPES_MAX;
use std::collections::BTreeMap;

/// Failed tries of one transaction type with one error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTries {
    pub occurrences: u64,
    pub first_message: String,
}

/// What is counted over the whole run.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub committed: PerType<u64>,
    /// Transactions whose COMMIT had no answer.
    pub in_doubt: PerType<u64>,
    /// Response times of those of the window that began before it: clause 5.4.2 of TPC-C leaves
    /// them out.
    pub begun_before_window: PerType<Times>,
    /// Deferred transactions that were pending at the end of the window, with their age then.
    pub pending_deferred: Times,
    /// What the workload counts: of what ended well, and of what is in doubt as its connection was
    /// lost.
    pub counters: WorkloadCounters,
    pub in_doubt_counters: WorkloadCounters,
    /// Time that all connections together paused in the window after transactions given up.
    pub error_pauses_ns: u64,
    /// Transactions that were given up.
    pub errors: u64,
    pub reconnects: u64,
    /// By transaction, or `reconnect`, and error code.
    pub failed_tries: BTreeMap<(&'static str, String), FailedTries>,
}

impl Totals {
    /// Those of a run whose window is not the one that is reported.
    pub(crate) fn without_window(self) -> Totals {
        Totals {
            begun_before_window: Default::default(),
            pending_deferred: Times::default(),
            error_pauses_ns: 0,
            ..self
        }
    }

    /// Adds those of another worker or run.
    pub(crate) fn merge(&mut self, other: Totals) {
        for index in 0..TRANSACTION_TYPES_MAX {
            self.committed[index] += other.committed[index];
            self.in_doubt[index] += other.in_doubt[index];
            self.begun_before_window[index].merge(&other.begun_before_window[index]);
        }
        self.pending_deferred.merge(&other.pending_deferred);
        self.counters.add(&other.counters);
        self.in_doubt_counters.add(&other.in_doubt_counters);
        self.error_pauses_ns += other.error_pauses_ns;
        self.errors += other.errors;
        self.reconnects += other.reconnects;
        for (key, theirs) in other.failed_tries {
            self.failed_tries
                .entry(key)
                .and_modify(|mine| mine.occurrences += theirs.occurrences)
                .or_insert(theirs);
        }
    }
}
