//! What is left of a load, and who does what next.
//!
//! Chunks are counted, not listed: a load of any size plans in the same memory, apart from what an
//! earlier one left.

use crate::schema::{self, Table};
use crate::{Chunk, Population};
use base::WarehouseRange;
use std::collections::{BTreeMap, BTreeSet};

/// The chunks of one table.
#[derive(Default)]
struct TableChunks {
    /// The next warehouse that may be missing, and the last one.
    next: u32,
    last: u32,
    /// Warehouses that an earlier load left complete.
    found: BTreeSet<u32>,
    /// Chunks under way.
    active: u32,
}

impl TableChunks {
    /// The next missing warehouse.
    fn peek(&self) -> Option<u32> {
        (self.next..=self.last).find(|warehouse| !self.found.contains(warehouse))
    }
}

/// What a thread does next.
pub(crate) enum Task {
    Chunk(Chunk),
    /// The statement that builds all indexes of a table.
    Indexes(Table, String),
}

/// Warehouses that one of several processes loads; the items are of warehouse 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadPart {
    pub first: u32,
    pub last: u32,
}

impl LoadPart {
    /// That of process `number`, from 0, of so many, one at least, in a database with these
    /// warehouses: the first one has the items too.
    pub fn of_process((number, processes): (u32, u32), range: WarehouseRange) -> LoadPart {
        let at = |n: u32| {
            let share = u64::from(n) * u64::from(range.count()) / u64::from(processes.max(1));
            // A share of what is a u32.
            range.first() - 1 + share as u32
        };
        let first = if number == 0 { 0 } else { at(number) + 1 };
        LoadPart { first, last: at(number + 1) }
    }
}

/// What is left to do.
pub(crate) struct LoadPlan {
    /// About as much as the chunks take that an earlier load left complete.
    pub(crate) found_bytes: u64,
    /// By the place of the table.
    tables: [TableChunks; Table::ALL.len()],
    /// Tables whose indexes wait for their rows.
    indexes: BTreeMap<Table, String>,
    pub(crate) failed: bool,
    pub(crate) steps_done: u32,
    pub(crate) steps_total: u32,
}

/// The order in which tables are begun: those whose indexes take longest first, so that they
/// overlap with other rows.
const ORDER: [Table; 9] = [
    Table::OrderLine,
    Table::Stock,
    Table::Customer,
    Table::History,
    Table::Orders,
    Table::NewOrders,
    Table::Item,
    Table::District,
    Table::Warehouse,
];

impl LoadPlan {
    pub(crate) fn new(
        population: &Population,
        foreign_keys: bool,
        found: &BTreeSet<Chunk>,
    ) -> LoadPlan {
        let mut tables = Table::ALL.map(|table| {
            // The items are one chunk, that of warehouse 0.
            let (next, last) = match table {
                Table::Item => (0, 0),
                _ => (population.range.first(), population.range.last()),
            };
            TableChunks { next, last, ..TableChunks::default() }
        });
        for chunk in found {
            tables[chunk.table as usize].found.insert(chunk.warehouse);
        }
        let indexes_of = |table| Some((table, schema::indexes_sql(table, foreign_keys)?));
        let indexes: BTreeMap<Table, String> =
            Table::ALL.into_iter().filter_map(indexes_of).collect();
        let found_bytes = found.iter().map(|chunk| chunk.table.bytes_estimate()).sum();
        let steps_total = indexes.len() as u32;
        LoadPlan { found_bytes, tables, indexes, failed: false, steps_done: 0, steps_total }
    }

    /// The rows of a part, without indexes.
    pub(crate) fn of_part(
        population: &Population,
        part: LoadPart,
        found: &BTreeSet<Chunk>,
    ) -> LoadPlan {
        let mut plan = LoadPlan::new(population, false, found);
        plan.indexes.clear();
        plan.steps_total = 0;
        for chunks in &mut plan.tables {
            chunks.next = chunks.next.max(part.first);
            chunks.last = chunks.last.min(part.last);
        }
        plan
    }

    fn is_loaded(&self, table: Table) -> bool {
        let chunks = &self.tables[table as usize];
        chunks.active == 0 && chunks.peek().is_none()
    }

    /// Indexes of a table that is complete, else a chunk of the table on which the fewest are at
    /// work.
    pub(crate) fn next(&mut self) -> Option<Task> {
        let is_ready = |table: &Table| self.indexes.contains_key(table) && self.is_loaded(*table);
        let ready = ORDER.into_iter().find(is_ready);
        if let Some((table, sql)) = ready.and_then(|table| self.indexes.remove_entry(&table)) {
            return Some(Task::Indexes(table, sql));
        }
        let first = |table| Some((table, self.tables[table as usize].peek()?));
        let missing = ORDER.into_iter().filter_map(first);
        let (table, warehouse) =
            missing.min_by_key(|(table, _)| self.tables[*table as usize].active)?;
        let chunks = &mut self.tables[table as usize];
        chunks.next = warehouse + 1;
        chunks.active += 1;
        Some(Task::Chunk(Chunk { table, warehouse }))
    }

    /// A chunk that [`LoadPlan::next`] gave has been loaded.
    pub(crate) fn chunk_done(&mut self, chunk: Chunk) {
        self.tables[chunk.table as usize].active -= 1;
    }

    /// Nothing is left that a waiting thread could get.
    pub(crate) fn is_over(&self) -> bool {
        let loaded = || Table::ALL.into_iter().all(|table| self.is_loaded(table));
        self.failed || (self.indexes.is_empty() && loaded())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Warehouses;

    #[test]
    fn parts_make_the_whole() {
        let shard = WarehouseRange::between((11, 20));
        for (warehouses, shard, processes) in
            [(10, None, 3), (2, None, 4), (1, None, 1), (1000, None, 7), (20, shard, 3)]
        {
            let population = Population::new(1, Warehouses(warehouses)).of_shard(shard);
            let mut chunks: Vec<Chunk> = Vec::new();
            for number in 0..processes {
                let part = LoadPart::of_process((number, processes), population.range);
                let mut plan = LoadPlan::of_part(&population, part, &BTreeSet::new());
                while let Some(task) = plan.next() {
                    let Task::Chunk(chunk) = task else { panic!("a part builds no index") };
                    chunks.push(chunk);
                    plan.chunk_done(chunk);
                }
                assert!(plan.is_over());
            }
            chunks.sort_unstable();
            let mut all: Vec<Chunk> = population.chunks().collect();
            all.sort_unstable();
            assert_eq!(chunks, all, "{population:?}, {processes} processes");
        }
    }

    fn drain(plan: &mut LoadPlan) -> Vec<String> {
        let mut seen = Vec::new();
        while let Some(task) = plan.next() {
            match task {
                Task::Chunk(chunk) => {
                    seen.push(format!("{} {}", chunk.table, chunk.warehouse));
                    plan.chunk_done(chunk);
                }
                Task::Indexes(table, _) => seen.push(format!("index {table}")),
            }
        }
        seen
    }

    #[test]
    fn indexes_follow_their_rows_and_everything_is_done_once() {
        let population = Population::new(1, Warehouses(2));
        let mut plan = LoadPlan::new(&population, true, &BTreeSet::new());
        let mut seen = drain(&mut plan);
        assert_eq!(seen[..3], ["order_line 1", "order_line 2", "index order_line"]);
        assert!(plan.is_over());
        // 2 x 8 chunks, the items, five tables with indexes.
        assert_eq!(seen.len(), 22);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 22);
        let chunks =
            population.chunks().map(|chunk| format!("{} {}", chunk.table, chunk.warehouse));
        assert!(chunks.into_iter().all(|chunk| seen.contains(&chunk)));
    }

    #[test]
    fn a_second_stream_takes_another_table() {
        let population = Population::new(1, Warehouses(2));
        let mut plan = LoadPlan::new(&population, true, &BTreeSet::new());
        let tables: Vec<Table> = (0..3)
            .map(|_| match plan.next() {
                Some(Task::Chunk(chunk)) => chunk.table,
                _ => panic!("a chunk comes first"),
            })
            .collect();
        assert_eq!(tables, [Table::OrderLine, Table::Stock, Table::Customer]);
        assert!(!plan.is_over());
    }

    #[test]
    fn a_killed_load_goes_on_with_what_is_missing() {
        let population = Population::new(1, Warehouses(3));
        let found: BTreeSet<Chunk> = population
            .chunks()
            .filter(|chunk| chunk.table != Table::History || chunk.warehouse == 2)
            .collect();
        let seen = drain(&mut LoadPlan::new(&population, false, &found));
        assert_eq!(seen, ["index customer", "index orders", "history 1", "history 3"]);
    }
}
