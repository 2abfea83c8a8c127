//! Delivery (clause 2.7), all ten districts in one database transaction, which the clause allows.
//!
//! A retry after a deadlock thus starts from nothing, and no order is delivered outside of it.

use super::Single;
use crate::input::Delivery;
use crate::schema::DISTRICTS;
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult, TransactionError};
use crate::transactions::rules::{oldest_orders, only_row};
use base::{Cents, Param, Session};

impl<S: Session> OnSession<'_, S, Single> {
    pub(crate) async fn delivery(&mut self, delivery: &Delivery) -> StepResult<Outcome> {
        let w = Param::from(delivery.warehouse);
        let oldest = self.set.statements.lock_oldest_order;
        let orders = oldest_orders(self.session, oldest, delivery.warehouse).await?;
        let orders = (1..).zip(orders);
        let delivered = orders.clone().filter_map(|(d, order)| Some((d, order?)));
        for (district, order) in delivered.clone() {
            self.ask_delivery(delivery, district, order)?;
        }
        for (district, _) in delivered.clone() {
            let (customer, amount) = self.delivered_order().await?;
            let changes = [Param::Cents(amount), w, district.into(), Param::Int(customer)];
            self.ask(self.set.statements.update_balance, &changes)?;
        }
        for _ in delivered.clone() {
            self.changed("the customer of the delivered order").await?;
        }
        let skipped_districts = DISTRICTS - delivered.count() as u32;
        self.end(Outcome::Delivered { skipped_districts }).await
    }

    /// Queues what is done to an order and its lines.
    fn ask_delivery(&mut self, delivery: &Delivery, district: u32, order: i64) -> StepResult {
        let key @ [w, d, o] =
            [Param::from(delivery.warehouse), Param::from(district), Param::Int(order)];
        self.ask(self.set.statements.delete_new_order, &key)?;
        self.ask(self.set.statements.lock_order, &key)?;
        let carrier = Param::from(delivery.carrier);
        self.ask(self.set.statements.update_carrier, &[carrier, w, d, o])?;
        let now = Param::Time(delivery.delivered);
        self.ask(self.set.statements.update_order_lines, &[now, w, d, o])?;
        self.ask(self.set.statements.select_amount, &key)
    }

    /// Reads the answers about one order: who gets it, and what it costs.
    async fn delivered_order(&mut self) -> StepResult<(i64, Cents)> {
        self.changed("the open order").await?;
        let answer = self.session.answer().await?;
        let customer = only_row(&answer, "the delivered order")?.int(0)?;
        self.changed("the delivered order").await?;
        if self.session.answer().await?.affected_rows == 0 {
            return Err(TransactionError::MissingRow("the lines of the delivered order"));
        }
        let answer = self.session.answer().await?;
        let amount = only_row(&answer, "the lines of the delivered order")?.cents(0)?;
        Ok((customer, amount))
    }
}
