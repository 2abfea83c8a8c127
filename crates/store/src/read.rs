//! Reading: rows as they are stored, oldest first.

use crate::histogram::histogram_at;
use crate::types::{
    Band, Cell, CellId, CheckResult, CheckedOn, CounterUnit, Failure, InputCounter, IntervalRow,
    Lab, LabId, LabStatus, Load, LoadId, LoadMethod, LoadTable, Moment, NewCell, NoteOn, Phase,
    Repeat, RepeatId, RepeatResult, RepeatStatus, Verdict,
};
use crate::{Results, StoreError};
use rusqlite::{Params, Row, ToSql, params};

/// A pair of columns, `<name>_low` and `<name>_high`.
pub(crate) fn band(row: &Row<'_>, name: &str) -> rusqlite::Result<Band> {
    let bound = |end: &str| row.get(format!("{name}_{end}").as_str());
    Ok(Band {
        low: bound("low")?,
        high: bound("high")?,
    })
}

/// A word that the file holds and this program does not know: only possible where somebody wrote to the file by hand.
pub(crate) fn word<T>(
    row: &Row<'_>,
    column: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    parse(&text).ok_or_else(|| {
        let index = row.as_ref().column_index(column).unwrap_or(0);
        rusqlite::Error::FromSqlConversionFailure(
            index,
            rusqlite::types::Type::Text,
            format!("`{text}` is no known {column}").into(),
        )
    })
}

impl Results {
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let run = || -> rusqlite::Result<Vec<T>> {
            self.connection
                .prepare_cached(sql)?
                .query_map(params, map)?
                .collect()
        };
        run().map_err(|cause| self.sql(cause))
    }

    fn one<T>(
        &self,
        what: &'static str,
        id: i64,
        sql: &str,
        map: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.all(sql, params![id], map)?
            .pop()
            .ok_or_else(|| StoreError::NotFound {
                path: self.path.clone(),
                what,
                id,
            })
    }

    /// All labs.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn labs(&self) -> Result<Vec<Lab>, StoreError> {
        self.all("SELECT * FROM lab ORDER BY id", [], read_lab)
    }

    /// One lab.
    ///
    /// # Errors
    /// There is no such lab, or the file cannot be read.
    pub fn lab(&self, id: LabId) -> Result<Lab, StoreError> {
        self.one("lab", id.0, "SELECT * FROM lab WHERE id = ?1", read_lab)
    }

    /// Facts on the machine that ran a lab, by key.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn host_facts(&self, lab: LabId) -> Result<Vec<(String, String)>, StoreError> {
        self.all(
            "SELECT key, value FROM host_fact WHERE lab_id = ?1 ORDER BY key",
            params![lab.0],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    /// Cells of a lab in the order of its plan.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn cells(&self, lab: LabId) -> Result<Vec<Cell>, StoreError> {
        let mut cells = self.all(
            "SELECT * FROM cell WHERE lab_id = ?1 ORDER BY ordinal",
            params![lab.0],
            read_cell,
        )?;
        for cell in &mut cells {
            cell.what.settings = self.settings(cell.id)?;
            cell.what.places = self.places(cell.id)?;
            cell.what.preset = self.preset(cell.id)?;
        }
        Ok(cells)
    }

    /// One cell.
    ///
    /// # Errors
    /// There is no such cell, or the file cannot be read.
    pub fn cell(&self, id: CellId) -> Result<Cell, StoreError> {
        let mut cell = self.one("cell", id.0, "SELECT * FROM cell WHERE id = ?1", read_cell)?;
        cell.what.settings = self.settings(id)?;
        cell.what.places = self.places(id)?;
        cell.what.preset = self.preset(id)?;
        Ok(cell)
    }

    fn settings(&self, cell: CellId) -> Result<Vec<(String, String)>, StoreError> {
        self.all(
            "SELECT name, value FROM cell_setting WHERE cell_id = ?1 ORDER BY name",
            params![cell.0],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    /// Repeats of a cell that count: the last attempt of each ordinal.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn repeats(&self, cell: CellId) -> Result<Vec<Repeat>, StoreError> {
        self.all(
            "SELECT * FROM repeat AS r WHERE cell_id = ?1 AND attempt = \
             (SELECT max(attempt) FROM repeat WHERE cell_id = r.cell_id AND ordinal = r.ordinal) ORDER BY ordinal",
            params![cell.0],
            read_repeat,
        )
    }

    /// All attempts of all repeats of a cell.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn attempts(&self, cell: CellId) -> Result<Vec<Repeat>, StoreError> {
        self.all(
            "SELECT * FROM repeat WHERE cell_id = ?1 ORDER BY ordinal, attempt",
            params![cell.0],
            read_repeat,
        )
    }

    /// One repeat.
    ///
    /// # Errors
    /// There is no such repeat, or the file cannot be read.
    pub fn repeat(&self, id: RepeatId) -> Result<Repeat, StoreError> {
        self.one(
            "repeat",
            id.0,
            "SELECT * FROM repeat WHERE id = ?1",
            read_repeat,
        )
    }

    /// Server variables of a repeat, by name.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn variables(
        &self,
        repeat: RepeatId,
        moment: Moment,
    ) -> Result<Vec<(String, String)>, StoreError> {
        self.all(
            "SELECT name, value FROM server_variable WHERE repeat_id = ?1 AND phase = ?2 ORDER BY name",
            params![repeat.0, moment.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    /// Hands each interval of a repeat to `visit` in the order of time, with its histogram decoded. One is in memory at a
    /// time: a run of hours has tens of thousands.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn for_each_interval(
        &self,
        repeat: RepeatId,
        mut visit: impl FnMut(IntervalRow),
    ) -> Result<(), StoreError> {
        let mut codec = self.codec.borrow_mut();
        let mut run = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare_cached(
                "SELECT * FROM interval WHERE repeat_id = ?1 ORDER BY start_offset_ns, id",
            )?;
            let mut rows = statement.query(params![repeat.0])?;
            while let Some(row) = rows.next()? {
                visit(IntervalRow {
                    phase: word(row, "phase", Phase::parse)?,
                    start_offset_ns: row.get("start_offset_ns")?,
                    end_offset_ns: row.get("end_offset_ns")?,
                    transaction: row.get("transaction_type")?,
                    committed: row.get("committed")?,
                    rolled_back: row.get("rolled_back")?,
                    deadlocks: row.get("deadlocks")?,
                    lock_wait_timeouts: row.get("lock_wait_timeouts")?,
                    other_retries: row.get("other_retries")?,
                    errors: row.get("errors")?,
                    latency: histogram_at(row, "latency_histogram_ns", &mut codec)?,
                    latency_sum_ns: row.get("latency_sum_ns")?,
                    latency_max_ns: row.get("latency_max_ns")?,
                    latency_out_of_bounds: row.get("latency_out_of_bounds")?,
                });
            }
            Ok(())
        };
        run().map_err(|cause| self.sql(cause))
    }

    /// How many intervals a repeat has, each with a row for each transaction type.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn interval_count(&self, repeat: RepeatId) -> Result<u64, StoreError> {
        self.one(
            "repeat",
            repeat.0,
            "SELECT count(DISTINCT start_offset_ns) FROM interval WHERE repeat_id = ?1",
            |row| row.get(0),
        )
    }

    /// Failed tries of a repeat, most frequent first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn failures(&self, repeat: RepeatId) -> Result<Vec<Failure>, StoreError> {
        self.all(
            "SELECT * FROM failure WHERE repeat_id = ?1 ORDER BY occurrences DESC, transaction_type, error_code",
            params![repeat.0],
            |row| {
                Ok(Failure {
                    transaction: row.get("transaction_type")?,
                    error_code: row.get("error_code")?,
                    occurrences: row.get("occurrences")?,
                    first_message: row.get("first_message")?,
                })
            },
        )
    }

    /// Clause-5 counters of a repeat, in the order that they were given in.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn inputs(&self, repeat: RepeatId) -> Result<Vec<InputCounter>, StoreError> {
        self.all(
            "SELECT * FROM input_counter WHERE repeat_id = ?1 ORDER BY ordinal",
            params![repeat.0],
            |row| {
                Ok(InputCounter {
                    name: row.get("name")?,
                    title: row.get("title")?,
                    unit: word(row, "unit", CounterUnit::parse)?,
                    hits: row.get("hits")?,
                    trials: row.get("trials")?,
                    value: row.get("value")?,
                    allowed: band(row, "allowed")?,
                    chance: band(row, "chance")?,
                    verdict: word(row, "verdict", Verdict::parse)?,
                })
            },
        )
    }

    /// Check results on one thing, in the order that they were given in.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn checks(&self, on: CheckedOn) -> Result<Vec<CheckResult>, StoreError> {
        let (column, id) = match on {
            CheckedOn::Lab(id) => ("lab_id", id.0),
            CheckedOn::Repeat(id) => ("repeat_id", id.0),
            CheckedOn::Load(id) => ("load_id", id.0),
        };
        self.all(
            &format!("SELECT * FROM check_result WHERE {column} = ?1 ORDER BY id"),
            params![id],
            |row| {
                Ok(CheckResult {
                    name: row.get("name")?,
                    title: row.get("title")?,
                    clause: row.get("clause")?,
                    passed: row.get("passed")?,
                    offending_rows: row.get("offending_rows")?,
                    examples_json: row.get("examples_json")?,
                    duration_ns: row.get("duration_ns")?,
                })
            },
        )
    }

    /// Notes on a lab or a repeat.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn notes(&self, on: NoteOn) -> Result<Vec<String>, StoreError> {
        let (column, id) = match on {
            NoteOn::Lab(id) => ("lab_id", id.0),
            NoteOn::Repeat(id) => ("repeat_id", id.0),
        };
        self.all(
            &format!("SELECT note FROM note WHERE {column} = ?1 ORDER BY id"),
            params![id],
            |row| row.get(0),
        )
    }

    /// All populations.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn loads(&self) -> Result<Vec<(LoadId, Load)>, StoreError> {
        let mut loads = self.all("SELECT * FROM load ORDER BY id", [], read_load)?;
        for (id, load) in &mut loads {
            load.tables = self.all(
                "SELECT * FROM load_table WHERE load_id = ?1 ORDER BY ordinal",
                [&id.0 as &dyn ToSql],
                |row| {
                    Ok(LoadTable {
                        name: row.get("table_name")?,
                        rows: row.get("table_rows")?,
                        checksum: row.get("checksum")?,
                    })
                },
            )?;
        }
        Ok(loads)
    }
}

fn read_lab(row: &Row<'_>) -> rusqlite::Result<Lab> {
    Ok(Lab {
        id: LabId(row.get("id")?),
        name: row.get("name")?,
        plan: row.get("plan")?,
        command_line: row.get("command_line")?,
        mydyno_version: row.get("mydyno_version")?,
        status: word(row, "status", LabStatus::parse)?,
        reason: row.get("reason")?,
        started_utc_ns: row.get("started_utc_ns")?,
        finished_utc_ns: row.get("finished_utc_ns")?,
    })
}

fn read_cell(row: &Row<'_>) -> rusqlite::Result<Cell> {
    Ok(Cell {
        id: CellId(row.get("id")?),
        lab: LabId(row.get("lab_id")?),
        what: NewCell {
            ordinal: row.get("ordinal")?,
            engine: row.get("engine")?,
            server_version: row.get("server_version")?,
            flavour: row.get("flavour")?,
            transport: row.get("transport")?,
            target: row.get("target")?,
            workload: row.get("workload")?,
            style: row.get("style")?,
            warehouses: row.get("warehouses")?,
            connections: row.get("connections")?,
            home: row.get("home")?,
            foreign_keys: row.get("foreign_keys")?,
            partitions: row.get("partitions")?,
            history_key: row.get("history_key")?,
            isolation: row.get("isolation")?,
            warmup_ns: row.get("warmup_ns")?,
            window_ns: row.get("window_ns")?,
            interval_ns: row.get("interval_ns")?,
            warmup_auto: row.get("warmup_auto")?,
            window_auto: row.get("window_auto")?,
            precision_share: row.get("precision_share")?,
            seed: row.get::<_, i64>("seed")?.cast_unsigned(),
            schemas: row.get("schemas")?,
            instances: row.get("instances")?,
            result_metadata: row.get("result_metadata")?,
            terminals: row.get("terminals")?,
            inactive_warehouses: row.get("inactive_warehouses")?,
            rate_asked: row.get("rate_asked")?,
            arrivals: row.get("arrivals")?,
            places: Vec::new(),
            settings: Vec::new(),
            preset: None,
        },
    })
}

pub(crate) fn read_repeat(row: &Row<'_>) -> rusqlite::Result<Repeat> {
    let measured: Option<u64> = row.get("measured_window_ns")?;
    let result = match measured {
        None => None,
        Some(measured_window_ns) => Some(RepeatResult {
            window_started_utc_ns: row.get("window_started_utc_ns")?,
            window_ended_utc_ns: row.get("window_ended_utc_ns")?,
            warmup_measured_ns: row.get("warmup_measured_ns")?,
            warmup_steady: row.get("warmup_steady")?,
            measured_window_ns,
            window_precision_share: row.get("window_precision_share")?,
            interrupted: row.get("interrupted")?,
            client_cpu_ns: row.get("client_cpu_ns")?,
            client_peak_rss_bytes: row.get("client_peak_rss_bytes")?,
            statements: row.get("statements")?,
            committed_new_orders: row.get("committed_new_orders")?,
            in_doubt_new_orders: row.get("in_doubt_new_orders")?,
            district_next_o_id_sum_before: row.get("district_next_o_id_sum_before")?,
            district_next_o_id_sum_after: row.get("district_next_o_id_sum_after")?,
            reconnects: row.get("reconnects")?,
            capacity_per_s: row.get("capacity_per_s")?,
            capacity_precision_share: row.get("capacity_precision_share")?,
            rate_per_s: row.get("rate_per_s")?,
            ceiling_nopm: row.get("ceiling_nopm")?,
            ceiling_deviation_nopm: row.get("ceiling_deviation_nopm")?,
            new_orders_within_window: row.get("new_orders_within_window")?,
            pending_deliveries: row.get("pending_deliveries")?,
            efficiency: row.get("efficiency")?,
        }),
    };
    let ordinal = row.get("ordinal")?;
    let block: Option<u32> = row.get("block")?;
    Ok(Repeat {
        id: RepeatId(row.get("id")?),
        cell: CellId(row.get("cell_id")?),
        ordinal,
        attempt: row.get("attempt")?,
        block: block.unwrap_or(ordinal),
        status: word(row, "status", RepeatStatus::parse)?,
        reason_code: row.get("reason_code")?,
        reason: row.get("reason")?,
        started_utc_ns: row.get("started_utc_ns")?,
        finished_utc_ns: row.get("finished_utc_ns")?,
        result,
        new_orders_left_out: row.get("new_orders_left_out")?,
        my_cnf: row.get("my_cnf")?,
        log_tail: row.get("log_tail")?,
        seed: row.get::<_, Option<i64>>("seed")?.map(i64::cast_unsigned),
        driver_threads: row.get("driver_threads")?,
    })
}

fn read_load(row: &Row<'_>) -> rusqlite::Result<(LoadId, Load)> {
    Ok((
        LoadId(row.get("id")?),
        Load {
            lab: row.get::<_, Option<i64>>("lab_id")?.map(LabId),
            target: row.get("target")?,
            engine: row.get("engine")?,
            server_version: row.get("server_version")?,
            warehouses: row.get("warehouses")?,
            seed: row.get::<_, i64>("seed")?.cast_unsigned(),
            threads: row.get("threads")?,
            method: word(row, "method", LoadMethod::parse)?,
            foreign_keys: row.get("foreign_keys")?,
            partitions: row.get("partitions")?,
            history_key: row.get("history_key")?,
            started_utc_ns: row.get("started_utc_ns")?,
            finished_utc_ns: row.get("finished_utc_ns")?,
            duration_ns: row.get("duration_ns")?,
            total_bytes: row.get("total_bytes")?,
            client_cpu_ns: row.get("client_cpu_ns")?,
            client_peak_rss_bytes: row.get("client_peak_rss_bytes")?,
            tables: Vec::new(),
        },
    ))
}
