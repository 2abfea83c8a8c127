//! Where the files of a role go.

use device::{Profile, Role};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One place: a directory of a real device, or an emulated device.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// `/mnt/nvme0`
    Directory(PathBuf),
    /// `hdd-15k`, `my-disk.toml`, or either of them with `@/mnt/fast` behind it.
    Emulated {
        profile: Box<Profile>,
        /// Where the bytes really are; chosen where none is named.
        at: Option<PathBuf>,
    },
}

/// The places that were asked for. A role that has none is where data is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    pub places: BTreeMap<Role, Place>,
    /// Size of the modelled page cache.
    pub page_cache_bytes: Option<u64>,
    /// Count what goes to real storage too, by the shim.
    pub count: bool,
}
