//! Writing cells: one that a server was met for, and one that is only planned.

use crate::device_io::insert_places;
use crate::presets::insert_preset;
use crate::results::Durable;
use crate::types::{CellId, LabId, NewCell};
use crate::{Results, StoreError, redact};
use rusqlite::{OptionalExtension, Transaction, named_params, params};

impl Results {
    /// Stores a cell, or finds the one with this ordinal that a resumed lab has stored before.
    ///
    /// # Errors
    /// [`StoreError::CellDiffers`] where the stored cell is another one; the file cannot be written.
    pub fn begin_cell(&self, lab: LabId, cell: &NewCell) -> Result<CellId, StoreError> {
        let found = self
            .connection
            .query_row(
                "SELECT id FROM cell WHERE lab_id = ?1 AND ordinal = ?2",
                params![lab.0, cell.ordinal],
                |row| row.get(0),
            )
            .optional()
            .map_err(|e| self.sql(e))?;
        if let Some(id) = found {
            let stored = self.cell(CellId(id))?;
            if stored.what.server_version.is_empty() {
                return self.step(Durable::Flushed, |transaction| {
                    meet_server(transaction, CellId(id), cell)
                });
            }
            same_cell(&stored.what, cell)?;
            return Ok(CellId(id));
        }
        self.step(Durable::Flushed, |transaction| {
            insert_cell(transaction, lab, cell)
        })
    }

    /// Stores a cell that never had a server, so that nothing but its plan is known of it; or finds the one with this ordinal. Once
    /// [`Results::begin_cell`] has a server for it, the cell is as it says.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin_planned_cell(&self, lab: LabId, cell: &NewCell) -> Result<CellId, StoreError> {
        let cells = self.cells(lab)?;
        if let Some(found) = cells
            .iter()
            .find(|found| found.what.ordinal == cell.ordinal)
        {
            return Ok(found.id);
        }
        let planned = NewCell {
            server_version: String::new(),
            ..cell.clone()
        };
        self.step(Durable::Flushed, |transaction| {
            insert_cell(transaction, lab, &planned)
        })
    }
}

fn insert_cell(
    transaction: &Transaction<'_>,
    lab: LabId,
    cell: &NewCell,
) -> rusqlite::Result<CellId> {
    transaction.execute(
        "INSERT INTO cell (lab_id, ordinal, engine, server_version, flavour, transport, target, workload, style, \
         warehouses, connections, home, foreign_keys, warmup_ns, window_ns, interval_ns, seed, schemas, result_metadata, \
         terminals, inactive_warehouses, rate_asked, arrivals, partitions, warmup_auto, window_auto, precision_share, instances, \
         history_key, isolation) VALUES (:lab, :ordinal, \
         :engine, :server_version, :flavour, :transport, :target, :workload, :style, :warehouses, :connections, :home, \
         :foreign_keys, :warmup_ns, :window_ns, :interval_ns, :seed, :schemas, :result_metadata, :terminals, \
         :inactive_warehouses, :rate_asked, :arrivals, :partitions, :warmup_auto, :window_auto, :precision_share, :instances, \
         :history_key, :isolation)",
        named_params! {
            ":lab": lab.0,
            ":ordinal": cell.ordinal,
            ":engine": cell.engine,
            ":server_version": cell.server_version,
            ":flavour": cell.flavour,
            ":transport": cell.transport,
            ":target": redact(&cell.target),
            ":workload": cell.workload,
            ":style": cell.style,
            ":warehouses": cell.warehouses,
            ":connections": cell.connections,
            ":home": cell.home,
            ":foreign_keys": cell.foreign_keys,
            ":warmup_ns": cell.warmup_ns,
            ":window_ns": cell.window_ns,
            ":interval_ns": cell.interval_ns,
            ":seed": cell.seed.cast_signed(),
            ":schemas": cell.schemas,
            ":result_metadata": cell.result_metadata,
            ":terminals": cell.terminals,
            ":inactive_warehouses": cell.inactive_warehouses,
            ":rate_asked": cell.rate_asked,
            ":arrivals": cell.arrivals,
            ":partitions": cell.partitions,
            ":warmup_auto": cell.warmup_auto,
            ":window_auto": cell.window_auto,
            ":precision_share": cell.precision_share,
            ":instances": cell.instances,
            ":history_key": cell.history_key,
            ":isolation": cell.isolation,
        },
    )?;
    let id = CellId(transaction.last_insert_rowid());
    insert_details(transaction, id, cell)?;
    Ok(id)
}

fn insert_details(
    transaction: &Transaction<'_>,
    id: CellId,
    cell: &NewCell,
) -> rusqlite::Result<()> {
    for (name, value) in &cell.settings {
        transaction.execute(
            "INSERT OR REPLACE INTO cell_setting (cell_id, name, value) VALUES (?1, ?2, ?3)",
            params![id.0, name, redact(value)],
        )?;
    }
    insert_places(transaction, id, &cell.places)?;
    if let Some(preset) = &cell.preset {
        insert_preset(transaction, id, preset)?;
    }
    Ok(())
}

/// What a planned cell lacks, from its server.
fn meet_server(
    transaction: &Transaction<'_>,
    id: CellId,
    cell: &NewCell,
) -> rusqlite::Result<CellId> {
    transaction.execute(
        "UPDATE cell SET engine = ?2, server_version = ?3, flavour = ?4, transport = ?5, target = ?6, result_metadata = ?7, \
         connections = ?8, foreign_keys = ?9, terminals = ?10, inactive_warehouses = ?11, partitions = ?12, \
         history_key = ?13, isolation = ?14 WHERE id = ?1",
        params![
            id.0,
            cell.engine,
            cell.server_version,
            cell.flavour,
            cell.transport,
            redact(&cell.target),
            cell.result_metadata,
            cell.connections,
            cell.foreign_keys,
            cell.terminals,
            cell.inactive_warehouses,
            cell.partitions,
            cell.history_key,
            cell.isolation,
        ],
    )?;
    insert_details(transaction, id, cell)?;
    Ok(id)
}

fn times(cell: &NewCell) -> String {
    let mut times = format!(
        "{} {} {} ns",
        cell.warmup_ns, cell.window_ns, cell.interval_ns
    );
    if cell.warmup_auto {
        times.push_str(", automatic warm-up");
    }
    if cell.window_auto {
        let precision = cell.precision_share.unwrap_or_default();
        times.push_str(&format!(", automatic window to {precision}"));
    }
    times
}

/// What a file of a format before 11 does not say was so.
fn as_before<T: ToString>(known: Option<T>, before: T) -> String {
    known.unwrap_or(before).to_string()
}

/// Is the cell that a resumed lab asks for the stored one? The target may differ: a managed server gets a new port. So may
/// the seed: a lab goes on with the same plan, and before format 11 cells of ramps had seeds that derived from it.
fn same_cell(stored: &NewCell, given: &NewCell) -> Result<(), StoreError> {
    let fields = |cell: &NewCell| -> [(&'static str, String); 17] {
        let mut settings = cell.settings.clone();
        settings.sort_unstable();
        [
            ("engine", cell.engine.clone()),
            ("server version", cell.server_version.clone()),
            ("workload", cell.workload.clone()),
            ("style", cell.style.clone()),
            ("number of warehouses", cell.warehouses.to_string()),
            ("number of connections", cell.connections.to_string()),
            ("home binding", cell.home.to_string()),
            ("foreign keys", cell.foreign_keys.to_string()),
            ("number of partitions", cell.partitions.to_string()),
            ("key of HISTORY", as_before(cell.history_key, false)),
            (
                "isolation level",
                as_before(cell.isolation.clone(), "repeatable-read".to_owned()),
            ),
            ("times", times(cell)),
            ("number of schemas", cell.schemas.to_string()),
            ("number of servers", cell.instances.to_string()),
            (
                "pacing",
                format!(
                    "{:?}",
                    (
                        cell.terminals,
                        cell.inactive_warehouses,
                        &cell.rate_asked,
                        &cell.arrivals
                    )
                ),
            ),
            ("devices", cell.devices_in_words().unwrap_or_default()),
            ("settings", format!("{settings:?}")),
        ]
    };
    let ordinal = given.ordinal;
    for ((field, stored), (_, given)) in fields(stored).into_iter().zip(fields(given)) {
        if stored != given {
            return Err(StoreError::CellDiffers {
                ordinal,
                field,
                stored,
                given,
            });
        }
    }
    Ok(())
}
