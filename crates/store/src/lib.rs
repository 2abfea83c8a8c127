//! The results file: everything about a lab in one SQLite file, written so that a `kill -9` at any
//! point loses at most what the current step had not yet stored.
//!
//! The crate stores and reads; it does not interpret. [`Results`] is the file, the structs of
//! `rows` are its rows, and [`Summary`] is the JSON document of one measurement, computed from the
//! file alone. `docs/results-file.md` describes the tables for people who query them with SQL.

mod cell_facts;
mod document;
mod error;
mod histogram;
mod machines;
mod merge;
mod open;
mod process;
mod ramps;
mod read;
mod redact;
mod redact_plan;
mod results;
mod row;
mod rows;
mod samples;
mod summary;
mod summary_devices;
mod summary_in_flight;
mod summary_terminals;
mod summary_time;
mod totals;
mod values;
mod write;
mod write_cell;

pub use cell_facts::{ABSENT, Aspect, Fact};
pub use document::ByTransaction;
pub use error::{StoreError, StoreResult};
pub use histogram::empty_histogram;
pub use machines::{FILE_SYSTEM_OF, LabMachine};
pub use merge::{MergeError, MergeSummary, MergedFile, MergedLab, MergedRepeats, merge};
pub use open::{APPLICATION_ID, FORMAT};
pub use read::WindowTimes;
pub use redact::{command_line, redact};
pub use redact_plan::redact_plan;
pub use results::Results;
pub use rows::*;
pub use samples::*;
pub use summary::*;
pub use summary_devices::*;
pub use summary_in_flight::*;
pub use summary_terminals::*;
pub use summary_time::*;
pub use totals::{TimeTotals, TransactionTotals, WindowTotals};
pub use values::*;
