//! Payment of another shard's customer (clause 2.5): the customer is there, everything else at
//! home, the history too.

use super::branches::{Branch, Branches};
use crate::input::{CustomerKey, Payment};
use crate::random::last_name;
use crate::transactions::rules::{
    append_customer_data, customer_key, customer_number, history, middle_row, one_row, only_row,
};
use crate::transactions::{Outcome, TransactionError};
use base::{Param, Session};
use std::hint::black_box;

pub(super) async fn payment<S: Session>(
    branches: &mut Branches<'_, S>,
    payment: &Payment,
) -> Result<Outcome, TransactionError> {
    let server = branches.server_of(payment.customer_warehouse);
    let home = &mut branches.home;
    home.single.pay_warehouse_and_district(home.session, payment)?;
    home.single.read_names(home.session).await?;
    let payer = branches.on(server);
    let customer = number_of(payer, payment).await?;
    let key = customer_key(payment, customer);
    payer.session.queue(payer.single.statements.lock_customer, &key)?;
    let answer = payer.session.answer().await?;
    let row = only_row(&answer, "the paying customer")?;
    let bad_credit = row.bytes(10)? == b"BC";
    black_box((row.cents(13)?, row.decimal(12, 4)?));
    pay(payer, payment, customer, bad_credit).await?;
    let home = &mut branches.home;
    let history = history(payment, customer, &home.single.text);
    home.session.queue(home.single.statements.insert_history, &history)?;
    one_row(&home.session.answer().await?, "the payment's history")?;
    Ok(Outcome::Committed)
}

/// The number of the customer, who may be named by the last name.
async fn number_of<S: Session>(
    payer: &mut Branch<'_, S>,
    payment: &Payment,
) -> Result<u32, TransactionError> {
    let name = match payment.customer {
        CustomerKey::Number(number) => return Ok(number),
        CustomerKey::LastName(number) => last_name(number),
    };
    let (w, d) = (payment.customer_warehouse.into(), payment.customer_district.into());
    let by_name = payer.single.statements.select_customers_by_name;
    payer.session.queue(by_name, &[w, d, Param::Text(name)])?;
    customer_number(&middle_row(&payer.session.answer().await?)?)
}

async fn pay<S: Session>(
    payer: &mut Branch<'_, S>,
    payment: &Payment,
    customer: u32,
    bad_credit: bool,
) -> Result<(), TransactionError> {
    let [w, d, c] = customer_key(payment, customer);
    let amount = Param::Cents(payment.amount);
    let statements = &payer.single.statements;
    if bad_credit {
        payer.session.queue(statements.lock_customer_data, &[w, d, c])?;
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
