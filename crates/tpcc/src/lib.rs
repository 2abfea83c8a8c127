//! TPC-C by its clauses: schema, random rules, population, transactions, consistency checks;
//! loading a database in parallel, and the workloads that the driver drives.
//!
//! Nothing here opens a file, a socket or a process: rows leave through [`base::RowSource`],
//! statements through [`base::Session`].

pub mod checks;
pub mod counters;
pub mod cross_check;
pub mod database;
mod fresh;
pub mod input;
mod load;
pub mod lock;
pub mod population;
mod prepared;
pub mod probe;
pub mod random;
pub mod schema;
pub mod terminal_times;
pub mod tpcc_mysql;
pub mod transactions;
pub mod verdicts;
mod workload;

pub use checks::{CHECKS, Check, run_checks};
pub use counters::{InputCounters, InputShare};
pub use database::{Contents, Database, InspectError};
pub use fresh::ReplicaReads;
pub use input::{Input, InputSource, NewOrder, Transaction};
pub use load::{
    LoadError, LoadHelpers, LoadOptions, LoadPart, LoadReport, Method, load, load_part,
};
pub use population::{Chunk, ChunkSummary, Population};
pub use random::{Constants, RunConstants};
pub use schema::Table;
pub use transactions::{Outcome, PreparedSession, TransactionError, prepared_statements};
pub use workload::{Homes, StatementSet, TerminalClient, TpccOptions, TpccWorkload};
