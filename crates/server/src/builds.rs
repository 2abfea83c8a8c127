//! Server binaries: those that mydyno installed, those of the machine, and one named by its path.
//!
//! A build is known by what its own `--version` says, never by its file name; a binary that does
//! not tell its version is refused, because a measurement must name what it measured.

use crate::catalogue::{self, Engine};
use crate::{Home, ServerError, ServerResult, home};
use base::{ServerRelease, named};
use itertools::Itertools;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file in an engine's directory that says what is there.
pub(crate) const MANIFEST: &str = "mydyno-engine.toml";
/// Where plugins of a distribution's server are, below its base directory.
pub(crate) const PLUGINS: &str = "lib/mysql/plugin";
/// Where binaries of a server lie under its base directory.
pub(crate) const BINARY_PLACES: [&str; 8] = [
    "bin/mysqld",
    "bin/mariadbd",
    "sbin/mariadbd",
    "sbin/mysqld",
    "libexec/mariadbd",
    "libexec/mysqld",
    "usr/sbin/mariadbd",
    "usr/sbin/mysqld",
];
/// How far below an engine's directory its binary lies at most: `usr/sbin/mariadbd`.
const INSTALL_DEPTH_MAX: usize = 3;
/// Where servers lie that are not on an ordinary user's PATH.
const SYSTEM_PLACES: [&str; 4] =
    ["/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/libexec"];

/// A server that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerBuild {
    /// The catalogue's name where it is one of these, else family and series (`percona-8.0`,
    /// `mysql-8.4`).
    pub engine: String,
    pub release: ServerRelease,
    /// The version that the binary prints: `5.7.22`, `10.11.19-MariaDB-0+deb12u1`.
    pub version: String,
    pub binary: PathBuf,
    pub basedir: PathBuf,
    /// Libraries that the binary needs and the machine lacks.
    pub library_path: Option<PathBuf>,
    /// Where it came from, for people.
    pub origin: String,
}

/// What `install` leaves beside an engine. Paths are relative to the engine's directory.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) engine: String,
    pub(crate) binary: PathBuf,
    pub(crate) libraries: Option<PathBuf>,
    pub(crate) origin: String,
    /// SHA-256 of the file that it was installed from, where it was one file.
    pub(crate) source_sha256: Option<String>,
}

named! {
    /// Where a copy of an engine is.
    pub enum Availability {
        /// In mydyno's own directory.
        Installed = "installed",
        /// On the machine already.
        OnMachine = "on_machine",
        NotInstalled = "not_installed",
    }
}

/// One line of `server list`.
#[derive(Clone, Debug)]
pub struct ListedEngine {
    pub engine: &'static Engine,
    pub availability: Availability,
    /// The build, where there is one.
    pub build: Option<ServerBuild>,
}

impl ServerBuild {
    /// The server at `path` (`--server-binary`).
    ///
    /// # Errors
    /// [`ServerError::NotAServer`] where the file does not run or does not tell a version.
    pub fn from_binary(path: &Path) -> ServerResult<ServerBuild> {
        let refuse = |why: String| ServerError::NotAServer { path: path.to_owned(), why };
        let binary = fs::canonicalize(path).map_err(|error| refuse(error.to_string()))?;
        // One that `install` completed with libraries of its own does not run without them.
        for directory in binary.ancestors().skip(1).take(INSTALL_DEPTH_MAX) {
            if let Some(build) = installed(directory)? {
                return Ok(build);
            }
        }
        ServerBuild::ask(&binary, None, binary.display().to_string())
    }

    /// An engine as the catalogue has it, whether it is installed or not: what depends on its
    /// version can be told of it, and nothing be started.
    ///
    /// # Errors
    /// [`ServerError::Unknown`]
    pub fn of_catalogue(engine: &str) -> ServerResult<ServerBuild> {
        let engine = catalogue::engine(engine)?;
        Ok(ServerBuild {
            engine: engine.name.clone(),
            release: engine.release(),
            version: engine.version.clone(),
            binary: PathBuf::new(),
            basedir: PathBuf::new(),
            library_path: None,
            origin: String::new(),
        })
    }

    /// Asks a binary for its version.
    pub(crate) fn ask(
        binary: &Path,
        library_path: Option<PathBuf>,
        origin: String,
    ) -> ServerResult<ServerBuild> {
        let refuse = |why: String| ServerError::NotAServer { path: binary.to_owned(), why };
        let mut command = Command::new(binary);
        command.args(["--no-defaults", "--version"]);
        add_library_path(&mut command, library_path.as_deref());
        let output =
            command.stdin(Stdio::null()).output().map_err(|error| refuse(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let Some((version, release)) = version_in(&text) else {
            let errors = String::from_utf8_lossy(&output.stderr);
            let said = errors.lines().chain(text.lines()).next().unwrap_or("nothing");
            return Err(refuse(format!("`--version` printed no version, but: {said}")));
        };
        let parent = binary.parent().unwrap_or(binary);
        let is_for_programs = ["bin", "sbin", "libexec"].contains(&&*home::file_name(parent));
        let basedir = parent.parent().filter(|_| is_for_programs).unwrap_or(parent);
        Ok(ServerBuild {
            engine: engine_of(release),
            release,
            version: version.to_owned(),
            binary: binary.to_owned(),
            basedir: basedir.to_owned(),
            library_path,
            origin,
        })
    }

    /// The directory of error messages and, for MariaDB, of the scripts that make the system
    /// tables.
    pub(crate) fn share(&self) -> Option<PathBuf> {
        let places = ["share/mysql", "share/mariadb", "share/mysql-8.0", "share"];
        let mut places = places.map(|place| self.basedir.join(place)).into_iter();
        places.find(|place| place.join("english/errmsg.sys").is_file())
    }

    /// A command that runs the binary with its libraries.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        add_library_path(&mut command, self.library_path.as_deref());
        command
    }
}

/// Puts a directory before the ones that the loader searches.
pub(crate) fn add_library_path(command: &mut Command, path: Option<&Path>) {
    const VARIABLE: &str = "LD_LIBRARY_PATH";
    command.envs(path.map(|path| (VARIABLE, before_inherited(path, VARIABLE))));
}

/// The value of a variable of this process that lists directories, with one before the others.
pub(crate) fn before_inherited(directory: &Path, variable: &str) -> OsString {
    let inherited = std::env::var_os(variable).filter(|inherited| !inherited.is_empty());
    let all: Vec<OsString> = std::iter::once(directory.into()).chain(inherited).collect();
    all.join(OsStr::new(":"))
}

/// What `--version` says: `mysqld  Ver 5.7.22 for Linux on x86_64 (MySQL Community Server (GPL))`.
fn version_in(output: &str) -> Option<(&str, ServerRelease)> {
    let after = output.lines().find_map(|line| line.split_once(" Ver "))?.1.trim_start();
    Some((after.split_whitespace().next()?, after.parse().ok()?))
}

/// The catalogue's name where it is one of these, else family and series.
fn engine_of(release: ServerRelease) -> String {
    match catalogue::engines().iter().find(|engine| engine.is(release)) {
        Some(engine) => engine.name.clone(),
        None => format!("{}-{}.{}", release.family, release.version.0, release.version.1),
    }
}

/// The engine of that name: mydyno's own copy, else one of the machine with its version.
///
/// # Errors
/// [`ServerError::Unknown`], or [`ServerError::NotInstalled`] which names the command that
/// installs it.
pub fn find(home: &Home, engine: &str) -> ServerResult<ServerBuild> {
    let engine = catalogue::engine(engine)?;
    let name = &engine.name;
    let own = installed(&home.engines().join(name)).map_err(|error| match error {
        ServerError::NotAServer { path, why } => {
            let why = format!(
                "{name} is installed and does not run ({why}); run `mydyno server install {name}` \
                 again"
            );
            ServerError::data(path, why)
        }
        error => error,
    })?;
    own.or_else(|| on_machine(&machine_builds(), engine))
        .ok_or_else(|| ServerError::NotInstalled { engine: name.clone() })
}

/// Every engine of the catalogue, and whether it is at hand.
pub fn list(home: &Home) -> ServerResult<Vec<ListedEngine>> {
    let machine = machine_builds();
    let listed = |engine: &'static Engine| {
        let own = match installed(&home.engines().join(&engine.name)) {
            // A broken copy is as good as none: `install` replaces it.
            Err(ServerError::NotAServer { .. }) => None,
            own => own?,
        };
        let machines = || Some((Availability::OnMachine, on_machine(&machine, engine)?));
        let found = own.map(|build| (Availability::Installed, build)).or_else(machines);
        let (availability, build) = found.unzip();
        let availability = availability.unwrap_or(Availability::NotInstalled);
        Ok(ListedEngine { engine, availability, build })
    };
    catalogue::engines().iter().map(listed).collect()
}

/// What `install` put into this directory, where it is one of its.
fn installed(directory: &Path) -> ServerResult<Option<ServerBuild>> {
    let manifest = manifest(directory)?;
    manifest.map(|manifest| from_manifest(directory, &manifest)).transpose()
}

pub(crate) fn manifest(directory: &Path) -> ServerResult<Option<Manifest>> {
    let text = home::read_if_there(&directory.join(MANIFEST))?;
    // One of another version of this program: as good as none.
    Ok(text.and_then(|text| toml::from_str(&text).ok()))
}

pub(crate) fn from_manifest(directory: &Path, manifest: &Manifest) -> ServerResult<ServerBuild> {
    let libraries = manifest.libraries.as_ref().map(|l| directory.join(l));
    let build =
        ServerBuild::ask(&directory.join(&manifest.binary), libraries, manifest.origin.clone())?;
    Ok(ServerBuild { engine: manifest.engine.clone(), ..build })
}

fn on_machine(machine: &[ServerBuild], engine: &Engine) -> Option<ServerBuild> {
    machine.iter().find(|b| b.engine == engine.name).cloned()
}

/// Every server that PATH and the usual places of servers hold. One that does not run is not there.
fn machine_builds() -> Vec<ServerBuild> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).chain(SYSTEM_PLACES.iter().map(PathBuf::from));
    let directories = directories.filter(|directory| directory.is_absolute());
    let named = directories.flat_map(|d| ["mysqld", "mariadbd"].map(|name| d.join(name)));
    // Debian's mysqld is a link to mariadbd: one server, not two.
    let binaries = named.filter_map(|path| fs::canonicalize(path).ok()).unique();
    let runs = |binary: &PathBuf| {
        fs::metadata(binary).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    binaries.filter(runs).filter_map(|binary| ServerBuild::from_binary(&binary).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{ServerBuild, engine_of, find, list, version_in};
    use crate::{Availability, Home, ServerError, engines};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    #[test]
    fn versions_as_servers_print_them() {
        for (line, engine, numbers) in [
            (
                "mysqld  Ver 5.7.22 for linux-glibc2.12 on x86_64 (MySQL Community Server (GPL))",
                "mysql-5.7",
                (5, 7, 22),
            ),
            (
                "/x/mysqld  Ver 8.0.15 for Linux on x86_64 (MySQL Community Server - GPL)",
                "mysql-8.0",
                (8, 0, 15),
            ),
            (
                "/x/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 \
                 (Debian 12)",
                "mariadb-10.11",
                (10, 11, 19),
            ),
            (
                "/x/mysqld  Ver 10.1.13-MariaDB for Linux on x86_64 (MariaDB Server)",
                "xtradb-5.6",
                (10, 1, 13),
            ),
            (
                "/x/mysqld  Ver 8.0.35-27 for Linux on x86_64 (Percona Server (GPL), Release 27, \
                 Revision 2f8eeab)",
                "percona-8.0",
                (8, 0, 35),
            ),
            (
                "/x/mysqld  Ver 8.4.3 for Linux on x86_64 (MySQL Community Server - GPL)",
                "mysql-8.4",
                (8, 4, 3),
            ),
            ("/x/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", "mysql-9.7", (9, 7, 4)),
        ] {
            let (_, release) = version_in(line).unwrap();
            assert_eq!((engine_of(release).as_str(), release.version), (engine, numbers));
        }
        for bad in ["", "GNU bash, version 5.2.15(1)-release", "x Ver abc for y"] {
            assert_eq!(version_in(bad), None);
        }
    }

    fn script(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn binaries_are_known_by_what_they_say() {
        let temp = tempfile::tempdir().unwrap();
        let good = temp.path().join("usr/sbin/mysqld");
        script(&good, "echo \"$0  Ver 8.0.40 for Linux on x86_64 (MySQL)\"");
        let build = ServerBuild::from_binary(&good).unwrap();
        assert_eq!(build.engine, "mysql-8.0");
        assert_eq!(build.basedir, fs::canonicalize(temp.path().join("usr")).unwrap());
        assert_eq!(build.release.version, (8, 0, 40));

        let bad = temp.path().join("bin/mysqld");
        script(&bad, "echo 'error while loading shared libraries: libaio.so.1' >&2; exit 127");
        let error = ServerBuild::from_binary(&bad).unwrap_err();
        assert!(error.to_string().contains("libaio.so.1"), "{error}");
        let error = ServerBuild::from_binary(&temp.path().join("none")).unwrap_err();
        assert!(matches!(error, ServerError::NotAServer { .. }));
    }

    #[test]
    fn an_empty_home_has_nothing_installed() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path()).unwrap();
        let listed = list(&home).unwrap();
        assert_eq!(listed.len(), engines().len());
        assert!(listed.iter().all(|e| e.availability != Availability::Installed));
        // No machine has this one on its PATH.
        let error = find(&home, "xtradb-5.6").unwrap_err();
        assert!(error.to_string().contains("mydyno server install xtradb-5.6"), "{error}");
    }
}
