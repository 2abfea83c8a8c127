//! The initial rows of clause 4.3.3.1, as LOAD DATA lines or as INSERT statements, faster than any
//! server takes them.
//!
//! The population is cut into chunks, one for each table and warehouse and one for the items. A
//! chunk derives from the seed, its table and its warehouse alone, so chunks may be made in any
//! order by any number of threads, and a load that was killed continues with those that the
//! database does not hold.

mod format;
mod rows;

pub use rows::POPULATION_TIME;

use crate::random::load_constant;
use crate::schema::{self, Table};
use base::{RowSource, WarehouseRange, Warehouses};
use drive::Merge;
use format::{BETWEEN_TUPLES, RowFormat, Tsv, Tuples};
use rows::RowWriter;
use xxhash_rust::xxh3::Xxh3Default;

/// A buffer is full once it holds this much; the last row or order may exceed it by some KiB.
const FILL_BYTES: usize = 128 << 10;
/// An INSERT ends once it holds this much. Below 64 KiB with its last order, so below any
/// `max_allowed_packet` that a server runs with, and long enough that the statement's own cost is
/// little.
const INSERT_BYTES: usize = 48 << 10;

/// What a database is populated with. Equal values give equal bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Population {
    pub seed: u64,
    /// The NURand constant of last names (clause 2.1.6.1).
    pub c_load: u32,
    /// Of the whole database.
    pub warehouses: Warehouses,
    /// Those that have rows here: all, or those of a shard.
    pub range: WarehouseRange,
}

/// A part of the population that is generated and loaded as one: a table of one warehouse, or the
/// items (warehouse 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chunk {
    pub table: Table,
    pub warehouse: u32,
}

/// What a generated chunk held: to compare with what the database stored and with other loads of
/// the same seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkSummary {
    pub rows: u64,
    /// Bytes as lines of LOAD DATA.
    pub bytes: u64,
    /// XXH3 of those lines, also where the rows left as INSERT statements.
    pub checksum: u64,
}

/// Adds up chunks of a table.
impl Merge for ChunkSummary {
    fn merge(&mut self, other: &ChunkSummary) {
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.checksum = combine([self.checksum, other.checksum]);
    }
}

impl Population {
    /// The population of `seed`, its NURand constant drawn from it.
    pub fn new(seed: u64, warehouses: Warehouses) -> Population {
        let range = WarehouseRange::all(warehouses);
        Population { seed, c_load: load_constant(seed), warehouses, range }
    }

    /// The part of it that a shard with these warehouses has, and all of the items: row for row
    /// what the whole has. `None` is the whole.
    pub fn of_shard(self, shard: Option<WarehouseRange>) -> Population {
        Population { range: shard.unwrap_or(self.range), ..self }
    }

    /// All chunks, items first, then warehouse by warehouse, parents before children.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk> + use<> {
        let items = Chunk { table: Table::Item, warehouse: 0 };
        let tables = Table::ALL.into_iter().filter(|&table| table != Table::Item);
        std::iter::once(items).chain(
            self.range.iter().flat_map(move |warehouse| {
                tables.clone().map(move |table| Chunk { table, warehouse })
            }),
        )
    }

    /// The rows of a chunk as lines for LOAD DATA, in primary-key order.
    pub fn rows(&self, chunk: Chunk) -> Rows {
        Rows {
            writer: RowWriter::new(*self, chunk),
            hash: Xxh3Default::new(),
            summary: ChunkSummary::default(),
            is_over: false,
        }
    }

    /// The rows of a chunk as multi-row INSERT statements, for servers that do not take LOAD DATA
    /// LOCAL.
    pub fn inserts(&self, chunk: Chunk) -> Inserts {
        Inserts {
            rows: self.rows(chunk),
            head: schema::insert_head(chunk.table),
            lines: Vec::new(),
            statement: Vec::new(),
        }
    }

    /// Bytes of all lines together, for progress.
    pub fn bytes_estimate(&self) -> u64 {
        let chunks = |table| if table == Table::Item { 1 } else { u64::from(self.range.count()) };
        Table::ALL.into_iter().map(|table| chunks(table) * table.bytes_estimate()).sum()
    }
}

/// A chunk being generated: its lines, as a [`RowSource`].
pub struct Rows {
    writer: RowWriter,
    hash: Xxh3Default,
    summary: ChunkSummary,
    is_over: bool,
}

impl Rows {
    /// Writes rows until `full` says so or none is left.
    fn write<F: RowFormat>(&mut self, out: &mut F, full: impl Fn(&F) -> bool) {
        // Which table it is is decided once per buffer, not per row.
        match self.writer.chunk.table {
            Table::Item => self.write_by(RowWriter::item, out, full),
            Table::Warehouse => self.write_by(RowWriter::warehouse, out, full),
            Table::District => self.write_by(RowWriter::district, out, full),
            Table::Stock => self.write_by(RowWriter::stock, out, full),
            Table::Customer => self.write_by(RowWriter::customer, out, full),
            Table::History => self.write_by(RowWriter::history, out, full),
            Table::Orders => self.write_by(RowWriter::order, out, full),
            Table::NewOrders => self.write_by(RowWriter::new_order, out, full),
            Table::OrderLine => self.write_by(RowWriter::order_lines, out, full),
        }
    }

    fn write_by<F: RowFormat>(
        &mut self,
        write: impl Fn(&mut RowWriter, &mut F) -> u32,
        out: &mut F,
        full: impl Fn(&F) -> bool,
    ) {
        while self.writer.advance() {
            self.summary.rows += u64::from(write(&mut self.writer, out));
            if full(out) {
                return;
            }
        }
        self.is_over = true;
    }

    fn add_lines(&mut self, lines: &[u8]) {
        self.hash.update(lines);
        self.summary.bytes += lines.len() as u64;
    }

    /// What the chunk held, once [`RowSource::fill`] has returned false, or
    /// [`Inserts::next_statement`] `None`.
    pub fn finished(&self) -> Option<ChunkSummary> {
        self.is_over.then(|| ChunkSummary { checksum: self.hash.digest(), ..self.summary })
    }

    /// Bytes generated so far, counted as lines, for progress.
    pub fn bytes(&self) -> u64 {
        self.summary.bytes
    }
}

impl RowSource for Rows {
    fn fill(&mut self, buffer: &mut Vec<u8>) -> bool {
        if self.is_over {
            return false;
        }
        let start = buffer.len();
        buffer.reserve(FILL_BYTES + (8 << 10));
        self.write(&mut Tsv { out: buffer }, |tsv| tsv.out.len() - start >= FILL_BYTES);
        self.add_lines(&buffer[start..]);
        buffer.len() > start
    }
}

/// The INSERT statements of a chunk.
pub struct Inserts {
    pub rows: Rows,
    head: String,
    lines: Vec<u8>,
    statement: Vec<u8>,
}

impl Inserts {
    /// The next statement, 64 KiB at most; `None` where there are no more rows.
    pub fn next_statement(&mut self) -> Option<&str> {
        if self.rows.is_over {
            return None;
        }
        self.lines.clear();
        self.statement.clear();
        self.statement.extend_from_slice(self.head.as_bytes());
        self.statement.push(b'(');
        let mut format = Tuples { lines: &mut self.lines, out: &mut self.statement };
        self.rows.write(&mut format, |tuples| tuples.out.len() >= INSERT_BYTES);
        self.rows.add_lines(&self.lines);
        self.statement.truncate(self.statement.len() - (BETWEEN_TUPLES.len() - 1));
        (!self.lines.is_empty()).then(|| {
            std::str::from_utf8(&self.statement).expect("every value of the population is ASCII")
        })
    }
}

/// The checksum of a table from those of its chunks, in whatever order they come.
pub fn combine(checksums: impl IntoIterator<Item = u64>) -> u64 {
    // A sum does not see the order; which chunk it was is in the chunk's lines, which name their
    // warehouse.
    checksums.into_iter().fold(0, u64::wrapping_add)
}

/// Of a partition's file without rows, with the root of a second index.
const PARTITION_BYTES: u64 = 112 << 10;
/// Of the files of all tables, where a partition has one warehouse, more than its part of whole
/// tables: files grow in steps.
const PARTITION_STEPS_BYTES: u64 = 28_000_000;

/// Bytes of an InnoDB data directory's tables as loaded, for the question whether the disk holds
/// them: measured on MySQL 5.7 with 16 KiB pages (10 warehouses: 958 MB with foreign keys' indexes;
/// 8 without: 731 MB whole, 954 MB in 8 partitions). One warehouse takes some 35 MB more than that;
/// who asks leaves room to spare, as a run adds to it too. `partitions` are those of each table
/// that can be split, 0 for none.
pub fn database_bytes_estimate(warehouses: Warehouses, foreign_keys: bool, partitions: u32) -> u64 {
    let of_warehouse = if foreign_keys { 98_000_000 } else { 88_000_000 };
    let tables = Table::ALL.into_iter().filter_map(schema::partition_column);
    let files = tables.count() as u64 * u64::from(partitions);
    let with_rows = u64::from(warehouses.0.min(partitions));
    let of_partitions = files * PARTITION_BYTES + with_rows * PARTITION_STEPS_BYTES;
    20_000_000 + u64::from(warehouses.0) * of_warehouse + of_partitions
}
