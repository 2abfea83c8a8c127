//! TPC-C by its clauses: schema, random rules, population, transactions, consistency checks.
//!
//! Nothing here opens a file, a socket or a process: rows leave through [`base::RowSource`], statements through
//! [`base::Session`].

pub mod checks;
pub mod counters;
pub mod database;
pub mod faults;
pub mod input;
pub mod lock;
pub mod pacing;
pub mod population;
mod prepared;
pub mod probe;
pub mod random;
pub mod schema;
pub mod tpcc_mysql;
pub mod transactions;
pub mod verdicts;

pub use checks::{CHECKS, Check, CheckResult, run_checks};
pub use counters::{InputCounters, InputShare};
pub use database::{Contents, Database, InspectError};
pub use input::{Input, InputSource, NewOrder, Transaction};
pub use population::{Chunk, ChunkSummary, Population};
pub use random::{Constants, RunConstants};
pub use schema::Table;
pub use transactions::{Failure, Isolation, Outcome, Style, Terminal};
