//! The directory of one server, and how it is got rid of.
//!
//! A private server's directory holds a lock file that this process holds. The kernel frees the
//! lock however the process ends, so a directory whose lock is free belongs to nobody: the next
//! command that looks for room or starts a server sweeps it away, with the server that may still
//! run in it and with the directories elsewhere that it lists. So it is with the directory of a
//! named server whose start was killed before the server was there.

use crate::home::{self, FileLock};
use crate::image::SYSTEM_TABLESPACE;
use crate::kept_images::sweep_removed;
use crate::record::{RECORD, lock_path};
use crate::{Home, ServerError, ServerResult, process};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LOCK: &str = "lock";
/// Lists directories elsewhere that go with this one.
const ELSEWHERE: &str = "elsewhere.json";
/// Longest path of a unix socket on Linux.
pub(crate) const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A server's directory. Dropping removes it with everything that goes with it, unless it is kept.
#[derive(Debug)]
pub(crate) struct InstanceDir {
    pub(crate) path: PathBuf,
    pub(crate) keep: bool,
    elsewhere: Vec<PathBuf>,
    _lock: Option<FileLock>,
}

impl InstanceDir {
    /// A new directory for a private server.
    pub(crate) fn private(home: &Home) -> ServerResult<InstanceDir> {
        // Between the making of a directory and the locking of its lock, nobody may sweep.
        let _gate = gate(home)?;
        let prefix = format!("{}-", std::process::id());
        let made = home::temporary_directory(&home.run(), &prefix)?;
        let lock_path = made.path().join(LOCK);
        let lock = FileLock::try_now(&lock_path)?.ok_or_else(|| ServerError::Locked {
            lock: lock_path,
            what: "a directory made this moment".to_owned(),
        })?;
        let elsewhere = Vec::new();
        Ok(InstanceDir { path: made.keep(), keep: false, elsewhere, _lock: Some(lock) })
    }

    /// The directory of a named server, which the caller has locked.
    pub(crate) fn named(path: PathBuf, keep: bool) -> ServerResult<InstanceDir> {
        home::private_directory(&path)?;
        let elsewhere = read_elsewhere(&path);
        Ok(InstanceDir { path, keep, elsewhere, _lock: None })
    }

    /// Makes a directory elsewhere that goes with this one. It must not be there yet: nothing that
    /// is not ours is removed. Nor may it be in a directory of another server, with which it would
    /// go.
    pub(crate) fn make_elsewhere(&mut self, home: &Home, path: &Path) -> ServerResult<()> {
        if self.elsewhere.iter().any(|known| known == path) && path.is_dir() {
            return Ok(());
        }
        let refuse = |why: &str| {
            Err(ServerError::data(path, format!("a directory for a server's files {why}")))
        };
        if fs::symlink_metadata(path).is_ok() {
            return refuse("must not exist yet; remove it or name another");
        }
        if !path.is_absolute() {
            return refuse("needs an absolute path");
        }
        // Listed before it is made, so that a death in between leaves nothing behind; and before it
        // is looked whose it is in, so that of two that do so at once one sees the other.
        self.list_elsewhere(path)?;
        if let Err(error) = require_apart(home, &self.path, path) {
            self.elsewhere.pop();
            return Err(error);
        }
        home::private_directory(path)
    }

    fn list_elsewhere(&mut self, path: &Path) -> ServerResult<()> {
        self.elsewhere.push(path.to_owned());
        let list = self.path.join(ELSEWHERE);
        let text = serde_json::to_string(&self.elsewhere).map_err(|error| {
            ServerError::data(path, format!("a path that is not UTF-8 cannot be kept ({error})"))
        })?;
        home::write_private(&list, &text)
    }

    /// Where the socket goes: here, or in a short directory where the path would be too long for
    /// the kernel.
    pub(crate) fn socket(&mut self) -> ServerResult<PathBuf> {
        let here = self.path.join("mysql.sock");
        if here.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
            return Ok(here);
        }
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let parents = runtime
            .into_iter()
            .chain([PathBuf::from("/tmp")])
            .filter(|p| p.is_dir() && p.as_os_str().len() < SOCKET_PATH_BYTES_MAX - 40);
        for parent in parents {
            // Made with mode 0700.
            if let Ok(directory) = tempfile::Builder::new().prefix("mydyno-").tempdir_in(&parent) {
                self.list_elsewhere(directory.path())?;
                return Ok(directory.keep().join("mysql.sock"));
            }
        }
        let why = format!(
            "no directory for a socket: this path is longer than {SOCKET_PATH_BYTES_MAX} bytes \
             with the socket in it, and /tmp cannot be written; set MYDYNO_HOME to a shorter path"
        );
        Err(ServerError::data(&self.path, why))
    }

    /// Removes everything now.
    pub(crate) fn remove(&mut self) -> ServerResult<()> {
        // The list goes last: it is in `path`.
        for directory in &self.elsewhere {
            home::remove_tree_if_there(directory)?;
        }
        home::remove_tree_if_there(&self.path)
    }
}

impl Drop for InstanceDir {
    fn drop(&mut self) {
        if !self.keep {
            // What stays is swept at the next start.
            let _ = self.remove();
        }
    }
}

/// Refuses files inside the directories of a server other than the one whose own directory is
/// `own`, or of mydyno: who removes that server would remove them too, and a server takes what lies
/// in its data directory for a schema.
///
/// # Errors
/// [`ServerError::Data`] where the path is inside one.
pub fn require_apart(home: &Home, own: &Path, path: &Path) -> ServerResult<()> {
    // One that is about to be made is listed already.
    let is_own = |own: &PathBuf| path.starts_with(own) && (own != path || path.exists());
    if path.starts_with(own) || read_elsewhere(own).iter().any(is_own) {
        return Ok(());
    }
    let mut taken = vec![home.images(), home.instances(), home.run()];
    for parent in [home.instances(), home.run()] {
        for directory in home::entries(&parent)?.iter().filter(|directory| *directory != own) {
            taken.extend(read_elsewhere(directory));
        }
    }
    let is_taken = |above: &&Path| {
        above.join(SYSTEM_TABLESPACE).exists() || taken.iter().any(|taken| taken == above)
    };
    match path.ancestors().find(is_taken) {
        None => Ok(()),
        Some(above) => {
            let why = format!(
                "the files of a server cannot go into {}, which is a directory of another server \
                 or of mydyno; name a directory outside of it",
                above.display()
            );
            Err(ServerError::data(path, why))
        }
    }
}

fn read_elsewhere(path: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(path.join(ELSEWHERE)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn gate(home: &Home) -> ServerResult<FileLock> {
    FileLock::wait(&home.run().join(".lock"))
}

/// Removes what commands left that ended without cleaning up, and kills their servers. What cannot
/// be removed (another user's, on a hanging disk) does not keep a new server from starting; it is
/// told.
pub fn sweep(home: &Home) -> ServerResult<Vec<String>> {
    let _gate = gate(home)?;
    let private = home::entries(&home.run())?.into_iter().map(|path| (path.join(LOCK), path));
    let named = home::entries(&home.instances())?.into_iter();
    let named = named.map(|path| (lock_path(home, &home::file_name(&path)), path));
    let directories = private.chain(named).filter(|(_, path)| path.is_dir());
    let swept = directories.map(|(lock, path)| sweep_one(&lock, &path));
    let failed = swept.chain(std::iter::once_with(|| sweep_removed(home))).filter_map(Result::err);
    Ok(failed.map(|error| format!("what an earlier command left stays: {error}")).collect())
}

fn sweep_one(lock: &Path, path: &Path) -> ServerResult<()> {
    let Some(_lock) = FileLock::try_now(lock)? else {
        return Ok(()); // its owner lives
    };
    // A named server that has come as far as to be written down belongs to the user.
    if path.join(RECORD).exists() {
        return Ok(());
    }
    let my_cnf = path.join("my.cnf");
    for pid in process::servers_with(&my_cnf) {
        process::end_foreign(pid, &my_cnf, Duration::ZERO)?;
    }
    InstanceDir::named(path.to_owned(), true)?.remove()
}

#[cfg(test)]
mod tests {
    use super::{InstanceDir, RECORD, sweep};
    use crate::{Home, named};
    use std::fs;

    #[test]
    fn directories_of_the_living_stay_and_those_of_the_dead_go() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("h")).unwrap();
        let outside = temp.path().join("fast-disk/data");
        let mut dir = InstanceDir::private(&home).unwrap();
        dir.make_elsewhere(&home, &outside).unwrap();
        sweep(&home).unwrap();
        assert!(dir.path.is_dir() && outside.is_dir());

        // A kill -9 frees the lock and removes nothing.
        dir.keep = true;
        let path = dir.path.clone();
        drop(dir);
        assert!(path.is_dir());
        sweep(&home).unwrap();
        assert!(!path.exists() && !outside.exists());
        assert!(temp.path().join("fast-disk").is_dir());
    }

    #[test]
    fn a_named_start_that_was_killed_half_way_leaves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("h")).unwrap();
        let outside = temp.path().join("data");
        let path = home.instances().join("a");
        let mut dir = InstanceDir::named(path.clone(), true).unwrap();
        dir.make_elsewhere(&home, &outside).unwrap();
        let starting = named::lock(&home, "a").unwrap();
        sweep(&home).unwrap();
        assert!(path.is_dir() && outside.is_dir());
        drop(starting);
        fs::write(path.join(RECORD), "").unwrap();
        sweep(&home).unwrap();
        assert!(path.is_dir() && outside.is_dir());
        fs::remove_file(path.join(RECORD)).unwrap();
        sweep(&home).unwrap();
        assert!(!path.exists() && !outside.exists());
    }

    #[test]
    fn what_is_there_already_is_never_ours() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("h")).unwrap();
        let precious = temp.path().join("precious");
        fs::create_dir(&precious).unwrap();
        let mut dir = InstanceDir::private(&home).unwrap();
        assert!(dir.make_elsewhere(&home, &precious).is_err());
        let path = dir.path.clone();
        drop(dir);
        assert!(precious.is_dir() && !path.exists());
    }

    #[test]
    fn nothing_goes_into_what_is_another_servers() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("h")).unwrap();
        let outside = temp.path().join("data");
        let mut first = InstanceDir::private(&home).unwrap();
        first.make_elsewhere(&home, &outside).unwrap();
        let mut second = InstanceDir::named(home.instances().join("b"), false).unwrap();
        for path in [outside.join("inner"), outside.join("a/b"), home.images().join("x")] {
            let error = second.make_elsewhere(&home, &path).unwrap_err().to_string();
            assert!(error.contains("name a directory outside of it"), "{error}");
            assert!(!path.exists());
        }
        // Its own has room for more of its files.
        super::require_apart(&home, &first.path, &outside.join("undo")).unwrap();
        super::require_apart(&home, &first.path, &first.path.join("undo")).unwrap();
        // One has as many as it likes, and one that mydyno knows nothing of is known by its files.
        first.make_elsewhere(&home, &temp.path().join("redo")).unwrap();
        let foreign = temp.path().join("mysql");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("ibdata1"), "").unwrap();
        let mut third = InstanceDir::private(&home).unwrap();
        assert!(third.make_elsewhere(&home, &foreign.join("x")).is_err());
        drop((first, second, third));
        assert!(foreign.join("ibdata1").exists() && !outside.exists());
    }

    #[test]
    fn a_long_path_gets_a_short_socket() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("x".repeat(120))).unwrap();
        let mut dir = InstanceDir::private(&home).unwrap();
        let socket = dir.socket().unwrap();
        assert!(socket.as_os_str().len() <= 107);
        assert!(!socket.starts_with(&dir.path));
        let parent = socket.parent().unwrap().to_owned();
        assert!(parent.is_dir());
        drop(dir);
        assert!(!parent.exists());
    }
}
