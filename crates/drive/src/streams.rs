//! The random streams of a run: the first part of the path of each. Two with one number would give
//! the same draws.

/// Inputs of a connection or terminal.
pub const INPUTS: u64 = 1;
/// Pauses of a connection between tries.
pub(crate) const PAUSES: u64 = 2;
/// Arrivals of a worker.
pub(crate) const ARRIVALS: u64 = 3;
/// Think times of a terminal.
pub(crate) const THINKING: u64 = 4;
/// More inputs of a connection, of a workload whose [`INPUTS`] are those of another.
pub const MORE_INPUTS: u64 = 5;
/// The moment at which a drill ends its server.
pub const END_OF_SERVER: u64 = 6;
