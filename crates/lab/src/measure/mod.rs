//! One measurement on a server that is up and loaded: one window, or the points of a ramp.

pub(crate) mod acid;
pub(crate) mod before;
pub(crate) mod capacity;
pub(crate) mod changed_columns;
pub(crate) mod changed_variables;
pub(crate) mod check;
pub(crate) mod cpus;
pub(crate) mod device_io;
pub(crate) mod drill;
pub(crate) mod driving;
pub(crate) mod failed_transactions;
pub(crate) mod fleet_follower;
pub(crate) mod fleet_run;
pub(crate) mod lengths;
pub(crate) mod measurement;
pub(crate) mod observing;
pub(crate) mod pacing;
pub(crate) mod planned_row;
pub(crate) mod preflight;
pub(crate) mod prepared;
pub(crate) mod quiet;
pub(crate) mod ramp;
pub(crate) mod rank_usage;
pub(crate) mod records;
mod recovery;
pub(crate) mod seeds;
pub(crate) mod workload;
