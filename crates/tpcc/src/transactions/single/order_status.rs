//! Order-Status (clause 2.6).

use super::Single;
use crate::input::{CustomerKey, OrderStatus};
use crate::transactions::rules::{middle_row, number, only_row, show_lines};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Param, Session};
use std::hint::black_box;

impl Single {
    pub(in crate::transactions) async fn order_status<S: Session>(
        &self,
        session: &mut S,
        status: &OrderStatus,
    ) -> Result<Outcome, TransactionError> {
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let key = [w, d, Param::from(status.customer)];
        let customer = match status.customer {
            CustomerKey::Number(customer) => {
                session.queue(self.statements.select_balance, &key)?;
                session.queue(self.statements.select_last_order, &key)?;
                let answer = session.answer().await?;
                black_box(only_row(&answer, "the customer")?.cents(1)?);
                customer
            }
            CustomerKey::LastName(_) => {
                session.queue(self.statements.select_balance_by_name, &key)?;
                let answer = session.answer().await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(1)?);
                let customer = row.int(0)?;
                session.queue(self.statements.select_last_order, &[w, d, Param::Int(customer)])?;
                number(customer)?
            }
        };
        // Every customer has an order from the population on (clause 4.3.3.1).
        let answer = session.answer().await?;
        let order = only_row(&answer, "an order of the customer")?.int(0)?;
        let key = [w, d, Param::Int(order)];
        session.queue(self.statements.select_order_lines, &key)?;
        let answer = session.answer().await?;
        show_lines(&answer, 0, "a line of the customer's last order")?;
        commit(session).await?;
        Ok(Outcome::LastOrder { customer, order: number(order)? })
    }
}
