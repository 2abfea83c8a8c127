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
        /// The name of the preset: `config-1`, ...
        pub name: String,
        /// The warehouses to which its sizes are in the papers' proportion; `None` where they are
        /// the papers' own sizes.
        pub scaled_to_warehouses: Option<u32>,
        /// In the order of the papers.
        pub variables: Vec<PresetVariable> as Elsewhere,
    }

    /// What became of one variable.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    pub struct PresetVariable {
        /// The variable in the papers' name.
        pub variable: String,
        /// The papers' value; empty where the papers have none.
        pub asked: String,
        /// `kept`, `renamed`, `folded` (into another variable), `scaled` (to the warehouses),
        /// `clamped` (to what the server takes), `added` (not of the papers, and needed), `placed`
        /// (a path, which places decide), `unknown` (to this server, and not set) or `overridden`
        /// (by `--set`, by `set` of the plan, or for the number of connections).
        pub fate: String,
        /// The server's variable that was set, where one was.
        pub became_variable: Option<String>,
        /// Its value.
        pub became_value: Option<String> as Redacted,
        /// The reason, for people.
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
        Ok(Some(CellPreset { variables, ..preset }))
    }
}
