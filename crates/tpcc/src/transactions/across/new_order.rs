//! New-Order with lines that other shards supply (clause 2.4): the stock of a line is where its
//! supplying warehouse is, everything else at home.

use super::branches::Branches;
use crate::input::NewOrder;
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::{StockedOrder, item_row};
use base::{Param, Session};
use std::hint::black_box;

pub(super) async fn new_order<S: Session>(
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
        let read_stock = branch.set.stock.of(order.district);
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
