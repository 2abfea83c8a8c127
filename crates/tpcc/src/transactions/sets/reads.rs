//! Order-Status (clause 2.6) and Stock-Level (clause 2.8).

use super::Sets;
use crate::input::{CustomerKey, OrderStatus, StockLevel};
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::{middle_row, only_row, show_lines};
use base::{Param, Session};
use std::hint::black_box;

impl<S: Session> OnSession<'_, S, Sets> {
    pub(crate) async fn order_status(&mut self, status: &OrderStatus) -> StepResult<Outcome> {
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let customer = Param::from(status.customer);
        let last_order = self.set.statements.select_last_order_lines;
        match status.customer {
            CustomerKey::Number(_) => {
                self.ask(self.set.statements.select_balance, &[w, d, customer])?;
                self.ask(last_order, &[w, d, customer, w, d])?;
                let answer = self.session.answer().await?;
                black_box(only_row(&answer, "the customer")?.cents(1)?);
            }
            CustomerKey::LastName(_) => {
                let by_name = self.set.statements.select_balance_by_name;
                let answer = self.session.execute(by_name, &[w, d, customer]).await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(1)?);
                let c = Param::Int(row.int(0)?);
                self.ask(last_order, &[w, d, c, w, d])?;
            }
        }
        // Every customer has an order from the population on (clause 4.3.3.1).
        let answer = self.session.answer().await?;
        show_lines(&answer, 3, "the customer's last order and its lines")?;
        self.end(Outcome::Committed).await
    }

    pub(crate) async fn stock_level(&mut self, level: &StockLevel) -> StepResult<Outcome> {
        let (w, d) = (Param::from(level.warehouse), Param::from(level.district));
        let range = [w, d, w, d, Param::from(level.threshold)];
        let low_stock = self.set.statements.select_low_stock;
        black_box(self.row(low_stock, &range, "the count of low stock").await?.int(0)?);
        self.end(Outcome::Committed).await
    }
}
