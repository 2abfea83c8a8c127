//! Payment (clause 2.5): three round trips, one more where the customer is named by last name.

use super::Sets;
use super::statements::Statements;
use crate::input::Payment;
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::{Payer, append_customer_data, has_bad_credit, only_row};
use base::{Param, Session};

impl<S: Session> OnSession<'_, S, Sets> {
    pub(crate) async fn payment(&mut self, payment: &Payment) -> StepResult<Outcome> {
        let Statements { select_customers_by_name, lock_customer, .. } = self.set.statements;
        let payer = Payer { by_name: select_customers_by_name, lock: lock_customer };
        self.pay_warehouse_and_district(payment)?;
        payer.ask(self.session, payment)?;
        self.read_names().await?;
        let customer = payer.number(self.session, payment).await?;
        self.pay(payment, customer).await?;
        self.end(Outcome::Committed).await
    }

    fn pay_warehouse_and_district(&mut self, payment: &Payment) -> StepResult {
        let amount = Param::Cents(payment.amount);
        let (w, d) = (Param::from(payment.warehouse), Param::from(payment.district));
        self.ask(self.set.statements.update_warehouse, &[amount, w])?;
        self.ask(self.set.statements.update_district, &[amount, w, d])?;
        self.ask(self.set.statements.select_addresses, &[w, w, d])
    }

    /// Leaves h_data, w_name + 4 spaces + d_name, in `text`.
    async fn read_names(&mut self) -> StepResult {
        self.changed("the payment's warehouse").await?;
        self.changed("the payment's district").await?;
        let answer = self.session.answer().await?;
        let row = only_row(&answer, "the payment's warehouse and district")?;
        self.set.text.clear();
        self.set.text.extend_from_slice(row.bytes(0)?);
        self.set.text.extend_from_slice(b"    ");
        self.set.text.extend_from_slice(row.bytes(6)?);
        Ok(())
    }

    /// Reads the customer, then writes customer and history together.
    async fn pay(&mut self, payment: &Payment, customer: u32) -> StepResult {
        let answer = self.session.answer().await?;
        let row = only_row(&answer, "the paying customer")?;
        // h_data is at the beginning of `text`; c_data is built behind it.
        let h_data = self.set.text.len();
        let bad_credit = has_bad_credit(&row)?;
        if bad_credit {
            append_customer_data(&mut self.set.text, payment, customer, row.bytes(14)?);
        }
        let (h_data, c_data) = self.set.text.split_at(h_data);
        let amount = Param::Cents(payment.amount);
        let [w, d, c] = payment.customer_key(customer);
        if bad_credit {
            let changes = [amount, amount, Param::Text(c_data), w, d, c];
            self.session.queue(self.set.statements.update_customer_data, &changes)?;
        } else {
            let changes = [amount, amount, w, d, c];
            self.session.queue(self.set.statements.update_customer, &changes)?;
        }
        let history = payment.history_row([c, d, w], h_data);
        self.session.queue(self.set.statements.insert_history, &history)?;
        self.changed("the paying customer").await?;
        self.changed("the payment's history").await
    }
}
