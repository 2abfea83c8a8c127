//! A loss of power of emulated devices.
//!
//! [`Arrangement::record_writes`] asks the shim for a journal. When the server has been killed,
//! [`cut_power`] turns the files as it left them into what its devices would have had. The steps
//! and the promises are in `docs/power-cut.md`.

use crate::arrange::{Arrangement, random_tag};
use crate::backing::{self, is_in_memory, is_of_type};
use crate::counters::ShimPage;
use crate::error::{StorageError, StorageResult, io_at};
use device::cut::{
    CutCounts, CutFiles, CutImage, FileIdentity, FileSystem, Journal, PowerLoss, apply,
};
use device::{JournalSetup, REMOVED_SUFFIX, Setup};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What is kept of the past: as much as a volatile cache of any profile that comes with mydyno
/// holds, twice.
const RING_BYTES: u64 = 128 << 20;
/// `statfs` says so of XFS.
const XFS_MAGIC: u64 = 0x5846_5342;
/// Files that are open at once.
const OPEN_MAX: usize = 128;

/// What a loss of power took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    pub counts: CutCounts,
    /// Writes that were unstable and count as written all the same, because the journal had no room
    /// for them any more.
    pub forced_writes: u64,
    /// Changes that the journal could not hold at all.
    pub unrecorded: u64,
}

impl Arrangement {
    /// From the start of the server on, records what it does to its files on emulated devices. The
    /// journal is in memory where that has room (128 MiB), else beside the server's other files. To
    /// be called once, before the server is started.
    ///
    /// # Errors
    /// [`StorageError::NotRecordable`] where no device is emulated.
    pub fn record_writes(&mut self) -> StorageResult<()> {
        let is_setup = |(name, _): &&mut (String, Vec<u8>)| name == ShimPage::SETUP_FILE;
        let not_recordable = || StorageError::NotRecordable {
            why: "none of its devices is emulated; name a profile for --data",
        };
        let directory = self.journal_directory();
        let (_, text) = self.files.iter_mut().find(is_setup).ok_or_else(not_recordable)?;
        let mut setup = Setup::parse(&String::from_utf8_lossy(text))?;
        if setup.devices.is_empty() {
            return Err(not_recordable());
        }
        let in_memory = directory.as_ref().map(|directory| directory.join("journal"));
        let file = in_memory.unwrap_or_else(|| "shim.journal".into()).display().to_string();
        setup.journal = Some(JournalSetup { file, ring_bytes: RING_BYTES });
        *text = setup.to_toml()?.into_bytes();
        // The shim makes what is missing; what is not in the server's own directory is removed with
        // the server.
        let beside = setup.directories.iter().map(|name| format!("{name}{REMOVED_SUFFIX}"));
        let beside = beside.map(PathBuf::from).filter(|path| path.is_absolute());
        self.scratch.extend(directory.into_iter().chain(beside));
        Ok(())
    }

    /// A new directory in memory.
    fn journal_directory(&self) -> Option<PathBuf> {
        let beside = self.data_directory.as_deref().and_then(Path::parent);
        let memory = beside.filter(|parent| is_in_memory(parent)).map(Path::to_owned);
        let has_room = |files: &backing::MemoryFiles| files.free_bytes > 2 * RING_BYTES;
        let other = || backing::memory_files(true).into_iter().find(has_room);
        let parent = memory.or_else(|| other().map(|files| files.directory))?;
        Some(parent.join(format!("mydyno-{}-journal", random_tag())))
    }
}

/// Takes the power of the emulated devices of a server that has been killed, whose own directory
/// this is, and leaves in its place what they would have had:
///
/// 1. The journal tells what the server wrote, what that replaced, and what it flushed.
/// 2. What was promised is kept. Of the rest, the seed chooses: the same journal and seed give the
///    same image.
/// 3. From the last change to the first that is lost, all are undone; then those that are kept are
///    done again.
/// 4. Files whose removal is kept are removed for good.
///
/// The server's process must be gone; afterwards it can be started as after any loss of power. Who
/// is killed meanwhile leaves files that are no image: they are to be given up.
///
/// # Errors
/// [`StorageError::NotRecordable`] where it ran without a journal; where files cannot be changed.
pub fn cut_power(directory: &Path, seed: u64) -> StorageResult<PowerCut> {
    let setup = Setup::parse(&ShimPage::in_directory(directory).setup_text()?)?;
    let Some(recorded) = &setup.journal else {
        return Err(StorageError::NotRecordable { why: "it was started without a journal" });
    };
    let path = directory.join(&recorded.file);
    let bytes = fs::read(&path).map_err(io_at("read the journal", &path))?;
    let journal = Journal::decode(bytes).map_err(io::Error::other);
    let journal = journal.map_err(io_at("read the journal", &path))?;
    let rules: Vec<PowerLoss> =
        setup.devices.iter().map(|device| device.profile.power_loss()).collect();
    // Of others than XFS no more is known than that ext4 promises most: what it may leave is legal
    // on all.
    let data = setup.directories.first().map(|data| directory.join(data));
    let is_xfs = data.is_some_and(|data| is_of_type(&data, XFS_MAGIC));
    let file_system = if is_xfs { FileSystem::Xfs } else { FileSystem::Ext4 };
    let image = CutImage::choose(&journal, &rules, file_system, seed);
    let mut files = FoundFiles::default();
    let mut removed = Vec::new();
    for name in &setup.directories {
        let watched = directory.join(name);
        files.find(&watched)?;
        let real = fs::canonicalize(&watched).map_err(io_at("find", &watched))?;
        removed.push(PathBuf::from(format!("{}{REMOVED_SUFFIX}", real.display())));
    }
    for directory in &removed {
        files.find(directory)?;
    }
    apply(&journal, &image, &mut files)?;
    for directory in &removed {
        empty(directory).map_err(io_at("remove what is in", directory))?;
    }
    Ok(PowerCut {
        counts: image.counts,
        forced_writes: journal.forced_writes,
        unrecorded: journal.unrecorded,
    })
}

/// Directories in it are none of the shim's.
fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        fs::remove_file(entry?.path())?;
    }
    Ok(())
}

/// The files of a server, by what the journal calls them.
#[derive(Default)]
struct FoundFiles {
    paths: HashMap<FileIdentity, PathBuf>,
    open: HashMap<FileIdentity, File>,
}

impl FoundFiles {
    /// All regular files below a directory.
    fn find(&mut self, directory: &Path) -> StorageResult<()> {
        let unread = || io_at("list the files of", directory);
        for entry in fs::read_dir(directory).map_err(unread())? {
            let path = entry.map_err(unread())?.path();
            let status = fs::symlink_metadata(&path).map_err(io_at("look at", &path))?;
            if status.is_dir() {
                self.find(&path)?;
            } else if status.is_file() {
                let identity = FileIdentity { file_system: status.dev(), inode: status.ino() };
                self.paths.insert(identity, path);
            }
        }
        Ok(())
    }

    /// Does something with a file, where it is there.
    fn with<T>(
        &mut self,
        file: FileIdentity,
        run: impl FnOnce(&File) -> io::Result<T>,
    ) -> StorageResult<Option<T>> {
        let Some(path) = self.paths.get(&file) else {
            return Ok(None);
        };
        if self.open.len() >= OPEN_MAX {
            self.open.clear();
        }
        let open = match self.open.entry(file) {
            std::collections::hash_map::Entry::Occupied(open) => open.into_mut(),
            std::collections::hash_map::Entry::Vacant(room) => {
                let opened = OpenOptions::new().read(true).write(true).open(path);
                room.insert(opened.map_err(io_at("open", path))?)
            }
        };
        run(open).map(Some).map_err(io_at("change", path))
    }
}

impl CutFiles for FoundFiles {
    type Error = StorageError;

    fn length(&mut self, file: FileIdentity) -> StorageResult<Option<u64>> {
        self.with(file, |file| Ok(file.metadata()?.len()))
    }

    fn read(&mut self, file: FileIdentity, range: Range<u64>) -> StorageResult<Vec<u8>> {
        let bytes = self.with(file, |file| {
            let end = range.end.min(file.metadata()?.len());
            let mut bytes = vec![0; end.saturating_sub(range.start) as usize];
            file.read_exact_at(&mut bytes, range.start)?;
            Ok(bytes)
        })?;
        Ok(bytes.unwrap_or_default())
    }

    fn write(&mut self, file: FileIdentity, offset: u64, bytes: &[u8]) -> StorageResult<()> {
        self.with(file, |file| file.write_all_at(bytes, offset)).map(drop)
    }

    fn set_length(&mut self, file: FileIdentity, length: u64) -> StorageResult<()> {
        self.with(file, |file| file.set_len(length)).map(drop)
    }

    fn put(&mut self, file: FileIdentity, name: &[u8]) -> StorageResult<()> {
        let to = PathBuf::from(OsStr::from_bytes(name));
        let Some(from) = self.paths.get(&file).filter(|from| **from != to) else {
            return Ok(());
        };
        // Directories are not recorded: the file's may have been removed after it.
        let parent = to.parent().map_or(Ok(()), fs::create_dir_all);
        parent.and_then(|()| fs::rename(from, &to)).map_err(io_at("give its name back to", &to))?;
        self.paths.retain(|_, path| *path != to);
        self.paths.insert(file, to);
        Ok(())
    }

    fn remove(&mut self, file: FileIdentity) -> StorageResult<()> {
        self.open.remove(&file);
        let path = self.paths.remove(&file);
        path.map_or(Ok(()), |path| fs::remove_file(&path).map_err(io_at("remove", &path)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrangement, StorageError, cut_power};
    use crate::counters::ShimPage;
    use device::{DeviceSetup, Setup, builtin};
    use std::fs;
    use std::path::Path;

    /// What is arranged for data in a directory below this one.
    fn arranged(parent: &Path, devices: &[&str]) -> Arrangement {
        let device = |name: &&str| DeviceSetup {
            profile: builtin(name).unwrap(),
            seed: 1,
            preconditioned: false,
        };
        let data = parent.join("data");
        let setup = Setup {
            page: ShimPage::FILE.to_owned(),
            directories: vec![data.display().to_string(), "tmp".to_owned()],
            devices: devices.iter().map(device).collect(),
            ..Setup::default()
        };
        let text = setup.to_toml().unwrap().into_bytes();
        Arrangement {
            data_directory: Some(data),
            files: vec![(ShimPage::SETUP_FILE.to_owned(), text)],
            ..Arrangement::default()
        }
    }

    #[test]
    fn the_setup_asks_for_a_journal() {
        let temp = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut real = arranged(temp.path(), &[]);
        let error = real.record_writes().unwrap_err();
        assert!(matches!(error, StorageError::NotRecordable { .. }));
        assert!(Arrangement::default().record_writes().is_err());

        let mut arranged = arranged(temp.path(), &["sata-850pro"]);
        arranged.record_writes().unwrap();
        let [(name, text)] = arranged.files.as_slice() else { panic!("{:?}", arranged.files) };
        assert_eq!(name, ShimPage::SETUP_FILE);
        let setup = Setup::parse(std::str::from_utf8(text).unwrap()).unwrap();
        // The journal is in memory, beside the data; files that lose their names are beside it,
        // too, and go with the server.
        let [journal, removed] = arranged.scratch.as_slice() else {
            panic!("{:?}", arranged.scratch)
        };
        assert_eq!(Path::new(&setup.journal.unwrap().file), journal.join("journal"));
        assert_eq!(journal.parent(), Some(temp.path()));
        assert_eq!(removed, &temp.path().join("data.removed"));
    }

    #[test]
    fn what_was_not_recorded_is_not_cut() {
        let temp = tempfile::tempdir().unwrap();
        let mut arranged = arranged(temp.path(), &["sata-850pro"]);
        let write = |arranged: &super::Arrangement| {
            fs::write(temp.path().join(ShimPage::SETUP_FILE), &arranged.files[0].1).unwrap();
        };
        write(&arranged);
        let error = cut_power(temp.path(), 1).unwrap_err();
        assert!(error.to_string().contains("without a journal"), "{error}");
        arranged.record_writes().unwrap();
        write(&arranged);
        assert!(matches!(cut_power(temp.path(), 1), Err(StorageError::Io { .. })));
    }
}
