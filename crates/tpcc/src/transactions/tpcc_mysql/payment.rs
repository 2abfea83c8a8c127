//! Payment as tpcc-mysql has it: seven statements by number, two more by name, one more for bad
//! credit, COMMIT.

use super::TpccMysql;
use crate::input::Payment;
use crate::transactions::rules::{append_cut, middle_row, one_row, only_row};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Cents, Param, Session};
use std::hint::black_box;
use std::io::Write;

/// Names of warehouse and district have ten characters at most.
const NAMES_MAX: usize = 20;

impl TpccMysql {
    pub(in crate::transactions) async fn payment<S: Session>(
        &mut self,
        session: &mut S,
        payment: &Payment,
    ) -> Result<Outcome, TransactionError> {
        self.pay_warehouse_and_district(session, payment).await?;
        let customer = self.paying_customer(session, payment).await?;
        let key @ [w, d, c] = payment.customer_key(Param::Int(customer));
        let answer = session.execute(self.statements.lock_customer, &key).await?;
        let row = only_row(&answer, "the paying customer")?;
        let bad_credit = row.bytes(9)? == b"BC";
        black_box(row.decimal(11, 4)?);
        let balance = Param::Cents(Cents(row.cents(12)?.0 - payment.amount.0));
        let answer = if bad_credit {
            // h_data waits in `text` for the history row; c_data is built behind it.
            let h_data = self.text.len();
            let answer = session.execute(self.statements.lock_customer_data, &key).await?;
            let old = only_row(&answer, "the paying customer")?.bytes(0)?;
            let Payment { warehouse, district, amount, .. } = payment;
            let (of_warehouse, of_district) =
                (payment.customer_warehouse, payment.customer_district);
            // Writing to a vector cannot fail.
            let _ = write!(
                self.text,
                "| {customer} {of_district} {of_warehouse} {district} {warehouse} ${amount} "
            );
            append_cut(&mut self.text, h_data, old);
            let changes = [balance, Param::Text(&self.text[h_data..]), w, d, c];
            let answer = session.execute(self.statements.update_customer_data, &changes).await?;
            self.text.truncate(h_data);
            answer
        } else {
            session.execute(self.statements.update_customer, &[balance, w, d, c]).await?
        };
        one_row(&answer, "the paying customer")?;
        let history = payment.history_row([d, w, c], &self.text);
        let answer = session.execute(self.statements.insert_history, &history).await?;
        one_row(&answer, "the payment's history")?;
        commit(session).await?;
        Ok(Outcome::Committed)
    }

    /// Adds the amount to warehouse and district and leaves h_data in `text`: both names run
    /// together, and the four spaces of clause 2.5.2.2 behind them and only where both are as long
    /// as they can be.
    async fn pay_warehouse_and_district<S: Session>(
        &mut self,
        session: &mut S,
        payment: &Payment,
    ) -> Result<(), TransactionError> {
        let amount = Param::Cents(payment.amount);
        let (w, d) = (Param::from(payment.warehouse), Param::from(payment.district));
        let answer = session.execute(self.statements.update_warehouse, &[amount, w]).await?;
        one_row(&answer, "the payment's warehouse")?;
        let answer = session.execute(self.statements.select_warehouse, &[w]).await?;
        let name = only_row(&answer, "the payment's warehouse")?.bytes(5)?;
        self.text.clear();
        self.text.extend_from_slice(name);
        let answer = session.execute(self.statements.update_district, &[amount, w, d]).await?;
        one_row(&answer, "the payment's district")?;
        let answer = session.execute(self.statements.select_district, &[w, d]).await?;
        let name = only_row(&answer, "the payment's district")?.bytes(5)?;
        self.text.extend_from_slice(name);
        if self.text.len() == NAMES_MAX {
            self.text.extend_from_slice(b"    ");
        }
        Ok(())
    }

    async fn paying_customer<S: Session>(
        &mut self,
        session: &mut S,
        payment: &Payment,
    ) -> Result<i64, TransactionError> {
        if let Some(number) = payment.customer.number() {
            return Ok(i64::from(number));
        }
        let key = payment.customer_key(payment.customer);
        self.count_by_name(session, &key).await?;
        let answer = session.execute(self.statements.select_customers_by_name, &key).await?;
        Ok(middle_row(&answer)?.int(0)?)
    }

    /// tpcc-mysql asks for the number of customers first, to know the middle one. The answer to the
    /// next statement has as many rows, so the number itself is of no use here; the round trip is
    /// part of the load.
    pub(super) async fn count_by_name<S: Session>(
        &mut self,
        session: &mut S,
        key: &[Param<'_>],
    ) -> Result<(), TransactionError> {
        let answer = session.execute(self.statements.select_name_count, key).await?;
        black_box(only_row(&answer, "the count of customers")?.int(0)?);
        Ok(())
    }
}
