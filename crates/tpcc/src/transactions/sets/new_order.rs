//! New-Order (clause 2.4): three round trips. Lines from the home warehouse are one set; a remote
//! line, and an item that the order has already, go alone.

use super::{LINES_MIN, Sets};
use crate::input::{LINES_MAX, NewOrder, OrderLine, UNUSED_ITEM};
use crate::transactions::rules::{PriceRates, Stocked, contains_original, one_row, only_row, sum};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Answer, Param, Session};
use std::hint::black_box;

/// How a line is read and written.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// In the set of the home warehouse.
    Set,
    Remote,
    /// Its stock row is read with the line before.
    Again,
}

fn way(order: &NewOrder, index: usize) -> Way {
    if order.repeats(index) {
        Way::Again
    } else if order.lines()[index].supply_warehouse == order.warehouse {
        Way::Set
    } else {
        Way::Remote
    }
}

/// The lines that travel in this way, with their index.
fn by_way(order: &NewOrder, wanted: Way) -> impl Iterator<Item = (usize, &OrderLine)> + Clone {
    let lines = order.lines().iter().enumerate();
    lines.filter(move |(index, _)| way(order, *index) == wanted)
}

/// Fills `params` with what `members` gives, N for each, and what is left with the last one again.
fn fill<'a, const N: usize>(
    params: &mut [Param<'a>],
    members: impl Iterator<Item = [Param<'a>; N]>,
) {
    // Without a member, an item that nobody has matches nothing.
    let mut last = [Param::from(UNUSED_ITEM); N];
    let mut places = params.chunks_exact_mut(N);
    for (member, place) in members.zip(&mut places) {
        last = member;
        place.copy_from_slice(&member);
    }
    places.for_each(|place| place.copy_from_slice(&last));
}

impl Sets {
    pub(in crate::transactions) async fn new_order<S: Session>(
        &self,
        session: &mut S,
        order: &NewOrder,
    ) -> Result<Outcome, TransactionError> {
        self.ask_order(session, order)?;
        let mut stocked = [Stocked::default(); LINES_MAX];
        let (order_id, rates) = read_head(session).await?;
        let used = read_items(&session.answer().await?, order, &mut stocked)?;
        read_stocks(session, order, used, &mut stocked).await?;
        one_row(&session.answer().await?, "the new order")?;
        one_row(&session.answer().await?, "the new order's queue entry")?;
        let lines = &order.lines()[..used];
        self.write_stocks(session, order, lines, &stocked)?;
        self.write_lines(session, order, order_id, lines, &stocked)?;
        written(session, order, used).await?;
        black_box(rates.total(sum(lines, &stocked)));
        if used < order.lines().len() {
            session.query("ROLLBACK").await?;
            return Ok(Outcome::RolledBack);
        }
        commit(session).await?;
        Ok(Outcome::Committed)
    }

    /// Queues what needs nothing but the input: every read, the order and its queue entry.
    fn ask_order<S: Session>(
        &self,
        session: &mut S,
        order: &NewOrder,
    ) -> Result<(), TransactionError> {
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        let customer = Param::from(order.customer);
        // Before the first plain read, which fixes what this transaction sees: others wait for this
        // row too.
        session.queue(self.statements.update_next_order, &[w, d])?;
        session.queue(self.statements.select_rates, &[w, w, d, w, d, customer])?;
        let mut items = [Param::Null; LINES_MAX];
        fill(&mut items, order.lines().iter().map(|line| [line.item.into()]));
        session.queue(self.statements.select_items, &items)?;
        let mut home = [w; 1 + LINES_MAX];
        fill(&mut home[1..], by_way(order, Way::Set).map(|(_, line)| [line.item.into()]));
        // Stock rows are locked in one order by all: by warehouse, then by item.
        let stock = self.stock.of(order.district);
        let ask_remote = |session: &mut S, below: bool| -> Result<(), TransactionError> {
            for (_, line) in by_way(order, Way::Remote) {
                if (line.supply_warehouse < order.warehouse) == below {
                    session.queue(stock, &[line.supply_warehouse.into(), line.item.into()])?;
                }
            }
            Ok(())
        };
        ask_remote(session, true)?;
        session.queue(self.stocks.of(order.district), &home)?;
        ask_remote(session, false)?;
        // The number comes from LAST_INSERT_ID().
        let [_, values @ ..] = order.order_row(0);
        session.queue(self.statements.insert_order, &values)?;
        session.queue(self.statements.insert_new_order, &[d, w])?;
        Ok(())
    }

    fn write_stocks<S: Session>(
        &self,
        session: &mut S,
        order: &NewOrder,
        lines: &[OrderLine],
        stocked: &[Stocked; LINES_MAX],
    ) -> Result<(), TransactionError> {
        let used = lines.len();
        let set = by_way(order, Way::Set).filter(|(index, _)| *index < used);
        let mut params = [Param::from(order.warehouse); 5 * LINES_MAX + 1];
        let after = |(index, line): (usize, &OrderLine)| {
            [line.item.into(), Param::Int(stocked[index].quantity_after)]
        };
        fill(&mut params[..2 * LINES_MAX], set.clone().map(after));
        let ordered = |(_, line): (usize, &OrderLine)| [line.item.into(), line.quantity.into()];
        fill(&mut params[2 * LINES_MAX..4 * LINES_MAX], set.clone().map(ordered));
        let items = set.map(|(_, line)| [line.item.into()]);
        fill(&mut params[4 * LINES_MAX + 1..], items);
        session.queue(self.statements.update_stocks, &params)?;
        for (index, line) in lines.iter().enumerate() {
            if way(order, index) != Way::Set {
                let changes = stocked[index].stock_changes(order, line);
                session.queue(self.statements.update_stock, &changes)?;
            }
        }
        Ok(())
    }

    fn write_lines<S: Session>(
        &self,
        session: &mut S,
        order: &NewOrder,
        order_id: i64,
        lines: &[OrderLine],
        stocked: &[Stocked; LINES_MAX],
    ) -> Result<(), TransactionError> {
        const WIDTH: usize = 9;
        let index = lines.len().checked_sub(LINES_MIN);
        let insert = index.and_then(|index| self.insert_lines.get(index));
        let insert = *insert.ok_or(TransactionError::MissingRow("the items of the order"))?;
        let mut values = [Param::Null; WIDTH * LINES_MAX];
        for (values, (line, stocked)) in
            values.chunks_exact_mut(WIDTH).zip(lines.iter().zip(stocked))
        {
            values.copy_from_slice(&stocked.line_row(order, order_id, line));
        }
        session.queue(insert, &values[..WIDTH * lines.len()])?;
        Ok(())
    }
}

/// The order's number, and what its price depends on.
async fn read_head<S: Session>(session: &mut S) -> Result<(i64, PriceRates), TransactionError> {
    let answer = session.answer().await?;
    one_row(&answer, "the order's district")?;
    let order_id = answer.last_insert_id as i64;
    let answer = session.answer().await?;
    let row = only_row(&answer, "the order's customer, district and warehouse")?;
    black_box((row.bytes(1)?, row.bytes(2)?));
    let rates =
        PriceRates { discount: row.decimal(0, 4)?, taxes: row.decimal(3, 4)? + row.decimal(4, 4)? };
    Ok((order_id, rates))
}

/// Finds the items of the lines; returns how many lines have one, which is all but perhaps the
/// last.
fn read_items(
    answer: &Answer<'_>,
    order: &NewOrder,
    stocked: &mut [Stocked; LINES_MAX],
) -> Result<usize, TransactionError> {
    let mut found = 0;
    for row in answer.rows() {
        let item = row.int(0)?;
        let (price, original_item) = (row.cents(1)?, contains_original(row.bytes(3)?));
        black_box(row.bytes(2)?);
        for (line, stocked) in order.lines().iter().zip(stocked.iter_mut()) {
            if i64::from(line.item) == item {
                (stocked.price, stocked.original_item) = (price, original_item);
                found += 1;
            }
        }
    }
    let lines = order.lines();
    let unused = lines.last().is_some_and(|line| line.item == UNUSED_ITEM);
    match lines.len() - found {
        0 => Ok(found),
        1 if unused => Ok(found),
        _ => Err(TransactionError::MissingRow("an item of the order")),
    }
}

/// Reads the stock rows of all lines that have an item.
async fn read_stocks<S: Session>(
    session: &mut S,
    order: &NewOrder,
    used: usize,
    stocked: &mut [Stocked; LINES_MAX],
) -> Result<(), TransactionError> {
    let lines = &order.lines()[..used];
    let mut found = read_remote(session, order, true, stocked).await?;
    let answer = session.answer().await?;
    for row in answer.rows() {
        let item = row.int(3)?;
        let of_row = |(_, line): &(usize, &OrderLine)| i64::from(line.item) == item;
        if let Some((index, line)) = by_way(order, Way::Set).find(of_row) {
            stocked[index].take(line, &row)?;
            found += 1;
        }
    }
    found += read_remote(session, order, false, stocked).await?;
    for index in 1..lines.len() {
        if way(order, index) == Way::Again {
            let other = stocked[index - 1];
            stocked[index].take_after(&other, &lines[index]);
            found += 1;
        }
    }
    match found == used {
        true => Ok(()),
        false => Err(TransactionError::MissingRow("the stock of an item")),
    }
}

/// Reads the stock rows of the remote warehouses `below` home, or above it; returns how many.
async fn read_remote<S: Session>(
    session: &mut S,
    order: &NewOrder,
    below: bool,
    stocked: &mut [Stocked; LINES_MAX],
) -> Result<usize, TransactionError> {
    let mut found = 0;
    for (index, line) in by_way(order, Way::Remote) {
        if (line.supply_warehouse < order.warehouse) == below {
            let answer = session.answer().await?;
            if line.item == UNUSED_ITEM {
                continue;
            }
            let row = only_row(&answer, "the stock of an item")?;
            stocked[index].take(line, &row)?;
            found += 1;
        }
    }
    Ok(found)
}

/// Reads the answers to all that was written.
async fn written<S: Session>(
    session: &mut S,
    order: &NewOrder,
    used: usize,
) -> Result<(), TransactionError> {
    let in_set = by_way(order, Way::Set).filter(|(index, _)| *index < used).count();
    if session.answer().await?.affected_rows != in_set as u64 {
        return Err(TransactionError::MissingRow("the stock of an item"));
    }
    for _ in in_set..used {
        one_row(&session.answer().await?, "the stock of an item")?;
    }
    match session.answer().await?.affected_rows == used as u64 {
        true => Ok(()),
        false => Err(TransactionError::MissingRow("the new order lines")),
    }
}
