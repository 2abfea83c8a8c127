//! Delivery as tpcc-mysql has it: seven statements and COMMIT for each district.
//!
//! Districts that were committed stay delivered whatever becomes of the next one, so a new try goes
//! on with the one that failed: from the first one again, it would deliver more than ten orders.

use super::TpccMysqlSession;
use crate::input::Delivery;
use crate::schema::DISTRICTS;
use crate::transactions::{Outcome, TransactionError, one_row, only_row};
use base::{Param, Session};

/// How far the Delivery of the present input has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeliveryProgress {
    /// Districts that are done: delivered or without an open order.
    done: u32,
    skipped: u32,
    /// Districts without an open order whose locking read has not been ended by a COMMIT.
    open: bool,
}

impl<S: Session> TpccMysqlSession<S> {
    pub(super) async fn delivery(
        &mut self,
        delivery: &Delivery,
    ) -> Result<Outcome, TransactionError> {
        while self.progress.done < DISTRICTS {
            let district = self.progress.done + 1;
            if self.deliver_oldest(delivery, district).await? {
                self.commit().await?;
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
            self.commit().await?;
        }
        Ok(Outcome::Delivered { skipped_districts: self.progress.skipped })
    }

    /// Delivers the oldest open order of a district; false where there is none.
    async fn deliver_oldest(
        &mut self,
        delivery: &Delivery,
        district: u32,
    ) -> Result<bool, TransactionError> {
        let (w, d) = (Param::from(delivery.warehouse), Param::from(district));
        let statement = self.statements.lock_oldest_order;
        let answer = self.session.execute(statement, &[d, w]).await?;
        let Some(row) = answer.row(0) else {
            return Ok(false);
        };
        let key = [Param::Int(row.int(0)?), d, w];
        let [order, _, _] = key;
        let statement = self.statements.delete_new_order;
        let answer = self.session.execute(statement, &key).await?;
        one_row(&answer, "the open order")?;
        let statement = self.statements.select_order;
        let answer = self.session.execute(statement, &key).await?;
        let customer = Param::Int(only_row(&answer, "the delivered order")?.int(0)?);
        let statement = self.statements.update_carrier;
        let carrier = Param::from(delivery.carrier);
        let changes = [carrier, order, d, w];
        let answer = self.session.execute(statement, &changes).await?;
        one_row(&answer, "the delivered order")?;
        let statement = self.statements.update_order_lines;
        let changes = [Param::Time(delivery.delivered), order, d, w];
        let answer = self.session.execute(statement, &changes).await?;
        if answer.affected_rows == 0 {
            return Err(TransactionError::MissingRow("the lines of the delivered order"));
        }
        let statement = self.statements.select_amount;
        let answer = self.session.execute(statement, &key).await?;
        let amount = only_row(&answer, "the lines of the delivered order")?.cents(0)?;
        let statement = self.statements.update_balance;
        let changes = [Param::Cents(amount), customer, d, w];
        let answer = self.session.execute(statement, &changes).await?;
        one_row(&answer, "the customer of the delivered order")?;
        Ok(true)
    }
}
