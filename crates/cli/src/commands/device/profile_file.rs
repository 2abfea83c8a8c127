//! The file of a profile that is made.

use crate::commands::report::write_file;
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
    let from_file = output.and_then(Path::file_stem).map(std::ffi::OsStr::to_owned);
    let text = from_file.unwrap_or_else(|| std::path::absolute(of).unwrap_or_default().into());
    let text = text.to_string_lossy().to_ascii_lowercase();
    let plain: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let plain = plain.trim_matches('-');
    if let Some(file) = output {
        let is_toml = file.extension().is_some_and(|ending| ending == "toml");
        let why = format!("{}: a profile's file ends in .toml", file.display());
        Failure::usage_if(!is_toml, why)?;
        require_new(file)?;
    }
    Ok(if plain.is_empty() { "probed" } else { plain }.to_owned())
}

fn require_new(file: &Path) -> Result<(), Failure> {
    let why = format!("{} is there already; remove it or name another file", file.display());
    Failure::usage_if(file.exists(), why)
}

/// Writes a new profile, where it has a file. The work before may take minutes, in which another
/// one may have come.
pub(super) fn write_profile(output: Option<&Path>, text: &str) -> Result<(), Failure> {
    let Some(output) = output else { return Ok(()) };
    require_new(output)?;
    write_file(output, text)
}

/// As in sources: `2026-11-21`.
pub(super) fn today() -> String {
    DateTime::now().to_string().split([' ', 'T']).next().unwrap_or_default().to_owned()
}
