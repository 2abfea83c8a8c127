//! Order-Status as tpcc-mysql has it: three statements by number, one more by name, COMMIT.

use super::TpccMysqlSession;
use crate::input::{CustomerKey, OrderStatus};
use crate::random::last_name;
use crate::transactions::{Outcome, TransactionError, middle_row, only_row};
use base::{Param, Session};
use std::hint::black_box;

impl<S: Session> TpccMysqlSession<S> {
    pub(super) async fn order_status(
        &mut self,
        status: &OrderStatus,
    ) -> Result<Outcome, TransactionError> {
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let customer = match status.customer {
            CustomerKey::Number(number) => {
                let c = Param::from(number);
                let statement = self.statements.select_balance;
                let answer = self.session.execute(statement, &[w, d, c]).await?;
                black_box(only_row(&answer, "the customer")?.cents(0)?);
                c
            }
            CustomerKey::LastName(number) => {
                let key = [w, d, Param::Text(last_name(number))];
                self.count_by_name(&key).await?;
                let statement = self.statements.select_balance_by_name;
                let answer = self.session.execute(statement, &key).await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(0)?);
                Param::Int(row.int(4)?)
            }
        };
        let key = [w, d, customer, w, d, customer];
        let statement = self.statements.select_last_order;
        let answer = self.session.execute(statement, &key).await?;
        // Every customer has an order from the population on (clause 4.3.3.1).
        let order = only_row(&answer, "an order of the customer")?.int(0)?;
        let key = [w, d, Param::Int(order)];
        let statement = self.statements.select_order_lines;
        let answer = self.session.execute(statement, &key).await?;
        only_row(&answer, "a line of the customer's last order")?;
        for line in answer.rows() {
            black_box((line.int(0)?, line.int(1)?, line.int(2)?, line.cents(3)?));
        }
        self.commit().await?;
        Ok(Outcome::Committed)
    }
}
