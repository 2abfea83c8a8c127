//! Writing: begin, append, finish.

use crate::redact::HIDDEN;
use crate::results::Durable;
use crate::types::{
    CheckResult, CheckedOn, Failure, InputCounter, IntervalRow, LabId, LabStatus, Load, LoadId,
    Moment, NewLab, NewRepeat, NoteOn, RepeatFailure, RepeatId, RepeatResult, RepeatStatus,
};
use crate::{Results, StoreError, process, redact};
use base::now_utc_ns;
use rusqlite::{Transaction, named_params, params};

impl Results {
    /// Starts a lab.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin_lab(&self, lab: &NewLab) -> Result<LabId, StoreError> {
        self.step(Durable::Flushed, |transaction| {
            transaction.execute(
                "INSERT INTO lab (name, plan, command_line, mydyno_version, status, started_utc_ns, process) \
                 VALUES (?1, ?2, ?3, ?4, 'running', ?5, ?6)",
                params![
                    lab.name,
                    lab.plan.as_deref().map(redact),
                    redact(&lab.command_line),
                    lab.mydyno_version,
                    now_utc_ns(),
                    process::identity(),
                ],
            )?;
            let id = transaction.last_insert_rowid();
            for (key, value) in &lab.host_facts {
                transaction.execute(
                    "INSERT OR REPLACE INTO host_fact (lab_id, key, value) VALUES (?1, ?2, ?3)",
                    params![id, key, value],
                )?;
            }
            Ok(LabId(id))
        })
    }

    /// Takes an unfinished lab up again in this process.
    ///
    /// # Errors
    /// There is no such lab, or the file cannot be written.
    pub fn resume_lab(&self, lab: LabId) -> Result<(), StoreError> {
        let changed = self.step(Durable::Flushed, |transaction| {
            transaction.execute(
                "UPDATE lab SET status = 'running', reason = NULL, finished_utc_ns = NULL, process = ?2 WHERE id = ?1",
                params![lab.0, process::identity()],
            )
        })?;
        self.must_exist(changed, "lab", lab.0)
    }

    /// Ends a lab.
    ///
    /// # Errors
    /// There is no such lab, or the file cannot be written.
    pub fn finish_lab(
        &self,
        lab: LabId,
        status: LabStatus,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let changed = self.step(Durable::Flushed, |transaction| {
            transaction.execute(
                "UPDATE lab SET status = ?2, reason = ?3, finished_utc_ns = ?4 WHERE id = ?1",
                params![lab.0, status.as_str(), reason.map(redact), now_utc_ns()],
            )
        })?;
        self.must_exist(changed, "lab", lab.0)
    }

    /// Starts a measurement of a cell, as a new attempt where the ordinal was measured before.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin_repeat(&self, repeat: &NewRepeat) -> Result<RepeatId, StoreError> {
        self.step(Durable::Flushed, |transaction| {
            insert_repeat(transaction, repeat)
        })
    }

    /// Stores a repeat that is not measured, with the reason.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn skip_repeat(
        &self,
        repeat: &NewRepeat,
        why: &RepeatFailure,
    ) -> Result<RepeatId, StoreError> {
        let id = self.begin_repeat(repeat)?;
        self.end_repeat(id, RepeatStatus::Skipped, why)?;
        Ok(id)
    }

    /// Stores the server's variables, `SHOW GLOBAL VARIABLES`. Called again, it replaces those of the same moment.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_variables(
        &self,
        repeat: RepeatId,
        moment: Moment,
        variables: &[(String, String)],
    ) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            let mut insert = transaction.prepare_cached(
                "INSERT OR REPLACE INTO server_variable (repeat_id, phase, name, value) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for (name, value) in variables {
                // What a replica tells its source, in plain text.
                let secret = name == "report_password" && !value.is_empty();
                let value = if secret { HIDDEN } else { value };
                insert.execute(params![repeat.0, moment.as_str(), name, value])?;
            }
            Ok(())
        })
    }

    /// Appends intervals; called about once a second during a run. It waits for no flush, except where the write-ahead log
    /// has grown by 4 MiB and is moved into the file. Not for a thread that measures.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append_intervals(
        &self,
        repeat: RepeatId,
        intervals: &[IntervalRow],
    ) -> Result<(), StoreError> {
        let mut codec = self.codec.borrow_mut();
        let mut encoded = Vec::with_capacity(intervals.len());
        for interval in intervals {
            let bytes = codec
                .encode(&interval.latency)
                .map_err(|cause| StoreError::Histogram {
                    transaction: interval.transaction.clone(),
                    cause,
                })?;
            encoded.push(bytes.map(<[u8]>::to_vec));
        }
        self.step(Durable::Written, |transaction| {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO interval (repeat_id, phase, start_offset_ns, end_offset_ns, transaction_type, committed, \
                 rolled_back, deadlocks, lock_wait_timeouts, other_retries, errors, latency_sum_ns, latency_max_ns, \
                 latency_out_of_bounds, latency_histogram_ns) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            )?;
            for (row, histogram) in intervals.iter().zip(&encoded) {
                insert.execute(params![
                    repeat.0,
                    row.phase.as_str(),
                    row.start_offset_ns,
                    row.end_offset_ns,
                    row.transaction,
                    row.committed,
                    row.rolled_back,
                    row.deadlocks,
                    row.lock_wait_timeouts,
                    row.other_retries,
                    row.errors,
                    row.latency_sum_ns,
                    row.latency_max_ns,
                    row.latency_out_of_bounds,
                    histogram,
                ])?;
            }
            Ok(())
        })
    }

    /// Stores failed tries by transaction type and error, over the whole run; called again, it replaces them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_failures(
        &self,
        repeat: RepeatId,
        failures: &[Failure],
    ) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            for failure in failures {
                transaction.execute(
                    "INSERT OR REPLACE INTO failure (repeat_id, transaction_type, error_code, occurrences, first_message) \
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![
                        repeat.0,
                        failure.transaction,
                        failure.error_code,
                        failure.occurrences,
                        redact(&failure.first_message)
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// Stores the clause-5 counters; called again, it replaces them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_inputs(
        &self,
        repeat: RepeatId,
        counters: &[InputCounter],
    ) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            for (ordinal, counter) in counters.iter().enumerate() {
                transaction.execute(
                    "INSERT OR REPLACE INTO input_counter (repeat_id, ordinal, name, title, unit, hits, trials, value, \
                     allowed_low, allowed_high, chance_low, chance_high, verdict) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                    params![
                        repeat.0,
                        ordinal + 1,
                        counter.name,
                        counter.title,
                        counter.unit.as_str(),
                        counter.hits,
                        counter.trials,
                        counter.value,
                        counter.allowed.low,
                        counter.allowed.high,
                        counter.chance.low,
                        counter.chance.high,
                        counter.verdict.as_str(),
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// Ends a repeat with its numbers. One that was taken for dead while it lived is put right.
    ///
    /// # Errors
    /// [`StoreError::WrongStatus`] where it has ended already; the file cannot be written.
    pub fn finish_repeat(&self, repeat: RepeatId, result: &RepeatResult) -> Result<(), StoreError> {
        let changed = self.step(Durable::Flushed, |transaction| {
            transaction.execute(
                "UPDATE repeat SET status = 'done', reason_code = NULL, reason = NULL, finished_utc_ns = :now, \
                 window_started_utc_ns = :window_started, window_ended_utc_ns = :window_ended, \
                 warmup_measured_ns = :warmup, warmup_steady = :steady, window_precision_share = :precision, \
                 measured_window_ns = :window, interrupted = :interrupted, client_cpu_ns = :cpu, \
                 client_peak_rss_bytes = :rss, statements = :statements, committed_new_orders = :committed, \
                 in_doubt_new_orders = :in_doubt, district_next_o_id_sum_before = :before, \
                 district_next_o_id_sum_after = :after, reconnects = :reconnects, capacity_per_s = :capacity, \
                 capacity_precision_share = :capacity_precision, \
                 rate_per_s = :rate, ceiling_nopm = :ceiling, ceiling_deviation_nopm = :deviation, efficiency = :efficiency, \
                 new_orders_within_window = :within_window, pending_deliveries = :pending_deliveries \
                 WHERE id = :id AND (status = 'running' OR reason_code IN ('interrupted', 'interrupted_process'))",
                named_params! {
                    ":id": repeat.0,
                    ":now": now_utc_ns(),
                    ":window_started": result.window_started_utc_ns,
                    ":window_ended": result.window_ended_utc_ns,
                    ":warmup": result.warmup_measured_ns,
                    ":steady": result.warmup_steady,
                    ":precision": result.window_precision_share,
                    ":window": result.measured_window_ns,
                    ":interrupted": result.interrupted,
                    ":cpu": result.client_cpu_ns,
                    ":rss": result.client_peak_rss_bytes,
                    ":statements": result.statements,
                    ":committed": result.committed_new_orders,
                    ":in_doubt": result.in_doubt_new_orders,
                    ":before": result.district_next_o_id_sum_before,
                    ":after": result.district_next_o_id_sum_after,
                    ":reconnects": result.reconnects,
                    ":capacity": result.capacity_per_s,
                    ":capacity_precision": result.capacity_precision_share,
                    ":rate": result.rate_per_s,
                    ":ceiling": result.ceiling_nopm,
                    ":deviation": result.ceiling_deviation_nopm,
                    ":efficiency": result.efficiency,
                    ":within_window": result.new_orders_within_window,
                    ":pending_deliveries": result.pending_deliveries,
                },
            )
        })?;
        if changed == 0 {
            let stored = self.repeat(repeat)?;
            return Err(StoreError::WrongStatus {
                id: repeat.0,
                status: stored.status.to_string(),
                wanted: "finished",
            });
        }
        Ok(())
    }

    /// Ends a repeat without a result to show. A repeat that was finished may fail afterwards (`check_failed`), and so may one that was interrupted (`timed_out`); one that has
    /// failed keeps its first reason and gets the further one as a note.
    ///
    /// # Errors
    /// There is no such repeat, or the file cannot be written.
    pub fn fail_repeat(&self, repeat: RepeatId, why: &RepeatFailure) -> Result<(), StoreError> {
        self.end_repeat(repeat, RepeatStatus::Failed, why)
    }

    fn end_repeat(
        &self,
        repeat: RepeatId,
        status: RepeatStatus,
        why: &RepeatFailure,
    ) -> Result<(), StoreError> {
        let changed = self.step(Durable::Flushed, |transaction| {
            transaction.execute(
                "UPDATE repeat SET status = ?2, reason_code = ?3, reason = ?4, log_tail = ?5, finished_utc_ns = ?6 \
                 WHERE id = ?1 AND (status IN ('running', 'done') OR reason_code IN ('interrupted', 'interrupted_process'))",
                params![
                    repeat.0,
                    status.as_str(),
                    why.reason_code,
                    redact(&why.reason),
                    why.log_tail.as_deref().map(redact),
                    now_utc_ns(),
                ],
            )
        })?;
        if changed == 0 {
            self.repeat(repeat)?;
            let text = format!("also {}: {}", why.reason_code, why.reason);
            self.record_note(NoteOn::Repeat(repeat), &text)?;
        }
        Ok(())
    }

    /// Stores a population.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_load(&self, load: &Load) -> Result<LoadId, StoreError> {
        self.step(Durable::Flushed, |transaction| {
            insert_load(transaction, load)
        })
    }

    /// Stores check results.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_checks(&self, on: CheckedOn, checks: &[CheckResult]) -> Result<(), StoreError> {
        let (lab, repeat, load) = match on {
            CheckedOn::Lab(id) => (Some(id.0), None, None),
            CheckedOn::Repeat(id) => (None, Some(id.0), None),
            CheckedOn::Load(id) => (None, None, Some(id.0)),
        };
        self.step(Durable::Flushed, |transaction| {
            for check in checks {
                transaction.execute(
                    "INSERT INTO check_result (lab_id, repeat_id, load_id, name, title, clause, passed, offending_rows, \
                     examples_json, duration_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                    params![
                        lab,
                        repeat,
                        load,
                        check.name,
                        check.title,
                        check.clause,
                        check.passed,
                        check.offending_rows,
                        check.examples_json,
                        check.duration_ns,
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// Stores a note for people: a deviation, a warning, a setting that was dropped.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_note(&self, on: NoteOn, text: &str) -> Result<(), StoreError> {
        let (lab, repeat) = match on {
            NoteOn::Lab(id) => (Some(id.0), None),
            NoteOn::Repeat(id) => (None, Some(id.0)),
        };
        self.step(Durable::Written, |transaction| {
            transaction.execute(
                "INSERT INTO note (lab_id, repeat_id, note) VALUES (?1, ?2, ?3)",
                params![lab, repeat, redact(text)],
            )?;
            Ok(())
        })
    }

    fn must_exist(&self, changed: usize, what: &'static str, id: i64) -> Result<(), StoreError> {
        if changed > 0 {
            return Ok(());
        }
        Err(StoreError::NotFound {
            path: self.path.clone(),
            what,
            id,
        })
    }
}

/// The next attempt of a repeat.
pub(crate) fn insert_repeat(
    transaction: &Transaction<'_>,
    repeat: &NewRepeat,
) -> rusqlite::Result<RepeatId> {
    transaction.execute(
        "INSERT INTO repeat (cell_id, ordinal, attempt, block, status, started_utc_ns, my_cnf, \
         process, seed, driver_threads) VALUES (?1, ?2, \
         (SELECT coalesce(max(attempt), 0) + 1 FROM repeat WHERE cell_id = ?1 AND ordinal = ?2), \
         (SELECT max(block) FROM block WHERE lab_id = (SELECT lab_id FROM cell WHERE id = ?1)), \
         'running', ?3, ?4, ?5, ?6, ?7)",
        params![
            repeat.cell.0,
            repeat.ordinal,
            now_utc_ns(),
            repeat.my_cnf.as_deref().map(redact),
            process::identity(),
            repeat.seed.map(u64::cast_signed),
            repeat.driver_threads,
        ],
    )?;
    Ok(RepeatId(transaction.last_insert_rowid()))
}

fn insert_load(transaction: &Transaction<'_>, load: &Load) -> rusqlite::Result<LoadId> {
    transaction.execute(
        "INSERT INTO load (lab_id, target, engine, server_version, warehouses, seed, threads, method, foreign_keys, \
         started_utc_ns, finished_utc_ns, duration_ns, total_rows, total_bytes, client_cpu_ns, client_peak_rss_bytes, partitions, \
         history_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        params![
            load.lab.map(|id| id.0),
            redact(&load.target),
            load.engine,
            load.server_version,
            load.warehouses,
            load.seed.cast_signed(),
            load.threads,
            load.method.as_str(),
            load.foreign_keys,
            load.started_utc_ns,
            load.finished_utc_ns,
            load.duration_ns,
            load.total_rows(),
            load.total_bytes,
            load.client_cpu_ns,
            load.client_peak_rss_bytes,
            load.partitions,
            load.history_key,
        ],
    )?;
    let id = transaction.last_insert_rowid();
    for (ordinal, table) in load.tables.iter().enumerate() {
        transaction.execute(
            "INSERT INTO load_table (load_id, ordinal, table_name, table_rows, checksum) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![id, ordinal + 1, table.name, table.rows, table.checksum],
        )?;
    }
    Ok(LoadId(id))
}
