//! The state of a measurement that goes on, and its exposition for Prometheus. Whoever measures
//! tells [`State`] what happens; terminals and pages show it, and are not known here.

mod exporter;
mod exposition;
mod state;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
mod usage;

pub use exporter::{Exporter, ListenError};
pub use state::{About, HISTORY, LabTurn, RecentLoad, Stage, State, TypeState};
pub use usage::{IoBy, IoRow, Usage};
