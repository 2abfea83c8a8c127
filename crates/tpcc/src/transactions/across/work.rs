//! What crosses shards: orders and payments.

use super::branches::Branches;
use crate::input::{Input, NewOrder, Payment};
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::{
    StockedOrder, append_customer_data, has_bad_credit, item_row, only_row,
};
use crate::transactions::single::Single;
use base::{Param, Session, SessionError};
use std::hint::black_box;

/// Does everything up to the end of the transaction.
pub(super) async fn work<S: Session>(
    branches: &mut Branches<'_, S>,
    input: &Input,
) -> StepResult<Outcome> {
    branches.start().await?;
    match input {
        Input::NewOrder(order) => new_order(branches, order).await,
        Input::Payment(payment) => pay_across(branches, payment).await,
        _ => Err(SessionError::Unexpected("only orders and payments cross".to_owned()).into()),
    }
}

/// New-Order with lines that other shards supply (clause 2.4): the stock of a line is where its
/// supplying warehouse is, everything else at home.
async fn new_order<S: Session>(
    branches: &mut Branches<'_, S>,
    order: &NewOrder,
) -> StepResult<Outcome> {
    let home = &mut branches.home.on;
    home.ask_head(order)?;
    for line in order.lines() {
        home.ask(home.set.statements.select_item, &[Param::from(line.item)])?;
    }
    let (order_id, rates) = home.read_head().await?;
    let mut taken = StockedOrder::new(order);
    read_items(home.session, &mut taken).await?;
    read_stock(branches, &mut taken).await?;
    write_order(branches, &taken, order_id).await?;
    black_box(rates.total(taken.sum()));
    Ok(if taken.is_whole() { Outcome::Committed } else { Outcome::RolledBack })
}

/// Reads the items of all lines.
async fn read_items<S: Session>(session: &mut S, taken: &mut StockedOrder<'_>) -> StepResult {
    let order = taken.order;
    for line in order.lines() {
        let answer = session.answer().await?;
        let Some(row) = item_row(&answer, line)? else { break };
        taken.take_item(&row)?;
    }
    Ok(())
}

/// Locks and reads the stock of the lines, which are in the order of their warehouses: a shard's
/// together, and none before those of the shard before it have been locked.
async fn read_stock<S: Session>(
    branches: &mut Branches<'_, S>,
    taken: &mut StockedOrder<'_>,
) -> StepResult {
    let order = taken.order;
    let lines = &order.lines()[..taken.used];
    let mut first = 0;
    while let Some(line) = lines.get(first) {
        let server = branches.server_of(line.supply_warehouse);
        let of_shard = lines[first..].iter();
        let count =
            of_shard.take_while(|line| branches.server_of(line.supply_warehouse) == server).count();
        let branch = &mut branches.on(server).on;
        let read_stock = branch.set.stock[order.district as usize - 1];
        for line in &lines[first..first + count] {
            let key = [Param::from(line.supply_warehouse), Param::from(line.item)];
            branch.ask(read_stock, &key)?;
        }
        for index in first..first + count {
            taken.take_stock(index, &branch.session.answer().await?)?;
        }
        first += count;
    }
    Ok(())
}

async fn write_order<S: Session>(
    branches: &mut Branches<'_, S>,
    taken: &StockedOrder<'_>,
    order_id: i64,
) -> StepResult {
    let order = taken.order;
    branches.home.on.write_head(order, order_id)?;
    for (line, stocked) in taken.lines() {
        let supplier = &mut branches.on(branches.server_of(line.supply_warehouse)).on;
        let changes = stocked.stock_changes(order, line);
        supplier.ask(supplier.set.statements.update_stock, &changes)?;
        let home = &mut branches.home.on;
        let values = stocked.line_row(order, order_id, line);
        home.ask(home.set.statements.insert_order_line, &values)?;
    }
    branches.home.on.head_written().await?;
    for (line, _) in taken.lines() {
        let supplier = &mut branches.on(branches.server_of(line.supply_warehouse)).on;
        supplier.changed("the stock of an item").await?;
        branches.home.on.changed("the new order line").await?;
    }
    Ok(())
}

/// Payment of another shard's customer (clause 2.5): the customer is there, everything else at
/// home, the history too.
async fn pay_across<S: Session>(
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
    let bad_credit = has_bad_credit(&payer.next_row("the paying customer").await?)?;
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
