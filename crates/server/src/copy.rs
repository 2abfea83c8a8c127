//! Copies of data directories, by several threads, byte by byte: blocks that a file system shares
//! between a clone and its image (reflinks, which copy_file_range makes too) cost another write
//! when they are changed first, so that one device would be measured with that cost and another
//! without.
//!
//! What was copied to the storage that is measured is written out and dropped from the page cache
//! before the server starts: otherwise the first seconds of a measurement would pay for the copy.
//! What stands in for an emulated device is written out and stays in memory.

use crate::ServerResult;
use crate::error::io_at;
use crate::home::private_directory;
use rustix::fs::{Advice, fadvise};
use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Files are copied in pieces of this size, so that one big file keeps every thread busy.
const PIECE_BYTES: u64 = 64 << 20;
/// Fewest threads: a thread that waits for the disk leaves the other something to do.
const THREADS_MIN: usize = 2;
const THREADS_MAX: usize = 8;
/// Larger files of an image do not stay in the page cache, in which a server may want the room.
const SOURCE_CACHED_MAX_BYTES: u64 = 1 << 30;

/// What the files of a server really lie on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// The storage itself: a clone is written out and dropped from the page cache before the server
    /// starts.
    #[default]
    Real,
    /// What stands in for an emulated device: a clone stays in memory, as a read of the host's own
    /// disk would come too late, and `O_DIRECT` is for the shim to honour, whatever the file system
    /// below says.
    Emulated,
}

/// A file to copy.
#[derive(Clone, Debug)]
struct FileCopy {
    from: PathBuf,
    to: PathBuf,
    bytes: u64,
}

/// Copies files whose directories are there.
fn copy_files(files: &[FileCopy], storage: Storage) -> ServerResult<()> {
    let mut pieces: Vec<(&FileCopy, Range<u64>)> = Vec::new();
    for file in files {
        let to = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o640)
            .open(&file.to)
            .map_err(io_at("make", &file.to))?;
        to.set_len(file.bytes).map_err(io_at("size", &file.to))?;
        let begins = (0..file.bytes).step_by(PIECE_BYTES as usize);
        pieces.extend(begins.map(|begin| (file, begin..file.bytes.min(begin + PIECE_BYTES))));
    }
    in_parallel(&pieces, |(file, piece)| {
        copy_piece(file, piece).map_err(io_at("copy to", &file.to))
    })?;
    in_parallel(files, |file| settle(file, storage).map_err(io_at("write out", &file.to)))
}

fn copy_piece(file: &FileCopy, piece: &Range<u64>) -> io::Result<()> {
    let from = File::open(&file.from)?;
    let to = fs::OpenOptions::new().write(true).open(&file.to)?;
    let mut buffer = vec![0u8; 1 << 20];
    let (mut offset, end) = (piece.start, piece.end);
    while offset < end {
        let wanted = buffer.len().min(usize::try_from(end - offset).unwrap_or(usize::MAX));
        let n = from.read_at(&mut buffer[..wanted], offset)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all_at(&buffer[..n], offset)?;
        offset += n as u64;
    }
    Ok(())
}

fn settle(file: &FileCopy, storage: Storage) -> io::Result<()> {
    let to = File::open(&file.to)?;
    // In memory this is nothing; on a disk the kernel would write while the server is measured.
    to.sync_data()?;
    if storage == Storage::Emulated {
        return Ok(());
    }
    // Advice only: where it is refused, the pages stay in the cache.
    let _ = fadvise(&to, 0, None, Advice::DontNeed);
    if file.bytes > SOURCE_CACHED_MAX_BYTES {
        let _ = fadvise(File::open(&file.from)?, 0, None, Advice::DontNeed);
    }
    Ok(())
}

/// Runs `work` on every item; a failure stops all threads and is returned.
fn in_parallel<T: Sync>(
    items: &[T],
    work: impl Fn(&T) -> ServerResult<()> + Sync,
) -> ServerResult<()> {
    let cores = thread::available_parallelism().map_or(THREADS_MIN, NonZeroUsize::get);
    let threads = cores.clamp(THREADS_MIN, THREADS_MAX);
    let next = AtomicUsize::new(0);
    let take = || -> ServerResult<()> {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(item).inspect_err(|_| next.store(items.len(), Ordering::Relaxed))?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(take)).collect();
        let mut ended = threads.into_iter().map(|thread| thread.join());
        ended.try_for_each(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Regular files below a directory with their paths relative to it, and the directories, parents
/// first.
pub(crate) struct Tree {
    pub(crate) files: Vec<(PathBuf, u64)>,
    pub(crate) directories: Vec<PathBuf>,
}

impl Tree {
    /// Sockets and pid files of a stopped server are no data and are left out.
    pub(crate) fn read(root: &Path) -> ServerResult<Tree> {
        let mut tree = Tree { files: Vec::new(), directories: Vec::new() };
        let mut pending = vec![PathBuf::new()];
        while let Some(relative) = pending.pop() {
            let directory = root.join(&relative);
            for entry in fs::read_dir(&directory).map_err(io_at("read", &directory))? {
                let entry = entry.map_err(io_at("read", &directory))?;
                let path = relative.join(entry.file_name());
                let metadata = entry.metadata().map_err(io_at("read", &entry.path()))?;
                if metadata.is_dir() {
                    tree.directories.push(path.clone());
                    pending.push(path);
                } else if metadata.is_file() {
                    tree.files.push((path, metadata.len()));
                }
            }
        }
        tree.files.sort();
        Ok(tree)
    }

    /// Copies what lies in `from` to where `place` says.
    pub(crate) fn copy(
        &self,
        from: &Path,
        place: impl Fn(&Path) -> PathBuf,
        storage: Storage,
    ) -> ServerResult<()> {
        for directory in &self.directories {
            private_directory(&place(directory))?;
        }
        let file = |(path, bytes): &(PathBuf, u64)| FileCopy {
            from: from.join(path),
            to: place(path),
            bytes: *bytes,
        };
        copy_files(&self.files.iter().map(file).collect::<Vec<_>>(), storage)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{FileCopy, Storage, Tree, copy_files};
    use std::fs;

    #[test]
    fn copies_are_equal_to_the_byte() {
        let temp = tempfile::tempdir().unwrap();
        let from = temp.path().join("from");
        let to = temp.path().join("to");
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::create_dir(&to).unwrap();
        // Larger than a piece, and not a multiple of anything.
        let big: Vec<u8> = (0..(65 << 20) + 12_345u32).map(|i| (i >> 7) as u8).collect();
        fs::write(from.join("big"), &big).unwrap();
        fs::write(from.join("a/b/small"), "x").unwrap();
        fs::write(from.join("empty"), "").unwrap();
        let tree = Tree::read(&from).unwrap();
        assert_eq!(tree.bytes(), big.len() as u64 + 1);
        assert_eq!(tree.directories.len(), 2);
        for directory in &tree.directories {
            fs::create_dir_all(to.join(directory)).unwrap();
        }
        let files: Vec<FileCopy> = tree
            .files
            .iter()
            .map(|(path, bytes)| FileCopy {
                from: from.join(path),
                to: to.join(path),
                bytes: *bytes,
            })
            .collect();
        copy_files(&files, Storage::Real).unwrap();
        assert!(fs::read(to.join("big")).unwrap() == big);
        assert_eq!(fs::read_to_string(to.join("a/b/small")).unwrap(), "x");
        assert!(to.join("empty").is_file());
        // Nothing is written over.
        assert!(copy_files(&files, Storage::Real).is_err());
    }

    /// A file system that shares blocks, mounted until it is dropped.
    struct Shares(tempfile::TempDir);

    impl Shares {
        /// `None` where this user or this host cannot mount one.
        fn mounted() -> Option<Shares> {
            let directory = tempfile::tempdir().unwrap();
            let image = directory.path().join("image");
            fs::File::create(&image).unwrap().set_len(300 << 20).unwrap();
            let point = directory.path().join("mounted");
            fs::create_dir(&point).unwrap();
            let run = |program: &str, arguments: &[&std::ffi::OsStr]| {
                let status = std::process::Command::new(program).args(arguments).output();
                status.is_ok_and(|output| output.status.success())
            };
            let made = run("mkfs.btrfs", &["-q".as_ref(), image.as_os_str()]);
            let mount: [&std::ffi::OsStr; 4] =
                ["-o".as_ref(), "loop".as_ref(), image.as_os_str(), point.as_os_str()];
            (made && run("mount", &mount)).then_some(Shares(directory))
        }
    }

    impl Drop for Shares {
        fn drop(&mut self) {
            let point = self.0.path().join("mounted");
            let _ = std::process::Command::new("umount").arg(point).status();
        }
    }

    #[test]
    fn a_clone_never_shares_blocks_with_its_image() {
        let Some(shares) = Shares::mounted() else {
            println!("not tried: btrfs cannot be mounted here (root, btrfs-progs, a loop device)");
            return;
        };
        let mounted = shares.0.path().join("mounted");
        let bytes: Vec<u8> = (0..4_000_000u32).map(|i| (i >> 3) as u8).collect();
        let (from, to) = (mounted.join("from"), mounted.join("to"));
        fs::write(&from, &bytes).unwrap();
        let files = [FileCopy { from, to: to.clone(), bytes: bytes.len() as u64 }];
        copy_files(&files, Storage::Real).unwrap();
        assert!(fs::read(&to).unwrap() == bytes);
        let extents = std::process::Command::new("filefrag").arg("-v").arg(&to).output().unwrap();
        let extents = String::from_utf8_lossy(&extents.stdout).into_owned();
        assert!(extents.contains("extent"), "{extents}");
        assert!(!extents.contains("shared"), "{extents}");
    }

    #[test]
    fn what_stays_in_memory_is_equal_too() {
        let temp = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..3_000_001u32).map(|i| (i >> 5) as u8).collect();
        fs::write(temp.path().join("a"), &bytes).unwrap();
        let files = [FileCopy {
            from: temp.path().join("a"),
            to: temp.path().join("b"),
            bytes: bytes.len() as u64,
        }];
        copy_files(&files, Storage::Emulated).unwrap();
        assert!(fs::read(temp.path().join("b")).unwrap() == bytes);
    }

    #[test]
    fn a_file_that_shrank_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("a"), "short").unwrap();
        let files =
            [FileCopy { from: temp.path().join("a"), to: temp.path().join("b"), bytes: 1000 }];
        let error = copy_files(&files, Storage::Real).unwrap_err();
        assert!(error.to_string().contains("copy"), "{error}");
    }
}
