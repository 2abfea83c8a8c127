//! Payment as tpcc-mysql has it: seven statements by number, two more by name, one more for bad
//! credit, COMMIT.

use super::TpccMysqlSession;
use crate::input::{CustomerKey, Payment};
use crate::random::last_name;
use crate::transactions::{Outcome, TransactionError, middle_row, one_row, only_row};
use base::{Cents, Param, Session};
use std::hint::black_box;
use std::io::Write;

/// Width of c_data (clause 1.3.1).
const C_DATA_MAX: usize = 500;
/// Names of warehouse and district have ten characters at most.
const NAMES_MAX: usize = 20;

impl<S: Session> TpccMysqlSession<S> {
    pub(super) async fn payment(&mut self, payment: &Payment) -> Result<Outcome, TransactionError> {
        self.pay_warehouse_and_district(payment).await?;
        let customer = self.paying_customer(payment).await?;
        let key = [
            Param::from(payment.customer_warehouse),
            Param::from(payment.customer_district),
            Param::Int(customer),
        ];
        let [w, d, c] = key;
        let statement = self.statements.lock_customer;
        let answer = self.session.execute(statement, &key).await?;
        let row = only_row(&answer, "the paying customer")?;
        let bad_credit = row.bytes(9)? == b"BC";
        black_box(row.decimal(11, 4)?);
        let balance = Param::Cents(Cents(row.cents(12)?.0 - payment.amount.0));
        let answer = if bad_credit {
            // h_data waits in `text` for the history row; c_data is built behind it.
            let h_data = self.text.len();
            self.append_customer_data(payment, customer, &key).await?;
            let changes = [balance, Param::Text(&self.text[h_data..]), w, d, c];
            let statement = self.statements.update_customer_data;
            let answer = self.session.execute(statement, &changes).await?;
            self.text.truncate(h_data);
            answer
        } else {
            let statement = self.statements.update_customer;
            self.session.execute(statement, &[balance, w, d, c]).await?
        };
        one_row(&answer, "the paying customer")?;
        let history = [
            d,
            w,
            c,
            Param::from(payment.district),
            Param::from(payment.warehouse),
            Param::Time(payment.entered),
            Param::Cents(payment.amount),
            Param::Text(&self.text),
        ];
        let statement = self.statements.insert_history;
        let answer = self.session.execute(statement, &history).await?;
        one_row(&answer, "the payment's history")?;
        self.commit().await?;
        Ok(Outcome::Committed)
    }

    /// Adds the amount to warehouse and district and leaves h_data in `text`: both names run
    /// together, and the four spaces of clause 2.5.2.2 behind them and only where both are as long
    /// as they can be.
    async fn pay_warehouse_and_district(
        &mut self,
        payment: &Payment,
    ) -> Result<(), TransactionError> {
        let amount = Param::Cents(payment.amount);
        let (w, d) = (Param::from(payment.warehouse), Param::from(payment.district));
        let statement = self.statements.update_warehouse;
        let answer = self.session.execute(statement, &[amount, w]).await?;
        one_row(&answer, "the payment's warehouse")?;
        let statement = self.statements.select_warehouse;
        let answer = self.session.execute(statement, &[w]).await?;
        let name = only_row(&answer, "the payment's warehouse")?.bytes(5)?;
        self.text.clear();
        self.text.extend_from_slice(name);
        let statement = self.statements.update_district;
        let answer = self.session.execute(statement, &[amount, w, d]).await?;
        one_row(&answer, "the payment's district")?;
        let statement = self.statements.select_district;
        let answer = self.session.execute(statement, &[w, d]).await?;
        let name = only_row(&answer, "the payment's district")?.bytes(5)?;
        self.text.extend_from_slice(name);
        if self.text.len() == NAMES_MAX {
            self.text.extend_from_slice(b"    ");
        }
        Ok(())
    }

    async fn paying_customer(&mut self, payment: &Payment) -> Result<i64, TransactionError> {
        let number = match payment.customer {
            CustomerKey::Number(number) => return Ok(i64::from(number)),
            CustomerKey::LastName(number) => number,
        };
        let key = [
            Param::from(payment.customer_warehouse),
            Param::from(payment.customer_district),
            Param::Text(last_name(number)),
        ];
        self.count_by_name(&key).await?;
        let statement = self.statements.select_customers_by_name;
        let answer = self.session.execute(statement, &key).await?;
        Ok(middle_row(&answer)?.int(0)?)
    }

    /// tpcc-mysql asks for the number of customers first, to know the middle one. The answer to the
    /// next statement has as many rows, so the number itself is of no use here; the round trip is
    /// part of the load.
    pub(super) async fn count_by_name(
        &mut self,
        key: &[Param<'_>],
    ) -> Result<(), TransactionError> {
        let statement = self.statements.select_name_count;
        let answer = self.session.execute(statement, key).await?;
        black_box(only_row(&answer, "the count of customers")?.int(0)?);
        Ok(())
    }

    /// Appends to `text` the new c_data of a customer with bad credit: this payment at the left,
    /// the old text shifted to the right and cut.
    async fn append_customer_data(
        &mut self,
        payment: &Payment,
        customer: i64,
        key: &[Param<'_>],
    ) -> Result<(), TransactionError> {
        let start = self.text.len();
        let Payment { warehouse, district, customer_warehouse, customer_district, amount, .. } =
            payment;
        // Writing to a vector cannot fail.
        let _ = write!(
            self.text,
            "| {customer} {customer_district} {customer_warehouse} {district} {warehouse} \
             ${amount} "
        );
        let statement = self.statements.lock_customer_data;
        let answer = self.session.execute(statement, key).await?;
        let old = only_row(&answer, "the paying customer")?.bytes(0)?;
        self.text.extend_from_slice(old);
        self.text.truncate(start + C_DATA_MAX);
        Ok(())
    }
}
