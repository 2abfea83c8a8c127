//! Payment (clause 2.5).

use super::Single;
use crate::input::Payment;
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::{Payer, append_customer_data, has_bad_credit, only_row};
use base::{Param, Session};

impl<S: Session> OnSession<'_, S, Single> {
    pub(crate) async fn payment(&mut self, payment: &Payment) -> StepResult<Outcome> {
        self.pay_warehouse_and_district(payment)?;
        // A customer who is named by number can be asked for at once.
        let payer = self.payer();
        payer.ask(self.session, payment)?;
        self.read_names().await?;
        let customer = payer.number(self.session, payment).await?;
        self.pay(payment, customer).await?;
        self.end(Outcome::Committed).await
    }

    pub(crate) fn payer(&self) -> Payer {
        let statements = &self.set.statements;
        Payer { by_name: statements.select_customers_by_name, lock: statements.lock_customer }
    }

    /// Queues what is done to warehouse and district.
    pub(crate) fn pay_warehouse_and_district(&mut self, payment: &Payment) -> StepResult {
        let amount = Param::Cents(payment.amount);
        let (w, d) = (Param::from(payment.warehouse), Param::from(payment.district));
        self.ask(self.set.statements.update_warehouse, &[amount, w])?;
        self.ask(self.set.statements.select_warehouse, &[w])?;
        self.ask(self.set.statements.update_district, &[amount, w, d])?;
        self.ask(self.set.statements.select_district, &[w, d])
    }

    /// Leaves h_data, w_name + 4 spaces + d_name, in `text`.
    pub(crate) async fn read_names(&mut self) -> StepResult {
        self.changed("the payment's warehouse").await?;
        let answer = self.session.answer().await?;
        let name = only_row(&answer, "the payment's warehouse")?.bytes(0)?;
        self.set.text.clear();
        self.set.text.extend_from_slice(name);
        self.set.text.extend_from_slice(b"    ");
        self.changed("the payment's district").await?;
        let answer = self.session.answer().await?;
        let name = only_row(&answer, "the payment's district")?.bytes(0)?;
        self.set.text.extend_from_slice(name);
        Ok(())
    }

    async fn pay(&mut self, payment: &Payment, customer: u32) -> StepResult {
        let answer = self.session.answer().await?;
        let bad_credit = has_bad_credit(&only_row(&answer, "the paying customer")?)?;
        let key @ [w, d, c] = payment.customer_key(customer);
        let amount = Param::Cents(payment.amount);
        let history = payment.history_row([c, d, w], &self.set.text);
        if bad_credit {
            self.session.queue(self.set.statements.lock_customer_data, &key)?;
            self.session.queue(self.set.statements.insert_history, &history)?;
            let answer = self.session.answer().await?;
            let old = only_row(&answer, "the paying customer")?.bytes(0)?;
            self.set.text.clear();
            append_customer_data(&mut self.set.text, payment, customer, old);
            let changes = [amount, amount, Param::Text(&self.set.text), w, d, c];
            self.session.queue(self.set.statements.update_customer_data, &changes)?;
            self.changed("the payment's history").await?;
            self.changed("the paying customer").await
        } else {
            let changes = [amount, amount, w, d, c];
            self.session.queue(self.set.statements.update_customer, &changes)?;
            self.session.queue(self.set.statements.insert_history, &history)?;
            self.changed("the paying customer").await?;
            self.changed("the payment's history").await
        }
    }
}
