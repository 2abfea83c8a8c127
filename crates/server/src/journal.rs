//! What a command changes on a server that is not its own: the values before are on disk before
//! anything is changed, so that whoever comes next can set them back.

use crate::error::{ServerError, io_at};
use crate::home::{FileLock, Home, private_directory, remove_file_if_there};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use xxhash_rust::xxh3::xxh3_64;

/// Names of server variables, with the values that they had.
pub type ValuesBefore = BTreeMap<String, String>;

/// The journal of one server, which this process alone has.
#[derive(Debug)]
pub struct ChangeJournal {
    path: PathBuf,
    _lock: FileLock,
}

impl ChangeJournal {
    /// Is there one of any server?
    pub fn is_any(home: &Home) -> bool {
        let entries = fs::read_dir(directory(home)).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.path().extension().is_some_and(|end| end == "toml"))
    }

    /// Takes the journal of the server that `identity` stands for; `None` where another process has
    /// it, which is changing that server.
    ///
    /// # Errors
    /// Where the home cannot be written.
    pub fn take(home: &Home, identity: &str) -> Result<Option<ChangeJournal>, ServerError> {
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
    pub fn left(&self) -> Result<ValuesBefore, ServerError> {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ValuesBefore::new()),
            text => text.map_err(io_at("read", &self.path))?,
        };
        toml::from_str(&text).map_err(|error| {
            let error = std::io::Error::new(ErrorKind::InvalidData, error.to_string());
            io_at("understand", &self.path)(error)
        })
    }

    /// Writes down what is about to be changed. It is on disk when this returns.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, before: &ValuesBefore) -> Result<(), ServerError> {
        let lines = before.iter().map(|(name, value)| {
            let (name, value) =
                (toml::Value::from(name.as_str()), toml::Value::from(value.as_str()));
            format!("{name} = {value}\n")
        });
        let new = self.path.with_extension("new");
        let written = File::create(&new).and_then(|mut file| {
            file.write_all(lines.collect::<String>().as_bytes())?;
            file.sync_all()
        });
        written.map_err(io_at("write", &new))?;
        fs::rename(&new, &self.path).map_err(io_at("rename", &new))?;
        let directory = self.path.parent().unwrap_or(&self.path);
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(io_at("write", directory))
    }

    /// All is as it was.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn clear(&self) -> Result<(), ServerError> {
        remove_file_if_there(&self.path)
    }
}

fn directory(home: &Home) -> PathBuf {
    home.root().join("changed")
}

#[cfg(test)]
mod tests {
    use super::{ChangeJournal, ValuesBefore};
    use crate::Home;

    #[test]
    fn what_was_written_is_left_for_the_next() {
        let root = tempfile::tempdir().unwrap();
        let home = Home::at(root.path().join("home")).unwrap();
        assert!(!ChangeJournal::is_any(&home));
        let before = [("innodb_io_capacity", "200"), ("sql_mode", "a\"b\\c,d")];
        let before: ValuesBefore =
            before.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let journal = ChangeJournal::take(&home, "host|3306").unwrap().unwrap();
        journal.write(&before).unwrap();
        // Another command leaves it alone, unless the first one is dead.
        assert!(ChangeJournal::take(&home, "host|3306").unwrap().is_none());
        drop(journal);
        let next = ChangeJournal::take(&home, "host|3306").unwrap().unwrap();
        assert_eq!(next.left().unwrap(), before);
        assert!(ChangeJournal::is_any(&home));
        let other = ChangeJournal::take(&home, "host|3307").unwrap().unwrap();
        assert_eq!(other.left().unwrap(), ValuesBefore::new());
        next.clear().unwrap();
        assert_eq!(next.left().unwrap(), ValuesBefore::new());
        assert!(!ChangeJournal::is_any(&home));
    }
}
