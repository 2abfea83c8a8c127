//! The rules of clause 4.3.3.1, table by table: what each row holds.
//!
//! Where the clause says "10 % of the rows, at random", exactly a tenth is chosen (selection
//! sampling, one draw per row, every subset equally likely), so that the share never leaves the 5 %
//! that the clause allows, by no seed.

use super::format::{
    Digits, RowFormat, write_four_digits, write_fraction, write_hundredths, write_number,
};
use crate::random::{
    Constants, last_name, letters, write_a_string, write_capitals, write_n_string,
};
use crate::schema::{CUSTOMERS, DISTRICTS, FIRST_OPEN_ORDER, ITEMS, Table};
use base::Random;

/// Every date of the population: C_SINCE, H_DATE, O_ENTRY_D, and OL_DELIVERY_D of delivered lines.
/// The clause says "the current date and time"; one constant instant stands for it, because two
/// loads of one seed must be equal to the byte (contract 7), on whatever day they run.
pub const POPULATION_TIME: &[u8] = b"2026-01-01 00:00:00";

/// First step of the path of every stream of the population.
const PATH_POPULATION: u64 = 0x7470_6363_0000_0002;

/// What the rows of one chunk derive from.
#[derive(Clone, Copy)]
pub(super) struct ChunkSource {
    pub(super) seed: u64,
    pub(super) constants: Constants,
    pub(super) warehouse: u32,
}

/// The streams of a district (or of a warehouse or of the items, where there is none). Their
/// numbers, not the order of [`Table`], are part of what a seed means.
#[derive(Clone, Copy)]
enum Stream {
    Item = 1,
    Warehouse = 2,
    District = 3,
    Stock = 4,
    Customer = 5,
    History = 6,
    Orders = 7,
    OrderLine = 8,
    /// O_OL_CNT, which orders and their lines must agree on.
    LineCounts = 9,
}

impl ChunkSource {
    fn random(self, stream: Stream, district: u32) -> Random {
        let path = [PATH_POPULATION, stream as u64, u64::from(self.warehouse), u64::from(district)];
        Random::new(self.seed, &path)
    }
}

/// Writes the rows of one chunk, a few at a time.
pub(super) trait RowGenerator {
    /// Writes the next row, or the next order's lines (15 at most); returns how many rows, 0 where
    /// there are no more.
    fn write(&mut self, out: &mut impl RowFormat) -> u32;
}

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

pub(super) struct Items {
    random: Random,
    original: Tenth,
    next: u32,
}

impl RowGenerator for Items {
    #[inline]
    fn write(&mut self, out: &mut impl RowFormat) -> u32 {
        if self.next > ITEMS {
            return 0;
        }
        let random = &mut self.random;
        let original = self.original.next(random);
        out.number(|o| write_number(o, self.next));
        out.number(|o| write_number(o, random.between(1..=10_000)));
        out.text(|o| write_a_string(o, random, 14..=24));
        out.number(|o| write_hundredths(o, random.between(100..=10_000)));
        out.text(|o| write_data(o, random, original));
        out.end_row();
        self.next += 1;
        1
    }
}

pub(super) struct WarehouseRow {
    source: ChunkSource,
    done: bool,
}

impl RowGenerator for WarehouseRow {
    fn write(&mut self, out: &mut impl RowFormat) -> u32 {
        if std::mem::replace(&mut self.done, true) {
            return 0;
        }
        let random = &mut self.source.random(Stream::Warehouse, 0);
        out.number(|o| write_number(o, self.source.warehouse));
        out.text(|o| write_a_string(o, random, 6..=10));
        write_address(out, random);
        out.number(|o| write_fraction(o, random.between(0..=2_000)));
        out.number(constant(b"300000.00"));
        out.end_row();
        1
    }
}

pub(super) struct Districts {
    source: ChunkSource,
    next: u32,
}

impl RowGenerator for Districts {
    fn write(&mut self, out: &mut impl RowFormat) -> u32 {
        if self.next > DISTRICTS {
            return 0;
        }
        let random = &mut self.source.random(Stream::District, self.next);
        out.number(|o| write_number(o, self.next));
        out.number(|o| write_number(o, self.source.warehouse));
        out.text(|o| write_a_string(o, random, 6..=10));
        write_address(out, random);
        out.number(|o| write_fraction(o, random.between(0..=2_000)));
        out.number(constant(b"30000.00"));
        out.number(|o| write_number(o, CUSTOMERS + 1));
        out.end_row();
        self.next += 1;
        1
    }
}

pub(super) struct StockRows {
    random: Random,
    original: Tenth,
    warehouse: Digits,
    next: u32,
}

impl RowGenerator for StockRows {
    #[inline]
    fn write(&mut self, out: &mut impl RowFormat) -> u32 {
        if self.next > ITEMS {
            return 0;
        }
        let random = &mut self.random;
        let original = self.original.next(random);
        out.number(|o| write_number(o, self.next));
        out.number(|o| self.warehouse.write(o));
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
        self.next += 1;
        1
    }
}

/// Rows of ten districts, one after the other, 3,000 rows (or orders) each, with a stream for each
/// district.
struct DistrictRows {
    source: ChunkSource,
    stream: Stream,
    random: Random,
    district: u32,
    /// Number within the district, from 1.
    number: u32,
}

impl DistrictRows {
    fn new(source: ChunkSource, stream: Stream) -> DistrictRows {
        DistrictRows { source, stream, random: source.random(stream, 1), district: 1, number: 0 }
    }

    /// The next row's district and number; `true` where the district is a new one.
    #[inline]
    fn advance(&mut self) -> Option<bool> {
        if self.number == CUSTOMERS {
            if self.district == DISTRICTS {
                return None;
            }
            self.district += 1;
            self.number = 0;
            self.random = self.source.random(self.stream, self.district);
        }
        self.number += 1;
        Some(self.number == 1)
    }
}

pub(super) struct Customers {
    at: DistrictRows,
    bad_credit: Tenth,
}

impl RowGenerator for Customers {
    #[inline]
    fn write(&mut self, out: &mut impl RowFormat) -> u32 {
        let Some(new_district) = self.at.advance() else {
            return 0;
        };
        if new_district {
            self.bad_credit = Tenth::of(CUSTOMERS);
        }
        let DistrictRows { source, random, district, number, .. } = &mut self.at;
        let bad_credit = self.bad_credit.next(random);
        // The first thousand take every name once, so that no name is missing in any district
        // (4.3.3.1).
        let name = match *number {
            n @ 1..=1000 => n - 1,
            _ => source.constants.last_name_number(random),
        };
        out.number(|o| write_number(o, *number));
        out.number(|o| write_number(o, *district));
        out.number(|o| write_number(o, source.warehouse));
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
}

pub(super) struct HistoryRows {
    at: DistrictRows,
}

impl RowGenerator for HistoryRows {
    #[inline]
    fn write(&mut self, out: &mut impl RowFormat) -> u32 {
        if self.at.advance().is_none() {
            return 0;
        }
        let (warehouse, district) =
            (Digits::of(self.at.source.warehouse), Digits::of(self.at.district));
        out.number(|o| write_number(o, self.at.number));
        out.number(|o| district.write(o));
        out.number(|o| warehouse.write(o));
        out.number(|o| district.write(o));
        out.number(|o| warehouse.write(o));
        out.text(constant(POPULATION_TIME));
        out.number(constant(b"10.00"));
        out.text(|o| write_a_string(o, &mut self.at.random, 12..=24));
        out.end_row();
        1
    }
}

/// O_OL_CNT of the orders of a district, in order: rnd(5..15) from a stream of its own, which the
/// lines draw again.
struct LineCounts(Random);

impl LineCounts {
    fn of(source: ChunkSource, district: u32) -> LineCounts {
        LineCounts(source.random(Stream::LineCounts, district))
    }

    #[inline]
    fn next(&mut self) -> u32 {
        self.0.between(5..=15)
    }
}

pub(super) struct OrderRows {
    at: DistrictRows,
    line_counts: LineCounts,
    /// O_C_ID of the district's orders: a random order of its customers, a fresh one for each
    /// district.
    customers: Box<[u32]>,
}

impl RowGenerator for OrderRows {
    #[inline]
    fn write(&mut self, out: &mut impl RowFormat) -> u32 {
        let Some(new_district) = self.at.advance() else {
            return 0;
        };
        if new_district {
            self.line_counts = LineCounts::of(self.at.source, self.at.district);
            for (customer, id) in self.customers.iter_mut().zip(1..) {
                *customer = id;
            }
            self.at.random.shuffle(&mut self.customers);
        }
        let DistrictRows { source, random, district, number, .. } = &mut self.at;
        let customer = self.customers[*number as usize - 1];
        out.number(|o| write_number(o, *number));
        out.number(|o| write_number(o, *district));
        out.number(|o| write_number(o, source.warehouse));
        out.number(|o| write_number(o, customer));
        out.text(constant(POPULATION_TIME));
        if *number < FIRST_OPEN_ORDER {
            out.number(|o| write_number(o, random.between(1..=10)));
        } else {
            out.null();
        }
        out.number(|o| write_number(o, self.line_counts.next()));
        out.number(constant(b"1"));
        out.end_row();
        1
    }
}

pub(super) struct NewOrderRows {
    warehouse: u32,
    district: u32,
    next: u32,
}

impl RowGenerator for NewOrderRows {
    #[inline]
    fn write(&mut self, out: &mut impl RowFormat) -> u32 {
        if self.next > CUSTOMERS {
            self.next = FIRST_OPEN_ORDER;
            self.district += 1;
        }
        if self.district > DISTRICTS {
            return 0;
        }
        out.number(|o| write_number(o, self.next));
        out.number(|o| write_number(o, self.district));
        out.number(|o| write_number(o, self.warehouse));
        out.end_row();
        self.next += 1;
        1
    }
}

pub(super) struct OrderLines {
    at: DistrictRows,
    line_counts: LineCounts,
}

impl RowGenerator for OrderLines {
    #[inline]
    fn write(&mut self, out: &mut impl RowFormat) -> u32 {
        let Some(new_district) = self.at.advance() else {
            return 0;
        };
        if new_district {
            self.line_counts = LineCounts::of(self.at.source, self.at.district);
        }
        let lines = self.line_counts.next();
        let random = &mut self.at.random;
        let order = Digits::of(self.at.number);
        let district = Digits::of(self.at.district);
        let warehouse = Digits::of(self.at.source.warehouse);
        let delivered = self.at.number < FIRST_OPEN_ORDER;
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

/// The generator of any table; which one is decided once per buffer, not per row.
pub(super) enum AnyGenerator {
    Items(Items),
    Warehouse(WarehouseRow),
    Districts(Districts),
    Stock(StockRows),
    Customers(Customers),
    History(HistoryRows),
    Orders(OrderRows),
    NewOrders(NewOrderRows),
    OrderLines(OrderLines),
}

impl AnyGenerator {
    pub(super) fn new(table: Table, source: ChunkSource) -> AnyGenerator {
        match table {
            Table::Item => AnyGenerator::Items(Items {
                random: source.random(Stream::Item, 0),
                original: Tenth::of(ITEMS),
                next: 1,
            }),
            Table::Warehouse => AnyGenerator::Warehouse(WarehouseRow { source, done: false }),
            Table::District => AnyGenerator::Districts(Districts { source, next: 1 }),
            Table::Stock => AnyGenerator::Stock(StockRows {
                random: source.random(Stream::Stock, 0),
                original: Tenth::of(ITEMS),
                warehouse: Digits::of(source.warehouse),
                next: 1,
            }),
            Table::Customer => AnyGenerator::Customers(Customers {
                at: DistrictRows::new(source, Stream::Customer),
                bad_credit: Tenth::of(CUSTOMERS),
            }),
            Table::History => AnyGenerator::History(HistoryRows {
                at: DistrictRows::new(source, Stream::History),
            }),
            Table::Orders => AnyGenerator::Orders(OrderRows {
                at: DistrictRows::new(source, Stream::Orders),
                line_counts: LineCounts::of(source, 1),
                customers: vec![0; CUSTOMERS as usize].into(),
            }),
            Table::NewOrders => AnyGenerator::NewOrders(NewOrderRows {
                warehouse: source.warehouse,
                district: 1,
                next: FIRST_OPEN_ORDER,
            }),
            Table::OrderLine => AnyGenerator::OrderLines(OrderLines {
                at: DistrictRows::new(source, Stream::OrderLine),
                line_counts: LineCounts::of(source, 1),
            }),
        }
    }
}
