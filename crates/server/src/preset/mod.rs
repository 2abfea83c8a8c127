//! Presets: the server configurations of the white papers, written once in the papers' names (`presets.toml`) and translated
//! for the server at hand. What became of each variable is told: nothing is dropped in silence.

mod part;
mod releases;
mod sizes;
mod translate;

use crate::ServerError;
use crate::catalogue::nearest;
use releases::{Family, Releases};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

pub use part::{PoolPart, chunk_of};
pub use sizes::{POOL_BYTES_MIN, PresetScale, REFERENCE_WAREHOUSES};
pub use translate::{Fate, Translated, VariableFate};

/// A named set of server variables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedPreset {
    pub name: String,
    pub about: String,
}

/// What the data file says of one variable.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    name: String,
    /// By preset; one that is not named has the value of the preset before it.
    values: BTreeMap<String, String>,
    #[serde(default)]
    known: Known,
    /// What holds where it is not known.
    without: Option<String>,
    /// Of a path: what its files are for.
    role: Option<String>,
    /// The largest value that servers take.
    most: Option<u64>,
    renamed: Option<Renamed>,
}

/// The releases that have a variable.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Known {
    mysql: Releases,
    /// As MySQL's where it is not given.
    percona: Option<Releases>,
    mariadb: Releases,
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
    variable: Vec<Variable>,
}

fn data() -> &'static Presets {
    static DATA: OnceLock<Presets> = OnceLock::new();
    DATA.get_or_init(|| {
        toml::from_str(include_str!("presets.toml"))
            .expect("the presets are part of the program and a test parses them")
    })
}

/// The names of all presets, in the order of the data file.
pub fn names() -> Vec<&'static str> {
    data().preset.iter().map(|p| p.name.as_str()).collect()
}

/// The preset of that name.
///
/// # Errors
/// [`ServerError::UnknownPreset`] with the known names and the nearest.
pub fn find(name: &str) -> Result<&'static NamedPreset, ServerError> {
    let mut presets = data().preset.iter();
    presets.find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<String> = names().into_iter().map(str::to_owned).collect();
        ServerError::UnknownPreset {
            name: name.to_owned(),
            nearest: nearest(name, &known),
            known,
        }
    })
}

impl Variable {
    /// The value in that preset, where it has one: its own, or the last one to its left.
    fn value(&self, preset: &str) -> Option<&str> {
        let mut value = None;
        for name in names() {
            value = self.values.get(name).map(String::as_str).or(value);
            if name == preset {
                break;
            }
        }
        value
    }

    fn releases(&self, family: Family) -> Releases {
        match family {
            Family::Mysql => self.known.mysql,
            Family::Percona => self.known.percona.unwrap_or(self.known.mysql),
            Family::MariaDb => self.known.mariadb,
        }
    }

    /// Percona Server has it, and MySQL never had.
    fn is_perconas_own(&self) -> bool {
        self.known.mysql == Releases::None
    }
}

fn is_perconas_own(name: &str) -> bool {
    let mut variables = data().variable.iter();
    variables.any(|variable| variable.name == name && variable.is_perconas_own())
}

impl NamedPreset {
    /// What it asks for, in the papers' names and the order of the data file.
    fn variables(&self) -> impl Iterator<Item = (&'static Variable, &'static str)> {
        let variables = data().variable.iter();
        variables.filter_map(|variable| Some((variable, variable.value(&self.name)?)))
    }

    /// What it asks for of the variable that the papers call so.
    pub fn asked(&self, name: &str) -> Option<&'static str> {
        let mut variables = self.variables();
        let found = variables.find(|(variable, _)| variable.name == name);
        found.map(|(_, value)| value)
    }

    /// Does it ask for nothing? One that asks for anything has sizes.
    pub fn is_empty(&self) -> bool {
        self.variables().next().is_none()
    }
}

#[cfg(test)]
mod page;

#[cfg(test)]
mod tests {
    use super::{data, find, names};
    use std::collections::BTreeSet;

    #[test]
    fn the_presets_are_sound() {
        assert_eq!(
            names(),
            ["default", "config-1", "config-2", "config-3", "config-a"]
        );
        let mut seen = BTreeSet::new();
        for variable in &data().variable {
            let name = &variable.name;
            assert!(seen.insert(name), "{name} stands twice");
            assert!(!variable.values.is_empty(), "{name}");
            for preset in variable.values.keys() {
                assert!(find(preset).is_ok(), "{name}: {preset}");
            }
            if let Some(role) = &variable.role {
                let roles = ["data", "redo", "undo", "temp", "doublewrite"];
                assert!(roles.contains(&role.as_str()), "{name}: {role}");
            }
        }
    }

    #[test]
    fn a_value_stands_until_the_next_column() {
        let of = |preset: &str, variable: &str| {
            let mut variables = find(preset).unwrap().variables();
            let found = variables.find(|(known, _)| known.name == variable);
            found.map(|(_, value)| value)
        };
        for (variable, values) in [
            ("innodb_buffer_pool_size", ["3G", "3G", "12G", "12G"]),
            (
                "innodb_flush_method",
                ["fsync", "O_DIRECT", "O_DIRECT", "O_DIRECT"],
            ),
            ("innodb_log_file_size", ["48M", "1G", "1G", "1G"]),
            (
                "innodb_io_capacity",
                ["300000", "300000", "300000", "15000"],
            ),
        ] {
            let presets = ["config-1", "config-2", "config-3", "config-a"];
            assert_eq!(presets.map(|preset| of(preset, variable)), values.map(Some));
        }
        assert_eq!(of("config-3", "innodb_corrupt_table_action"), None);
        assert!(find("default").unwrap().is_empty());
        assert_eq!(find("config-1").unwrap().variables().count(), 39);
        assert_eq!(find("config-a").unwrap().variables().count(), 54);
    }

    #[test]
    fn a_wrong_name_suggests_the_right_one() {
        let text = find("config3").unwrap_err().to_string();
        assert!(text.contains("did you mean `config-3`"), "{text}");
        assert!(text.contains("default, config-1"), "{text}");
        let text = find("best-practices").unwrap_err().to_string();
        assert!(!text.contains("did you mean"), "{text}");
    }
}
