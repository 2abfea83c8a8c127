//! Which releases of a server have a variable.

use base::{ServerFamily, ServerRelease, VersionNumbers};
use itertools::Itertools;
use serde::Deserialize;

/// The releases that have a variable.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KnownReleases {
    pub(super) mysql: Releases,
    /// The releases of Percona Server; those of MySQL where it is not given.
    percona: Option<Releases>,
    mariadb: Releases,
}

impl KnownReleases {
    /// Why a release does not have the variable; `None` where it has.
    pub(crate) fn lacks(&self, release: ServerRelease) -> Option<String> {
        let known = match release.family {
            ServerFamily::Mysql => self.mysql,
            ServerFamily::Percona => self.percona.unwrap_or(self.mysql),
            ServerFamily::MariaDb => self.mariadb,
        };
        known.lacks(release)
    }
}

/// Releases of one family: `5.7.2..8.0.3`, where the first has the variable and the last has it no
/// more; `..`; `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Releases {
    None,
    Within { from: Option<VersionNumbers>, until: Option<VersionNumbers> },
}

impl Default for Releases {
    fn default() -> Self {
        Releases::Within { from: None, until: None }
    }
}

impl TryFrom<String> for Releases {
    type Error = String;

    fn try_from(text: String) -> Result<Releases, String> {
        if text == "none" {
            return Ok(Releases::None);
        }
        let refuse = || format!("`{text}` names no releases; write 5.7.2..8.0.3, .. or none");
        let (from, until) = text.split_once("..").ok_or_else(refuse)?;
        let end = |end: &str| match end {
            "" => Ok(None),
            end => version(end).map(Some).ok_or_else(refuse),
        };
        Ok(Releases::Within { from: end(from)?, until: end(until)? })
    }
}

fn version(text: &str) -> Option<VersionNumbers> {
    let (major, minor, patch) = text.split('.').map(str::parse).collect_tuple()?;
    Some((major.ok()?, minor.ok()?, patch.ok()?))
}

fn version_text((major, minor, patch): VersionNumbers) -> String {
    format!("{major}.{minor}.{patch}")
}

impl Releases {
    /// Why a release of this family does not have the variable; `None` where it has.
    pub(crate) fn lacks(self, ServerRelease { family, version }: ServerRelease) -> Option<String> {
        let name = family.title();
        match self {
            Releases::None => Some(format!("{name} does not have it")),
            Releases::Within { from: Some(from), .. } if version < from => {
                Some(format!("new in {name} {}", version_text(from)))
            }
            Releases::Within { until: Some(until), .. } if version >= until => {
                Some(format!("gone since {name} {}", version_text(until)))
            }
            Releases::Within { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Releases;
    use base::{ServerFamily, ServerRelease};

    fn releases(text: &str) -> Result<Releases, String> {
        Releases::try_from(text.to_owned())
    }

    #[test]
    fn the_first_has_it_and_the_last_does_not() {
        let lacks = |text: &str, version| {
            let release = ServerRelease { family: ServerFamily::Mysql, version };
            releases(text).unwrap().lacks(release)
        };
        assert_eq!(lacks("5.7.2..8.0.3", (5, 7, 2)), None);
        assert_eq!(lacks("5.7.2..8.0.3", (8, 0, 2)), None);
        assert_eq!(lacks("5.7.2..8.0.3", (5, 7, 1)).as_deref(), Some("new in MySQL 5.7.2"));
        assert_eq!(lacks("5.7.2..8.0.3", (8, 0, 3)).as_deref(), Some("gone since MySQL 8.0.3"));
        assert_eq!(lacks("..", (1, 0, 0)), None);
        assert!(lacks("none", (8, 0, 0)).is_some());
    }

    #[test]
    fn what_names_no_releases_is_refused() {
        for bad in ["", "8.0", "8.0..", "..8.0.3.1", "8.0.x..", "5.7.2-8.0.3"] {
            assert!(releases(bad).unwrap_err().contains("5.7.2.."), "{bad:?}");
        }
    }
}
