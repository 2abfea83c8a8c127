//! The engines that mydyno knows by name: data in `catalogue.toml`, looked up here.

use crate::{ServerError, ServerResult};
use base::{ServerFamily, ServerRelease};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

/// What the catalogue says of one engine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    pub name: String,
    #[serde(deserialize_with = "family")]
    pub family: ServerFamily,
    /// `5.7`: a server on the machine is this engine if its version begins so.
    pub series: String,
    /// What `mydyno server install` brings.
    pub version: String,
    pub about: String,
    pub(crate) maven: Option<Maven>,
    #[serde(default)]
    pub(crate) debian: Vec<String>,
    /// The Debian package that has the server's plugins, and much else.
    pub(crate) plugins: Option<String>,
    /// The Debian suite of these packages, where it is not the machine's own.
    pub(crate) suite: Option<String>,
    /// The archive that `--from FILE` takes, and where its vendor has it.
    pub vendor: Option<String>,
    /// Where in the engine's directory its libraries lie.
    pub(crate) libraries: Option<PathBuf>,
}

/// A jar, and where the server is in it: an archive, or a directory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Maven {
    pub(crate) artifact: String,
    pub(crate) sha256: String,
    pub(crate) archive: Option<String>,
    pub(crate) directory: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    engine: Vec<Engine>,
    libraries: BTreeMap<String, Vec<String>>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    toml::from_str(include_str!("catalogue.toml"))
        .expect("the catalogue is part of the program and a test parses it")
});

/// All engines of the catalogue, in its order.
pub fn engines() -> &'static [Engine] {
    &CATALOGUE.engine
}

/// Debian packages that may hold a library, best first.
pub(crate) fn packages_of_library(soname: &str) -> &'static [String] {
    CATALOGUE.libraries.get(soname).map_or(&[], Vec::as_slice)
}

/// The engine of that name.
pub fn engine(name: &str) -> ServerResult<&'static Engine> {
    engines().iter().find(|e| e.name == name).ok_or_else(|| {
        let known: Vec<String> = engines().iter().map(|e| e.name.clone()).collect();
        ServerError::Unknown { what: "engine", name: name.to_owned(), known }
    })
}

impl Engine {
    /// Does `mydyno server install` bring it without an archive of its vendor?
    pub fn can_be_fetched(&self) -> bool {
        self.maven.is_some() || !self.debian.is_empty()
    }

    /// Does Galera's library come with it?
    pub(crate) fn has_galera(&self) -> bool {
        self.debian.iter().any(|package| package.starts_with("galera-"))
    }

    /// The release that `mydyno server install` brings.
    pub fn release(&self) -> ServerRelease {
        let mut numbers = self.version.split('.').map(|part| part.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        ServerRelease { family: self.family, version: (next(), next(), next()) }
    }

    /// Is a server of this release this engine? Patch releases of one series are one engine.
    pub(crate) fn is(&self, ServerRelease { family, version }: ServerRelease) -> bool {
        self.family == family && self.series == format!("{}.{}", version.0, version.1)
    }
}

fn family<'de, D: Deserializer<'de>>(from: D) -> Result<ServerFamily, D::Error> {
    let name = String::deserialize(from)?;
    let known = ServerFamily::ALL.into_iter().find(|family| family.name() == name);
    known.ok_or_else(|| D::Error::custom(format!("`{name}` is no family of servers")))
}

#[cfg(test)]
mod tests {
    use super::{engine, engines};
    use base::{ServerFamily, ServerRelease};

    #[test]
    fn the_catalogue_is_sound() {
        for engine in engines() {
            let is_package = !engine.debian.is_empty();
            let sources = [engine.maven.is_some(), is_package, engine.vendor.is_some()];
            assert_eq!(sources.iter().filter(|has| **has).count(), 1, "{}", engine.name);
            assert!(engine.suite.is_none() || engine.maven.is_none());
            assert!(engine.version.starts_with(&engine.series));
            if let Some(maven) = &engine.maven {
                assert_eq!(maven.artifact.split(':').count(), 3);
                assert_eq!(maven.sha256.len(), 64);
                assert_eq!(maven.archive.is_some(), maven.directory.is_none());
            }
        }
    }

    #[test]
    fn a_wrong_name_suggests_the_right_one() {
        let known: Vec<&str> = engines().iter().map(|engine| engine.name.as_str()).collect();
        for (typed, meant) in [
            ("mysql57", Some("mysql-5.7")),
            ("MYSQL-8.0", Some("mysql-8.0")),
            ("mariadb", Some("mariadb-11.4")),
            ("percona84", Some("percona-8.4")),
            ("mysql-9", Some("mysql-9.7")),
            ("xtradb", Some("xtradb-5.6")),
            ("oracle-23ai-enterprise", None),
        ] {
            let text = engine(typed).unwrap_err().to_string();
            assert!(text.contains(&known.join(", ")), "{text}");
            match meant {
                Some(name) => assert!(text.contains(&format!("did you mean `{name}`")), "{text}"),
                None => assert!(!text.contains("did you mean"), "{text}"),
            }
        }
    }

    #[test]
    fn patch_releases_of_a_series_are_one_engine() {
        let mysql = engine("mysql-5.7").unwrap();
        let is = |family, version| mysql.is(ServerRelease { family, version });
        assert!(is(ServerFamily::Mysql, (5, 7, 44)));
        assert!(!is(ServerFamily::MariaDb, (5, 7, 44)));
        assert!(!is(ServerFamily::Percona, (5, 7, 44)));
        assert!(!is(ServerFamily::Mysql, (8, 0, 15)));
    }
}
