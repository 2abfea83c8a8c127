//! New-Order as tpcc-mysql has it: five statements, four for each line, COMMIT or ROLLBACK.

use super::TpccMysql;
use super::statements::Statements;
use crate::input::{NewOrder, OrderLine};
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::{PriceRates, item_row, only_row};
use base::{Cents, Param, Session};
use std::hint::black_box;

impl PriceRates {
    /// quantity * price * (1 + taxes) * (1 - discount), to the cent. Clause 2.4.2.2 has neither
    /// taxes nor discount in it.
    fn amount(&self, ordered: u32, price: Cents) -> Cents {
        let exact = i128::from(i64::from(ordered) * price.0)
            * i128::from(10_000 + self.taxes)
            * i128::from(10_000 - self.discount);
        Cents(((exact + 50_000_000) / 100_000_000) as i64)
    }
}

/// Refilled only where nothing would remain. Clause 2.4.2.2 refills where less than 10 would.
fn stock_after(quantity: i64, ordered: u32) -> i64 {
    let ordered = i64::from(ordered);
    if quantity > ordered { quantity - ordered } else { quantity - ordered + 91 }
}

/// An order under way.
struct Under<'a> {
    order: &'a NewOrder,
    order_id: i64,
    rates: PriceRates,
}

impl<S: Session> OnSession<'_, S, TpccMysql> {
    pub(crate) async fn new_order(&mut self, order: &NewOrder) -> StepResult<Outcome> {
        let Statements { select_customer, lock_district, update_next_order, .. } =
            self.set.statements;
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        let customer = [w, d, Param::from(order.customer)];
        let what = "the order's customer and warehouse";
        let row = self.row(select_customer, &customer, what).await?;
        black_box((row.bytes(1)?, row.bytes(2)?));
        let (discount, warehouse_tax) = (row.decimal(0, 4)?, row.decimal(3, 4)?);

        let row = self.row(lock_district, &[d, w], "the order's district").await?;
        let (order_id, district_tax) = (row.int(0)?, row.decimal(1, 4)?);
        let changes = [Param::Int(order_id), d, w];
        self.change(update_next_order, &changes, "the order's district").await?;
        self.insert_order(order, order_id).await?;

        let taxes = warehouse_tax + district_tax;
        let rates = PriceRates { discount, taxes };
        let under = Under { order, order_id, rates };
        for (line, number) in order.lines().iter().zip(1..) {
            // The number follows the order of processing, not of entry.
            let line = OrderLine { number, ..*line };
            if !self.order_line(&under, &line).await? {
                return self.end(Outcome::RolledBack).await;
            }
        }
        self.end(Outcome::Committed).await
    }

    async fn insert_order(&mut self, order: &NewOrder, order_id: i64) -> StepResult {
        let Statements { insert_order, insert_new_order, .. } = self.set.statements;
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        self.change(insert_order, &order.order_row(order_id), "the new order").await?;
        let entry = [Param::Int(order_id), d, w];
        self.change(insert_new_order, &entry, "the new order's queue entry").await
    }

    /// One line; false where the item is unused.
    async fn order_line(&mut self, under: &Under<'_>, line: &OrderLine) -> StepResult<bool> {
        let Statements { select_item, lock_stock, update_stock, insert_order_line, .. } =
            self.set.statements;
        let (item, supply) = (Param::from(line.item), Param::from(line.supply_warehouse));
        let answer = self.session.execute(select_item, &[item]).await?;
        let Some(row) = item_row(&answer, line)? else { return Ok(false) };
        let price = row.cents(0)?;
        black_box((row.bytes(1)?, row.bytes(2)?));

        let answer = self.session.execute(lock_stock, &[item, supply]).await?;
        let row = only_row(&answer, "the stock of an item")?;
        let quantity = row.int(0)?;
        black_box(row.bytes(1)?);
        let dist = row.bytes(1 + under.order.district as usize)?;
        self.set.text.clear();
        self.set.text.extend_from_slice(dist);

        let changes = [Param::Int(stock_after(quantity, line.quantity)), item, supply];
        self.change(update_stock, &changes, "the stock of an item").await?;

        let amount = under.rates.amount(line.quantity, price);
        let values = under.order.line_row(under.order_id, line, (amount, &self.set.text));
        self.session.queue(insert_order_line, &values)?;
        self.changed("the new order line").await?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_taxes_and_discount() {
        let rates = PriceRates { discount: 5_000, taxes: 2_000 };
        assert_eq!(rates.amount(10, Cents(1_000)), Cents(6_000));
        let odd = PriceRates { discount: 1_200, taxes: 1_900 + 1_100 };
        // 7 * 33.33 * 1.3 * 0.88 = 266.906...
        assert_eq!(odd.amount(7, Cents(3_333)), Cents(26_691));
    }

    #[test]
    fn stock_falls_to_one() {
        assert_eq!(stock_after(11, 10), 1);
        assert_eq!(stock_after(10, 10), 91);
        assert_eq!(stock_after(1, 10), 82);
    }
}
