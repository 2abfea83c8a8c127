//! Variables that act when data are made: an image is made with them, and found by them. Which ones
//! they are is in `made_with.toml`.

use crate::preset::KnownReleases;
use base::{ServerRelease, variable_name};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What the data file says of a variable.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MadeWith {
    /// It, or several by what their names have in common.
    name: String,
    acts: Vec<Acts>,
    #[serde(default)]
    known: KnownReleases,
    #[serde(default)]
    default: Vec<String>,
}

/// When a variable acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Acts {
    Initialise,
    Create,
    Run,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variables {
    variable: Vec<MadeWith>,
}

static DATA: LazyLock<Variables> = LazyLock::new(|| {
    toml::from_str(include_str!("made_with.toml"))
        .expect("the variables are part of the program and a test parses them")
});

/// A name as the data file has it.
fn plain(name: &str) -> String {
    variable_name(name).trim_start_matches("loose_").to_owned()
}

impl MadeWith {
    /// What is known of a variable of this plain name.
    fn find(name: &str) -> Option<&'static MadeWith> {
        DATA.variable.iter().find(|variable| variable.has_name(name))
    }

    fn has_name(&self, name: &str) -> bool {
        let (begin, end) = (self.name.strip_suffix('*'), self.name.strip_prefix('*'));
        match (begin, end) {
            (Some(_), Some(_)) => name.contains(self.name.trim_matches('*')),
            (Some(begin), None) => name.starts_with(begin),
            (None, Some(end)) => name.ends_with(end),
            (None, None) => name == self.name,
        }
    }

    /// Is anything made otherwise with this value?
    fn changes(&self, value: &str) -> bool {
        !self.default.iter().any(|default| default.eq_ignore_ascii_case(value.trim()))
    }
}

/// Those of the variables that an image has to be made with, by name; the last one of a name
/// counts.
pub fn kept_settings(release: ServerRelease, set: &[(String, String)]) -> Vec<(String, String)> {
    let last: BTreeMap<String, (String, String)> = set
        .iter()
        .map(|(name, value)| (plain(name), (variable_name(name), value.clone())))
        .collect();
    let is_kept = |(name, (_, value)): &(String, (String, String))| {
        MadeWith::find(name).is_some_and(|variable| {
            variable.known.lacks(release).is_none() && variable.changes(value)
        })
    };
    last.into_iter().filter(is_kept).map(|(_, setting)| setting).collect()
}

/// Does this variable act on nothing but data that are made anew?
pub fn acts_on_new_data_only(name: &str) -> bool {
    MadeWith::find(&plain(name)).is_some_and(|variable| !variable.acts.contains(&Acts::Run))
}

/// What is to be said of variables that a server of this release takes, and that do nothing.
pub fn without_effect(release: ServerRelease, set: &[(String, String)]) -> Vec<String> {
    let note = |(name, _): &(String, String)| {
        let why = MadeWith::find(&plain(name))?.known.lacks(release)?;
        Some(format!("{} does nothing here: {why}", plain(name)))
    };
    set.iter().filter_map(note).collect()
}

/// What an image is made with, for people, behind what is in it; nothing where that is all.
pub fn made_with(settings: &[(String, String)], table_options: Option<&str>) -> String {
    let each = settings.iter().map(|(name, value)| format!("{name} = {value}"));
    let all = each.chain(table_options.map(str::to_owned)).collect::<Vec<_>>().join(", ");
    if all.is_empty() { all } else { format!(" with {all}") }
}

/// Is a data directory initialised otherwise with one of these settings?
pub(crate) fn changes_new_directory(settings: &[(String, String)]) -> bool {
    settings.iter().any(|(name, value)| {
        MadeWith::find(&plain(name)).is_some_and(|variable| {
            variable.acts.contains(&Acts::Initialise) && variable.changes(value)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{MadeWith, acts_on_new_data_only, kept_settings, without_effect};
    use base::{ServerFamily, ServerRelease};

    const MYSQL_5_7: ServerRelease =
        ServerRelease { family: ServerFamily::Mysql, version: (5, 7, 22) };
    const MYSQL_8_0: ServerRelease =
        ServerRelease { family: ServerFamily::Mysql, version: (8, 0, 15) };

    fn owned(set: &[(&str, &str)]) -> Vec<(String, String)> {
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_last_value_counts_and_a_default_makes_nothing_otherwise() {
        let kept = |set: &[(&str, &str)]| kept_settings(MYSQL_5_7, &owned(set));
        let twice = [("Innodb-File-Per-Table", "ON"), ("loose_innodb_file_per_table", "OFF")];
        assert_eq!(kept(&twice), owned(&[("loose_innodb_file_per_table", "OFF")]));
        let back = [twice[1], ("innodb_file_per_table", "on"), ("innodb_fill_factor", "100")];
        assert_eq!(kept(&back), []);
        let beside = [("sort_buffer_size", "1M"), ("innodb_undo_tablespaces", "4")];
        assert_eq!(kept(&beside), owned(&beside[1..]));
        let encrypted = [
            ("file_key_management_filename", "/k"),
            ("innodb_encrypt_tables", "ON"),
            ("plugin_load_add", "file_key_management"),
        ];
        assert_eq!(kept(&encrypted), owned(&encrypted));
    }

    #[test]
    fn what_a_release_ignores_is_told_and_makes_no_image() {
        let undo = owned(&[("innodb_undo_tablespaces", "4")]);
        assert_eq!(kept_settings(MYSQL_8_0, &undo), []);
        let told = without_effect(MYSQL_8_0, &undo);
        assert!(
            told[0].contains("innodb_undo_tablespaces does nothing here: gone since"),
            "{told:?}"
        );
        assert!(without_effect(MYSQL_5_7, &undo).is_empty());
    }

    #[test]
    fn names_are_found_by_what_they_have_in_common() {
        for (name, is_one) in [
            ("innodb_compression_level", true),
            ("default_table_encryption", true),
            ("early_plugin_load", true),
            ("innodb_file_per_table_x", false),
            ("innodb_buffer_pool_size", false),
        ] {
            assert_eq!(MadeWith::find(name).is_some(), is_one, "{name}");
        }
        assert!(acts_on_new_data_only("innodb-fill-factor"));
        assert!(!acts_on_new_data_only("innodb_checksum_algorithm"));
        assert!(!acts_on_new_data_only("innodb_io_capacity"));
    }
}
