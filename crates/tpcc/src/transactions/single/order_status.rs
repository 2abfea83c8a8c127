//! Order-Status (clause 2.6).

use super::Single;
use crate::input::{CustomerKey, OrderStatus};
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::{middle_row, number, only_row, show_lines};
use base::{Param, Session};
use std::hint::black_box;

impl<S: Session> OnSession<'_, S, Single> {
    pub(crate) async fn order_status(&mut self, status: &OrderStatus) -> StepResult<Outcome> {
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let key = [w, d, Param::from(status.customer)];
        let customer = match status.customer {
            CustomerKey::Number(customer) => {
                self.ask(self.set.statements.select_balance, &key)?;
                self.ask(self.set.statements.select_last_order, &key)?;
                let answer = self.session.answer().await?;
                black_box(only_row(&answer, "the customer")?.cents(1)?);
                customer
            }
            CustomerKey::LastName(_) => {
                let by_name = self.set.statements.select_balance_by_name;
                let answer = self.session.execute(by_name, &key).await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(1)?);
                let customer = row.int(0)?;
                let key = [w, d, Param::Int(customer)];
                self.ask(self.set.statements.select_last_order, &key)?;
                number(customer)?
            }
        };
        // Every customer has an order from the population on (clause 4.3.3.1).
        let answer = self.session.answer().await?;
        let order = only_row(&answer, "an order of the customer")?.int(0)?;
        let key = [w, d, Param::Int(order)];
        self.ask(self.set.statements.select_order_lines, &key)?;
        let answer = self.session.answer().await?;
        show_lines(&answer, 0, "a line of the customer's last order")?;
        let outcome = Outcome::LastOrder { customer, order: number(order)? };
        self.end(outcome).await
    }
}
