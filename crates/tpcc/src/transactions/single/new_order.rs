//! New-Order (clause 2.4).
//!
//! The order of statements is free but for the rollback rule (2.3.1, 2.4.2.3): reading first what
//! all lines need, then writing, makes two waves. An unused item is met in the first, and still all
//! other lines are written before ROLLBACK.

use super::Single;
use crate::input::{LINES_MAX, NewOrder, OrderLine};
use crate::transactions::rules::{
    PriceRates, Stocked, item_row, number, one_row, only_row, sum, take_stock,
};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Param, Session};
use std::hint::black_box;

/// The head of an order, as read.
pub(in crate::transactions) struct Head {
    pub(in crate::transactions) order_id: i64,
    pub(in crate::transactions) rates: PriceRates,
}

impl Single {
    pub(in crate::transactions) async fn new_order<S: Session>(
        &self,
        session: &mut S,
        order: &NewOrder,
    ) -> Result<Outcome, TransactionError> {
        self.ask_order(session, order)?;
        let head = read_head(session).await?;
        let mut stocked = [Stocked::default(); LINES_MAX];
        let used = read_lines(session, order, &mut stocked).await?;
        let lines = order.lines().iter().zip(&stocked).take(used);
        self.write_order(session, order, &head, lines).await?;
        black_box(head.rates.total(sum(&order.lines()[..used], &stocked)));
        if used < order.lines().len() {
            session.query("ROLLBACK").await?;
            return Ok(Outcome::RolledBack);
        }
        commit(session).await?;
        Ok(Outcome::Ordered(number(head.order_id)?))
    }

    /// Queues every read of the order.
    fn ask_order<S: Session>(
        &self,
        session: &mut S,
        order: &NewOrder,
    ) -> Result<(), TransactionError> {
        self.ask_head(session, order)?;
        let read_stock = self.stock.of(order.district);
        for line in order.lines() {
            let item = Param::from(line.item);
            session.queue(self.statements.select_item, &[item])?;
            session.queue(read_stock, &[Param::from(line.supply_warehouse), item])?;
        }
        Ok(())
    }

    /// Queues the reads of district, customer and warehouse.
    pub(in crate::transactions) fn ask_head<S: Session>(
        &self,
        session: &mut S,
        order: &NewOrder,
    ) -> Result<(), TransactionError> {
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        let customer = Param::from(order.customer);
        // Before the first plain read, which fixes what this transaction sees: others wait for this
        // row too.
        session.queue(self.statements.lock_district, &[w, d])?;
        session.queue(self.statements.select_customer, &[w, d, customer])?;
        Ok(())
    }

    /// Queues the reads of the items.
    pub(in crate::transactions) fn ask_items<S: Session>(
        &self,
        session: &mut S,
        order: &NewOrder,
    ) -> Result<(), TransactionError> {
        for line in order.lines() {
            session.queue(self.statements.select_item, &[Param::from(line.item)])?;
        }
        Ok(())
    }

    /// Queues what is written of the order but for its lines: three statements.
    pub(in crate::transactions) fn write_head<S: Session>(
        &self,
        session: &mut S,
        order: &NewOrder,
        order_id: i64,
    ) -> Result<(), TransactionError> {
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        let id = Param::Int(order_id);
        session.queue(self.statements.update_next_order, &[id, w, d])?;
        session.queue(self.statements.insert_order, &order.order_row(order_id))?;
        session.queue(self.statements.insert_new_order, &[id, d, w])?;
        Ok(())
    }

    /// Writes the order and those of its lines that have an item.
    async fn write_order<S: Session>(
        &self,
        session: &mut S,
        order: &NewOrder,
        head: &Head,
        lines: impl Iterator<Item = (&OrderLine, &Stocked)> + Clone,
    ) -> Result<(), TransactionError> {
        self.write_head(session, order, head.order_id)?;
        for (line, stocked) in lines.clone() {
            session.queue(self.statements.update_stock, &stocked.stock_changes(order, line))?;
            let values = stocked.line_row(order, head.order_id, line);
            session.queue(self.statements.insert_order_line, &values)?;
        }
        one_row(&session.answer().await?, "the order's district")?;
        one_row(&session.answer().await?, "the new order")?;
        one_row(&session.answer().await?, "the new order's queue entry")?;
        for _ in lines {
            one_row(&session.answer().await?, "the stock of an item")?;
            one_row(&session.answer().await?, "the new order line")?;
        }
        Ok(())
    }
}

pub(in crate::transactions) async fn read_head<S: Session>(
    session: &mut S,
) -> Result<Head, TransactionError> {
    let answer = session.answer().await?;
    let row = only_row(&answer, "the order's district")?;
    let (order_id, district_tax) = (row.int(0)?, row.decimal(1, 4)?);
    let answer = session.answer().await?;
    let row = only_row(&answer, "the order's customer and warehouse")?;
    black_box((row.bytes(1)?, row.bytes(2)?));
    Ok(Head {
        order_id,
        rates: PriceRates {
            discount: row.decimal(0, 4)?,
            taxes: row.decimal(3, 4)? + district_tax,
        },
    })
}

/// Reads item and stock of all lines; returns how many lines have an item, which is all but perhaps
/// the last.
async fn read_lines<S: Session>(
    session: &mut S,
    order: &NewOrder,
    stocked: &mut [Stocked; LINES_MAX],
) -> Result<usize, TransactionError> {
    for (index, line) in order.lines().iter().enumerate() {
        let answer = session.answer().await?;
        let Some(row) = item_row(&answer, line)? else {
            // Its stock, which nobody has.
            session.answer().await?;
            return Ok(index);
        };
        stocked[index].take_item(&row)?;
        take_stock(stocked, (order, index), &session.answer().await?)?;
    }
    Ok(order.lines().len())
}
