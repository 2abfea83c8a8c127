//! Unlinked files: kept under another name for as long as a loss of power may bring them back.

use crate::path::ShortName;
use base::lock;
use device::REMOVED_SUFFIX;
use device::cut::JournalRing;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many files are kept at most; of more, the first removals count as stable.
const KEPT_MAX: usize = 64;

/// The directories in which they are, and which there are.
pub(crate) struct Removed {
    /// One for each watched directory.
    directories: Vec<Vec<u8>>,
    kept: Mutex<[Option<RemovedFile>; KEPT_MAX]>,
    count: AtomicUsize,
}

#[derive(Clone, Copy)]
pub(crate) struct RemovedFile {
    pub(crate) device: u8,
    /// Which of the watched directories it was in.
    pub(crate) directory: usize,
    pub(crate) inode: u64,
    /// The event at which its removal was over.
    pub(crate) over: u64,
}

impl Removed {
    /// # Errors
    /// Where a directory cannot be made.
    pub(crate) fn new(directories: &[Vec<u8>]) -> Result<Removed, String> {
        let beside = |directory: &Vec<u8>| {
            let beside = [directory.as_slice(), REMOVED_SUFFIX.as_bytes()].concat();
            let path = std::path::Path::new(OsStr::from_bytes(&beside));
            std::fs::create_dir_all(path)
                .map_err(|error| format!("{} cannot be made: {error}", path.display()))?;
            Ok(beside)
        };
        Ok(Removed {
            directories: directories.iter().map(beside).collect::<Result<_, String>>()?,
            kept: Mutex::new([None; KEPT_MAX]),
            count: AtomicUsize::new(0),
        })
    }

    /// `None` where the directory's name is too long.
    pub(crate) fn name(&self, directory: usize, inode: u64) -> Option<ShortName> {
        ShortName::of_number(&self.directories[directory], inode)
    }

    pub(crate) fn unlink(&self, directory: usize, inode: u64) {
        if let Some(name) = self.name(directory, inode) {
            let _ = rustix::fs::unlink(name.as_c_str());
        }
    }

    /// Where there are too many, the first removal counts as stable, and with it all that was
    /// logged before.
    pub(crate) fn add(&self, file: RemovedFile, ring: &JournalRing) {
        let mut kept = lock(&self.kept);
        // `None`, which is free, is less than any event.
        let over = |slot: &&mut Option<RemovedFile>| slot.map(|file| file.over);
        let Some(slot) = kept.iter_mut().min_by_key(over) else { return };
        match slot.replace(file) {
            Some(first) => {
                ring.names_are_written(first.device, first.over);
                self.unlink(first.directory, first.inode);
            }
            None => {
                self.count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// A flush is over: what it made stable is gone for good.
    pub(crate) fn forget_stable(&self, ring: &JournalRing) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        for slot in lock(&self.kept).iter_mut() {
            let is_stable = |file: &RemovedFile| file.over < ring.flushed(file.device);
            if let Some(file) = slot.take_if(|file| is_stable(file)) {
                self.unlink(file.directory, file.inode);
                self.count.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}
