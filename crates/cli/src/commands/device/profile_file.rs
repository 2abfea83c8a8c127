//! The file of a profile that is made.

use crate::failure::Failure;
use base::{DateTime, Exit};
use device::Profile;
use std::path::Path;

/// The text of a profile's file.
pub(super) fn profile_text(profile: &Profile) -> Result<String, Failure> {
    toml::to_string(profile).map_err(|error| {
        Failure::new(Exit::Failed, format!("the profile has no TOML form: {error}"))
    })
}

/// A new profile's name: that of its file, or of what it is made from. Asked for before the work.
pub(super) fn new_profile(output: Option<&Path>, of: &Path) -> Result<String, Failure> {
    let refused = |why| Err(Failure::new(Exit::Usage, why));
    let from_file = output.and_then(Path::file_stem).map(std::ffi::OsStr::to_owned);
    let text = from_file.unwrap_or_else(|| std::path::absolute(of).unwrap_or_default().into());
    let text = text.to_string_lossy().to_ascii_lowercase();
    let plain: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let plain = plain.trim_matches('-');
    match output {
        Some(file) if file.extension().is_none_or(|ending| ending != "toml") => {
            refused(format!("{}: a profile's file ends in .toml", file.display()))
        }
        Some(file) if file.exists() => {
            let file = file.display();
            refused(format!("{file} is there already; remove it or name another file"))
        }
        _ if plain.is_empty() => Ok("probed".to_owned()),
        _ => Ok(plain.to_owned()),
    }
}

/// As in sources: `2026-11-21`.
pub(super) fn today() -> String {
    let now = DateTime::now().to_string();
    now.split([' ', 'T']).next().unwrap_or_default().to_owned()
}
