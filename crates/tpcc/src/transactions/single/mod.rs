//! One statement for each thing that is done: styles `statements` and `pipelined`.

use super::on_session::OnSession;
use super::outcome::{Outcome, StepResult};
use super::rules::{
    Payer, PriceRates, StockedOrder, append_customer_data, has_bad_credit, item_row, middle_row,
    number, oldest_orders, only_row, require, show_lines,
};
use super::sql::{self, DistrictStatements, prepare_all, statements};
use crate::input::{CustomerKey, Delivery, NewOrder, OrderStatus, Payment, StockLevel};
use crate::schema::DISTRICTS;
use base::{Cents, Param, Session, SessionResult};
use std::hint::black_box;

statements! {
    // New-Order (clause 2.4.2.2)
    select_customer: "SELECT c_discount, c_last, c_credit, w_tax FROM warehouse, customer \
        WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
    lock_district:
        "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
    update_next_order: "UPDATE district SET d_next_o_id = ? + 1 WHERE d_w_id = ? AND d_id = ?",
    insert_order: "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, \
        o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, ?, NULL, ?, ?)",
    insert_new_order: "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
    select_item: "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
    update_stock: sql::UPDATE_STOCK,
    insert_order_line: sql::insert_lines(1),
    // Payment (clause 2.5.2.2)
    update_warehouse: sql::PAY_WAREHOUSE,
    select_warehouse: "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM \
        warehouse WHERE w_id = ?",
    update_district: sql::PAY_DISTRICT,
    select_district: "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
        WHERE d_w_id = ? AND d_id = ?",
    select_customers_by_name: sql::CUSTOMERS_BY_NAME,
    lock_customer: "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
        c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance FROM customer WHERE \
        c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
    lock_customer_data: "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? \
        FOR UPDATE",
    update_customer: sql::PAY_CUSTOMER,
    update_customer_data: sql::PAY_BAD_CREDIT,
    insert_history: sql::INSERT_HISTORY,
    // Order-Status (clause 2.6.2.2)
    select_balance_by_name: sql::STATUS_BY_NAME,
    select_balance: sql::STATUS_BY_NUMBER,
    select_last_order: sql::LAST_ORDER,
    select_order_lines: "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
        FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    // Delivery (clause 2.7.4.2)
    lock_oldest_order: sql::OLDEST_OPEN_ORDER,
    delete_new_order: "DELETE FROM new_orders WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
    lock_order: "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? FOR UPDATE",
    update_carrier:
        "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
    update_order_lines: "UPDATE order_line SET ol_delivery_d = ? WHERE ol_w_id = ? AND ol_d_id = ? \
        AND ol_o_id = ?",
    select_amount: "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND \
        ol_o_id = ?",
    update_balance: "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = \
        c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    // Stock-Level (clause 2.8.2.2)
    select_next_order: "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
    // The join order is fixed: the last orders' lines first, else an optimizer may scan a
    // warehouse's stock.
    select_low_stock: "SELECT COUNT(DISTINCT s_i_id) FROM order_line STRAIGHT_JOIN stock \
        ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
        WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_quantity < ?",
}

/// Orders whose items a Stock-Level looks at.
const STOCK_LEVEL_ORDERS: i64 = 20;

pub(super) struct Single {
    pub(super) statements: Statements,
    /// The locking read of a stock row: warehouse, item.
    pub(super) stock: DistrictStatements,
    /// Text under construction: h_data, c_data.
    pub(super) text: Vec<u8>,
}

impl Single {
    pub(super) const PREPARED: u32 = Statements::COUNT + DISTRICTS;

    pub(super) async fn prepare<S: Session>(session: &mut S) -> SessionResult<Single> {
        Ok(Single {
            statements: Statements::prepare(session).await?,
            stock: prepare_all(session, "lock_stock", |d| sql::stock(d, "", "= ?")).await?,
            text: Vec::with_capacity(1_024),
        })
    }
}

impl<S: Session> OnSession<'_, S, Single> {
    /// New-Order (clause 2.4).
    ///
    /// The order of statements is free but for the rollback rule (2.3.1, 2.4.2.3): reading first
    /// what all lines need, then writing, makes two waves. An unused item is met in the first, and
    /// still all other lines are written before ROLLBACK.
    pub(crate) async fn new_order(&mut self, order: &NewOrder) -> StepResult<Outcome> {
        self.ask_order(order)?;
        let (order_id, rates) = self.read_head().await?;
        let mut taken = StockedOrder::new(order);
        self.read_lines(&mut taken).await?;
        self.write_order(&taken, order_id).await?;
        black_box(rates.total(taken.sum()));
        if !taken.is_whole() {
            return self.end(Outcome::RolledBack).await;
        }
        self.end(Outcome::Ordered(number(order_id)?)).await
    }

    /// Queues every read of the order.
    fn ask_order(&mut self, order: &NewOrder) -> StepResult {
        self.ask_head(order)?;
        let read_stock = self.set.stock[order.district as usize - 1];
        for line in order.lines() {
            let item = Param::from(line.item);
            self.ask(self.set.statements.select_item, &[item])?;
            self.ask(read_stock, &[Param::from(line.supply_warehouse), item])?;
        }
        Ok(())
    }

    /// Queues the reads of district, customer and warehouse.
    pub(crate) fn ask_head(&mut self, order: &NewOrder) -> StepResult {
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        let customer = Param::from(order.customer);
        // Before the first plain read, which fixes what this transaction sees: others wait for this
        // row too.
        self.ask(self.set.statements.lock_district, &[w, d])?;
        self.ask(self.set.statements.select_customer, &[w, d, customer])
    }

    /// Queues what is written of the order but for its lines: three statements.
    pub(crate) fn write_head(&mut self, order: &NewOrder, order_id: i64) -> StepResult {
        let (w, d) = (Param::from(order.warehouse), Param::from(order.district));
        let id = Param::Int(order_id);
        self.ask(self.set.statements.update_next_order, &[id, w, d])?;
        self.ask(self.set.statements.insert_order, &order.order_row(order_id))?;
        self.ask(self.set.statements.insert_new_order, &[id, d, w])
    }

    /// Writes the order and those of its lines that have an item.
    async fn write_order(&mut self, taken: &StockedOrder<'_>, order_id: i64) -> StepResult {
        let order = taken.order;
        self.write_head(order, order_id)?;
        for (line, stocked) in taken.lines() {
            self.ask(self.set.statements.update_stock, &stocked.stock_changes(order, line))?;
            let values = stocked.line_row(order, order_id, line);
            self.ask(self.set.statements.insert_order_line, &values)?;
        }
        self.head_written().await?;
        for _ in 0..taken.used {
            self.changed("the stock of an item").await?;
            self.changed("the new order line").await?;
        }
        Ok(())
    }

    /// Reads the answers to what `write_head` has queued.
    pub(crate) async fn head_written(&mut self) -> StepResult {
        self.changed("the order's district").await?;
        self.changed("the new order").await?;
        self.changed("the new order's queue entry").await
    }

    /// The order's number, and what its price depends on.
    pub(crate) async fn read_head(&mut self) -> StepResult<(i64, PriceRates)> {
        let row = self.next_row("the order's district").await?;
        let (order_id, district_tax) = (row.int(0)?, row.decimal(1, 4)?);
        let row = self.next_row("the order's customer and warehouse").await?;
        black_box((row.bytes(1)?, row.bytes(2)?));
        let rates =
            PriceRates { discount: row.decimal(0, 4)?, taxes: row.decimal(3, 4)? + district_tax };
        Ok((order_id, rates))
    }

    /// Reads item and stock of all lines.
    async fn read_lines(&mut self, taken: &mut StockedOrder<'_>) -> StepResult {
        let order = taken.order;
        for (index, line) in order.lines().iter().enumerate() {
            let answer = self.session.answer().await?;
            let Some(row) = item_row(&answer, line)? else {
                // Its stock, which nobody has.
                self.session.answer().await?;
                break;
            };
            taken.take_item(&row)?;
            taken.take_stock(index, &self.session.answer().await?)?;
        }
        Ok(())
    }

    /// Payment (clause 2.5).
    pub(crate) async fn payment(&mut self, payment: &Payment) -> StepResult<Outcome> {
        self.pay_warehouse_and_district(payment)?;
        // A customer who is named by number can be asked for at once.
        let payer = self.payer();
        payer.ask(self.session, payment)?;
        self.read_names().await?;
        let customer = payer.number(self.session, payment).await?;
        self.pay(payment, customer).await?;
        self.end(Outcome::Committed).await
    }

    pub(crate) fn payer(&self) -> Payer {
        let statements = &self.set.statements;
        Payer { by_name: statements.select_customers_by_name, lock: statements.lock_customer }
    }

    /// Queues what is done to warehouse and district.
    pub(crate) fn pay_warehouse_and_district(&mut self, payment: &Payment) -> StepResult {
        let amount = Param::Cents(payment.amount);
        let (w, d) = (Param::from(payment.warehouse), Param::from(payment.district));
        self.ask(self.set.statements.update_warehouse, &[amount, w])?;
        self.ask(self.set.statements.select_warehouse, &[w])?;
        self.ask(self.set.statements.update_district, &[amount, w, d])?;
        self.ask(self.set.statements.select_district, &[w, d])
    }

    /// Leaves h_data, w_name + 4 spaces + d_name, in `text`.
    pub(crate) async fn read_names(&mut self) -> StepResult {
        self.changed("the payment's warehouse").await?;
        let answer = self.session.answer().await?;
        let name = only_row(&answer, "the payment's warehouse")?.bytes(0)?;
        self.set.text.clear();
        self.set.text.extend_from_slice(name);
        self.set.text.extend_from_slice(b"    ");
        self.changed("the payment's district").await?;
        let answer = self.session.answer().await?;
        let name = only_row(&answer, "the payment's district")?.bytes(0)?;
        self.set.text.extend_from_slice(name);
        Ok(())
    }

    async fn pay(&mut self, payment: &Payment, customer: u32) -> StepResult {
        let bad_credit = has_bad_credit(&self.next_row("the paying customer").await?)?;
        let key @ [w, d, c] = payment.customer_key(customer);
        let amount = Param::Cents(payment.amount);
        let history = payment.history_row([c, d, w], &self.set.text);
        if bad_credit {
            self.session.queue(self.set.statements.lock_customer_data, &key)?;
            self.session.queue(self.set.statements.insert_history, &history)?;
            let answer = self.session.answer().await?;
            let old = only_row(&answer, "the paying customer")?.bytes(0)?;
            self.set.text.clear();
            append_customer_data(&mut self.set.text, payment, customer, old);
            let changes = [amount, amount, Param::Text(&self.set.text), w, d, c];
            self.session.queue(self.set.statements.update_customer_data, &changes)?;
            self.changed("the payment's history").await?;
            self.changed("the paying customer").await
        } else {
            let changes = [amount, amount, w, d, c];
            self.session.queue(self.set.statements.update_customer, &changes)?;
            self.session.queue(self.set.statements.insert_history, &history)?;
            self.changed("the paying customer").await?;
            self.changed("the payment's history").await
        }
    }

    /// Order-Status (clause 2.6).
    pub(crate) async fn order_status(&mut self, status: &OrderStatus) -> StepResult<Outcome> {
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let key = [w, d, Param::from(status.customer)];
        let customer = match status.customer {
            CustomerKey::Number(customer) => {
                self.ask(self.set.statements.select_balance, &key)?;
                self.ask(self.set.statements.select_last_order, &key)?;
                black_box(self.next_row("the customer").await?.cents(1)?);
                customer
            }
            CustomerKey::LastName(_) => {
                let by_name = self.set.statements.select_balance_by_name;
                let answer = self.session.execute(by_name, &key).await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(1)?);
                let customer = row.int(0)?;
                let key = [w, d, Param::Int(customer)];
                self.ask(self.set.statements.select_last_order, &key)?;
                number(customer)?
            }
        };
        // Every customer has an order from the population on (clause 4.3.3.1).
        let order = self.next_row("an order of the customer").await?.int(0)?;
        let key = [w, d, Param::Int(order)];
        self.ask(self.set.statements.select_order_lines, &key)?;
        let answer = self.session.answer().await?;
        show_lines(&answer, 0, "a line of the customer's last order")?;
        let outcome = Outcome::LastOrder { customer, order: number(order)? };
        self.end(outcome).await
    }

    /// Stock-Level (clause 2.8).
    pub(crate) async fn stock_level(&mut self, level: &StockLevel) -> StepResult<Outcome> {
        let (w, d) = (Param::from(level.warehouse), Param::from(level.district));
        let next = self.set.statements.select_next_order;
        let next = self.row(next, &[w, d], "the district").await?.int(0)?;
        let first = Param::Int(next - STOCK_LEVEL_ORDERS);
        let range = [w, d, first, Param::Int(next), Param::from(level.threshold)];
        let low_stock = self.set.statements.select_low_stock;
        black_box(self.row(low_stock, &range, "the count of low stock").await?.int(0)?);
        self.end(Outcome::OrdersBelow(number(next)?)).await
    }

    /// Delivery (clause 2.7), all ten districts in one database transaction, which the clause
    /// allows. A retry after a deadlock thus starts from nothing, and no order is delivered outside
    /// of it.
    pub(crate) async fn delivery(&mut self, delivery: &Delivery) -> StepResult<Outcome> {
        let w = Param::from(delivery.warehouse);
        let oldest = self.set.statements.lock_oldest_order;
        let orders = oldest_orders(self.session, oldest, delivery.warehouse).await?;
        let orders = (1..).zip(orders);
        let delivered = orders.clone().filter_map(|(d, order)| Some((d, order?)));
        for (district, order) in delivered.clone() {
            self.ask_delivery(delivery, district, order)?;
        }
        for (district, _) in delivered.clone() {
            let (customer, amount) = self.delivered_order().await?;
            let changes = [Param::Cents(amount), w, district.into(), Param::Int(customer)];
            self.ask(self.set.statements.update_balance, &changes)?;
        }
        for _ in delivered.clone() {
            self.changed("the customer of the delivered order").await?;
        }
        let skipped_districts = DISTRICTS - delivered.count() as u32;
        self.end(Outcome::Delivered { skipped_districts }).await
    }

    /// Queues what is done to an order and its lines.
    fn ask_delivery(&mut self, delivery: &Delivery, district: u32, order: i64) -> StepResult {
        let key @ [w, d, o] =
            [Param::from(delivery.warehouse), Param::from(district), Param::Int(order)];
        self.ask(self.set.statements.delete_new_order, &key)?;
        self.ask(self.set.statements.lock_order, &key)?;
        let carrier = Param::from(delivery.carrier);
        self.ask(self.set.statements.update_carrier, &[carrier, w, d, o])?;
        let now = Param::Time(delivery.delivered);
        self.ask(self.set.statements.update_order_lines, &[now, w, d, o])?;
        self.ask(self.set.statements.select_amount, &key)
    }

    /// Reads the answers about one order: who gets it, and what it costs.
    async fn delivered_order(&mut self) -> StepResult<(i64, Cents)> {
        self.changed("the open order").await?;
        let customer = self.next_row("the delivered order").await?.int(0)?;
        self.changed("the delivered order").await?;
        let what = "the lines of the delivered order";
        require(self.session.answer().await?.affected_rows > 0, what)?;
        let amount = self.next_row(what).await?.cents(0)?;
        Ok((customer, amount))
    }
}
