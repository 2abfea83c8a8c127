//! The server under test: what it is made of, how it starts, and what it holds.

pub(crate) mod changed;
pub(crate) mod cluster;
pub(crate) mod digests;
pub(crate) mod disk_space;
pub(crate) mod dropping;
pub(crate) mod instruments;
pub(crate) mod kept;
pub(crate) mod membership;
pub(crate) mod named;
pub(crate) mod nodes;
pub(crate) mod placed;
pub(crate) mod pool;
pub(crate) mod populate;
pub(crate) mod preset;
pub(crate) mod private;
pub(crate) mod resolved;
pub(crate) mod revival;
pub(crate) mod schemas;
pub(crate) mod sessions;
pub(crate) mod snapshot;
pub(crate) mod subject;
