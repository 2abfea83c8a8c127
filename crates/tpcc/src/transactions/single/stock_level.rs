//! Stock-Level (clause 2.8).

use super::Single;
use crate::input::StockLevel;
use crate::transactions::rules::{number, only_row};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Param, Session};
use std::hint::black_box;

/// Orders whose items are looked at.
const ORDERS: i64 = 20;

impl Single {
    pub(in crate::transactions) async fn stock_level<S: Session>(
        &self,
        session: &mut S,
        level: &StockLevel,
    ) -> Result<Outcome, TransactionError> {
        let (w, d) = (Param::from(level.warehouse), Param::from(level.district));
        let answer = session.execute(self.statements.select_next_order, &[w, d]).await?;
        let next = only_row(&answer, "the district")?.int(0)?;
        let range =
            [w, d, Param::Int(next - ORDERS), Param::Int(next), Param::from(level.threshold)];
        let answer = session.execute(self.statements.select_low_stock, &range).await?;
        black_box(only_row(&answer, "the count of low stock")?.int(0)?);
        commit(session).await?;
        Ok(Outcome::OrdersBelow(number(next)?))
    }
}
