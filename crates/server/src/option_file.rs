//! MySQL option files on disk: `[client]` and `[mydyno]` of `--defaults-file` or `~/.my.cnf`, with
//! what they include.

use crate::dsn::Dsn;
use crate::option_text::{self, OptionLine};
use crate::{ServerError, ServerResult};
use itertools::Itertools;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use wire::Password;

/// Groups that are read; the last value of an option wins, whichever group it stands in, as for
/// `mysql`.
const GROUPS: [&str; 2] = ["client", "mydyno"];
/// `mysql` has the same limit.
const INCLUDE_DEPTH_MAX: usize = 10;
/// An option file is some lines of text.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What the files say of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientOptions {
    pub(crate) login: Dsn,
    /// `protocol=TCP`: the socket is not used.
    pub(crate) tcp_only: bool,
    /// What was read over, for people.
    pub(crate) notes: Vec<String>,
}

impl ClientOptions {
    /// Reads a file into these options, where it is there, with what it includes; `depth` is the
    /// number of files that it is included over.
    pub(crate) fn read_if_there(&mut self, file: &Path, depth: usize) -> ServerResult<()> {
        match file.try_exists() {
            Ok(false) => Ok(()),
            _ => self.read(file, depth),
        }
    }

    /// The same of a file that has to be there.
    pub(crate) fn read(&mut self, file: &Path, depth: usize) -> ServerResult<()> {
        let refuse =
            |line, why: String| ServerError::OptionFile { file: file.to_owned(), line, why };
        if depth > INCLUDE_DEPTH_MAX {
            let why = format!(
                "it is included over more than {INCLUDE_DEPTH_MAX} files; do they include each \
                 other?"
            );
            return Err(refuse(None, why));
        }
        let metadata = fs::metadata(file)
            .map_err(|error| refuse(None, format!("{error}; name a file that can be read")))?;
        if metadata.permissions().mode() & 0o002 != 0 && metadata.is_file() {
            self.notes.push(format!(
                "option file {} is ignored: everybody may write it (chmod o-w)",
                file.display()
            ));
            return Ok(());
        }
        if metadata.len() > FILE_BYTES_MAX {
            return Err(refuse(None, format!("it is larger than {FILE_BYTES_MAX} bytes")));
        }
        let bytes = fs::read(file).map_err(|error| refuse(None, error.to_string()))?;
        let text =
            String::from_utf8(bytes).map_err(|_| refuse(None, "it is not UTF-8".to_owned()))?;
        let lines = option_text::parse(&text).map_err(|(line, why)| refuse(Some(line), why))?;
        let directory = file.parent().unwrap_or(Path::new("."));
        let mut ours = false;
        for (number, line) in lines {
            match line {
                OptionLine::Group(name) => ours = GROUPS.contains(&name.as_str()),
                OptionLine::Setting { name, value } if ours => {
                    self.set(&name, value).map_err(|why| refuse(Some(number), why))?;
                }
                OptionLine::Setting { .. } => {}
                OptionLine::Include(path) => {
                    self.read_if_there(&directory.join(path), depth + 1)?;
                }
                OptionLine::IncludeDirectory(path) => {
                    self.read_directory(&directory.join(path), depth + 1)?;
                }
            }
        }
        Ok(())
    }

    /// Files called `*.cnf`, in the order of their names, so that the result is the same
    /// everywhere.
    fn read_directory(&mut self, directory: &Path, depth: usize) -> ServerResult<()> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()),
            Err(error) => {
                self.notes
                    .push(format!("option directory {} is ignored: {error}", directory.display()));
                return Ok(());
            }
        };
        let is_option_file = |path: &PathBuf| path.extension().is_some_and(|end| end == "cnf");
        let mut files = entries.filter(is_option_file).sorted();
        files.try_for_each(|file| self.read_if_there(&file, depth))
    }

    /// Takes one option; those of other purposes are read over, as `mysql` clients share these
    /// groups.
    fn set(&mut self, name: &str, value: Option<String>) -> Result<(), String> {
        let name = name.strip_prefix("loose_").unwrap_or(name);
        let text = value.clone().filter(|v| !v.is_empty());
        match name {
            "user" => self.login.user = text,
            // `password` alone asks at the terminal in `mysql`; here it is as if it were not there.
            "password" => self.login.password = value.map(Password::new),
            "host" => self.login.host = text,
            "socket" => self.login.socket = text.map(PathBuf::from),
            "database" => self.login.schema = text,
            "port" => {
                let Some(text) = text else { return Ok(()) };
                let port = text
                    .parse::<u16>()
                    .map_err(|_| format!("port `{text}` is no number from 0 to 65535"))?;
                // 0 is the default, for `mysql` too.
                self.login.port = Some(port).filter(|p| *p > 0);
            }
            "protocol" => {
                self.tcp_only = text.is_some_and(|t| t.eq_ignore_ascii_case("tcp"));
            }
            // Alone, it is true; any other of these says nothing without a value.
            "get_server_public_key" if value.is_none() => {
                self.login.security.get_server_public_key = Some(true);
            }
            _ => {
                let Some(text) = text else { return Ok(()) };
                self.login.security.set(&name.replace('_', "-"), &text)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::ClientOptions;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use wire::{Password, TlsMode};

    fn read(file: &Path) -> Result<ClientOptions, crate::ServerError> {
        let mut options = ClientOptions::default();
        options.read(file, 0).map(|()| options)
    }

    #[test]
    fn groups_includes_and_the_last_value() {
        let temp = tempfile::tempdir().unwrap();
        let main = temp.path().join("my.cnf");
        fs::create_dir(temp.path().join("conf.d")).unwrap();
        fs::write(temp.path().join("conf.d/b.cnf"), "[client]\nport=2\n").unwrap();
        fs::write(temp.path().join("conf.d/a.cnf"), "[client]\nport=1\nhost=a\n").unwrap();
        fs::write(temp.path().join("conf.d/c.txt"), "[client]\nport=3\n").unwrap();
        fs::write(temp.path().join("more.cnf"), "[mydyno]\ndatabase=tpcc\n").unwrap();
        fs::write(
            &main,
            "user=nobody\n[mysqld]\nport=9\nuser=mysql\n[client]\nuser=u\npassword='p \
             #1'\nssl-mode=preferred\nget-server-public-key\n\
             default-character-set=utf8mb4\n!includedir conf.d\n!include more.cnf\n!include \
             missing.cnf\n[mydyno]\nuser=v\n",
        )
        .unwrap();
        let options = read(&main).unwrap();
        assert_eq!(options.login.user.as_deref(), Some("v"));
        assert_eq!(options.login.password, Some(Password::new("p #1")));
        assert_eq!(options.login.host.as_deref(), Some("a"));
        assert_eq!(options.login.port, Some(2));
        assert_eq!(options.login.schema.as_deref(), Some("tpcc"));
        assert_eq!(options.login.security.ssl_mode, Some(TlsMode::Preferred));
        assert_eq!(options.login.security.get_server_public_key, Some(true));
        assert!(options.notes.is_empty());
    }

    #[test]
    fn bad_files_are_named_with_their_line() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("my.cnf");
        for (text, says) in [
            ("[client]\n\nport=x\n", "line 3"),
            ("[client\n", "line 1"),
            ("[client]\nssl-mode=MAYBE\n", "line 2"),
            ("!include my.cnf\n", "include each other"),
        ] {
            fs::write(&file, text).unwrap();
            let error = read(&file).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("my.cnf"), "{error}");
        }
        fs::write(&file, b"[client]\npassword=\xff\n").unwrap();
        assert!(read(&file).unwrap_err().to_string().contains("UTF-8"));
        assert!(read(&temp.path().join("no.cnf")).is_err());
        let mut options = ClientOptions::default();
        options.read_if_there(&temp.path().join("no.cnf"), 0).unwrap();
    }

    #[test]
    fn a_file_that_everybody_may_write_is_ignored() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("my.cnf");
        fs::write(&file, "[client]\nuser=u\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        let options = read(&file).unwrap();
        assert_eq!(options.login.user, None);
        assert!(options.notes[0].contains("ignored"), "{:?}", options.notes);
    }
}
