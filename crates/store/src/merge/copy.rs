//! One results file added to another: rows get new keys, and what is there already is left alone.
//!
//! A few tables have rows that two files may share, and a rule by which these are known: labs,
//! machines, blocks, cells, ramps, repeats and loads. The rows of every other table belong to one
//! of them, and go with it.

use super::error::{MergeError, MergeResult};
use super::schema::SchemaTable;
use crate::machines::number_of;
use crate::row::{put, row};
use crate::rows::{Block, Lab, StoredCell, StoredLoad, StoredRamp};
use crate::values::{CellId, LabId, LoadId, RampId};
use crate::{Results, StoreError, StoreResult};
use base::Exit;
use rusqlite::Params;
use std::collections::{BTreeMap, HashMap};
use std::path::{Display, PathBuf};

/// Tables whose rows are known by rules of their own.
const BY_RULE: [&str; 7] = ["lab", "host_fact", "block", "cell", "ramp", "repeat", "load"];

/// How many repeats a file brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MergedRepeats {
    #[serde(rename = "repeats_added")]
    pub added: usize,
    /// Those that the output had already.
    #[serde(rename = "repeats_there")]
    pub there: usize,
}

/// Which file brought a repeat of the output, where it was not there before.
pub(super) type Origins = HashMap<i64, PathBuf>;

/// Adds a source, which the connection of the output has as `source`, to it. What became of each
/// row that others belong to is in the table `mapped`: its key in the source and in the output, and
/// whether it is new there.
pub(super) struct Copier<'a> {
    pub(super) source: &'a Results,
    pub(super) out: &'a Results,
    pub(super) tables: &'a [SchemaTable],
    pub(super) origins: &'a mut Origins,
    pub(super) repeats: MergedRepeats,
}

/// One lab of the source and what it became.
struct LabPair {
    from: LabId,
    to: LabId,
    is_new: bool,
    /// Numbers in the output, by those in the source.
    blocks: HashMap<u32, u32>,
}

row! {
    /// One attempt of a repeat.
    pub struct StoredAttempt {
        pub id: i64,
        pub ordinal: u32,
        pub attempt: u32,
        pub block: u32,
        /// With the process that measured it, this tells it from all others.
        pub started_utc_ns: i64,
        pub process: String,
    }
}

impl Copier<'_> {
    /// Adds everything.
    pub(super) fn copy(&mut self) -> MergeResult<()> {
        for lab in self.source.labs()? {
            let mut pair = self.lab(&lab)?;
            self.blocks(&mut pair)?;
            for ramp in self.source.ramps(pair.from)? {
                self.ramp(&pair, &ramp)?;
            }
            for cell in self.source.cells(pair.from)? {
                self.cell(&pair, &cell)?;
            }
        }
        for (id, load) in self.source.loads()? {
            self.load(id, &load)?;
        }
        for table in self.tables.iter().filter(|of| !BY_RULE.contains(&of.name.as_str())) {
            self.rows_of(table)?;
        }
        Ok(())
    }

    fn write(&self, sql: &str, values: impl Params) -> StoreResult<()> {
        let written = self.out.connection.prepare_cached(sql).and_then(|mut of| of.execute(values));
        written.map(drop).map_err(|cause| self.out.sql(cause))
    }

    fn remember(&self, name: &str, (old, new): (i64, i64), is_new: bool) -> StoreResult<()> {
        self.write("INSERT INTO temp.mapped VALUES (?1, ?2, ?3, ?4)", (name, old, new, is_new))
    }

    /// Writes the row with this key, with other values in these columns; `write` begins the
    /// statement of its columns and values.
    fn copy_row(
        &self,
        (name, id): (&str, i64),
        others: &[(&str, i64)],
        write: impl Fn(&str, &str) -> String,
    ) -> StoreResult<()> {
        let found = self.tables.iter().filter(|table| table.name == name);
        let columns = found.flat_map(|table| &table.columns).filter(|column| *column != "id");
        let columns: Vec<&str> = columns.map(String::as_str).collect();
        let value = |column: &&str| {
            let other = others.iter().find(|(name, _)| name == column);
            other.map_or_else(|| (*column).to_owned(), |(_, value)| value.to_string())
        };
        let values: Vec<String> = columns.iter().map(value).collect();
        let values = format!("SELECT {} FROM source.{name} WHERE id = {id}", values.join(", "));
        self.write(&write(&columns.join(", "), &values), [])
    }

    /// Adds the row with this key, with other values in these columns.
    fn add(&self, name: &str, id: i64, others: &[(&str, i64)]) -> StoreResult<i64> {
        self.copy_row((name, id), others, |columns, values| {
            format!("INSERT INTO main.{name} ({columns}) {values}")
        })?;
        let key = self.out.connection.last_insert_rowid();
        self.remember(name, (id, key), true)?;
        Ok(key)
    }

    /// A plan's lab is known by its plan, any other by its process and beginning.
    fn lab(&mut self, lab: &Lab) -> MergeResult<LabPair> {
        let mut there = self.out.labs()?.into_iter();
        let process = self.source.process_of("lab", lab.id.0)?;
        let found = match &lab.plan {
            Some(_) => there.find(|one| one.plan == lab.plan && one.name == lab.name),
            None => there.find(|one| {
                one.started_utc_ns == lab.started_utc_ns
                    && self.out.process_of("lab", one.id.0).is_ok_and(|of| of == process)
            }),
        };
        let pair = |to, is_new| LabPair { from: lab.id, to, is_new, blocks: HashMap::new() };
        let Some(found) = found else {
            return Ok(pair(LabId(self.add("lab", lab.id.0, &[])?), true));
        };
        self.remember("lab", (lab.id.0, found.id.0), false)?;
        self.extend(&found, lab)?;
        Ok(pair(found.id, false))
    }

    /// What a lab in several files has of each.
    fn extend(&self, found: &Lab, lab: &Lab) -> MergeResult<()> {
        let mut commands = found.command_line.clone();
        for line in lab.command_line.lines() {
            if commands.lines().all(|known| known != line) {
                commands = format!("{commands}\n{line}");
            }
        }
        let started = found.started_utc_ns.min(lab.started_utc_ns);
        let finished = found.finished_utc_ns.max(lab.finished_utc_ns);
        let turns = found.turns.or(lab.turns);
        let is_same = (started, finished, turns)
            == (found.started_utc_ns, found.finished_utc_ns, found.turns)
            && commands == found.command_line;
        if is_same {
            return Ok(());
        }
        let sql = "UPDATE lab SET started_utc_ns = ?2, finished_utc_ns = ?3, turns = ?4, \
                   command_line = ?5 WHERE id = ?1";
        Ok(self.write(sql, (found.id, started, finished, turns, commands))?)
    }

    /// Machines are known by what they are, blocks by when they began on which machine.
    fn blocks(&mut self, pair: &mut LabPair) -> MergeResult<()> {
        let mut known = self.out.machines(pair.to)?;
        let mut machines = BTreeMap::new();
        for machine in self.source.machines(pair.from)? {
            let number = number_of(&self.out.connection, pair.to.0, &mut known, &machine.facts)
                .map_err(|cause| self.out.sql(cause))?;
            machines.insert(machine.machine, number);
        }
        let mut there = self.out.get::<Block>(pair.to)?;
        for block in self.source.get::<Block>(pair.from)? {
            let machine = machines.get(&block.machine).copied().unwrap_or(block.machine);
            let is_it =
                |one: &&Block| (one.started_utc_ns, one.machine) == (block.started_utc_ns, machine);
            if let Some(found) = there.iter().find(is_it) {
                pair.blocks.insert(block.block, found.block);
                continue;
            }
            let last = there.iter().map(|block| block.block).max().unwrap_or(0);
            let number = if pair.is_new { block.block } else { last + 1 };
            let new = Block { block: number, machine, ..block };
            put(&self.out.connection, &[("lab_id", &pair.to)], &[new])
                .map_err(|cause| self.out.sql(cause))?;
            pair.blocks.insert(block.block, number);
            there.push(new);
        }
        Ok(())
    }

    /// A ramp is known by its cell of the plan and its repeat. Two of one place have to be the
    /// same: they begin with the same point.
    fn ramp(&mut self, pair: &LabPair, ramp: &StoredRamp) -> MergeResult<()> {
        let there = self.out.ramps(pair.to)?;
        let place = |ramp: &StoredRamp| (ramp.what.ordinal, ramp.what.repeat);
        let Some(found) = there.iter().find(|one| place(one) == place(ramp)) else {
            let id = ramp.id.0;
            self.add("ramp", id, &[("lab_id", pair.to.0)])?;
            return Ok(());
        };
        let first_point = |results: &Results, ramp: RampId| {
            let point = results.ramp_points(ramp)?.into_iter().next();
            Ok::<_, StoreError>(point.map(|point| (point.started_utc_ns, point.id)))
        };
        let points = (first_point(self.out, found.id)?, first_point(self.source, ramp.id)?);
        if let (Some((was, id)), Some((is, _))) = points
            && was != is
        {
            return Err(self.measured_twice(id.0, [ramp.what.ordinal, ramp.what.repeat]));
        }
        if found.finished_utc_ns.is_none() && ramp.finished_utc_ns.is_some() {
            let sql = "UPDATE ramp SET finished_utc_ns = ?2 WHERE id = ?1";
            self.write(sql, (found.id, ramp.finished_utc_ns))?;
        }
        Ok(self.remember("ramp", (ramp.id.0, found.id.0), false)?)
    }

    /// The file that brought a repeat of the output.
    fn origin(&self, repeat: i64) -> Display<'_> {
        self.origins.get(&repeat).unwrap_or(&self.out.path).display()
    }

    fn measured_twice(&self, there: i64, [cell, repeat]: [u32; 2]) -> MergeError {
        let (before, file) = (self.origin(there), self.source.path.display());
        let why = format!(
            "cell {cell}, repeat {repeat} was measured twice: in {before} and, with other results, \
             in {file}; leave one of the files out"
        );
        MergeError::refused(Exit::Failed, why)
    }

    /// A cell is known by its place in the plan; one that is a point of ramps has no such place,
    /// and is known by the ramps' place and its connections.
    fn cell(&mut self, pair: &LabPair, cell: &StoredCell) -> MergeResult<()> {
        let ramp = self.ramp_of(cell.id)?;
        let found = match ramp {
            _ if pair.is_new => None,
            Some(ordinal) => {
                let mut points = self.out.ramp_cells(pair.to, ordinal)?.into_iter();
                points.find(|point| point.what.connections == cell.what.connections)
            }
            None => self.out.cell_at(pair.to, cell.what.ordinal)?,
        };
        let has_met_server = |cell: &StoredCell| !cell.what.server_version.is_empty();
        let key = match found {
            None => self.new_cell(pair, cell)?,
            Some(found) => {
                let is_filled_in = has_met_server(cell) && !has_met_server(&found);
                if is_filled_in {
                    self.fill_in_server(pair, cell, &found)?;
                } else if has_met_server(cell) {
                    self.require_same(cell, &found)?;
                }
                self.remember("cell", (cell.id.0, found.id.0), is_filled_in)?;
                found.id.0
            }
        };
        self.repeats(pair, cell, (CellId(key), ramp.is_some()))
    }

    fn new_cell(&mut self, pair: &LabPair, cell: &StoredCell) -> MergeResult<i64> {
        let ordinal = match self.out.cell_at(pair.to, cell.what.ordinal)? {
            None => cell.what.ordinal,
            // Another file gave the number to another point of a ramp, behind the plan's cells.
            Some(_) => {
                let all = self.out.cells(pair.to)?;
                all.last().map_or(0, |last| last.what.ordinal) + 1
            }
        };
        Ok(self.add("cell", cell.id.0, &[("lab_id", pair.to.0), ("ordinal", ordinal.into())])?)
    }

    /// The ordinal of the plan's cell of whose ramps this one is a point.
    fn ramp_of(&self, cell: CellId) -> MergeResult<Option<u32>> {
        let sql = "SELECT a.ordinal FROM repeat AS r JOIN ramp_point AS p ON p.repeat_id = r.id \
                   JOIN ramp AS a ON a.id = p.ramp_id WHERE r.cell_id = ?1 LIMIT 1";
        Ok(self.source.all(sql, [cell], |row| row.get(0))?.pop())
    }

    /// The output has a cell as its plan tells of it; this one has met a server, and says more.
    fn fill_in_server(
        &self,
        pair: &LabPair,
        cell: &StoredCell,
        found: &StoredCell,
    ) -> MergeResult<()> {
        for table in self.tables.iter().filter(|of| of.name.starts_with("cell_")) {
            let sql = format!("DELETE FROM main.{} WHERE cell_id = ?1", table.name);
            self.write(&sql, [found.id])?;
        }
        let place = [("lab_id", pair.to.0), ("ordinal", found.what.ordinal.into())];
        Ok(self.copy_row(("cell", cell.id.0), &place, |columns, values| {
            format!("UPDATE main.cell SET ({columns}) = ({values}) WHERE id = {}", found.id)
        })?)
    }

    fn require_same(&self, cell: &StoredCell, found: &StoredCell) -> MergeResult<()> {
        let Some([name, was, is]) = found.what.difference(&cell.what) else {
            return Ok(());
        };
        let there = attempts(self.out, found.id)?;
        let before = there.first().map_or(self.out.path.display(), |of| self.origin(of.id));
        let (ordinal, file) = (cell.what.ordinal, self.source.path.display());
        let why = format!(
            "cell {ordinal} has {name} {is} in {file} and {was} in {before}, and a lab is not \
             mixed of two; measure one of them again"
        );
        Err(MergeError::refused(Exit::Failed, why))
    }

    /// A repeat is known by when it began and which process measured it.
    fn repeats(
        &mut self,
        pair: &LabPair,
        cell: &StoredCell,
        (to, is_of_ramps): (CellId, bool),
    ) -> MergeResult<()> {
        let mut there = attempts(self.out, to)?;
        // Points of ramps are counted on as they come.
        let mut ordinals: HashMap<u32, u32> = HashMap::new();
        for attempt in attempts(self.source, cell.id)? {
            let is_it = |one: &&StoredAttempt| {
                (one.started_utc_ns, &one.process) == (attempt.started_utc_ns, &attempt.process)
            };
            if let Some(found) = there.iter().find(is_it) {
                ordinals.insert(attempt.ordinal, found.ordinal);
                self.remember("repeat", (attempt.id, found.id), false)?;
                self.repeats.there += 1;
                continue;
            }
            let block = pair.blocks.get(&attempt.block).copied().unwrap_or(attempt.block);
            let next = there.iter().map(|one| one.ordinal).max().unwrap_or(0) + 1;
            let ordinal = match is_of_ramps && !pair.is_new {
                true => *ordinals.entry(attempt.ordinal).or_insert(next),
                false => attempt.ordinal,
            };
            let place = (ordinal, attempt.attempt);
            if let Some(other) = there.iter().find(|one| (one.ordinal, one.attempt) == place) {
                return Err(self.measured_twice(other.id, [cell.what.ordinal, attempt.ordinal]));
            }
            let others = [("cell_id", to.0), ("ordinal", ordinal.into()), ("block", block.into())];
            let id = self.add("repeat", attempt.id, &others)?;
            self.origins.insert(id, self.source.path.clone());
            self.repeats.added += 1;
            there.push(StoredAttempt { id, ordinal, block, ..attempt });
        }
        Ok(())
    }

    /// A load is known by what it loaded and when.
    fn load(&self, id: LoadId, load: &StoredLoad) -> MergeResult<()> {
        let moment = |load: &StoredLoad| (load.started_utc_ns, load.finished_utc_ns);
        let is_it = |other: &StoredLoad| {
            moment(other) == moment(load)
                && (&other.target, other.duration_ns) == (&load.target, load.duration_ns)
        };
        if let Some((there, _)) = self.out.loads()?.iter().find(|(_, other)| is_it(other)) {
            return Ok(self.remember("load", (id.0, there.0), false)?);
        }
        let sql = "SELECT new FROM temp.mapped WHERE name = 'lab' AND old = ?1";
        let of_lab = self.out.all(sql, [load.lab], |row| row.get(0))?.pop();
        let lab: Vec<_> = of_lab.map(|lab| ("lab_id", lab)).into_iter().collect();
        self.add("load", id.0, &lab)?;
        Ok(())
    }

    /// The rows of a table go with what they belong to.
    fn rows_of(&self, table: &SchemaTable) -> StoreResult<()> {
        let name = &table.name;
        let mut from = format!("FROM source.{name} AS s");
        let mut values: Vec<String> = table.columns.iter().map(|of| format!("s.{of}")).collect();
        let (mut known, mut is_new, mut of_lab) = (Vec::new(), Vec::new(), "0".to_owned());
        for (place, (column, parent)) in table.parents.iter().enumerate() {
            let (by, m) = (values[*column].clone(), format!("m{place}"));
            from.push_str(&format!(
                " LEFT JOIN temp.mapped AS {m} ON {m}.name = '{parent}' AND {m}.old = {by}"
            ));
            // What belongs to nothing would break the output.
            known.push(format!("({by} IS NULL OR {m}.new IS NOT NULL)"));
            is_new.push(format!("ifnull({m}.is_new, 0)"));
            if parent == "lab" {
                of_lab = format!("{by} IS NOT NULL");
            }
            values[*column] = format!("{m}.new");
        }
        let (known, is_new) = (known.join(" AND "), is_new.join(" OR "));
        let own_key = table.own_key();
        let pairs = table.columns.iter().zip(&values).enumerate();
        let same = pairs.filter(|(place, _)| Some(*place) != own_key);
        let same = same.map(|(_, (column, value))| format!("o.{column} IS {value}"));
        let same = same.collect::<Vec<_>>().join(" AND ");
        if let Some(key) = own_key {
            let sql = format!("SELECT ifnull(max({}), 0) FROM main.{name}", table.columns[key]);
            let last: Option<i64> = self.out.all(&sql, [], |row| row.get(0))?.pop();
            values[key].push_str(&format!(" + {}", last.unwrap_or(0)));
        }
        if let Some(key) = table.key.filter(|_| self.tables.iter().any(|of| of.is_child_of(name))) {
            let (old, new) = (&table.columns[key], &values[key]);
            let mapped = format!("SELECT '{name}', s.{old}, {new}, {is_new} {from} WHERE {known}");
            self.write(&format!("INSERT INTO temp.mapped {mapped}"), [])?;
        }
        // Rows of a lab come from several files, each of which may bring one.
        let wanted = format!(
            "{known} AND ({is_new} OR ({of_lab} AND NOT EXISTS (SELECT 1 FROM main.{name} AS o \
             WHERE {same})))"
        );
        let (columns, values) = (table.columns.join(", "), values.join(", "));
        let sql = format!("INSERT INTO main.{name} ({columns}) SELECT {values} {from}");
        self.write(&format!("{sql} WHERE {wanted}"), [])
    }
}

fn attempts(results: &Results, cell: CellId) -> StoreResult<Vec<StoredAttempt>> {
    let sql = "SELECT * FROM repeat WHERE cell_id = ?1 ORDER BY ordinal, attempt";
    results.rows(sql, [cell])
}
