//! As few statements as possible, each on a set of rows: style `batched`.

mod delivery;
mod new_order;
mod payment;
mod reads;
mod statements;

use crate::input::LINES_MAX;
use crate::prepared::{DistrictStatements, prepare_all};
use crate::schema::DISTRICTS;
use crate::transactions::sql;
use base::{Session, SessionResult, StatementId};
use statements::{Statements, marks};

/// Fewest lines that an order writes: five, one of them unused.
const LINES_MIN: usize = 4;
const INSERTS: usize = LINES_MAX - LINES_MIN + 1;

pub(super) struct Sets {
    statements: Statements,
    /// The locking read of one stock row: warehouse, item.
    stock: DistrictStatements,
    /// The same for all lines of one warehouse: warehouse, items.
    stocks: DistrictStatements,
    /// Inserts so many lines more than `LINES_MIN`.
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
            stock: DistrictStatements::prepare(session, "lock_stock", |d| sql::stock(d, "", "= ?"))
                .await?,
            stocks: DistrictStatements::prepare(session, "lock_stocks", |d| {
                sql::stock(d, ", s_i_id", &items)
            })
            .await?,
            insert_lines: prepare_all(session, "insert_order_lines", |n| {
                sql::insert_lines(n + LINES_MIN)
            })
            .await?,
            text: Vec::with_capacity(1_024),
        })
    }
}
