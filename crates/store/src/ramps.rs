//! Ramps. A point of a ramp is a repeat like any other; its cell has its number of connections.

use crate::results::Durable;
use crate::row::{Keys, insert};
use crate::rows::{NewRamp, NewRepeat, Repeat, StoredCell, StoredRamp};
use crate::values::{CellId, LabId, RampId, RepeatId};
use crate::write::insert_repeat;
use crate::{Results, StoreResult};
use base::now_utc_ns;
use rusqlite::OptionalExtension;

impl Results {
    /// Stores a ramp, or takes up again the one of this ordinal and repeat.
    pub fn begin_ramp(&self, lab: LabId, ramp: &NewRamp) -> StoreResult<RampId> {
        self.step(Durable::Flushed, |transaction| {
            let sql = "UPDATE ramp SET finished_utc_ns = NULL \
                       WHERE lab_id = ?1 AND ordinal = ?2 AND repeat = ?3 RETURNING id";
            let place = (lab, ramp.ordinal, ramp.repeat);
            let found = transaction.query_row(sql, place, |row| row.get(0)).optional()?;
            if let Some(found) = found {
                return Ok(found);
            }
            let id = insert(transaction, "INSERT INTO ramp", &[("lab_id", &lab)], ramp)?;
            for (name, p90_us) in &ramp.limits.p90_us {
                let limit: Keys<'_> =
                    &[("ramp_id", &id), ("transaction_type", name), ("p90_us", p90_us)];
                insert(transaction, "INSERT INTO ramp_response_limit", limit, &())?;
            }
            Ok(RampId(id))
        })
    }

    /// Begins a repeat that is a point of a ramp, as [`Results::begin_repeat`]; whatever kills this
    /// process, it is never without its ramp.
    pub fn begin_ramp_point(&self, ramp: RampId, repeat: &NewRepeat) -> StoreResult<RepeatId> {
        self.step(Durable::Flushed, |transaction| {
            let id = insert_repeat(transaction, repeat)?;
            let sql = "INSERT INTO ramp_point (repeat_id, ramp_id) VALUES (?1, ?2)";
            transaction.execute(sql, (id, ramp))?;
            Ok(id)
        })
    }

    /// Ends a ramp: all of its points are stored, and what was checked after them.
    pub fn finish_ramp(&self, ramp: RampId) -> StoreResult<()> {
        let sql = "UPDATE ramp SET finished_utc_ns = ?2 WHERE id = ?1";
        let ended = (ramp, now_utc_ns());
        self.step(Durable::Flushed, |transaction| transaction.execute(sql, ended).map(drop))
    }

    /// Ramps of a lab in the order of its plan.
    pub fn ramps(&self, lab: LabId) -> StoreResult<Vec<StoredRamp>> {
        let sql = "SELECT * FROM ramp WHERE lab_id = ?1 ORDER BY ordinal, repeat";
        let mut ramps: Vec<StoredRamp> = self.rows(sql, [lab])?;
        for ramp in &mut ramps {
            let sql = "SELECT transaction_type, p90_us FROM ramp_response_limit WHERE ramp_id = ?1";
            ramp.what.limits.p90_us = self.pairs(sql, [ramp.id])?.into_iter().collect();
        }
        Ok(ramps)
    }

    /// Points of a ramp in the order of their measurement: all attempts.
    pub fn ramp_points(&self, ramp: RampId) -> StoreResult<Vec<Repeat>> {
        let sql = "SELECT r.* FROM repeat AS r JOIN ramp_point AS p ON p.repeat_id = r.id \
                   WHERE p.ramp_id = ?1 ORDER BY r.id";
        self.rows(sql, [ramp])
    }

    /// Of a cell's repeats, those that measured its number of connections once more on the server
    /// of the same ramp: what they say of the cell, an earlier repeat has said already.
    pub fn measured_again(&self, cell: CellId) -> StoreResult<Vec<RepeatId>> {
        self.all(
            "SELECT r.id FROM repeat AS r JOIN ramp_point AS p ON p.repeat_id = r.id \
             WHERE r.cell_id = ?1 AND EXISTS (SELECT 1 FROM repeat AS e \
             JOIN ramp_point AS q ON q.repeat_id = e.id WHERE e.cell_id = r.cell_id \
             AND q.ramp_id = p.ramp_id AND e.ordinal < r.ordinal AND e.status = 'done' \
             AND e.attempt = (SELECT max(attempt) FROM repeat \
             WHERE cell_id = e.cell_id AND ordinal = e.ordinal)) ORDER BY r.id",
            [cell],
            |row| row.get(0),
        )
    }

    /// Cells that are points of the ramps of one of the plan's cells.
    pub fn ramp_cells(&self, lab: LabId, ordinal: u32) -> StoreResult<Vec<StoredCell>> {
        let ids: Vec<CellId> = self.all(
            "SELECT DISTINCT r.cell_id FROM ramp AS a JOIN ramp_point AS p ON p.ramp_id = a.id \
             JOIN repeat AS r ON r.id = p.repeat_id WHERE a.lab_id = ?1 AND a.ordinal = ?2",
            (lab, ordinal),
            |row| row.get(0),
        )?;
        let mut cells = self.cells(lab)?;
        cells.retain(|cell| ids.contains(&cell.id));
        Ok(cells)
    }
}
