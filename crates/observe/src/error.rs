//! Why something could not be observed.

use std::path::{Path, PathBuf};

pub type ObserveResult<T> = Result<T, ObserveError>;

/// A reading that failed. The run goes on with a gap.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    #[error("cannot read {}: {cause}; try it by hand, as this user", path.display())]
    Read { path: PathBuf, cause: std::io::Error },
    #[error("cannot read {}: the process has ended; its own log may say why", path.display())]
    Ended { path: PathBuf },
    #[error(
        "{} has not the form that Linux documents: {what}; please report it with the text of that \
         file",
        path.display()
    )]
    Form { path: PathBuf, what: String },
    #[error("{url} gave no metrics: {why}; start node_exporter there, or leave out --host-metrics")]
    Exporter { url: String, why: String },
    /// Without the command, which may hold a password.
    #[error(
        "the meter (--power-command) gave no watts: {0}; run the command by hand, as this user"
    )]
    Meter(String),
    #[error(
        "cannot read the server's status: {0}; it takes one more session of the run's user, and \
         GRANT PROCESS ON *.* for all metrics"
    )]
    Server(String),
    #[error("cannot read the shim's counters: {0}; look whether the server still runs")]
    Shim(#[from] storage::StorageError),
    #[error(
        "cannot count {event} on core {core}: {cause}; raise the limit of open files (ulimit -n) \
         where that is why"
    )]
    Perf { event: &'static str, core: u32, cause: std::io::Error },
    #[error("cannot reserve {bytes} bytes for the canary: {cause}; free memory on this host")]
    Canary { bytes: usize, cause: String },
    #[error("the observer panicked: {0}; please report it, with what stands on stderr")]
    Panicked(String),
}

/// For `map_err` of a reading of `path`.
pub(crate) fn read_at(path: &Path) -> impl FnOnce(std::io::Error) -> ObserveError {
    let path = path.to_owned();
    move |cause| ObserveError::Read { path, cause }
}
