//! mydyno's own data directory: everything that this crate writes lies under it, so removing it
//! removes all.

use crate::error::io_at;
use crate::{ServerError, ServerResult};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The directory, and what lies where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// `$MYDYNO_HOME`, else `$XDG_DATA_HOME/mydyno`, else `~/.local/share/mydyno`; made where it is
    /// missing.
    ///
    /// # Errors
    /// [`ServerError::NoHome`] where no variable is set, or it cannot be made.
    pub fn from_env() -> ServerResult<Home> {
        let why = "none of MYDYNO_HOME, XDG_DATA_HOME and HOME is set";
        Home::at(root_from_env().ok_or_else(|| ServerError::NoHome { why: why.to_owned() })?)
    }

    /// The directory of [`Home::from_env`] where there is one, to look for servers in it. Nothing
    /// is made.
    pub fn existing() -> Option<Home> {
        let root = fs::canonicalize(root_from_env()?).ok()?;
        let home = Home { root };
        home.instances().is_dir().then_some(home)
    }

    /// A home at `path`; made where it is missing.
    pub fn at(path: impl Into<PathBuf>) -> ServerResult<Home> {
        let path: PathBuf = path.into();
        let make = |path: &Path| {
            private_directory(path).map_err(|error| ServerError::NoHome { why: error.to_string() })
        };
        make(&path)?;
        // Servers run in directories of their own, so every path handed to them is absolute.
        let root = fs::canonicalize(&path).map_err(io_at("find", &path))?;
        // Paths go into option files, which are text of lines.
        let writable = root.to_str().is_some_and(|text| !text.chars().any(char::is_control));
        if !writable {
            return Err(ServerError::data(
                root,
                "the name of this directory is not UTF-8 or holds a control character; set \
                 MYDYNO_HOME to another",
            ));
        }
        let home = Home { root };
        for directory in [home.engines(), home.instances(), home.images(), home.run()] {
            make(&directory)?;
        }
        Ok(home)
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Installed engines, one directory each.
    pub fn engines(&self) -> PathBuf {
        self.root.join("engines")
    }

    /// Servers of `server start`, one directory each.
    pub fn instances(&self) -> PathBuf {
        self.root.join("instances")
    }

    /// Populated data directories, kept.
    pub fn images(&self) -> PathBuf {
        self.root.join("images")
    }

    /// Private servers of running commands; whatever is there without a living owner is swept away.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }
}

fn root_from_env() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    choose(set("MYDYNO_HOME"), set("XDG_DATA_HOME"), set("HOME"))
}

fn choose(
    mydyno: Option<OsString>,
    xdg_data: Option<OsString>,
    user: Option<OsString>,
) -> Option<PathBuf> {
    if let Some(path) = mydyno {
        return Some(PathBuf::from(path));
    }
    // The XDG base directory specification: a relative path is invalid and is ignored.
    if let Some(data) = xdg_data.map(PathBuf::from).filter(|p| p.is_absolute()) {
        return Some(data.join("mydyno"));
    }
    user.map(|home| PathBuf::from(home).join(".local/share/mydyno"))
}

/// Makes a directory that only its owner enters, with its parents.
pub(crate) fn private_directory(path: &Path) -> ServerResult<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(io_at("make the directory", path))
}

/// Writes a file that only its owner reads.
pub(crate) fn write_private(path: &Path, content: impl AsRef<[u8]>) -> ServerResult<()> {
    use std::io::Write;
    // A left-over of another mode would keep its mode.
    remove_file_if_there(path)?;
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(content.as_ref()))
        .map_err(io_at("write", path))
}

pub(crate) fn remove_file_if_there(path: &Path) -> ServerResult<()> {
    if_there(fs::remove_file(path)).map_err(io_at("remove", path))
}

pub(crate) fn remove_tree_if_there(path: &Path) -> ServerResult<()> {
    if_there(fs::remove_dir_all(path)).map_err(io_at("remove", path))
}

/// It does not matter whether there was anything.
pub(crate) fn if_there(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// An exclusive lock on a file, held until dropped (or until the process dies, however it dies).
#[derive(Debug)]
pub(crate) struct FileLock(pub(crate) File);

impl Drop for FileLock {
    /// Unlocks in so many words: a child that another thread has just forked has a copy of the
    /// descriptor until it executes its program, and closing ours would leave the file locked.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl FileLock {
    fn open(path: &Path) -> ServerResult<File> {
        fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path)
            .map_err(io_at("open the lock", path))
    }

    /// Waits for the lock.
    pub(crate) fn wait(path: &Path) -> ServerResult<FileLock> {
        let file = FileLock::open(path)?;
        file.lock().map_err(io_at("lock", path))?;
        Ok(FileLock(file))
    }

    /// The lock of a file that is there, shared with others who do the same.
    pub(crate) fn share(path: &Path) -> ServerResult<FileLock> {
        let file =
            fs::OpenOptions::new().write(true).open(path).map_err(io_at("open the lock", path))?;
        file.lock_shared().map_err(io_at("lock", path))?;
        Ok(FileLock(file))
    }

    /// The lock, where it is free.
    pub(crate) fn try_now(path: &Path) -> ServerResult<Option<FileLock>> {
        let file = FileLock::open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(FileLock(file))),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(io_at("lock", path)(error)),
        }
    }
}

/// Fails where fewer than `needed_bytes` are free on the file system of `path`.
pub(crate) fn require_free(path: &Path, needed_bytes: u64, what: &str) -> ServerResult<()> {
    let free_bytes = system::free_bytes(path).map_err(io_at("ask for the free space of", path))?;
    if free_bytes >= needed_bytes {
        return Ok(());
    }
    let (path, what) = (path.to_owned(), what.to_owned());
    Err(ServerError::Disk { path, what, needed_bytes, free_bytes })
}

/// Removes what a killed process left in `directory` under such names. The caller holds the lock of
/// these names, or others may do so at the same time.
pub(crate) fn remove_left_over(
    directory: &Path,
    is_one: impl Fn(&str) -> bool,
) -> ServerResult<()> {
    let mut left_over = entries(directory)?.into_iter().filter(|path| is_one(&file_name(path)));
    left_over.try_for_each(|path| remove_tree_if_there(&path))
}

/// A new directory for a moment, under a name of this prefix.
pub(crate) fn temporary_directory(parent: &Path, prefix: &str) -> ServerResult<TempDir> {
    let made = tempfile::Builder::new().prefix(prefix).tempdir_in(parent);
    made.map_err(io_at("make a directory in", parent))
}

/// The text of a file; `None` where there is none.
pub(crate) fn read_if_there(path: &Path) -> ServerResult<Option<String>> {
    let is_absence = |kind| [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&kind);
    match fs::read_to_string(path) {
        Err(error) if is_absence(error.kind()) => Ok(None),
        read => read.map(Some).map_err(io_at("read", path)),
    }
}

/// What lies in a directory, in the order of the names.
pub(crate) fn entries(directory: &Path) -> ServerResult<Vec<PathBuf>> {
    let paths = fs::read_dir(directory).and_then(|all| all.map(|one| Ok(one?.path())).collect());
    let mut paths: Vec<PathBuf> = paths.map_err(io_at("read", directory))?;
    paths.sort_unstable();
    Ok(paths)
}

/// The last part of a path, for comparing and for people.
pub(crate) fn file_name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

#[cfg(test)]
mod tests {
    use super::{FileLock, Home, choose, require_free, write_private};
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    #[test]
    fn the_first_variable_wins() {
        let some = |s: &str| Some(s.into());
        assert_eq!(choose(some("/a"), some("/b"), some("/c")), Some(PathBuf::from("/a")));
        assert_eq!(choose(None, some("/b"), some("/c")), Some(PathBuf::from("/b/mydyno")));
        assert_eq!(
            choose(None, some("relative"), some("/c")),
            Some(PathBuf::from("/c/.local/share/mydyno"))
        );
        assert_eq!(choose(None, None, None), None);
    }

    #[test]
    fn homes_are_private_and_locks_exclude() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("h")).unwrap();
        let mode = home.run().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);

        let file = home.root().join("secret");
        write_private(&file, "x").unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);

        let path = home.root().join("lock");
        let held = FileLock::try_now(&path).unwrap();
        assert!(held.is_some());
        assert!(FileLock::try_now(&path).unwrap().is_none());
        // As a forked child has one until it executes its program.
        let copy = held.as_ref().unwrap().0.try_clone().unwrap();
        drop(held);
        assert!(FileLock::try_now(&path).unwrap().is_some());
        drop(copy);

        assert!(require_free(temp.path(), 1, "a test").is_ok());
        let error = require_free(temp.path(), u64::MAX, "a test").unwrap_err();
        assert!(error.to_string().contains("too small"), "{error}");
    }
}
