//! What is counted over the whole run, beside its intervals.

use crate::client::{PerType, WorkloadCounters};
use crate::merge::{Merge, merge_fields};
use crate::names::KnownName;
use crate::times::Times;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// Failed tries of one transaction type with one error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTries {
    pub occurrences: u64,
    pub first_message: String,
}

impl Merge for FailedTries {
    fn merge(&mut self, other: &FailedTries) {
        self.occurrences += other.occurrences;
    }
}

/// Where connections were in the window: times of all together, which add up to the window for
/// each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

merge_fields!(ConnectionTime { in_transactions_ns, idle_ns, error_pauses_ns, lost_ns });

/// What is counted over the whole run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    #[serde(deserialize_with = "of_known_names")]
    pub failed_tries: FailuresByCode,
}

/// What failed by transaction, or `reconnect`, and error code.
pub type FailuresByCode = ByNameAndCode<&'static str>;

type ByNameAndCode<N> = BTreeMap<(N, String), FailedTries>;

pub(crate) fn of_known_names<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<FailuresByCode, D::Error> {
    let all = ByNameAndCode::<KnownName>::deserialize(from)?;
    Ok(all.into_iter().map(|((name, code), tries)| ((name.0, code), tries)).collect())
}

merge_fields!(Totals {
    committed,
    in_doubt,
    begun_before_window,
    in_flight,
    counters,
    in_doubt_counters,
    connection_time,
    errors,
    reconnects,
    failed_tries,
});

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
}
