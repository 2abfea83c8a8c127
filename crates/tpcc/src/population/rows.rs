//! The rules of clause 4.3.3.1, table by table: what each row holds.
//!
//! Where the clause says "10 % of the rows, at random", exactly a tenth is chosen (selection
//! sampling, one draw per row, every subset equally likely), so that the share never leaves the 5 %
//! that the clause allows, by no seed.

use super::format::{
    Digits, RowFormat, write_four_digits, write_fraction, write_hundredths, write_number,
};
use super::{Chunk, Population};
use crate::random::{
    last_name, last_name_number, letters, write_a_string, write_capitals, write_n_string,
};
use crate::schema::{CUSTOMERS, DISTRICTS, FIRST_OPEN_ORDER, ITEMS, Table};
use base::Random;
use std::ops::RangeInclusive;

/// Every date of the population: C_SINCE, H_DATE, O_ENTRY_D, and OL_DELIVERY_D of delivered lines.
/// The clause says "the current date and time"; one constant instant stands for it, because two
/// loads of one seed must be equal to the byte (contract 7), on whatever day they run.
pub const POPULATION_TIME: &[u8] = b"2026-01-01 00:00:00";

/// First step of the path of every stream of the population.
const PATH_POPULATION: u64 = 0x7470_6363_0000_0002;

/// The stream of O_OL_CNT, which orders and their lines must agree on. Those of tables have lower
/// numbers; these, not the order of [`Table`], are part of what a seed means.
const LINE_COUNTS: u64 = 9;

/// A tenth of `total` rows, at random: Knuth's selection sampling.
struct Tenth {
    rows_left: u32,
    wanted: u32,
}

impl Tenth {
    fn of(total: u32) -> Tenth {
        Tenth { rows_left: total, wanted: total / 10 }
    }

    #[inline]
    fn next(&mut self, random: &mut Random) -> bool {
        let chosen = random.below(self.rows_left.max(1)) < self.wanted;
        self.rows_left = self.rows_left.saturating_sub(1);
        self.wanted -= u32::from(chosen);
        chosen
    }
}

/// O_OL_CNT.
const LINES: RangeInclusive<u32> = 5..=15;

const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// I_DATA and S_DATA: a-string [26..50]; in the rows chosen, ORIGINAL instead of 8 characters at a
/// random place.
#[inline]
fn write_data(out: &mut Vec<u8>, random: &mut Random, original: bool) {
    let start = out.len();
    write_a_string(out, random, 26..=50);
    if original {
        let len = (out.len() - start) as u32;
        let place = start + random.between(0..=len - 8) as usize;
        out[place..place + 8].copy_from_slice(ORIGINAL);
    }
}

/// Street 1, street 2, city: a-string [10..20]; state: 2 letters; zip: 4 digits and 11111 (clause
/// 4.3.2.7).
#[inline]
fn write_address(out: &mut impl RowFormat, random: &mut Random) {
    out.text(|o| write_a_string(o, random, 10..=20));
    out.text(|o| write_a_string(o, random, 10..=20));
    out.text(|o| write_a_string(o, random, 10..=20));
    out.text(|o| write_capitals(o, random, 2));
    out.text(|o| {
        write_four_digits(o, random.below(10_000));
        o.extend_from_slice(b"11111");
    });
}

fn constant(text: &'static [u8]) -> impl FnOnce(&mut Vec<u8>) {
    #[inline]
    move |out| out.extend_from_slice(text)
}

/// Writes the rows of one chunk: of a district after the other, where the table has districts, with
/// a stream for each.
pub(super) struct RowWriter {
    population: Population,
    pub(super) chunk: Chunk,
    rows: TableRows,
    random: Random,
    /// 0 where the table has none.
    district: u32,
    /// Number within the district, from 1.
    number: u32,
    /// Of the district's rows, those that are written otherwise.
    tenth: Tenth,
    /// O_OL_CNT of the orders of a district, in order: rnd(5..15) from a stream of its own, which
    /// the lines draw again.
    line_counts: Random,
    /// O_C_ID of the district's orders: a random order of its customers, a fresh one for each
    /// district.
    customers: Vec<u32>,
}

/// Which rows a table has, or which orders have the rows.
struct TableRows {
    /// The number of the stream of each district, or of the warehouse or the items.
    stream: u64,
    /// First and last.
    districts: [u32; 2],
    /// First and last of each district.
    numbers: [u32; 2],
}

impl TableRows {
    fn of(table: Table) -> TableRows {
        const NO_DISTRICT: [u32; 2] = [0, 0];
        const EACH_DISTRICT: [u32; 2] = [1, DISTRICTS];
        let (stream, districts, numbers) = match table {
            Table::Item => (1, NO_DISTRICT, [1, ITEMS]),
            Table::Warehouse => (2, NO_DISTRICT, [1, 1]),
            Table::District => (3, EACH_DISTRICT, [1, 1]),
            Table::Stock => (4, NO_DISTRICT, [1, ITEMS]),
            Table::Customer => (5, EACH_DISTRICT, [1, CUSTOMERS]),
            Table::History => (6, EACH_DISTRICT, [1, CUSTOMERS]),
            Table::Orders => (7, EACH_DISTRICT, [1, CUSTOMERS]),
            // Nothing of an open order's number is random.
            Table::NewOrders => (7, EACH_DISTRICT, [FIRST_OPEN_ORDER, CUSTOMERS]),
            Table::OrderLine => (8, EACH_DISTRICT, [1, CUSTOMERS]),
        };
        TableRows { stream, districts, numbers }
    }
}

// A function of each table writes the present row, or the present order's lines, and returns how
// many rows these are.
impl RowWriter {
    /// Before the first row.
    pub(super) fn new(population: Population, chunk: Chunk) -> RowWriter {
        let [first, _] = TableRows::of(chunk.table).districts;
        RowWriter::of_district(first, population, chunk)
    }

    fn of_district(district: u32, population: Population, chunk: Chunk) -> RowWriter {
        let rows = TableRows::of(chunk.table);
        let [first, last] = rows.numbers;
        let random = |stream: u64| {
            let path = [PATH_POPULATION, stream, chunk.warehouse.into(), district.into()];
            Random::new(population.seed, &path)
        };
        let line_counts = random(LINE_COUNTS);
        let mut random = random(rows.stream);
        let mut customers = Vec::new();
        if chunk.table == Table::Orders {
            customers.extend(1..=CUSTOMERS);
            random.shuffle(&mut customers);
        }
        let (number, tenth) = (first - 1, Tenth::of(last));
        RowWriter {
            population,
            chunk,
            rows,
            random,
            district,
            number,
            tenth,
            line_counts,
            customers,
        }
    }

    /// Goes on to the next row, or the next order's lines (15 at most); false where there are no
    /// more.
    #[inline]
    pub(super) fn advance(&mut self) -> bool {
        if self.number == self.rows.numbers[1] {
            if self.district == self.rows.districts[1] {
                return false;
            }
            *self = RowWriter::of_district(self.district + 1, self.population, self.chunk);
        }
        self.number += 1;
        true
    }

    #[inline]
    pub(super) fn item(&mut self, out: &mut impl RowFormat) -> u32 {
        let random = &mut self.random;
        let original = self.tenth.next(random);
        out.number(|o| write_number(o, self.number));
        out.number(|o| write_number(o, random.between(1..=10_000)));
        out.text(|o| write_a_string(o, random, 14..=24));
        out.number(|o| write_hundredths(o, random.between(100..=10_000)));
        out.text(|o| write_data(o, random, original));
        out.end_row();
        1
    }

    pub(super) fn warehouse(&mut self, out: &mut impl RowFormat) -> u32 {
        let random = &mut self.random;
        out.number(|o| write_number(o, self.chunk.warehouse));
        out.text(|o| write_a_string(o, random, 6..=10));
        write_address(out, random);
        out.number(|o| write_fraction(o, random.between(0..=2_000)));
        out.number(constant(b"300000.00"));
        out.end_row();
        1
    }

    pub(super) fn district(&mut self, out: &mut impl RowFormat) -> u32 {
        let random = &mut self.random;
        out.number(|o| write_number(o, self.district));
        out.number(|o| write_number(o, self.chunk.warehouse));
        out.text(|o| write_a_string(o, random, 6..=10));
        write_address(out, random);
        out.number(|o| write_fraction(o, random.between(0..=2_000)));
        out.number(constant(b"30000.00"));
        out.number(|o| write_number(o, CUSTOMERS + 1));
        out.end_row();
        1
    }

    #[inline]
    pub(super) fn stock(&mut self, out: &mut impl RowFormat) -> u32 {
        let random = &mut self.random;
        let original = self.tenth.next(random);
        let warehouse = Digits::of(self.chunk.warehouse);
        out.number(|o| write_number(o, self.number));
        out.number(|o| warehouse.write(o));
        out.number(|o| write_number(o, random.between(10..=100)));
        let districts: [u8; 240] = letters::<60, 240>(random);
        for letters in districts.chunks_exact(24) {
            out.text(|o| o.extend_from_slice(letters));
        }
        out.number(constant(b"0"));
        out.number(constant(b"0"));
        out.number(constant(b"0"));
        out.text(|o| write_data(o, random, original));
        out.end_row();
        1
    }

    #[inline]
    pub(super) fn customer(&mut self, out: &mut impl RowFormat) -> u32 {
        let RowWriter { population, chunk, random, district, number, tenth, .. } = self;
        let bad_credit = tenth.next(random);
        // The first thousand take every name once, so that no name is missing in any district
        // (4.3.3.1).
        let name = match *number {
            n @ 1..=1000 => n - 1,
            _ => last_name_number(population.c_load, random),
        };
        out.number(|o| write_number(o, *number));
        out.number(|o| write_number(o, *district));
        out.number(|o| write_number(o, chunk.warehouse));
        out.text(|o| write_a_string(o, random, 8..=16));
        out.text(constant(b"OE"));
        out.text(constant(last_name(name)));
        write_address(out, random);
        out.text(|o| write_n_string(o, random, 16));
        out.text(constant(POPULATION_TIME));
        out.text(constant(if bad_credit { b"BC" } else { b"GC" }));
        out.number(constant(b"50000.00"));
        out.number(|o| write_fraction(o, random.between(0..=5_000)));
        out.number(constant(b"-10.00"));
        out.number(constant(b"10.00"));
        out.number(constant(b"1"));
        out.number(constant(b"0"));
        out.text(|o| write_a_string(o, random, 300..=500));
        out.end_row();
        1
    }

    #[inline]
    pub(super) fn history(&mut self, out: &mut impl RowFormat) -> u32 {
        let (warehouse, district) = (Digits::of(self.chunk.warehouse), Digits::of(self.district));
        out.number(|o| write_number(o, self.number));
        out.number(|o| district.write(o));
        out.number(|o| warehouse.write(o));
        out.number(|o| district.write(o));
        out.number(|o| warehouse.write(o));
        out.text(constant(POPULATION_TIME));
        out.number(constant(b"10.00"));
        out.text(|o| write_a_string(o, &mut self.random, 12..=24));
        out.end_row();
        1
    }

    #[inline]
    pub(super) fn order(&mut self, out: &mut impl RowFormat) -> u32 {
        let RowWriter { chunk, random, district, number, line_counts, customers, .. } = self;
        let customer = customers[*number as usize - 1];
        out.number(|o| write_number(o, *number));
        out.number(|o| write_number(o, *district));
        out.number(|o| write_number(o, chunk.warehouse));
        out.number(|o| write_number(o, customer));
        out.text(constant(POPULATION_TIME));
        if *number < FIRST_OPEN_ORDER {
            out.number(|o| write_number(o, random.between(1..=10)));
        } else {
            out.null();
        }
        out.number(|o| write_number(o, line_counts.between(LINES)));
        out.number(constant(b"1"));
        out.end_row();
        1
    }

    #[inline]
    pub(super) fn new_order(&mut self, out: &mut impl RowFormat) -> u32 {
        out.number(|o| write_number(o, self.number));
        out.number(|o| write_number(o, self.district));
        out.number(|o| write_number(o, self.chunk.warehouse));
        out.end_row();
        1
    }

    #[inline]
    pub(super) fn order_lines(&mut self, out: &mut impl RowFormat) -> u32 {
        let lines = self.line_counts.between(LINES);
        let random = &mut self.random;
        let order = Digits::of(self.number);
        let district = Digits::of(self.district);
        let warehouse = Digits::of(self.chunk.warehouse);
        let delivered = self.number < FIRST_OPEN_ORDER;
        for line in 1..=lines {
            out.number(|o| order.write(o));
            out.number(|o| district.write(o));
            out.number(|o| warehouse.write(o));
            out.number(|o| write_number(o, line));
            out.number(|o| write_number(o, random.between(1..=ITEMS)));
            out.number(|o| warehouse.write(o));
            if delivered {
                out.text(constant(POPULATION_TIME));
                out.number(constant(b"5"));
                out.number(constant(b"0.00"));
            } else {
                out.null();
                out.number(constant(b"5"));
                out.number(|o| write_hundredths(o, random.between(1..=999_999)));
            }
            out.text(|o| o.extend_from_slice(&letters::<6, 24>(random)));
            out.end_row();
        }
        lines
    }
}
