//! New-Order with lines that other shards supply (clause 2.4): the stock of a line is where its
//! supplying warehouse is, everything else at home.

use super::branches::Branches;
use crate::input::{LINES_MAX, NewOrder, OrderLine};
use crate::transactions::rules::{Stocked, item_row, one_row, sum, take_stock};
use crate::transactions::single::new_order::read_head;
use crate::transactions::{Outcome, TransactionError};
use base::{Param, Session};
use std::hint::black_box;

pub(super) async fn new_order<S: Session>(
    branches: &mut Branches<'_, S>,
    order: &NewOrder,
) -> Result<Outcome, TransactionError> {
    let home = &mut branches.home;
    home.single.ask_head(home.session, order)?;
    home.single.ask_items(home.session, order)?;
    let head = read_head(home.session).await?;
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
) -> Result<usize, TransactionError> {
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
) -> Result<(), TransactionError> {
    let mut first = 0;
    while let Some(line) = lines.get(first) {
        let server = branches.server_of(line.supply_warehouse);
        let of_shard = lines[first..].iter();
        let count =
            of_shard.take_while(|line| branches.server_of(line.supply_warehouse) == server).count();
        let branch = branches.on(server);
        let read_stock = branch.single.stock.of(order.district);
        for line in &lines[first..first + count] {
            let key = [Param::from(line.supply_warehouse), Param::from(line.item)];
            branch.session.queue(read_stock, &key)?;
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
) -> Result<(), TransactionError> {
    let home = &mut branches.home;
    home.single.write_head(home.session, order, order_id)?;
    for (line, stocked) in lines.clone() {
        let supplier = branches.on(branches.server_of(line.supply_warehouse));
        let changes = stocked.stock_changes(order, line);
        supplier.session.queue(supplier.single.statements.update_stock, &changes)?;
        let home = &mut branches.home;
        let values = stocked.line_row(order, order_id, line);
        home.session.queue(home.single.statements.insert_order_line, &values)?;
    }
    let home = &mut branches.home;
    one_row(&home.session.answer().await?, "the order's district")?;
    one_row(&home.session.answer().await?, "the new order")?;
    one_row(&home.session.answer().await?, "the new order's queue entry")?;
    for (line, _) in lines {
        let supplier = branches.on(branches.server_of(line.supply_warehouse));
        one_row(&supplier.session.answer().await?, "the stock of an item")?;
        one_row(&branches.home.session.answer().await?, "the new order line")?;
    }
    Ok(())
}
