//! Stock-Level (clause 2.8).

use super::Single;
use crate::input::StockLevel;
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::number;
use base::{Param, Session};
use std::hint::black_box;

/// Orders whose items are looked at.
const ORDERS: i64 = 20;

impl<S: Session> OnSession<'_, S, Single> {
    pub(crate) async fn stock_level(&mut self, level: &StockLevel) -> StepResult<Outcome> {
        let (w, d) = (Param::from(level.warehouse), Param::from(level.district));
        let next = self.set.statements.select_next_order;
        let next = self.row(next, &[w, d], "the district").await?.int(0)?;
        let range =
            [w, d, Param::Int(next - ORDERS), Param::Int(next), Param::from(level.threshold)];
        let low_stock = self.set.statements.select_low_stock;
        black_box(self.row(low_stock, &range, "the count of low stock").await?.int(0)?);
        self.end(Outcome::OrdersBelow(number(next)?)).await
    }
}
