//! Measuring: a server, a database, a run, and everything stored as it comes.
//!
//! The order is that of the design: start -> load -> warm up -> drive -> store. Nothing here
//! interprets results or writes to a terminal; a command hands in a function that is told what goes
//! on.

mod error;
mod eta;
mod measure;
mod progress;
mod schedule;
mod stop;
mod target;

pub use drive::{FailedTries, FailuresByCode, Interval, Phase, Silence};
pub use error::{LabError, LabResult};
pub use eta::Eta;
pub use measure::acid::{AcidLevels, test_acid};
pub use measure::check::{Checked, check_subject};
pub use measure::fleet_follower::{FleetAsked, FleetWork};
pub use measure::preflight::check_meters;
pub use measure::seeds::new_seed;
pub use oltp::DigestOptions;
pub use progress::{Job, OnProgress, Progress};
pub use schedule::demo::{DILATION as DEMO_DILATION, planned_demo};
pub use schedule::machine::{drafted, planned};
pub use schedule::planned::{Planned, PresetOn, planned_cell, planned_repeats};
pub use schedule::run_lab::{LabRunSummary, require_possible};
pub use schedule::stored::require_idle;
pub use schedule::trials::TrialCell;
pub use schedule::turn::{LabRun, LabRunOptions};
pub use stop::comes_within as stop_comes_within;
pub use target::digests::workload_of_digests;
pub use target::dropping::{DroppedDatabase, drop_databases};
pub use target::kept::NamedSpec;
pub use target::named::{start_named_on, stop_named_on};
pub use target::populate::{load_options, populate_schemas};
pub use target::preset::{PresetSpec, cell_preset};
pub use target::private::ResolvedPrivate;
pub use target::resolved::{external, start_server};
pub use target::snapshot::{SnapshotAsked, account_of, snapshot_of};
pub use target::subject::{SCHEMA, Subject};
pub use tpcc::acid::{AcidFinding, AcidVerdict, Phenomenon};
pub use tpcc::{CheckSet, LoadOptions};
