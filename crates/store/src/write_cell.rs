//! Writing cells: one that a server was met for, and one that is only planned.

use crate::results::Durable;
use crate::row::{Keys, insert, put, put_named, update};
use crate::rows::NewCell;
use crate::values::{CellId, LabId};
use crate::{Results, StoreError, StoreResult};
use rusqlite::{Connection, Result};

impl Results {
    /// Stores a cell, or finds the one with this ordinal that a resumed lab has stored before.
    ///
    /// # Errors
    /// [`StoreError::CellDiffers`] where the stored cell is another one.
    pub fn begin_cell(&self, lab: LabId, cell: &NewCell) -> StoreResult<CellId> {
        let Some(stored) = self.cell_at(lab, cell.ordinal)? else {
            return self.step(Durable::Flushed, |transaction| insert_cell(transaction, lab, cell));
        };
        if stored.what.server_version.is_empty() {
            // A planned cell becomes the one that is measured.
            return self.step(Durable::Flushed, |transaction| {
                update(transaction, "cell", &format!("id = {}", stored.id), &[], cell)?;
                insert_details(transaction, stored.id, cell)
            });
        }
        match stored.what.difference(cell) {
            None => Ok(stored.id),
            Some([name, stored, given]) => {
                Err(StoreError::CellDiffers { ordinal: cell.ordinal, name, stored, given })
            }
        }
    }

    /// Stores a cell that never had a server, so that nothing but its plan is known of it; or finds
    /// the one with this ordinal. Once [`Results::begin_cell`] has a server for it, the cell is as
    /// it says.
    pub fn begin_planned_cell(&self, lab: LabId, cell: &NewCell) -> StoreResult<CellId> {
        if let Some(found) = self.cell_at(lab, cell.ordinal)? {
            return Ok(found.id);
        }
        let planned = NewCell { server_version: String::new(), ..cell.clone() };
        self.step(Durable::Flushed, |transaction| insert_cell(transaction, lab, &planned))
    }
}

fn insert_cell(connection: &Connection, lab: LabId, cell: &NewCell) -> Result<CellId> {
    let id = insert(connection, "INSERT INTO cell", &[("lab_id", &lab)], cell)?;
    insert_details(connection, CellId(id), cell)
}

fn insert_details(connection: &Connection, id: CellId, cell: &NewCell) -> Result<CellId> {
    let key: Keys<'_> = &[("cell_id", &id)];
    put_named(connection, "cell_setting", key, &cell.settings)?;
    put(connection, key, &cell.places)?;
    connection.execute("DELETE FROM cell_transaction WHERE cell_id = ?1", [id])?;
    put(connection, key, &cell.transactions)?;
    put(connection, key, cell.preset.as_slice())?;
    let variables = cell.preset.iter().map(|preset| &preset.variables);
    variables.into_iter().try_for_each(|of| put(connection, key, of))?;
    Ok(id)
}
