//! The SQL of the five transactions.

use crate::prepared::statements;
use crate::transactions::sql;

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
