//! What became of a preset on the server of a cell: rows, writing them, reading them.

use crate::redact;
use crate::types::CellId;
use crate::{Results, StoreError};
use rusqlite::{Transaction, params};
use serde::{Deserialize, Serialize};

/// A preset, translated for the server of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CellPreset {
    /// `config-1`
    pub name: String,
    /// Its sizes are in proportion to so many warehouses; `None` where they are the papers' own.
    pub scaled_to_warehouses: Option<u32>,
    /// In the order of the papers.
    pub variables: Vec<PresetVariable>,
}

/// What became of one variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PresetVariable {
    /// In the papers' name.
    pub variable: String,
    /// The papers' value; empty where they have none.
    pub asked: String,
    /// `kept`, `renamed`, `folded`, `scaled`, `clamped`, `added`, `placed`, `unknown`, `overridden`.
    pub fate: String,
    /// The server's variable and its value, where one was set.
    pub became_variable: Option<String>,
    pub became_value: Option<String>,
    pub reason: Option<String>,
}

pub(crate) fn insert_preset(
    transaction: &Transaction<'_>,
    cell: CellId,
    preset: &CellPreset,
) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT INTO cell_preset (cell_id, name, scaled_to_warehouses) VALUES (?1, ?2, ?3)",
        params![cell.0, preset.name, preset.scaled_to_warehouses],
    )?;
    for (ordinal, one) in preset.variables.iter().enumerate() {
        transaction.execute(
            "INSERT INTO preset_variable (cell_id, ordinal, variable, asked, fate, became_variable, became_value, reason) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                cell.0,
                ordinal + 1,
                one.variable,
                one.asked,
                one.fate,
                one.became_variable,
                one.became_value.as_deref().map(redact),
                one.reason,
            ],
        )?;
    }
    Ok(())
}

impl Results {
    pub(crate) fn preset(&self, cell: CellId) -> Result<Option<CellPreset>, StoreError> {
        let sql = "SELECT * FROM cell_preset WHERE cell_id = ?1";
        let found = self.all(sql, params![cell.0], |row| {
            Ok(CellPreset {
                name: row.get("name")?,
                scaled_to_warehouses: row.get("scaled_to_warehouses")?,
                variables: Vec::new(),
            })
        })?;
        let Some(preset) = found.into_iter().next() else {
            return Ok(None);
        };
        let sql = "SELECT * FROM preset_variable WHERE cell_id = ?1 ORDER BY ordinal";
        let variables = self.all(sql, params![cell.0], |row| {
            Ok(PresetVariable {
                variable: row.get("variable")?,
                asked: row.get("asked")?,
                fate: row.get("fate")?,
                became_variable: row.get("became_variable")?,
                became_value: row.get("became_value")?,
                reason: row.get("reason")?,
            })
        })?;
        Ok(Some(CellPreset {
            variables,
            ..preset
        }))
    }
}
