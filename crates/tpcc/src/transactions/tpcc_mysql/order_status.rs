//! Order-Status as tpcc-mysql has it: three statements by number, one more by name, COMMIT.

use super::TpccMysql;
use crate::input::{CustomerKey, OrderStatus};
use crate::transactions::rules::{middle_row, only_row, show_lines};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Param, Session};
use std::hint::black_box;

impl TpccMysql {
    pub(in crate::transactions) async fn order_status<S: Session>(
        &mut self,
        session: &mut S,
        status: &OrderStatus,
    ) -> Result<Outcome, TransactionError> {
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let key @ [_, _, number] = [w, d, Param::from(status.customer)];
        let customer = match status.customer {
            CustomerKey::Number(_) => {
                let answer = session.execute(self.statements.select_balance, &key).await?;
                black_box(only_row(&answer, "the customer")?.cents(0)?);
                number
            }
            CustomerKey::LastName(_) => {
                self.count_by_name(session, &key).await?;
                let answer = session.execute(self.statements.select_balance_by_name, &key).await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(0)?);
                Param::Int(row.int(4)?)
            }
        };
        let key = [w, d, customer, w, d, customer];
        let answer = session.execute(self.statements.select_last_order, &key).await?;
        // Every customer has an order from the population on (clause 4.3.3.1).
        let order = only_row(&answer, "an order of the customer")?.int(0)?;
        let key = [w, d, Param::Int(order)];
        let answer = session.execute(self.statements.select_order_lines, &key).await?;
        show_lines(&answer, 0, "a line of the customer's last order")?;
        commit(session).await?;
        Ok(Outcome::Committed)
    }
}
