//! One statement for each thing that is done: styles `statements` and `pipelined`.

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod statements;
mod stock_level;

use crate::prepared::DistrictStatements;
use crate::schema::DISTRICTS;
use crate::transactions::sql;
use base::{Session, SessionResult};
use statements::Statements;

pub(super) struct Single {
    pub(super) statements: Statements,
    /// The locking read of a stock row: warehouse, item.
    pub(super) stock: DistrictStatements,
    /// Text under construction: h_data, c_data.
    pub(super) text: Vec<u8>,
}

impl Single {
    pub(super) const PREPARED: u32 = Statements::COUNT + DISTRICTS;

    pub(super) async fn prepare<S: Session>(session: &mut S) -> SessionResult<Single> {
        Ok(Single {
            statements: Statements::prepare(session).await?,
            stock: DistrictStatements::prepare(session, "lock_stock", |d| sql::stock(d, "", "= ?"))
                .await?,
            text: Vec::with_capacity(1_024),
        })
    }
}
