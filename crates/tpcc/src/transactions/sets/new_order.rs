//! New-Order (clause 2.4): three round trips. Lines from the home warehouse are one set; a remote
//! line, and an item that the order has already, go alone.

use super::{LINES_MIN, Sets};
use crate::input::{LINES_MAX, NewOrder, OrderLine, UNUSED_ITEM};
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult, TransactionError};
use crate::transactions::rules::{PriceRates, StockedOrder, contains_original, only_row, require};
use base::{Answer, Param, Session};
use std::cmp::Ordering;
use std::hint::black_box;

/// How a line is read and written.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// In the set of the home warehouse.
    Set,
    /// Alone: of a warehouse below home.
    Below,
    /// Alone: of a warehouse above home.
    Above,
    /// Its stock row is read with the line before.
    Again,
}

fn way(order: &NewOrder, index: usize) -> Way {
    if order.repeats(index) {
        return Way::Again;
    }
    match order.lines()[index].supply_warehouse.cmp(&order.warehouse) {
        Ordering::Equal => Way::Set,
        Ordering::Less => Way::Below,
        Ordering::Greater => Way::Above,
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
        let mut taken = StockedOrder::new(order);
        let (order_id, rates) = self.read_head().await?;
        read_items(&self.session.answer().await?, &mut taken)?;
        self.read_stocks(&mut taken).await?;
        self.changed("the new order").await?;
        self.changed("the new order's queue entry").await?;
        self.write_stocks(&taken)?;
        self.write_lines(&taken, order_id)?;
        self.written(order, taken.used).await?;
        black_box(rates.total(taken.sum()));
        self.end(if taken.is_whole() { Outcome::Committed } else { Outcome::RolledBack }).await
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
        self.ask_alone(order, Way::Below)?;
        self.ask(self.set.stocks[order.district as usize - 1], &home)?;
        self.ask_alone(order, Way::Above)?;
        // The number comes from LAST_INSERT_ID().
        let [_, values @ ..] = order.order_row(0);
        self.ask(self.set.statements.insert_order, &values)?;
        self.ask(self.set.statements.insert_new_order, &[d, w])
    }

    /// Queues the reads of the stock rows of remote lines.
    fn ask_alone(&mut self, order: &NewOrder, way: Way) -> StepResult {
        let stock = self.set.stock[order.district as usize - 1];
        for (_, line) in by_way(order, way) {
            self.ask(stock, &[line.supply_warehouse.into(), line.item.into()])?;
        }
        Ok(())
    }

    fn write_stocks(&mut self, taken: &StockedOrder<'_>) -> StepResult {
        let (order, used) = (taken.order, taken.used);
        let set = by_way(order, Way::Set).filter(|(index, _)| *index < used);
        let mut params = [Param::from(order.warehouse); 5 * LINES_MAX + 1];
        let after = |(index, line): (usize, &OrderLine)| {
            [line.item.into(), Param::Int(taken.stocked[index].quantity_after)]
        };
        fill(&mut params[..2 * LINES_MAX], set.clone().map(after));
        let ordered = |(_, line): (usize, &OrderLine)| [line.item.into(), line.quantity.into()];
        fill(&mut params[2 * LINES_MAX..4 * LINES_MAX], set.clone().map(ordered));
        let items = set.map(|(_, line)| [line.item.into()]);
        fill(&mut params[4 * LINES_MAX + 1..], items);
        self.ask(self.set.statements.update_stocks, &params)?;
        for (index, (line, stocked)) in taken.lines().enumerate() {
            if way(order, index) != Way::Set {
                let changes = stocked.stock_changes(order, line);
                self.ask(self.set.statements.update_stock, &changes)?;
            }
        }
        Ok(())
    }

    fn write_lines(&mut self, taken: &StockedOrder<'_>, order_id: i64) -> StepResult {
        const WIDTH: usize = 9;
        let index = taken.used.checked_sub(LINES_MIN);
        let insert = index.and_then(|index| self.set.insert_lines.get(index));
        let insert = *insert.ok_or(TransactionError::MissingRow("the items of the order"))?;
        let mut values = [Param::Null; WIDTH * LINES_MAX];
        for (values, (line, stocked)) in values.chunks_exact_mut(WIDTH).zip(taken.lines()) {
            values.copy_from_slice(&stocked.line_row(taken.order, order_id, line));
        }
        self.ask(insert, &values[..WIDTH * taken.used])
    }

    /// The order's number, and what its price depends on.
    async fn read_head(&mut self) -> StepResult<(i64, PriceRates)> {
        let answer = self.session.answer().await?;
        require(answer.affected_rows == 1, "the order's district")?;
        let order_id = answer.last_insert_id as i64;
        let row = self.next_row("the order's customer, district and warehouse").await?;
        black_box((row.bytes(1)?, row.bytes(2)?));
        let rates = PriceRates {
            discount: row.decimal(0, 4)?,
            taxes: row.decimal(3, 4)? + row.decimal(4, 4)?,
        };
        Ok((order_id, rates))
    }

    /// Reads the stock rows of all lines that have an item.
    async fn read_stocks(&mut self, taken: &mut StockedOrder<'_>) -> StepResult {
        let order = taken.order;
        let mut found = self.read_alone(taken, Way::Below).await?;
        let answer = self.session.answer().await?;
        for row in answer.rows() {
            let item = row.int(3)?;
            let of_row = |(_, line): &(usize, &OrderLine)| i64::from(line.item) == item;
            if let Some((index, line)) = by_way(order, Way::Set).find(of_row) {
                taken.stocked[index].take(line, &row)?;
                found += 1;
            }
        }
        found += self.read_alone(taken, Way::Above).await?;
        for index in 1..taken.used {
            if way(order, index) == Way::Again {
                let other = taken.stocked[index - 1];
                taken.stocked[index].take_after(&other, &order.lines()[index]);
                found += 1;
            }
        }
        require(found == taken.used, "the stock of an item")
    }

    /// Reads the stock rows of remote lines; returns how many.
    async fn read_alone(&mut self, taken: &mut StockedOrder<'_>, way: Way) -> StepResult<usize> {
        let mut found = 0;
        for (index, line) in by_way(taken.order, way) {
            let answer = self.session.answer().await?;
            if line.item != UNUSED_ITEM {
                taken.stocked[index].take(line, &only_row(&answer, "the stock of an item")?)?;
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

/// Finds the items of the lines.
fn read_items(answer: &Answer<'_>, taken: &mut StockedOrder<'_>) -> StepResult {
    let lines = taken.order.lines();
    for row in answer.rows() {
        let item = row.int(0)?;
        let (price, original_item) = (row.cents(1)?, contains_original(row.bytes(3)?));
        black_box(row.bytes(2)?);
        for (line, stocked) in lines.iter().zip(&mut taken.stocked) {
            if i64::from(line.item) == item {
                (stocked.price, stocked.original_item) = (price, original_item);
                taken.used += 1;
            }
        }
    }
    let unused = lines.last().is_some_and(|line| line.item == UNUSED_ITEM);
    let missing = lines.len() - taken.used;
    require(missing == 0 || missing == 1 && unused, "an item of the order")
}
