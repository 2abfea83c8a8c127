//! A stored procedure for each transaction: style `procedures`. One round trip, COMMIT or ROLLBACK
//! included.

mod install;
mod text;

pub(crate) use install::uninstall;
pub use install::{InstallError, install};

use crate::input::{
    CustomerKey, Delivery, LINES_MAX, NewOrder, OrderStatus, Payment, StockLevel, UNUSED_ITEM,
};
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult, TransactionError};
use crate::transactions::rules::{PriceRates, show_lines};
use crate::transactions::sql::statements;
use base::{Cents, Param, Session, SessionResult};
use std::hint::black_box;
use std::io::Write;

/// Six of the order, items and quantities of the set, and two texts with the other lines.
const NEW_ORDER_PARAMS: usize = 8 + 2 * LINES_MAX;

statements! {
    call_new_order: text::call("new_order", NEW_ORDER_PARAMS),
    call_payment: text::call("payment", 8),
    call_order_status: text::call("order_status", 4),
    call_delivery: text::call("delivery", 3),
    call_stock_level: text::call("stock_level", 3),
}

pub(super) struct Procedures {
    statements: Statements,
    /// Lines that are not in the set: of warehouses below home, and the others.
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Procedures {
    pub(super) const PREPARED: u32 = Statements::COUNT;

    pub(super) async fn prepare<S: Session>(session: &mut S) -> SessionResult<Procedures> {
        Ok(Procedures {
            statements: Statements::prepare(session).await?,
            before: Vec::with_capacity(256),
            after: Vec::with_capacity(256),
        })
    }
}

impl<S: Session> OnSession<'_, S, Procedures> {
    pub(crate) async fn new_order(&mut self, order: &NewOrder) -> StepResult<Outcome> {
        let mut params = [Param::Int(0); NEW_ORDER_PARAMS];
        self.set.before.clear();
        self.set.after.clear();
        let lines = order.lines();
        for (index, line) in lines.iter().enumerate() {
            if line.supply_warehouse == order.warehouse && !order.repeats(index) {
                // The place says ol_number.
                let place = 6 + line.number as usize - 1;
                params[place] = line.item.into();
                params[place + LINES_MAX] = line.quantity.into();
            } else {
                let (number, supply) = (line.number, line.supply_warehouse);
                let alone = match supply < order.warehouse {
                    true => &mut self.set.before,
                    false => &mut self.set.after,
                };
                // Writing to a vector cannot fail.
                let _ = write!(alone, "{number},{},{supply},{};", line.item, line.quantity);
            }
        }
        params[0] = order.warehouse.into();
        params[1] = order.district.into();
        params[2] = order.customer.into();
        params[3] = Param::Time(order.entered);
        params[4] = Param::Int(lines.len() as i64);
        params[5] = Param::Int(i64::from(order.remote_lines() == 0));
        params[6 + 2 * LINES_MAX] = Param::Text(&self.set.before);
        params[7 + 2 * LINES_MAX] = Param::Text(&self.set.after);
        self.session.queue(self.set.statements.call_new_order, &params)?;
        let written = self.read_order().await?;
        let unused = lines.last().is_some_and(|line| line.item == UNUSED_ITEM);
        match lines.len() - written {
            0 => Ok(Outcome::Committed),
            1 if unused => Ok(Outcome::RolledBack),
            _ => Err(TransactionError::MissingRow("an item of the order, or its stock")),
        }
    }

    pub(crate) async fn payment(&mut self, payment: &Payment) -> StepResult<Outcome> {
        let (number, name) = customer(payment.customer);
        let params = [
            payment.warehouse.into(),
            payment.district.into(),
            payment.customer_warehouse.into(),
            payment.customer_district.into(),
            number,
            name,
            Param::Cents(payment.amount),
            Param::Time(payment.entered),
        ];
        let call = self.set.statements.call_payment;
        black_box(self.row(call, &params, "the payment").await?.cents(22)?);
        self.ended(Outcome::Committed).await
    }

    pub(crate) async fn order_status(&mut self, status: &OrderStatus) -> StepResult<Outcome> {
        let (number, name) = customer(status.customer);
        let params = [status.warehouse.into(), status.district.into(), number, name];
        let call = self.set.statements.call_order_status;
        black_box(self.row(call, &params, "the customer").await?.cents(1)?);
        let answer = self.session.answer().await?;
        show_lines(&answer, 3, "the customer's last order and its lines")?;
        self.ended(Outcome::Committed).await
    }

    pub(crate) async fn delivery(&mut self, delivery: &Delivery) -> StepResult<Outcome> {
        let now = Param::Time(delivery.delivered);
        let params = [delivery.warehouse.into(), delivery.carrier.into(), now];
        let call = self.set.statements.call_delivery;
        let skipped = self.row(call, &params, "the delivery").await?.int(0)?;
        let skipped_districts = u32::try_from(skipped).map_err(|_| {
            TransactionError::MissingRow("a count of skipped districts from 0 to 10")
        })?;
        self.ended(Outcome::Delivered { skipped_districts }).await
    }

    pub(crate) async fn stock_level(&mut self, level: &StockLevel) -> StepResult<Outcome> {
        let params = [level.warehouse, level.district, level.threshold].map(Param::from);
        let call = self.set.statements.call_stock_level;
        black_box(self.row(call, &params, "the count of low stock").await?.int(0)?);
        self.ended(Outcome::Committed).await
    }

    /// Reads the last answer of a CALL, which has no rows.
    async fn ended<T>(&mut self, with: T) -> StepResult<T> {
        while self.session.answer().await?.more {}
        Ok(with)
    }

    /// Reads the lines of an order and then its head; returns how many lines were written. The
    /// procedure commits all or none.
    async fn read_order(&mut self) -> StepResult<usize> {
        let answer = self.session.answer().await?;
        let written = answer.len();
        let mut sum = Cents(0);
        for row in answer.rows() {
            black_box((row.int(0)?, row.int(3)?, row.cents(5)?, row.int(6)?, row.bytes(7)?));
            sum.0 += row.cents(4)?.0;
        }
        let row = self.next_row("the order").await?;
        let rates = PriceRates {
            discount: row.decimal(1, 4)?,
            taxes: row.decimal(4, 4)? + row.decimal(5, 4)?,
        };
        black_box((row.int(0)?, row.bytes(2)?, row.bytes(3)?, rates.total(sum)));
        self.ended(written).await
    }
}

/// Number and last name of the customer, of which one is NULL.
fn customer<'a>(key: CustomerKey) -> (Param<'a>, Param<'a>) {
    match key {
        CustomerKey::Number(_) => (key.into(), Param::Null),
        CustomerKey::LastName(_) => (Param::Null, key.into()),
    }
}

#[cfg(test)]
mod tests;
