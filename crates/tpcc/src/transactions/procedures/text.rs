//! The SQL of the stored procedures. Work is done on sets, as in style `batched`; what is missing
//! is signalled as an error (clause 2.3.6), which ends the procedure and is followed by the
//! caller's ROLLBACK.
//!
//! Every text parameter and variable has the character set and collation of `c_last`. Without them
//! it has those of the schema, and where these are others (utf8mb4 is the default of MySQL 8.0),
//! `c_last = p_last` converts the column, so that no index finds the customer.

use crate::input::LINES_MAX;
use crate::schema::DISTRICTS;
use crate::transactions::sql::{LINE_COLUMNS, STOCK_BY_KEY};

/// Names of all procedures begin like this.
pub(super) const PREFIX: &str = "mydyno_";
/// Raised with each change of the text below.
pub(super) const VERSION: u32 = 4;

/// `CALL mydyno_<name>(?, ...)`
pub(super) fn call(name: &str, params: usize) -> String {
    format!("CALL {PREFIX}{name}({})", vec!["?"; params].join(", "))
}

/// Name without prefix, and text from the parameters on, of each procedure. `texts` follows the
/// type of each text, as `CHARACTER SET latin1 COLLATE latin1_bin`.
pub(super) fn all(texts: &str) -> [(&'static str, String); 5] {
    [
        ("new_order", new_order(texts)),
        ("payment", payment(texts)),
        ("order_status", order_status(texts)),
        ("delivery", delivery()),
        ("stock_level", stock_level()),
    ]
}

/// `f(1), f(2), ...`, joined.
fn each(count: usize, separator: &str, f: impl Fn(usize) -> String) -> String {
    (1..=count).map(f).collect::<Vec<_>>().join(separator)
}

/// Ends the procedure where the last statement did not change `rows` rows.
fn expect(rows: &str, what: &str) -> String {
    format!(
        "IF ROW_COUNT() <> {rows} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no row for \
         {what}'; END IF;"
    )
}

/// What clause 2.4.2.2 does to the stock of a line of this quantity.
fn take(quantity: &str) -> String {
    format!(
        "s_quantity = s_quantity - {quantity} + IF(s_quantity >= {quantity} + 10, 0, 91), \
         s_ytd = s_ytd + {quantity}, s_order_cnt = s_order_cnt + 1"
    )
}

fn new_order(texts: &str) -> String {
    let items = each(LINES_MAX, ", ", |n| format!("p_i{n}"));
    let item_params = each(LINES_MAX, ", ", |n| format!("p_i{n} INT"));
    let quantity_params = each(LINES_MAX, ", ", |n| format!("p_q{n} INT"));
    let cases = each(LINES_MAX, " ", |n| format!("WHEN p_i{n} THEN p_q{n}"));
    let quantity = format!("CASE s_i_id {cases} END");
    let dist = each(DISTRICTS as usize, ", ", |n| format!("s_dist_{n:02}"));
    let take_set = take(&quantity);
    // Stock rows are locked in one order by all: by warehouse, then by item.
    let (before, after) = (lines_alone("p_before", &dist), lines_alone("p_after", &dist));
    let (district, order) = (expect("1", "the order''s district"), expect("1", "the new order"));
    let queue = expect("1", "the new order''s queue entry");
    format!(
        "(p_w INT, p_d INT, p_c INT, p_entry DATETIME, p_lines INT, p_all_local INT, \
         {item_params}, {quantity_params}, p_before VARCHAR(600) {texts}, p_after VARCHAR(600) \
         {texts})
         BEGIN
           DECLARE v_o, v_n, v_i, v_s, v_q INT;
           DECLARE v_written INT DEFAULT 0;
           DECLARE v_discount, v_w_tax, v_d_tax DECIMAL(4,4);
           DECLARE v_last VARCHAR(16) {texts};
           DECLARE v_credit CHAR(2) {texts};
           DECLARE v_line VARCHAR(60) {texts};
           UPDATE district SET d_next_o_id = LAST_INSERT_ID(d_next_o_id) + 1 WHERE d_w_id = p_w \
           AND d_id = p_d;
           {district}
           SET v_o = LAST_INSERT_ID();
           SELECT c_discount, c_last, c_credit, w_tax, d_tax INTO v_discount, v_last, v_credit, \
           v_w_tax, v_d_tax
             FROM warehouse, district, customer
             WHERE w_id = p_w AND d_w_id = p_w AND d_id = p_d AND c_w_id = p_w AND c_d_id = p_d \
             AND c_id = p_c;
           IF v_last IS NULL THEN
             SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no row for the order''s customer and \
             warehouse';
           END IF;
           INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, \
           o_all_local)
             VALUES (v_o, p_d, p_w, p_c, p_entry, NULL, p_lines, p_all_local);
           {order}
           INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (v_o, p_d, p_w);
           {queue}
           {before}
           UPDATE {STOCK_BY_KEY} SET {take_set} WHERE s_w_id = p_w AND s_i_id IN ({items});
           INSERT INTO order_line ({LINE_COLUMNS})
             SELECT v_o, p_d, p_w, FIELD(s_i_id, {items}), s_i_id, p_w, NULL, {quantity}, \
             {quantity} * i_price, ELT(p_d, {dist})
             FROM {STOCK_BY_KEY} STRAIGHT_JOIN item ON i_id = s_i_id
             WHERE s_w_id = p_w AND s_i_id IN ({items});
           SET v_written = v_written + ROW_COUNT();
           {after}
           SELECT ol_i_id, ol_number, ol_supply_w_id, ol_quantity, ol_amount, i_price, s_quantity, \
           i_name,
             IF(i_data LIKE BINARY '%ORIGINAL%' AND s_data LIKE BINARY '%ORIGINAL%', 'B', 'G')
             FROM order_line STRAIGHT_JOIN item ON i_id = ol_i_id
             STRAIGHT_JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
             WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_o;
           IF v_written = p_lines THEN COMMIT; ELSE ROLLBACK; END IF;
           SELECT v_o, v_discount, v_last, v_credit, v_w_tax, v_d_tax;
         END"
    )
}

/// Takes the lines `number,item,warehouse,quantity;` of a text one by one: remote ones, and items
/// that the order has already.
fn lines_alone(lines: &str, dist: &str) -> String {
    let take_one = take("v_q");
    format!(
        "WHILE {lines} <> '' DO
             SET v_line = SUBSTRING_INDEX({lines}, ';', 1);
             SET {lines} = SUBSTRING({lines}, LENGTH(v_line) + 2);
             SET v_n = SUBSTRING_INDEX(v_line, ',', 1), v_q = SUBSTRING_INDEX(v_line, ',', -1),
               v_i = SUBSTRING_INDEX(SUBSTRING_INDEX(v_line, ',', 2), ',', -1),
               v_s = SUBSTRING_INDEX(SUBSTRING_INDEX(v_line, ',', -2), ',', 1);
             UPDATE stock SET {take_one}, s_remote_cnt = s_remote_cnt + (v_s <> p_w) WHERE s_w_id \
             = v_s AND s_i_id = v_i;
             INSERT INTO order_line ({LINE_COLUMNS})
               SELECT v_o, p_d, p_w, v_n, v_i, v_s, NULL, v_q, v_q * i_price, ELT(p_d, {dist})
               FROM stock STRAIGHT_JOIN item ON i_id = s_i_id WHERE s_w_id = v_s AND s_i_id = v_i;
             SET v_written = v_written + ROW_COUNT();
           END WHILE;"
    )
}

/// Leaves the customer's number in `v_c`: the one that was given, or the middle one of a last name
/// by first name. The customers of a name are read once, as the other styles do.
const FIND_CUSTOMER: &str = "
           SET v_c = p_c;
           IF p_c IS NULL THEN
             SELECT SUBSTRING_INDEX(SUBSTRING_INDEX(GROUP_CONCAT(c_id ORDER BY c_first), ',', \
             (COUNT(*) + 1) DIV 2), ',', -1)
               INTO v_c FROM customer WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_last = p_last;
             IF v_c IS NULL THEN
               SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no row for a customer with this last \
               name';
             END IF;
           END IF;";

/// Columns of the address of a warehouse or district, behind its prefix, and their types.
const ADDRESS: [(&str, &str); 6] = [
    ("name", "VARCHAR(10)"),
    ("street_1", "VARCHAR(20)"),
    ("street_2", "VARCHAR(20)"),
    ("city", "VARCHAR(20)"),
    ("state", "CHAR(2)"),
    ("zip", "CHAR(9)"),
];

/// What `f` makes of each column of both addresses, joined.
fn addresses(separator: &str, f: impl Fn(&str, &str) -> String) -> String {
    let both = ["w", "d"].into_iter().flat_map(|prefix| {
        let column = move |(name, of_type)| (format!("{prefix}_{name}"), of_type);
        ADDRESS.into_iter().map(column)
    });
    let all: Vec<String> = both.map(|(name, of_type)| f(&name, of_type)).collect();
    all.join(separator)
}

fn payment(texts: &str) -> String {
    let (warehouse, district) =
        (expect("1", "the payment''s warehouse"), expect("1", "the payment''s district"));
    let (customer, history) =
        (expect("1", "the paying customer"), expect("1", "the payment''s history"));
    let columns = addresses(", ", |name, _| name.to_owned());
    let variables = addresses(", ", |name, _| format!("v_{name}"));
    let declared = addresses(" ", |name, of_type| format!("DECLARE v_{name} {of_type} {texts};"));
    format!(
        "(p_w INT, p_d INT, p_cw INT, p_cd INT, p_c INT, p_last VARCHAR(16) {texts}, p_amount \
         DECIMAL(12,2), p_date DATETIME)
         BEGIN
           DECLARE v_c INT;
           {declared}
           UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w;
           {warehouse}
           UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d;
           {district}
           SELECT {columns} INTO {variables} FROM warehouse, district WHERE w_id = p_w AND d_w_id \
           = p_w AND d_id = p_d;
           {FIND_CUSTOMER}
           UPDATE customer SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + \
           p_amount,
             c_payment_cnt = c_payment_cnt + 1, c_data = IF(c_credit = 'BC', LEFT(CONCAT(v_c, ' ', \
             p_cd, ' ', p_cw, ' ', p_d,
               ' ', p_w, ' ', p_amount, '|', c_data), 500), c_data)
             WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_id = v_c;
           {customer}
           INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, \
           h_data)
             VALUES (v_c, p_cd, p_cw, p_d, p_w, p_date, p_amount, CONCAT(v_w_name, '    ', \
             v_d_name));
           {history}
           SELECT v_w_street_1, v_w_street_2, v_w_city, v_w_state, v_w_zip, v_d_street_1, \
           v_d_street_2, v_d_city, v_d_state,
             v_d_zip, c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
             c_zip, c_phone, c_since,
             c_credit, c_balance, c_credit_lim, c_discount, IF(c_credit = 'BC', LEFT(c_data, 200), \
             NULL)
             FROM customer WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_id = v_c;
           COMMIT;
         END"
    )
}

fn order_status(texts: &str) -> String {
    format!(
        "(p_cw INT, p_cd INT, p_c INT, p_last VARCHAR(16) {texts})
         BEGIN
           DECLARE v_c INT;
           {FIND_CUSTOMER}
           SELECT c_id, c_balance, c_first, c_middle, c_last FROM customer
             WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_id = v_c;
           SELECT o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, \
           ol_delivery_d
             FROM (SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = p_cw AND o_d_id \
             = p_cd AND o_c_id = v_c
               ORDER BY o_id DESC LIMIT 1) AS last_order
             STRAIGHT_JOIN order_line ON ol_w_id = p_cw AND ol_d_id = p_cd AND ol_o_id = o_id;
           COMMIT;
         END"
    )
}

fn delivery() -> String {
    let districts = DISTRICTS as usize;
    let orders = each(districts, ", ", |d| format!("v_o{d}"));
    let pairs = |district: &str, order: &str| {
        each(districts, " OR ", |d| format!("({district} = {d} AND {order} = v_o{d})"))
    };
    // A locking read: without the lock two Deliveries could take the same order.
    let find = each(districts, "\n           ", |d| {
        format!(
            "SET v_o{d} = (SELECT no_o_id FROM new_orders WHERE no_w_id = p_w AND no_d_id = {d} \
             ORDER BY no_o_id LIMIT 1 FOR UPDATE);"
        )
    });
    let count = each(districts, " + ", |d| format!("(v_o{d} IS NOT NULL)"));
    let (open, carried) =
        (expect("v_found", "the open orders"), expect("v_found", "the delivered orders"));
    let credited = expect("v_found", "the customers of the delivered orders");
    format!(
        "(p_w INT, p_carrier INT, p_date DATETIME)
         BEGIN
           DECLARE {orders}, v_found INT;
           {find}
           SET v_found = {count};
           DELETE FROM new_orders WHERE no_w_id = p_w AND ({});
           {open}
           UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND ({});
           {carried}
           UPDATE order_line SET ol_delivery_d = p_date WHERE ol_w_id = p_w AND ({});
           UPDATE customer, (SELECT o_d_id, o_c_id, SUM(ol_amount) AS amount FROM orders \
           STRAIGHT_JOIN order_line
               ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
               WHERE o_w_id = p_w AND ({}) GROUP BY o_d_id, o_c_id) AS delivered
             SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
             WHERE c_w_id = p_w AND c_d_id = o_d_id AND c_id = o_c_id;
           {credited}
           COMMIT;
           SELECT {DISTRICTS} - v_found;
         END",
        pairs("no_d_id", "no_o_id"),
        pairs("o_d_id", "o_id"),
        pairs("ol_d_id", "ol_o_id"),
        pairs("o_d_id", "o_id"),
    )
}

fn stock_level() -> String {
    "(p_w INT, p_d INT, p_threshold INT)
         BEGIN
           SELECT COUNT(DISTINCT s_i_id) FROM district STRAIGHT_JOIN order_line STRAIGHT_JOIN stock
             ON s_w_id = ol_w_id AND s_i_id = ol_i_id
             WHERE d_w_id = p_w AND d_id = p_d AND ol_w_id = p_w AND ol_d_id = p_d
             AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id AND s_quantity < p_threshold;
           COMMIT;
         END"
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::{VERSION, all};

    /// A database keeps the procedures of an equal version, so another text needs another one.
    #[test]
    fn the_version_goes_with_the_text() {
        let text: String =
            all("").into_iter().map(|(name, text)| name.to_owned() + &text).collect();
        let known = (VERSION, xxhash_rust::xxh3::xxh3_64(text.as_bytes()));
        assert_eq!(known, (4, 17_983_532_120_691_957_416), "raise VERSION, then put both here");
    }
}
