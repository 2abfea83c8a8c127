//! The command lines of `mydyno load` and `mydyno check`.

use super::fleet::FleetArguments;
use super::results::ResultsArguments;
use super::values::{acid_levels, warehouses};
use clap::Args;
use lab::AcidLevels;
use plan::{DatabaseOptions, TargetOptions};
use spec::{WorkloadKind, defaults};

#[derive(Args)]
pub struct LoadArguments {
    /// Workload of the database, as `--workload` of `mydyno run`; those on the same tables are one
    /// here, and of FILE.toml the setup is run
    #[arg(long, default_value_t = defaults::WORKLOAD)]
    pub workload: WorkloadKind,
    /// Seed of the population; equal seeds give databases that are equal to the byte
    #[arg(long, default_value_t = defaults::POPULATION_SEED)]
    pub seed: u64,
    /// Number of connections that load at the same time [default: one per core, 2 to 8]
    #[arg(
        long, conflicts_with_all = ["engine", "server_binary"],
        value_parser = clap::value_parser!(u32).range(1..=256)
    )]
    pub threads: Option<u32>,
    /// Add a primary key to HISTORY, the row counter h_id, which TPC-C does not have [default: only
    /// where the server requires one: sql_require_primary_key, Group Replication, Galera
    /// (wsrep_on)]
    #[arg(long, conflicts_with_all = ["engine", "server_binary"])]
    pub history_key: bool,
    /// Load over what mydyno loaded here before, or beside other tables
    #[arg(long, conflicts_with_all = ["engine", "server_binary"])]
    pub force: bool,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as their sections of the help are.
    #[command(flatten)]
    pub fleet: FleetArguments,
    #[command(flatten)]
    pub target: TargetOptions,
    #[command(flatten)]
    pub database: DatabaseOptions,
}

#[derive(Args)]
pub struct CheckArguments {
    /// Workload of the database, as `--workload` of `mydyno run`; FILE.toml has checks of its own
    #[arg(long, default_value_t = defaults::WORKLOAD)]
    #[arg(conflicts_with_all = ["engine", "server_binary"])]
    pub workload: WorkloadKind,
    /// Check also that the rows are those that TPC-C loads (clause 4.3.3.1), whatever tool has
    /// loaded them; after a run, what a run leaves as it is
    #[arg(long)]
    pub population: bool,
    /// Test atomicity, isolation and durability first (clause 3 of TPC-C). The transactions of the
    /// tests stay in the database, which nobody else may use meanwhile; a private server is killed
    /// under load and started again
    #[arg(long, conflicts_with_all = ["population", "schemas", "topology"])]
    pub acid: bool,
    /// Isolation level of the tests of --acid, or all of them, of which repeatable-read and
    /// serializable have to pass [default: repeatable-read]
    #[arg(long, value_name = "LEVEL", requires = "acid", value_parser = acid_levels())]
    pub isolation: Option<AcidLevels>,
    /// Number of warehouses of the private server's image
    #[arg(
        short, long, default_value_t = defaults::WAREHOUSES.0, value_parser = warehouses(),
        conflicts_with_all = ["dsn", "defaults_file"]
    )]
    pub warehouses: u32,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as its section of the help is.
    #[command(flatten)]
    pub target: TargetOptions,
}
