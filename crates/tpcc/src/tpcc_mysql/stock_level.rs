//! Stock-Level as tpcc-mysql has it: two statements, one more for each item of the last twenty
//! orders, COMMIT.

use super::TpccMysqlSession;
use crate::input::StockLevel;
use crate::transactions::{Outcome, TransactionError, only_row};
use base::{Param, Session};
use std::hint::black_box;

impl<S: Session> TpccMysqlSession<S> {
    pub(super) async fn stock_level(
        &mut self,
        level: &StockLevel,
    ) -> Result<Outcome, TransactionError> {
        let (w, d) = (Param::from(level.warehouse), Param::from(level.district));
        let statement = self.statements.select_next_order;
        let answer = self.session.execute(statement, &[d, w]).await?;
        let next = Param::Int(only_row(&answer, "the district")?.int(0)?);
        let statement = self.statements.select_last_items;
        let range = [w, d, next, next];
        let answer = self.session.execute(statement, &range).await?;
        self.items.clear();
        for row in answer.rows() {
            self.items.push(row.int(0)?);
        }
        let threshold = Param::from(level.threshold);
        for index in 0..self.items.len() {
            let key = [w, Param::Int(self.items[index]), threshold];
            let statement = self.statements.select_low_stock;
            let answer = self.session.execute(statement, &key).await?;
            black_box(only_row(&answer, "the count of low stock")?.int(0)?);
        }
        self.commit().await?;
        Ok(Outcome::Committed)
    }
}
