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

/// Where connections were in the window: times of all together, which add up to the window for
/// each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionTime {
    /// In transactions, from the begin of the first try on, as far as they were in the window.
    pub in_transactions_ns: u64,
    /// Between transactions: waiting for one to come, or drawing its input.
    pub idle_ns: u64,
    /// Pausing after transactions that were given up.
    pub error_pauses_ns: u64,
    /// Lost, and being opened again.
    pub lost_ns: u64,
}

impl ConnectionTime {
    fn add(&mut self, other: ConnectionTime) {
        self.in_transactions_ns += other.in_transactions_ns;
        self.idle_ns += other.idle_ns;
        self.error_pauses_ns += other.error_pauses_ns;
        self.lost_ns += other.lost_ns;
    }
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
    /// Ages of the transactions that were in flight at the end of the window, or had never begun:
    /// their response times are at least so long.
    pub in_flight: PerType<Times>,
    /// What the workload counts: of what ended well, and of what is in doubt as its connection was
    /// lost.
    pub counters: WorkloadCounters,
    pub in_doubt_counters: WorkloadCounters,
    pub connection_time: ConnectionTime,
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
            in_flight: Default::default(),
            connection_time: ConnectionTime::default(),
            ..self
        }
    }

    /// Adds those of another worker or run.
    pub(crate) fn merge(&mut self, other: Totals) {
        for index in 0..TRANSACTION_TYPES_MAX {
            self.committed[index] += other.committed[index];
            self.in_doubt[index] += other.in_doubt[index];
            self.begun_before_window[index].merge(&other.begun_before_window[index]);
            self.in_flight[index].merge(&other.in_flight[index]);
        }
        self.counters.add(&other.counters);
        self.in_doubt_counters.add(&other.in_doubt_counters);
        self.connection_time.add(other.connection_time);
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
