//! Reading: rows as they are stored, oldest first.

use crate::row::{Keys, Owner, Stored, TableRow, get};
use crate::rows::*;
use crate::totals::{TimeTotals, WindowTotals};
use crate::values::*;
use crate::{Results, StoreError, StoreResult};
use rusqlite::types::FromSql;
use rusqlite::{Params, Row};
use std::collections::BTreeMap;

/// Times of the window by kind and transaction type; the type is empty where they are of all types.
pub type WindowTimes = BTreeMap<(TimeKind, String), TimeTotals>;

impl Results {
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> StoreResult<Vec<T>> {
        let run = || -> rusqlite::Result<Vec<T>> {
            self.connection.prepare_cached(sql)?.query_map(params, map)?.collect()
        };
        run().map_err(|cause| self.sql(cause))
    }

    pub(crate) fn rows<T: Stored>(&self, sql: &str, params: impl Params) -> StoreResult<Vec<T>> {
        self.all(sql, params, |row| T::get(row, ""))
    }

    /// Rows of two columns.
    pub(crate) fn pairs<A: FromSql, B: FromSql>(
        &self,
        sql: &str,
        params: impl Params,
    ) -> StoreResult<Vec<(A, B)>> {
        self.all(sql, params, |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// The rows of a table that belong to a lab, a cell, a repeat or a load, in their order.
    pub fn get<T: TableRow>(&self, owner: impl Owner) -> StoreResult<Vec<T>> {
        let (column, id) = owner.key();
        get(&self.connection, &[(column, &id)]).map_err(|cause| self.sql(cause))
    }

    /// The row of a table with this key.
    fn one<T: Stored>(&self, table: &'static str, id: i64) -> StoreResult<T> {
        let sql = format!("SELECT * FROM {table} WHERE id = ?1");
        self.rows(&sql, [id])?.pop().ok_or_else(|| StoreError::NotFound {
            path: self.path.clone(),
            what: table,
            id,
        })
    }

    /// All labs.
    pub fn labs(&self) -> StoreResult<Vec<Lab>> {
        self.rows("SELECT * FROM lab ORDER BY id", [])
    }

    /// What the cells of each lab are, by lab; none of a lab without cells.
    pub fn lab_facts(&self) -> StoreResult<BTreeMap<LabId, LabFacts>> {
        let sql = "SELECT lab_id, count(DISTINCT cell.id) AS cells, \
                   group_concat(DISTINCT engine) AS engines, \
                   group_concat(DISTINCT workload) AS workloads, \
                   group_concat(DISTINCT name) AS presets, \
                   group_concat(DISTINCT device) AS devices, min(connections), max(connections), \
                   min(warehouses), max(warehouses) \
                   FROM cell LEFT JOIN cell_preset AS preset ON preset.cell_id = cell.id \
                   LEFT JOIN cell_place AS place ON place.cell_id = cell.id AND role = 'data' \
                   GROUP BY lab_id";
        let text = |row: &Row<'_>, column: &str| -> rusqlite::Result<String> {
            Ok(row.get::<_, Option<String>>(column)?.unwrap_or_default().replace(',', ", "))
        };
        let facts = |row: &Row<'_>| {
            let facts = LabFacts {
                cells: row.get("cells")?,
                engines: text(row, "engines")?,
                workloads: text(row, "workloads")?,
                presets: text(row, "presets")?,
                devices: text(row, "devices")?,
                connections: [row.get(6)?, row.get(7)?],
                warehouses: [row.get(8)?, row.get(9)?],
            };
            Ok((LabId(row.get(0)?), facts))
        };
        Ok(self.all(sql, [], facts)?.into_iter().collect())
    }

    /// Changes whenever another process, or another opening of the file, has written to it.
    pub fn data_version(&self) -> StoreResult<i64> {
        let found = self.all("PRAGMA data_version", [], |row| row.get(0))?;
        Ok(found.first().copied().unwrap_or_default())
    }

    /// One lab.
    pub fn lab(&self, id: LabId) -> StoreResult<Lab> {
        self.one("lab", id.0)
    }

    /// Cells of a lab in the order of its plan.
    pub fn cells(&self, lab: LabId) -> StoreResult<Vec<StoredCell>> {
        let sql = "SELECT * FROM cell WHERE lab_id = ?1 ORDER BY ordinal";
        let cells = self.rows(sql, [lab])?.into_iter();
        cells.map(|cell| self.with_details(cell)).collect()
    }

    /// One cell.
    pub fn cell(&self, id: CellId) -> StoreResult<StoredCell> {
        self.with_details(self.one("cell", id.0)?)
    }

    /// The cell of a lab with this place in it, where there is one.
    pub(crate) fn cell_at(&self, lab: LabId, ordinal: u32) -> StoreResult<Option<StoredCell>> {
        let sql = "SELECT * FROM cell WHERE lab_id = ?1 AND ordinal = ?2";
        let found = self.rows(sql, (lab, ordinal))?.pop();
        found.map(|cell| self.with_details(cell)).transpose()
    }

    fn with_details(&self, mut cell: StoredCell) -> StoreResult<StoredCell> {
        let sql = "SELECT name, value FROM cell_setting WHERE cell_id = ?1 ORDER BY name";
        cell.what.settings = self.pairs(sql, [cell.id])?;
        cell.what.places = self.get(cell.id)?;
        cell.what.places.sort_by_key(|place| rank(&place.role));
        cell.what.transactions = self.get(cell.id)?;
        cell.what.preset = self.get(cell.id)?.pop();
        if let Some(preset) = &mut cell.what.preset {
            preset.variables = self.get(cell.id)?;
        }
        Ok(cell)
    }

    /// The types of transactions of a repeat's workload, in the workload's order.
    pub fn transactions(&self, repeat: RepeatId) -> StoreResult<Vec<CellTransaction>> {
        self.get(self.repeat(repeat)?.cell)
    }

    /// Repeats of a cell that count: the last attempt of each ordinal.
    pub fn repeats(&self, cell: CellId) -> StoreResult<Vec<Repeat>> {
        let sql = "SELECT * FROM repeat AS r WHERE cell_id = ?1 AND attempt = \
                   (SELECT max(attempt) FROM repeat WHERE cell_id = r.cell_id \
                   AND ordinal = r.ordinal) ORDER BY ordinal";
        self.rows(sql, [cell])
    }

    /// All attempts of all repeats of a cell.
    pub fn attempts(&self, cell: CellId) -> StoreResult<Vec<Repeat>> {
        let sql = "SELECT * FROM repeat WHERE cell_id = ?1 ORDER BY ordinal, attempt";
        self.rows(sql, [cell])
    }

    /// One repeat.
    pub fn repeat(&self, id: RepeatId) -> StoreResult<Repeat> {
        self.one("repeat", id.0)
    }

    /// The repeats that a cell's numbers are of: measured over their whole windows, and not once
    /// more on the server of the same ramp. Where there are none, those that the user ended early,
    /// if the cell is alone in its lab: there are no neighbours that its numbers are held against.
    pub fn counted_repeats(&self, cell: &StoredCell) -> StoreResult<Vec<RepeatId>> {
        let again = self.measured_again(cell.id)?;
        let mut repeats = self.repeats(cell.id)?;
        repeats.retain(|repeat| !again.contains(&repeat.id));
        let ids = |counts: fn(&Repeat) -> bool| -> Vec<RepeatId> {
            repeats.iter().filter(|repeat| counts(repeat)).map(|repeat| repeat.id).collect()
        };
        let whole = ids(Repeat::is_whole);
        let cells = "SELECT count(*) FROM cell WHERE lab_id = ?1";
        if !whole.is_empty() || self.all(cells, [cell.lab], |row| row.get::<_, i64>(0))? != [1] {
            return Ok(whole);
        }
        Ok(ids(|repeat| repeat.status == RepeatStatus::Done))
    }

    /// Has a repeat given a result, or failed by itself, so that it need not be measured again?
    pub fn has_ended(&self, repeat: &Repeat) -> StoreResult<bool> {
        Ok(match repeat.status {
            RepeatStatus::Running => false,
            RepeatStatus::Done => repeat.is_whole() && self.is_proven(repeat.id)?,
            // What was only interrupted is measured again.
            RepeatStatus::Failed | RepeatStatus::Skipped => repeat.own_failure().is_some(),
        })
    }

    /// Was a repeat that is done checked, or is it a drill, whose server may not have come back?
    /// Without that it proves nothing, and its server is gone.
    pub fn is_proven(&self, repeat: RepeatId) -> StoreResult<bool> {
        let is_checked = !self.get::<StoredCheck>(repeat)?.is_empty();
        Ok(is_checked || !self.get::<StoredDrill>(repeat)?.is_empty())
    }

    /// Which process began a lab or a repeat, and when: `boot id:process id:start time`.
    pub(crate) fn process_of(&self, table: &str, id: i64) -> StoreResult<String> {
        let sql = format!("SELECT process FROM {table} WHERE id = ?1");
        Ok(self.all(&sql, [id], |row| row.get(0))?.pop().unwrap_or_default())
    }

    /// Server variables of a repeat, by name.
    pub fn variables(&self, repeat: RepeatId, moment: Moment) -> StoreResult<NamedTexts> {
        self.told("server_variable", repeat, moment)
    }

    /// The server's status before the warm-up or after the window, by name.
    pub fn status(&self, repeat: RepeatId, moment: Moment) -> StoreResult<NamedTexts> {
        self.told("server_status", repeat, moment)
    }

    fn told(&self, table: &str, repeat: RepeatId, moment: Moment) -> StoreResult<NamedTexts> {
        let sql = format!(
            "SELECT name, value FROM {table} WHERE repeat_id = ?1 AND phase = ?2 ORDER BY name"
        );
        self.pairs(&sql, (repeat, moment))
    }

    /// Hands each interval of a repeat to `visit` in the order of time, with its histogram decoded.
    /// One is in memory at a time: a run of hours has tens of thousands.
    pub fn for_each_interval(
        &self,
        repeat: RepeatId,
        mut visit: impl FnMut(IntervalRow),
    ) -> StoreResult<()> {
        let sql = "SELECT * FROM interval WHERE repeat_id = ?1 ORDER BY start_offset_ns, id";
        let visited = self.all(sql, [repeat], |row| {
            let row = IntervalRow::get(row, "")?;
            // Of a file that was changed by others: whoever subtracts rests on this.
            if row.end_offset_ns < row.start_offset_ns {
                let end_ns = row.end_offset_ns as i64;
                return Err(rusqlite::Error::IntegralValueOutOfRange(4, end_ns));
            }
            visit(row);
            Ok(())
        });
        visited.map(drop)
    }

    /// How many intervals a repeat has, each with a row for each transaction type.
    pub fn interval_count(&self, repeat: RepeatId) -> StoreResult<u64> {
        let sql = "SELECT count(DISTINCT start_offset_ns) FROM interval WHERE repeat_id = ?1";
        let counts = self.all(sql, [repeat], |row| row.get(0))?;
        Ok(counts.first().copied().unwrap_or(0))
    }

    /// What the storage did in the window; `None` where nobody counted.
    pub fn device_io(&self, repeat: RepeatId) -> StoreResult<Option<DeviceIo>> {
        let Some(shim) = self.get(repeat)?.pop() else {
            return Ok(None);
        };
        let mut roles: Vec<RoleIo> = self.get(repeat)?;
        for role in &mut roles {
            let key: Keys<'_> = &[("repeat_id", &repeat), ("role", &role.role)];
            role.requests = get(&self.connection, key).map_err(|cause| self.sql(cause))?;
            role.requests.sort_by_key(|request| request.kind);
        }
        roles.sort_by_key(|role| rank(&role.role));
        Ok(Some(DeviceIo { shim, roles }))
    }

    /// Totals of a window to which no interval is added yet.
    pub fn no_window_totals(&self, repeat: RepeatId) -> StoreResult<WindowTotals> {
        let mut totals = WindowTotals::of_types(self.transactions(repeat)?);
        for row in self.get::<InFlight>(repeat)? {
            totals.add_in_flight(&row.transaction, &row.ages);
        }
        Ok(totals)
    }

    /// The schedule's counts over the window; `None` where the repeat had no schedule.
    pub fn window_schedule(&self, repeat: RepeatId) -> StoreResult<Option<ScheduleCounts>> {
        let sql = "SELECT sum(offered) AS offered, sum(late) AS late, sum(skipped) AS skipped \
                   FROM interval_schedule WHERE repeat_id = ?1 AND phase = 'window' \
                   HAVING count(*) > 0";
        Ok(self.rows(sql, [repeat])?.pop())
    }

    /// Times of the window, added up.
    pub fn window_times(&self, repeat: RepeatId) -> StoreResult<WindowTimes> {
        let sql = "SELECT * FROM interval_time WHERE repeat_id = ?1 AND phase = 'window'";
        let mut totals = WindowTimes::new();
        self.all(sql, [repeat], |row| {
            let row = TimeRow::get(row, "")?;
            let key = (row.kind, row.transaction.unwrap_or_default());
            totals.entry(key).or_default().add(&row.times);
            Ok(())
        })?;
        Ok(totals)
    }

    /// The throughput of each of several servers; none where there was one, or where the
    /// repeat has no numbers to show.
    pub fn throughput_by_instance(&self, repeat: &Repeat) -> StoreResult<Vec<f64>> {
        let (RepeatStatus::Done, Some(result)) = (repeat.status, &repeat.result) else {
            return Ok(Vec::new());
        };
        let window_ns = result.measured_window_ns.max(1) as f64;
        let per_minute = |transactions: u64| transactions as f64 * 60e9 / window_ns;
        let each = self.get::<InstanceResult>(repeat.id)?.into_iter();
        Ok(each.map(|of| per_minute(of.primary_transactions)).collect())
    }

    /// Notes on a lab or a repeat.
    pub fn notes(&self, on: impl Owner) -> StoreResult<Vec<String>> {
        let (column, id) = on.key();
        let sql = format!("SELECT note FROM note WHERE {column} = ?1 ORDER BY id");
        self.all(&sql, [id], |row| row.get(0))
    }

    /// All populations.
    pub fn loads(&self) -> StoreResult<Vec<(LoadId, StoredLoad)>> {
        let mut loads = self.all("SELECT * FROM load ORDER BY id", [], |row| {
            Ok((row.get("id")?, StoredLoad::get(row, "")?))
        })?;
        for (id, load) in &mut loads {
            load.tables = self.get(*id)?;
        }
        Ok(loads)
    }
}
