//! The twelve conditions and six invariants, run and put into the store's words.

use crate::error::LabError;
use crate::progress::{OnProgress, Progress};
use crate::subject::{Subject, with_session, with_session_until};
use base::Warehouses;
use std::sync::atomic::AtomicBool;
use store::CheckResult;
use wire::Connector;

/// Runs all checks in one snapshot; `stop` ends them early.
///
/// # Errors
/// Where the server refuses or is gone, or the user interrupts.
pub(crate) fn check(
    connector: &Connector,
    warehouses: Warehouses,
    stop: &AtomicBool,
    on_progress: &mut OnProgress<'_>,
) -> Result<Vec<CheckResult>, LabError> {
    let found = with_session_until(connector, stop, async |session| {
        tpcc::checks::run_checks(session, warehouses.0, &mut |done, total| {
            on_progress(Progress::Checks { done, total });
        })
        .await
        .map_err(|error| LabError::Session {
            doing: "checking the database",
            error,
        })
    })?;
    Ok(found
        .into_iter()
        .map(|check| CheckResult {
            name: check.name.to_owned(),
            title: check.title.to_owned(),
            clause: check.clause.to_owned(),
            passed: check.passed,
            offending_rows: check.offending_rows,
            examples_json: serde_json::Value::from(check.examples).to_string(),
            duration_ns: check.duration_ns,
        })
        .collect())
}

/// Checks the database of a subject, of whatever size it is; `stop` ends it early.
///
/// # Errors
/// Where the schema holds no database, the server refuses or is gone, or the user interrupts.
pub fn check_subject(
    subject: &Subject,
    stop: &AtomicBool,
    on_progress: &mut OnProgress<'_>,
) -> Result<(Warehouses, Vec<CheckResult>), LabError> {
    let connector = subject.connector()?;
    let found = with_session(&connector, async |session| {
        Ok(tpcc::database::inspect(session, None).await?.warehouses)
    });
    let result = found.and_then(|warehouses| {
        Ok((
            warehouses,
            check(&connector, warehouses, stop, on_progress)?,
        ))
    });
    result.map_err(|error| subject.explain(error))
}
