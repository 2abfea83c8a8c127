//! The plan file: a TOML file that names what is to be measured, as a matrix. [`Plan::parse`] reads
//! it, [`Plan::cells`] expands it, [`execution_order`] says in which order its cells are measured,
//! [`Plan::needs`] what that takes.
//!
//! Everything that is wrong with a plan is told with line and column, before anything starts.
//! Nothing here executes anything: names of engines, presets and places are handed in, so that this
//! crate reads no file and starts no process.

mod cells;
mod confined;
mod dimension;
mod error;
mod keys;
mod kinds;
mod lab_options;
mod needs;
mod options;
mod order;
mod parse;
mod plan;
mod read;
mod schema;
#[cfg(test)]
mod tests;
mod to_cell;
mod values;

pub use cells::KnownNames;
pub use dimension::Setting;
pub use error::PlanError;
pub use kinds::{DURATION_MAX_MS, MeanPrecision, SetVariable, Time};
pub use needs::{
    CellNeeds, Files, Host, MissingImage, Needs, Sizes, gigabytes, loading_redo_file_bytes,
    size_in_warehouses, tables_bytes,
};
pub use options::{
    CellOptions, CrashOptions, DatabaseOptions, DriveOptions, MetersOptions, RampOptions,
    ServerOptions, StorageOptions, TargetOptions,
};
pub use order::{Order, Shard, Turn, TurnSchedule, execution_order};
pub use parse::PLAN_BYTES_MAX;
pub use plan::{Plan, PlannedCell};
pub use schema::json_schema;
pub use to_cell::ReadPlace;
pub use values::Given;

/// Most cells of a matrix.
pub const CELLS_MAX: usize = 10_000;
