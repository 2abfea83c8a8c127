//! Writing cells: one that a server was met for, and one that is only planned.

use crate::results::Durable;
use crate::row::{Keys, insert, put, put_named, update};
use crate::rows::{CellTransaction, NewCell};
use crate::values::{CellId, LabId};
use crate::{Results, StoreError};
use rusqlite::Transaction;

impl Results {
    /// Stores a cell, or finds the one with this ordinal that a resumed lab has stored before.
    ///
    /// # Errors
    /// [`StoreError::CellDiffers`] where the stored cell is another one.
    pub fn begin_cell(&self, lab: LabId, cell: &NewCell) -> Result<CellId, StoreError> {
        let Some(stored) = self.cell_at(lab, cell.ordinal)? else {
            return self.step(Durable::Flushed, |transaction| insert_cell(transaction, lab, cell));
        };
        if stored.what.server_version.is_empty() {
            return self.step(Durable::Flushed, |transaction| {
                fill_in_server(transaction, stored.id, cell)
            });
        }
        match difference(&stored.what, cell) {
            None => Ok(stored.id),
            Some((field, stored, given)) => {
                Err(StoreError::CellDiffers { ordinal: cell.ordinal, field, stored, given })
            }
        }
    }

    /// Stores a cell that never had a server, so that nothing but its plan is known of it; or finds
    /// the one with this ordinal. Once [`Results::begin_cell`] has a server for it, the cell is as
    /// it says.
    pub fn begin_planned_cell(&self, lab: LabId, cell: &NewCell) -> Result<CellId, StoreError> {
        if let Some(found) = self.cell_at(lab, cell.ordinal)? {
            return Ok(found.id);
        }
        let planned = NewCell { server_version: String::new(), ..cell.clone() };
        self.step(Durable::Flushed, |transaction| insert_cell(transaction, lab, &planned))
    }
}

fn insert_cell(
    transaction: &Transaction<'_>,
    lab: LabId,
    cell: &NewCell,
) -> rusqlite::Result<CellId> {
    let id = insert(transaction, "INSERT INTO cell", &[("lab_id", &lab)], cell)?;
    insert_details(transaction, CellId(id), cell)
}

/// A planned cell becomes the one that is measured.
fn fill_in_server(
    transaction: &Transaction<'_>,
    id: CellId,
    cell: &NewCell,
) -> rusqlite::Result<CellId> {
    update(transaction, "cell", &format!("id = {id}"), &[], cell)?;
    insert_details(transaction, id, cell)
}

fn insert_details(
    transaction: &Transaction<'_>,
    id: CellId,
    cell: &NewCell,
) -> rusqlite::Result<CellId> {
    let key: Keys<'_> = &[("cell_id", &id)];
    put_named(transaction, "cell_setting", key, &cell.settings)?;
    put(transaction, key, &cell.places)?;
    transaction.execute("DELETE FROM cell_transaction WHERE cell_id = ?1", [id])?;
    put(transaction, key, &cell.transactions)?;
    put(transaction, key, cell.preset.as_slice())?;
    let variables = cell.preset.iter().map(|preset| &preset.variables);
    variables.into_iter().try_for_each(|of| put(transaction, key, of))?;
    Ok(id)
}

fn times(cell: &NewCell) -> String {
    let mut times = format!("{} {} {} ns", cell.warmup_ns, cell.window_ns, cell.interval_ns);
    if cell.warmup_auto {
        times.push_str(", automatic warm-up");
    }
    if cell.window_auto {
        let precision = cell.precision_share.unwrap_or_default();
        times.push_str(&format!(", automatic window to {precision}"));
    }
    times
}

/// What not every workload has.
fn known<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

fn names(transactions: &[CellTransaction]) -> String {
    let names = transactions.iter().map(|of| of.name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// What a cell that has met no server does not say yet is so.
fn as_before<T: ToString>(known: Option<T>, before: T) -> String {
    known.unwrap_or(before).to_string()
}

/// What tells one cell from another that is to be the same: a name, with the value of each. The
/// target may differ: a managed server gets a new port. The seed is that of the plan, which a lab
/// goes on with.
pub(crate) fn difference(
    stored: &NewCell,
    given: &NewCell,
) -> Option<(&'static str, String, String)> {
    let fields = |cell: &NewCell| -> [(&'static str, String); 19] {
        let mut settings = cell.settings.clone();
        settings.sort_unstable();
        [
            ("engine", cell.engine.clone()),
            ("server version", cell.server_version.clone()),
            ("workload", cell.workload.clone()),
            ("style", cell.style.clone()),
            ("number of warehouses", known(cell.warehouses)),
            ("number of connections", cell.connections.to_string()),
            ("home binding", known(cell.home)),
            ("foreign keys", known(cell.foreign_keys)),
            ("number of partitions", cell.partitions.to_string()),
            ("key of HISTORY", as_before(cell.history_key, false)),
            ("isolation level", as_before(cell.isolation.clone(), "repeatable-read".to_owned())),
            ("times", times(cell)),
            ("number of schemas", cell.schemas.to_string()),
            ("number of servers", cell.instances.to_string()),
            ("number of cores", known(cell.cores)),
            (
                "pacing",
                format!(
                    "{:?}",
                    (cell.terminals, cell.inactive_warehouses, &cell.rate_asked, &cell.arrivals)
                ),
            ),
            ("types of transactions", names(&cell.transactions)),
            ("devices", cell.devices_in_words().unwrap_or_default()),
            ("settings", format!("{settings:?}")),
        ]
    };
    let pairs = fields(stored).into_iter().zip(fields(given));
    let mut differences = pairs.filter(|((_, stored), (_, given))| stored != given);
    differences.next().map(|((field, stored), (_, given))| (field, stored, given))
}
