//! Driving a database: connections that start together, transactions with their retries, response times per interval;
//! and filling a database before that.
//!
//! The engine (`run`) knows clients that try operations, not databases; it is tested with clients that stall, fail and
//! get lost. `tpcc` clients over a [`base::Session`] are one kind. A run has one dispatcher, the calling thread, which owns
//! the schedule and all that is reported, and workers, each a thread that carries a share of the connections and
//! reports by message.

mod arrivals;
mod breakdown;
mod client;
mod connection;
mod failures;
mod load;
mod load_plan;
mod load_state;
mod pace;
mod recorder;
mod run;
mod schedule;
mod schemas;
mod streams;
mod terminal_client;
mod terminals;
mod timed;
mod times;
mod totals;
mod tpcc_mysql_client;
mod worker;

pub use breakdown::Breakdown;
pub use client::{Attempt, Client, Failed, FailureKind, Opening, Source, Workload};
pub use load::{LoadError, LoadOptions, LoadProgress, LoadReport, Method, load};
pub use pace::{Arrivals, Pace, Spacing, Terminals};
pub use recorder::{Interval, Phase, ScheduleStats, TerminalStats, TransactionStats};
pub use run::{
    Abort, AbortCause, Control, Event, RunError, RunOptions, RunReport, WORKER_THREAD, run,
};
pub use schemas::Schemas;
pub use terminal_client::{Homes, TpccOptions, TpccWorkload};
pub use timed::{StatementTime, StatementTimes};
pub use times::Times;
pub use totals::FailedTries;
pub use tpcc_mysql_client::{TpccMysqlOptions, TpccMysqlWorkload};
