//! What the numbers of the results file mean: rates and shares from raw samples, costs per transaction, and what bound a run.

mod bound;
mod document;
mod per_transaction;
mod price;
mod resources;
mod samples;

pub use bound::{Bound, BoundBy};
pub use document::{Measurement, measurement};
pub use per_transaction::PerTransaction;
pub use price::PriceResources;
pub use resources::{
    DiskResources, DriverResources, HostResources, PowerMeter, PowerResources, ProcessResources,
    Resources, ServerResources, resources,
};
pub use samples::{Samples, Step, Window};
