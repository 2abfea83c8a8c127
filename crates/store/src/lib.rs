//! The results file: everything about a lab in one SQLite file, written so that a `kill -9` at any
//! point loses at most what the current step had not yet stored.
//!
//! The crate stores and reads; it does not interpret. [`Results`] is the file, the structs of
//! `types` are its rows, and [`Summary`] is the JSON document of one measurement, computed from the
//! file alone. `docs/results-file.md` describes the tables for people who query them with SQL.

mod blocks;
mod cell_transactions;
mod device_io;
mod document;
mod drills;
mod error;
mod histogram;
mod ids;
mod in_flight;
mod instances;
mod interval_times;
mod machines;
mod merge;
mod open;
mod presets;
mod process;
mod ramps;
mod ranks;
mod read;
mod redact;
mod redact_plan;
mod repeats;
mod replicas;
mod results;
mod row;
mod samples;
mod statements;
mod summary;
mod summary_devices;
mod summary_in_flight;
mod summary_terminals;
mod summary_time;
mod totals;
mod types;
mod values;
mod write;
mod write_cell;

pub use blocks::*;
pub use cell_transactions::*;
pub use device_io::*;
pub use drills::*;
pub use error::StoreError;
pub use histogram::empty_histogram;
pub use ids::*;
pub use in_flight::*;
pub use interval_times::*;
pub use machines::LabMachine;
pub use merge::{MergeError, MergeSummary, MergedFile, MergedLab, MergedRepeats, merge};
pub use open::{APPLICATION_ID, FORMAT};
pub use presets::*;
pub use ramps::*;
pub use ranks::*;
pub use redact::{command_line, redact};
pub use redact_plan::redact_plan;
pub use repeats::*;
pub use replicas::*;
pub use results::Results;
pub use samples::*;
pub use statements::*;
pub use summary::*;
pub use summary_devices::*;
pub use summary_in_flight::*;
pub use summary_terminals::*;
pub use summary_time::*;
pub use totals::{TimeTotals, TransactionTotals, WindowTotals};
pub use types::*;
