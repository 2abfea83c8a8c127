//! New-Order as tpcc-mysql has it: five statements, four for each line, COMMIT or ROLLBACK.

use super::TpccMysqlSession;
use crate::input::{NewOrder, OrderLine, UNUSED_ITEM};
use crate::transactions::{Outcome, PriceRates, TransactionError, one_row, only_row};
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

impl<S: Session> TpccMysqlSession<S> {
    pub(super) async fn new_order(
        &mut self,
        order: &NewOrder,
    ) -> Result<Outcome, TransactionError> {
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        let customer = [w, d, Param::from(order.customer)];
        let statement = self.statements.select_customer;
        let answer = self.session.execute(statement, &customer).await?;
        let row = only_row(&answer, "the order's customer and warehouse")?;
        black_box((row.bytes(1)?, row.bytes(2)?));
        let (discount, warehouse_tax) = (row.decimal(0, 4)?, row.decimal(3, 4)?);

        let statement = self.statements.lock_district;
        let answer = self.session.execute(statement, &[d, w]).await?;
        let row = only_row(&answer, "the order's district")?;
        let (order_id, district_tax) = (row.int(0)?, row.decimal(1, 4)?);
        let statement = self.statements.update_next_order;
        let changes = [Param::Int(order_id), d, w];
        let answer = self.session.execute(statement, &changes).await?;
        one_row(&answer, "the order's district")?;
        self.insert_order(order, order_id).await?;

        let taxes = warehouse_tax + district_tax;
        let rates = PriceRates { discount, taxes };
        let under = Under { order, order_id, rates };
        for (index, line) in order.lines().iter().enumerate() {
            // The number follows the order of processing, not of entry.
            if !self.order_line(&under, index as i64 + 1, line).await? {
                self.session.query("ROLLBACK").await?;
                return Ok(Outcome::RolledBack);
            }
        }
        self.commit().await?;
        Ok(Outcome::Committed)
    }

    async fn insert_order(
        &mut self,
        order: &NewOrder,
        order_id: i64,
    ) -> Result<(), TransactionError> {
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        let id = Param::Int(order_id);
        let values = [
            id,
            d,
            w,
            Param::from(order.customer),
            Param::Time(order.entered),
            Param::Int(order.lines().len() as i64),
            Param::Int(i64::from(order.remote_lines() == 0)),
        ];
        let statement = self.statements.insert_order;
        let answer = self.session.execute(statement, &values).await?;
        one_row(&answer, "the new order")?;
        let statement = self.statements.insert_new_order;
        let answer = self.session.execute(statement, &[id, d, w]).await?;
        one_row(&answer, "the new order's queue entry")
    }

    /// One line; false where the item is unused.
    async fn order_line(
        &mut self,
        under: &Under<'_>,
        number: i64,
        line: &OrderLine,
    ) -> Result<bool, TransactionError> {
        let (item, supply) = (Param::from(line.item), Param::from(line.supply_warehouse));
        let answer = self.session.execute(self.statements.select_item, &[item]).await?;
        let row = match answer.row(0) {
            Some(row) => row,
            None if line.item == UNUSED_ITEM => return Ok(false),
            None => return Err(TransactionError::MissingRow("an item of the order")),
        };
        let price = row.cents(0)?;
        black_box((row.bytes(1)?, row.bytes(2)?));

        let key = [item, supply];
        let answer = self.session.execute(self.statements.lock_stock, &key).await?;
        let row = only_row(&answer, "the stock of an item")?;
        let quantity = row.int(0)?;
        black_box(row.bytes(1)?);
        let dist = row.bytes(1 + under.order.district as usize)?;
        self.text.clear();
        self.text.extend_from_slice(dist);

        let changes = [Param::Int(stock_after(quantity, line.quantity)), item, supply];
        let statement = self.statements.update_stock;
        let answer = self.session.execute(statement, &changes).await?;
        one_row(&answer, "the stock of an item")?;

        let values = [
            Param::Int(under.order_id),
            Param::from(under.order.district),
            Param::from(under.order.warehouse),
            Param::Int(number),
            item,
            supply,
            Param::from(line.quantity),
            Param::Cents(under.rates.amount(line.quantity, price)),
            Param::Text(&self.text),
        ];
        let statement = self.statements.insert_order_line;
        let answer = self.session.execute(statement, &values).await?;
        one_row(&answer, "the new order line")?;
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
