//! The twelve consistency conditions of clause 3.3.2 and six invariants that follow from clause 2,
//! as data.
//!
//! Each statement returns the rows that offend, none on a consistent database. `{w}` stands for a
//! warehouse: a statement at a time over one warehouse needs no temporary table larger than that
//! warehouse, and no index beyond the primary keys (but see `screens` for the three that would like
//! one). Joins are written outer where a missing row is a fault, and STRAIGHT_JOIN where the order
//! of the join is what makes it one pass over the primary keys: without it MySQL 5.7 starts from
//! order_line and looks up each order ten times.

use super::across::{BALANCES, Comparison, PAYMENTS, STOCK};

/// A statement of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// What the columns are, for people.
    pub columns: &'static [&'static str],
    /// The SQL, `{w}` for the warehouse.
    pub(super) sql: &'static str,
    /// The scan that shows at once that this statement and others find nothing.
    pub(super) scan: Option<Scan>,
}

/// A scan that several statements share: where it finds no row in a warehouse, none of them does.
/// It reads once what they would read five times; they run where it finds something, to say what.
/// The wider one spares what the narrower one spares, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scan {
    /// Orders with their lines: C4, C6, C7, X3, and the first part of C5.
    Orders,
    /// Customers with those, and their payments: C10, C12, X4.
    Customers,
}

/// Each order's lines, in one pass over the primary key. An order without lines is none of these.
const LINES: &str = "(SELECT ol_d_id, ol_o_id, COUNT(*) AS n, SUM(ol_delivery_d IS NULL) AS \
    n_open, SUM(ol_supply_w_id<>{w}) AS remote, SUM(IF(ol_delivery_d IS NULL,0,ol_amount)) AS \
    bought FROM order_line WHERE ol_w_id={w} GROUP BY ol_d_id, ol_o_id) l LEFT JOIN orders o ON \
    o.o_w_id={w} AND o.o_d_id=l.ol_d_id AND o.o_id=l.ol_o_id LEFT JOIN new_orders n ON \
    n.no_w_id={w} AND n.no_d_id=l.ol_d_id AND n.no_o_id=l.ol_o_id";
/// Is there anything wrong with an order of these?
const IS_WRONG: &str = "o.o_id IS NULL OR NOT l.n<=>o.o_ol_cnt OR \
    l.n_open<>IF(o.o_carrier_id IS NULL,l.n,0) OR (o.o_all_local=1)<>(l.remote=0) OR \
    (o.o_carrier_id IS NULL)<>(n.no_o_id IS NOT NULL)";
/// Each district's customers have one order at least, of the load; ORDER BY NULL keeps MySQL 5.7
/// from sorting what nobody wants sorted.
const CUSTOMERS: &str = "(SELECT o.o_d_id, o.o_c_id, COUNT(*) AS n, SUM(l.bought) AS bought, \
    SUM({wrong}) AS wrong FROM {lines} GROUP BY o.o_d_id, o.o_c_id ORDER BY NULL) a LEFT JOIN \
    customer c ON c.c_w_id={w} AND c.c_d_id=a.o_d_id AND c.c_id=a.o_c_id LEFT JOIN (SELECT \
    h_c_d_id, h_c_id, COUNT(*) AS n, SUM(h_amount) AS paid FROM history WHERE h_c_w_id={w} GROUP \
    BY h_c_d_id, h_c_id ORDER BY NULL) h ON h.h_c_d_id=c.c_d_id AND h.h_c_id=c.c_id";

const ORDERS_SCAN: &str = "SELECT t.n FROM (SELECT COUNT(*) AS n, SUM({wrong}) AS wrong FROM \
    {lines}) t WHERE t.wrong>0 OR t.n<>(SELECT COUNT(*) FROM orders WHERE o_w_id={w})";
const CUSTOMERS_SCAN: &str = "SELECT t.n FROM (SELECT COUNT(*) AS n_customers, SUM(a.n) AS n, \
    SUM(a.wrong) AS wrong, SUM(c.c_id IS NULL OR \
    c.c_balance<>COALESCE(a.bought,0)-COALESCE(h.paid,0) OR \
    c.c_balance+c.c_ytd_payment<>COALESCE(a.bought,0) OR c.c_payment_cnt<>COALESCE(h.n,0) OR \
    c.c_ytd_payment<>COALESCE(h.paid,0)) AS wrong_customers FROM {customers}) t WHERE t.wrong>0 OR \
    t.wrong_customers>0 OR COALESCE(t.n,0)<>(SELECT COUNT(*) FROM orders WHERE o_w_id={w}) OR \
    t.n_customers<>(SELECT COUNT(*) FROM customer WHERE c_w_id={w})";

impl Scan {
    /// The widest first.
    pub(super) const ALL: [Scan; 2] = [Scan::Customers, Scan::Orders];

    /// Returns one row where the warehouse offends against any of its checks.
    pub(super) fn sql(self, warehouse: u32) -> String {
        let sql = match self {
            Scan::Orders => ORDERS_SCAN,
            Scan::Customers => CUSTOMERS_SCAN,
        };
        sql.replace("{customers}", CUSTOMERS)
            .replace("{lines}", LINES)
            .replace("{wrong}", IS_WRONG)
            .replace("{w}", &warehouse.to_string())
    }
}

impl Statement {
    /// Is it run once for each warehouse, or once for all?
    pub fn is_per_warehouse(&self) -> bool {
        self.sql.contains("{w}")
    }

    /// The SQL for one warehouse, without a limit on the rows.
    pub fn sql(&self, warehouse: u32) -> String {
        self.sql.replace("{w}", &warehouse.to_string())
    }
}

/// A condition that the rows of a database meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// C1..C12 are conditions 1-12 of clause 3.3.2, X1..X6 the extra invariants, P1..P19 the rules
    /// of the population.
    pub name: &'static str,
    /// What must hold.
    pub title: &'static str,
    /// Where the standard says so.
    pub clause: &'static str,
    pub statements: &'static [Statement],
    /// What stands for the statements where several shards, or no index, have the rows that they
    /// compare.
    pub(super) across: Option<&'static Comparison>,
}

/// An array of checks: of each its name, clause and title, what it compares across warehouses, and
/// its statements, each with its scan, columns and SQL.
macro_rules! checks {
    ($($name:ident $clause:literal $title:literal $(across $across:path)? {
        $($(by $scan:expr,)? [$($column:literal),+] $sql:literal;)+
    })+) => {
        [$($crate::checks::list::Check {
            name: stringify!($name),
            title: $title,
            clause: $clause,
            statements: &[$($crate::checks::list::Statement {
                columns: &[$($column),+],
                sql: $sql,
                scan: $crate::checks::list::checks!(@optional $($scan)?),
            }),+],
            across: $crate::checks::list::checks!(@optional $($across)?),
        }),+]
    };
    (@optional) => { None };
    (@optional $value:expr) => { Some($value) };
}
pub(super) use checks;

/// All checks, in the order in which reports print them.
pub const CHECKS: [Check; 18] = checks! {
    C1 "3.3.2.1" "w_ytd is the sum of d_ytd of the warehouse's districts" {
        ["w_id", "w_ytd", "sum(d_ytd)"]
            "SELECT w.w_id, w.w_ytd, d.d_sum FROM warehouse w LEFT JOIN (SELECT d_w_id, SUM(d_ytd) \
             AS d_sum FROM district WHERE d_w_id={w} GROUP BY d_w_id) d ON d.d_w_id=w.w_id WHERE \
             w.w_id={w} AND (d.d_sum IS NULL OR w.w_ytd<>d.d_sum)";
    }
    C2 "3.3.2.2"
        "d_next_o_id - 1 is the highest o_id and, with open orders, the highest no_o_id of the \
         district" {
        ["w_id", "d_id", "d_next_o_id", "max(o_id)", "max(no_o_id)"]
            "SELECT d.d_w_id, d.d_id, d.d_next_o_id, o.max_o, n.max_no FROM district d LEFT JOIN \
             (SELECT o_d_id, MAX(o_id) AS max_o FROM orders WHERE o_w_id={w} GROUP BY o_d_id) o ON \
             o.o_d_id=d.d_id LEFT JOIN (SELECT no_d_id, MAX(no_o_id) AS max_no FROM new_orders \
             WHERE no_w_id={w} GROUP BY no_d_id) n ON n.no_d_id=d.d_id WHERE d.d_w_id={w} AND \
             (o.max_o IS NULL OR o.max_o<>d.d_next_o_id-1 OR (n.max_no IS NOT NULL AND \
             n.max_no<>d.d_next_o_id-1))";
    }
    C3 "3.3.2.3" "the open orders of a district have no gap" {
        ["w_id", "d_id", "min(no_o_id)", "max(no_o_id)", "count(*)"]
            "SELECT no_w_id, no_d_id, MIN(no_o_id) AS low, MAX(no_o_id) AS high, COUNT(*) AS n \
             FROM new_orders WHERE no_w_id={w} GROUP BY no_w_id, no_d_id HAVING \
             MAX(no_o_id)-MIN(no_o_id)+1<>COUNT(*)";
    }
    C4 "3.3.2.4" "the sum of o_ol_cnt of a district is the number of its order lines" {
        by Scan::Orders, ["w_id", "d_id", "sum(o_ol_cnt)", "order lines"]
            "SELECT {w} AS w_id, o.o_d_id, o.wanted, COALESCE(l.n,0) AS n FROM (SELECT o_d_id, \
             SUM(o_ol_cnt) AS wanted FROM orders WHERE o_w_id={w} GROUP BY o_d_id) o LEFT JOIN \
             (SELECT ol_d_id, COUNT(*) AS n FROM order_line WHERE ol_w_id={w} GROUP BY ol_d_id) l \
             ON l.ol_d_id=o.o_d_id WHERE COALESCE(l.n,0)<>o.wanted";
    }
    C5 "3.3.2.5"
        "o_carrier_id is NULL exactly for the orders in new_orders, and new_orders has no row \
         without its order" {
        by Scan::Orders, ["w_id", "d_id", "o_id", "o_carrier_id", "no_o_id"]
            "SELECT o.o_w_id, o.o_d_id, o.o_id, o.o_carrier_id, n.no_o_id FROM orders o LEFT JOIN \
             new_orders n ON n.no_w_id=o.o_w_id AND n.no_d_id=o.o_d_id AND n.no_o_id=o.o_id WHERE \
             o.o_w_id={w} AND (o.o_carrier_id IS NULL)<>(n.no_o_id IS NOT NULL)";
        ["w_id", "d_id", "no_o_id without order"]
            "SELECT n.no_w_id, n.no_d_id, n.no_o_id FROM new_orders n LEFT JOIN orders o ON \
             o.o_w_id=n.no_w_id AND o.o_d_id=n.no_d_id AND o.o_id=n.no_o_id WHERE n.no_w_id={w} \
             AND o.o_id IS NULL";
    }
    C6 "3.3.2.6" "o_ol_cnt is the number of lines of the order, and no line is without its order" {
        by Scan::Orders, ["w_id", "d_id", "o_id", "o_ol_cnt", "order lines"]
            "SELECT o.o_w_id, o.o_d_id, o.o_id, o.o_ol_cnt, COALESCE(l.n,0) AS n FROM orders o \
             LEFT JOIN (SELECT ol_d_id, ol_o_id, COUNT(*) AS n FROM order_line WHERE ol_w_id={w} \
             GROUP BY ol_d_id, ol_o_id) l ON l.ol_d_id=o.o_d_id AND l.ol_o_id=o.o_id WHERE \
             o.o_w_id={w} AND COALESCE(l.n,0)<>o.o_ol_cnt";
        by Scan::Orders, ["w_id", "d_id", "ol_o_id without order"]
            "SELECT {w} AS w_id, l.ol_d_id, l.ol_o_id FROM (SELECT DISTINCT ol_d_id, ol_o_id FROM \
             order_line WHERE ol_w_id={w}) l LEFT JOIN orders o ON o.o_w_id={w} AND \
             o.o_d_id=l.ol_d_id AND o.o_id=l.ol_o_id WHERE o.o_id IS NULL";
    }
    C7 "3.3.2.7"
        "ol_delivery_d is NULL exactly for the lines of orders whose o_carrier_id is NULL" {
        by Scan::Orders, ["w_id", "d_id", "o_id", "ol_number", "ol_delivery_d", "o_carrier_id"]
            "SELECT STRAIGHT_JOIN o.o_w_id, o.o_d_id, o.o_id, l.ol_number, l.ol_delivery_d, \
             o.o_carrier_id FROM orders o JOIN order_line l ON l.ol_w_id=o.o_w_id AND \
             l.ol_d_id=o.o_d_id AND l.ol_o_id=o.o_id WHERE o.o_w_id={w} AND (l.ol_delivery_d IS \
             NULL)<>(o.o_carrier_id IS NULL)";
    }
    // C8 and C9 read history once for all warehouses: it has no primary key, and with `--no-
    // foreign-keys` no index, so a statement for each warehouse would read all of it each time.
    // `+0` keeps the optimizer from reading it in the order of an index, which is the order of no
    // page.
    C8 "3.3.2.8" "w_ytd is the sum of h_amount of the payments entered at the warehouse" {
        ["w_id", "w_ytd", "sum(h_amount)"]
            "SELECT w.w_id, w.w_ytd, h.paid FROM warehouse w LEFT JOIN (SELECT h_w_id+0 AS h_w, \
             SUM(h_amount) AS paid FROM history GROUP BY h_w_id+0) h ON h.h_w=w.w_id WHERE \
             COALESCE(h.paid,0)<>w.w_ytd";
    }
    C9 "3.3.2.9" "d_ytd is the sum of h_amount of the payments entered at the district" {
        ["w_id", "d_id", "d_ytd", "sum(h_amount)"]
            "SELECT d.d_w_id, d.d_id, d.d_ytd, h.paid FROM district d LEFT JOIN (SELECT h_w_id+0 \
             AS h_w, h_d_id+0 AS h_d, SUM(h_amount) AS paid FROM history GROUP BY h_w_id+0, \
             h_d_id+0) h ON h.h_w=d.d_w_id AND h.h_d=d.d_id WHERE COALESCE(h.paid,0)<>d.d_ytd";
    }
    C10 "3.3.2.10"
        "c_balance is what the customer's delivered lines cost less what the customer \
         paid" across BALANCES {
        by Scan::Customers, ["w_id", "d_id", "c_id", "c_balance", "sum(ol_amount)", "sum(h_amount)"]
            "SELECT c.c_w_id, c.c_d_id, c.c_id, c.c_balance, COALESCE(a.bought,0) AS bought, \
             COALESCE(h.paid,0) AS paid FROM customer c LEFT JOIN (SELECT STRAIGHT_JOIN o.o_d_id, \
             o.o_c_id, SUM(l.ol_amount) AS bought FROM orders o JOIN order_line l ON \
             l.ol_w_id=o.o_w_id AND l.ol_d_id=o.o_d_id AND l.ol_o_id=o.o_id WHERE o.o_w_id={w} AND \
             l.ol_delivery_d IS NOT NULL GROUP BY o.o_d_id, o.o_c_id) a ON a.o_d_id=c.c_d_id AND \
             a.o_c_id=c.c_id LEFT JOIN (SELECT h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM \
             history WHERE h_c_w_id={w} GROUP BY h_c_d_id, h_c_id) h ON h.h_c_d_id=c.c_d_id AND \
             h.h_c_id=c.c_id WHERE c.c_w_id={w} AND \
             c.c_balance<>COALESCE(a.bought,0)-COALESCE(h.paid,0)";
    }
    C11 "3.3.2.11, generalised by sum(c_delivery_cnt) so that it holds after Deliveries too"
        "orders less open orders of a district are the 2100 loaded as delivered and those \
         delivered since" {
        ["w_id", "d_id", "orders", "open orders", "sum(c_delivery_cnt)"]
            "SELECT {w} AS w_id, o.o_d_id, o.n_orders, COALESCE(n.n_open,0) AS n_open, k.delivered \
             FROM (SELECT o_d_id, COUNT(*) AS n_orders FROM orders WHERE o_w_id={w} GROUP BY \
             o_d_id) o LEFT JOIN (SELECT no_d_id, COUNT(*) AS n_open FROM new_orders WHERE \
             no_w_id={w} GROUP BY no_d_id) n ON n.no_d_id=o.o_d_id LEFT JOIN (SELECT c_d_id, \
             SUM(c_delivery_cnt) AS delivered FROM customer WHERE c_w_id={w} GROUP BY c_d_id) k ON \
             k.c_d_id=o.o_d_id WHERE k.delivered IS NULL OR \
             o.n_orders-COALESCE(n.n_open,0)<>2100+k.delivered";
    }
    C12 "3.3.2.12, for all customers"
        "c_balance + c_ytd_payment is what the customer's delivered lines cost" {
        by Scan::Customers, ["w_id", "d_id", "c_id", "c_balance", "c_ytd_payment", "sum(ol_amount)"]
            "SELECT c.c_w_id, c.c_d_id, c.c_id, c.c_balance, c.c_ytd_payment, COALESCE(a.bought,0) \
             AS bought FROM customer c LEFT JOIN (SELECT STRAIGHT_JOIN o.o_d_id, o.o_c_id, \
             SUM(l.ol_amount) AS bought FROM orders o JOIN order_line l ON l.ol_w_id=o.o_w_id AND \
             l.ol_d_id=o.o_d_id AND l.ol_o_id=o.o_id WHERE o.o_w_id={w} AND l.ol_delivery_d IS NOT \
             NULL GROUP BY o.o_d_id, o.o_c_id) a ON a.o_d_id=c.c_d_id AND a.o_c_id=c.c_id WHERE \
             c.c_w_id={w} AND c.c_balance+c.c_ytd_payment<>COALESCE(a.bought,0)";
    }
    // Home lines by ten short ranges of the primary key; remote ones by the keys that the index of
    // the supplying warehouse holds, which are a hundredth of it. Asked in one, MariaDB looks up
    // every line that the warehouse ever supplied.
    X1 "2.4.2.2"
        "s_ytd, s_order_cnt and s_remote_cnt are what the order lines since the load took from the \
         stock" across STOCK {
        ["w_id", "i_id", "s_ytd", "sum(ol_quantity)", "s_order_cnt", "lines", "s_remote_cnt",
         "remote lines"]
            "SELECT s.s_w_id, s.s_i_id, s.s_ytd, COALESCE(l.taken,0) AS taken, s.s_order_cnt, \
             COALESCE(l.n,0) AS n, s.s_remote_cnt, COALESCE(l.remote,0) AS remote FROM stock s \
             LEFT JOIN (SELECT x.i_id, SUM(x.quantity) AS taken, COUNT(*) AS n, SUM(x.remote) AS \
             remote FROM (SELECT ol_i_id AS i_id, ol_quantity AS quantity, 0 AS remote FROM \
             order_line WHERE ol_w_id={w} AND ol_d_id IN (1,2,3,4,5,6,7,8,9,10) AND ol_o_id>3000 \
             AND ol_supply_w_id+0={w} UNION ALL SELECT STRAIGHT_JOIN l.ol_i_id, l.ol_quantity, 1 \
             FROM order_line k JOIN order_line l ON l.ol_w_id=k.ol_w_id AND l.ol_d_id=k.ol_d_id \
             AND l.ol_o_id=k.ol_o_id AND l.ol_number=k.ol_number WHERE k.ol_supply_w_id={w} AND \
             k.ol_w_id<>{w} AND k.ol_o_id>3000) x GROUP BY x.i_id) l ON l.i_id=s.s_i_id WHERE \
             s.s_w_id={w} AND (s.s_ytd<>COALESCE(l.taken,0) OR s.s_order_cnt<>COALESCE(l.n,0) OR \
             s.s_remote_cnt<>COALESCE(l.remote,0))";
    }
    X2 "2.4.2.2" "s_quantity is 10..100, as the rule of clause 2.4.2.2 keeps it" {
        ["w_id", "i_id", "s_quantity"]
            "SELECT s_w_id, s_i_id, s_quantity FROM stock WHERE s_w_id={w} AND s_quantity NOT \
             BETWEEN 10 AND 100";
    }
    X3 "2.4.2.2" "o_all_local is 1 exactly for the orders without a remote line" {
        by Scan::Orders, ["w_id", "d_id", "o_id", "o_all_local", "remote lines"]
            "SELECT o.o_w_id, o.o_d_id, o.o_id, o.o_all_local, l.remote FROM orders o JOIN (SELECT \
             ol_d_id, ol_o_id, SUM(ol_supply_w_id<>{w}) AS remote FROM order_line WHERE \
             ol_w_id={w} GROUP BY ol_d_id, ol_o_id) l ON l.ol_d_id=o.o_d_id AND l.ol_o_id=o.o_id \
             WHERE o.o_w_id={w} AND (o.o_all_local=1)<>(l.remote=0)";
    }
    X4 "2.5.2.2"
        "c_payment_cnt and c_ytd_payment are number and sum of the customer's \
         payments" across PAYMENTS {
        by Scan::Customers, ["w_id", "d_id", "c_id", "c_payment_cnt", "payments", "c_ytd_payment",
                             "sum(h_amount)"]
            "SELECT c.c_w_id, c.c_d_id, c.c_id, c.c_payment_cnt, COALESCE(h.n,0) AS n, \
             c.c_ytd_payment, COALESCE(h.paid,0) AS paid FROM customer c LEFT JOIN (SELECT \
             h_c_d_id, h_c_id, COUNT(*) AS n, SUM(h_amount) AS paid FROM history WHERE \
             h_c_w_id={w} GROUP BY h_c_d_id, h_c_id) h ON h.h_c_d_id=c.c_d_id AND h.h_c_id=c.c_id \
             WHERE c.c_w_id={w} AND (c.c_payment_cnt<>COALESCE(h.n,0) OR \
             c.c_ytd_payment<>COALESCE(h.paid,0))";
    }
    X5 "2.7.4.2" "c_delivery_cnt is the number of the customer's orders delivered since the load" {
        ["w_id", "d_id", "c_id", "c_delivery_cnt", "orders delivered"]
            "SELECT c.c_w_id, c.c_d_id, c.c_id, c.c_delivery_cnt, COALESCE(o.n,0) AS n FROM \
             customer c LEFT JOIN (SELECT o_d_id, o_c_id, COUNT(*) AS n FROM orders WHERE \
             o_w_id={w} AND o_carrier_id IS NOT NULL AND o_id>2100 GROUP BY o_d_id, o_c_id) o ON \
             o.o_d_id=c.c_d_id AND o.o_c_id=c.c_id WHERE c.c_w_id={w} AND \
             c.c_delivery_cnt<>COALESCE(o.n,0)";
    }
    X6 "2.4.2.2" "the order numbers of a district are 1, 2, 3 and so on" {
        ["w_id", "d_id", "orders", "min(o_id)", "max(o_id)"]
            "SELECT o_w_id, o_d_id, COUNT(*) AS n, MIN(o_id) AS low, MAX(o_id) AS high FROM orders \
             WHERE o_w_id={w} GROUP BY o_w_id, o_d_id HAVING COUNT(*)<>MAX(o_id) OR MIN(o_id)<>1";
    }
};
