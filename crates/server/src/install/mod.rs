//! `mydyno server install`: brings an engine into mydyno's own directory. Nothing outside it
//! changes and no root is needed.
//!
//! An engine is unpacked beside its place, completed with the libraries that the machine lacks,
//! started once for its version, and only then renamed into place, under a lock: whoever looks sees
//! a whole engine or none.

mod fetch;
pub(crate) mod interpreter;
mod libraries;
pub(crate) mod suite;
mod unpack;

use crate::builds::{self, BINARY_PLACES, MANIFEST, Manifest, PLUGINS};
use crate::catalogue::{self, Engine};
use crate::error::io_at;
use crate::galera;
use crate::home::{self, FileLock};
use crate::{Home, ServerBuild, ServerError, ServerResult};
use std::fs;
use std::path::{Path, PathBuf};

/// An engine that is being installed.
struct Installation<'a> {
    engine: &'a Engine,
    /// A directory for what it takes.
    work: &'a Path,
    progress: &'a mut dyn FnMut(&str),
}

/// Where an engine came from.
#[derive(Default)]
struct Unpacked {
    /// The directory to move into place.
    root: PathBuf,
    origin: String,
    sha256: Option<String>,
    /// Where below `root` all its libraries are, where it came with them and needs none of the
    /// machine's.
    libraries: Option<PathBuf>,
    /// The loader below `root` that the server asks for, where it came with a C library that is
    /// newer than the machine's.
    loader: Option<PathBuf>,
}

/// Installs an engine of the catalogue, from its usual source or from an official archive (`--from
/// FILE`), and returns it. An engine that is there already is left as it is; another archive
/// replaces it.
///
/// # Errors
/// [`ServerError::Unknown`]; [`ServerError::MissingPackage`] naming what the machine lacks;
/// [`ServerError::Fetch`], [`ServerError::Checksum`], [`ServerError::Archive`] or
/// [`ServerError::WrongVersion`] for what was fetched.
pub fn install(
    home: &Home,
    engine: &str,
    from: Option<&Path>,
    progress: &mut dyn FnMut(&str),
) -> ServerResult<ServerBuild> {
    let engine = catalogue::engine(engine)?;
    let lock = home.engines().join(format!(".lock-{}", engine.name));
    let free = FileLock::try_now(&lock)?;
    if free.is_none() {
        progress("waiting for another mydyno that installs this engine");
    }
    let _lock = free.map_or_else(|| FileLock::wait(&lock), Ok)?;
    let place = home.engines().join(&engine.name);
    let from_sha256 = from.map(unpack::sha256_of).transpose()?;
    if let Some(build) = already(&place, engine, from_sha256.as_deref()) {
        progress(&format!("{} is installed already", engine.name));
        return Ok(build);
    }
    let prefix = format!(".tmp-{}-", engine.name);
    home::remove_left_over(&home.engines(), |name| name.starts_with(&prefix))?;
    let work = home::temporary_directory(&home.engines(), &prefix)?;
    let mut installation = Installation { engine, work: work.path(), progress: &mut *progress };
    let unpacked = match (from, from_sha256) {
        (Some(file), Some(sha256)) => from_file(&mut installation, file, sha256)?,
        _ => fetch::fetch(&mut installation)?,
    };
    let manifest = complete(&mut installation, &unpacked)?;
    let build = builds::from_manifest(&unpacked.root, &manifest)?;
    require_engine(engine, &build, from)?;
    write_manifest(&unpacked.root, &manifest)?;
    if let Some(loader) = &unpacked.loader {
        let binary = unpacked.root.join(&manifest.binary);
        interpreter::set(&binary, &place.join(loader))?;
    }
    move_into_place(work.path(), &unpacked.root, &place)?;
    let build = builds::from_manifest(&place, &manifest)?;
    progress(&format!("installed {} {}", build.engine, build.version));
    Ok(build)
}

/// The engine that is in place, unless it is broken, came from another file than the one given now,
/// or lacks what the catalogue has it come with by now.
fn already(place: &Path, engine: &Engine, from_sha256: Option<&str>) -> Option<ServerBuild> {
    let manifest = builds::manifest(place).ok()??;
    if from_sha256.is_some() && manifest.source_sha256.as_deref() != from_sha256 {
        return None;
    }
    let build = builds::from_manifest(place, &manifest).ok()?;
    let lacks_galera = engine.has_galera() && galera::below(&build.basedir).is_none();
    let lacks_plugins = engine.plugins.is_some() && !build.basedir.join(PLUGINS).is_dir();
    let is_from_packages = manifest.source_sha256.is_none();
    (!(is_from_packages && (lacks_galera || lacks_plugins))).then_some(build)
}

fn from_file(of: &mut Installation<'_>, file: &Path, sha256: String) -> ServerResult<Unpacked> {
    (of.progress)(&format!("unpacking {}", file.display()));
    let root = of.work.join("unpacked");
    unpack::archive(file, &root)?;
    let name = file.file_name().unwrap_or(file.as_os_str());
    let origin = format!("the archive {}", name.display());
    let root = server_root(&root, file)?;
    Ok(Unpacked { root, origin, sha256: Some(sha256), ..Unpacked::default() })
}

/// Official archives hold one directory with everything in it, those inside jars hold everything at
/// the top.
fn server_root(unpacked: &Path, file: &Path) -> ServerResult<PathBuf> {
    let mut candidates = [unpacked.to_owned()].into_iter().chain(home::entries(unpacked)?);
    candidates.find(|directory| binary_in(directory).is_some()).ok_or_else(|| {
        let why = "it holds no bin/mysqld or bin/mariadbd; give the official binary archive of \
                   the server"
            .to_owned();
        ServerError::Archive { file: file.to_owned(), why }
    })
}

fn binary_in(root: &Path) -> Option<PathBuf> {
    BINARY_PLACES.iter().map(PathBuf::from).find(|place| root.join(place).is_file())
}

/// Fetches missing libraries and says what is there.
fn complete(of: &mut Installation<'_>, unpacked: &Unpacked) -> ServerResult<Manifest> {
    let binary = binary_in(&unpacked.root).ok_or_else(|| ServerError::Archive {
        file: unpacked.root.clone(),
        why: format!("{} holds no server binary", unpacked.origin),
    })?;
    let mut own = [&unpacked.libraries, &of.engine.libraries].into_iter().flatten();
    let own = own.find(|own| unpacked.root.join(own).is_dir()).cloned();
    let directory = own.unwrap_or_else(|| PathBuf::from("mydyno-libs"));
    if unpacked.libraries.is_none() {
        let provider = galera::below(&unpacked.root.join("usr"));
        for file in [unpacked.root.join(&binary)].into_iter().chain(provider) {
            libraries::complete(of, &file, &unpacked.root.join(&directory))?;
        }
    }
    Ok(Manifest {
        engine: of.engine.name.clone(),
        binary,
        libraries: unpacked.root.join(&directory).is_dir().then_some(directory),
        origin: unpacked.origin.clone(),
        source_sha256: unpacked.sha256.clone(),
    })
}

/// Refuses what calls itself otherwise: a measurement would bear the wrong name.
fn require_engine(engine: &Engine, build: &ServerBuild, from: Option<&Path>) -> ServerResult<()> {
    if engine.is(build.release) {
        return Ok(());
    }
    let moved = engine.suite.as_ref().filter(|_| from.is_none());
    let moved = moved.map(|suite| format!("Debian's suite {suite} has moved on: "));
    Err(ServerError::WrongVersion {
        what: from.map_or_else(|| build.origin.clone(), |file| file.display().to_string()),
        wanted: format!("{} ({})", engine.series, engine.name),
        got: build.version.clone(),
        todo: format!(
            "{}give an official archive of that series: mydyno server install {} --from FILE",
            moved.unwrap_or_default(),
            engine.name
        ),
    })
}

fn write_manifest(root: &Path, manifest: &Manifest) -> ServerResult<()> {
    let path = root.join(MANIFEST);
    let text = toml::to_string(manifest).map_err(|error| {
        ServerError::data(&path, format!("cannot describe the engine: {error}"))
    })?;
    fs::write(&path, text).map_err(io_at("write", &path))
}

/// Swaps directories by renames. Servers that run from the old one keep their open files.
fn move_into_place(work: &Path, root: &Path, place: &Path) -> ServerResult<()> {
    let old = work.join("old");
    home::if_there(fs::rename(place, &old)).map_err(io_at("move away", place))?;
    if let Err(error) = fs::rename(root, place) {
        // Better the old engine than none; where this fails too, the first error says why.
        let _ = fs::rename(&old, place);
        return Err(io_at("move the engine to", place)(error));
    }
    home::remove_tree_if_there(&old)
}

#[cfg(test)]
mod tests {
    use super::install;
    use crate::{Home, ServerError, find};
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    /// An archive as a vendor ships it, with a server that is a script.
    fn vendor_archive(directory: &Path, name: &str, version: &str) -> PathBuf {
        let top = directory.join(format!("mysql-{version}-linux"));
        fs::create_dir_all(top.join("bin")).unwrap();
        let binary = top.join("bin/mysqld");
        fs::write(
            &binary,
            format!("#!/bin/sh\necho \"mysqld  Ver {version} for Linux on x86_64 (MySQL)\"\n"),
        )
        .unwrap();
        fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
        let path = directory.join(name);
        let file = fs::File::create(&path).unwrap();
        let gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        let mut tar = tar::Builder::new(gzip);
        tar.append_dir_all(top.file_name().unwrap(), &top).unwrap();
        tar.into_inner().unwrap().finish().unwrap();
        path
    }

    #[test]
    fn an_archive_that_the_user_has_is_installed_once_and_replaced_by_another() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        let first = vendor_archive(temp.path(), "a.tar.gz", "5.7.44");
        let second = vendor_archive(temp.path(), "b.tar.gz", "5.7.43");
        let mut said = Vec::new();
        let mut run = |file: &Path| {
            said.clear();
            let build = install(&home, "mysql-5.7", Some(file), &mut |line| {
                said.push(line.to_owned());
            })
            .unwrap();
            (build.version, said.join("\n"))
        };
        assert_eq!(run(&first).0, "5.7.44");
        let (version, said) = run(&first);
        assert_eq!(version, "5.7.44");
        assert!(said.contains("already"), "{said}");
        assert_eq!(run(&second).0, "5.7.43");
        assert_eq!(find(&home, "mysql-5.7").unwrap().version, "5.7.43");
        // Nothing temporary stays.
        let left: Vec<_> = fs::read_dir(home.engines())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .filter(|n| n.starts_with(".tmp"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn an_engine_that_no_registry_has_comes_from_its_vendors_archive() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        let said = install(&home, "mysql-8.4", None, &mut |_| {}).unwrap_err().to_string();
        assert!(said.contains("download mysql-8.4.N-linux-glibc2.28-x86_64.tar.xz from"), "{said}");
        assert!(said.contains("mydyno server install mysql-8.4 --from FILE"), "{said}");
        let archive = vendor_archive(temp.path(), "a.tar.gz", "8.4.7");
        let build = install(&home, "mysql-8.4", Some(&archive), &mut |_| {}).unwrap();
        assert_eq!((&*build.engine, &*build.version), ("mysql-8.4", "8.4.7"));
    }

    #[test]
    fn a_wrong_or_broken_archive_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        let wrong = vendor_archive(temp.path(), "a.tar.gz", "8.0.40");
        let error = install(&home, "mysql-5.7", Some(&wrong), &mut |_| {}).unwrap_err();
        assert!(matches!(error, ServerError::WrongVersion { .. }), "{error}");
        assert!(error.to_string().contains("8.0.40"), "{error}");

        let broken = temp.path().join("broken.tar.gz");
        fs::File::create(&broken).unwrap().write_all(b"not an archive").unwrap();
        let error = install(&home, "mysql-5.7", Some(&broken), &mut |_| {}).unwrap_err();
        assert!(matches!(error, ServerError::Archive { .. }), "{error}");
        let error = install(&home, "mysql-5.7", Some(&temp.path().join("no")), &mut |_| {});
        assert!(error.is_err());
        assert!(find(&home, "mysql-5.7").is_err());
    }
}
