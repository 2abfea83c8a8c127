//! Payment (clause 2.5).

use super::Single;
use crate::input::{CustomerKey, Payment};
use crate::random::last_name;
use crate::transactions::rules::{
    append_customer_data, customer_key, customer_number, history, middle_row, one_row, only_row,
};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Param, Session};
use std::hint::black_box;

impl Single {
    pub(super) async fn payment<S: Session>(
        &mut self,
        session: &mut S,
        payment: &Payment,
    ) -> Result<Outcome, TransactionError> {
        let (cw, cd) =
            (Param::from(payment.customer_warehouse), Param::from(payment.customer_district));
        self.pay_warehouse_and_district(session, payment)?;
        // A customer who is named by number can be asked for at once.
        match payment.customer {
            CustomerKey::Number(number) => {
                session.queue(self.statements.lock_customer, &[cw, cd, number.into()])?;
            }
            CustomerKey::LastName(number) => {
                let key = [cw, cd, Param::Text(last_name(number))];
                session.queue(self.statements.select_customers_by_name, &key)?;
            }
        }
        self.read_names(session).await?;
        let customer = match payment.customer {
            CustomerKey::Number(number) => number,
            CustomerKey::LastName(_) => {
                let number = customer_number(&middle_row(&session.answer().await?)?)?;
                session.queue(self.statements.lock_customer, &[cw, cd, number.into()])?;
                number
            }
        };
        let answer = session.answer().await?;
        let row = only_row(&answer, "the paying customer")?;
        let bad_credit = row.bytes(10)? == b"BC";
        black_box((row.cents(13)?, row.decimal(12, 4)?));
        self.write_payment(session, payment, customer, bad_credit).await?;
        commit(session).await?;
        Ok(Outcome::Committed)
    }

    /// Queues what is done to warehouse and district.
    pub(in crate::transactions) fn pay_warehouse_and_district<S: Session>(
        &self,
        session: &mut S,
        payment: &Payment,
    ) -> Result<(), TransactionError> {
        let amount = Param::Cents(payment.amount);
        let (w, d) = (Param::from(payment.warehouse), Param::from(payment.district));
        session.queue(self.statements.update_warehouse, &[amount, w])?;
        session.queue(self.statements.select_warehouse, &[w])?;
        session.queue(self.statements.update_district, &[amount, w, d])?;
        session.queue(self.statements.select_district, &[w, d])?;
        Ok(())
    }

    /// Leaves h_data, w_name + 4 spaces + d_name, in `text`.
    pub(in crate::transactions) async fn read_names<S: Session>(
        &mut self,
        session: &mut S,
    ) -> Result<(), TransactionError> {
        one_row(&session.answer().await?, "the payment's warehouse")?;
        let answer = session.answer().await?;
        let name = only_row(&answer, "the payment's warehouse")?.bytes(0)?;
        self.text.clear();
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(b"    ");
        one_row(&session.answer().await?, "the payment's district")?;
        let answer = session.answer().await?;
        let name = only_row(&answer, "the payment's district")?.bytes(0)?;
        self.text.extend_from_slice(name);
        Ok(())
    }

    async fn write_payment<S: Session>(
        &mut self,
        session: &mut S,
        payment: &Payment,
        customer: u32,
        bad_credit: bool,
    ) -> Result<(), TransactionError> {
        let [w, d, c] = customer_key(payment, customer);
        let amount = Param::Cents(payment.amount);
        let history = history(payment, customer, &self.text);
        if bad_credit {
            session.queue(self.statements.lock_customer_data, &[w, d, c])?;
            session.queue(self.statements.insert_history, &history)?;
            let answer = session.answer().await?;
            let old = only_row(&answer, "the paying customer")?.bytes(0)?;
            self.text.clear();
            append_customer_data(&mut self.text, payment, customer, old);
            let changes = [amount, amount, Param::Text(&self.text), w, d, c];
            session.queue(self.statements.update_customer_data, &changes)?;
            one_row(&session.answer().await?, "the payment's history")?;
            one_row(&session.answer().await?, "the paying customer")
        } else {
            session.queue(self.statements.update_customer, &[amount, amount, w, d, c])?;
            session.queue(self.statements.insert_history, &history)?;
            one_row(&session.answer().await?, "the paying customer")?;
            one_row(&session.answer().await?, "the payment's history")
        }
    }
}
