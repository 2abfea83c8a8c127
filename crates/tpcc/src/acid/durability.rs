//! Clause 3.5: what was acknowledged is there after the server has been killed.
//!
//! The orders are kept by who received the answers, as the success file of clause 3.5.4 is; whoever
//! kills the server lets some connections run [`order_until_lost`] and asks [`find_orders`] when it
//! is back.

use super::{AcidError, Phenomenon, Seen};
use crate::transactions::{Outcome, PreparedSession, TransactionError};
use crate::{Input, InputSource};
use base::limits::OFFENDING_ROWS_MAX;
use base::{Connect, DateTime, Param, Session};
use drive::{FailureKind, failed_by};
use spec::{Isolation, Style};
use std::cell::RefCell;

/// More are not kept, and the load ends: some hundred MB.
const ORDERS_MAX: usize = 4_000_000;

/// An order as its answer names it.
#[derive(Clone, Copy)]
struct AcknowledgedOrder {
    warehouse: u32,
    district: u32,
    order: u32,
    customer: u32,
    entered: DateTime,
}

/// The orders whose commit was acknowledged.
#[derive(Default)]
pub struct OrderLedger {
    acknowledged: Vec<AcknowledgedOrder>,
    /// Orders whose COMMIT had no answer.
    in_doubt: u32,
}

impl OrderLedger {
    /// How many were acknowledged.
    pub fn len(&self) -> usize {
        self.acknowledged.len()
    }

    /// Was none acknowledged?
    pub fn is_empty(&self) -> bool {
        self.acknowledged.is_empty()
    }
}

/// Runs transactions of all types, one after the other, until the connection is lost, and keeps the
/// orders that are acknowledged.
///
/// # Errors
/// Where the server refuses a transaction otherwise than to let another one through.
pub async fn order_until_lost<C: Connect>(
    connect: &C,
    (mut source, isolation): (InputSource, Isolation),
    ledger: &RefCell<OrderLedger>,
) -> Result<(), AcidError> {
    let session = connect.connect().await;
    let session = session.map_err(|error| AcidError::Connect(error.to_string()))?;
    let mut terminal = PreparedSession::open(session, Style::Statements, isolation).await?;
    while ledger.borrow().len() < ORDERS_MAX {
        let input = source.next_input();
        match (terminal.run(&input).await, input) {
            (Ok(Outcome::Ordered(order)), Input::NewOrder(asked)) => {
                ledger.borrow_mut().acknowledged.push(AcknowledgedOrder {
                    warehouse: asked.warehouse,
                    district: asked.district,
                    order,
                    customer: asked.customer,
                    entered: asked.entered,
                });
            }
            (Ok(_), _) => {}
            (Err(TransactionError::InDoubt(_)), input) => {
                ledger.borrow_mut().in_doubt += u32::from(matches!(input, Input::NewOrder(_)));
                return Ok(());
            }
            (Err(TransactionError::Statement(error)), _) => match failed_by(&error).kind {
                FailureKind::Lost { .. } => return Ok(()),
                FailureKind::Fatal => return Err(error.into()),
                _ => {}
            },
            (Err(error), _) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Looks for the acknowledged orders in the database, of which the sum of d_next_o_id was `before`
/// the load.
///
/// # Errors
/// Where the server refuses.
pub async fn find_orders<S: Session>(
    session: &mut S,
    ledger: &OrderLedger,
    before: i64,
) -> Result<Seen, AcidError> {
    let mut seen = Seen::default();
    let sql = "SELECT o_c_id, o_entry_d FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? \
               AND o_c_id = ? AND o_entry_d = ?";
    let statement = session.prepare(sql).await?;
    let mut missing = Vec::new();
    for order in &ledger.acknowledged {
        let AcknowledgedOrder { warehouse, district, order: id, customer, entered } = *order;
        let [w, d, o, c] = [warehouse, district, id, customer].map(Param::from);
        let answer = session.execute(statement, &[w, d, o, c, Param::Time(entered)]).await?;
        if answer.is_empty() {
            missing.push(format!("w_id {warehouse}, d_id {district}, o_id {id}"));
        }
    }
    let after = crate::database::sums(session).await?.next_orders;
    let (known, in_doubt) = (ledger.len() as i64, i64::from(ledger.in_doubt));
    seen.saw(format!(
        "{known} orders were acknowledged, and {in_doubt} had no answer to their COMMIT; \
         sum(d_next_o_id) rose by {}",
        after - before
    ));
    let lost = missing.len();
    missing.truncate(OFFENDING_ROWS_MAX);
    seen.saw(match lost {
        0 => "every acknowledged order is there".to_owned(),
        _ => format!("{lost} of them are not there: {}", missing.join("; ")),
    });
    seen.forbid(lost > 0 || after - before < known, Phenomenon::LostCommit);
    seen.forbid(after - before > known + in_doubt, Phenomenon::Part);
    Ok(seen)
}
