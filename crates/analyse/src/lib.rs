//! What the numbers of the results file mean: rates and shares from raw samples, costs per transaction, and what bound a run.

mod bound;
mod document;
mod load;
mod per_transaction;
mod price;
mod resources;
mod samples;
mod usage;

pub use bound::{Bound, BoundBy};
pub use document::{Measurement, measurement};
pub use load::Intervals;
pub use per_transaction::{IoCountedBy, PerTransaction};
pub use price::PriceResources;
pub use resources::{
    DiskResources, DriverResources, HostMachine, HostResources, PowerMeter, PowerResources,
    ProcessResources, Resources, ServerResources, resources,
};
pub use samples::{Samples, Step, Window};
pub use usage::{
    CpuShares, IoCounters, IoRates, cores_used, emulated_iowait, lock_waiting, pool_dirty,
    pool_miss,
};
