//! Places for files, probing with fio, preparing the shim, its counters.

mod among;
mod arrange;
mod backing;
mod binary;
mod counters;
mod delta;
mod error;
pub mod fio;
mod library;
mod place;
pub mod probe;
mod tied;
mod variables;
pub mod verify;

pub use among::{Among, SharedMemory};
pub use arrange::{Arrangement, RoleDevice, ServerFiles, arrange, arrange_all};
pub use backing::{available_memory_bytes, is_in_memory, room_bytes};
pub use counters::ShimPage;
pub use delta::Delta;
pub use error::StorageError;
pub use library::{server_environment, shim_library};
pub use place::{nearest, parse_place, profile};
pub use tied::tie;
pub use variables::{ServerFamily, ServerKind, require_inside};
