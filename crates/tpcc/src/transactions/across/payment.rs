//! Payment of another shard's customer (clause 2.5): the customer is there, everything else at
//! home, the history too.

use super::branches::{Branch, Branches};
use crate::input::Payment;
use crate::transactions::rules::{append_customer_data, has_bad_credit, one_row, only_row};
use crate::transactions::{Outcome, TransactionError};
use base::{Param, Session};

pub(super) async fn payment<S: Session>(
    branches: &mut Branches<'_, S>,
    payment: &Payment,
) -> Result<Outcome, TransactionError> {
    let server = branches.server_of(payment.customer_warehouse);
    let home = &mut branches.home;
    home.single.pay_warehouse_and_district(home.session, payment)?;
    home.single.read_names(home.session).await?;
    let payer = branches.on(server);
    let found = payer.single.payer();
    found.ask(payer.session, payment)?;
    let customer = found.number(payer.session, payment).await?;
    let answer = payer.session.answer().await?;
    let bad_credit = has_bad_credit(&only_row(&answer, "the paying customer")?)?;
    pay(payer, payment, customer, bad_credit).await?;
    let home = &mut branches.home;
    let [w, d, c] = payment.customer_key(customer);
    let history = payment.history_row([c, d, w], &home.single.text);
    home.session.queue(home.single.statements.insert_history, &history)?;
    one_row(&home.session.answer().await?, "the payment's history")?;
    Ok(Outcome::Committed)
}

async fn pay<S: Session>(
    payer: &mut Branch<'_, S>,
    payment: &Payment,
    customer: u32,
    bad_credit: bool,
) -> Result<(), TransactionError> {
    let key @ [w, d, c] = payment.customer_key(customer);
    let amount = Param::Cents(payment.amount);
    let statements = &payer.single.statements;
    if bad_credit {
        payer.session.queue(statements.lock_customer_data, &key)?;
        let answer = payer.session.answer().await?;
        let old = only_row(&answer, "the paying customer")?.bytes(0)?;
        let text = &mut payer.single.text;
        text.clear();
        append_customer_data(text, payment, customer, old);
        let changes = [amount, amount, Param::Text(text), w, d, c];
        payer.session.queue(statements.update_customer_data, &changes)?;
    } else {
        payer.session.queue(statements.update_customer, &[amount, amount, w, d, c])?;
    }
    one_row(&payer.session.answer().await?, "the paying customer")
}
