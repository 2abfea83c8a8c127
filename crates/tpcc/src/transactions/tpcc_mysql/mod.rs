//! Workload `tpcc-mysql`: the statement sequence of Percona's tpcc-mysql (commit 1ec1c5e), for
//! numbers that compare with published ones.
//!
//! Number, kind and order of statements are that tool's, one prepared statement per round trip, and
//! so is the session: autocommit off, the server's isolation level (unless one is named) and SQL
//! mode. What it does otherwise than the clauses of TPC-C is kept where it is the load, and fixed
//! where it makes a run unrepeatable or a database inconsistent beyond what is said here:
//! [`DEVIATIONS`] decides one by one.

mod deviations;

pub use deviations::{DEVIATIONS, Decision, Deviation, FAILING_CHECKS};

use super::on_session::OnSession;
use super::outcome::{Outcome, StepResult};
use super::rules::{
    PriceRates, append_cut, item_row, middle_row, only_row, require, show_lines, stock_after,
};
use super::sql::statements;
use crate::input::{CustomerKey, Delivery, NewOrder, OrderLine, OrderStatus, Payment, StockLevel};
use crate::schema::DISTRICTS;
use base::{Cents, Param, Session, SessionResult};
use std::hint::black_box;
use std::io::Write;

statements! {
    // New-Order
    select_customer: "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
        WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
    lock_district:
        "SELECT d_next_o_id, d_tax FROM district WHERE d_id = ? AND d_w_id = ? FOR UPDATE",
    update_next_order: "UPDATE district SET d_next_o_id = ? + 1 WHERE d_id = ? AND d_w_id = ?",
    insert_order: "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, \
        o_all_local) VALUES (?, ?, ?, ?, ?, ?, ?)",
    insert_new_order: "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
    select_item: "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
    lock_stock: "SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, \
        s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM stock WHERE s_i_id = ? AND \
        s_w_id = ? FOR UPDATE",
    update_stock: "UPDATE stock SET s_quantity = ? WHERE s_i_id = ? AND s_w_id = ?",
    insert_order_line: "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
        ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    // Payment
    update_warehouse: "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
    select_warehouse: "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM \
        warehouse WHERE w_id = ?",
    update_district: "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
    select_district: "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district \
        WHERE d_w_id = ? AND d_id = ?",
    select_customers_by_name: "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND \
        c_last = ? ORDER BY c_first",
    lock_customer: "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
        c_zip, c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_since FROM customer WHERE \
        c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
    // The row is locked already; a read of the snapshot could be older than the lock.
    lock_customer_data: "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? \
        FOR UPDATE",
    update_customer_data: "UPDATE customer SET c_balance = ?, c_data = ? WHERE c_w_id = ? AND \
        c_d_id = ? AND c_id = ?",
    update_customer:
        "UPDATE customer SET c_balance = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    insert_history: "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, \
        h_amount, h_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    // Payment and Order-Status: how many customers have the name
    select_name_count: "SELECT COUNT(c_id) FROM customer WHERE c_w_id = ? AND c_d_id = ? AND \
        c_last = ?",
    // Order-Status; c_id is read too, so that the order shown is that of the customer found
    select_balance_by_name: "SELECT c_balance, c_first, c_middle, c_last, c_id FROM customer \
        WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
    select_balance: "SELECT c_balance, c_first, c_middle, c_last FROM customer \
        WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    select_last_order: "SELECT o_id, o_entry_d, COALESCE(o_carrier_id, 0) FROM orders \
        WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? AND o_id = \
        (SELECT MAX(o_id) FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ?)",
    select_order_lines: "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
        FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    // Delivery; the first one locks, so that no two Deliveries take one order
    lock_oldest_order: "SELECT no_o_id FROM new_orders WHERE no_d_id = ? AND no_w_id = ? \
        ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    delete_new_order: "DELETE FROM new_orders WHERE no_o_id = ? AND no_d_id = ? AND no_w_id = ?",
    select_order: "SELECT o_c_id FROM orders WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?",
    update_carrier:
        "UPDATE orders SET o_carrier_id = ? WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?",
    update_order_lines: "UPDATE order_line SET ol_delivery_d = ? WHERE ol_o_id = ? AND ol_d_id = ? \
        AND ol_w_id = ?",
    select_amount: "SELECT SUM(ol_amount) FROM order_line WHERE ol_o_id = ? AND ol_d_id = ? AND \
        ol_w_id = ?",
    update_balance: "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = \
        c_delivery_cnt + 1 WHERE c_id = ? AND c_d_id = ? AND c_w_id = ?",
    // Stock-Level
    select_next_order: "SELECT d_next_o_id FROM district WHERE d_id = ? AND d_w_id = ?",
    select_last_items: "SELECT DISTINCT ol_i_id FROM order_line \
        WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= (? - 20)",
    select_low_stock:
        "SELECT COUNT(*) FROM stock WHERE s_w_id = ? AND s_i_id = ? AND s_quantity < ?",
}

/// Prepared statements that each terminal holds: what `max_prepared_stmt_count` must leave room
/// for.
pub const PREPARED_STATEMENTS: u32 = Statements::COUNT;

/// Stock is refilled only where nothing would remain. Clause 2.4.2.2 refills where less than 10
/// would.
const STOCK_MIN: i64 = 1;
/// Names of warehouse and district have ten characters at most.
const NAMES_MAX: usize = 20;

/// How far the Delivery of the present input has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeliveryProgress {
    /// Districts that are done: delivered or without an open order.
    done: u32,
    skipped: u32,
    /// Districts without an open order whose locking read has not been ended by a COMMIT.
    open: bool,
}

/// What its transactions need beside the session.
pub(super) struct TpccMysql {
    statements: Statements,
    pub(super) progress: DeliveryProgress,
    /// Text under construction: h_data, c_data, ol_dist_info.
    text: Vec<u8>,
    /// Items of a Stock-Level.
    items: Vec<i64>,
}

impl TpccMysql {
    pub(super) async fn prepare<S: Session>(session: &mut S) -> SessionResult<TpccMysql> {
        Ok(TpccMysql {
            statements: Statements::prepare(session).await?,
            progress: DeliveryProgress::default(),
            text: Vec::with_capacity(1_024),
            items: Vec::with_capacity(300),
        })
    }
}

impl<S: Session> OnSession<'_, S, TpccMysql> {
    /// New-Order: five statements, four for each line, COMMIT or ROLLBACK.
    pub(crate) async fn new_order(&mut self, order: &NewOrder) -> StepResult<Outcome> {
        let Statements { select_customer, lock_district, update_next_order, .. } =
            self.set.statements;
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        let customer = [w, d, Param::from(order.customer)];
        let what = "the order's customer and warehouse";
        let row = self.row(select_customer, &customer, what).await?;
        black_box((row.bytes(1)?, row.bytes(2)?));
        let (discount, warehouse_tax) = (row.decimal(0, 4)?, row.decimal(3, 4)?);

        let row = self.row(lock_district, &[d, w], "the order's district").await?;
        let (order_id, district_tax) = (row.int(0)?, row.decimal(1, 4)?);
        let changes = [Param::Int(order_id), d, w];
        self.change(update_next_order, &changes, "the order's district").await?;
        self.insert_order(order, order_id).await?;

        let rates = PriceRates { discount, taxes: warehouse_tax + district_tax };
        for (line, number) in order.lines().iter().zip(1..) {
            // The number follows the order of processing, not of entry.
            let line = OrderLine { number, ..*line };
            if !self.order_line((order, order_id), &rates, &line).await? {
                return self.end(Outcome::RolledBack).await;
            }
        }
        self.end(Outcome::Committed).await
    }

    async fn insert_order(&mut self, order: &NewOrder, order_id: i64) -> StepResult {
        let Statements { insert_order, insert_new_order, .. } = self.set.statements;
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        self.change(insert_order, &order.order_row(order_id), "the new order").await?;
        let entry = [Param::Int(order_id), d, w];
        self.change(insert_new_order, &entry, "the new order's queue entry").await
    }

    /// One line; false where the item is unused.
    async fn order_line(
        &mut self,
        (order, order_id): (&NewOrder, i64),
        rates: &PriceRates,
        line: &OrderLine,
    ) -> StepResult<bool> {
        let Statements { select_item, lock_stock, update_stock, insert_order_line, .. } =
            self.set.statements;
        let (item, supply) = (Param::from(line.item), Param::from(line.supply_warehouse));
        let answer = self.session.execute(select_item, &[item]).await?;
        let Some(row) = item_row(&answer, line)? else { return Ok(false) };
        let price = row.cents(0)?;
        black_box((row.bytes(1)?, row.bytes(2)?));

        let answer = self.session.execute(lock_stock, &[item, supply]).await?;
        let row = only_row(&answer, "the stock of an item")?;
        let quantity = row.int(0)?;
        black_box(row.bytes(1)?);
        let dist = row.bytes(1 + order.district as usize)?;
        self.set.text.clear();
        self.set.text.extend_from_slice(dist);

        let left = stock_after(quantity, line.quantity, STOCK_MIN);
        let changes = [Param::Int(left), item, supply];
        self.change(update_stock, &changes, "the stock of an item").await?;

        // Clause 2.4.2.2 has neither taxes nor discount in it.
        let amount = rates.total(line.amount(price));
        let values = order.line_row(order_id, line, (amount, &self.set.text));
        self.session.queue(insert_order_line, &values)?;
        self.changed("the new order line").await?;
        Ok(true)
    }

    /// Payment: seven statements by number, two more by name, one more for bad credit, COMMIT.
    pub(crate) async fn payment(&mut self, payment: &Payment) -> StepResult<Outcome> {
        self.pay_warehouse_and_district(payment).await?;
        let customer = self.paying_customer(payment).await?;
        let key @ [w, d, c] = payment.customer_key(Param::Int(customer));
        let lock_customer = self.set.statements.lock_customer;
        let row = self.row(lock_customer, &key, "the paying customer").await?;
        let bad_credit = row.bytes(9)? == b"BC";
        black_box(row.decimal(11, 4)?);
        let balance = Param::Cents(Cents(row.cents(12)?.0 - payment.amount.0));
        if bad_credit {
            // h_data waits in `text` for the history row; c_data is built behind it.
            let h_data = self.set.text.len();
            let lock_customer_data = self.set.statements.lock_customer_data;
            let answer = self.session.execute(lock_customer_data, &key).await?;
            let old = only_row(&answer, "the paying customer")?.bytes(0)?;
            let Payment { warehouse, district, amount, .. } = payment;
            let (of_warehouse, of_district) =
                (payment.customer_warehouse, payment.customer_district);
            // Writing to a vector cannot fail.
            let _ = write!(
                self.set.text,
                "| {customer} {of_district} {of_warehouse} {district} {warehouse} ${amount} "
            );
            append_cut(&mut self.set.text, h_data, old);
            let changes = [balance, Param::Text(&self.set.text[h_data..]), w, d, c];
            self.session.queue(self.set.statements.update_customer_data, &changes)?;
            self.set.text.truncate(h_data);
        } else {
            self.ask(self.set.statements.update_customer, &[balance, w, d, c])?;
        }
        self.changed("the paying customer").await?;
        let history = payment.history_row([d, w, c], &self.set.text);
        self.session.queue(self.set.statements.insert_history, &history)?;
        self.changed("the payment's history").await?;
        self.end(Outcome::Committed).await
    }

    /// Adds the amount to warehouse and district and leaves h_data in `text`: both names run
    /// together, and the four spaces of clause 2.5.2.2 behind them and only where both are as long
    /// as they can be.
    async fn pay_warehouse_and_district(&mut self, payment: &Payment) -> StepResult {
        let Statements {
            update_warehouse, select_warehouse, update_district, select_district, ..
        } = self.set.statements;
        let amount = Param::Cents(payment.amount);
        let (w, d) = (Param::from(payment.warehouse), Param::from(payment.district));
        self.change(update_warehouse, &[amount, w], "the payment's warehouse").await?;
        let answer = self.session.execute(select_warehouse, &[w]).await?;
        let name = only_row(&answer, "the payment's warehouse")?.bytes(5)?;
        self.set.text.clear();
        self.set.text.extend_from_slice(name);
        self.change(update_district, &[amount, w, d], "the payment's district").await?;
        let answer = self.session.execute(select_district, &[w, d]).await?;
        let name = only_row(&answer, "the payment's district")?.bytes(5)?;
        self.set.text.extend_from_slice(name);
        if self.set.text.len() == NAMES_MAX {
            self.set.text.extend_from_slice(b"    ");
        }
        Ok(())
    }

    async fn paying_customer(&mut self, payment: &Payment) -> StepResult<i64> {
        if let CustomerKey::Number(number) = payment.customer {
            return Ok(i64::from(number));
        }
        let key = payment.customer_key(payment.customer);
        self.count_by_name(&key).await?;
        let by_name = self.set.statements.select_customers_by_name;
        Ok(middle_row(&self.session.execute(by_name, &key).await?)?.int(0)?)
    }

    /// tpcc-mysql asks for the number of customers first, to know the middle one. The answer to the
    /// next statement has as many rows, so the number itself is of no use here; the round trip is
    /// part of the load.
    async fn count_by_name(&mut self, key: &[Param<'_>]) -> StepResult {
        let name_count = self.set.statements.select_name_count;
        black_box(self.row(name_count, key, "the count of customers").await?.int(0)?);
        Ok(())
    }

    /// Order-Status: three statements by number, one more by name, COMMIT.
    pub(crate) async fn order_status(&mut self, status: &OrderStatus) -> StepResult<Outcome> {
        let Statements { select_balance, select_balance_by_name, select_last_order, .. } =
            self.set.statements;
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let key @ [_, _, number] = [w, d, Param::from(status.customer)];
        let customer = match status.customer {
            CustomerKey::Number(_) => {
                black_box(self.row(select_balance, &key, "the customer").await?.cents(0)?);
                number
            }
            CustomerKey::LastName(_) => {
                self.count_by_name(&key).await?;
                let answer = self.session.execute(select_balance_by_name, &key).await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(0)?);
                Param::Int(row.int(4)?)
            }
        };
        let key = [w, d, customer, w, d, customer];
        // Every customer has an order from the population on (clause 4.3.3.1).
        let order = self.row(select_last_order, &key, "an order of the customer").await?.int(0)?;
        let key = [w, d, Param::Int(order)];
        let answer = self.session.execute(self.set.statements.select_order_lines, &key).await?;
        show_lines(&answer, 0, "a line of the customer's last order")?;
        self.end(Outcome::Committed).await
    }

    /// Stock-Level: two statements, one more for each item of the last twenty orders, COMMIT.
    pub(crate) async fn stock_level(&mut self, level: &StockLevel) -> StepResult<Outcome> {
        let Statements { select_next_order, select_last_items, select_low_stock, .. } =
            self.set.statements;
        let (w, d) = (Param::from(level.warehouse), Param::from(level.district));
        let next = Param::Int(self.row(select_next_order, &[d, w], "the district").await?.int(0)?);
        let range = [w, d, next, next];
        let answer = self.session.execute(select_last_items, &range).await?;
        self.set.items.clear();
        for row in answer.rows() {
            self.set.items.push(row.int(0)?);
        }
        let threshold = Param::from(level.threshold);
        for index in 0..self.set.items.len() {
            let key = [w, Param::Int(self.set.items[index]), threshold];
            black_box(self.row(select_low_stock, &key, "the count of low stock").await?.int(0)?);
        }
        self.end(Outcome::Committed).await
    }

    /// Delivery: seven statements and COMMIT for each district.
    ///
    /// Districts that were committed stay delivered whatever becomes of the next one, so a new try
    /// goes on with the one that failed: from the first one again, it would deliver more than ten
    /// orders.
    pub(crate) async fn delivery(&mut self, delivery: &Delivery) -> StepResult<Outcome> {
        while self.set.progress.done < DISTRICTS {
            let district = self.set.progress.done + 1;
            if self.deliver_oldest(delivery, district).await? {
                self.end(Outcome::Committed).await?;
                self.set.progress.open = false;
            } else {
                self.set.progress.skipped += 1;
                self.set.progress.open = true;
            }
            self.set.progress.done = district;
        }
        // tpcc-mysql leaves the transaction open where the last district is skipped; its lock would
        // outlive it.
        if self.set.progress.open {
            self.end(Outcome::Committed).await?;
        }
        Ok(Outcome::Delivered { skipped_districts: self.set.progress.skipped })
    }

    /// Delivers the oldest open order of a district; false where there is none.
    async fn deliver_oldest(&mut self, delivery: &Delivery, district: u32) -> StepResult<bool> {
        let (w, d) = (Param::from(delivery.warehouse), Param::from(district));
        let answer = self.session.execute(self.set.statements.lock_oldest_order, &[d, w]).await?;
        let Some(row) = answer.row(0) else {
            return Ok(false);
        };
        let key @ [order, ..] = [Param::Int(row.int(0)?), d, w];
        self.change(self.set.statements.delete_new_order, &key, "the open order").await?;
        let owner = self.set.statements.select_order;
        let customer = self.row(owner, &key, "the delivered order").await?.int(0)?;
        let changes = [Param::from(delivery.carrier), order, d, w];
        self.change(self.set.statements.update_carrier, &changes, "the delivered order").await?;
        let changes = [Param::Time(delivery.delivered), order, d, w];
        let lines = self.set.statements.update_order_lines;
        let what = "the lines of the delivered order";
        require(self.session.execute(lines, &changes).await?.affected_rows > 0, what)?;
        let amount = self.row(self.set.statements.select_amount, &key, what).await?.cents(0)?;
        let changes = [Param::Cents(amount), Param::Int(customer), d, w];
        let what = "the customer of the delivered order";
        self.change(self.set.statements.update_balance, &changes, what).await?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
