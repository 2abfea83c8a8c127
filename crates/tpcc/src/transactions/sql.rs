//! SQL that several styles send, and how all of them prepare theirs.

use crate::schema::DISTRICTS;
use base::{Session, SessionResult, StatementId};

/// `Statements`: a prepared statement for each name, from SQL text. The names are in results: their
/// first word is the verb of the SQL, or `lock` where a SELECT locks.
macro_rules! statements {
    ($($field:ident: $sql:expr,)*) => {
        /// Prepared statements of one session, by what they do.
        pub(crate) struct Statements {
            $(pub(crate) $field: base::StatementId,)*
        }

        impl Statements {
            /// How many there are.
            pub(super) const COUNT: u32 = [$(stringify!($field)),*].len() as u32;

            /// Prepares all of them on `session`.
            pub(super) async fn prepare<S: base::Session>(
                session: &mut S,
            ) -> Result<Statements, base::SessionError> {
                Ok(Statements {
                    $($field: session
                        .prepare_kind(stringify!($field), AsRef::<str>::as_ref(&$sql))
                        .await?,)*
                })
            }
        }
    };
}
pub(crate) use statements;

/// A statement for each district, from the first.
pub(crate) type DistrictStatements = [StatementId; DISTRICTS as usize];

/// Prepares N statements of one kind that differ by a number from 1.
pub(crate) async fn prepare_all<S: Session, const N: usize>(
    session: &mut S,
    kind: &'static str,
    sql: impl Fn(usize) -> String,
) -> SessionResult<[StatementId; N]> {
    let mut ids = [StatementId(0); N];
    for (id, number) in ids.iter_mut().zip(1..) {
        *id = session.prepare_kind(kind, &sql(number)).await?;
    }
    Ok(ids)
}

pub(super) const UPDATE_STOCK: &str = "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, \
    s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?";
pub(super) const PAY_WAREHOUSE: &str = "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?";
pub(super) const PAY_DISTRICT: &str =
    "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?";
pub(super) const CUSTOMERS_BY_NAME: &str =
    "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first";
pub(super) const PAY_CUSTOMER: &str = "UPDATE customer SET c_balance = c_balance - ?, \
    c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND \
    c_d_id = ? AND c_id = ?";
pub(super) const PAY_BAD_CREDIT: &str = "UPDATE customer SET c_balance = c_balance - ?, \
    c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id \
    = ? AND c_d_id = ? AND c_id = ?";
pub(super) const INSERT_HISTORY: &str = "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, \
    h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
pub(super) const STATUS_BY_NAME: &str = "SELECT c_id, c_balance, c_first, c_middle, c_last FROM \
    customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first";
pub(super) const STATUS_BY_NUMBER: &str = "SELECT c_id, c_balance, c_first, c_middle, c_last FROM \
    customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
pub(crate) const LAST_ORDER: &str = "SELECT o_id, o_entry_d, o_carrier_id FROM orders \
    WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1";
pub(crate) const OLDEST_OPEN_ORDER: &str = "SELECT no_o_id FROM new_orders WHERE no_w_id = ? AND \
    no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE";
pub(super) const LINE_COLUMNS: &str = "ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
    ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info";

/// Stock, of which rows are found by their key. Named wherever a statement takes several rows: the
/// statistics of an index come from some of its pages, and may make 8,000 warehouses of ten.
/// MariaDB's optimizer then reads a whole warehouse's stock, which it takes for 60 rows.
pub(super) const STOCK_BY_KEY: &str = "stock FORCE INDEX (PRIMARY)";

/// The locking read of stock for an order of `district`: quantity, district information, data. Only
/// the district's own s_dist_xx is read (clause 2.4.2.2), so there is a statement for each
/// district.
pub(super) fn stock(district: usize, more_columns: &str, items: &str) -> String {
    format!(
        "SELECT s_quantity, s_dist_{district:02}, s_data{more_columns} FROM {STOCK_BY_KEY} \
         WHERE s_w_id = ? AND s_i_id {items} FOR UPDATE"
    )
}

/// Inserts so many lines.
pub(super) fn insert_lines(lines: usize) -> String {
    let values = vec!["(?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)"; lines].join(", ");
    format!("INSERT INTO order_line ({LINE_COLUMNS}) VALUES {values}")
}
