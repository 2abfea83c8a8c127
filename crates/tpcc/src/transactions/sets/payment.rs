//! Payment (clause 2.5): three round trips, one more where the customer is named by last name.

use super::Sets;
use super::statements::Statements;
use crate::input::Payment;
use crate::transactions::rules::{Payer, append_customer_data, has_bad_credit, one_row, only_row};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Param, Session};

impl Sets {
    pub(in crate::transactions) async fn payment<S: Session>(
        &mut self,
        session: &mut S,
        payment: &Payment,
    ) -> Result<Outcome, TransactionError> {
        let Statements { select_customers_by_name, lock_customer, .. } = self.statements;
        let payer = Payer { by_name: select_customers_by_name, lock: lock_customer };
        self.pay_warehouse_and_district(session, payment)?;
        payer.ask(session, payment)?;
        self.read_names(session).await?;
        let customer = payer.number(session, payment).await?;
        self.pay(session, payment, customer).await?;
        commit(session).await?;
        Ok(Outcome::Committed)
    }

    fn pay_warehouse_and_district<S: Session>(
        &self,
        session: &mut S,
        payment: &Payment,
    ) -> Result<(), TransactionError> {
        let amount = Param::Cents(payment.amount);
        let (w, d) = (Param::from(payment.warehouse), Param::from(payment.district));
        session.queue(self.statements.update_warehouse, &[amount, w])?;
        session.queue(self.statements.update_district, &[amount, w, d])?;
        session.queue(self.statements.select_addresses, &[w, w, d])?;
        Ok(())
    }

    /// Leaves h_data, w_name + 4 spaces + d_name, in `text`.
    async fn read_names<S: Session>(&mut self, session: &mut S) -> Result<(), TransactionError> {
        one_row(&session.answer().await?, "the payment's warehouse")?;
        one_row(&session.answer().await?, "the payment's district")?;
        let answer = session.answer().await?;
        let row = only_row(&answer, "the payment's warehouse and district")?;
        self.text.clear();
        self.text.extend_from_slice(row.bytes(0)?);
        self.text.extend_from_slice(b"    ");
        self.text.extend_from_slice(row.bytes(6)?);
        Ok(())
    }

    /// Reads the customer, then writes customer and history together.
    async fn pay<S: Session>(
        &mut self,
        session: &mut S,
        payment: &Payment,
        customer: u32,
    ) -> Result<(), TransactionError> {
        let answer = session.answer().await?;
        let row = only_row(&answer, "the paying customer")?;
        // h_data is at the beginning of `text`; c_data is built behind it.
        let h_data = self.text.len();
        let bad_credit = has_bad_credit(&row)?;
        if bad_credit {
            append_customer_data(&mut self.text, payment, customer, row.bytes(14)?);
        }
        let (h_data, c_data) = self.text.split_at(h_data);
        let amount = Param::Cents(payment.amount);
        let [w, d, c] = payment.customer_key(customer);
        if bad_credit {
            let changes = [amount, amount, Param::Text(c_data), w, d, c];
            session.queue(self.statements.update_customer_data, &changes)?;
        } else {
            session.queue(self.statements.update_customer, &[amount, amount, w, d, c])?;
        }
        let history = payment.history_row([c, d, w], h_data);
        session.queue(self.statements.insert_history, &history)?;
        one_row(&session.answer().await?, "the paying customer")?;
        one_row(&session.answer().await?, "the payment's history")
    }
}
