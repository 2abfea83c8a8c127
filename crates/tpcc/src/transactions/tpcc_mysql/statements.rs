//! The SQL of the workload: what tpcc-mysql sends, one prepared statement per round trip, prepared
//! once per session.

use crate::prepared::statements;

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
