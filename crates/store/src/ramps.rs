//! Ramps: rows, writing them, reading them. A point of a ramp is a repeat like any other; its cell has its number of connections.

use crate::read::read_repeat;
use crate::results::Durable;
use crate::types::{Cell, CellId, LabId, NewRepeat, Repeat, RepeatId};
use crate::write::insert_repeat;
use crate::{Results, StoreError};
use base::{RampLimits, now_utc_ns};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use std::fmt;

/// One rise of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RampId(pub i64);

impl fmt::Display for RampId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A ramp about to start.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRamp {
    /// Of the plan's cell, from 1; 1 where a single command measures.
    pub ordinal: u32,
    /// Which ramp of that cell, from 1.
    pub repeat: u32,
    pub limits: RampLimits,
}

/// A ramp as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRamp {
    pub id: RampId,
    pub lab: LabId,
    pub what: NewRamp,
    /// `None` while points or checks are missing.
    pub finished_utc_ns: Option<i64>,
}

impl Results {
    /// Stores a ramp, or takes up again the one of this ordinal and repeat.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin_ramp(&self, lab: LabId, ramp: &NewRamp) -> Result<RampId, StoreError> {
        self.step(Durable::Flushed, |transaction| {
            let found = transaction
                .query_row(
                    "SELECT id FROM ramp WHERE lab_id = ?1 AND ordinal = ?2 AND repeat = ?3",
                    params![lab.0, ramp.ordinal, ramp.repeat],
                    |row| row.get(0),
                )
                .optional()?;
            let Some(id) = found else {
                return insert_ramp(transaction, lab, ramp);
            };
            transaction.execute(
                "UPDATE ramp SET finished_utc_ns = NULL WHERE id = ?1",
                params![id],
            )?;
            Ok(RampId(id))
        })
    }

    /// Begins a repeat that is a point of a ramp, as [`Results::begin_repeat`]; whatever kills this process, it is never without its ramp.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin_ramp_point(
        &self,
        ramp: RampId,
        repeat: &NewRepeat,
    ) -> Result<RepeatId, StoreError> {
        self.step(Durable::Flushed, |transaction| {
            let id = insert_repeat(transaction, repeat)?;
            transaction.execute(
                "INSERT INTO ramp_point (repeat_id, ramp_id) VALUES (?1, ?2)",
                params![id.0, ramp.0],
            )?;
            Ok(id)
        })
    }

    /// Ends a ramp: all of its points are stored, and what was checked after them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish_ramp(&self, ramp: RampId) -> Result<(), StoreError> {
        self.step(Durable::Flushed, |transaction| {
            transaction.execute(
                "UPDATE ramp SET finished_utc_ns = ?2 WHERE id = ?1",
                params![ramp.0, now_utc_ns()],
            )?;
            Ok(())
        })
    }

    /// Ramps of a lab in the order of its plan.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn ramps(&self, lab: LabId) -> Result<Vec<StoredRamp>, StoreError> {
        let mut ramps = self.all(
            "SELECT * FROM ramp WHERE lab_id = ?1 ORDER BY ordinal, repeat",
            params![lab.0],
            read_ramp,
        )?;
        for ramp in &mut ramps {
            let limits = self.all(
                "SELECT transaction_type, p90_us FROM ramp_response_limit WHERE ramp_id = ?1",
                params![ramp.id.0],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            ramp.what.limits.p90_us = limits.into_iter().collect();
        }
        Ok(ramps)
    }

    /// Points of a ramp in the order of their measurement: all attempts.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn ramp_points(&self, ramp: RampId) -> Result<Vec<Repeat>, StoreError> {
        self.all(
            "SELECT r.* FROM repeat AS r JOIN ramp_point AS p ON p.repeat_id = r.id WHERE p.ramp_id = ?1 ORDER BY r.id",
            params![ramp.0],
            read_repeat,
        )
    }

    /// Of a cell's repeats, those that measured its number of connections once more on the server of
    /// the same ramp: what they say of the cell, an earlier repeat has said already.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn measured_again(&self, cell: CellId) -> Result<Vec<RepeatId>, StoreError> {
        self.all(
            "SELECT r.id FROM repeat AS r JOIN ramp_point AS p ON p.repeat_id = r.id \
             WHERE r.cell_id = ?1 AND EXISTS (SELECT 1 FROM repeat AS e \
             JOIN ramp_point AS q ON q.repeat_id = e.id WHERE e.cell_id = r.cell_id \
             AND q.ramp_id = p.ramp_id AND e.ordinal < r.ordinal AND e.status = 'done' \
             AND e.attempt = (SELECT max(attempt) FROM repeat \
             WHERE cell_id = e.cell_id AND ordinal = e.ordinal)) ORDER BY r.id",
            params![cell.0],
            |row| Ok(RepeatId(row.get(0)?)),
        )
    }

    /// Cells that are points of the ramps of one of the plan's cells.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn ramp_cells(&self, lab: LabId, ordinal: u32) -> Result<Vec<Cell>, StoreError> {
        let ids = self.all(
            "SELECT DISTINCT r.cell_id FROM ramp AS a JOIN ramp_point AS p ON p.ramp_id = a.id \
             JOIN repeat AS r ON r.id = p.repeat_id WHERE a.lab_id = ?1 AND a.ordinal = ?2",
            params![lab.0, ordinal],
            |row| row.get::<_, i64>(0),
        )?;
        let mut cells = self.cells(lab)?;
        cells.retain(|cell| ids.contains(&cell.id.0));
        Ok(cells)
    }
}

fn insert_ramp(
    transaction: &Transaction<'_>,
    lab: LabId,
    ramp: &NewRamp,
) -> rusqlite::Result<RampId> {
    let limits = &ramp.limits;
    transaction.execute(
        "INSERT INTO ramp (lab_id, ordinal, repeat, connections_start, connections_step, connections_max, points_max, \
         stop_cpu_busy_share, stop_kink_elasticity, stop_plateau_elasticity) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            lab.0,
            ramp.ordinal,
            ramp.repeat,
            limits.start,
            limits.step,
            limits.connections_max,
            limits.points_max,
            limits.cpu_busy_share,
            limits.kink_elasticity,
            limits.plateau_elasticity,
        ],
    )?;
    let id = transaction.last_insert_rowid();
    for (transaction_type, p90_us) in &limits.p90_us {
        transaction.execute(
            "INSERT INTO ramp_response_limit (ramp_id, transaction_type, p90_us) VALUES (?1, ?2, ?3)",
            params![id, transaction_type, p90_us],
        )?;
    }
    Ok(RampId(id))
}

fn read_ramp(row: &Row<'_>) -> rusqlite::Result<StoredRamp> {
    Ok(StoredRamp {
        id: RampId(row.get("id")?),
        lab: LabId(row.get("lab_id")?),
        what: NewRamp {
            ordinal: row.get("ordinal")?,
            repeat: row.get("repeat")?,
            limits: RampLimits {
                start: row.get("connections_start")?,
                step: row.get("connections_step")?,
                connections_max: row.get("connections_max")?,
                points_max: row.get("points_max")?,
                cpu_busy_share: row.get("stop_cpu_busy_share")?,
                kink_elasticity: row.get("stop_kink_elasticity")?,
                plateau_elasticity: row.get("stop_plateau_elasticity")?,
                p90_us: Default::default(),
            },
        },
        finished_utc_ns: row.get("finished_utc_ns")?,
    })
}
