//! TPC-C by its clauses: schema, random rules, population, transactions, consistency checks;
//! loading a database in parallel, and the workloads that the driver drives.
//!
//! Nothing here opens a file, a socket or a process: rows leave through [`base::RowSource`],
//! statements through [`base::Session`].

pub mod acid;
pub mod checks;
mod client;
pub mod counters;
pub mod cross_check;
pub mod database;
mod fresh;
pub mod input;
mod load;
pub mod lock;
pub mod population;
pub mod probe;
pub mod random;
pub mod schema;
mod shards;
#[cfg(test)]
mod tests {
    pub(crate) mod scripted;
}
pub mod terminal_times;
pub mod transactions;
pub mod verdicts;
mod witness;
mod workload;
pub mod xa;

pub use checks::{CHECKS, Check, CheckSet, INITIAL, run_checks, run_checks_of_shards};
pub use client::TerminalClient;
pub use counters::InputCounters;
pub use database::{Contents, Database, InspectError};
pub use input::{CustomerId, Input, InputSource, NewOrder, Transaction};
pub use load::{
    LoadError, LoadHelpers, LoadOptions, LoadPart, PopulateReport, drop_database, load, load_part,
};
pub use population::{Chunk, ChunkSummary, Population};
pub use random::RunConstants;
pub use schema::Table;
pub use shards::{ShardError, ShardRanges, ShardSession};
pub use transactions::{
    Outcome, PreparedSession, StatementSet, TransactionError, prepared_statements, tpcc_mysql,
};
pub use witness::{Witness, WitnessReport};
pub use workload::{Homes, TpccOptions, TpccWorkload};
