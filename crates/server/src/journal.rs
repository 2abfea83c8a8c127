//! What a command changes on a server that is not its own: the values before are on disk before
//! anything is changed, so that whoever comes next can set them back.

use crate::error::{ServerResult, io_at};
use crate::home::{FileLock, Home, private_directory, read_if_there, remove_file_if_there};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use xxhash_rust::xxh3::xxh3_64;

/// Names of server variables, with values of theirs.
pub type NamedVariables = BTreeMap<String, String>;

/// What a command changes on a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerChange {
    /// Values before the change.
    pub before: NamedVariables,
    /// Values that the server took, as it tells them; nothing until it has taken all.
    pub taken: NamedVariables,
}

/// The journal of one server, which this process alone has.
#[derive(Debug)]
pub struct ChangeJournal {
    path: PathBuf,
    _lock: FileLock,
}

impl ChangeJournal {
    /// Is there one of any server?
    pub fn is_any(home: &Home) -> bool {
        let mut entries = fs::read_dir(directory(home)).into_iter().flatten().flatten();
        entries.any(|entry| entry.path().extension().is_some_and(|end| end == "toml"))
    }

    /// Takes the journal of the server that `identity` stands for; `None` where another process has
    /// it, which is changing that server.
    ///
    /// # Errors
    /// Where the home cannot be written.
    pub fn take(home: &Home, identity: &str) -> ServerResult<Option<ChangeJournal>> {
        let directory = directory(home);
        private_directory(&directory)?;
        let name = format!("{:016x}", xxh3_64(identity.as_bytes()));
        let lock = FileLock::try_now(&directory.join(format!("{name}.lock")))?;
        let path = directory.join(format!("{name}.toml"));
        Ok(lock.map(|_lock| ChangeJournal { path, _lock }))
    }

    /// What an earlier process left changed; nothing where it left nothing.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn left(&self) -> ServerResult<ServerChange> {
        let Some(text) = read_if_there(&self.path)? else { return Ok(ServerChange::default()) };
        let understood = toml::from_str(&text).map_err(std::io::Error::other);
        understood.map_err(io_at("understand", &self.path))
    }

    /// Writes down what is about to be changed, or what was. It is on disk when this returns.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, change: &ServerChange) -> ServerResult<()> {
        let new = self.path.with_extension("new");
        let text = toml::to_string(change).map_err(std::io::Error::other);
        let written = text.and_then(|text| {
            let mut file = File::create(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(io_at("write", &new))?;
        fs::rename(&new, &self.path).map_err(io_at("rename", &new))?;
        let directory = self.path.parent().unwrap_or(&self.path);
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        synced.map_err(io_at("write", directory))
    }

    /// All is as it was.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn clear(&self) -> ServerResult<()> {
        remove_file_if_there(&self.path)
    }
}

fn directory(home: &Home) -> PathBuf {
    home.root().join("changed")
}

#[cfg(test)]
mod tests {
    use super::{ChangeJournal, NamedVariables, ServerChange};
    use crate::Home;

    #[test]
    fn what_was_written_is_left_for_the_next() {
        let root = tempfile::tempdir().unwrap();
        let home = Home::at(root.path().join("home")).unwrap();
        assert!(!ChangeJournal::is_any(&home));
        let before = [("innodb_io_capacity", "200"), ("sql_mode", "a\"b\\c,d")];
        let before: NamedVariables =
            before.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let mut change = ServerChange { before, ..ServerChange::default() };
        let journal = ChangeJournal::take(&home, "host|3306").unwrap().unwrap();
        journal.write(&change).unwrap();
        change.taken.insert("sql_mode".to_owned(), String::new());
        journal.write(&change).unwrap();
        // Another command leaves it alone, unless the first one is dead.
        assert!(ChangeJournal::take(&home, "host|3306").unwrap().is_none());
        drop(journal);
        let next = ChangeJournal::take(&home, "host|3306").unwrap().unwrap();
        assert_eq!(next.left().unwrap(), change);
        assert!(ChangeJournal::is_any(&home));
        let other = ChangeJournal::take(&home, "host|3307").unwrap().unwrap();
        assert_eq!(other.left().unwrap(), ServerChange::default());
        next.clear().unwrap();
        assert_eq!(next.left().unwrap(), ServerChange::default());
        assert!(!ChangeJournal::is_any(&home));
    }
}
