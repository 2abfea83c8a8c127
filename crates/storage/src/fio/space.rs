//! The file that fio works on: in a directory of its own, laid out beforehand, gone afterwards
//! however the program ends.

use crate::error::{StorageError, StorageResult, io_at};
use base::Random;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

const PREFIX: &str = "mydyno-fio-";
/// Held while the directory is used; one that nobody holds means that its owner is dead.
const LOCK: &str = "lock";
/// The lock before it is held: nobody takes a directory with it for a dead owner's.
const LOCK_BEING_MADE: &str = "lock.new";
/// What the shim sees; everything else of fio is beside it.
const DEVICE: &str = "device";
const FILE: &str = "file";
const BYTES_WANTED: u64 = 1 << 30;
const BYTES_MIN: u64 = 256 << 20;
/// This much stays free for others.
const FREE_FACTOR: u64 = 2;
const CHUNK_BYTES: usize = 1 << 20;
const CONTENT_SEED: u64 = 1;

/// A directory with the file.
#[derive(Debug)]
pub struct TestFile {
    directory: TempDir,
    /// The file's length.
    pub bytes: u64,
    _lock: File,
}

/// What the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Written, as a real device needs it.
    Random,
    /// A hole of this length: an emulated device does not look at them, and a long file has places
    /// all over it.
    Hole { bytes: u64 },
}

impl TestFile {
    /// Lays a file out in a new directory below `parent`. What killed programs left there is
    /// removed first.
    ///
    /// # Errors
    /// [`StorageError::Disk`] where there is no room; [`StorageError::BadDirectory`];
    /// [`StorageError::Io`]; [`StorageError::Interrupted`] where it was stopped.
    pub fn lay_out(parent: &Path, content: Content, stop: &AtomicBool) -> StorageResult<TestFile> {
        let parent = crate::arrange::usable(parent, None)?;
        sweep(&parent);
        let free_bytes =
            system::free_bytes(&parent).map_err(io_at("ask for the space of", &parent))?;
        let room = free_bytes / FREE_FACTOR;
        if room < BYTES_MIN {
            let what = "fio's file and a reserve".to_owned();
            let needed_bytes = BYTES_MIN * FREE_FACTOR;
            let (role, path) = (None, parent);
            return Err(StorageError::Disk { role, path, what, needed_bytes, free_bytes });
        }
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&parent);
        let directory = directory.map_err(io_at("make a directory in", &parent))?;
        let lock = hold_lock(directory.path())?;
        let device = directory.path().join(DEVICE);
        fs::create_dir(&device).map_err(io_at("make the directory", &device))?;
        let bytes = match content {
            Content::Random => BYTES_WANTED.min(room) / CHUNK_BYTES as u64 * CHUNK_BYTES as u64,
            Content::Hole { bytes } => bytes,
        };
        let file = TestFile { directory, bytes, _lock: lock };
        write(&file.path(), content, bytes, stop).map_err(io_at("lay out", file.path()))?;
        if stop.load(Ordering::Relaxed) {
            return Err(StorageError::Interrupted);
        }
        Ok(file)
    }

    /// Where fio's own files are.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The directory that is the device.
    pub(super) fn device_directory(&self) -> PathBuf {
        self.directory.path().join(DEVICE)
    }

    pub fn path(&self) -> PathBuf {
        self.device_directory().join(FILE)
    }

    /// Does the file system take direct I/O?
    pub fn takes_direct_io(&self) -> bool {
        use rustix::fs::{Mode, OFlags, open};
        open(self.path(), OFlags::RDWR | OFlags::DIRECT, Mode::empty()).is_ok()
    }
}

/// Makes the lock, which has its name only once it is held.
fn hold_lock(directory: &Path) -> StorageResult<File> {
    let new = directory.join(LOCK_BEING_MADE);
    let lock = File::create(&new).map_err(io_at("write", &new))?;
    lock.lock().map_err(io_at("lock", &new))?;
    fs::rename(&new, directory.join(LOCK)).map_err(io_at("rename", &new))?;
    Ok(lock)
}

/// Bytes that no device can compress, written past what the cache would keep. Returns early when it
/// is stopped.
fn write(path: &Path, content: Content, bytes: u64, stop: &AtomicBool) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).open(path)?;
    if let Content::Hole { bytes } = content {
        return file.set_len(bytes);
    }
    let mut random = Random::new(CONTENT_SEED, &[]);
    let mut chunk = vec![0u8; CHUNK_BYTES];
    for word in chunk.chunks_exact_mut(8) {
        word.copy_from_slice(&random.bits().to_le_bytes());
    }
    for number in 0..bytes / CHUNK_BYTES as u64 {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        // No two chunks are equal, for devices that deduplicate.
        chunk[..8].copy_from_slice(&number.to_le_bytes());
        file.write_all(&chunk)?;
    }
    file.sync_all()
}

/// Removes the directories of dead owners. What cannot be looked at is another user's and stays.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let path = entry.path();
        // One without a lock is being made this moment.
        let Ok(lock) = File::open(path.join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, PREFIX, TestFile};
    use crate::StorageError;
    use std::fs;
    use std::sync::atomic::AtomicBool;

    static GOES_ON: AtomicBool = AtomicBool::new(false);

    #[test]
    fn files_go_with_their_owner_and_left_overs_at_the_next_start() {
        let temp = tempfile::tempdir().unwrap();
        let left = temp.path().join(format!("{PREFIX}dead"));
        let young = temp.path().join(format!("{PREFIX}young"));
        let foreign = temp.path().join("foreign");
        for directory in [&left, &young, &foreign] {
            fs::create_dir(directory).unwrap();
        }
        fs::write(left.join("lock"), "").unwrap();
        let hole = Content::Hole { bytes: 1 << 40 };
        let file = TestFile::lay_out(temp.path(), hole, &GOES_ON).unwrap();
        assert!(!left.exists() && young.exists() && foreign.exists());
        let second = TestFile::lay_out(temp.path(), hole, &GOES_ON).unwrap();
        assert!(file.path().is_file());
        assert_eq!(file.path().metadata().unwrap().len(), 1 << 40);
        drop((file, second));
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2);
    }

    #[test]
    fn no_directory_no_file() {
        let hole = Content::Hole { bytes: 1 };
        assert!(TestFile::lay_out("/nonexistent/x".as_ref(), hole, &GOES_ON).is_err());
    }

    #[test]
    fn laying_out_can_be_stopped() {
        let temp = tempfile::tempdir().unwrap();
        let stopped = AtomicBool::new(true);
        let error = TestFile::lay_out(temp.path(), Content::Random, &stopped).unwrap_err();
        assert!(matches!(error, StorageError::Interrupted), "{error}");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }
}
