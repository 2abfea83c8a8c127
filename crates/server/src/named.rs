//! Servers with a name (`server start`): they outlive the command that started them and end with
//! `server stop`.

use crate::home::{self, FileLock};
use crate::instance::{loopback_options, read_password};
use crate::instance_dir::InstanceDir;
use crate::process::{self, Ending};
use crate::record::{NamedInstance, RECORD, lock_path};
use crate::{Home, Image, ServerBuild, ServerError, ServerResult, dsn};
use rustix::process::Pid;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::{ConnectOptions, Password};

const NAME_BYTES_MAX: usize = 64;

/// What becomes of the data of a server that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterStop {
    /// The next start of that name goes on with it.
    KeepData,
    RemoveData,
}

impl NamedInstance {
    /// Login over TCP on the loopback interface.
    pub fn connect_options(&self) -> ServerResult<ConnectOptions> {
        let password = read_password(&self.directory.join("password"))?;
        Ok(loopback_options(self.port, &password, &self.data))
    }

    /// The address for people, without the password.
    pub fn dsn(&self) -> String {
        let nobody = Password::default();
        dsn::render(&loopback_options(self.port, &nobody, &self.data), dsn::Secret::Hidden)
    }

    /// The end of its error log.
    pub fn log_tail(&self) -> String {
        process::log_since(&self.directory.join("error.log"), 0)
    }
}

/// Stops a named server: asks, waits up to `timeout`, kills. Where its data goes too, there is
/// nothing to shut down in good order for: it is killed at once, and a server that hangs in its
/// shutdown holds nobody up. `before` is called with its directory once nobody else can start or
/// stop it.
///
/// # Errors
/// [`ServerError::NoSuchInstance`]; [`ServerError::Locked`] while it is being started or stopped.
pub fn stop_named(
    home: &Home,
    name: &str,
    timeout: Duration,
    after: AfterStop,
    before: impl FnOnce(&Path),
) -> ServerResult<Ending> {
    check_name(name)?;
    let directory = home.instances().join(name);
    if !directory.is_dir() {
        let known = named(home)?.into_iter().map(|instance| instance.name).collect();
        return Err(ServerError::NoSuchInstance { name: name.to_owned(), known });
    }
    let _lock = lock(home, name)?;
    before(&directory);
    let my_cnf = directory.join("my.cnf");
    let removes = after == AfterStop::RemoveData;
    let patience = if removes { Duration::ZERO } else { timeout };
    let mut ending = Ending::Died("it was not running".to_owned());
    // Found by what it runs with: the record may be of before a crash.
    for pid in process::servers_with(&my_cnf) {
        ending = process::end_foreign(pid, &my_cnf, patience)?;
    }
    if removes {
        InstanceDir::named(directory, true)?.remove()?;
    }
    Ok(ending)
}

/// All named servers, by name.
pub fn named(home: &Home) -> ServerResult<Vec<NamedInstance>> {
    let directories = home::entries(&home.instances())?;
    let names = directories.iter().filter_map(|directory| directory.file_name()?.to_str());
    // One that is being started has no record yet.
    names.filter_map(|name| read(home, name).transpose()).collect()
}

fn read(home: &Home, name: &str) -> ServerResult<Option<NamedInstance>> {
    let directory = home.instances().join(name);
    let path = directory.join(RECORD);
    let Some(text) = home::read_if_there(&path)? else { return Ok(None) };
    let instance: NamedInstance = serde_json::from_str(&text).map_err(|error| {
        let why = format!(
            "the record of this server is damaged ({error}); stop it with `mydyno server stop \
             {name}`"
        );
        ServerError::data(path, why)
    })?;
    let pid = i32::try_from(instance.pid).ok().and_then(Pid::from_raw);
    let is_it = |pid| process::is_server_with(pid, &directory.join("my.cnf"));
    let running = pid.is_some_and(is_it);
    Ok(Some(NamedInstance { name: name.to_owned(), running, directory, ..instance }))
}

fn check_name(name: &str) -> ServerResult<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let has_length = (1..=NAME_BYTES_MAX).contains(&name.len());
    if has_length && name.chars().all(plain) && !name.starts_with(['.', '-']) {
        return Ok(());
    }
    let why = format!(
        "it has 1 to {NAME_BYTES_MAX} letters, digits, dots, dashes and underscores, and starts \
         with none of the last three but the underscore"
    );
    Err(ServerError::BadName { name: name.to_owned(), why })
}

/// Held while a named server is started or stopped.
pub(crate) fn lock(home: &Home, name: &str) -> ServerResult<FileLock> {
    check_name(name)?;
    let path = lock_path(home, name);
    FileLock::try_now(&path)?.ok_or_else(|| ServerError::Locked {
        lock: path,
        what: format!("it starts or stops the server `{name}`"),
    })
}

/// The data directory of a stopped server of that name, to go on with. Fails where it runs, or
/// where what is there is not what is asked for.
pub(crate) fn resumable(
    home: &Home,
    name: &str,
    build: &ServerBuild,
    image: Option<&Image>,
) -> ServerResult<Option<PathBuf>> {
    let directory = home.instances().join(name);
    if let Some(pid) = process::servers_with(&directory.join("my.cnf")).first() {
        let pid = pid.as_raw_nonzero().get().unsigned_abs();
        return Err(ServerError::AlreadyRunning { name: name.to_owned(), pid });
    }
    let Some(old) = read(home, name)? else {
        // What a start left that was killed half-way.
        InstanceDir::named(directory, true)?.remove()?;
        return Ok(None);
    };
    let wrong = if old.engine != build.engine || old.version != build.version {
        format!(
            "it holds data of {} {}, not {} {}",
            old.engine, old.version, build.engine, build.version
        )
    } else if image.is_some() {
        "it holds data already, and a clone was asked for".to_owned()
    } else {
        return Ok(Some(old.data));
    };
    let why = format!(
        "{wrong}; remove it with `mydyno server stop {name} --remove` or choose another name"
    );
    Err(ServerError::BadName { name: name.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use super::{AfterStop, check_name, lock, named, stop_named};
    use crate::{Home, ServerError};
    use std::time::Duration;

    #[test]
    fn names_are_directory_names() {
        for good in ["default", "a", "my.server-1_x", "_x"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let long = "x".repeat(65);
        for bad in ["", ".", "..", "a/b", "-x", "a b", "\u{e4}", long.as_str()] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn stopping_what_is_not_there() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path()).unwrap();
        assert!(named(&home).unwrap().is_empty());
        let stop = || stop_named(&home, "x", Duration::ZERO, AfterStop::KeepData, |_| panic!());
        let error = stop().unwrap_err();
        assert!(matches!(error, ServerError::NoSuchInstance { .. }), "{error}");
        assert!(error.to_string().contains("server start"), "{error}");
        // While it is started or stopped by another, it is left as it is.
        std::fs::create_dir(home.instances().join("x")).unwrap();
        let _held = lock(&home, "x").unwrap();
        let error = stop().unwrap_err();
        assert!(matches!(error, ServerError::Locked { .. }), "{error}");
    }
}
