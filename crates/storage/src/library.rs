//! Where the libraries are that are preloaded, and the environment that does it.

use crate::binary::{require_dilatable, require_preloadable};
use crate::counters::ShimPage;
use crate::error::{StorageError, StorageResult, io_at};
use base::{CLOCK_VARIABLE, DilatedClock, Dilation};
use device::SETUP_VARIABLE;
use rustix::time::{ClockId, clock_gettime};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const PRELOAD: &str = "LD_PRELOAD";

/// The libraries that are preloaded, by their crates, which is what people call them.
const SHIM: &str = "shim";
const CLOCK: &str = "clock";

/// The shim's library: beside this program; one directory up, where cargo puts it for tests; or
/// where an installation has it.
///
/// # Errors
/// [`StorageError::NoShim`] says how to build it.
pub fn shim_library() -> StorageResult<PathBuf> {
    find(SHIM)
}

/// The clock of processes that begin from now on. Those that share devices have to share it too.
pub fn clock_from_now(dilation: Dilation) -> DilatedClock {
    let now = clock_gettime(ClockId::Monotonic);
    let origin_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    DilatedClock { dilation, origin_ns }
}

fn find(what: &'static str) -> StorageResult<PathBuf> {
    let program = std::env::current_exe().map_err(io_at("find this program", "/proc/self/exe"))?;
    find_near(program.parent().unwrap_or(Path::new("/")), what)
}

fn find_near(directory: &Path, what: &'static str) -> StorageResult<PathBuf> {
    let file = format!("libmydyno_{what}.so");
    let up = directory.parent().unwrap_or(directory);
    let places = [directory, up, &up.join("lib/mydyno")].map(|place| place.join(&file));
    let missing = |library, todo| StorageError::NoShim { what, library, todo };
    let Some(found) = places.into_iter().find(|place| place.is_file()) else {
        let release = if directory.ends_with("release") { " --release" } else { "" };
        let todo = format!(
            "build it with `make build` (or `cargo build{release} -p {what}`), or put it beside \
             this program or into ../lib/mydyno"
        );
        return Err(missing(directory.join(file), todo));
    };
    // The loader splits the variable at these, and there is no way to quote them.
    if found.as_os_str().as_bytes().iter().any(|b| b" :\t\n".contains(b)) {
        let todo = "its path has a space or a colon in it, which LD_PRELOAD cannot hold; move \
                    mydyno to another directory";
        return Err(missing(found, todo.to_owned()));
    }
    Ok(found)
}

/// The environment of a server under the shim, whose setup is in its own directory.
///
/// # Errors
/// [`StorageError::NoShim`] and [`StorageError::UnfitBinary`].
pub fn server_environment(
    binary: &Path,
    clock: DilatedClock,
) -> StorageResult<Vec<(OsString, OsString)>> {
    require_preloadable(binary)?;
    if !clock.dilation.is_none() {
        require_dilatable(binary)?;
    }
    // Relative to the working directory that the server starts in.
    environment(OsStr::new(ShimPage::SETUP_FILE), clock)
}

/// The environment of a process under the shim. What this process preloads itself is kept.
pub(crate) fn environment(
    setup: &OsStr,
    clock: DilatedClock,
) -> StorageResult<Vec<(OsString, OsString)>> {
    let mut libraries = vec![find(SHIM)?];
    let mut environment = vec![(OsString::from(SETUP_VARIABLE), setup.to_owned())];
    if !clock.dilation.is_none() {
        // Behind the shim, whose calls to what it stands in front of are then dilated, too.
        libraries.push(find(CLOCK)?);
        environment.push((OsString::from(CLOCK_VARIABLE), clock.to_string().into()));
    }
    environment.push((PRELOAD.into(), preload(&libraries, std::env::var_os(PRELOAD))));
    Ok(environment)
}

fn preload(libraries: &[PathBuf], preloaded: Option<OsString>) -> OsString {
    let own = libraries.iter().map(|library| library.clone().into_os_string());
    let all: Vec<OsString> = own.chain(preloaded.filter(|other| !other.is_empty())).collect();
    all.join(OsStr::new(":"))
}

#[cfg(test)]
mod tests {
    use super::{CLOCK, SHIM, find_near, preload};
    use std::fs;
    use std::path::PathBuf;

    const SHIM_FILE: &str = "libmydyno_shim.so";

    #[test]
    fn the_library_is_found_where_it_may_be() {
        let temp = tempfile::tempdir().unwrap();
        let bin = temp.path().join("bin");
        let lib = temp.path().join("lib/mydyno");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&lib).unwrap();
        for (library, file) in [(SHIM, SHIM_FILE), (CLOCK, "libmydyno_clock.so")] {
            let error = find_near(&bin, library).unwrap_err().to_string();
            assert!(error.contains(&format!("cargo build -p {library}")), "{error}");
            for directory in [lib.as_path(), temp.path(), bin.as_path()] {
                fs::write(directory.join(file), "").unwrap();
                assert_eq!(find_near(&bin, library).unwrap(), directory.join(file));
            }
        }
        let spaced = temp.path().join("my tools");
        fs::create_dir(&spaced).unwrap();
        fs::write(spaced.join(SHIM_FILE), "").unwrap();
        let error = find_near(&spaced, SHIM).unwrap_err().to_string();
        assert!(error.contains("space"), "{error}");
    }

    #[test]
    fn what_was_preloaded_stays() {
        let libraries = [PathBuf::from("/x/shim.so"), PathBuf::from("/x/clock.so")];
        let preload =
            |count, before: Option<&str>| preload(&libraries[..count], before.map(Into::into));
        assert_eq!(preload(1, None), "/x/shim.so");
        assert_eq!(preload(1, Some("")), "/x/shim.so");
        assert_eq!(preload(1, Some("/y.so")), "/x/shim.so:/y.so");
        assert_eq!(preload(2, Some("/y.so")), "/x/shim.so:/x/clock.so:/y.so");
    }
}
