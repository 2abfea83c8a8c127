//! Where the shim's library is, and the environment that preloads it.

use crate::binary::require_preloadable;
use crate::counters::ShimPage;
use crate::error::{StorageError, io_at};
use device::SETUP_VARIABLE;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const LIBRARY: &str = "libmydyno_shim.so";
const PRELOAD: &str = "LD_PRELOAD";

/// The library: beside this program; one directory up, where cargo puts it for tests; or where an
/// installation has it.
///
/// # Errors
/// [`StorageError::NoShim`] says how to build it.
pub fn shim_library() -> Result<PathBuf, StorageError> {
    let program = std::env::current_exe().map_err(io_at("find this program", "/proc/self/exe"))?;
    let directory = program.parent().unwrap_or(Path::new("/"));
    library_near(directory)
}

fn library_near(directory: &Path) -> Result<PathBuf, StorageError> {
    let beside = directory.join(LIBRARY);
    let up = directory.parent().unwrap_or(directory);
    let installed = up.join("lib/mydyno").join(LIBRARY);
    let places = [beside.clone(), up.join(LIBRARY), installed];
    let Some(found) = places.into_iter().find(|place| place.is_file()) else {
        let release = if directory.ends_with("release") { " --release" } else { "" };
        return Err(StorageError::NoShim {
            library: beside,
            todo: format!(
                "build it with `make build` (or `cargo build{release} -p shim`), or put it beside this program or into ../lib/mydyno"
            ),
        });
    };
    // The loader splits the variable at these, and there is no way to quote them.
    if found.as_os_str().as_bytes().iter().any(|b| b" :\t\n".contains(b)) {
        return Err(StorageError::NoShim {
            library: found,
            todo: "its path has a space or a colon in it, which LD_PRELOAD cannot hold; move mydyno to another directory".to_owned(),
        });
    }
    Ok(found)
}

/// The environment of a server under the shim, whose setup is in its own directory.
pub fn server_environment(binary: &Path) -> Result<Vec<(OsString, OsString)>, StorageError> {
    require_preloadable(binary)?;
    // Relative to the working directory that the server starts in.
    Ok(environment(&shim_library()?, OsStr::new(ShimPage::SETUP_FILE)))
}

/// The environment of a process under the shim. What this process preloads itself is kept.
pub(crate) fn environment(library: &Path, setup: &OsStr) -> Vec<(OsString, OsString)> {
    environment_with(library, setup, std::env::var_os(PRELOAD))
}

fn environment_with(
    library: &Path,
    setup: &OsStr,
    preloaded: Option<OsString>,
) -> Vec<(OsString, OsString)> {
    let mut preload = OsString::from(library);
    if let Some(other) = preloaded.filter(|other| !other.is_empty()) {
        preload.push(":");
        preload.push(other);
    }
    vec![(OsString::from(PRELOAD), preload), (OsString::from(SETUP_VARIABLE), setup.to_owned())]
}

#[cfg(test)]
mod tests {
    use super::{LIBRARY, environment_with, library_near};
    use std::ffi::OsStr;
    use std::fs;
    use std::path::Path;

    #[test]
    fn the_library_is_found_where_it_may_be() {
        let temp = tempfile::tempdir().unwrap();
        let bin = temp.path().join("bin");
        let lib = temp.path().join("lib/mydyno");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&lib).unwrap();
        let error = library_near(&bin).unwrap_err().to_string();
        assert!(error.contains("cargo build -p shim"), "{error}");
        for directory in [&lib, temp.path(), &bin] {
            fs::write(directory.join(LIBRARY), "").unwrap();
            assert_eq!(library_near(&bin).unwrap(), directory.join(LIBRARY));
        }
        let spaced = temp.path().join("my tools");
        fs::create_dir(&spaced).unwrap();
        fs::write(spaced.join(LIBRARY), "").unwrap();
        let error = library_near(&spaced).unwrap_err().to_string();
        assert!(error.contains("space"), "{error}");
    }

    #[test]
    fn what_was_preloaded_stays() {
        let library = Path::new("/x/libmydyno_shim.so");
        let preload = |before: Option<&str>| {
            let all = environment_with(library, OsStr::new("s"), before.map(Into::into));
            all[0].1.clone()
        };
        assert_eq!(preload(None), "/x/libmydyno_shim.so");
        assert_eq!(preload(Some("")), "/x/libmydyno_shim.so");
        assert_eq!(preload(Some("/y.so")), "/x/libmydyno_shim.so:/y.so");
    }
}
