//! What a worker counts over the whole run, beside its intervals.

use crate::times::Times;
use std::collections::BTreeMap;
use tpcc::InputCounters;

/// Failed tries of one transaction type with one error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTries {
    pub occurrences: u64,
    pub first_message: String,
}

/// What a worker counts over the whole run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) committed: [u64; 5],
    pub(crate) in_doubt: [u64; 5],
    pub(crate) begun_before_window: [Times; 5],
    pub(crate) pending_deliveries: Times,
    pub(crate) inputs: InputCounters,
    pub(crate) in_doubt_inputs: InputCounters,
    pub(crate) error_pauses_ns: u64,
    pub(crate) errors: u64,
    pub(crate) reconnects: u64,
    pub(crate) failed_tries: BTreeMap<(&'static str, String), FailedTries>,
}

impl Totals {
    pub(crate) fn merge(&mut self, other: Totals) {
        for index in 0..5 {
            self.committed[index] += other.committed[index];
            self.in_doubt[index] += other.in_doubt[index];
            self.begun_before_window[index].merge(&other.begun_before_window[index]);
        }
        self.pending_deliveries.merge(&other.pending_deliveries);
        self.inputs.merge(&other.inputs);
        self.in_doubt_inputs.merge(&other.in_doubt_inputs);
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
