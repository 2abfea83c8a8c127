//! Places for files, probing with fio, preparing the shim, its counters.

mod arrange;
mod backing;
mod binary;
mod counters;
mod delta;
mod error;
pub mod fio;
pub mod fit;
mod instance_group;
pub mod iostat;
mod library;
mod place;
mod power_cut;
pub mod probe;
mod regular;
mod variables;
pub mod verify;

pub use arrange::{Arrangement, RoleDevice, ServerFiles, arrange, arrange_all, cores};
pub use backing::{available_memory_bytes, is_in_memory, room_bytes};
pub use counters::ShimPage;
pub use delta::Delta;
pub use error::{StorageError, StorageResult};
pub use instance_group::{InstanceGroup, SharedMemory};
pub use library::{clock_from_now, server_environment, shim_library};
pub use place::{parse_place, profile};
pub use power_cut::{PowerCut, cut_power};
pub use regular::{SymbolicLinks, read_regular};
pub use variables::require_inside;
