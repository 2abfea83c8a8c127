//! The names of keys: what serde says of them, with the key first and the name that was meant.

use super::{Member, Profile, ProfileError};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use std::collections::BTreeMap;
use strsim::levenshtein;
use toml::{Table, Value};

/// Refuses sources of figures that are not there, of a profile and of an array's member.
pub fn check_sources(profile: &Profile, prefix: &str) -> Result<(), ProfileError> {
    let figures = profile.figures();
    let figures: Vec<&str> = figures.iter().map(String::as_str).collect();
    for key in profile.sources.keys() {
        if !figures.contains(&key.as_str()) {
            return Err(ProfileError(format!(
                "`{prefix}sources` has \"{key}\", which is no figure of this profile{}",
                meant(key, &figures)
            )));
        }
    }
    match profile.array.as_ref().map(|array| &array.member) {
        Some(Member::Inline(member)) => check_sources(member, &format!("{prefix}array.member.")),
        _ => Ok(()),
    }
}

/// The nearest of the names, as the end of a message.
fn meant(key: &str, names: &[&str]) -> String {
    let nearest = names.iter().min_by_key(|name| levenshtein(key, name));
    match nearest {
        Some(name) if levenshtein(key, name) <= key.len().max(4) / 2 => {
            format!("; did you mean `{name}`?")
        }
        _ if names.is_empty() => "; there are none, remove it".to_owned(),
        _ => format!("; there are {}", names.join(", ")),
    }
}

/// A profile's numbers by their dotted keys, without those of an array's member, which has sources
/// of its own.
pub type Figures = BTreeMap<String, f64>;

pub fn figures(profile: &Profile) -> Result<Figures, ProfileError> {
    let table = Table::try_from(profile).map_err(|error| ProfileError(error.to_string()))?;
    let mut found = Figures::new();
    let mut add = |key: String, value: &Value| {
        let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
        number.map(|number| found.insert(key, number));
    };
    for (key, value) in &table {
        match value {
            Value::Table(table) if key != "sources" => {
                table.iter().for_each(|(name, value)| add(format!("{key}.{name}"), value));
            }
            _ => add(key.clone(), value),
        }
    }
    Ok(found)
}

/// What serde says, with the key first: "invalid type: string "a", expected f64\nin `disk.rpm`\n".
pub fn explain(error: &toml::de::Error) -> ProfileError {
    let text = error.to_string();
    let text = text.trim_end();
    let (what, key) = match text.split_once("\nin `") {
        Some((what, key)) => (what, key.trim_end_matches('`')),
        None => (text, ""),
    };
    if let Some(names) = what.strip_prefix("unknown field ") {
        // The unknown one and those that are known stand between backticks.
        let mut names = names.split('`').skip(1).step_by(2);
        let unknown = names.next().unwrap_or_default();
        let dot = if key.is_empty() { "" } else { "." };
        let hint = meant(unknown, &names.collect::<Vec<_>>());
        return ProfileError(format!("`{key}{dot}{unknown}` is no key of a profile{hint}"));
    }
    ProfileError(match what.strip_prefix("missing field ") {
        _ if key.is_empty() => format!("the profile: {what}; docs/profiles.md has an example"),
        Some(name) => format!("[{key}] lacks {name}; docs/profiles.md says what it means"),
        None if what.contains("expected struct ") => {
            format!("`{key}` is a table: write [{key}] on a line of its own, its keys below")
        }
        None => format!("`{key}`: {what}; docs/profiles.md has an example"),
    })
}

impl Serialize for Member {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Member::Builtin(name) => serializer.serialize_str(name),
            Member::Inline(profile) => profile.serialize(serializer),
        }
    }
}

/// Written by hand, because `untagged` would answer every mistake in the table with "no variant
/// matched".
impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Member, D::Error> {
        struct NameOrTable;

        impl<'de> Visitor<'de> for NameOrTable {
            type Value = Member;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("the name of a builtin profile, or a profile as a table")
            }

            fn visit_str<E>(self, name: &str) -> Result<Member, E> {
                Ok(Member::Builtin(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Member, A::Error> {
                let profile = Profile::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Member::Inline(Box::new(profile)))
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}
