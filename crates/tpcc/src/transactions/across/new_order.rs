//! New-Order with lines that other shards supply (clause 2.4): the stock of a line is where its
//! supplying warehouse is, everything else at home.

use super::branches::Branches;
use crate::input::{LINES_MAX, NewOrder, OrderLine};
use crate::transactions::outcome::{Outcome, StepResult};
use crate::transactions::rules::{Stocked, item_row, sum, take_stock};
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
    let head = home.read_head().await?;
    let mut stocked = [Stocked::default(); LINES_MAX];
    let used = read_items(home.session, order, &mut stocked).await?;
    let lines = &order.lines()[..used];
    read_stock(branches, order, lines, &mut stocked).await?;
    write_order(branches, order, head.order_id, lines.iter().zip(&stocked)).await?;
    black_box(head.rates.total(sum(lines, &stocked)));
    Ok(if used < order.lines().len() { Outcome::RolledBack } else { Outcome::Committed })
}

/// Reads the items of all lines; returns how many lines have one, which is all but perhaps the
/// last.
async fn read_items<S: Session>(
    session: &mut S,
    order: &NewOrder,
    stocked: &mut [Stocked; LINES_MAX],
) -> StepResult<usize> {
    for (index, line) in order.lines().iter().enumerate() {
        let answer = session.answer().await?;
        let Some(row) = item_row(&answer, line)? else { return Ok(index) };
        stocked[index].take_item(&row)?;
    }
    Ok(order.lines().len())
}

/// Locks and reads the stock of the lines, which are in the order of their warehouses: a shard's
/// together, and none before those of the shard before it have been locked.
async fn read_stock<S: Session>(
    branches: &mut Branches<'_, S>,
    order: &NewOrder,
    lines: &[OrderLine],
    stocked: &mut [Stocked; LINES_MAX],
) -> StepResult {
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
            take_stock(stocked, (order, index), &branch.session.answer().await?)?;
        }
        first += count;
    }
    Ok(())
}

async fn write_order<'l, S: Session>(
    branches: &mut Branches<'_, S>,
    order: &NewOrder,
    order_id: i64,
    lines: impl Iterator<Item = (&'l OrderLine, &'l Stocked)> + Clone,
) -> StepResult {
    branches.home.on.write_head(order, order_id)?;
    for (line, stocked) in lines.clone() {
        let supplier = &mut branches.on(branches.server_of(line.supply_warehouse)).on;
        let changes = stocked.stock_changes(order, line);
        supplier.ask(supplier.set.statements.update_stock, &changes)?;
        let home = &mut branches.home.on;
        let values = stocked.line_row(order, order_id, line);
        home.ask(home.set.statements.insert_order_line, &values)?;
    }
    branches.home.on.head_written().await?;
    for (line, _) in lines {
        let supplier = &mut branches.on(branches.server_of(line.supply_warehouse)).on;
        supplier.changed("the stock of an item").await?;
        branches.home.on.changed("the new order line").await?;
    }
    Ok(())
}
