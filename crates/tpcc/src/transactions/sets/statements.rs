//! The SQL of style `batched`. Sets have a fixed size; what is missing is filled up with a member
//! that is there already, so that one prepared statement serves orders of any length.

use crate::input::LINES_MAX;
use crate::prepared::statements;
use crate::schema::DISTRICTS;
use crate::transactions::sql::{self, STOCK_BY_KEY};

/// `?, ?, ...`
pub(super) fn marks(count: usize) -> String {
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
