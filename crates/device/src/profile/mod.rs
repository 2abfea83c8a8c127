//! Profiles: a device as a text that people read and write. `docs/profiles.md` describes the format
//! for them.

mod builtins;
mod check;
mod keys;
mod types;

pub use builtins::{builtin, builtins};
pub use types::{
    Array, Disk, Limits, MIXED_WRITE_SHARE, Member, Profile, ProfileError, SEQUENTIAL_QUEUE_DEPTH,
    Sheet, SolidState, is_occupancy,
};

impl Profile {
    /// Reads and checks the text of a profile.
    ///
    /// # Errors
    /// Where it is none, or a figure is impossible; names the key.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let table: toml::Table =
            toml::from_str(text).map_err(|error| ProfileError(error.to_string()))?;
        let profile: Profile =
            toml::Value::Table(table).try_into().map_err(|error| keys::explain(&error))?;
        keys::check_sources(&profile, "")?;
        profile.validate()?;
        Ok(profile)
    }

    /// Dotted keys of its figures, each of which may have a source; without those of an array's
    /// member, which has its own.
    pub fn figures(&self) -> Vec<String> {
        keys::figures(self).unwrap_or_default().into_keys().collect()
    }

    /// Refuses impossible figures.
    pub fn validate(&self) -> Result<(), ProfileError> {
        check::profile(self)
    }
}
