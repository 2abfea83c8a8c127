//! Places for files, probing with fio, preparing the shim, its counters.

mod arrange;
mod counters;
mod error;
mod place;

pub use arrange::{Arrangement, ServerFiles, arrange};
pub use counters::ShimPage;
pub use error::StorageError;
pub use place::{Place, Placement};
