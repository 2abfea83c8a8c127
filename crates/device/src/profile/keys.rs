//! The names of keys: what serde would say of them lacks the table and the name that was meant.

use super::{Array, Member, Profile, ProfileError};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use strsim::levenshtein;
use toml::{Table, Value};

const PROFILE: &[&str] = &[
    "name",
    "title",
    "capacity_bytes",
    "price_usd",
    "sheet",
    "solid_state",
    "disk",
    "array",
    "limits",
    "sources",
];

/// Keys of the tables that have nothing but values.
const TABLES: &[(&str, &[&str])] = &[
    (
        "sheet",
        &[
            "random_read_iops",
            "random_read_queue_depth",
            "random_write_iops",
            "random_write_queue_depth",
            "random_write_peak_iops",
            "sequential_read_mb_per_s",
            "sequential_write_mb_per_s",
            "read_latency_us",
            "flush_latency_us",
        ],
    ),
    (
        "solid_state",
        &[
            "read_latency_us",
            "random_read_iops",
            "sequential_read_mb_per_s",
            "write_latency_us",
            "random_write_iops",
            "sequential_write_mb_per_s",
            "flush_us",
            "power_loss_protected",
            "units",
            "interface_mb_per_s",
            "interface_half_duplex",
            "cache_bytes",
            "random_write_peak_iops",
            "burst_bytes",
            "read_latency_while_writing_us",
            "latency_variation",
        ],
    ),
    (
        "disk",
        &[
            "rpm",
            "average_seek_ms",
            "sequential_mb_per_s",
            "track_to_track_seek_ms",
            "full_stroke_seek_ms",
            "command_overhead_us",
            "queue_depth",
            "read_ahead_bytes",
            "write_cache_bytes",
            "interface_mb_per_s",
            "flush_us",
        ],
    ),
    ("array", &["level", "members", "stripe_bytes", "member"]),
    ("limits", &["iops", "mb_per_s", "request_bytes"]),
];

/// Refuses keys that nobody knows, and sources of figures that are not there.
pub fn check(profile: &Table) -> Result<(), ProfileError> {
    check_under(profile, "")
}

fn check_under(profile: &Table, prefix: &str) -> Result<(), ProfileError> {
    for (key, value) in profile {
        known(key, PROFILE, prefix)?;
        let Some((_, names)) = TABLES.iter().find(|(table, _)| table == key) else {
            continue;
        };
        let Value::Table(table) = value else {
            return Err(ProfileError(format!(
                "`{prefix}{key}` is a table: write [{prefix}{key}] on a line of its own, its keys below"
            )));
        };
        for name in table.keys() {
            known(name, names, &format!("{prefix}{key}."))?;
        }
        if let Some(Value::Table(member)) = table.get("member") {
            check_under(member, &format!("{prefix}{key}.member."))?;
        }
    }
    let Some(Value::Table(sources)) = profile.get("sources") else {
        return Ok(());
    };
    let figures = figures(profile);
    let figures: Vec<&str> = figures.iter().map(String::as_str).collect();
    for key in sources.keys() {
        if !figures.contains(&key.as_str()) {
            return Err(ProfileError(format!(
                "`{prefix}sources` has \"{key}\", which is no figure of this profile{}",
                meant(key, &figures)
            )));
        }
    }
    Ok(())
}

fn known(key: &str, names: &[&str], prefix: &str) -> Result<(), ProfileError> {
    if names.contains(&key) {
        return Ok(());
    }
    let hint = meant(key, names);
    Err(ProfileError(format!(
        "`{prefix}{key}` is no key of a profile{hint}"
    )))
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

/// Dotted keys of a profile's numbers, without those of an array's member, which has sources of its own.
pub fn figures(profile: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in profile {
        match value {
            Value::Integer(_) | Value::Float(_) => found.push(key.clone()),
            Value::Table(table) if key != "sources" => {
                let numbers = table
                    .iter()
                    .filter(|(_, value)| matches!(value, Value::Integer(_) | Value::Float(_)));
                found.extend(numbers.map(|(name, _)| format!("{key}.{name}")));
            }
            _ => {}
        }
    }
    found
}

/// "invalid type: string "a", expected f64\nin `disk.rpm`\n" with the key first.
pub fn explain(error: &toml::de::Error) -> ProfileError {
    let text = error.to_string();
    let text = text.trim_end();
    ProfileError(match text.split_once("\nin `") {
        Some((what, key)) => {
            let key = key.trim_end_matches('`');
            match what.strip_prefix("missing field ") {
                Some(name) => format!("[{key}] lacks {name}; docs/profiles.md says what it means"),
                None => format!("`{key}`: {what}; docs/profiles.md has an example"),
            }
        }
        None => format!("the profile: {text}; docs/profiles.md has an example"),
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

/// By hand, because `untagged` would answer every mistake in the table with "no variant matched".
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

impl Array {
    /// The name where the member is a builtin.
    pub fn builtin_name(&self) -> Option<&str> {
        match &self.member {
            Member::Builtin(name) => Some(name),
            Member::Inline(_) => None,
        }
    }
}
