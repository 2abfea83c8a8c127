//! From places to what a server is started with.

use crate::error::StorageError;
use crate::place::Placement;
use std::ffi::OsString;
use std::path::PathBuf;

/// What is known of a server whose files are to be placed.
#[derive(Clone, Debug)]
pub struct ServerFiles {
    /// The server's binary: it must take a preloaded library.
    pub binary: PathBuf,
    /// Bytes that its files will need.
    pub needed_bytes: u64,
    pub page_size_bytes: u32,
    /// Variables that the user set.
    pub set: Vec<(String, String)>,
}

/// What a server is started with so that its files are where they should be.
#[derive(Clone, Debug, Default)]
pub struct Arrangement {
    /// The data directory, where it is not in the server's own directory. Does not exist yet.
    pub data_directory: Option<PathBuf>,
    /// Further directories that `set` names. Do not exist yet.
    pub scratch: Vec<PathBuf>,
    pub set: Vec<(String, String)>,
    pub environment: Vec<(OsString, OsString)>,
    /// Files for the server's own directory, which is its working directory: the shim's setup and page.
    pub files: Vec<(String, Vec<u8>)>,
    /// For people.
    pub notes: Vec<String>,
    /// Names each role's device and where its bytes really are, for results: `(role, device, backing)`.
    pub devices: Vec<(device::Role, String, String)>,
}

/// Decides where files go.
///
/// # Errors
/// Where a place cannot be used, or the server would not load the shim.
pub fn arrange(placement: &Placement, files: &ServerFiles) -> Result<Arrangement, StorageError> {
    let _ = (placement, files);
    Ok(Arrangement::default())
}
