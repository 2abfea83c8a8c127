//! Presets: the server configurations of the white papers, written once in the papers' names
//! (`presets.toml`) and translated for the server at hand. What became of each variable is told:
//! nothing is dropped in silence.

mod part;
mod releases;
mod sizes;
mod translate;

use crate::{ServerError, ServerResult};
use base::{ServerRelease, Warehouses};
use itertools::Itertools;
use releases::Releases;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use part::{PoolPart, chunk_of};
pub(crate) use releases::KnownReleases;
pub use sizes::{POOL_BYTES_MIN, PresetScale};
pub use translate::{Fate, Translated, VariableFate};

/// A named set of server variables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedPreset {
    pub name: String,
    pub about: String,
    /// Of the papers' database that its sizes were measured with; 0 where it has none.
    #[serde(default)]
    pub warehouses: u32,
}

/// Of a warehouse of the papers, whose 500 and 1,000 took 50 and 100 GB.
const WAREHOUSE_BYTES: u64 = 100_000_000;

/// What the data file says of one variable.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PaperVariable {
    name: String,
    /// The values by preset; one that is not named has the value of the preset before it.
    values: BTreeMap<String, String>,
    #[serde(default)]
    known: KnownReleases,
    /// What holds where it is not known.
    without: Option<String>,
    /// What the files of a path are for.
    role: Option<String>,
    /// The largest value that servers take.
    most: Option<u64>,
    renamed: Option<Renamed>,
}

/// A variable that Percona Server has under another name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Renamed {
    /// `8.0.0..`: the releases that know the new name.
    percona: Releases,
    to: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Presets {
    preset: Vec<NamedPreset>,
    variable: Vec<PaperVariable>,
}

static DATA: LazyLock<Presets> = LazyLock::new(|| {
    toml::from_str(include_str!("presets.toml"))
        .expect("the presets are part of the program and a test parses them")
});

/// The names of all presets, in the order of the data file.
pub fn names() -> Vec<&'static str> {
    DATA.preset.iter().map(|p| p.name.as_str()).collect()
}

/// The preset of that name.
pub fn find(name: &str) -> ServerResult<&'static NamedPreset> {
    let mut presets = DATA.preset.iter();
    presets.find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<String> = names().into_iter().map(str::to_owned).collect();
        ServerError::Unknown { what: "preset", name: name.to_owned(), known }
    })
}

impl PaperVariable {
    /// The value in that preset, where it has one: its own, or the last one to its left.
    fn value(&self, preset: &str) -> Option<&str> {
        let up_to_it = names().into_iter().take_while_inclusive(|name| *name != preset);
        up_to_it.filter_map(|name| self.values.get(name)).last().map(String::as_str)
    }

    /// Why a release does not have it; `None` where it has.
    fn lacks(&self, release: ServerRelease) -> Option<String> {
        self.known.lacks(release)
    }

    /// Percona Server has it, and MySQL never had.
    fn is_perconas_own(&self) -> bool {
        self.known.mysql == Releases::None
    }
}

fn is_perconas_own(name: &str) -> bool {
    let mut variables = DATA.variable.iter();
    variables.any(|variable| variable.name == name && variable.is_perconas_own())
}

impl NamedPreset {
    /// What it asks for, in the papers' names and the order of the data file.
    fn variables(&self) -> impl Iterator<Item = (&'static PaperVariable, &'static str)> {
        let variables = DATA.variable.iter();
        variables.filter_map(|variable| Some((variable, variable.value(&self.name)?)))
    }

    /// What it asks for of the variable that the papers call so.
    pub fn asked(&self, name: &str) -> Option<&'static str> {
        let mut variables = self.variables();
        let found = variables.find(|(variable, _)| variable.name == name);
        found.map(|(_, value)| value)
    }

    /// Its sizes in the proportion to `warehouses` that they had to the papers' database.
    pub fn scale_to(&self, warehouses: Warehouses) -> PresetScale {
        PresetScale::To { warehouses, of: Warehouses(self.warehouses.max(1)) }
    }

    /// What the papers' database took of a device; `None` where the preset has none.
    pub fn database_bytes(&self) -> Option<u64> {
        (self.warehouses > 0).then_some(u64::from(self.warehouses) * WAREHOUSE_BYTES)
    }

    /// Does it ask for nothing? One that asks for anything has sizes.
    pub fn is_empty(&self) -> bool {
        self.variables().next().is_none()
    }
}

#[cfg(test)]
mod tests;
