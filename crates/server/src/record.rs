//! What is written down of a server with a name.

use crate::home;
use crate::{Home, ServerError, ServerResult};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

pub(crate) const RECORD: &str = "instance.json";

/// What is known of a named server; without what is skipped, the file in its directory.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NamedInstance {
    #[serde(skip)]
    pub name: String,
    pub engine: String,
    pub version: String,
    pub pid: u32,
    pub port: u16,
    pub socket: PathBuf,
    pub(crate) data: PathBuf,
    pub started_utc_ns: i64,
    #[serde(skip)]
    pub running: bool,
    /// Its own directory.
    #[serde(skip)]
    pub directory: PathBuf,
}

impl NamedInstance {
    /// Writes it into the server's directory.
    pub(crate) fn write(&self, directory: &Path) -> ServerResult<()> {
        let path = directory.join(RECORD);
        let text = serde_json::to_string_pretty(self).map_err(|error| {
            ServerError::data(&path, format!("cannot write down the server: {error}"))
        })?;
        home::write_private(&path, &text)
    }
}

/// Locked while the server of that name is started or stopped.
pub(crate) fn lock_path(home: &Home, name: &str) -> PathBuf {
    home.instances().join(format!(".lock-{name}"))
}
