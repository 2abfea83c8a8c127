//! Servers that are started together on one machine: what they are placed on is theirs together.

use crate::error::{StorageResult, io_at};
use device::{SHARED_BYTES, Sharing};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// Servers that are started together, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceGroup {
    /// How many there are; at least 1.
    pub count: u32,
    /// Where they share their emulated devices; where it is not there yet, the arrangement is a
    /// trial that starts nothing.
    pub memory: Option<String>,
}

impl InstanceGroup {
    /// The only one.
    pub fn of_one() -> InstanceGroup {
        InstanceGroup { count: 1, memory: None }
    }

    /// What all of them take, where one takes so much.
    pub(crate) fn all(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(self.count.into())
    }

    /// The part of each of what one machine has.
    pub(crate) fn part(&self, bytes: u64) -> u64 {
        bytes / u64::from(self.count.max(1))
    }

    /// What the server of this number, from 0, is told of the shared memory.
    pub(crate) fn sharing(&self, number: u32) -> Option<Sharing> {
        let memory = self.memory.clone()?;
        Some(Sharing { memory, process: number })
    }
}

/// Memory for the emulated devices that servers share. It has no name in any file system, so that
/// nothing of it stays; the servers reach it through this process and keep it while they live.
#[derive(Debug)]
pub struct SharedMemory {
    file: OwnedFd,
}

impl SharedMemory {
    /// Memory in which no device has been made. Of its length only what is used is ever there.
    pub fn new() -> StorageResult<SharedMemory> {
        let failed = || io_at("make memory for shared devices", Path::new("memfd"));
        let file = memfd_create("mydyno-devices", MemfdFlags::CLOEXEC).map_err(failed())?;
        ftruncate(&file, SHARED_BYTES as u64).map_err(failed())?;
        Ok(SharedMemory { file })
    }

    /// Where another process finds it, while this one lives and has it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::{InstanceGroup, SharedMemory};
    use device::SHARED_BYTES;
    use std::fs::OpenOptions;
    use std::io::{Read, Write};

    #[test]
    fn memory_is_found_by_its_path_until_it_is_dropped() {
        let memory = SharedMemory::new().unwrap();
        let path = memory.path();
        let open = || OpenOptions::new().read(true).write(true).open(&path);
        let mut first = open().unwrap();
        assert_eq!(first.metadata().unwrap().len(), SHARED_BYTES as u64);
        first.write_all(b"x").unwrap();
        let mut byte = [0];
        open().unwrap().read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"x");
        drop(memory);
        assert!(open().is_err());
    }

    #[test]
    fn each_has_its_part() {
        let group =
            |memory: Option<&str>| InstanceGroup { count: 4, memory: memory.map(str::to_owned) };
        assert_eq!(group(None).all(25), 100);
        assert_eq!(group(None).part(100), 25);
        assert_eq!(group(None).sharing(1), None);
        let sharing = group(Some("m")).sharing(3).unwrap();
        assert_eq!((sharing.process, sharing.memory.as_str()), (3, "m"));
        assert_eq!((InstanceGroup::of_one().all(7), InstanceGroup::of_one().part(7)), (7, 7));
    }
}
