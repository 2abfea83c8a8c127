//! Clause 3.5: what was acknowledged is there after the server has been killed.
//!
//! A [`Witness`] keeps what the connections are told, as the success file of clause 3.5.4 does;
//! whoever kills the server lets some run [`order_until_lost`] and asks [`what_survived`] when it
//! is back.

use super::finding::{AcidError, AcidResult, Phenomenon, Seen};
use crate::InputSource;
use crate::transactions::{PreparedSession, StatementSet, TransactionError};
use crate::witness::Witness;
use base::{Connect, Session};
use drive::{FailureKind, failed_by};
use spec::{Isolation, Style};

/// Runs transactions of all types, one after the other, until the connection is lost.
///
/// # Errors
/// Where the server refuses a transaction otherwise than to let another one through.
pub async fn order_until_lost<C: Connect>(
    connect: &C,
    (mut source, isolation): (InputSource, Isolation),
    witness: &Witness,
) -> AcidResult<()> {
    let session = connect.connect_or(AcidError::Connect).await?;
    let statements = StatementSet::Clauses { style: Style::Statements, isolation };
    let mut terminal = PreparedSession::open(session, statements).await?;
    while !witness.is_full() {
        let input = source.next_input();
        match terminal.run(&input).await {
            Ok(outcome) => witness.acknowledged(&input, outcome),
            Err(TransactionError::InDoubt(_)) => {
                witness.in_doubt(&input);
                return Ok(());
            }
            Err(TransactionError::Statement(error)) => match failed_by(&error).kind {
                FailureKind::Lost { .. } => return Ok(()),
                FailureKind::Fatal => return Err(error.into()),
                _ => {}
            },
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Holds what was acknowledged against the database.
///
/// # Errors
/// Where the server refuses.
pub async fn what_survived<S: Session>(session: &mut S, witness: &Witness) -> AcidResult<Seen> {
    let report = witness.compare_with(session).await?;
    let mut seen = Seen::default();
    for rows in &report.rows {
        seen.saw(format!(
            "{}: {} rows were acknowledged, {} had no answer to their COMMIT, {} are lost, {} are \
             nobody's",
            rows.name.replace('_', " "),
            rows.acknowledged,
            rows.in_doubt,
            rows.lost,
            rows.unexplained
        ));
    }
    seen.forbid(report.rows.iter().any(|rows| rows.lost > 0), Phenomenon::LostCommit);
    seen.forbid(report.rows.iter().any(|rows| rows.unexplained > 0), Phenomenon::Part);
    Ok(seen)
}
