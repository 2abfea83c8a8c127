//! Order-Status (clause 2.6).

use super::Single;
use crate::input::{CustomerKey, OrderStatus};
use crate::random::last_name;
use crate::transactions::rules::{middle_row, number, only_row};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Param, Session};
use std::hint::black_box;

impl Single {
    pub(super) async fn order_status<S: Session>(
        &self,
        session: &mut S,
        status: &OrderStatus,
    ) -> Result<Outcome, TransactionError> {
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let customer = match status.customer {
            CustomerKey::Number(customer) => {
                let key = [w, d, Param::from(customer)];
                session.queue(self.statements.select_balance, &key)?;
                session.queue(self.statements.select_last_order, &key)?;
                let answer = session.answer().await?;
                black_box(only_row(&answer, "the customer")?.cents(1)?);
                customer
            }
            CustomerKey::LastName(name) => {
                let key = [w, d, Param::Text(last_name(name))];
                session.queue(self.statements.select_balance_by_name, &key)?;
                let answer = session.answer().await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(1)?);
                let customer = row.int(0)?;
                let key = [w, d, Param::Int(customer)];
                session.queue(self.statements.select_last_order, &key)?;
                number(customer)?
            }
        };
        // Every customer has an order from the population on (clause 4.3.3.1).
        let answer = session.answer().await?;
        let order = only_row(&answer, "an order of the customer")?.int(0)?;
        let key = [w, d, Param::Int(order)];
        session.queue(self.statements.select_order_lines, &key)?;
        let answer = session.answer().await?;
        only_row(&answer, "a line of the customer's last order")?;
        for line in answer.rows() {
            black_box((line.int(0)?, line.int(1)?, line.int(2)?, line.cents(3)?));
        }
        commit(session).await?;
        Ok(Outcome::LastOrder { customer, order: number(order)? })
    }
}
