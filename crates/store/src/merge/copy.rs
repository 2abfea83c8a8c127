//! One results file added to another: rows get new keys, and what is there already is left alone.
//!
//! A few tables have rows that two files may share, and a rule by which these are known: labs,
//! machines, blocks, cells, ramps, repeats and loads. The rows of every other table belong to one
//! of them, and go with it.

use self::Became::{New, There};
use super::error::MergeError;
use super::schema::{SchemaTable, TableRow};
use crate::machines::number_of;
use crate::row::put;
use crate::rows::{Block, Lab, StoredCell, StoredLoad, StoredRamp};
use crate::values::{CellId, LabId, LoadId, RampId};
use crate::write_cell::same_cell;
use crate::{Results, StoreError};
use rusqlite::{Connection, Result as Sql};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// Tables whose rows are known by rules of their own.
const BY_RULE: [&str; 7] = ["lab", "host_fact", "block", "cell", "ramp", "repeat", "load"];

/// What became of a row of the source: its key in the output.
#[derive(Clone, Copy)]
enum Became {
    New(i64),
    /// It was there already.
    There(i64),
}

impl Became {
    fn key(self) -> i64 {
        match self {
            New(key) | There(key) => key,
        }
    }
}

/// How many repeats a file brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergedRepeats {
    pub added: usize,
    /// Those that the output had already.
    pub there: usize,
}

/// Which file brought a repeat of the output, where it was not there before.
pub(super) type Origins = HashMap<i64, PathBuf>;

/// Adds a source to the output.
pub(super) struct Copier<'a> {
    pub(super) source: &'a Results,
    pub(super) out: &'a Results,
    pub(super) tables: &'a [SchemaTable],
    pub(super) origins: &'a mut Origins,
    pub(super) repeats: MergedRepeats,
    became: HashMap<&'a str, HashMap<i64, Became>>,
}

/// One lab of the source and what it became.
struct LabPair {
    from: LabId,
    to: LabId,
    is_new: bool,
    is_planned: bool,
    /// Numbers in the output, by those in the source.
    blocks: HashMap<u32, u32>,
}

/// One attempt of a repeat.
struct StoredAttempt {
    id: i64,
    ordinal: u32,
    attempt: u32,
    block: Option<u32>,
    /// What tells it from all others: when it began, and which process measured it.
    identity: (i64, String),
}

impl<'a> Copier<'a> {
    pub(super) fn new(
        (source, out): (&'a Results, &'a Results),
        tables: &'a [SchemaTable],
        origins: &'a mut Origins,
    ) -> Copier<'a> {
        let (repeats, became) = (MergedRepeats::default(), HashMap::new());
        Copier { source, out, tables, origins, repeats, became }
    }

    /// Adds everything.
    pub(super) fn copy(&mut self) -> Result<(), MergeError> {
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

    fn table(&self, name: &str) -> Result<&'a SchemaTable, MergeError> {
        let found = self.tables.iter().find(|table| table.name == name);
        Ok(found.ok_or_else(|| self.failed(rusqlite::Error::QueryReturnedNoRows))?)
    }

    fn failed(&self, cause: rusqlite::Error) -> StoreError {
        self.out.sql(cause)
    }

    fn remember(&mut self, table: &'a SchemaTable, id: i64, became: Became) {
        self.became.entry(&table.name).or_default().insert(id, became);
    }

    fn became(&self, table: &str, id: i64) -> Option<Became> {
        self.became.get(table)?.get(&id).copied()
    }

    /// Adds the row with this key, with other values in these columns.
    fn add(&mut self, name: &str, id: i64, columns: &[(&str, i64)]) -> Result<i64, MergeError> {
        let table = self.table(name)?;
        let mut key = 0;
        let added = table.each_row(&self.source.connection, Some(("id", id)), |mut row| {
            columns.iter().for_each(|(column, value)| row.set(column, *value));
            key = row.insert(&self.out.connection)?;
            Ok(())
        });
        added.map_err(|cause| self.failed(cause))?;
        self.remember(table, id, New(key));
        Ok(key)
    }

    fn is_there(&mut self, name: &str, id: i64, there: Became) -> Result<(), MergeError> {
        let table = self.table(name)?;
        self.remember(table, id, there);
        Ok(())
    }

    /// A plan's lab is known by its plan, any other by its process and beginning.
    fn lab(&mut self, lab: &Lab) -> Result<LabPair, MergeError> {
        let mut there = self.out.labs()?.into_iter();
        let process = self.source.process_of("lab", lab.id.0)?;
        let found = match &lab.plan {
            Some(_) => there.find(|one| one.plan == lab.plan && one.name == lab.name),
            None => there.find(|one| {
                one.started_utc_ns == lab.started_utc_ns
                    && self.out.process_of("lab", one.id.0).is_ok_and(|of| of == process)
            }),
        };
        let pair = |to, is_new| LabPair {
            from: lab.id,
            to,
            is_new,
            is_planned: lab.plan.is_some(),
            blocks: HashMap::new(),
        };
        let Some(found) = found else {
            return Ok(pair(LabId(self.add("lab", lab.id.0, &[])?), true));
        };
        self.is_there("lab", lab.id.0, There(found.id.0))?;
        self.extend(&found, lab)?;
        Ok(pair(found.id, false))
    }

    /// What a lab in several files has of each.
    fn extend(&self, found: &Lab, lab: &Lab) -> Result<(), MergeError> {
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
        let values = (found.id, started, finished, turns, commands);
        self.out.connection.execute(sql, values).map_err(|cause| self.failed(cause))?;
        Ok(())
    }

    /// Machines are known by what they are, blocks by when they began on which machine.
    fn blocks(&mut self, pair: &mut LabPair) -> Result<(), MergeError> {
        let mut known = self.out.machines(pair.to)?;
        let mut machines = BTreeMap::new();
        for machine in self.source.machines(pair.from)? {
            let number = number_of(&self.out.connection, pair.to.0, &mut known, &machine.facts)
                .map_err(|cause| self.failed(cause))?;
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
                .map_err(|cause| self.failed(cause))?;
            pair.blocks.insert(block.block, number);
            there.push(new);
        }
        Ok(())
    }

    /// A ramp is known by its cell of the plan and its repeat. Two of one place have to be the
    /// same: they begin with the same point.
    fn ramp(&mut self, pair: &LabPair, ramp: &StoredRamp) -> Result<(), MergeError> {
        let there = self.out.ramps(pair.to)?;
        let place = |ramp: &StoredRamp| (ramp.what.ordinal, ramp.what.repeat);
        let Some(found) = there.iter().find(|one| place(one) == place(ramp)) else {
            let id = ramp.id.0;
            return self.add("ramp", id, &[("lab_id", pair.to.0)]).map(drop);
        };
        let first_point = |results: &Results, ramp: RampId| {
            let point = results.ramp_points(ramp)?.into_iter().next();
            Ok::<_, StoreError>(point.map(|point| (point.started_utc_ns, point.id)))
        };
        let points = (first_point(self.out, found.id)?, first_point(self.source, ramp.id)?);
        if let (Some((was, id)), Some((is, _))) = points
            && was != is
        {
            return Err(MergeError::MeasuredTwice {
                before: self.origin(id.0),
                file: self.source.path.clone(),
                ordinal: ramp.what.ordinal,
                repeat: ramp.what.repeat,
            });
        }
        if found.finished_utc_ns.is_none() && ramp.finished_utc_ns.is_some() {
            let sql = "UPDATE ramp SET finished_utc_ns = ?2 WHERE id = ?1";
            let values = (found.id, ramp.finished_utc_ns);
            self.out.connection.execute(sql, values).map_err(|cause| self.failed(cause))?;
        }
        self.is_there("ramp", ramp.id.0, There(found.id.0))
    }

    /// The file that brought a repeat of the output.
    fn origin(&self, repeat: i64) -> PathBuf {
        self.origins.get(&repeat).unwrap_or(&self.out.path).clone()
    }

    /// A cell is known by its place in the plan; one that is a point of ramps has no such place,
    /// and is known by the ramps' place and its connections.
    fn cell(&mut self, pair: &LabPair, cell: &StoredCell) -> Result<(), MergeError> {
        let ramp = self.ramp_of(cell.id)?;
        let found = match ramp {
            _ if pair.is_new => None,
            Some(ordinal) => {
                let mut points = self.out.ramp_cells(pair.to, ordinal)?.into_iter();
                points.find(|point| point.what.connections == cell.what.connections)
            }
            None => self.out.cell_at(pair.to, cell.what.ordinal)?,
        };
        let key = match found {
            None => self.new_cell(pair, cell)?,
            Some(found) if cell.what.server_version.is_empty() => {
                self.is_there("cell", cell.id.0, There(found.id.0))?;
                found.id.0
            }
            Some(found) if found.what.server_version.is_empty() => {
                self.meet_server(pair, cell, &found)?;
                found.id.0
            }
            Some(found) => {
                self.require_same(cell, &found)?;
                self.is_there("cell", cell.id.0, There(found.id.0))?;
                found.id.0
            }
        };
        self.repeats(pair, cell, (CellId(key), ramp.is_some()))
    }

    fn new_cell(&mut self, pair: &LabPair, cell: &StoredCell) -> Result<i64, MergeError> {
        let ordinal = match self.out.cell_at(pair.to, cell.what.ordinal)? {
            None => cell.what.ordinal,
            // Another file gave the number to another point of a ramp, behind the plan's cells.
            Some(_) => {
                let all = self.out.cells(pair.to)?;
                all.last().map_or(0, |last| last.what.ordinal) + 1
            }
        };
        self.add("cell", cell.id.0, &[("lab_id", pair.to.0), ("ordinal", ordinal.into())])
    }

    /// The ordinal of the plan's cell of whose ramps this one is a point.
    fn ramp_of(&self, cell: CellId) -> Result<Option<u32>, MergeError> {
        let sql = "SELECT a.ordinal FROM repeat AS r JOIN ramp_point AS p ON p.repeat_id = r.id \
                   JOIN ramp AS a ON a.id = p.ramp_id WHERE r.cell_id = ?1 LIMIT 1";
        Ok(self.source.all(sql, [cell], |row| row.get(0))?.pop())
    }

    /// The output has a cell as its plan tells of it; this one has met a server, and says more.
    fn meet_server(
        &mut self,
        pair: &LabPair,
        cell: &StoredCell,
        found: &StoredCell,
    ) -> Result<(), MergeError> {
        let out = &self.out.connection;
        let write = || -> Sql<()> {
            for table in self.tables.iter().filter(|of| of.name.starts_with("cell_")) {
                let sql = format!("DELETE FROM {} WHERE cell_id = ?1", table.name);
                out.execute(&sql, [found.id])?;
            }
            let Some(table) = self.tables.iter().find(|table| table.name == "cell") else {
                return Ok(());
            };
            let of = Some(("id", cell.id.0));
            table.each_row(&self.source.connection, of, |mut row| {
                row.set("lab_id", pair.to.0);
                row.set("ordinal", found.what.ordinal.into());
                row.overwrite(out, found.id.0)
            })
        };
        write().map_err(|cause| self.failed(cause))?;
        let table = self.table("cell")?;
        self.remember(table, cell.id.0, New(found.id.0));
        Ok(())
    }

    fn require_same(&self, cell: &StoredCell, found: &StoredCell) -> Result<(), MergeError> {
        let figures = |cell: &StoredCell| {
            let places = cell.what.places.iter();
            let known = places.filter_map(|place| {
                let figures = place.profile_fingerprint.as_ref()?;
                Some(format!("{} {} {figures}", place.role, place.device))
            });
            known.collect::<Vec<_>>().join(", ")
        };
        let there = attempts(&self.out.connection, found.id).map_err(|cause| self.failed(cause))?;
        let before = there.first().map_or_else(|| self.out.path.clone(), |of| self.origin(of.id));
        let differs = |field, was, is| MergeError::OtherCell {
            before,
            file: self.source.path.clone(),
            ordinal: cell.what.ordinal,
            field,
            was,
            is,
        };
        match same_cell(&found.what, &cell.what) {
            Err(StoreError::CellDiffers { field, stored, given, .. }) => {
                Err(differs(field, stored, given))
            }
            Err(other) => Err(other.into()),
            Ok(()) if figures(found) != figures(cell) => {
                Err(differs("device profile", figures(found), figures(cell)))
            }
            Ok(()) => Ok(()),
        }
    }

    /// A repeat is known by when it began and which process measured it.
    fn repeats(
        &mut self,
        pair: &LabPair,
        cell: &StoredCell,
        (to, is_of_ramps): (CellId, bool),
    ) -> Result<(), MergeError> {
        let read = |results: &Results, cell| {
            attempts(&results.connection, cell).map_err(|cause| results.sql(cause))
        };
        let mut there = read(self.out, to)?;
        // Points of ramps are counted on as they come.
        let mut ordinals: HashMap<u32, u32> = HashMap::new();
        for attempt in read(self.source, cell.id)? {
            if let Some(found) = there.iter().find(|one| one.identity == attempt.identity) {
                ordinals.insert(attempt.ordinal, found.ordinal);
                self.is_there("repeat", attempt.id, There(found.id))?;
                self.repeats.there += 1;
                continue;
            }
            let block = match attempt.block {
                None if pair.is_planned => {
                    let file = self.source.path.clone();
                    return Err(MergeError::WithoutBlocks { file, lab: pair.from.0 });
                }
                block => block.map(|block| pair.blocks.get(&block).copied().unwrap_or(block)),
            };
            let next = there.iter().map(|one| one.ordinal).max().unwrap_or(0) + 1;
            let ordinal = match is_of_ramps && !pair.is_new {
                true => *ordinals.entry(attempt.ordinal).or_insert(next),
                false => attempt.ordinal,
            };
            let place = (ordinal, attempt.attempt);
            if let Some(other) = there.iter().find(|one| (one.ordinal, one.attempt) == place) {
                return Err(MergeError::MeasuredTwice {
                    before: self.origin(other.id),
                    file: self.source.path.clone(),
                    ordinal: cell.what.ordinal,
                    repeat: attempt.ordinal,
                });
            }
            let mut columns = vec![("cell_id", to.0), ("ordinal", ordinal.into())];
            columns.extend(block.map(|block| ("block", block.into())));
            let id = self.add("repeat", attempt.id, &columns)?;
            self.origins.insert(id, self.source.path.clone());
            self.repeats.added += 1;
            there.push(StoredAttempt { id, ordinal, block, ..attempt });
        }
        Ok(())
    }

    /// A load is known by what it loaded and when.
    fn load(&mut self, id: LoadId, load: &StoredLoad) -> Result<(), MergeError> {
        let of_lab = load.lab.and_then(|lab| self.became("lab", lab.0)).map(Became::key);
        let moment = |load: &StoredLoad| (load.started_utc_ns, load.finished_utc_ns);
        let is_it = |other: &StoredLoad| {
            moment(other) == moment(load)
                && (&other.target, other.duration_ns) == (&load.target, load.duration_ns)
        };
        match self.out.loads()?.iter().find(|(_, other)| is_it(other)) {
            Some((there, _)) => self.is_there("load", id.0, There(there.0)),
            None => {
                let columns: Vec<_> = of_lab.map(|lab| ("lab_id", lab)).into_iter().collect();
                self.add("load", id.0, &columns).map(drop)
            }
        }
    }

    /// The rows of a table go with what they belong to.
    fn rows_of(&mut self, table: &'a SchemaTable) -> Result<(), MergeError> {
        let (source, out) = (self.source, self.out);
        let copied = table.each_row(&source.connection, None, |mut row| {
            let id = row.key();
            let became = self.row(&mut row, &out.connection)?;
            if let (true, Some(id)) = (table.is_parent, id) {
                self.remember(table, id, became);
            }
            Ok(())
        });
        copied.map_err(|cause| self.failed(cause)).map_err(MergeError::from)
    }

    fn row(&self, row: &mut TableRow<'_>, out: &Connection) -> Sql<Became> {
        let (mut is_of_new, mut is_of_lab) = (false, false);
        for parent in &row.table.parents {
            let Some(id) = row.integer(parent.column) else {
                continue;
            };
            // What belongs to nothing would break the output.
            let Some(became) = self.became(&parent.table, id) else {
                return Ok(There(0));
            };
            row.values[parent.column] = became.key().into();
            is_of_new |= matches!(became, New(_));
            is_of_lab |= parent.table == "lab";
        }
        // Rows of a lab come from several files, each of which may bring one.
        if is_of_new || (is_of_lab && !row.is_in(out)?) {
            return row.insert(out).map(New);
        }
        Ok(There(row.key().unwrap_or(0)))
    }
}

fn attempts(connection: &Connection, cell: CellId) -> Sql<Vec<StoredAttempt>> {
    let sql = "SELECT id, ordinal, attempt, block, started_utc_ns, process FROM repeat \
               WHERE cell_id = ?1 ORDER BY ordinal, attempt";
    let attempt = |row: &rusqlite::Row<'_>| {
        Ok(StoredAttempt {
            id: row.get(0)?,
            ordinal: row.get(1)?,
            attempt: row.get(2)?,
            block: row.get(3)?,
            identity: (row.get(4)?, row.get(5)?),
        })
    };
    connection.prepare_cached(sql)?.query_map([cell], attempt)?.collect()
}
