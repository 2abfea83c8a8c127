//! Order-Status (clause 2.6) and Stock-Level (clause 2.8).

use super::Sets;
use crate::input::{CustomerKey, OrderStatus, StockLevel};
use crate::random::last_name;
use crate::transactions::rules::{middle_row, only_row};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Param, Session};
use std::hint::black_box;

impl Sets {
    pub(super) async fn order_status<S: Session>(
        &self,
        session: &mut S,
        status: &OrderStatus,
    ) -> Result<Outcome, TransactionError> {
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        match status.customer {
            CustomerKey::Number(number) => {
                let c = Param::from(number);
                session.queue(self.statements.select_balance, &[w, d, c])?;
                session.queue(self.statements.select_last_order_lines, &[w, d, c, w, d])?;
                let answer = session.answer().await?;
                black_box(only_row(&answer, "the customer")?.cents(1)?);
            }
            CustomerKey::LastName(number) => {
                let key = [w, d, Param::Text(last_name(number))];
                let answer = session.execute(self.statements.select_balance_by_name, &key).await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(1)?);
                let c = Param::Int(row.int(0)?);
                session.queue(self.statements.select_last_order_lines, &[w, d, c, w, d])?;
            }
        }
        let answer = session.answer().await?;
        // Every customer has an order from the population on (clause 4.3.3.1).
        only_row(&answer, "the customer's last order and its lines")?;
        for line in answer.rows() {
            black_box((line.int(3)?, line.int(4)?, line.int(5)?, line.cents(6)?));
        }
        commit(session).await?;
        Ok(Outcome::Committed)
    }

    pub(super) async fn stock_level<S: Session>(
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
