//! Payment (clause 2.5).

use super::Single;
use crate::input::Payment;
use crate::transactions::rules::{Payer, append_customer_data, has_bad_credit, one_row, only_row};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Param, Session};

impl Single {
    pub(in crate::transactions) async fn payment<S: Session>(
        &mut self,
        session: &mut S,
        payment: &Payment,
    ) -> Result<Outcome, TransactionError> {
        self.pay_warehouse_and_district(session, payment)?;
        // A customer who is named by number can be asked for at once.
        let payer = self.payer();
        payer.ask(session, payment)?;
        self.read_names(session).await?;
        let customer = payer.number(session, payment).await?;
        let answer = session.answer().await?;
        let bad_credit = has_bad_credit(&only_row(&answer, "the paying customer")?)?;
        self.write_payment(session, payment, customer, bad_credit).await?;
        commit(session).await?;
        Ok(Outcome::Committed)
    }

    pub(in crate::transactions) fn payer(&self) -> Payer {
        let statements = &self.statements;
        Payer { by_name: statements.select_customers_by_name, lock: statements.lock_customer }
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
        let key @ [w, d, c] = payment.customer_key(customer);
        let amount = Param::Cents(payment.amount);
        let history = payment.history_row([c, d, w], &self.text);
        if bad_credit {
            session.queue(self.statements.lock_customer_data, &key)?;
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
