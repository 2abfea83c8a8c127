//! Writing: begin, append, finish.

use crate::machines::{insert_machine, number_of};
use crate::results::Durable;
use crate::row::{Keys, Owner, TableRow, insert, put, put_named, update};
use crate::rows::*;
use crate::values::*;
use crate::{Results, StoreError, StoreResult, process, redact};
use base::now_utc_ns;
use rusqlite::types::Null;
use rusqlite::{Connection, Result};
use std::slice;

impl Results {
    /// Starts a lab.
    pub fn begin_lab(&self, lab: &NewLab) -> StoreResult<LabId> {
        self.step(Durable::Flushed, |transaction| {
            let started: Keys<'_> = &[
                ("status", &LabStatus::Running),
                ("started_utc_ns", &now_utc_ns()),
                ("process", &process::identity()),
            ];
            let id = insert(transaction, "INSERT INTO lab", started, lab)?;
            insert_machine(transaction, id, 1, &lab.host_facts)?;
            Ok(LabId(id))
        })
    }

    /// Takes an unfinished lab up again in this process.
    pub fn resume_lab(&self, lab: LabId) -> StoreResult<()> {
        let running: Keys<'_> = &[
            ("status", &LabStatus::Running),
            ("process", &process::identity()),
            ("reason", &Null),
            ("finished_utc_ns", &Null),
        ];
        self.change_lab(lab, running)
    }

    /// From now on what comes out decides what is measured next.
    pub fn mark_adaptive(&self, lab: LabId) -> StoreResult<()> {
        self.change_lab(lab, &[("adaptive", &true)])
    }

    /// Ends a lab.
    pub fn finish_lab(
        &self,
        lab: LabId,
        status: LabStatus,
        reason: Option<&str>,
    ) -> StoreResult<()> {
        let (reason, now) = (reason.map(redact), now_utc_ns());
        let ended: Keys<'_> =
            &[("status", &status), ("reason", &reason), ("finished_utc_ns", &now)];
        self.change_lab(lab, ended)
    }

    fn change_lab(&self, lab: LabId, values: Keys<'_>) -> StoreResult<()> {
        let changed = self.step(Durable::Flushed, |transaction| {
            update(transaction, "lab", &format!("id = {lab}"), values, &())
        })?;
        match changed {
            0 => Err(StoreError::NotFound { path: self.path.clone(), what: "lab", id: lab.0 }),
            _ => Ok(()),
        }
    }

    /// Begins the next block of a lab on the machine with these facts. Repeats belong to it from
    /// now on. Returns its number.
    pub fn begin_block(
        &self,
        lab: LabId,
        host_facts: &[(String, String)],
        canary: Option<Canary>,
    ) -> StoreResult<u32> {
        let mut machines = self.machines(lab)?;
        self.step(Durable::Flushed, |transaction| {
            // Repeats outside of blocks have no row here; their block is their ordinal.
            let block = transaction.query_row(
                "SELECT 1 + max(coalesce((SELECT max(block) FROM block WHERE lab_id = ?1), 0), \
                 coalesce((SELECT max(r.block) FROM repeat AS r \
                 JOIN cell AS c ON c.id = r.cell_id WHERE c.lab_id = ?1), 0))",
                [lab],
                |row| row.get(0),
            )?;
            let machine = number_of(transaction, lab.0, &mut machines, host_facts)?;
            let row = Block { block, started_utc_ns: now_utc_ns(), machine, canary };
            put(transaction, &[("lab_id", &lab)], &[row])?;
            Ok(block)
        })
    }

    /// Starts a measurement of a cell, as a new attempt where the ordinal was measured before.
    pub fn begin_repeat(&self, repeat: &NewRepeat) -> StoreResult<RepeatId> {
        self.step(Durable::Flushed, |transaction| insert_repeat(transaction, repeat))
    }

    /// Stores rows that belong to a cell, a repeat or a load; those of the same keys are replaced.
    pub fn put<T: TableRow>(&self, owner: impl Owner, rows: &[T]) -> StoreResult<()> {
        let (column, id) = owner.key();
        self.step(Durable::Written, |transaction| put(transaction, &[(column, &id)], rows))
    }

    /// Stores the server's variables, `SHOW GLOBAL VARIABLES`, and its status, `SHOW GLOBAL
    /// STATUS`, before the warm-up or after the window. Called again, it replaces those of the same
    /// moment.
    pub fn record_server(
        &self,
        repeat: RepeatId,
        moment: Moment,
        variables: &[(String, String)],
        status: &[(String, String)],
    ) -> StoreResult<()> {
        let key: Keys<'_> = &[("repeat_id", &repeat), ("phase", &moment)];
        self.step(Durable::Written, |transaction| {
            put_named(transaction, "server_variable", key, variables)?;
            put_named(transaction, "server_status", key, status)
        })
    }

    /// Appends what an interval has beside its transactions; as [`Results::put`], without a flush.
    pub fn append_paced(&self, repeat: RepeatId, interval: &PacedInterval) -> StoreResult<()> {
        let key: Keys<'_> = &[
            ("repeat_id", &repeat),
            ("phase", &interval.phase),
            ("start_offset_ns", &interval.start_offset_ns),
            ("end_offset_ns", &interval.end_offset_ns),
        ];
        self.step(Durable::Written, |transaction| {
            put(transaction, key, interval.schedule.as_slice())?;
            put(transaction, key, &interval.times)
        })
    }

    /// Stores what the storage did in the window; called again, it replaces it.
    pub fn record_device_io(&self, repeat: RepeatId, io: &DeviceIo) -> StoreResult<()> {
        self.step(Durable::Written, |transaction| {
            let key: Keys<'_> = &[("repeat_id", &repeat)];
            put(transaction, key, slice::from_ref(&io.shim))?;
            put(transaction, key, &io.roles)?;
            for role in &io.roles {
                let key: Keys<'_> = &[("repeat_id", &repeat), ("role", &role.role)];
                put(transaction, key, &role.requests)?;
            }
            Ok(())
        })
    }

    /// Ends a repeat with its numbers. One that was taken for dead while it lived is put right.
    ///
    /// # Errors
    /// [`StoreError::WrongStatus`] where it has ended already.
    pub fn finish_repeat(&self, repeat: RepeatId, result: &RepeatResult) -> StoreResult<()> {
        let changed = self.step(Durable::Flushed, |transaction| {
            let condition = format!(
                "id = {repeat} AND (status = 'running' \
                 OR reason_code IN ('interrupted', 'interrupted_process'))"
            );
            let ended: Keys<'_> = &[
                ("status", &RepeatStatus::Done),
                ("reason_code", &Null),
                ("reason", &Null),
                ("finished_utc_ns", &now_utc_ns()),
            ];
            update(transaction, "repeat", &condition, ended, result)
        })?;
        if changed == 0 {
            let stored = self.repeat(repeat)?;
            let status = stored.status.to_string();
            return Err(StoreError::WrongStatus { id: repeat.0, status });
        }
        Ok(())
    }

    /// Marks a repeat that is done as ended before its time: its numbers are kept, and it is
    /// measured again where a plan wants it whole.
    pub fn cut_repeat(&self, repeat: RepeatId) -> StoreResult<()> {
        let sql = "UPDATE repeat SET interrupted = 1 WHERE id = ?1 AND status = 'done'";
        self.step(Durable::Flushed, |transaction| transaction.execute(sql, [repeat]).map(drop))
    }

    /// Ends a repeat without a result to show. A repeat that was finished may fail afterwards
    /// (`check_failed`), and so may one that was interrupted (`timed_out`); one that has failed
    /// keeps its first reason and gets the further one as a note.
    pub fn fail_repeat(&self, repeat: RepeatId, why: &RepeatFailure) -> StoreResult<()> {
        let changed = self.step(Durable::Flushed, |transaction| {
            let condition = format!(
                "id = {repeat} AND (status IN ('running', 'done') \
                 OR reason_code IN ('interrupted', 'interrupted_process'))"
            );
            let ended: Keys<'_> =
                &[("status", &RepeatStatus::Failed), ("finished_utc_ns", &now_utc_ns())];
            update(transaction, "repeat", &condition, ended, why)
        })?;
        if changed == 0 {
            self.repeat(repeat)?;
            let text = format!("also {}: {}", why.reason_code, why.reason);
            self.record_note(repeat, &text)?;
        }
        Ok(())
    }

    /// Stores a population.
    pub fn record_load(&self, load: &StoredLoad) -> StoreResult<LoadId> {
        self.step(Durable::Flushed, |transaction| {
            let rows: Keys<'_> = &[("total_rows", &load.total_rows())];
            let id = insert(transaction, "INSERT INTO load", rows, load)?;
            put(transaction, &[("load_id", &id)], &load.tables)?;
            Ok(LoadId(id))
        })
    }

    /// Stores check results.
    pub fn record_checks(&self, on: impl Owner, checks: &[StoredCheck]) -> StoreResult<()> {
        let (column, id) = on.key();
        self.step(Durable::Flushed, |transaction| put(transaction, &[(column, &id)], checks))
    }

    /// Stores a note for people: a deviation, a warning, a setting that was dropped.
    pub fn record_note(&self, on: impl Owner, text: &str) -> StoreResult<()> {
        let (column, id) = on.key();
        self.step(Durable::Written, |transaction| {
            let note: Keys<'_> = &[(column, &id), ("note", &redact(text))];
            insert(transaction, "INSERT INTO note", note, &()).map(drop)
        })
    }
}

/// The next attempt of a repeat.
pub(crate) fn insert_repeat(connection: &Connection, repeat: &NewRepeat) -> Result<RepeatId> {
    let (attempt, block): (u32, u32) = connection.query_row(
        "SELECT (SELECT coalesce(max(attempt), 0) + 1 FROM repeat \
         WHERE cell_id = ?1 AND ordinal = ?2), (SELECT coalesce(max(block), ?2) FROM block \
         WHERE lab_id = (SELECT lab_id FROM cell WHERE id = ?1))",
        (repeat.cell, repeat.ordinal),
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let started: Keys<'_> = &[
        ("attempt", &attempt),
        ("block", &block),
        ("status", &RepeatStatus::Running),
        ("started_utc_ns", &now_utc_ns()),
        ("process", &process::identity()),
    ];
    insert(connection, "INSERT INTO repeat", started, repeat).map(RepeatId)
}
