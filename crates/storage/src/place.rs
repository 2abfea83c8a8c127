//! Where the files of a role go, as people write it.

use crate::error::{StorageError, StorageResult, io_at};
use crate::regular::{SymbolicLinks, read_regular};
use base::nearest;
use device::Profile;
use spec::Place;
use std::path::{Path, PathBuf};

/// Longest text of a profile file: a hundred times what one needs.
const PROFILE_BYTES_MAX: u64 = 1 << 20;

/// Reads a place; a profile file is read too. Relative paths are made absolute, because servers run
/// in directories of their own.
pub fn parse_place(text: &str) -> StorageResult<Place> {
    let bad = |why: &str| StorageError::BadPlace { place: text.to_owned(), why: why.to_owned() };
    if text.is_empty() {
        return Err(bad("it is empty; name a device profile or a directory"));
    }
    if text.chars().any(char::is_control) {
        return Err(bad("it holds a control character"));
    }
    let (device, at) = split(text);
    if at.is_some_and(str::is_empty) {
        return Err(bad("a directory is missing behind the @"));
    }
    let at = at.map(absolute).transpose()?;
    if is_file_name(device) {
        let file = absolute(device)?;
        let profile = Box::new(read_profile(&file)?);
        return Ok(Place::Emulated { profile, file: Some(file), at });
    }
    if device.contains('/') || device == "." || device == ".." {
        return absolute(device).map(Place::Directory);
    }
    let profile = device::builtin(device).ok_or_else(|| unknown(device))?;
    Ok(Place::Emulated { profile: Box::new(profile), file: None, at })
}

/// The profile of that name, or in that file.
///
/// # Errors
/// As [`parse_place`]; a directory is no profile.
pub fn profile(text: &str) -> StorageResult<Profile> {
    if is_file_name(text) || text.contains('/') {
        return read_profile(Path::new(text));
    }
    device::builtin(text).ok_or_else(|| unknown(text))
}

/// Refuses a database that is larger than the device, or than the part of it that is used.
pub(crate) fn require_used(profile: &Profile, needed_bytes: u64) -> StorageResult<()> {
    let used_bytes = profile.used_bytes();
    if used_bytes >= needed_bytes {
        return Ok(());
    }
    let device = profile.name.clone();
    Err(StorageError::DeviceTooSmall { device, used_bytes, needed_bytes })
}

/// Splits at the `@` behind a profile; one in a directory's name stays.
fn split(text: &str) -> (&str, Option<&str>) {
    let behind_profile = |at: &usize| !text[..*at].contains('/') || is_file_name(&text[..*at]);
    let mut at = text.match_indices('@').map(|(at, _)| at);
    match at.find(behind_profile) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn is_file_name(text: &str) -> bool {
    text.ends_with(".toml")
}

fn absolute(text: &str) -> StorageResult<PathBuf> {
    std::path::absolute(text).map_err(io_at("find", text))
}

fn read_profile(path: &Path) -> StorageResult<Profile> {
    let text = read_regular(path, PROFILE_BYTES_MAX, SymbolicLinks::Followed);
    let text = text.map_err(io_at("read the device profile", path))?;
    Profile::parse(&text)
        .map_err(|error| StorageError::BadProfile { path: path.to_owned(), why: error.to_string() })
}

fn unknown(name: &str) -> StorageError {
    let names: Vec<String> = device::builtins().into_iter().map(|p| p.name).collect();
    let nearest = nearest(name, &names).map(|n| format!("; the nearest is {n:?}"));
    StorageError::UnknownProfile { name: name.to_owned(), nearest: nearest.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::{parse_place, split};
    use crate::StorageError;
    use base::Exit;
    use spec::Place;
    use std::path::PathBuf;

    #[test]
    fn an_at_belongs_to_a_profile() {
        assert_eq!(split("hdd-15k"), ("hdd-15k", None));
        assert_eq!(split("hdd-15k@/mnt/a@b"), ("hdd-15k", Some("/mnt/a@b")));
        assert_eq!(split("./my.toml@/mnt"), ("./my.toml", Some("/mnt")));
        assert_eq!(split("/a@b/my.toml@/mnt"), ("/a@b/my.toml", Some("/mnt")));
        assert_eq!(split("/mnt/a@b"), ("/mnt/a@b", None));
    }

    #[test]
    fn directories_have_a_slash_and_become_absolute() {
        let place = parse_place("/mnt/nvme0").unwrap();
        assert_eq!(place, Place::Directory(PathBuf::from("/mnt/nvme0")));
        assert_eq!(place.to_string(), "/mnt/nvme0");
        let here = std::env::current_dir().unwrap();
        for text in ["./x", "x/"] {
            let Place::Directory(path) = parse_place(text).unwrap() else {
                panic!("{text} is a directory");
            };
            assert!(path.starts_with(&here) && path.ends_with("x"), "{path:?}");
        }
    }

    #[test]
    fn what_comes_with_mydyno_is_found_by_name() {
        for profile in device::builtins() {
            let text = format!("{}@/mnt/fast", profile.name);
            let place = parse_place(&text).unwrap();
            assert_eq!(place.to_string(), text);
            assert_eq!(place.device_name(), profile.name);
        }
    }

    #[test]
    fn bad_places_say_what_to_do() {
        let error = parse_place("hdd-51k").unwrap_err();
        assert!(error.to_string().contains("mydyno device list"), "{error}");
        assert!(matches!(error, StorageError::UnknownProfile { .. }));
        assert_eq!(error.exit(), Exit::Usage);
        for text in ["", "a\nb", "hdd-15k@"] {
            let error = parse_place(text).unwrap_err();
            assert!(matches!(error, StorageError::BadPlace { .. }), "{error}");
        }
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("my.toml");
        let text = file.to_str().unwrap();
        let error = parse_place(text).unwrap_err();
        assert_eq!(error.exit(), Exit::Environment);
        std::fs::write(&file, "name = 7").unwrap();
        let error = parse_place(text).unwrap_err();
        assert!(error.to_string().contains("my.toml"), "{error}");
        assert_eq!(error.exit(), Exit::Usage);
    }
}
