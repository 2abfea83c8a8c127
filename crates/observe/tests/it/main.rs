//! Sampling, and sources beside each other: the clock of the sampler, a real exporter, and the
//! metrics that the documentation names. What needs a process to itself is in `alone`.

#[path = "../common/mod.rs"]
mod common;
mod documented;
mod exporter;
mod sampler;
