//! Order-Status as tpcc-mysql has it: three statements by number, one more by name, COMMIT.

use super::TpccMysql;
use super::statements::Statements;
use crate::input::{CustomerKey, OrderStatus};
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::{middle_row, show_lines};
use base::{Param, Session};
use std::hint::black_box;

impl<S: Session> OnSession<'_, S, TpccMysql> {
    pub(crate) async fn order_status(&mut self, status: &OrderStatus) -> StepResult<Outcome> {
        let Statements {
            select_balance,
            select_balance_by_name,
            select_last_order,
            select_order_lines,
            ..
        } = self.set.statements;
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let key @ [_, _, number] = [w, d, Param::from(status.customer)];
        let customer = match status.customer {
            CustomerKey::Number(_) => {
                black_box(self.row(select_balance, &key, "the customer").await?.cents(0)?);
                number
            }
            CustomerKey::LastName(_) => {
                self.count_by_name(&key).await?;
                let answer = self.session.execute(select_balance_by_name, &key).await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(0)?);
                Param::Int(row.int(4)?)
            }
        };
        let key = [w, d, customer, w, d, customer];
        // Every customer has an order from the population on (clause 4.3.3.1).
        let order = self.row(select_last_order, &key, "an order of the customer").await?.int(0)?;
        let key = [w, d, Param::Int(order)];
        let answer = self.session.execute(select_order_lines, &key).await?;
        show_lines(&answer, 0, "a line of the customer's last order")?;
        self.end(Outcome::Committed).await
    }
}
