//! The shim's page of a running process.

use crate::error::{StorageResult, io_at};
use device::DeviceFault;
use device::page::{Global, Snapshot, global_word};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The page of a server that runs under the shim.
#[derive(Clone, Debug)]
pub struct ShimPage {
    path: PathBuf,
}

impl ShimPage {
    /// The file's name in the server's own directory.
    pub const FILE: &str = "shim.page";
    /// The shim's setup, beside it.
    pub const SETUP_FILE: &str = "shim.toml";

    /// The page in a server's own directory.
    pub fn in_directory(directory: &Path) -> ShimPage {
        ShimPage { path: directory.join(Self::FILE) }
    }

    /// What it says now.
    pub fn snapshot(&self) -> StorageResult<Snapshot> {
        let io = || io_at("read the shim's page", &self.path);
        let bytes = std::fs::read(&self.path).map_err(io())?;
        let broken = || io()(std::io::Error::other("it is no page of this version"));
        Snapshot::decode(&bytes).ok_or_else(broken)
    }

    /// What the shim was told.
    pub fn setup_text(&self) -> StorageResult<String> {
        let path = self.path.with_file_name(Self::SETUP_FILE);
        std::fs::read_to_string(&path).map_err(io_at("read the shim's setup", &path))
    }

    /// From now on devices are emulated, or from now on they are not.
    pub fn arm(&self, armed: bool) -> StorageResult<()> {
        self.set(Global::Armed, u64::from(armed))
    }

    /// Threads that serve clients are looked at from their next connection on, or they are not.
    pub fn look_at_sessions(&self, looked_at: bool) -> StorageResult<()> {
        self.set(Global::NoAccount, u64::from(!looked_at))
    }

    /// From now on requests go wrong like this, or from now on they do not.
    pub fn set_fault(&self, fault: Option<DeviceFault>) -> StorageResult<()> {
        self.set(Global::Fault, fault.map_or(0, DeviceFault::word))
    }

    fn set(&self, word: Global, value: u64) -> StorageResult<()> {
        let at = global_word(word) as u64 * 8;
        // Without truncation: the process has it mapped.
        let file = OpenOptions::new().write(true).open(&self.path);
        file.and_then(|file| file.write_all_at(&value.to_ne_bytes(), at))
            .map_err(io_at("write the shim's page", &self.path))
    }

    /// Has a process taken it? Where none has after the start of a server, the shim was not loaded.
    pub fn is_taken(&self) -> StorageResult<bool> {
        Ok(self.snapshot()?.global(Global::Process) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::ShimPage;
    use device::page::{Global, Snapshot};

    #[test]
    fn arming_writes_one_word() {
        let temp = tempfile::tempdir().unwrap();
        let page = ShimPage::in_directory(temp.path());
        assert!(page.snapshot().is_err() && page.arm(true).is_err());
        std::fs::write(temp.path().join(ShimPage::FILE), Snapshot::fresh()).unwrap();
        assert!(!page.is_taken().unwrap());
        let before = page.snapshot().unwrap();
        page.arm(true).unwrap();
        assert_eq!(page.snapshot().unwrap().global(Global::Armed), 1);
        page.arm(false).unwrap();
        assert_eq!(page.snapshot().unwrap(), before);
    }
}
