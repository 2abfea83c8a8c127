//! Delivery as tpcc-mysql has it: seven statements and COMMIT for each district.
//!
//! Districts that were committed stay delivered whatever becomes of the next one, so a new try goes
//! on with the one that failed: from the first one again, it would deliver more than ten orders.

use super::TpccMysql;
use crate::input::Delivery;
use crate::schema::DISTRICTS;
use crate::transactions::rules::{one_row, only_row};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Param, Session};

impl TpccMysql {
    pub(in crate::transactions) async fn delivery<S: Session>(
        &mut self,
        session: &mut S,
        delivery: &Delivery,
    ) -> Result<Outcome, TransactionError> {
        while self.progress.done < DISTRICTS {
            let district = self.progress.done + 1;
            if self.deliver_oldest(session, delivery, district).await? {
                commit(session).await?;
                self.progress.open = false;
            } else {
                self.progress.skipped += 1;
                self.progress.open = true;
            }
            self.progress.done = district;
        }
        // tpcc-mysql leaves the transaction open where the last district is skipped; its lock would
        // outlive it.
        if self.progress.open {
            commit(session).await?;
        }
        Ok(Outcome::Delivered { skipped_districts: self.progress.skipped })
    }

    /// Delivers the oldest open order of a district; false where there is none.
    async fn deliver_oldest<S: Session>(
        &mut self,
        session: &mut S,
        delivery: &Delivery,
        district: u32,
    ) -> Result<bool, TransactionError> {
        let (w, d) = (Param::from(delivery.warehouse), Param::from(district));
        let answer = session.execute(self.statements.lock_oldest_order, &[d, w]).await?;
        let Some(row) = answer.row(0) else {
            return Ok(false);
        };
        let key @ [order, ..] = [Param::Int(row.int(0)?), d, w];
        let answer = session.execute(self.statements.delete_new_order, &key).await?;
        one_row(&answer, "the open order")?;
        let answer = session.execute(self.statements.select_order, &key).await?;
        let customer = Param::Int(only_row(&answer, "the delivered order")?.int(0)?);
        let carrier = Param::from(delivery.carrier);
        let changes = [carrier, order, d, w];
        let answer = session.execute(self.statements.update_carrier, &changes).await?;
        one_row(&answer, "the delivered order")?;
        let changes = [Param::Time(delivery.delivered), order, d, w];
        let answer = session.execute(self.statements.update_order_lines, &changes).await?;
        if answer.affected_rows == 0 {
            return Err(TransactionError::MissingRow("the lines of the delivered order"));
        }
        let answer = session.execute(self.statements.select_amount, &key).await?;
        let amount = only_row(&answer, "the lines of the delivered order")?.cents(0)?;
        let changes = [Param::Cents(amount), customer, d, w];
        let answer = session.execute(self.statements.update_balance, &changes).await?;
        one_row(&answer, "the customer of the delivered order")?;
        Ok(true)
    }
}
