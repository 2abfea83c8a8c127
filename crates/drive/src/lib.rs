//! Driving a database: connections that start together, transactions with their retries, response
//! times per interval.
//!
//! The engine ([`run()`]) knows a [`Workload`], which makes clients that try operations, and no
//! database; it is tested with clients that stall, fail and get lost. Workloads are crates above
//! this one. A run has one dispatcher, the calling thread, which owns the schedule and all that is
//! reported, and workers, each a thread that carries a share of the connections and reports by
//! message.

mod arrivals;
mod breakdown;
mod client;
mod company;
mod connection;
mod database;
mod failures;
mod interval;
mod merge;
mod names;
mod options;
mod pace;
mod recorder;
mod run;
mod schedule;
mod schemas;
mod silence;
pub mod streams;
mod terminals;
mod timed;
mod times;
mod totals;
mod worker;

pub use breakdown::Breakdown;
pub use client::{
    Attempt, Client, Failed, FailureKind, Opening, PerType, Source, TransactionInfo,
    TransactionType, Workload, WorkloadCounters, per_type,
};
pub use company::{Company, DrivenShare, Partner, PartnerEnd};
pub use database::{
    Facts, LoadProgress, LoadReport, LoadedTable, Proof, set_isolation, takes_writes,
};
pub use failures::{failed_by, failed_in_commit, leaves_in_doubt, needs_prepare};
pub use interval::{Interval, Phase, ScheduleStats, TerminalStats, TransactionStats};
pub use merge::Merge;
pub use options::{Abort, AbortCause, RunError, RunOptions, WorkerPlace};
pub use pace::{Arrivals, Pace, Terminals, think_time};
pub use run::{Control, Event, RunReport, WORKER_THREAD, process_cpu_ns, run};
pub use schedule::{PhaseOffsets, Schedule};
pub use schemas::Schemas;
pub use silence::{Failures, Silence, SilenceWatch};
pub use timed::{StatementTime, StatementTimes, Timed};
pub use times::Times;
pub use totals::{ConnectionTime, FailedTries, FailuresByCode, Totals};
