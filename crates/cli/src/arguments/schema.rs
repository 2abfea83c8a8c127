//! What of the schema may be chosen.

use super::target::TargetArguments;
use crate::failure::Failure;
use base::{Exit, Warehouses};
use clap::Args;
use spec::TpccTables;
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

impl SchemaArguments {
    /// The database that is to be made.
    pub fn population(self, warehouses: u32, seed: u64) -> TpccTables {
        TpccTables {
            warehouses: Warehouses(warehouses),
            seed,
            foreign_keys: !self.no_foreign_keys,
            partitions: self.partitions,
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
        let message = "--no-foreign-keys and --partitions are for databases that this command makes: use --engine, or give them to \
                     `mydyno load`";
        Err(Failure::new(Exit::Usage, message))
    }
}
