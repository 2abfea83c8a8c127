//! Payment of another shard's customer (clause 2.5): the customer is there, everything else at
//! home, the history too.

use super::branches::Branches;
use crate::input::Payment;
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::{append_customer_data, has_bad_credit, only_row};
use crate::transactions::single::Single;
use base::{Param, Session};

pub(super) async fn payment<S: Session>(
    branches: &mut Branches<'_, S>,
    payment: &Payment,
) -> StepResult<Outcome> {
    let server = branches.server_of(payment.customer_warehouse);
    let home = &mut branches.home.on;
    home.pay_warehouse_and_district(payment)?;
    home.read_names().await?;
    let payer = &mut branches.on(server).on;
    let found = payer.payer();
    found.ask(payer.session, payment)?;
    let customer = found.number(payer.session, payment).await?;
    pay(payer, payment, customer).await?;
    let home = &mut branches.home.on;
    let [w, d, c] = payment.customer_key(customer);
    let history = payment.history_row([c, d, w], &home.set.text);
    home.session.queue(home.set.statements.insert_history, &history)?;
    home.changed("the payment's history").await?;
    Ok(Outcome::Committed)
}

async fn pay<S: Session>(
    payer: &mut OnSession<'_, S, Single>,
    payment: &Payment,
    customer: u32,
) -> StepResult {
    let answer = payer.session.answer().await?;
    let bad_credit = has_bad_credit(&only_row(&answer, "the paying customer")?)?;
    let key @ [w, d, c] = payment.customer_key(customer);
    let amount = Param::Cents(payment.amount);
    let statements = &payer.set.statements;
    if bad_credit {
        payer.session.queue(statements.lock_customer_data, &key)?;
        let answer = payer.session.answer().await?;
        let old = only_row(&answer, "the paying customer")?.bytes(0)?;
        let text = &mut payer.set.text;
        text.clear();
        append_customer_data(text, payment, customer, old);
        let changes = [amount, amount, Param::Text(text), w, d, c];
        payer.session.queue(statements.update_customer_data, &changes)?;
    } else {
        payer.session.queue(statements.update_customer, &[amount, amount, w, d, c])?;
    }
    payer.changed("the paying customer").await
}
