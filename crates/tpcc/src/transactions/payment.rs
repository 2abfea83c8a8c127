//! Payment (clause 2.5).

use super::{Failure, Outcome, Terminal, middle_row, one_row, only_row};
use crate::input::{CustomerKey, Payment};
use crate::random::last_name;
use base::{Param, Session};
use std::hint::black_box;
use std::io::Write;

/// Width of c_data (clause 1.3.1).
const C_DATA_MAX: usize = 500;

impl<S: Session> Terminal<S> {
    pub(super) async fn payment(&mut self, payment: &Payment) -> Result<Outcome, Failure> {
        self.pay_warehouse_and_district(payment).await?;
        let customer = self.paying_customer(payment).await?;
        let key = [
            Param::from(payment.customer_warehouse),
            Param::from(payment.customer_district),
            Param::from(customer),
        ];
        let answer = self
            .session
            .execute(self.statements.lock_customer, &key)
            .await?;
        let row = only_row(&answer, "the paying customer")?;
        let bad_credit = row.bytes(10)? == b"BC";
        black_box((row.cents(13)?, row.decimal(12, 4)?));
        let amount = Param::Cents(payment.amount);
        let [w, d, c] = key;
        let answer = if bad_credit {
            // h_data waits in `text` for the history row; c_data is built behind it.
            let h_data = self.text.len();
            self.append_customer_data(payment, customer, &key).await?;
            let changes = [amount, amount, Param::Text(&self.text[h_data..]), w, d, c];
            let answer = self
                .session
                .execute(self.statements.pay_bad_credit, &changes)
                .await?;
            self.text.truncate(h_data);
            answer
        } else {
            self.session
                .execute(self.statements.pay_customer, &[amount, amount, w, d, c])
                .await?
        };
        one_row(&answer, "the paying customer")?;
        let history = [
            c,
            d,
            w,
            Param::from(payment.district),
            Param::from(payment.warehouse),
            Param::Time(payment.entered),
            amount,
            Param::Text(&self.text),
        ];
        let answer = self
            .session
            .execute(self.statements.insert_history, &history)
            .await?;
        one_row(&answer, "the payment's history")?;
        self.commit().await?;
        Ok(Outcome::Committed)
    }

    /// Adds the amount to warehouse and district and leaves h_data, w_name + 4 spaces + d_name, in `text`.
    async fn pay_warehouse_and_district(&mut self, payment: &Payment) -> Result<(), Failure> {
        let amount = Param::Cents(payment.amount);
        let (w, d) = (
            Param::from(payment.warehouse),
            Param::from(payment.district),
        );
        let answer = self
            .session
            .execute(self.statements.pay_warehouse, &[amount, w])
            .await?;
        one_row(&answer, "the payment's warehouse")?;
        let answer = self
            .session
            .execute(self.statements.warehouse_address, &[w])
            .await?;
        let name = only_row(&answer, "the payment's warehouse")?.bytes(0)?;
        self.text.clear();
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(b"    ");
        let answer = self
            .session
            .execute(self.statements.pay_district, &[amount, w, d])
            .await?;
        one_row(&answer, "the payment's district")?;
        let answer = self
            .session
            .execute(self.statements.district_address, &[w, d])
            .await?;
        self.text
            .extend_from_slice(only_row(&answer, "the payment's district")?.bytes(0)?);
        Ok(())
    }

    async fn paying_customer(&mut self, payment: &Payment) -> Result<u32, Failure> {
        let number = match payment.customer {
            CustomerKey::Number(number) => return Ok(number),
            CustomerKey::LastName(number) => number,
        };
        let key = [
            Param::from(payment.customer_warehouse),
            Param::from(payment.customer_district),
            Param::Text(last_name(number)),
        ];
        let answer = self
            .session
            .execute(self.statements.customers_by_name, &key)
            .await?;
        let id = middle_row(&answer)?.int(0)?;
        u32::try_from(id).map_err(|_| Failure::MissingRow("a customer with a valid number"))
    }

    /// Appends to `text` the new c_data of a customer with bad credit: this payment at the left, the old text shifted to
    /// the right and cut (clause 2.5.2.2).
    async fn append_customer_data(
        &mut self,
        payment: &Payment,
        customer: u32,
        key: &[Param<'_>],
    ) -> Result<(), Failure> {
        let start = self.text.len();
        let Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            amount,
            ..
        } = payment;
        // Writing to a vector cannot fail.
        let _ = write!(
            self.text,
            "{customer} {customer_district} {customer_warehouse} {district} {warehouse} {amount}|"
        );
        let answer = self
            .session
            .execute(self.statements.customer_data, key)
            .await?;
        let old = only_row(&answer, "the paying customer")?.bytes(0)?;
        self.text.extend_from_slice(old);
        self.text.truncate(start + C_DATA_MAX);
        // Output shows the first 200 characters (clause 2.5.3.3).
        black_box(&self.text[start..]);
        Ok(())
    }
}
