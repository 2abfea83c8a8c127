//! Stock-Level as tpcc-mysql has it: two statements, one more for each item of the last twenty
//! orders, COMMIT.

use super::TpccMysql;
use super::statements::Statements;
use crate::input::StockLevel;
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult};
use base::{Param, Session};
use std::hint::black_box;

impl<S: Session> OnSession<'_, S, TpccMysql> {
    pub(crate) async fn stock_level(&mut self, level: &StockLevel) -> StepResult<Outcome> {
        let Statements { select_next_order, select_last_items, select_low_stock, .. } =
            self.set.statements;
        let (w, d) = (Param::from(level.warehouse), Param::from(level.district));
        let next = Param::Int(self.row(select_next_order, &[d, w], "the district").await?.int(0)?);
        let range = [w, d, next, next];
        let answer = self.session.execute(select_last_items, &range).await?;
        self.set.items.clear();
        for row in answer.rows() {
            self.set.items.push(row.int(0)?);
        }
        let threshold = Param::from(level.threshold);
        for index in 0..self.set.items.len() {
            let key = [w, Param::Int(self.set.items[index]), threshold];
            black_box(self.row(select_low_stock, &key, "the count of low stock").await?.int(0)?);
        }
        self.end(Outcome::Committed).await
    }
}
