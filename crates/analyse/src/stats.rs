//! How well numbers are known: means, ratios, blocks, trends.

pub(crate) mod blocks;
pub(crate) mod drifting;
pub(crate) mod linear;
pub(crate) mod memory;
#[cfg(test)]
pub(crate) mod noise;
pub(crate) mod precision;
pub(crate) mod sequential;
pub(crate) mod statistics;
pub(crate) mod steady;
pub(crate) mod student;
