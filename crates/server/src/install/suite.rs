//! Engines of a Debian suite that is not this machine's. A package of another suite needs libraries
//! of that suite, so all that it depends on comes along, down to the C library, by an apt with a
//! configuration of its own: its index, its cache and its (empty) list of installed packages lie
//! below mydyno's directory. The archive is the one that the machine's own sources name, and
//! proxies and logins of the machine's apt stay in force.

use super::fetch::{fetch_failed, move_plugins, run_apt, single_file};
use super::{Installation, Unpacked, binary_in, interpreter};
use crate::error::io_at;
use crate::home::{self, entries};
use crate::{ServerBuild, ServerError, ServerResult};
use itertools::Itertools;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The keys of the Debian archive, as Debian and Ubuntu install them.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const KEYRING_PACKAGE: &str = "debian-archive-keyring";
/// The package that holds the C library and its loader.
const C_LIBRARY: &str = "libc6_";
/// How the file name of the C library's loader begins.
const LOADER_PREFIX: &str = "ld-linux";
/// What the machine does after an update of its own index.
const NO_HOOKS: &str = "#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n\
                        #clear APT::Update::Post-Invoke-Success;\n";
/// Below `usr`, what a server needs; the rest is documentation and programs.
const KEPT: [&str; 3] = ["lib", "sbin", "share"];
const KEPT_OF_SHARE: [&str; 2] = ["mariadb", "mysql"];

/// apt with a configuration of its own, below one directory.
struct PrivateApt {
    directory: PathBuf,
}

impl PrivateApt {
    fn new(directory: PathBuf) -> ServerResult<PrivateApt> {
        for place in ["state/lists/partial", "cache/archives/partial"] {
            let place = directory.join(place);
            fs::create_dir_all(&place).map_err(io_at("make the directory", &place))?;
        }
        for (name, text) in [("status", ""), ("apt.conf", NO_HOOKS)] {
            let file = directory.join(name);
            fs::write(&file, text).map_err(io_at("write", &file))?;
        }
        Ok(PrivateApt { directory })
    }

    /// Names the one suite that there is.
    fn point_at(&self, archive: &str, suite: &str) -> ServerResult<()> {
        let file = self.directory.join("sources.list");
        let line = format!("deb [signed-by={KEYRING} target=Packages] {archive} {suite} main\n");
        fs::write(&file, line).map_err(io_at("write", &file))
    }

    fn command(&self) -> Command {
        let mut command = Command::new("apt-get");
        let below = |name: &str| self.directory.join(name).display().to_string();
        command
            .args(["-q", "-y", "-c", &below("apt.conf")])
            .current_dir(&self.directory)
            .env("LC_ALL", "C");
        for (option, value) in [
            ("Dir::State", below("state/")),
            ("Dir::State::status", below("status")),
            ("Dir::Cache", below("cache/")),
            ("Dir::Etc::SourceList", below("sources.list")),
            ("Dir::Etc::SourceParts", "/dev/null".to_owned()),
            ("Dir::Etc::Preferences", "/dev/null".to_owned()),
            ("Dir::Etc::PreferencesParts", "/dev/null".to_owned()),
            ("APT::Default-Release", String::new()),
            ("APT::Install-Recommends", "false".to_owned()),
            ("APT::Sandbox::User", String::new()),
            // An archive that cannot be reached is an error, not a warning.
            ("APT::Update::Error-Mode", "any".to_owned()),
        ] {
            command.arg("-o").arg(format!("{option}={value}"));
        }
        command
    }

    /// The packages that were downloaded, in the order of their names.
    fn packages(&self) -> ServerResult<Vec<PathBuf>> {
        let mut packages = entries(&self.directory.join("cache/archives"))?;
        packages.retain(|path| path.extension() == Some(OsStr::new("deb")));
        Ok(packages)
    }
}

/// Fetches the engine and everything that it depends on from `suite`.
pub(super) fn fetch(of: &mut Installation<'_>, suite: &str) -> ServerResult<Unpacked> {
    let engine = of.engine;
    let name = &engine.name;
    if !Path::new(KEYRING).is_file() {
        let why = format!(
            "{name} comes from Debian's suite {suite}, whose signature is verified with {KEYRING}, \
             and that file is not there (or give the vendor's archive: mydyno server install \
             {name} --from FILE)"
        );
        return Err(ServerError::MissingPackage { package: KEYRING_PACKAGE.to_owned(), why });
    }
    let apt = PrivateApt::new(of.work.join("apt"))?;
    let archive = update(of, &apt, suite)?;
    let packages = engine.debian.join(" and ");
    (of.progress)(&format!(
        "fetching {packages} and their libraries of Debian's suite {suite} with apt-get"
    ));
    let mut install = apt.command();
    install.args(["--download-only", "install"]).args(&engine.debian);
    let (_, ended) = run_apt("apt-get", &mut install, name)?;
    let what = format!("{packages} of Debian's suite {suite} ({archive})");
    ended.map_err(|why| fetch_failed(&what, why))?;
    (of.progress)("unpacking");
    let unpacked = unpack(of, suite, &apt.packages()?)?;
    if let Some(package) = &engine.plugins {
        // Its dependencies are of no use to a plugin.
        let (_, ended) = run_apt("apt-get", apt.command().args(["download", package]), name)?;
        let file = single_file(&apt.directory, "deb").ok_or("apt-get left no package".to_owned());
        let file = ended.and(file).map_err(|why| fetch_failed(package, why))?;
        let beside = of.work.join("plugins");
        super::fetch::extract(&file, &beside)?;
        move_plugins(&beside, &unpacked.root)?;
    }
    Ok(unpacked)
}

/// Fetches the suite's index from the first archive of the machine's sources that has the suite;
/// returns that archive.
fn update(of: &mut Installation<'_>, apt: &PrivateApt, suite: &str) -> ServerResult<String> {
    let name = &of.engine.name;
    let mut machine = Command::new("apt-get");
    machine.args(["--print-uris", "update"]).env("LC_ALL", "C");
    let (uris, ended) = run_apt("apt-get", &mut machine, name)?;
    let archives = archives_in(&uris);
    let mut why = ended.err().unwrap_or_else(|| "they name no archive".to_owned());
    for archive in &archives {
        (of.progress)(&format!(
            "fetching the index of Debian's suite {suite} from {archive} with apt-get"
        ));
        apt.point_at(archive, suite)?;
        match run_apt("apt-get update", apt.command().arg("update"), name)? {
            (_, Ok(())) => return Ok(archive.clone()),
            (_, Err(said)) => why = said,
        }
    }
    let tried = archives.join(", ");
    let tried = if tried.is_empty() { tried } else { format!(" ({tried})") };
    let why = format!(
        "no archive of this machine's package sources{tried} gave Debian's suite {suite}: {why}; \
         where it is not to be had (Ubuntu's archives hold no suite of Debian's), add a Debian \
         mirror to apt's sources, or give the vendor's archive: mydyno server install {name} \
         --from FILE"
    );
    Err(fetch_failed(name, why))
}

/// The archives of `apt-get --print-uris update`, which reads all forms of sources, each once:
/// `'http://mirror.example/debian/dists/bookworm/InRelease' mirror.example_... 0`.
fn archives_in(uris: &str) -> Vec<String> {
    let archive = |line: &str| {
        let (uri, _) = line.strip_prefix('\'')?.split_once('\'')?;
        let (archive, _) = uri.split_once("/dists/")?;
        Some(format!("{archive}/"))
    };
    let is_reached =
        |archive: &String| !archive.starts_with("cdrom:") && !archive.contains(char::is_whitespace);
    uris.lines().filter_map(archive).filter(is_reached).unique().collect()
}

fn unpack(of: &Installation<'_>, suite: &str, packages: &[PathBuf]) -> ServerResult<Unpacked> {
    let root = of.work.join("unpacked");
    let c_library = of.work.join("c-library");
    let mut origin = Vec::new();
    for package in packages {
        let is_c_library = home::file_name(package).starts_with(C_LIBRARY);
        let to = if is_c_library { &c_library } else { &root };
        let said = super::fetch::extract(package, to)?;
        let is_servers = |name: &String| said.split(' ').next() == Some(name);
        if of.engine.debian.iter().any(is_servers) {
            origin.push(said);
        }
    }
    forget_all_but(&root.join("usr"), &KEPT)?;
    forget_all_but(&root.join("usr/share"), &KEPT_OF_SHARE)?;
    let origin = format!("Debian {suite}: {}", origin.join(", "));
    let (libraries, loader) = settle_c_library(&root, &c_library, &origin)?;
    Ok(Unpacked { root, origin, sha256: None, libraries, loader })
}

/// Decides on the C library and gives the directory of libraries and the loader, both below `root`.
/// The machine's own is taken where it is new enough for the server, because the shim was made for
/// it. Where it is older, the one that came with the server is newer than the shim needs: it goes
/// to the libraries, and the server asks for its loader.
fn settle_c_library(
    root: &Path,
    c_library: &Path,
    origin: &str,
) -> ServerResult<(Option<PathBuf>, Option<PathBuf>)> {
    let Some(loader) = loader_below(c_library)? else {
        return Ok((None, None));
    };
    let below = |path: &Path| path.strip_prefix(c_library).unwrap_or(path).to_owned();
    let directory = loader.parent().unwrap_or(c_library);
    let libraries = below(directory);
    let needs_newer = |binary: &PathBuf| {
        ServerBuild::ask(binary, Some(root.join(&libraries)), origin.to_owned()).is_err()
    };
    let binary = binary_in(root).map(|binary| root.join(binary));
    let Some(binary) = binary.filter(needs_newer) else {
        return Ok((Some(libraries), None));
    };
    for file in entries(directory)?.into_iter().filter(|path| path.is_file()) {
        let to = root.join(below(&file));
        fs::rename(&file, &to).map_err(io_at("move a library to", &to))?;
    }
    let loader = below(&loader);
    interpreter::set(&binary, &root.join(&loader))?;
    Ok((Some(libraries), Some(loader)))
}

/// The loader of the C library, in `usr/lib/x86_64-linux-gnu` or what corresponds to it.
fn loader_below(c_library: &Path) -> ServerResult<Option<PathBuf>> {
    let all = c_library.join("usr/lib");
    if !all.is_dir() {
        return Ok(None);
    }
    let mut directories = entries(&all)?.into_iter().filter(|path| path.is_dir());
    directories.find_map(|directory| loader_in(&directory).transpose()).transpose()
}

/// The loader of a C library, where one is in this directory.
pub(crate) fn loader_in(directory: &Path) -> ServerResult<Option<PathBuf>> {
    let mut files = entries(directory)?.into_iter().filter(|path| path.is_file());
    Ok(files.find(|path| home::file_name(path).starts_with(LOADER_PREFIX)))
}

fn forget_all_but(directory: &Path, kept: &[&str]) -> ServerResult<()> {
    if !directory.is_dir() {
        return Ok(());
    }
    let others = entries(directory)?.into_iter();
    let mut others = others.filter(|path| !kept.contains(&&*home::file_name(path)));
    others.try_for_each(|path| match path.is_dir() && !path.is_symlink() {
        true => home::remove_tree_if_there(&path),
        false => home::remove_file_if_there(&path),
    })
}

#[cfg(test)]
mod tests {
    use super::archives_in;

    #[test]
    fn every_archive_of_the_machines_sources_is_named_once() {
        let uris = "'http://mirror.example/debian/dists/bookworm/InRelease' \
            mirror.example_debian_x 0 \n\
            'http://x.example/flat/./InRelease' x.example_flat_._InRelease 0 \n\
            'cdrom://Debian 12/dists/bookworm/InRelease' Debian%2012_dists_bookworm_InRelease 0 \n\
            'http://mirror.example/debian/dists/bookworm-updates/InRelease' x 0 \n\
            W: something else\n\
            'mirror+file:/etc/apt/mirrors/debian.list/dists/bookworm/main/Packages.xz' x 0 \n";
        assert_eq!(
            archives_in(uris),
            ["http://mirror.example/debian/", "mirror+file:/etc/apt/mirrors/debian.list/"]
        );
        assert!(archives_in("").is_empty());
    }
}
