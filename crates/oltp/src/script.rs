//! What a workload of statements is: types of transactions, each a list of statements with the
//! generators of their parameters.

use crate::generate::{DrawnValues, Generator};
use crate::sql::verb;
use base::{Param, Session, SessionResult, StatementId};
use drive::TransactionInfo;
use serde::Deserialize;
use std::collections::BTreeSet;

/// Most parameters of one statement.
pub(crate) const PARAMETERS_MAX: usize = 64;

/// A workload of statements.
#[derive(Debug)]
pub struct Script {
    /// The types, by the place of their transactions.
    pub(crate) types: &'static [TransactionInfo],
    pub(crate) transactions: Vec<ScriptTransaction>,
    /// What proves the database whole.
    pub(crate) checks: Vec<ScriptCheck>,
    /// What stays the same over a run: one number.
    pub(crate) constant: Option<Constant>,
}

/// BEGIN would begin a block of statements in MariaDB's `sql_mode=ORACLE`.
pub(crate) const START_TRANSACTION: &str = "START TRANSACTION";

/// A type of transactions. Where it has several statements, BEGIN stands before them, and COMMIT
/// behind them.
#[derive(Debug)]
pub(crate) struct ScriptTransaction {
    pub(crate) generators: Vec<Generator>,
    pub(crate) steps: Vec<ScriptStatement>,
}

/// A statement of a transaction.
#[derive(Debug)]
pub(crate) struct ScriptStatement {
    /// What it does, in results.
    pub(crate) kind: &'static str,
    /// The statement for each table of several.
    pub(crate) variants: Vec<String>,
    /// The value that picks one of them, from 0.
    pub(crate) picked_by: Option<usize>,
    /// Places of the parameters' values.
    pub(crate) parameters: Vec<usize>,
}

impl ScriptStatement {
    /// The variant for these values.
    pub(crate) fn variant(&self, values: &DrawnValues) -> usize {
        self.picked_by.map_or(0, |place| values.int(place) as usize)
    }
}

/// Executes a statement with the values of these places; what a CALL returns is read to its end.
pub(crate) async fn execute<S: Session>(
    session: &mut S,
    statement: StatementId,
    places: &[usize],
    values: &DrawnValues,
) -> SessionResult<()> {
    let mut params = [Param::Null; PARAMETERS_MAX];
    for (param, place) in params.iter_mut().zip(places) {
        *param = values.param(*place);
    }
    let mut more = session.execute(statement, &params[..places.len()]).await?.more;
    // A CALL answers with each of its results.
    while more {
        more = session.answer().await?.more;
    }
    Ok(())
}

/// SQL whose rows offend, also as files have it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename = "CheckTable")]
pub(crate) struct ScriptCheck {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) title: String,
    pub(crate) sql: String,
}

/// Numbers that transactions leave as they are.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub(crate) what: &'static str,
    pub(crate) sql: Vec<String>,
}

impl Script {
    /// Does a statement call a procedure?
    pub fn has_calls(&self) -> bool {
        let mut steps = self.transactions.iter().flat_map(|of| &of.steps);
        steps.any(|step| step.variants.iter().any(|sql| verb(sql) == "call"))
    }

    /// Different statements, all of which each connection holds prepared.
    pub fn prepared_statements(&self) -> u32 {
        let steps = self.transactions.iter().flat_map(|of| &of.steps);
        let all: BTreeSet<&String> = steps.flat_map(|step| &step.variants).collect();
        all.len() as u32
    }
}
