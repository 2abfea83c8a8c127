//! What one measurement says, from its samples and totals.

pub(crate) mod document;
pub(crate) mod fail_if;
pub(crate) mod nodes;
pub(crate) mod price;
pub(crate) mod progress;
pub(crate) mod ranks;
pub(crate) mod remarks;
pub(crate) mod repeat_resources;
pub(crate) mod resources;
pub(crate) mod response_times;
pub(crate) mod runs;
pub(crate) mod samples;
pub mod sentences;
pub(crate) mod usage;
