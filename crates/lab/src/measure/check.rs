//! The twelve conditions and six invariants, run and put into the store's words.

use crate::error::{LabResult, WhileDoing};
use crate::measure::prepared;
use crate::measure::workload::{AnyWorkload, Fitted, fit};
use crate::progress::{Job, Progress};
use crate::target::nodes;
use crate::target::sessions::{on_shards, until};
use crate::target::subject::Subject;
use base::limits::OFFENDING_ROWS_MAX;
use base::{Exit, Warehouses};
use drive::Schemas;
use spec::{Load, WorkloadKind};
use store::{RepeatId, Results, StoredCheck};
use tpcc::tpcc_mysql::FAILING_CHECKS;
use tpcc::{CheckSet, INITIAL, run_checks_of_shards};
use wire::Connector;

/// Runs the checks of a set, each in one snapshot of each schema, and adds the schemas up, or asks
/// what holds over all shards; `stop` ends them early.
///
/// # Errors
/// Where the server refuses or is gone, or the user interrupts.
pub(crate) fn check(
    subject: &Subject,
    databases: &Schemas<Connector>,
    (workload, set): (&AnyWorkload, CheckSet),
    job: &Job<'_>,
) -> LabResult<Vec<StoredCheck>> {
    if let Some(shards) = workload.shards() {
        let checked = on_shards(databases, shards, async |parts| {
            let progress = &mut |done, total| job.tell(Progress::Checks { done, total });
            run_checks_of_shards(parts, set, progress).await.doing("checking the shards")
        });
        return until(job.stop, checked);
    }
    let each = subject.word_for_database();
    let several = !databases.others().is_empty();
    let count = databases.iter().count() as u64;
    let mut all: Vec<StoredCheck> = Vec::new();
    for (number, connector) in databases.iter().enumerate() {
        let progress = &mut |done, total| {
            job.tell(Progress::Checks { done: number as u64 * total + done, total: count * total });
        };
        let mut found = until(job.stop, workload.checks(connector, set, progress))?;
        if several {
            // Schemas have a number in their names, from 0; servers count from 1, as everywhere
            // else.
            name_database(&mut found, each, number + usize::from(subject.instances() > 1));
        }
        add(&mut all, found);
    }
    Ok(all)
}

/// Puts the database's number before each example.
fn name_database(found: &mut [StoredCheck], each: &str, number: usize) {
    for example in found.iter_mut().flat_map(|check| &mut check.examples) {
        example.insert_str(0, &format!("{each} {number}, "));
    }
}

/// Adds what was found in another schema, of which more may have been asked.
fn add(all: &mut Vec<StoredCheck>, found: Vec<StoredCheck>) {
    for check in found {
        let Some(sum) = all.iter_mut().find(|sum| sum.name == check.name) else {
            all.push(check);
            continue;
        };
        sum.passed &= check.passed;
        sum.offending_rows += check.offending_rows;
        sum.duration_ns += check.duration_ns;
        let room = OFFENDING_ROWS_MAX.saturating_sub(sum.examples.len());
        sum.examples.extend(check.examples.into_iter().take(room));
    }
}

/// Names of the checks that failed: those that cannot hold where tpcc-mysql has driven the
/// database, and the others.
fn failed(checks: &[StoredCheck], driven_by_tpcc_mysql: bool) -> (Vec<String>, Vec<String>) {
    let names = checks.iter().filter(|check| !check.passed).map(|check| check.name.clone());
    names.partition(|name| driven_by_tpcc_mysql && FAILING_CHECKS.contains(&name.as_str()))
}

/// Names of the checks that failed and should not have; notes those that were expected to fail.
pub(crate) fn unexpected(
    checks: &[StoredCheck],
    driven_by_tpcc_mysql: bool,
    job: &Job<'_>,
) -> Vec<String> {
    let (expected, unexpected) = failed(checks, driven_by_tpcc_mysql);
    if !expected.is_empty() {
        job.note(&format!(
            "checks that do not hold: {}, which is expected where workload tpcc-mysql has run; the \
             others are the proof",
            expected.join(", ")
        ));
    }
    unexpected
}

/// What became of the checks of a database.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Of each schema.
    pub warehouses: Warehouses,
    pub checks: Vec<StoredCheck>,
    /// Names of those that failed and should not have.
    pub unexpected: Vec<String>,
}

/// What a reader should know where a part of the population's rules was not asked.
fn note_of_changed(checks: &[StoredCheck], set: CheckSet) -> Option<String> {
    let [first, .., last] = INITIAL.map(|check| check.name);
    let asked = checks.iter().any(|check| check.name == first);
    (set == CheckSet::Population && !asked).then(|| {
        format!(
            "{first} to {last} are not asked: transactions have changed the database since it was \
             loaded, and with it what these are about"
        )
    })
}

/// Runs the checks of a set on the databases of a subject, of whatever size they are; `stop` ends
/// it early.
///
/// # Errors
/// Where a schema holds no database, the server refuses or is gone, or the user interrupts.
pub fn check_subject(
    subject: &Subject,
    (workload, set): (&WorkloadKind, CheckSet),
    job: &Job<'_>,
) -> LabResult<Checked> {
    let databases = subject.databases()?;
    nodes::require_fit(subject)?;
    let load = Load { workload: workload.clone(), ..Load::of_seed(0) };
    let result = fit(&databases, &load, load.seed, None).and_then(|fitted| {
        job.notes(fitted.note_of_tables());
        let Fitted { workload, tpcc, .. } = fitted;
        let database = tpcc.map(|inspected| inspected.database);
        if let Some(shards) = workload.shards()
            && let Some(note) = prepared::resolve(&databases, shards, false)?
        {
            job.note(&note);
        }
        nodes::facts_of_all(&databases, &workload, nodes::PATIENCE_AFTER, job.stop)?;
        let checks = check(subject, &databases, (&workload, set), job)?;
        // One of ours has a mark; whoever names the workload of another's knows.
        let is_driven = database.as_ref().is_some_and(|of| {
            let is_of_another = of.c_load.is_none() && load.workload == WorkloadKind::TpccMysql;
            of.driven_by_tpcc_mysql || is_of_another
        });
        let unexpected = unexpected(&checks, is_driven, job);
        job.notes(note_of_changed(&checks, set));
        let warehouses = database.map_or(Warehouses(0), |of| of.warehouses);
        Ok(Checked { warehouses, checks, unexpected })
    });
    result.map_err(|error| subject.explain(error))
}

/// Stores the checks of a repeat, and before them that some failed which should not have: whoever
/// is killed in between has proven nothing. Returns Ok or CheckFailed.
///
/// # Errors
/// The results file cannot be written.
pub(crate) fn record(
    results: &Results,
    repeat: RepeatId,
    checks: &[StoredCheck],
    unexpected: &[String],
    subject: &Subject,
) -> LabResult<Exit> {
    if !unexpected.is_empty() {
        let reason = format!("checks failed: {}", unexpected.join(", "));
        results.fail_repeat(repeat, &subject.failure("check_failed", reason))?;
    }
    results.record_checks(repeat, checks)?;
    Ok(if unexpected.is_empty() { Exit::Ok } else { Exit::CheckFailed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(name: &'static str, rows: u64) -> StoredCheck {
        StoredCheck {
            name: name.to_owned(),
            passed: rows == 0,
            offending_rows: rows,
            examples: (0..rows).map(|row| format!("row {row}")).collect(),
            duration_ns: 1,
            ..StoredCheck::default()
        }
    }

    #[test]
    fn schemas_add_up() {
        let mut all = Vec::new();
        for number in 0..3 {
            let mut found = vec![result("C1", 0), result("X1", 4 * number)];
            name_database(&mut found, "schema", number as usize);
            add(&mut all, found);
        }
        assert!(all[0].passed && !all[1].passed);
        assert_eq!((all[1].offending_rows, all[1].duration_ns), (12, 3));
        assert_eq!(all[1].examples.len(), OFFENDING_ROWS_MAX);
        assert_eq!(all[1].examples[0], "schema 1, row 0");
    }

    #[test]
    fn only_what_tpcc_mysql_breaks_is_excused() {
        let check = |name: &str, passed| StoredCheck {
            name: name.to_owned(),
            passed,
            ..StoredCheck::default()
        };
        let checks = [check("C10", false), check("C12", false), check("X1", true)];
        assert_eq!(failed(&checks, true), (vec!["C12".into()], vec!["C10".into()]));
        assert_eq!(failed(&checks, false), (vec![], vec!["C10".into(), "C12".into()]));
    }
}
