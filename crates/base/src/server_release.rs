//! Which server it is: its family and its release, and since which releases servers have something.

use crate::named;
use std::str::FromStr;

/// A release as numbers, for comparing: `(5, 7, 22)`.
pub type VersionNumbers = (u16, u16, u16);

named! {
    /// Families of servers, which differ in how they are initialised and configured.
    pub enum ServerFamily {
        Mysql = "mysql" => "MySQL",
        /// MySQL with variables and files of its own.
        Percona = "percona" => "Percona Server",
        MariaDb = "mariadb" => "MariaDB",
    }
}

impl ServerFamily {
    /// By the words in which a server tells its version.
    pub fn of_words(text: &str) -> ServerFamily {
        let text = text.to_ascii_lowercase();
        match () {
            () if text.contains("mariadb") => ServerFamily::MariaDb,
            () if text.contains("percona") => ServerFamily::Percona,
            () => ServerFamily::Mysql,
        }
    }

    /// Is it MariaDB, whose releases are counted on their own?
    pub fn is_mariadb(self) -> bool {
        self == ServerFamily::MariaDb
    }
}

/// A release of a family of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerRelease {
    pub family: ServerFamily,
    pub version: VersionNumbers,
}

/// The text begins with no version of three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRelease;

impl FromStr for ServerRelease {
    type Err = NoRelease;

    /// Parses what a server says of itself: `10.11.19-MariaDB-0+deb12u1`, `5.7.22 for Linux on
    /// x86_64 (MySQL Community Server (GPL))`.
    fn from_str(text: &str) -> Result<ServerRelease, NoRelease> {
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        let mut next = || numbers.next().and_then(Result::ok).ok_or(NoRelease);
        let version = (next()?, next()?, next()?);
        Ok(ServerRelease { family: ServerFamily::of_words(text), version })
    }
}

impl ServerRelease {
    /// Does it have what servers have since these releases?
    pub fn has(self, since: Since) -> bool {
        since.of(self.family).is_some_and(|since| self.version >= since)
    }
}

/// The first releases that have something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Since {
    /// Of MySQL, and of Percona Server, which has its numbers; `None` where none has it.
    mysql: Option<VersionNumbers>,
    mariadb: Option<VersionNumbers>,
}

impl Since {
    /// No release has it.
    pub const NEVER: Since = Since { mysql: None, mariadb: None };
    /// All releases have it.
    pub const ALWAYS: Since = Since::mysql((0, 0, 0)).or_mariadb((0, 0, 0));

    /// No release of MariaDB has it.
    pub const fn mysql(version: VersionNumbers) -> Since {
        Since { mysql: Some(version), mariadb: None }
    }

    /// No release of MySQL has it.
    pub const fn mariadb(version: VersionNumbers) -> Since {
        Since { mysql: None, mariadb: Some(version) }
    }

    /// The first of this family that has it.
    pub fn of(self, family: ServerFamily) -> Option<VersionNumbers> {
        if family.is_mariadb() { self.mariadb } else { self.mysql }
    }

    /// And since this release of MariaDB.
    pub const fn or_mariadb(self, version: VersionNumbers) -> Since {
        Since { mariadb: Some(version), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::{NoRelease, ServerFamily, ServerRelease, Since};

    #[test]
    fn servers_are_known_by_their_words() {
        use ServerFamily::{MariaDb, Mysql, Percona};
        for (text, family, version) in [
            ("5.7.22-log", Mysql, (5, 7, 22)),
            ("5.7.22 for linux-glibc2.12 on x86_64 (MySQL Community Server)", Mysql, (5, 7, 22)),
            ("9.7.4-2 for Linux on x86_64 ((Debian))", Mysql, (9, 7, 4)),
            ("8.0.36-28 (Percona Server (GPL), Release 28)", Percona, (8, 0, 36)),
            ("10.11.19-MariaDB-0+deb12u1", MariaDb, (10, 11, 19)),
        ] {
            assert_eq!(text.parse(), Ok(ServerRelease { family, version }), "{text}");
        }
        for bad in ["", "8", "8.0-proxy", "8.0.", "proxy", "trunk (8.0.1)", "8.0.70000"] {
            assert_eq!(bad.parse::<ServerRelease>(), Err(NoRelease), "{bad}");
        }
    }

    #[test]
    fn perconas_releases_are_those_of_mysql() {
        let release = |text: &str| text.parse::<ServerRelease>().unwrap();
        let both = Since::mysql((8, 0, 18)).or_mariadb((10, 6, 0));
        for (text, expected) in [
            ("8.0.17", false),
            ("8.0.18", true),
            ("8.0.18-9 Percona", true),
            ("10.5.9-MariaDB", false),
            ("11.4.2-MariaDB", true),
        ] {
            assert_eq!(release(text).has(both), expected, "{text}");
            assert!(release(text).has(Since::ALWAYS) && !release(text).has(Since::NEVER));
        }
        assert!(!release("11.4.2-MariaDB").has(Since::mysql((5, 7, 0))));
        assert!(!release("9.7.0").has(Since::mariadb((5, 5, 0))));
    }
}
