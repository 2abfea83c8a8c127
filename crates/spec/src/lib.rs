//! What is measured. A [`Cell`] says it whole, whoever asks for it: `mydyno run`, `ramp`, `demo` or
//! a plan. [`Cell::validate`] says what contradicts itself in one, [`defaults`] what holds where
//! nothing is said.
//!
//! Nothing here executes anything or reads a file.

mod cell;
pub mod defaults;
mod dilate;
mod fault;
mod identity;
mod length;
mod load;
mod place;
mod problem;
mod ramp_limits;
mod rand_type;
mod rate;
mod server;
mod topology;
mod validate;
mod workload;

pub use cell::{Cell, Lengths, Meters};
pub use dilate::{Dilate, OF_REAL_DEVICES, parse_dilation};
pub use fault::Fault;
pub use length::{AUTO_EXPECTED, Length, PRECISION_LEAST, PRECISION_MOST, parse_precision};
pub use load::{AccountFrom, Connections, Isolation, Load, OpenLoop, Pauses, Spacing, Style};
pub use place::{DatabaseBytes, Place, Placement, Used, UsedShare, used_in_words};
pub use problem::Problem;
pub use ramp_limits::{PLATEAU_ELASTICITY, RampLimits};
pub use rand_type::RandType;
pub use rate::{Rate, RateStep};
pub use server::{External, PopulationSpec, Preset, Private, Scale, Server};
pub use topology::Topology;
pub use workload::{DatabaseKind, OltpMix, SbtestTables, ScriptDatabase, ScriptKind, WorkloadKind};
