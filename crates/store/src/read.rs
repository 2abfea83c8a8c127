//! Reading: rows as they are stored, oldest first.

use crate::ids::{CellId, LabId, LoadId, RepeatId};
use crate::repeats::{InputCounter, IntervalRow, Moment, Repeat, RepeatStatus, StoredFailure};
use crate::row::Stored;
use crate::types::{CheckedOn, Lab, LabEngines, NoteOn, StoredCell, StoredCheck, StoredLoad};
use crate::{Results, StoreError};
use rusqlite::types::FromSql;
use rusqlite::{Params, Row};

impl Results {
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let run = || -> rusqlite::Result<Vec<T>> {
            self.connection.prepare_cached(sql)?.query_map(params, map)?.collect()
        };
        run().map_err(|cause| self.sql(cause))
    }

    pub(crate) fn rows<T: Stored>(
        &self,
        sql: &str,
        params: impl Params,
    ) -> Result<Vec<T>, StoreError> {
        self.all(sql, params, |row| T::get(row, ""))
    }

    /// Rows of two columns.
    pub(crate) fn pairs<A: FromSql, B: FromSql>(
        &self,
        sql: &str,
        params: impl Params,
    ) -> Result<Vec<(A, B)>, StoreError> {
        self.all(sql, params, |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// The row of a table with this key.
    fn one<T: Stored>(&self, table: &'static str, id: i64) -> Result<T, StoreError> {
        let sql = format!("SELECT * FROM {table} WHERE id = ?1");
        self.rows(&sql, [id])?.pop().ok_or_else(|| StoreError::NotFound {
            path: self.path.clone(),
            what: table,
            id,
        })
    }

    /// All labs.
    pub fn labs(&self) -> Result<Vec<Lab>, StoreError> {
        self.rows("SELECT * FROM lab ORDER BY id", [])
    }

    /// How many cells each lab has, and on which engines, by lab; none of a lab without cells.
    pub fn lab_engines(&self) -> Result<Vec<(LabId, LabEngines)>, StoreError> {
        let sql =
            "SELECT lab_id, count(*), group_concat(DISTINCT engine) FROM cell GROUP BY lab_id";
        self.all(sql, [], |row| {
            let engines = LabEngines { cells: row.get(1)?, engines: row.get(2)? };
            Ok((LabId(row.get(0)?), engines))
        })
    }

    /// Changes whenever another process, or another opening of the file, has written to it.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        let found = self.all("PRAGMA data_version", [], |row| row.get(0))?;
        Ok(found.first().copied().unwrap_or_default())
    }

    /// One lab.
    pub fn lab(&self, id: LabId) -> Result<Lab, StoreError> {
        self.one("lab", id.0)
    }

    /// Cells of a lab in the order of its plan.
    pub fn cells(&self, lab: LabId) -> Result<Vec<StoredCell>, StoreError> {
        let sql = "SELECT * FROM cell WHERE lab_id = ?1 ORDER BY ordinal";
        let cells = self.rows(sql, [lab])?.into_iter();
        cells.map(|cell| self.with_details(cell)).collect()
    }

    /// One cell.
    pub fn cell(&self, id: CellId) -> Result<StoredCell, StoreError> {
        self.with_details(self.one("cell", id.0)?)
    }

    /// The cell of a lab with this place in it, where there is one.
    pub(crate) fn cell_at(
        &self,
        lab: LabId,
        ordinal: u32,
    ) -> Result<Option<StoredCell>, StoreError> {
        let sql = "SELECT * FROM cell WHERE lab_id = ?1 AND ordinal = ?2";
        let found = self.rows(sql, (lab, ordinal))?.pop();
        found.map(|cell| self.with_details(cell)).transpose()
    }

    fn with_details(&self, mut cell: StoredCell) -> Result<StoredCell, StoreError> {
        let sql = "SELECT name, value FROM cell_setting WHERE cell_id = ?1 ORDER BY name";
        cell.what.settings = self.pairs(sql, [cell.id])?;
        cell.what.places = self.places(cell.id)?;
        cell.what.transactions = self.transactions_of_cell(cell.id)?;
        cell.what.preset = self.preset(cell.id)?;
        Ok(cell)
    }

    /// Repeats of a cell that count: the last attempt of each ordinal.
    pub fn repeats(&self, cell: CellId) -> Result<Vec<Repeat>, StoreError> {
        let sql = "SELECT * FROM repeat AS r WHERE cell_id = ?1 AND attempt = \
                   (SELECT max(attempt) FROM repeat WHERE cell_id = r.cell_id \
                   AND ordinal = r.ordinal) ORDER BY ordinal";
        self.rows(sql, [cell])
    }

    /// All attempts of all repeats of a cell.
    pub fn attempts(&self, cell: CellId) -> Result<Vec<Repeat>, StoreError> {
        let sql = "SELECT * FROM repeat WHERE cell_id = ?1 ORDER BY ordinal, attempt";
        self.rows(sql, [cell])
    }

    /// One repeat.
    pub fn repeat(&self, id: RepeatId) -> Result<Repeat, StoreError> {
        self.one("repeat", id.0)
    }

    /// Has a repeat given a result, or failed by itself, so that it need not be measured again?
    pub fn has_ended(&self, repeat: &Repeat) -> Result<bool, StoreError> {
        Ok(match repeat.status {
            RepeatStatus::Running => false,
            RepeatStatus::Done => repeat.is_whole() && self.is_proven(repeat.id)?,
            // What was only interrupted is measured again.
            RepeatStatus::Failed | RepeatStatus::Skipped => repeat.own_failure().is_some(),
        })
    }

    /// Was a repeat that is done checked, or is it a drill, whose server may not have come back?
    /// Without that it proves nothing, and its server is gone.
    pub fn is_proven(&self, repeat: RepeatId) -> Result<bool, StoreError> {
        let is_checked = !self.checks(CheckedOn::Repeat(repeat))?.is_empty();
        Ok(is_checked || self.drill(repeat)?.is_some())
    }

    /// Which process began a lab or a repeat, and when: `boot id:process id:start time`.
    pub(crate) fn process_of(&self, table: &str, id: i64) -> Result<String, StoreError> {
        let sql = format!("SELECT process FROM {table} WHERE id = ?1");
        Ok(self.all(&sql, [id], |row| row.get(0))?.pop().unwrap_or_default())
    }

    /// Server variables of a repeat, by name.
    pub fn variables(
        &self,
        repeat: RepeatId,
        moment: Moment,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let sql = "SELECT name, value FROM server_variable WHERE repeat_id = ?1 AND phase = ?2 \
                   ORDER BY name";
        self.pairs(sql, (repeat, moment))
    }

    /// Hands each interval of a repeat to `visit` in the order of time, with its histogram decoded.
    /// One is in memory at a time: a run of hours has tens of thousands.
    pub fn for_each_interval(
        &self,
        repeat: RepeatId,
        mut visit: impl FnMut(IntervalRow),
    ) -> Result<(), StoreError> {
        let mut run = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare_cached(
                "SELECT * FROM interval WHERE repeat_id = ?1 ORDER BY start_offset_ns, id",
            )?;
            let mut rows = statement.query([repeat])?;
            while let Some(row) = rows.next()? {
                let row = IntervalRow::get(row, "")?;
                // Of a file that was changed by others: whoever subtracts rests on this.
                if row.end_offset_ns < row.start_offset_ns {
                    return Err(rusqlite::Error::IntegralValueOutOfRange(
                        4,
                        row.end_offset_ns as i64,
                    ));
                }
                visit(row);
            }
            Ok(())
        };
        run().map_err(|cause| self.sql(cause))
    }

    /// How many intervals a repeat has, each with a row for each transaction type.
    pub fn interval_count(&self, repeat: RepeatId) -> Result<u64, StoreError> {
        let sql = "SELECT count(DISTINCT start_offset_ns) FROM interval WHERE repeat_id = ?1";
        let counts = self.all(sql, [repeat], |row| row.get(0))?;
        Ok(counts.first().copied().unwrap_or(0))
    }

    /// Failed tries of a repeat, most frequent first.
    pub fn failures(&self, repeat: RepeatId) -> Result<Vec<StoredFailure>, StoreError> {
        let sql = "SELECT * FROM failure WHERE repeat_id = ?1 \
                   ORDER BY occurrences DESC, transaction_type, error_code";
        self.rows(sql, [repeat])
    }

    /// Clause-5 counters of a repeat, in the order that they were given in.
    pub fn inputs(&self, repeat: RepeatId) -> Result<Vec<InputCounter>, StoreError> {
        let sql = "SELECT * FROM input_counter WHERE repeat_id = ?1 ORDER BY ordinal";
        self.rows(sql, [repeat])
    }

    /// Check results on one thing, in the order that they were given in.
    pub fn checks(&self, on: CheckedOn) -> Result<Vec<StoredCheck>, StoreError> {
        let (column, id) = on.key();
        let sql = format!("SELECT * FROM check_result WHERE {column} = ?1 ORDER BY id");
        self.rows(&sql, [id])
    }

    /// Notes on a lab or a repeat.
    pub fn notes(&self, on: NoteOn) -> Result<Vec<String>, StoreError> {
        let (column, id) = on.key();
        let sql = format!("SELECT note FROM note WHERE {column} = ?1 ORDER BY id");
        self.all(&sql, [id], |row| row.get(0))
    }

    /// All populations.
    pub fn loads(&self) -> Result<Vec<(LoadId, StoredLoad)>, StoreError> {
        let mut loads = self.all("SELECT * FROM load ORDER BY id", [], |row| {
            Ok((row.get("id")?, StoredLoad::get(row, "")?))
        })?;
        for (id, load) in &mut loads {
            let sql = "SELECT * FROM load_table WHERE load_id = ?1 ORDER BY ordinal";
            load.tables = self.rows(sql, [*id])?;
        }
        Ok(loads)
    }
}
