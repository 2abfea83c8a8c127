//! Payment as tpcc-mysql has it: seven statements by number, two more by name, one more for bad
//! credit, COMMIT.

use super::TpccMysql;
use super::statements::Statements;
use crate::input::Payment;
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::{append_cut, middle_row, only_row};
use base::{Cents, Param, Session};
use std::hint::black_box;
use std::io::Write;

/// Names of warehouse and district have ten characters at most.
const NAMES_MAX: usize = 20;

impl<S: Session> OnSession<'_, S, TpccMysql> {
    pub(crate) async fn payment(&mut self, payment: &Payment) -> StepResult<Outcome> {
        self.pay_warehouse_and_district(payment).await?;
        let customer = self.paying_customer(payment).await?;
        let key @ [w, d, c] = payment.customer_key(Param::Int(customer));
        let lock_customer = self.set.statements.lock_customer;
        let row = self.row(lock_customer, &key, "the paying customer").await?;
        let bad_credit = row.bytes(9)? == b"BC";
        black_box(row.decimal(11, 4)?);
        let balance = Param::Cents(Cents(row.cents(12)?.0 - payment.amount.0));
        if bad_credit {
            // h_data waits in `text` for the history row; c_data is built behind it.
            let h_data = self.set.text.len();
            let lock_customer_data = self.set.statements.lock_customer_data;
            let answer = self.session.execute(lock_customer_data, &key).await?;
            let old = only_row(&answer, "the paying customer")?.bytes(0)?;
            let Payment { warehouse, district, amount, .. } = payment;
            let (of_warehouse, of_district) =
                (payment.customer_warehouse, payment.customer_district);
            // Writing to a vector cannot fail.
            let _ = write!(
                self.set.text,
                "| {customer} {of_district} {of_warehouse} {district} {warehouse} ${amount} "
            );
            append_cut(&mut self.set.text, h_data, old);
            let changes = [balance, Param::Text(&self.set.text[h_data..]), w, d, c];
            self.session.queue(self.set.statements.update_customer_data, &changes)?;
            self.set.text.truncate(h_data);
        } else {
            self.ask(self.set.statements.update_customer, &[balance, w, d, c])?;
        }
        self.changed("the paying customer").await?;
        let history = payment.history_row([d, w, c], &self.set.text);
        self.session.queue(self.set.statements.insert_history, &history)?;
        self.changed("the payment's history").await?;
        self.end(Outcome::Committed).await
    }

    /// Adds the amount to warehouse and district and leaves h_data in `text`: both names run
    /// together, and the four spaces of clause 2.5.2.2 behind them and only where both are as long
    /// as they can be.
    async fn pay_warehouse_and_district(&mut self, payment: &Payment) -> StepResult {
        let Statements {
            update_warehouse, select_warehouse, update_district, select_district, ..
        } = self.set.statements;
        let amount = Param::Cents(payment.amount);
        let (w, d) = (Param::from(payment.warehouse), Param::from(payment.district));
        self.change(update_warehouse, &[amount, w], "the payment's warehouse").await?;
        let answer = self.session.execute(select_warehouse, &[w]).await?;
        let name = only_row(&answer, "the payment's warehouse")?.bytes(5)?;
        self.set.text.clear();
        self.set.text.extend_from_slice(name);
        self.change(update_district, &[amount, w, d], "the payment's district").await?;
        let answer = self.session.execute(select_district, &[w, d]).await?;
        let name = only_row(&answer, "the payment's district")?.bytes(5)?;
        self.set.text.extend_from_slice(name);
        if self.set.text.len() == NAMES_MAX {
            self.set.text.extend_from_slice(b"    ");
        }
        Ok(())
    }

    async fn paying_customer(&mut self, payment: &Payment) -> StepResult<i64> {
        if let Some(number) = payment.customer.number() {
            return Ok(i64::from(number));
        }
        let key = payment.customer_key(payment.customer);
        self.count_by_name(&key).await?;
        let by_name = self.set.statements.select_customers_by_name;
        Ok(middle_row(&self.session.execute(by_name, &key).await?)?.int(0)?)
    }

    /// tpcc-mysql asks for the number of customers first, to know the middle one. The answer to the
    /// next statement has as many rows, so the number itself is of no use here; the round trip is
    /// part of the load.
    pub(super) async fn count_by_name(&mut self, key: &[Param<'_>]) -> StepResult {
        let name_count = self.set.statements.select_name_count;
        black_box(self.row(name_count, key, "the count of customers").await?.int(0)?);
        Ok(())
    }
}
