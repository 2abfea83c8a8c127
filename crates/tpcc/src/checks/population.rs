//! The rules by which clause 4.3.3.1 populates a database, as data, for databases that any tool
//! has loaded.
//!
//! What a run adds has order numbers above 3,000 and is left out, so that most rules hold for ever:
//! those are [`LASTING`]. The others are of rows that a run changes: [`INITIAL`].
//!
//! Shares of rows that are drawn at random (ORIGINAL, BC) may be 5 % off their tenth (comment 1 of
//! the clause). Where there are so few rows that a right load would often be farther off, 5.3
//! standard deviations are allowed: a load that draws each row by itself is blamed once in some
//! ten million statements. Characters that have to be of an alphabet are not looked at one by one.

use super::list::{Check, checks};
use base::{Session, SessionResult};

/// Has no run changed what was loaded? Orders, payments and deliveries each leave a trace.
pub(super) async fn is_as_loaded<S: Session>(session: &mut S) -> SessionResult<bool> {
    let sql = "SELECT EXISTS(SELECT 1 FROM district WHERE d_next_o_id>3001) \
               OR EXISTS(SELECT 1 FROM customer WHERE c_payment_cnt>1 OR c_delivery_cnt>0)";
    Ok(session.query(sql).await?.int()? == Some(0))
}

/// Rules of rows and columns that no transaction changes.
pub const LASTING: [Check; 13] = checks! {
    P1 "4.3.3.1" "the items are 1 to 100,000" {
        ["items", "min(i_id)", "max(i_id)"]
            "SELECT COUNT(*) AS n, MIN(i_id) AS low, MAX(i_id) AS high FROM item HAVING \
             COUNT(*)<>100000 OR MIN(i_id)<>1 OR MAX(i_id)<>100000";
    }
    P2 "4.3.3.1"
        "i_im_id is 1..10,000, i_price 1.00..100.00, i_name 14..24 and i_data 26..50 long" {
        ["i_id", "i_im_id", "i_price", "i_name", "i_data"]
            "SELECT i_id, i_im_id, i_price, i_name, i_data FROM item WHERE i_im_id NOT BETWEEN 1 \
             AND 10000 OR i_price NOT BETWEEN 1 AND 100 OR CHAR_LENGTH(i_name) NOT BETWEEN 14 AND \
             24 OR CHAR_LENGTH(i_data) NOT BETWEEN 26 AND 50";
    }
    P3 "4.3.3.1" "i_data has ORIGINAL in 10 % of the items, 5 % more or less of them" {
        ["items", "with ORIGINAL"]
            "SELECT n, original FROM (SELECT COUNT(*) AS n, SUM(LOCATE(CAST('ORIGINAL' AS \
             BINARY),i_data)>0) AS original FROM item) i WHERE \
             ABS(original-0.1*n)>GREATEST(0.005*n,5.3*SQRT(0.09*n))";
    }
    P4 "4.3.3.1, 4.3.2.7"
        "a warehouse has districts 1 to 10; names, addresses and taxes (0..0.2) of both are by the \
         rules" {
        ["w_id", "districts", "min(d_id)", "max(d_id)"]
            "SELECT {w} AS w_id, COUNT(*) AS n, MIN(d_id) AS low, MAX(d_id) AS high FROM district \
             WHERE d_w_id={w} HAVING COUNT(*)<>10 OR MIN(d_id)<>1 OR MAX(d_id)<>10";
        ["w_id", "w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip", "w_tax"]
            "SELECT w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax FROM \
             warehouse WHERE w_id={w} AND (CHAR_LENGTH(w_name) NOT BETWEEN 6 AND 10 OR \
             CHAR_LENGTH(w_street_1) NOT BETWEEN 10 AND 20 OR CHAR_LENGTH(w_street_2) NOT BETWEEN \
             10 AND 20 OR CHAR_LENGTH(w_city) NOT BETWEEN 10 AND 20 OR CHAR_LENGTH(w_state)<>2 OR \
             w_zip NOT REGEXP '^[0-9][0-9][0-9][0-9]11111$' OR w_tax NOT BETWEEN 0 AND 0.2)";
        ["w_id", "d_id", "d_name", "d_street_1", "d_street_2", "d_city", "d_state", "d_zip",
         "d_tax"]
            "SELECT d_w_id, d_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax \
             FROM district WHERE d_w_id={w} AND (CHAR_LENGTH(d_name) NOT BETWEEN 6 AND 10 OR \
             CHAR_LENGTH(d_street_1) NOT BETWEEN 10 AND 20 OR CHAR_LENGTH(d_street_2) NOT BETWEEN \
             10 AND 20 OR CHAR_LENGTH(d_city) NOT BETWEEN 10 AND 20 OR CHAR_LENGTH(d_state)<>2 OR \
             d_zip NOT REGEXP '^[0-9][0-9][0-9][0-9]11111$' OR d_tax NOT BETWEEN 0 AND 0.2)";
    }
    P5 "4.3.3.1" "a warehouse has stock of the items 1 to 100,000" {
        ["w_id", "stock rows", "min(s_i_id)", "max(s_i_id)"]
            "SELECT {w} AS w_id, COUNT(*) AS n, MIN(s_i_id) AS low, MAX(s_i_id) AS high FROM stock \
             WHERE s_w_id={w} HAVING COUNT(*)<>100000 OR MIN(s_i_id)<>1 OR MAX(s_i_id)<>100000";
    }
    P6 "4.3.3.1" "s_data is 26..50 and each s_dist_xx 24 characters long" {
        ["w_id", "i_id", "s_data", "s_dist_01"]
            "SELECT s_w_id, s_i_id, s_data, s_dist_01 FROM stock WHERE s_w_id={w} AND \
             (CHAR_LENGTH(s_data) NOT BETWEEN 26 AND 50 OR CHAR_LENGTH(s_dist_01)<>24 OR \
             CHAR_LENGTH(s_dist_02)<>24 OR CHAR_LENGTH(s_dist_03)<>24 OR \
             CHAR_LENGTH(s_dist_04)<>24 OR CHAR_LENGTH(s_dist_05)<>24 OR \
             CHAR_LENGTH(s_dist_06)<>24 OR CHAR_LENGTH(s_dist_07)<>24 OR \
             CHAR_LENGTH(s_dist_08)<>24 OR CHAR_LENGTH(s_dist_09)<>24 OR \
             CHAR_LENGTH(s_dist_10)<>24)";
    }
    P7 "4.3.3.1"
        "s_data has ORIGINAL in 10 % of the stock of a warehouse, 5 % more or less of them" {
        ["w_id", "stock rows", "with ORIGINAL"]
            "SELECT {w} AS w_id, n, original FROM (SELECT COUNT(*) AS n, \
             SUM(LOCATE(CAST('ORIGINAL' AS BINARY),s_data)>0) AS original FROM stock WHERE \
             s_w_id={w}) s WHERE ABS(original-0.1*n)>GREATEST(0.005*n,5.3*SQRT(0.09*n))";
    }
    P8 "4.3.3.1" "a district has customers 1 to 3,000" {
        ["w_id", "d_id", "customers", "min(c_id)", "max(c_id)"]
            "SELECT d.d_w_id, d.d_id, COALESCE(c.n,0) AS n, c.low, c.high FROM district d LEFT \
             JOIN (SELECT c_d_id, COUNT(*) AS n, MIN(c_id) AS low, MAX(c_id) AS high FROM customer \
             WHERE c_w_id={w} GROUP BY c_d_id) c ON c.c_d_id=d.d_id WHERE d.d_w_id={w} AND (c.n IS \
             NULL OR c.n<>3000 OR c.low<>1 OR c.high<>3000)";
    }
    P9 "4.3.3.1, 4.3.2.7"
        "names, addresses, phone, credit limit, discount (0..0.5) and data of customers are by the \
         rules" {
        ["w_id", "d_id", "c_id", "c_first", "c_middle", "c_zip", "c_phone", "c_credit",
         "c_discount"]
            "SELECT c_w_id, c_d_id, c_id, c_first, c_middle, c_zip, c_phone, c_credit, c_discount \
             FROM customer WHERE c_w_id={w} AND (CHAR_LENGTH(c_first) NOT BETWEEN 8 AND 16 OR \
             c_middle<>'OE' OR CHAR_LENGTH(c_street_1) NOT BETWEEN 10 AND 20 OR \
             CHAR_LENGTH(c_street_2) NOT BETWEEN 10 AND 20 OR CHAR_LENGTH(c_city) NOT BETWEEN 10 \
             AND 20 OR CHAR_LENGTH(c_state)<>2 OR c_zip NOT REGEXP '^[0-9][0-9][0-9][0-9]11111$' \
             OR CHAR_LENGTH(c_phone)<>16 OR c_credit NOT IN ('GC','BC') OR c_credit_lim<>50000 OR \
             c_discount NOT BETWEEN 0 AND 0.5 OR CHAR_LENGTH(c_data) NOT BETWEEN 300 AND 500)";
    }
    // Names of the other 2,000 customers are by NURand. The squares of their numbers add up to
    // 25,000 then and to 6,000 where each name is as likely, 1,000 and 90 more or less.
    P10 "4.3.3.1, 4.3.2.3"
        "customers 1 to 1,000 of a district have each last name once, the others have names by \
         NURand" {
        ["w_id", "d_id", "names of the first 1,000"]
            "SELECT {w} AS w_id, c_d_id, COUNT(DISTINCT c_last) AS n FROM customer WHERE \
             c_w_id={w} AND c_id<=1000 GROUP BY c_d_id HAVING COUNT(DISTINCT c_last)<>1000";
        ["w_id", "d_id", "c_id", "c_last"]
            "SELECT c_w_id, c_d_id, c_id, c_last FROM customer WHERE c_w_id={w} AND c_last NOT \
             REGEXP '^(BAR|OUGHT|ABLE|PRI|PRES|ESE|ANTI|CALLY|ATION|EING){3}$'";
        ["w_id", "d_id", "names of the others", "squares of their numbers"]
            "SELECT {w} AS w_id, c_d_id, COUNT(*) AS names, SUM(n*n) AS squares FROM (SELECT \
             c_d_id, c_last, COUNT(*) AS n FROM customer WHERE c_w_id={w} AND c_id>1000 GROUP BY \
             c_d_id, c_last) c GROUP BY c_d_id HAVING SUM(n*n)<12000";
    }
    P11 "4.3.3.1"
        "c_credit is BC for 10 % of the customers, 5 % more or less of them (of 1 to 3 warehouses \
         9.2, 6.5, 5.3 %)" {
        ["customers", "with BC"]
            "SELECT n, bad FROM (SELECT COUNT(*) AS n, SUM(c_credit='BC') AS bad FROM customer) c \
             WHERE ABS(bad-0.1*n)>GREATEST(0.005*n,5.3*SQRT(0.09*n))";
    }
    // A random permutation leaves one customer in its place in the mean, and more than 20 never.
    P12 "4.3.3.1"
        "orders 1 to 3,000 of a district are of its customers in random order, each once; o_ol_cnt \
         is 5..15" {
        ["w_id", "d_id", "orders", "customers", "with o_c_id = o_id"]
            "SELECT d.d_w_id, d.d_id, COALESCE(o.n,0) AS n, o.customers, o.fixed FROM district d \
             LEFT JOIN (SELECT o_d_id, COUNT(*) AS n, COUNT(DISTINCT o_c_id) AS customers, \
             MIN(o_c_id) AS low, MAX(o_c_id) AS high, SUM(o_c_id=o_id) AS fixed FROM orders WHERE \
             o_w_id={w} AND o_id BETWEEN 1 AND 3000 GROUP BY o_d_id) o ON o.o_d_id=d.d_id WHERE \
             d.d_w_id={w} AND (o.n IS NULL OR o.n<>3000 OR o.customers<>3000 OR o.low<>1 OR \
             o.high<>3000 OR o.fixed>20)";
        ["w_id", "d_id", "o_id", "o_ol_cnt", "o_all_local", "o_carrier_id"]
            "SELECT o_w_id, o_d_id, o_id, o_ol_cnt, o_all_local, o_carrier_id FROM orders WHERE \
             o_w_id={w} AND o_id<=3000 AND (o_ol_cnt NOT BETWEEN 5 AND 15 OR o_all_local<>1 OR \
             o_carrier_id NOT BETWEEN 1 AND 10)";
    }
    P13 "4.3.3.1"
        "lines of these orders are 1 to o_ol_cnt, of 5 pieces each, and cost 0 where loaded as \
         delivered, else 0.01..9,999.99" {
        ["w_id", "d_id", "o_id", "ol_number", "ol_i_id", "ol_supply_w_id", "ol_quantity",
         "ol_amount"]
            "SELECT STRAIGHT_JOIN o.o_w_id, o.o_d_id, o.o_id, l.ol_number, l.ol_i_id, \
             l.ol_supply_w_id, l.ol_quantity, l.ol_amount FROM orders o JOIN order_line l ON \
             l.ol_w_id=o.o_w_id AND l.ol_d_id=o.o_d_id AND l.ol_o_id=o.o_id WHERE o.o_w_id={w} AND \
             o.o_id<=3000 AND (l.ol_number NOT BETWEEN 1 AND o.o_ol_cnt OR l.ol_i_id NOT BETWEEN 1 \
             AND 100000 OR l.ol_supply_w_id<>{w} OR l.ol_quantity<>5 OR \
             CHAR_LENGTH(l.ol_dist_info)<>24 OR IF(o.o_id<2101,l.ol_amount<>0 OR \
             l.ol_delivery_d<>o.o_entry_d,l.ol_amount NOT BETWEEN 0.01 AND 9999.99))";
    }
};

/// Rules that hold until the first transaction.
pub const INITIAL: [Check; 6] = checks! {
    P14 "4.3.3.1" "w_ytd is 300,000, d_ytd 30,000 and d_next_o_id 3,001" {
        ["w_id", "w_ytd"]
            "SELECT w_id, w_ytd FROM warehouse WHERE w_id={w} AND w_ytd<>300000";
        ["w_id", "d_id", "d_ytd", "d_next_o_id"]
            "SELECT d_w_id, d_id, d_ytd, d_next_o_id FROM district WHERE d_w_id={w} AND \
             (d_ytd<>30000 OR d_next_o_id<>3001)";
    }
    P15 "4.3.3.1" "s_ytd, s_order_cnt and s_remote_cnt are 0" {
        ["w_id", "i_id", "s_ytd", "s_order_cnt", "s_remote_cnt"]
            "SELECT s_w_id, s_i_id, s_ytd, s_order_cnt, s_remote_cnt FROM stock WHERE s_w_id={w} \
             AND (s_ytd<>0 OR s_order_cnt<>0 OR s_remote_cnt<>0)";
    }
    P16 "4.3.3.1" "c_balance is -10, c_ytd_payment 10, c_payment_cnt 1 and c_delivery_cnt 0" {
        ["w_id", "d_id", "c_id", "c_balance", "c_ytd_payment", "c_payment_cnt", "c_delivery_cnt"]
            "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt \
             FROM customer WHERE c_w_id={w} AND (c_balance<>-10 OR c_ytd_payment<>10 OR \
             c_payment_cnt<>1 OR c_delivery_cnt<>0)";
    }
    // Once for all warehouses, as C8 and C9.
    P17 "4.3.3.1" "history has one payment of 10.00 for each customer, entered at home" {
        ["w_id", "d_id", "payments", "customers"]
            "SELECT d.d_w_id, d.d_id, COALESCE(h.n,0) AS n, COALESCE(h.customers,0) AS customers \
             FROM district d LEFT JOIN (SELECT h_c_w_id+0 AS h_w, h_c_d_id+0 AS h_d, COUNT(*) AS \
             n, COUNT(DISTINCT h_c_id) AS customers FROM history GROUP BY h_c_w_id+0, h_c_d_id+0) \
             h ON h.h_w=d.d_w_id AND h.h_d=d.d_id WHERE COALESCE(h.n,0)<>3000 OR \
             COALESCE(h.customers,0)<>3000";
        ["c_w_id", "c_d_id", "c_id", "h_w_id", "h_d_id", "h_amount", "h_data"]
            "SELECT h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_amount, h_data FROM history \
             WHERE h_w_id<>h_c_w_id OR h_d_id<>h_c_d_id OR h_amount<>10 OR CHAR_LENGTH(h_data) NOT \
             BETWEEN 12 AND 24";
    }
    P18 "4.3.3.1"
        "o_carrier_id is NULL for orders 2,101 to 3,000 of a district only, and there are no \
         others" {
        ["w_id", "d_id", "o_id", "o_carrier_id"]
            "SELECT o_w_id, o_d_id, o_id, o_carrier_id FROM orders WHERE o_w_id={w} AND \
             ((o_carrier_id IS NULL)<>(o_id>2100) OR o_id NOT BETWEEN 1 AND 3000)";
    }
    P19 "4.3.3.1" "the open orders of a district are 2,101 to 3,000" {
        ["w_id", "d_id", "open orders", "min(no_o_id)", "max(no_o_id)"]
            "SELECT d.d_w_id, d.d_id, COALESCE(n.n,0) AS n, n.low, n.high FROM district d LEFT \
             JOIN (SELECT no_d_id, COUNT(*) AS n, MIN(no_o_id) AS low, MAX(no_o_id) AS high FROM \
             new_orders WHERE no_w_id={w} GROUP BY no_d_id) n ON n.no_d_id=d.d_id WHERE \
             d.d_w_id={w} AND (n.n IS NULL OR n.n<>900 OR n.low<>2101 OR n.high<>3000)";
    }
};
