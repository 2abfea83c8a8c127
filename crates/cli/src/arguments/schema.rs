//! What of the schema may be chosen.

use super::target::TargetArguments;
use crate::failure::Failure;
use base::{Exit, Warehouses, limits};
use clap::Args;
use spec::{DatabaseKind, PopulationSpec, SbtestTables, WorkloadKind, defaults};
use tpcc::schema::PARTITIONS_MAX;

#[derive(Args, Clone, Copy, Default)]
pub struct SchemaArguments {
    /// Leave out the foreign keys and the indexes that only they need
    #[arg(long)]
    pub no_foreign_keys: bool,
    /// Number of partitions, by hash of the warehouse, of each table whose primary key has the
    /// warehouse; needs --no-foreign-keys, because MySQL has no foreign keys on partitioned tables
    /// [default: none]
    #[arg(
        long,
        value_name = "N",
        requires = "no_foreign_keys",
        default_value_t = 0,
        hide_default_value = true,
        value_parser = clap::value_parser!(u32).range(0..=i64::from(PARTITIONS_MAX))
    )]
    pub partitions: u32,
}

#[derive(Args, Clone, Copy)]
pub struct SbtestArguments {
    /// Number of tables of sysbench-oltp: sbtest1, sbtest2 and so on [default: 1]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::SBTEST_TABLES_MAX)))]
    pub tables: Option<u32>,
    /// Number of rows of each table of sysbench-oltp, each about 240 bytes on disk [default: 10000]
    #[arg(long, value_name = "ROWS")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::SBTEST_ROWS_MAX)))]
    pub table_size: Option<u32>,
}

impl SbtestArguments {
    fn tables(self) -> SbtestTables {
        SbtestTables {
            count: self.tables.unwrap_or(defaults::SBTEST.count),
            rows: self.table_size.unwrap_or(defaults::SBTEST.rows),
        }
    }

    /// Refuses to choose what is there already, or is not of this workload.
    ///
    /// # Errors
    /// For a server that is not private, and for other workloads.
    pub fn validate(
        self,
        target: &TargetArguments,
        workload: &WorkloadKind,
    ) -> Result<(), Failure> {
        let is_of_use = target.is_private() && workload.database() == DatabaseKind::Sbtest;
        if is_of_use || (self.tables, self.table_size) == (None, None) {
            return Ok(());
        }
        let message = "--tables and --table-size are for databases that this command makes for \
                       workload sysbench-oltp: use --engine, or give them to `mydyno load`";
        Err(Failure::new(Exit::Usage, message))
    }
}

impl SchemaArguments {
    /// The database for this workload that is to be made.
    pub fn population(
        self,
        workload: &WorkloadKind,
        warehouses: u32,
        sbtest: SbtestArguments,
        seed: u64,
    ) -> PopulationSpec {
        PopulationSpec {
            database: workload.database(),
            warehouses: Warehouses(warehouses),
            shard: None,
            foreign_keys: !self.no_foreign_keys,
            partitions: self.partitions,
            sbtest: sbtest.tables(),
            seed,
        }
    }

    /// Refuses to choose what is there already.
    ///
    /// # Errors
    /// For a server that is not private.
    pub fn validate(self, target: &TargetArguments) -> Result<(), Failure> {
        if target.is_private() || !self.no_foreign_keys {
            return Ok(());
        }
        let message = "--no-foreign-keys and --partitions are for databases that this command \
            makes: use --engine, or give them to `mydyno load`";
        Err(Failure::new(Exit::Usage, message))
    }
}
