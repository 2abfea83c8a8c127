//! Workload `tpcc-mysql`: the statement sequence of Percona's tpcc-mysql (commit 1ec1c5e), for
//! numbers that compare with published ones.
//!
//! Number, kind and order of statements are that tool's, one prepared statement per round trip, and
//! so is the session: autocommit off, the server's isolation level (unless one is named) and SQL
//! mode. What it does otherwise than the clauses of TPC-C is kept where it is the load, and fixed
//! where it makes a run unrepeatable or a database inconsistent beyond what is said here:
//! [`DEVIATIONS`] decides one by one.

mod delivery;
mod deviations;
mod new_order;
mod order_status;
mod payment;
mod statements;
mod stock_level;

pub use deviations::{DEVIATIONS, Decision, Deviation, FAILING_CHECKS};

use base::{Session, SessionResult};
use statements::Statements;

/// Prepared statements that each terminal holds: what `max_prepared_stmt_count` must leave room
/// for.
pub const PREPARED_STATEMENTS: u32 = Statements::COUNT;

/// How far the Delivery of the present input has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeliveryProgress {
    /// Districts that are done: delivered or without an open order.
    done: u32,
    skipped: u32,
    /// Districts without an open order whose locking read has not been ended by a COMMIT.
    open: bool,
}

/// What its transactions need beside the session.
pub(super) struct TpccMysql {
    statements: Statements,
    pub(super) progress: DeliveryProgress,
    /// Text under construction: h_data, c_data, ol_dist_info.
    text: Vec<u8>,
    /// Items of a Stock-Level.
    items: Vec<i64>,
}

impl TpccMysql {
    pub(super) async fn prepare<S: Session>(session: &mut S) -> SessionResult<TpccMysql> {
        Ok(TpccMysql {
            statements: Statements::prepare(session).await?,
            progress: DeliveryProgress::default(),
            text: Vec::with_capacity(1_024),
            items: Vec::with_capacity(300),
        })
    }

    /// What is run next is a fresh input, and no new try of the last one.
    pub(super) fn begin(&mut self) {
        self.progress = DeliveryProgress::default();
    }
}

#[cfg(test)]
mod tests;
