//! A lab of several cells: what its dimensions do, side by side.

pub mod account;
pub mod causes;
pub mod comparisons;
pub mod curves;
pub mod drills;
pub mod effects;
mod grid;
pub mod missing;
pub mod numbers;
pub mod over_time;
pub mod published;
pub mod sweeps;
