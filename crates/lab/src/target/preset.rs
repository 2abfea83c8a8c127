//! A preset on the server under test: translated at its start, kept for its results.

use crate::error::{LabResult, unfit};
use base::Warehouses;
use serde::{Deserialize, Serialize};
use server::preset::{NamedPreset, PresetScale, Translated};
use std::path::Path;
use store::{CellPreset, PresetVariable};

/// A preset that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct PresetSpec {
    pub preset: &'static NamedPreset,
    pub scale: PresetScale,
}

impl PresetSpec {
    /// What a preset is for a server with so many warehouses.
    ///
    /// # Errors
    /// Where it is unknown.
    pub fn of(
        asked: Option<&spec::Preset>,
        warehouses: Warehouses,
    ) -> LabResult<Option<PresetSpec>> {
        let Some(asked) = asked else { return Ok(None) };
        let preset = server::preset::find(&asked.name)?;
        let scale = match asked.scale {
            spec::Scale::Auto => preset.scale_to(warehouses),
            spec::Scale::Papers => PresetScale::Papers,
            spec::Scale::For(others) => preset.scale_to(others),
            spec::Scale::Of(of) => PresetScale::To { warehouses, of },
        };
        Ok(Some(PresetSpec { preset, scale }))
    }
}

/// What the papers' database took that this preset was measured with; 0 without one.
///
/// # Errors
/// Where the preset is unknown.
pub(crate) fn database_bytes(preset: Option<&str>) -> LabResult<u64> {
    let preset = preset.map(server::preset::find).transpose()?;
    Ok(preset.and_then(NamedPreset::database_bytes).unwrap_or(0))
}

/// The file in a named server's directory that says what it was configured with. Written at each
/// start, with `null` where that was no preset: what an earlier start wrote is of no meaning any
/// more.
pub(crate) const CONFIGURED_FILE: &str = "preset.json";

/// The name of a preset among what tells cells apart.
pub(crate) const PRESET_SETTING: &str = "preset";

/// What a server was configured with, for results.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Configured {
    pub(crate) preset: CellPreset,
    /// For people.
    pub(crate) note: Option<String>,
}

/// The preset's lines.
pub(crate) fn lines(translated: Option<&Translated>) -> Vec<(String, String)> {
    translated.map_or_else(Vec::new, |translated| translated.set.clone())
}

/// All variables that are set; none twice.
pub(crate) fn with_users(
    translated: Option<&Translated>,
    set: &[(String, String)],
) -> Vec<(String, String)> {
    [&lines(translated)[..], set].concat()
}

/// What a preset became on a server, as results and documents have it.
pub fn cell_preset(translated: &Translated) -> CellPreset {
    let variables = translated.fates.iter().map(|one| PresetVariable {
        variable: one.variable.clone(),
        asked: one.asked.clone(),
        fate: one.fate.name().to_owned(),
        became_variable: one.became.as_ref().map(|(name, _)| name.clone()),
        became_value: one.became.as_ref().map(|(_, value)| value.clone()),
        reason: one.reason.clone(),
    });
    CellPreset {
        name: translated.preset.clone(),
        scaled_to_warehouses: match translated.scale {
            PresetScale::Papers => None,
            PresetScale::To { warehouses, .. } => Some(warehouses.0),
        },
        variables: variables.collect(),
    }
}

impl Configured {
    pub(crate) fn of(translated: &Translated) -> Configured {
        Configured { preset: cell_preset(translated), note: translated.note() }
    }

    /// What tells a cell with this preset from its neighbours. Sizes for its own warehouses say
    /// nothing more.
    pub(crate) fn settings(&self, warehouses: u32) -> Vec<(String, String)> {
        let preset = (PRESET_SETTING.to_owned(), self.preset.name.clone());
        let scale = match self.preset.scaled_to_warehouses {
            _ if self.preset.variables.is_empty() => None,
            None => Some("papers".to_owned()),
            Some(own) if own == warehouses => None,
            Some(other) => Some(other.to_string()),
        };
        [preset].into_iter().chain(scale.map(|scale| ("scale".to_owned(), scale))).collect()
    }
}

/// The file for a named server's directory.
pub(crate) fn configured_file(translated: Option<&Translated>) -> LabResult<(String, Vec<u8>)> {
    let bytes = serde_json::to_vec_pretty(&translated.map(Configured::of))
        .map_err(|error| unfit(format!("a setting cannot be stored: {error}")))?;
    Ok((CONFIGURED_FILE.to_owned(), bytes))
}

/// What the named server in `directory` was configured with, where that was a preset.
pub(crate) fn configured_of(directory: &Path) -> LabResult<Option<Configured>> {
    let path = directory.join(CONFIGURED_FILE);
    let read = match std::fs::read_to_string(&path) {
        // Started by a mydyno that had no presets.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read.and_then(|text| Ok(serde_json::from_str(&text)?)),
    };
    read.map_err(|error| {
        unfit(format!("cannot read {}: {error}; start the server again", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::{Configured, configured_file, configured_of};
    use base::Warehouses;
    use server::preset::{Fate, PresetScale, Translated, VariableFate};

    const TEN: PresetScale = PresetScale::To { warehouses: Warehouses(10), of: Warehouses(1_000) };

    fn translated(scale: PresetScale) -> Translated {
        let line = ("innodb_buffer_pool_size".to_owned(), "31M".to_owned());
        Translated {
            preset: "config-1".to_owned(),
            scale,
            set: vec![line.clone()],
            fates: vec![VariableFate {
                variable: line.0.clone(),
                asked: "3G".to_owned(),
                fate: Fate::Scaled,
                became: Some(line),
                reason: None,
            }],
        }
    }

    #[test]
    fn what_a_named_server_was_configured_with_comes_back() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(configured_of(temp.path()).unwrap(), None);
        let preset = translated(TEN);
        for asked in [Some(&preset), None] {
            let (name, bytes) = configured_file(asked).unwrap();
            std::fs::write(temp.path().join(name), bytes).unwrap();
            let found = configured_of(temp.path()).unwrap();
            assert_eq!(found, asked.map(Configured::of));
        }
        std::fs::write(temp.path().join("preset.json"), "{").unwrap();
        assert!(configured_of(temp.path()).is_err());
    }

    #[test]
    fn cells_are_told_apart_by_what_differs() {
        let settings = |scale, warehouses| {
            let settings = Configured::of(&translated(scale)).settings(warehouses);
            let words = settings.iter().map(|(name, value)| format!("{name}={value}"));
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(settings(TEN, 10), "preset=config-1");
        assert_eq!(settings(TEN, 20), "preset=config-1 scale=10");
        assert_eq!(settings(PresetScale::Papers, 10), "preset=config-1 scale=papers");
    }
}
