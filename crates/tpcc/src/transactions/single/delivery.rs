//! Delivery (clause 2.7), all ten districts in one database transaction, which the clause allows.
//!
//! A retry after a deadlock thus starts from nothing, and no order is delivered outside of it.

use super::Single;
use crate::input::Delivery;
use crate::schema::DISTRICTS;
use crate::transactions::rules::{oldest_orders, one_row, only_row};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Cents, Param, Session};

impl Single {
    pub(in crate::transactions) async fn delivery<S: Session>(
        &self,
        session: &mut S,
        delivery: &Delivery,
    ) -> Result<Outcome, TransactionError> {
        let w = Param::from(delivery.warehouse);
        let oldest = self.statements.lock_oldest_order;
        let orders = oldest_orders(session, oldest, delivery.warehouse).await?;
        let orders = (1..).zip(orders);
        let delivered = orders.clone().filter_map(|(d, order)| Some((d, order?)));
        for (district, order) in delivered.clone() {
            self.ask_delivery(session, delivery, district, order)?;
        }
        for (district, _) in delivered.clone() {
            let (customer, amount) = delivered_order(session).await?;
            let changes = [Param::Cents(amount), w, district.into(), Param::Int(customer)];
            session.queue(self.statements.update_balance, &changes)?;
        }
        for _ in delivered.clone() {
            let answer = session.answer().await?;
            one_row(&answer, "the customer of the delivered order")?;
        }
        commit(session).await?;
        let skipped_districts = DISTRICTS - delivered.count() as u32;
        Ok(Outcome::Delivered { skipped_districts })
    }

    /// Queues what is done to an order and its lines.
    fn ask_delivery<S: Session>(
        &self,
        session: &mut S,
        delivery: &Delivery,
        district: u32,
        order: i64,
    ) -> Result<(), TransactionError> {
        let key @ [w, d, o] =
            [Param::from(delivery.warehouse), Param::from(district), Param::Int(order)];
        session.queue(self.statements.delete_new_order, &key)?;
        session.queue(self.statements.lock_order, &key)?;
        let carrier = Param::from(delivery.carrier);
        session.queue(self.statements.update_carrier, &[carrier, w, d, o])?;
        let now = Param::Time(delivery.delivered);
        session.queue(self.statements.update_order_lines, &[now, w, d, o])?;
        session.queue(self.statements.select_amount, &key)?;
        Ok(())
    }
}

/// Reads the answers about one order: who gets it, and what it costs.
async fn delivered_order<S: Session>(session: &mut S) -> Result<(i64, Cents), TransactionError> {
    one_row(&session.answer().await?, "the open order")?;
    let answer = session.answer().await?;
    let customer = only_row(&answer, "the delivered order")?.int(0)?;
    one_row(&session.answer().await?, "the delivered order")?;
    if session.answer().await?.affected_rows == 0 {
        return Err(TransactionError::MissingRow("the lines of the delivered order"));
    }
    let answer = session.answer().await?;
    let amount = only_row(&answer, "the lines of the delivered order")?.cents(0)?;
    Ok((customer, amount))
}
