//! Stock-Level (clause 2.8).

use super::{Failure, Outcome, Terminal, only_row};
use crate::input::StockLevel;
use base::{Param, Session};
use std::hint::black_box;

/// Orders whose items are looked at.
const ORDERS: i64 = 20;

impl<S: Session> Terminal<S> {
    pub(super) async fn stock_level(&mut self, level: &StockLevel) -> Result<Outcome, Failure> {
        let (w, d) = (Param::from(level.warehouse), Param::from(level.district));
        let answer = self
            .session
            .execute(self.statements.next_order, &[w, d])
            .await?;
        let next = only_row(&answer, "the district")?.int(0)?;
        let range = [
            w,
            d,
            Param::Int(next - ORDERS),
            Param::Int(next),
            Param::from(level.threshold),
        ];
        let answer = self
            .session
            .execute(self.statements.low_stock, &range)
            .await?;
        black_box(only_row(&answer, "the count of low stock")?.int(0)?);
        self.commit().await?;
        Ok(Outcome::Committed)
    }
}
