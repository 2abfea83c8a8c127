//! Order-Status (clause 2.6).

use super::{Failure, Outcome, Terminal, middle_row, only_row};
use crate::input::{CustomerKey, OrderStatus};
use crate::random::last_name;
use base::{Param, Session};
use std::hint::black_box;

impl<S: Session> Terminal<S> {
    pub(super) async fn order_status(&mut self, status: &OrderStatus) -> Result<Outcome, Failure> {
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let customer = match status.customer {
            CustomerKey::Number(number) => {
                let key = [w, d, Param::from(number)];
                let answer = self
                    .session
                    .execute(self.statements.status_by_number, &key)
                    .await?;
                let row = only_row(&answer, "the customer")?;
                black_box(row.cents(1)?);
                row.int(0)?
            }
            CustomerKey::LastName(number) => {
                let key = [w, d, Param::Text(last_name(number))];
                let answer = self
                    .session
                    .execute(self.statements.status_by_name, &key)
                    .await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(1)?);
                row.int(0)?
            }
        };
        let key = [w, d, Param::Int(customer)];
        let answer = self
            .session
            .execute(self.statements.last_order, &key)
            .await?;
        // Every customer has an order from the population on (clause 4.3.3.1).
        let order = only_row(&answer, "an order of the customer")?.int(0)?;
        let key = [w, d, Param::Int(order)];
        let answer = self
            .session
            .execute(self.statements.order_lines, &key)
            .await?;
        only_row(&answer, "a line of the customer's last order")?;
        for line in answer.rows() {
            black_box((line.int(0)?, line.int(1)?, line.int(2)?, line.cents(3)?));
        }
        self.commit().await?;
        Ok(Outcome::Committed)
    }
}
