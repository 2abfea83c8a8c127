//! What clause 2 computes from what was read.

use super::outcome::{StepResult, TransactionError};
use crate::input::{CustomerKey, LINES_MAX, NewOrder, OrderLine, Payment, UNUSED_ITEM};
use crate::schema::DISTRICTS;
use base::{Answer, Cents, Param, Row, Session, SessionError, SessionResult, StatementId};
use std::hint::black_box;
use std::io::Write;

/// What the customer, district and warehouse say about the price, in ten-thousandths.
pub(crate) struct PriceRates {
    pub(crate) discount: i64,
    pub(crate) taxes: i64,
}

impl PriceRates {
    /// sum(ol_amount) * (1 - c_discount) * (1 + w_tax + d_tax), to the cent (clause 2.4.2.2).
    pub(super) fn total(&self, sum: Cents) -> Cents {
        let exact = i128::from(sum.0)
            * i128::from(10_000 - self.discount)
            * i128::from(10_000 + self.taxes);
        Cents(((exact + 50_000_000) / 100_000_000) as i64)
    }
}

/// Least stock that an order leaves as it is (clause 2.4.2.2).
const STOCK_MIN: i64 = 10;

/// What an order leaves of stock, which is refilled by 91 where less than `least` would remain.
pub(super) fn stock_after(quantity: i64, ordered: u32, least: i64) -> i64 {
    let left = quantity - i64::from(ordered);
    if left >= least { left } else { left + 91 }
}

/// What a line of an order needs that was read.
#[derive(Clone, Copy, Default)]
pub(super) struct Stocked {
    pub(super) price: Cents,
    pub(super) original_item: bool,
    /// s_quantity when the line has been taken from it.
    pub(super) quantity_after: i64,
    dist_info: [u8; 24],
    dist_len: usize,
}

impl Stocked {
    /// Takes the line from its stock row: quantity, district information, data.
    pub(super) fn take(&mut self, line: &OrderLine, row: &Row<'_>) -> StepResult {
        self.quantity_after = stock_after(row.int(0)?, line.quantity, STOCK_MIN);
        // s_dist_xx is 24 characters (clause 1.3.1).
        let dist = row.bytes(1)?;
        self.dist_len = dist.len().min(self.dist_info.len());
        self.dist_info[..self.dist_len].copy_from_slice(&dist[..self.dist_len]);
        // The brand, clause 2.4.2.2.
        black_box(self.original_item && contains_original(row.bytes(2)?));
        Ok(())
    }

    /// Takes the line from what another line of the same stock row has left: the row was read
    /// before either.
    pub(super) fn take_after(&mut self, other: &Stocked, line: &OrderLine) {
        *self = *other;
        self.quantity_after = stock_after(other.quantity_after, line.quantity, STOCK_MIN);
    }

    /// The values of the line's row, in the order of the INSERTs.
    pub(super) fn line_row(&self, order: &NewOrder, id: i64, line: &OrderLine) -> [Param<'_>; 9] {
        let dist_info = &self.dist_info[..self.dist_len];
        order.line_row(id, line, (line.amount(self.price), dist_info))
    }

    /// The parameters of the UPDATE of the line's stock row.
    pub(super) fn stock_changes(&self, order: &NewOrder, line: &OrderLine) -> [Param<'static>; 5] {
        [
            Param::Int(self.quantity_after),
            line.quantity.into(),
            Param::Int(i64::from(line.supply_warehouse != order.warehouse)),
            line.supply_warehouse.into(),
            line.item.into(),
        ]
    }
}

/// An order with what its lines need that was read.
pub(super) struct StockedOrder<'a> {
    pub(super) order: &'a NewOrder,
    pub(super) stocked: [Stocked; LINES_MAX],
    /// How many lines have an item, which is all but perhaps the last.
    pub(super) used: usize,
}

impl<'a> StockedOrder<'a> {
    pub(super) fn new(order: &'a NewOrder) -> StockedOrder<'a> {
        StockedOrder { order, stocked: [Stocked::default(); LINES_MAX], used: 0 }
    }

    /// Takes the price and the brand of the next line from its item's row: price, name, data.
    pub(super) fn take_item(&mut self, row: &Row<'_>) -> StepResult {
        let stocked = &mut self.stocked[self.used];
        stocked.price = row.cents(0)?;
        black_box(row.bytes(1)?);
        stocked.original_item = contains_original(row.bytes(2)?);
        self.used += 1;
        Ok(())
    }

    /// Takes a line from its stock row, which this is the answer of, or from what the line before
    /// has left of it.
    pub(super) fn take_stock(&mut self, index: usize, answer: &Answer<'_>) -> StepResult {
        let line = &self.order.lines()[index];
        self.stocked[index].take(line, &only_row(answer, "the stock of an item")?)?;
        if self.order.repeats(index) {
            let other = self.stocked[index - 1];
            self.stocked[index].take_after(&other, line);
        }
        Ok(())
    }

    /// The lines that have an item, with what was read for them.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&OrderLine, &Stocked)> {
        self.order.lines().iter().zip(&self.stocked).take(self.used)
    }

    /// Have all lines an item?
    pub(super) fn is_whole(&self) -> bool {
        self.used == self.order.lines().len()
    }

    /// The sum of the amounts of its lines.
    pub(super) fn sum(&self) -> Cents {
        Cents(self.lines().map(|(line, stocked)| line.amount(stocked.price).0).sum())
    }
}

/// The statements that find and lock a paying customer, whom a wave asks for together with others.
pub(super) struct Payer {
    pub(super) by_name: StatementId,
    pub(super) lock: StatementId,
}

impl Payer {
    /// Queues the lock of a customer who is named by number, or asks for those of a last name.
    pub(super) fn ask<S: Session>(&self, session: &mut S, payment: &Payment) -> SessionResult<()> {
        let statement = match payment.customer {
            CustomerKey::Number(_) => self.lock,
            CustomerKey::LastName(_) => self.by_name,
        };
        session.queue(statement, &payment.customer_key(payment.customer))
    }

    /// The customer's number; the answer to come is that of the lock.
    pub(super) async fn number<S: Session>(
        &self,
        session: &mut S,
        payment: &Payment,
    ) -> StepResult<u32> {
        if let CustomerKey::Number(number) = payment.customer {
            return Ok(number);
        }
        let found = middle_row(&session.answer().await?)?.int(0)?;
        let number = u32::try_from(found)
            .map_err(|_| TransactionError::MissingRow("a customer with a valid number"))?;
        session.queue(self.lock, &payment.customer_key(number))?;
        Ok(number)
    }
}

/// Has the paying customer, of whom `lock_customer` gives this row, bad credit?
pub(super) fn has_bad_credit(row: &Row<'_>) -> StepResult<bool> {
    black_box((row.cents(13)?, row.decimal(12, 4)?));
    Ok(row.bytes(10)? == b"BC")
}

/// The row of a line's item; none where the item is unused.
pub(super) fn item_row<'a>(answer: &Answer<'a>, line: &OrderLine) -> StepResult<Option<Row<'a>>> {
    match answer.row(0) {
        None if line.item != UNUSED_ITEM => {
            Err(TransactionError::MissingRow("an item of the order"))
        }
        row => Ok(row),
    }
}

/// By district, from 0; none where nothing is to be delivered.
pub(super) type ByDistrict<T> = [Option<T>; DISTRICTS as usize];

/// The oldest open order of each district, by `lock_oldest_order`: a locking read, as without the
/// lock two Deliveries could take the same order.
pub(super) async fn oldest_orders<S: Session>(
    session: &mut S,
    lock_oldest_order: StatementId,
    warehouse: u32,
) -> StepResult<ByDistrict<i64>> {
    for district in 1..=DISTRICTS {
        session.queue(lock_oldest_order, &[warehouse.into(), district.into()])?;
    }
    let mut orders = [None; DISTRICTS as usize];
    for order in &mut orders {
        *order = session.answer().await?.int()?;
    }
    Ok(orders)
}

/// Reads the lines of an order that an Order-Status shows, which has one at least; their columns
/// begin with this one.
pub(super) fn show_lines(answer: &Answer<'_>, first: usize, what: &'static str) -> StepResult {
    only_row(answer, what)?;
    for line in answer.rows() {
        black_box((line.int(first)?, line.int(first + 1)?, line.int(first + 2)?));
        black_box(line.cents(first + 3)?);
    }
    Ok(())
}

pub(super) fn contains_original(text: &[u8]) -> bool {
    text.windows(8).any(|window| window == b"ORIGINAL")
}

/// The first row of an answer that must have one.
pub(crate) fn only_row<'a>(answer: &Answer<'a>, what: &'static str) -> StepResult<Row<'a>> {
    answer.row(0).ok_or(TransactionError::MissingRow(what))
}

/// The number of an order or a customer, as its row has it.
pub(crate) fn number(value: i64) -> StepResult<u32> {
    let wrong =
        || SessionError::Unexpected(format!("{value} is no number of an order or customer"));
    Ok(u32::try_from(value).map_err(|_| wrong())?)
}

/// Fails where what must be there is not.
pub(crate) fn require(is_there: bool, what: &'static str) -> StepResult {
    if is_there { Ok(()) } else { Err(TransactionError::MissingRow(what)) }
}

/// The row at position ceil(n/2), counted from 1, of the customers with one last name (clauses
/// 2.5.2.2, 2.6.2.2).
pub(crate) fn middle_row<'a>(answer: &Answer<'a>) -> StepResult<Row<'a>> {
    let middle = answer.len().saturating_sub(1) / 2;
    answer.row(middle).ok_or(TransactionError::MissingRow("a customer with this last name"))
}

/// Width of c_data (clause 1.3.1).
const C_DATA_MAX: usize = 500;

/// Appends the new c_data of a customer with bad credit: this payment at the left, the old text
/// shifted to the right and cut (clause 2.5.2.2).
pub(super) fn append_customer_data(
    text: &mut Vec<u8>,
    payment: &Payment,
    customer: u32,
    old: &[u8],
) {
    let start = text.len();
    let Payment { warehouse, district, customer_warehouse, customer_district, amount, .. } =
        payment;
    // Writing to a vector cannot fail.
    let _ = write!(
        text,
        "{customer} {customer_district} {customer_warehouse} {district} {warehouse} {amount}|"
    );
    append_cut(text, start, old);
    // Output shows the first 200 characters (clause 2.5.3.3).
    black_box(&text[start..]);
}

/// Appends the old c_data to the new one that begins at `start`, as far as it has room.
pub(super) fn append_cut(text: &mut Vec<u8>, start: usize, old: &[u8]) {
    text.extend_from_slice(old);
    text.truncate(start + C_DATA_MAX);
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::SqlValue;

    #[test]
    fn the_middle_is_rounded_up_from_one() {
        for (rows, expected) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3)] {
            let cells: Vec<SqlValue> = (1..=rows).map(SqlValue::Int).collect();
            let answer = Answer {
                affected_rows: 0,
                last_insert_id: 0,
                width: 1,
                cells: &cells,
                bytes: &[],
                more: false,
            };
            assert_eq!(middle_row(&answer).unwrap().int(0).unwrap(), expected, "of {rows}");
        }
        let none = Answer {
            affected_rows: 0,
            last_insert_id: 0,
            width: 1,
            cells: &[],
            bytes: &[],
            more: false,
        };
        assert!(middle_row(&none).is_err());
    }

    #[test]
    fn stock_stays_between_10_and_100() {
        for quantity in 10..=100 {
            for ordered in 1..=10 {
                let after = stock_after(quantity, ordered, STOCK_MIN);
                assert!((10..=100).contains(&after), "{quantity} - {ordered} = {after}");
                assert_eq!((after - quantity + i64::from(ordered)) % 91, 0);
            }
        }
        assert_eq!(stock_after(20, 10, STOCK_MIN), 10);
        assert_eq!(stock_after(19, 10, STOCK_MIN), 100);
    }

    #[test]
    fn totals_are_exact() {
        let rates = PriceRates { discount: 5_000, taxes: 4_000 };
        assert_eq!(rates.total(Cents(10_000)), Cents(7_000));
        let nothing_off = PriceRates { discount: 0, taxes: 0 };
        assert_eq!(nothing_off.total(Cents(123_456)), Cents(123_456));
        let odd = PriceRates { discount: 1_234, taxes: 1_999 + 777 };
        // 99.99 * 0.8766 * 1.2776 = 111.9831...
        assert_eq!(odd.total(Cents(9_999)), Cents(11_198));
    }

    #[test]
    fn brands_are_upper_case() {
        assert!(contains_original(b"xxORIGINALyy"));
        assert!(!contains_original(b"xxoriginalyy"));
        assert!(!contains_original(b"ORIGINA"));
    }
}
