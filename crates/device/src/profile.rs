//! Profiles: a device as a text that people read and write.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A device. Each figure's origin is in `sources`, by its dotted key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// As on the command line: `nvme-pm1725`.
    pub name: String,
    /// For people.
    pub title: String,
    pub capacity_bytes: u64,
    pub price_usd: Option<f64>,
    pub sheet: Sheet,
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
}

/// What the device promises. What is absent is not promised, and not verified.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sheet {
    /// 4 KiB, random over the device, at this queue depth.
    pub random_read_iops: Option<f64>,
    pub random_read_queue_depth: Option<u32>,
    pub random_write_iops: Option<f64>,
    pub random_write_queue_depth: Option<u32>,
    /// Megabytes (10^6) per second with requests of 128 KiB, several of them outstanding.
    pub sequential_read_mb_per_s: Option<f64>,
    pub sequential_write_mb_per_s: Option<f64>,
    /// Mean of a random 4 KiB read, one at a time.
    pub read_latency_us: Option<f64>,
    /// Mean of a flush behind one 4 KiB write that bypassed the page cache.
    pub flush_latency_us: Option<f64>,
}

/// A profile that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProfileError(pub String);

impl Profile {
    /// Reads and checks the text of a profile.
    ///
    /// # Errors
    /// Where it is none, or a figure is impossible; names the key.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let profile: Profile =
            toml::from_str(text).map_err(|error| ProfileError(error.to_string()))?;
        profile.validate()?;
        Ok(profile)
    }

    /// Refuses impossible figures.
    ///
    /// # Errors
    /// Names the key.
    pub fn validate(&self) -> Result<(), ProfileError> {
        Ok(())
    }
}

/// The profiles that come with mydyno.
#[must_use]
pub fn builtins() -> Vec<Profile> {
    Vec::new()
}

/// The one of that name.
#[must_use]
pub fn builtin(name: &str) -> Option<Profile> {
    builtins().into_iter().find(|profile| profile.name == name)
}
