//! What became of a preset on the server of a cell.

use crate::ids::CellId;
use crate::row::{Elsewhere, Redacted, row};
use crate::{Results, StoreError};
use serde::{Deserialize, Serialize};

row! {
    /// A preset, translated for the server of a cell.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    pub struct CellPreset {
        /// `config-1`
        pub name: String,
        /// Its sizes are in proportion to so many warehouses; `None` where they are the papers' own.
        pub scaled_to_warehouses: Option<u32>,
        /// In the order of the papers.
        pub variables: Vec<PresetVariable> as Elsewhere,
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
        pub became_value: Option<String> as Redacted,
        pub reason: Option<String>,
    }
}

impl Results {
    pub(crate) fn preset(&self, cell: CellId) -> Result<Option<CellPreset>, StoreError> {
        let sql = "SELECT * FROM cell_preset WHERE cell_id = ?1";
        let Some(preset) = self.rows::<CellPreset>(sql, [cell])?.pop() else {
            return Ok(None);
        };
        let sql = "SELECT * FROM preset_variable WHERE cell_id = ?1 ORDER BY ordinal";
        let variables = self.rows(sql, [cell])?;
        Ok(Some(CellPreset {
            variables,
            ..preset
        }))
    }
}
