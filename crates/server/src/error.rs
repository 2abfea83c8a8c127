//! Why a server could not be had, started or reached: what failed, on what, why, and what to do.

use base::{CpuList, Exit, counted, nearest};
use std::io;
use std::path::{Path, PathBuf};

pub type ServerResult<T> = Result<T, ServerError>;

/// Everything that can go wrong in this crate.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("no directory for mydyno's own data: {why}; set MYDYNO_HOME to a directory of yours")]
    NoHome { why: String },

    #[error(
        "{what} `{name}` is unknown{}; the {what}s are {}",
        nearest_hint(.name, .known), .known.join(", ")
    )]
    Unknown { what: &'static str, name: String, known: Vec<String> },

    #[error(
        "engine `{engine}` is not installed, and no server of that version is on PATH; run `mydyno \
         server install {engine}`"
    )]
    NotInstalled { engine: String },

    #[error("{why}; install the package `{package}` (on Debian: apt-get install {package})")]
    MissingPackage { package: String, why: String },

    #[error("fetching {what} failed: {why}")]
    Fetch { what: String, why: String },

    #[error(
        "{what} is not what the catalogue names: its SHA-256 is {got}, not {wanted}; delete it \
         from the local Maven repository and install again"
    )]
    Checksum { what: String, wanted: String, got: String },

    #[error("cannot unpack {}: {why}", .file.display())]
    Archive { file: PathBuf, why: String },

    #[error("{what} is version {got}, not {wanted}; {todo}")]
    WrongVersion { what: String, wanted: String, got: String, todo: String },

    #[error("{} is not a MySQL or MariaDB server: {why}; name the file of mysqld or \
        mariadbd", .path.display())]
    NotAServer { path: PathBuf, why: String },

    #[error("{engine} cannot be a node of a Galera cluster: {why}")]
    NoCluster { engine: String, why: String },

    #[error("server variable `{name}`: {why}")]
    Setting { name: String, why: String },

    #[error(
        "another mydyno holds the lock {} ({what}); wait for it to end and run this again",
        .lock.display()
    )]
    Locked { lock: PathBuf, what: String },

    #[error(
        "a server named `{name}` runs already (process {pid}); stop it with `mydyno server stop \
         {name}` or choose another name"
    )]
    AlreadyRunning { name: String, pid: u32 },

    #[error("there is no server named `{name}`; {}", known_instances(.known))]
    NoSuchInstance { name: String, known: Vec<String> },

    #[error("there is no image `{name}`; `mydyno server images` lists them")]
    NoSuchImage { name: String },

    #[error("MYDYNO_IMAGES_MAX is {value:?}, which is no size; write the room for images as 100G")]
    ImagesMax { value: String },

    #[error("instance name `{name}`: {why}")]
    BadName { name: String, why: String },

    #[error(
        "the disk of {} is too small: {needed_bytes} bytes are needed for {what} and {free_bytes} \
         are free; free some space or put the data elsewhere", .path.display()
    )]
    Disk { path: PathBuf, what: String, needed_bytes: u64, free_bytes: u64 },

    #[error(
        "{asked} cores are asked for the server, and mydyno may use {} ({allowed}); ask for so \
         many at most, or start mydyno where it may use more",
        counted(.allowed.len(), "CPU", "CPUs")
    )]
    Cores { asked: u32, allowed: CpuList },

    #[error("{what}: {}", .path.display())]
    Data { what: String, path: PathBuf },

    #[error("cannot {doing} {}: {cause}", .path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        /// In the message, and no `source`, which would be told a second time.
        cause: io::Error,
    },

    #[error("{engine} {stage}: {why}{}", log_part(.log))]
    Failed {
        engine: String,
        /// `did not start`, `could not initialise its data directory`, `did not stop`.
        stage: &'static str,
        why: String,
        /// The tail of the server's error log.
        log: String,
    },

    #[error("DSN: {why}; the form is mysql://user[:password]@host[:port]/schema")]
    Dsn { why: String },

    #[error("option file {}{}: {why}", .file.display(), line_part(*.line))]
    OptionFile { file: PathBuf, line: Option<usize>, why: String },

    #[error("no target: {why}")]
    NoTarget { why: String },
}

fn nearest_hint(name: &str, known: &[String]) -> String {
    let nearest = nearest(name, known);
    nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

fn known_instances(known: &[String]) -> String {
    if known.is_empty() {
        "none is there; `mydyno server start` makes one".to_owned()
    } else {
        format!("there are {}", known.join(", "))
    }
}

fn line_part(line: Option<usize>) -> String {
    line.map(|n| format!(", line {n}")).unwrap_or_default()
}

/// The last lines of a log, indented: enough for a message; the whole tail is in
/// [`ServerError::log_tail`].
fn log_part(log: &str) -> String {
    const LINES: usize = 12;
    let lines: Vec<&str> = log.lines().filter(|l| !l.trim().is_empty()).collect();
    match &lines[lines.len().saturating_sub(LINES)..] {
        [] => "; its log is empty".to_owned(),
        last => format!("; the end of its log:\n    {}", last.join("\n    ")),
    }
}

impl ServerError {
    /// The exit code that this error ends the program with.
    pub fn exit(&self) -> Exit {
        match self {
            ServerError::Unknown { .. }
            | ServerError::NotAServer { .. }
            | ServerError::Setting { .. }
            | ServerError::BadName { .. }
            | ServerError::NoSuchInstance { .. }
            | ServerError::NoSuchImage { .. }
            | ServerError::ImagesMax { .. }
            | ServerError::Dsn { .. }
            | ServerError::OptionFile { .. }
            | ServerError::NoTarget { .. } => Exit::Usage,
            ServerError::Failed { .. } => Exit::ServerFailed,
            ServerError::NoHome { .. }
            | ServerError::NotInstalled { .. }
            | ServerError::MissingPackage { .. }
            | ServerError::Fetch { .. }
            | ServerError::Checksum { .. }
            | ServerError::Archive { .. }
            | ServerError::WrongVersion { .. }
            | ServerError::NoCluster { .. }
            | ServerError::Locked { .. }
            | ServerError::AlreadyRunning { .. }
            | ServerError::Disk { .. }
            | ServerError::Cores { .. }
            | ServerError::Data { .. }
            | ServerError::Io { .. } => Exit::Environment,
        }
    }

    /// Of a file or directory that is not what it has to be.
    pub(crate) fn data(path: impl Into<PathBuf>, what: impl Into<String>) -> ServerError {
        ServerError::Data { what: what.into(), path: path.into() }
    }

    /// The tail of the server's error log, where a server was involved.
    pub fn log_tail(&self) -> Option<&str> {
        match self {
            ServerError::Failed { log, .. } => Some(log),
            _ => None,
        }
    }
}

/// For `map_err`: what was being done to which path.
pub(crate) fn io_at<E: Into<io::Error>>(
    doing: &'static str,
    path: &Path,
) -> impl FnOnce(E) -> ServerError {
    let path = path.to_owned();
    move |error| ServerError::Io { doing, path, cause: error.into() }
}

#[cfg(test)]
mod tests {
    use super::ServerError;
    use base::Exit;

    #[test]
    fn messages_say_what_to_do() {
        let error = ServerError::Unknown {
            what: "engine",
            name: "mysql-57".into(),
            known: vec!["mysql-5.7".into(), "mysql-8.0".into()],
        };
        assert_eq!(
            error.to_string(),
            "engine `mysql-57` is unknown (did you mean `mysql-5.7`?); the engines are mysql-5.7, \
             mysql-8.0"
        );
        assert_eq!(error.exit(), Exit::Usage);
        let error = ServerError::Failed {
            engine: "mysql-5.7".into(),
            stage: "did not start",
            why: "unknown variable 'x=1'".into(),
            log: "a\n\nb\n".into(),
        };
        assert_eq!(
            error.to_string(),
            "mysql-5.7 did not start: unknown variable 'x=1'; the end of its log:\n    a\n    b"
        );
        assert_eq!(error.exit(), Exit::ServerFailed);
    }
}
