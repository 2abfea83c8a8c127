//! What a lab says: its cells, what they differ in, and what that does.

pub(crate) mod answer;
pub(crate) mod cells;
pub(crate) mod comparisons;
pub(crate) mod device_effects;
pub(crate) mod drills;
pub(crate) mod effects;
pub(crate) mod glance;
pub(crate) mod interference;
pub(crate) mod machines;
pub(crate) mod matrix;
pub(crate) mod outcomes;
pub(crate) mod pairs;
pub(crate) mod profiles;
pub(crate) mod published;
pub(crate) mod published_cells;
pub(crate) mod ratios;
pub(crate) mod reversals;
pub(crate) mod sweep;
pub(crate) mod unlike;
