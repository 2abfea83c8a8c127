//! New-Order (clause 2.4): three round trips. Lines from the home warehouse are one set; a remote
//! line, and an item that the order has already, go alone.

use super::{LINES_MIN, Sets};
use crate::input::{LINES_MAX, NewOrder, OrderLine, UNUSED_ITEM};
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult, TransactionError};
use crate::transactions::rules::{PriceRates, Stocked, contains_original, one_row, only_row, sum};
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

impl<S: Session> OnSession<'_, S, Sets> {
    pub(crate) async fn new_order(&mut self, order: &NewOrder) -> StepResult<Outcome> {
        self.ask_order(order)?;
        let mut stocked = [Stocked::default(); LINES_MAX];
        let (order_id, rates) = self.read_head().await?;
        let used = read_items(&self.session.answer().await?, order, &mut stocked)?;
        self.read_stocks(order, used, &mut stocked).await?;
        self.changed("the new order").await?;
        self.changed("the new order's queue entry").await?;
        let lines = &order.lines()[..used];
        self.write_stocks(order, lines, &stocked)?;
        self.write_lines(order, order_id, lines, &stocked)?;
        self.written(order, used).await?;
        black_box(rates.total(sum(lines, &stocked)));
        self.end(if used < order.lines().len() { Outcome::RolledBack } else { Outcome::Committed })
            .await
    }

    /// Queues what needs nothing but the input: every read, the order and its queue entry.
    fn ask_order(&mut self, order: &NewOrder) -> StepResult {
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        let customer = Param::from(order.customer);
        // Before the first plain read, which fixes what this transaction sees: others wait for this
        // row too.
        self.ask(self.set.statements.update_next_order, &[w, d])?;
        self.ask(self.set.statements.select_rates, &[w, w, d, w, d, customer])?;
        let mut items = [Param::Null; LINES_MAX];
        fill(&mut items, order.lines().iter().map(|line| [line.item.into()]));
        self.ask(self.set.statements.select_items, &items)?;
        let mut home = [w; 1 + LINES_MAX];
        fill(&mut home[1..], by_way(order, Way::Set).map(|(_, line)| [line.item.into()]));
        // Stock rows are locked in one order by all: by warehouse, then by item.
        self.ask_remote(order, true)?;
        self.ask(self.set.stocks.of(order.district), &home)?;
        self.ask_remote(order, false)?;
        // The number comes from LAST_INSERT_ID().
        let [_, values @ ..] = order.order_row(0);
        self.ask(self.set.statements.insert_order, &values)?;
        self.ask(self.set.statements.insert_new_order, &[d, w])
    }

    /// Queues the reads of the stock rows of the remote warehouses `below` home, or above it.
    fn ask_remote(&mut self, order: &NewOrder, below: bool) -> StepResult {
        let stock = self.set.stock.of(order.district);
        for (_, line) in by_way(order, Way::Remote) {
            if (line.supply_warehouse < order.warehouse) == below {
                self.ask(stock, &[line.supply_warehouse.into(), line.item.into()])?;
            }
        }
        Ok(())
    }

    fn write_stocks(
        &mut self,
        order: &NewOrder,
        lines: &[OrderLine],
        stocked: &[Stocked; LINES_MAX],
    ) -> StepResult {
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
        self.ask(self.set.statements.update_stocks, &params)?;
        for (index, line) in lines.iter().enumerate() {
            if way(order, index) != Way::Set {
                let changes = stocked[index].stock_changes(order, line);
                self.ask(self.set.statements.update_stock, &changes)?;
            }
        }
        Ok(())
    }

    fn write_lines(
        &mut self,
        order: &NewOrder,
        order_id: i64,
        lines: &[OrderLine],
        stocked: &[Stocked; LINES_MAX],
    ) -> StepResult {
        const WIDTH: usize = 9;
        let index = lines.len().checked_sub(LINES_MIN);
        let insert = index.and_then(|index| self.set.insert_lines.get(index));
        let insert = *insert.ok_or(TransactionError::MissingRow("the items of the order"))?;
        let mut values = [Param::Null; WIDTH * LINES_MAX];
        for (values, (line, stocked)) in
            values.chunks_exact_mut(WIDTH).zip(lines.iter().zip(stocked))
        {
            values.copy_from_slice(&stocked.line_row(order, order_id, line));
        }
        self.ask(insert, &values[..WIDTH * lines.len()])
    }

    /// The order's number, and what its price depends on.
    async fn read_head(&mut self) -> StepResult<(i64, PriceRates)> {
        let answer = self.session.answer().await?;
        one_row(&answer, "the order's district")?;
        let order_id = answer.last_insert_id as i64;
        let answer = self.session.answer().await?;
        let row = only_row(&answer, "the order's customer, district and warehouse")?;
        black_box((row.bytes(1)?, row.bytes(2)?));
        let rates = PriceRates {
            discount: row.decimal(0, 4)?,
            taxes: row.decimal(3, 4)? + row.decimal(4, 4)?,
        };
        Ok((order_id, rates))
    }

    /// Reads the stock rows of all lines that have an item.
    async fn read_stocks(
        &mut self,
        order: &NewOrder,
        used: usize,
        stocked: &mut [Stocked; LINES_MAX],
    ) -> StepResult {
        let lines = &order.lines()[..used];
        let mut found = self.read_remote(order, true, stocked).await?;
        let answer = self.session.answer().await?;
        for row in answer.rows() {
            let item = row.int(3)?;
            let of_row = |(_, line): &(usize, &OrderLine)| i64::from(line.item) == item;
            if let Some((index, line)) = by_way(order, Way::Set).find(of_row) {
                stocked[index].take(line, &row)?;
                found += 1;
            }
        }
        found += self.read_remote(order, false, stocked).await?;
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
    async fn read_remote(
        &mut self,
        order: &NewOrder,
        below: bool,
        stocked: &mut [Stocked; LINES_MAX],
    ) -> StepResult<usize> {
        let mut found = 0;
        for (index, line) in by_way(order, Way::Remote) {
            if (line.supply_warehouse < order.warehouse) == below {
                let answer = self.session.answer().await?;
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
    async fn written(&mut self, order: &NewOrder, used: usize) -> StepResult {
        let in_set = by_way(order, Way::Set).filter(|(index, _)| *index < used).count();
        self.changed_rows(in_set as u64, "the stock of an item").await?;
        for _ in in_set..used {
            self.changed("the stock of an item").await?;
        }
        self.changed_rows(used as u64, "the new order lines").await
    }
}

/// Finds the items of the lines; returns how many lines have one, which is all but perhaps the
/// last.
fn read_items(
    answer: &Answer<'_>,
    order: &NewOrder,
    stocked: &mut [Stocked; LINES_MAX],
) -> StepResult<usize> {
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
