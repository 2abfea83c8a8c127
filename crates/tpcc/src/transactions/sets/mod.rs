//! As few statements as possible, each on a set of rows: style `batched`.

mod delivery;
mod new_order;

use super::on_session::OnSession;
use super::outcome::{Outcome, StepResult};
use super::rules::{Payer, append_customer_data, has_bad_credit, middle_row, only_row, show_lines};
use super::sql::{self, DistrictStatements, STOCK_BY_KEY, prepare_all, statements};
use crate::input::{CustomerKey, LINES_MAX, OrderStatus, Payment, StockLevel};
use crate::schema::DISTRICTS;
use base::{Param, Session, SessionResult, StatementId};
use std::hint::black_box;

// Sets have a fixed size; what is missing is filled up with a member that is there already, so that
// one prepared statement serves orders of any length.

/// `?, ?, ...`
fn marks(count: usize) -> String {
    vec!["?"; count].join(", ")
}

/// `WHEN ? THEN ?`, for each line.
fn cases() -> String {
    vec!["WHEN ? THEN ?"; LINES_MAX].join(" ")
}

/// `(a = ? AND b = ?) OR ...`, for each district: a form that every optimizer reads as ranges of a
/// key, which is not so for `(a, b) IN (...)`.
fn pairs(a: &str, b: &str) -> String {
    vec![format!("({a} = ? AND {b} = ?)"); DISTRICTS as usize].join(" OR ")
}

statements! {
    // New-Order (clause 2.4.2.2)
    select_rates: "SELECT c_discount, c_last, c_credit, w_tax, d_tax FROM warehouse, district, \
        customer WHERE w_id = ? AND d_w_id = ? AND d_id = ? AND c_w_id = ? AND c_d_id = ? AND c_id \
        = ?",
    // Reads, locks and advances at once: the old value comes back as the last inserted id.
    update_next_order: "UPDATE district SET d_next_o_id = LAST_INSERT_ID(d_next_o_id) + 1 WHERE \
        d_w_id = ? AND d_id = ?",
    insert_order: "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, \
        o_ol_cnt, o_all_local) VALUES (LAST_INSERT_ID(), ?, ?, ?, ?, NULL, ?, ?)",
    insert_new_order: "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES \
        (LAST_INSERT_ID(), ?, ?)",
    select_items: format!(
        "SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({})",
        marks(LINES_MAX),
    ),
    update_stock: sql::UPDATE_STOCK,
    update_stocks: format!("UPDATE {STOCK_BY_KEY} SET s_quantity = CASE s_i_id {cases} END, \
        s_ytd = s_ytd + CASE s_i_id {cases} END, s_order_cnt = s_order_cnt + 1 \
        WHERE s_w_id = ? AND s_i_id IN ({})", marks(LINES_MAX), cases = cases()),
    // Payment (clause 2.5.2.2)
    update_warehouse: sql::PAY_WAREHOUSE,
    update_district: sql::PAY_DISTRICT,
    select_addresses: "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip, d_name, \
        d_street_1, d_street_2, d_city, d_state, d_zip FROM warehouse, district WHERE w_id = ? AND \
        d_w_id = ? AND d_id = ?",
    select_customers_by_name: sql::CUSTOMERS_BY_NAME,
    lock_customer: "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
        c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, IF(c_credit = \
        'BC', c_data, NULL) FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
    update_customer: sql::PAY_CUSTOMER,
    update_customer_data: sql::PAY_BAD_CREDIT,
    insert_history: sql::INSERT_HISTORY,
    // Order-Status (clause 2.6.2.2)
    select_balance_by_name: sql::STATUS_BY_NAME,
    select_balance: sql::STATUS_BY_NUMBER,
    select_last_order_lines: "SELECT o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, \
        ol_quantity, ol_amount, ol_delivery_d FROM (SELECT o_id, o_entry_d, o_carrier_id FROM \
        orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1) AS \
        last_order STRAIGHT_JOIN order_line ON ol_w_id = ? AND ol_d_id = ? AND ol_o_id = o_id",
    // Delivery (clause 2.7.4.2)
    lock_oldest_order: sql::OLDEST_OPEN_ORDER,
    delete_new_orders: format!(
        "DELETE FROM new_orders WHERE no_w_id = ? AND ({})",
        pairs("no_d_id", "no_o_id"),
    ),
    lock_orders: format!(
        "SELECT o_d_id, o_c_id FROM orders WHERE o_w_id = ? AND ({}) FOR UPDATE",
        pairs("o_d_id", "o_id"),
    ),
    update_carriers: format!(
        "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND ({})",
        pairs("o_d_id", "o_id"),
    ),
    update_order_lines: format!(
        "UPDATE order_line SET ol_delivery_d = ? WHERE ol_w_id = ? AND ({})",
        pairs("ol_d_id", "ol_o_id"),
    ),
    select_amounts: format!("SELECT ol_d_id, SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND \
        ({}) GROUP BY ol_d_id",
        pairs("ol_d_id", "ol_o_id")),
    update_balances: format!("UPDATE customer SET c_balance = c_balance + CASE c_d_id {} END, \
        c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND ({})",
        vec!["WHEN ? THEN ?"; DISTRICTS as usize].join(" "), pairs("c_d_id", "c_id")),
    // Stock-Level (clause 2.8.2.2). The join order is fixed: the last orders' lines first, else an
    // optimizer may scan a warehouse's stock.
    select_low_stock: "SELECT COUNT(DISTINCT s_i_id) FROM district STRAIGHT_JOIN order_line \
        STRAIGHT_JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE d_w_id = ? AND d_id = ? \
        AND ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id \
        AND s_quantity < ?",
}

/// Fewest lines that an order writes: five, one of them unused.
const LINES_MIN: usize = 4;
const INSERTS: usize = LINES_MAX - LINES_MIN + 1;

pub(super) struct Sets {
    statements: Statements,
    /// The locking read of one stock row: warehouse, item.
    stock: DistrictStatements,
    /// The same for all lines of one warehouse: warehouse, items.
    stocks: DistrictStatements,
    /// Inserts so many lines more than `LINES_MIN`, from 0.
    insert_lines: [StatementId; INSERTS],
    /// Text under construction: h_data, c_data.
    text: Vec<u8>,
}

impl Sets {
    pub(super) const PREPARED: u32 = Statements::COUNT + 2 * DISTRICTS + INSERTS as u32;

    pub(super) async fn prepare<S: Session>(session: &mut S) -> SessionResult<Sets> {
        let items = format!("IN ({})", marks(LINES_MAX));
        Ok(Sets {
            statements: Statements::prepare(session).await?,
            stock: prepare_all(session, "lock_stock", |d| sql::stock(d, "", "= ?")).await?,
            stocks: prepare_all(session, "lock_stocks", |d| sql::stock(d, ", s_i_id", &items))
                .await?,
            insert_lines: prepare_all(session, "insert_order_lines", |n| {
                sql::insert_lines(LINES_MIN - 1 + n)
            })
            .await?,
            text: Vec::with_capacity(1_024),
        })
    }
}

impl<S: Session> OnSession<'_, S, Sets> {
    /// Payment (clause 2.5): three round trips, one more where the customer is named by last name.
    pub(crate) async fn payment(&mut self, payment: &Payment) -> StepResult<Outcome> {
        let Statements { select_customers_by_name, lock_customer, .. } = self.set.statements;
        let payer = Payer { by_name: select_customers_by_name, lock: lock_customer };
        self.pay_warehouse_and_district(payment)?;
        payer.ask(self.session, payment)?;
        self.read_names().await?;
        let customer = payer.number(self.session, payment).await?;
        self.pay(payment, customer).await?;
        self.end(Outcome::Committed).await
    }

    fn pay_warehouse_and_district(&mut self, payment: &Payment) -> StepResult {
        let amount = Param::Cents(payment.amount);
        let (w, d) = (Param::from(payment.warehouse), Param::from(payment.district));
        self.ask(self.set.statements.update_warehouse, &[amount, w])?;
        self.ask(self.set.statements.update_district, &[amount, w, d])?;
        self.ask(self.set.statements.select_addresses, &[w, w, d])
    }

    /// Leaves h_data, w_name + 4 spaces + d_name, in `text`.
    async fn read_names(&mut self) -> StepResult {
        self.changed("the payment's warehouse").await?;
        self.changed("the payment's district").await?;
        let answer = self.session.answer().await?;
        let row = only_row(&answer, "the payment's warehouse and district")?;
        self.set.text.clear();
        self.set.text.extend_from_slice(row.bytes(0)?);
        self.set.text.extend_from_slice(b"    ");
        self.set.text.extend_from_slice(row.bytes(6)?);
        Ok(())
    }

    /// Reads the customer, then writes customer and history together.
    async fn pay(&mut self, payment: &Payment, customer: u32) -> StepResult {
        let answer = self.session.answer().await?;
        let row = only_row(&answer, "the paying customer")?;
        // h_data is at the beginning of `text`; c_data is built behind it.
        let h_data = self.set.text.len();
        let bad_credit = has_bad_credit(&row)?;
        if bad_credit {
            append_customer_data(&mut self.set.text, payment, customer, row.bytes(14)?);
        }
        let (h_data, c_data) = self.set.text.split_at(h_data);
        let amount = Param::Cents(payment.amount);
        let [w, d, c] = payment.customer_key(customer);
        if bad_credit {
            let changes = [amount, amount, Param::Text(c_data), w, d, c];
            self.session.queue(self.set.statements.update_customer_data, &changes)?;
        } else {
            let changes = [amount, amount, w, d, c];
            self.session.queue(self.set.statements.update_customer, &changes)?;
        }
        let history = payment.history_row([c, d, w], h_data);
        self.session.queue(self.set.statements.insert_history, &history)?;
        self.changed("the paying customer").await?;
        self.changed("the payment's history").await
    }

    /// Order-Status (clause 2.6).
    pub(crate) async fn order_status(&mut self, status: &OrderStatus) -> StepResult<Outcome> {
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let customer = Param::from(status.customer);
        let last_order = self.set.statements.select_last_order_lines;
        match status.customer {
            CustomerKey::Number(_) => {
                self.ask(self.set.statements.select_balance, &[w, d, customer])?;
                self.ask(last_order, &[w, d, customer, w, d])?;
                black_box(self.next_row("the customer").await?.cents(1)?);
            }
            CustomerKey::LastName(_) => {
                let by_name = self.set.statements.select_balance_by_name;
                let answer = self.session.execute(by_name, &[w, d, customer]).await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(1)?);
                let c = Param::Int(row.int(0)?);
                self.ask(last_order, &[w, d, c, w, d])?;
            }
        }
        // Every customer has an order from the population on (clause 4.3.3.1).
        let answer = self.session.answer().await?;
        show_lines(&answer, 3, "the customer's last order and its lines")?;
        self.end(Outcome::Committed).await
    }

    /// Stock-Level (clause 2.8).
    pub(crate) async fn stock_level(&mut self, level: &StockLevel) -> StepResult<Outcome> {
        let (w, d) = (Param::from(level.warehouse), Param::from(level.district));
        let range = [w, d, w, d, Param::from(level.threshold)];
        let low_stock = self.set.statements.select_low_stock;
        black_box(self.row(low_stock, &range, "the count of low stock").await?.int(0)?);
        self.end(Outcome::Committed).await
    }
}
