//! Shared libraries that a server needs and the machine lacks: found with `ldd`, fetched as Debian
//! packages into the engine's own directory, named to the loader by LD_LIBRARY_PATH. A library that
//! the machine has is used as it is.

use super::{Installation, fetch};
use crate::builds::add_library_path;
use crate::catalogue;
use crate::error::io_at;
use crate::home::{file_name, temporary_directory};
use crate::{ServerError, ServerResult};
use itertools::Itertools;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Rounds of looking and fetching: a fetched library may need others, never this deep.
const ROUNDS_MAX: usize = 5;

/// Puts what `binary` lacks into `directory`, which is made where something is missing.
pub(super) fn complete(
    of: &mut Installation<'_>,
    binary: &Path,
    directory: &Path,
) -> ServerResult<()> {
    for _ in 0..ROUNDS_MAX {
        let missing = missing_libraries(binary, directory)?;
        if missing.is_empty() {
            return Ok(());
        }
        for soname in &missing {
            fetch_library(of, binary, soname, directory)?;
        }
    }
    let missing = missing_libraries(binary, directory)?;
    missing.first().map_or(Ok(()), |soname| Err(lacking(binary, soname)))
}

fn lacking(binary: &Path, soname: &str) -> ServerError {
    let packages = catalogue::packages_of_library(soname);
    ServerError::MissingPackage {
        package: packages.first().map_or(soname, String::as_str).to_owned(),
        why: format!("{} needs the library {soname}", binary.display()),
    }
}

/// What `ldd` does not find. A script or a static binary needs nothing.
fn missing_libraries(binary: &Path, directory: &Path) -> ServerResult<Vec<String>> {
    let mut command = Command::new("ldd");
    command.arg(binary).env("LC_ALL", "C").stdin(Stdio::null());
    add_library_path(&mut command, directory.is_dir().then_some(directory));
    let output = command.output().map_err(io_at("run ldd on", binary))?;
    Ok(parse_ldd(&String::from_utf8_lossy(&output.stdout)))
}

fn parse_ldd(output: &str) -> Vec<String> {
    let missing = output.lines().filter_map(|line| line.trim().strip_suffix("=> not found"));
    missing.map(|name| name.trim().to_owned()).sorted_unstable().dedup().collect()
}

fn fetch_library(
    of: &mut Installation<'_>,
    binary: &Path,
    soname: &str,
    directory: &Path,
) -> ServerResult<()> {
    let packages = catalogue::packages_of_library(soname);
    if packages.is_empty() {
        return Err(lacking(binary, soname));
    }
    let unpacked = temporary_directory(of.work, "lib-")?;
    fetch::debian_package(of, packages, unpacked.path()).map_err(|error| {
        let binary = binary.display();
        let why =
            format!("{binary} needs the library {soname}, and it could not be fetched ({error})");
        ServerError::MissingPackage { package: packages[0].clone(), why }
    })?;
    fs::create_dir_all(directory).map_err(io_at("make the directory", directory))?;
    let copy = |file: &Path, name: &str| {
        let to = directory.join(name);
        fs::copy(file, &to).map(drop).map_err(io_at("copy a library to", &to))
    };
    let mut found = false;
    for file in shared_objects(unpacked.path()) {
        // Links are followed: every name becomes a file of its own, so nothing dangles.
        copy(&file, &file_name(&file))?;
        found |= file_name(&file) == soname;
    }
    if found {
        return Ok(());
    }
    // libaio1t64 holds libaio.so.1t64 for libaio.so.1.
    let is_renamed = |file: &PathBuf| {
        file_name(file).strip_prefix(soname).is_some_and(|rest| rest.starts_with("t64"))
    };
    let renamed = shared_objects(directory).into_iter().find(is_renamed);
    copy(&renamed.ok_or_else(|| lacking(binary, soname))?, soname)
}

/// Files and links called `*.so*` below a directory (packages are a few levels deep).
fn shared_objects(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                pending.push(path);
            } else if file_name(&path).contains(".so") && path.is_file() {
                found.push(path);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{missing_libraries, parse_ldd};
    use std::path::Path;

    #[test]
    fn ldd_tells_what_is_missing() {
        let output = "\tlinux-vdso.so.1 (0x00007f)\n\tliburing.so.2 => not found\n\
            \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\tlibaio.so.1 => not \
            found\n\tliburing.so.2 => not found\n";
        assert_eq!(parse_ldd(output), ["libaio.so.1", "liburing.so.2"]);
        assert!(parse_ldd("\tnot a dynamic executable\n").is_empty());
        let own = std::env::current_exe().unwrap();
        assert!(missing_libraries(&own, Path::new("/nonexistent")).unwrap().is_empty());
    }
}
