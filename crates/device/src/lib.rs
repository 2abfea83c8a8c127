//! The storage device model: profiles, queues and service times; and what the shim is told and
//! tells.
//!
//! Nothing here reads a clock, a file or a process: time comes in as an argument, so that the same
//! model serves the shim and a simulator, and every run of it can be repeated.

mod address;
pub mod cut;
mod fault;
mod model;
pub mod page;
mod profile;
mod role;
mod setup;

pub use address::{FileOffset, device_address, mix};
pub use fault::{DeviceFault, FaultKind, SLOW_FACTOR, fault_of};
pub use model::{Access, Completion, Device, Full, Programmed, RequestState, Ticket};
pub use profile::{
    Array, Disk, Limits, MIXED_WRITE_SHARE, Member, Profile, ProfileError, SEQUENTIAL_QUEUE_DEPTH,
    Sheet, SolidState, builtin, builtins, is_occupancy,
};
pub use role::Role;
pub use setup::{
    CacheSetup, DeviceSetup, JournalSetup, REMOVED_SUFFIX, RoleSetup, SETUP_VARIABLE, SHARED_BYTES,
    Setup, SetupError, Sharing,
};
