//! Order-Status (clause 2.6) and Stock-Level (clause 2.8).

use super::Sets;
use crate::input::{CustomerKey, OrderStatus, StockLevel};
use crate::transactions::rules::{middle_row, only_row, show_lines};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Param, Session};
use std::hint::black_box;

impl Sets {
    pub(in crate::transactions) async fn order_status<S: Session>(
        &self,
        session: &mut S,
        status: &OrderStatus,
    ) -> Result<Outcome, TransactionError> {
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let customer = Param::from(status.customer);
        let last_order = self.statements.select_last_order_lines;
        match status.customer {
            CustomerKey::Number(_) => {
                session.queue(self.statements.select_balance, &[w, d, customer])?;
                session.queue(last_order, &[w, d, customer, w, d])?;
                let answer = session.answer().await?;
                black_box(only_row(&answer, "the customer")?.cents(1)?);
            }
            CustomerKey::LastName(_) => {
                let by_name = self.statements.select_balance_by_name;
                let answer = session.execute(by_name, &[w, d, customer]).await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(1)?);
                let c = Param::Int(row.int(0)?);
                session.queue(last_order, &[w, d, c, w, d])?;
            }
        }
        // Every customer has an order from the population on (clause 4.3.3.1).
        let answer = session.answer().await?;
        show_lines(&answer, 3, "the customer's last order and its lines")?;
        commit(session).await?;
        Ok(Outcome::Committed)
    }

    pub(in crate::transactions) async fn stock_level<S: Session>(
        &self,
        session: &mut S,
        level: &StockLevel,
    ) -> Result<Outcome, TransactionError> {
        let (w, d) = (Param::from(level.warehouse), Param::from(level.district));
        let range = [w, d, w, d, Param::from(level.threshold)];
        let answer = session.execute(self.statements.select_low_stock, &range).await?;
        black_box(only_row(&answer, "the count of low stock")?.int(0)?);
        commit(session).await?;
        Ok(Outcome::Committed)
    }
}
