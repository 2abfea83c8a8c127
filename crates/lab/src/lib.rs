//! Measuring: a server, a database, a run, and everything stored as it comes.
//!
//! The order is that of the design: start -> load -> warm up -> drive -> store. Nothing here interprets results or writes
//! to a terminal; a command hands in a function that is told what goes on.

mod capacity;
mod check;
mod demo;
mod devices;
mod driving;
mod error;
mod failed_transactions;
mod lengths;
mod measure;
mod named;
mod observing;
mod pacing;
mod planned;
mod pool;
mod populate;
mod preflight;
mod preset;
mod private;
mod progress;
mod quiet;
mod ramp;
mod records;
mod resumed;
mod room;
mod schemas;
mod seeds;
mod study;
mod subject;
mod watchdog;
mod workload;

pub use check::{Checked, check_subject};
pub use demo::demo;
pub use drive::{Interval, Phase};
pub use error::LabError;
pub use measure::{Measured, Place, measure};
pub use named::{NamedSpec, start_named_on, stop_named_on};
pub use pacing::connections_most;
pub use planned::{Planned, PresetOn, planned};
pub use populate::{LoadSpec, populate, populate_schemas, reach, record_load};
pub use preflight::check_meters;
pub use preset::PresetSpec;
pub use private::Resolved;
pub use progress::{OnProgress, Progress};
pub use ramp::{RampPlace, ramp};
pub use resumed::{file_system_facts, require_same};
pub use seeds::new_seed;
pub use study::{Studied, StudySpec, lab_of, missing, study, to_do};
pub use subject::{SCHEMA, Subject};
