//! Delivery (clause 2.7), all ten districts in one database transaction, which the clause allows.
//!
//! A retry after a deadlock thus starts from nothing, and no order is delivered outside of it.

use super::{Failure, Outcome, Terminal, one_row, only_row};
use crate::input::Delivery;
use crate::schema::DISTRICTS;
use base::{Param, Session};

impl<S: Session> Terminal<S> {
    pub(super) async fn delivery(&mut self, delivery: &Delivery) -> Result<Outcome, Failure> {
        let mut skipped_districts = 0;
        for district in 1..=DISTRICTS {
            let delivered = self.deliver_oldest(delivery, district).await?;
            skipped_districts += u32::from(!delivered);
        }
        self.commit().await?;
        Ok(Outcome::Delivered { skipped_districts })
    }

    /// Delivers the oldest open order of a district; false where there is none.
    async fn deliver_oldest(
        &mut self,
        delivery: &Delivery,
        district: u32,
    ) -> Result<bool, Failure> {
        let (w, d) = (Param::from(delivery.warehouse), Param::from(district));
        // A locking read: without the lock two Deliveries could take the same order.
        let answer = self
            .session
            .execute(self.statements.oldest_open_order, &[w, d])
            .await?;
        let Some(row) = answer.row(0) else {
            return Ok(false);
        };
        let key = [w, d, Param::Int(row.int(0)?)];
        let [_, _, order] = key;
        let answer = self
            .session
            .execute(self.statements.delete_new_order, &key)
            .await?;
        one_row(&answer, "the open order")?;
        let answer = self
            .session
            .execute(self.statements.order_owner, &key)
            .await?;
        let customer = Param::Int(only_row(&answer, "the delivered order")?.int(0)?);
        let carrier = Param::from(delivery.carrier);
        let answer = self
            .session
            .execute(self.statements.set_carrier, &[carrier, w, d, order])
            .await?;
        one_row(&answer, "the delivered order")?;
        let now = Param::Time(delivery.entered);
        let answer = self
            .session
            .execute(self.statements.deliver_lines, &[now, w, d, order])
            .await?;
        if answer.affected_rows == 0 {
            return Err(Failure::MissingRow("the lines of the delivered order"));
        }
        let answer = self
            .session
            .execute(self.statements.order_amount, &key)
            .await?;
        let amount = Param::Cents(only_row(&answer, "the lines of the delivered order")?.cents(0)?);
        let changes = [amount, w, d, customer];
        let answer = self
            .session
            .execute(self.statements.credit_customer, &changes)
            .await?;
        one_row(&answer, "the customer of the delivered order")?;
        Ok(true)
    }
}
