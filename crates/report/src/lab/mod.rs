//! A lab of several cells: what its dimensions do, side by side.

pub mod causes;
pub mod comparisons;
pub mod curves;
pub mod device_effects;
pub mod drills;
pub mod effects;
pub mod grids;
pub mod missing;
pub mod over_time;
mod published;
pub mod sweeps;
