//! New-Order (clause 2.4).

use super::{Failure, Outcome, Terminal, one_row, only_row};
use crate::input::{Line, NewOrder, UNUSED_ITEM};
use base::{Cents, Param, Session};
use std::hint::black_box;

/// What the customer, district and warehouse say about the price, in ten-thousandths.
struct Rates {
    discount: i64,
    taxes: i64,
}

impl Rates {
    /// sum(ol_amount) * (1 - c_discount) * (1 + w_tax + d_tax), to the cent (clause 2.4.2.2).
    fn total(&self, sum: Cents) -> Cents {
        let exact = i128::from(sum.0)
            * i128::from(10_000 - self.discount)
            * i128::from(10_000 + self.taxes);
        Cents(((exact + 50_000_000) / 100_000_000) as i64)
    }
}

/// Clause 2.4.2.2: stock is refilled by 91 where less than 10 would remain.
fn stock_after(quantity: i64, ordered: i64) -> i64 {
    if quantity >= ordered + 10 {
        quantity - ordered
    } else {
        quantity - ordered + 91
    }
}

fn contains_original(text: &[u8]) -> bool {
    text.windows(8).any(|window| window == b"ORIGINAL")
}

impl<S: Session> Terminal<S> {
    pub(super) async fn new_order(&mut self, order: &NewOrder) -> Result<Outcome, Failure> {
        let (warehouse, district) = (Param::from(order.warehouse), Param::from(order.district));
        let customer = Param::from(order.customer);
        let answer = self
            .session
            .execute(
                self.statements.order_customer,
                &[warehouse, district, customer],
            )
            .await?;
        let row = only_row(&answer, "the order's customer and warehouse")?;
        black_box((row.bytes(1)?, row.bytes(2)?));
        let (discount, warehouse_tax) = (row.decimal(0, 4)?, row.decimal(3, 4)?);

        let answer = self
            .session
            .execute(self.statements.order_district, &[warehouse, district])
            .await?;
        let row = only_row(&answer, "the order's district")?;
        let (order_id, district_tax) = (row.int(0)?, row.decimal(1, 4)?);
        let id = Param::Int(order_id);
        let answer = self
            .session
            .execute(self.statements.advance_district, &[id, warehouse, district])
            .await?;
        one_row(&answer, "the order's district")?;
        self.insert_order(order, order_id).await?;

        let mut sum = Cents(0);
        for line in order.lines() {
            match self.order_line(order, line, order_id).await? {
                Some(amount) => sum.0 += amount.0,
                None => {
                    self.session.query("ROLLBACK").await?;
                    return Ok(Outcome::RolledBack);
                }
            }
        }
        black_box(
            Rates {
                discount,
                taxes: warehouse_tax + district_tax,
            }
            .total(sum),
        );
        self.commit().await?;
        Ok(Outcome::Committed)
    }

    async fn insert_order(&mut self, order: &NewOrder, order_id: i64) -> Result<(), Failure> {
        let (warehouse, district) = (Param::from(order.warehouse), Param::from(order.district));
        let id = Param::Int(order_id);
        let answer = self
            .session
            .execute(
                self.statements.insert_order,
                &[
                    id,
                    district,
                    warehouse,
                    Param::from(order.customer),
                    Param::Time(order.entered),
                    Param::Int(order.lines().len() as i64),
                    Param::Int(i64::from(order.remote_lines() == 0)),
                ],
            )
            .await?;
        one_row(&answer, "the new order")?;
        let answer = self
            .session
            .execute(self.statements.insert_new_order, &[id, district, warehouse])
            .await?;
        one_row(&answer, "the new order's queue entry")
    }

    /// One line; its amount, or `None` where the item is unused.
    async fn order_line(
        &mut self,
        order: &NewOrder,
        line: &Line,
        order_id: i64,
    ) -> Result<Option<Cents>, Failure> {
        let item = Param::from(line.item);
        let answer = self.session.execute(self.statements.item, &[item]).await?;
        let row = match answer.row(0) {
            Some(row) => row,
            None if line.item == UNUSED_ITEM => return Ok(None),
            None => return Err(Failure::MissingRow("an item of the order")),
        };
        let price = row.cents(0)?;
        black_box(row.bytes(1)?);
        let original_item = contains_original(row.bytes(2)?);

        let supply = Param::from(line.supply_warehouse);
        let read_stock = self.statements.stock(order.district);
        let answer = self.session.execute(read_stock, &[supply, item]).await?;
        let row = only_row(&answer, "the stock of an item")?;
        let quantity = row.int(0)?;
        // s_dist_xx is 24 characters (clause 1.3.1).
        let mut dist_info = [b' '; 24];
        let dist = row.bytes(1)?;
        let dist_len = dist.len().min(dist_info.len());
        dist_info[..dist_len].copy_from_slice(&dist[..dist_len]);
        let brand_generic = if original_item && contains_original(row.bytes(2)?) {
            'B'
        } else {
            'G'
        };

        let ordered = i64::from(line.quantity);
        let remote = line.supply_warehouse != order.warehouse;
        let changes = [
            Param::Int(stock_after(quantity, ordered)),
            Param::Int(ordered),
            Param::Int(i64::from(remote)),
            supply,
            item,
        ];
        let answer = self
            .session
            .execute(self.statements.update_stock, &changes)
            .await?;
        one_row(&answer, "the stock of an item")?;

        let amount = Cents(ordered * price.0);
        black_box(brand_generic);
        let values = [
            Param::Int(order_id),
            Param::from(order.district),
            Param::from(order.warehouse),
            Param::from(line.number),
            item,
            supply,
            Param::Int(ordered),
            Param::Cents(amount),
            Param::Text(&dist_info[..dist_len]),
        ];
        let answer = self
            .session
            .execute(self.statements.insert_line, &values)
            .await?;
        one_row(&answer, "the new order line")?;
        Ok(Some(amount))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_stays_between_10_and_100() {
        for quantity in 10..=100 {
            for ordered in 1..=10 {
                let after = stock_after(quantity, ordered);
                assert!(
                    (10..=100).contains(&after),
                    "{quantity} - {ordered} = {after}"
                );
                assert_eq!((after - quantity + ordered) % 91, 0);
            }
        }
        assert_eq!(stock_after(20, 10), 10);
        assert_eq!(stock_after(19, 10), 100);
    }

    #[test]
    fn totals_are_exact() {
        let rates = Rates {
            discount: 5_000,
            taxes: 4_000,
        };
        assert_eq!(rates.total(Cents(10_000)), Cents(7_000));
        let nothing_off = Rates {
            discount: 0,
            taxes: 0,
        };
        assert_eq!(nothing_off.total(Cents(123_456)), Cents(123_456));
        let odd = Rates {
            discount: 1_234,
            taxes: 1_999 + 777,
        };
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
