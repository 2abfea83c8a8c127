//! Stock-Level as tpcc-mysql has it: two statements, one more for each item of the last twenty
//! orders, COMMIT.

use super::TpccMysql;
use crate::input::StockLevel;
use crate::transactions::rules::only_row;
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Param, Session};
use std::hint::black_box;

impl TpccMysql {
    pub(in crate::transactions) async fn stock_level<S: Session>(
        &mut self,
        session: &mut S,
        level: &StockLevel,
    ) -> Result<Outcome, TransactionError> {
        let (w, d) = (Param::from(level.warehouse), Param::from(level.district));
        let answer = session.execute(self.statements.select_next_order, &[d, w]).await?;
        let next = Param::Int(only_row(&answer, "the district")?.int(0)?);
        let range = [w, d, next, next];
        let answer = session.execute(self.statements.select_last_items, &range).await?;
        self.items.clear();
        for row in answer.rows() {
            self.items.push(row.int(0)?);
        }
        let threshold = Param::from(level.threshold);
        for index in 0..self.items.len() {
            let key = [w, Param::Int(self.items[index]), threshold];
            let answer = session.execute(self.statements.select_low_stock, &key).await?;
            black_box(only_row(&answer, "the count of low stock")?.int(0)?);
        }
        commit(session).await?;
        Ok(Outcome::Committed)
    }
}
