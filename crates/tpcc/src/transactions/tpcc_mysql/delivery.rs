//! Delivery as tpcc-mysql has it: seven statements and COMMIT for each district.
//!
//! Districts that were committed stay delivered whatever becomes of the next one, so a new try goes
//! on with the one that failed: from the first one again, it would deliver more than ten orders.

use super::TpccMysql;
use super::statements::Statements;
use crate::input::Delivery;
use crate::schema::DISTRICTS;
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult, TransactionError};
use base::{Param, Session};

impl<S: Session> OnSession<'_, S, TpccMysql> {
    pub(crate) async fn delivery(&mut self, delivery: &Delivery) -> StepResult<Outcome> {
        while self.set.progress.done < DISTRICTS {
            let district = self.set.progress.done + 1;
            if self.deliver_oldest(delivery, district).await? {
                self.end(Outcome::Committed).await?;
                self.set.progress.open = false;
            } else {
                self.set.progress.skipped += 1;
                self.set.progress.open = true;
            }
            self.set.progress.done = district;
        }
        // tpcc-mysql leaves the transaction open where the last district is skipped; its lock would
        // outlive it.
        if self.set.progress.open {
            self.end(Outcome::Committed).await?;
        }
        Ok(Outcome::Delivered { skipped_districts: self.set.progress.skipped })
    }

    /// Delivers the oldest open order of a district; false where there is none.
    async fn deliver_oldest(&mut self, delivery: &Delivery, district: u32) -> StepResult<bool> {
        let Statements {
            lock_oldest_order,
            delete_new_order,
            select_order,
            update_carrier,
            update_order_lines,
            select_amount,
            update_balance,
            ..
        } = self.set.statements;
        let (w, d) = (Param::from(delivery.warehouse), Param::from(district));
        let answer = self.session.execute(lock_oldest_order, &[d, w]).await?;
        let Some(row) = answer.row(0) else {
            return Ok(false);
        };
        let key @ [order, ..] = [Param::Int(row.int(0)?), d, w];
        self.change(delete_new_order, &key, "the open order").await?;
        let customer = self.row(select_order, &key, "the delivered order").await?.int(0)?;
        let changes = [Param::from(delivery.carrier), order, d, w];
        self.change(update_carrier, &changes, "the delivered order").await?;
        let changes = [Param::Time(delivery.delivered), order, d, w];
        let what = "the lines of the delivered order";
        if self.session.execute(update_order_lines, &changes).await?.affected_rows == 0 {
            return Err(TransactionError::MissingRow(what));
        }
        let amount = self.row(select_amount, &key, what).await?.cents(0)?;
        let changes = [Param::Cents(amount), Param::Int(customer), d, w];
        self.change(update_balance, &changes, "the customer of the delivered order").await?;
        Ok(true)
    }
}
