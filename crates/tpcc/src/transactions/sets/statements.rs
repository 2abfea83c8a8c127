//! The SQL of style `batched`. Sets have a fixed size; what is missing is filled up with a member that is there already,
//! so that one prepared statement serves orders of any length.

use crate::input::LINES_MAX;
use crate::schema::DISTRICTS;
use base::{Session, SessionError, StatementId};

/// Fewest lines that an order writes: five, one of them unused.
const LINES_MIN: usize = 4;
const INSERTS: usize = LINES_MAX - LINES_MIN + 1;

macro_rules! statements {
    ($($field:ident: $sql:expr,)*) => {
        /// Prepared statements of one session, by what they do.
        pub(super) struct Statements {
            $(pub(super) $field: StatementId,)*
            stock: [StatementId; DISTRICTS as usize],
            stocks: [StatementId; DISTRICTS as usize],
            insert_lines: [StatementId; INSERTS],
        }

        impl Statements {
            /// Prepares all statements on `session`.
            pub(super) async fn prepare<S: Session>(
                session: &mut S,
            ) -> Result<Statements, SessionError> {
                Ok(Statements {
                    $($field: session.prepare(&$sql).await?,)*
                    stock: prepare_all(session, |index| stock_sql(index + 1, "?")).await?,
                    stocks: prepare_all(session, |index| stock_sql(index + 1, &marks(LINES_MAX))).await?,
                    insert_lines: prepare_all(session, |index| insert_sql(index + LINES_MIN)).await?,
                })
            }

            /// Prepared statements of one session.
            pub(super) const COUNT: u32 =
                [$(stringify!($field)),*].len() as u32 + 2 * DISTRICTS + INSERTS as u32;
        }
    };
}

async fn prepare_all<S: Session, const N: usize>(
    session: &mut S,
    sql: impl Fn(usize) -> String,
) -> Result<[StatementId; N], SessionError> {
    let mut ids = [StatementId(0); N];
    for (index, id) in ids.iter_mut().enumerate() {
        *id = session.prepare(&sql(index)).await?;
    }
    Ok(ids)
}

/// `?, ?, ...`
fn marks(count: usize) -> String {
    vec!["?"; count].join(", ")
}

/// `WHEN ? THEN ?`, for each line.
fn cases() -> String {
    vec!["WHEN ? THEN ?"; LINES_MAX].join(" ")
}

/// `(a = ? AND b = ?) OR ...`, for each district: a form that every optimizer reads as ranges of a key, which is not so for
/// `(a, b) IN (...)`.
fn pairs(a: &str, b: &str) -> String {
    vec![format!("({a} = ? AND {b} = ?)"); DISTRICTS as usize].join(" OR ")
}

/// Only the district's own s_dist_xx is read (clause 2.4.2.2), so there is a statement for each district.
fn stock_sql(district: usize, items: &str) -> String {
    format!(
        "SELECT s_i_id, s_quantity, s_dist_{district:02}, s_data FROM stock \
         WHERE s_w_id = ? AND s_i_id IN ({items}) FOR UPDATE"
    )
}

fn insert_sql(lines: usize) -> String {
    let values = vec!["(?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)"; lines].join(", ");
    format!(
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, \
         ol_quantity, ol_amount, ol_dist_info) VALUES {values}"
    )
}

impl Statements {
    /// The locking read of one stock row for an order of `district`, 1..=10: warehouse, item.
    pub(super) fn stock(&self, district: u32) -> StatementId {
        self.stock[district as usize - 1]
    }

    /// The same for all lines of one warehouse: warehouse, items.
    pub(super) fn stocks(&self, district: u32) -> StatementId {
        self.stocks[district as usize - 1]
    }

    /// Inserts so many lines, where an order can have so many.
    pub(super) fn insert_lines(&self, lines: usize) -> Option<StatementId> {
        let index = lines.checked_sub(LINES_MIN)?;
        self.insert_lines.get(index).copied()
    }
}

statements! {
    // New-Order (clause 2.4.2.2)
    order_rates: "SELECT c_discount, c_last, c_credit, w_tax, d_tax FROM warehouse, district, customer \
        WHERE w_id = ? AND d_w_id = ? AND d_id = ? AND c_w_id = ? AND c_d_id = ? AND c_id = ?",
    // Reads, locks and advances at once: the old value comes back as the last inserted id.
    advance_district: "UPDATE district SET d_next_o_id = LAST_INSERT_ID(d_next_o_id) + 1 WHERE d_w_id = ? AND d_id = ?",
    insert_order: "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
        VALUES (LAST_INSERT_ID(), ?, ?, ?, ?, NULL, ?, ?)",
    insert_new_order: "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (LAST_INSERT_ID(), ?, ?)",
    items: format!("SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({})", marks(LINES_MAX)),
    update_stock: "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
        s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
    update_stocks: format!("UPDATE stock SET s_quantity = CASE s_i_id {cases} END, \
        s_ytd = s_ytd + CASE s_i_id {cases} END, s_order_cnt = s_order_cnt + 1 \
        WHERE s_w_id = ? AND s_i_id IN ({})", marks(LINES_MAX), cases = cases()),
    // Payment (clause 2.5.2.2)
    pay_warehouse: "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
    pay_district: "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
    addresses: "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip, d_name, d_street_1, d_street_2, d_city, \
        d_state, d_zip FROM warehouse, district WHERE w_id = ? AND d_w_id = ? AND d_id = ?",
    customers_by_name: "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
    lock_customer: "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
        c_since, c_credit, c_credit_lim, c_discount, c_balance, IF(c_credit = 'BC', c_data, NULL) FROM customer \
        WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
    pay_customer: "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
        c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    pay_bad_credit: "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
        c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    insert_history: "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    // Order-Status (clause 2.6.2.2)
    status_by_name: "SELECT c_id, c_balance, c_first, c_middle, c_last FROM customer \
        WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
    status_by_number: "SELECT c_id, c_balance, c_first, c_middle, c_last FROM customer \
        WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    last_order_lines: "SELECT o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
        FROM (SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
        ORDER BY o_id DESC LIMIT 1) AS last_order \
        STRAIGHT_JOIN order_line ON ol_w_id = ? AND ol_d_id = ? AND ol_o_id = o_id",
    // Delivery (clause 2.7.4.2)
    oldest_open_order: "SELECT no_o_id FROM new_orders WHERE no_w_id = ? AND no_d_id = ? \
        ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    delete_new_orders: format!("DELETE FROM new_orders WHERE no_w_id = ? AND ({})", pairs("no_d_id", "no_o_id")),
    order_owners: format!("SELECT o_d_id, o_c_id FROM orders WHERE o_w_id = ? AND ({}) FOR UPDATE", pairs("o_d_id", "o_id")),
    set_carriers: format!("UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND ({})", pairs("o_d_id", "o_id")),
    deliver_lines: format!("UPDATE order_line SET ol_delivery_d = ? WHERE ol_w_id = ? AND ({})", pairs("ol_d_id", "ol_o_id")),
    order_amounts: format!("SELECT ol_d_id, SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ({}) GROUP BY ol_d_id",
        pairs("ol_d_id", "ol_o_id")),
    credit_customers: format!("UPDATE customer SET c_balance = c_balance + CASE c_d_id {} END, \
        c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND ({})",
        vec!["WHEN ? THEN ?"; DISTRICTS as usize].join(" "), pairs("c_d_id", "c_id")),
    // Stock-Level (clause 2.8.2.2). The join order is fixed: the last orders' lines first, else an optimizer may scan a
    // warehouse's stock.
    low_stock: "SELECT COUNT(DISTINCT s_i_id) FROM district STRAIGHT_JOIN order_line STRAIGHT_JOIN stock \
        ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
        WHERE d_w_id = ? AND d_id = ? AND ol_w_id = ? AND ol_d_id = ? \
        AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id AND s_quantity < ?",
}
