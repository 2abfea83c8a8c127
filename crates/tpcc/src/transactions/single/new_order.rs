//! New-Order (clause 2.4).
//!
//! The order of statements is free but for the rollback rule (2.3.1, 2.4.2.3): reading first what
//! all lines need, then writing, makes two waves. An unused item is met in the first, and still all
//! other lines are written before ROLLBACK.

use super::Single;
use crate::input::NewOrder;
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::{PriceRates, StockedOrder, item_row, number, only_row};
use base::{Param, Session};
use std::hint::black_box;

impl<S: Session> OnSession<'_, S, Single> {
    pub(crate) async fn new_order(&mut self, order: &NewOrder) -> StepResult<Outcome> {
        self.ask_order(order)?;
        let (order_id, rates) = self.read_head().await?;
        let mut taken = StockedOrder::new(order);
        self.read_lines(&mut taken).await?;
        self.write_order(&taken, order_id).await?;
        black_box(rates.total(taken.sum()));
        self.end(match taken.is_whole() {
            true => Outcome::Ordered(number(order_id)?),
            false => Outcome::RolledBack,
        })
        .await
    }

    /// Queues every read of the order.
    fn ask_order(&mut self, order: &NewOrder) -> StepResult {
        self.ask_head(order)?;
        let read_stock = self.set.stock.of(order.district);
        for line in order.lines() {
            let item = Param::from(line.item);
            self.ask(self.set.statements.select_item, &[item])?;
            self.ask(read_stock, &[Param::from(line.supply_warehouse), item])?;
        }
        Ok(())
    }

    /// Queues the reads of district, customer and warehouse.
    pub(crate) fn ask_head(&mut self, order: &NewOrder) -> StepResult {
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        let customer = Param::from(order.customer);
        // Before the first plain read, which fixes what this transaction sees: others wait for this
        // row too.
        self.ask(self.set.statements.lock_district, &[w, d])?;
        self.ask(self.set.statements.select_customer, &[w, d, customer])
    }

    /// Queues what is written of the order but for its lines: three statements.
    pub(crate) fn write_head(&mut self, order: &NewOrder, order_id: i64) -> StepResult {
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        let id = Param::Int(order_id);
        self.ask(self.set.statements.update_next_order, &[id, w, d])?;
        self.ask(self.set.statements.insert_order, &order.order_row(order_id))?;
        self.ask(self.set.statements.insert_new_order, &[id, d, w])
    }

    /// Writes the order and those of its lines that have an item.
    async fn write_order(&mut self, taken: &StockedOrder<'_>, order_id: i64) -> StepResult {
        let order = taken.order;
        self.write_head(order, order_id)?;
        for (line, stocked) in taken.lines() {
            self.ask(self.set.statements.update_stock, &stocked.stock_changes(order, line))?;
            let values = stocked.line_row(order, order_id, line);
            self.ask(self.set.statements.insert_order_line, &values)?;
        }
        self.head_written().await?;
        for _ in 0..taken.used {
            self.changed("the stock of an item").await?;
            self.changed("the new order line").await?;
        }
        Ok(())
    }

    /// Reads the answers to what `write_head` has queued.
    pub(crate) async fn head_written(&mut self) -> StepResult {
        self.changed("the order's district").await?;
        self.changed("the new order").await?;
        self.changed("the new order's queue entry").await
    }

    /// The order's number, and what its price depends on.
    pub(crate) async fn read_head(&mut self) -> StepResult<(i64, PriceRates)> {
        let answer = self.session.answer().await?;
        let row = only_row(&answer, "the order's district")?;
        let (order_id, district_tax) = (row.int(0)?, row.decimal(1, 4)?);
        let answer = self.session.answer().await?;
        let row = only_row(&answer, "the order's customer and warehouse")?;
        black_box((row.bytes(1)?, row.bytes(2)?));
        let rates =
            PriceRates { discount: row.decimal(0, 4)?, taxes: row.decimal(3, 4)? + district_tax };
        Ok((order_id, rates))
    }

    /// Reads item and stock of all lines.
    async fn read_lines(&mut self, taken: &mut StockedOrder<'_>) -> StepResult {
        let order = taken.order;
        for (index, line) in order.lines().iter().enumerate() {
            let answer = self.session.answer().await?;
            let Some(row) = item_row(&answer, line)? else {
                // Its stock, which nobody has.
                self.session.answer().await?;
                break;
            };
            taken.take_item(&row)?;
            taken.take_stock(index, &self.session.answer().await?)?;
        }
        Ok(())
    }
}
