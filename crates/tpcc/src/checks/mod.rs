//! Proves a database consistent: runs the checks of `list` in one consistent snapshot, so also
//! under load.

mod list;
mod screens;

pub use list::{CHECKS, Check, Statement};

use base::limits::OFFENDING_ROWS_MAX;
use base::{Answer, Session, SessionError};
use drive::CheckResult;
use list::Scan;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A check under way.
struct Running {
    check: &'static Check,
    offending_rows: u64,
    examples: Vec<String>,
    duration: Duration,
    /// The only warehouses to look at; `None` is all.
    suspects: Option<BTreeSet<u32>>,
}

impl Running {
    /// Looks for offending rows by one statement, in one warehouse where the statement is of one.
    async fn look<S: Session>(
        &mut self,
        session: &mut S,
        statement: &Statement,
        warehouse: u32,
    ) -> Result<(), SessionError> {
        let sql = statement.sql(warehouse);
        let limited = format!("{sql} LIMIT {}", OFFENDING_ROWS_MAX + 1);
        let answer = session.query(&limited).await?;
        let found = answer.len();
        for row in examples(&answer, statement) {
            if self.examples.len() < OFFENDING_ROWS_MAX {
                self.examples.push(row);
            }
        }
        // Rows are counted only where there are more of them than examples: a consistent database
        // pays nothing.
        self.offending_rows +=
            if found > OFFENDING_ROWS_MAX { count(session, &sql).await? } else { found as u64 };
        Ok(())
    }

    /// Runs the statements of one warehouse, except those that a scan has shown to find nothing.
    async fn run_warehouse<S: Session>(
        &mut self,
        session: &mut S,
        warehouse: u32,
        clean: &[Scan],
    ) -> Result<(), SessionError> {
        if let Some(suspects) = &self.suspects {
            let Some(nth) = suspects.iter().position(|&suspect| suspect == warehouse) else {
                return Ok(());
            };
            if nth >= OFFENDING_ROWS_MAX {
                self.offending_rows += 1;
                return Ok(());
            }
        }
        let start = Instant::now();
        for statement in self.check.statements {
            if !statement.is_per_warehouse() || statement.scan.is_some_and(|s| clean.contains(&s)) {
                continue;
            }
            self.look(session, statement, warehouse).await?;
        }
        self.duration += start.elapsed();
        Ok(())
    }

    /// Runs the statements that look at all warehouses at once.
    async fn run_whole<S: Session>(&mut self, session: &mut S) -> Result<(), SessionError> {
        let start = Instant::now();
        for statement in self.check.statements.iter().filter(|s| !s.is_per_warehouse()) {
            self.look(session, statement, 0).await?;
        }
        self.duration += start.elapsed();
        Ok(())
    }

    fn result(self) -> CheckResult {
        CheckResult {
            name: self.check.name.to_owned(),
            title: self.check.title.to_owned(),
            clause: self.check.clause.to_owned(),
            passed: self.offending_rows == 0,
            offending_rows: self.offending_rows,
            examples: self.examples,
            duration_ns: u64::try_from(self.duration.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

/// Rows as text, each value behind its column's name.
fn examples(answer: &Answer<'_>, statement: &Statement) -> Vec<String> {
    let of_row = |row: base::Row<'_>| {
        let values = statement.columns.iter().enumerate();
        let parts: Vec<_> = values.map(|(i, name)| format!("{name} {}", row.text(i))).collect();
        parts.join(", ")
    };
    answer.rows().map(of_row).collect()
}

async fn count<S: Session>(session: &mut S, sql: &str) -> Result<u64, SessionError> {
    let answer = session.query(&format!("SELECT COUNT(*) FROM ({sql}) AS offending")).await?;
    let row = answer.row(0).ok_or_else(|| SessionError::Unexpected("no count".to_owned()))?;
    Ok(u64::try_from(row.int(0)?).unwrap_or(0))
}

/// Runs all checks on warehouses 1..=`warehouses` in one consistent read-only snapshot, which ends
/// with it. `progress` hears of steps done and of all steps. The schema must be the session's
/// default one. Without foreign keys C10, X1 and X4 count each warehouse beyond the first
/// [`OFFENDING_ROWS_MAX`] offending ones as one row.
///
/// # Errors
/// The first error of the session; what was found until then is lost with it, as it proves nothing.
pub async fn run_checks<S: Session>(
    session: &mut S,
    warehouses: u32,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<CheckResult>, SessionError> {
    let screened = warehouses > 1 && !screens::is_indexed(session).await?;
    // With autocommit off, the question above has opened a transaction, and the next statement
    // needs there to be none.
    session.query("COMMIT").await?;
    // Of the next transaction only: the session is left as it was.
    session.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
    session.query("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").await?;
    let result = run_in_snapshot(session, warehouses, screened, progress).await;
    match &result {
        // After any other error the session is useless, and the server ends its transaction.
        Ok(_) | Err(SessionError::Server { .. }) => {
            session.query("COMMIT").await?;
        }
        Err(_) => {}
    }
    result
}

async fn run_in_snapshot<S: Session>(
    session: &mut S,
    warehouses: u32,
    screened: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<CheckResult>, SessionError> {
    let steps = 1 + u64::from(warehouses) + if screened { 3 } else { 0 };
    let mut done = 0;
    let mut step = |progress: &mut dyn FnMut(u64, u64)| {
        progress(done, steps);
        done += 1;
    };
    step(progress);
    let mut running: Vec<Running> = CHECKS
        .iter()
        .map(|check| Running {
            check,
            offending_rows: 0,
            examples: Vec::new(),
            duration: Duration::ZERO,
            suspects: None,
        })
        .collect();
    if screened {
        screen(session, warehouses, &mut running, &mut || step(progress)).await?;
    }
    for check in &mut running {
        check.run_whole(session).await?;
    }
    step(progress);
    // All checks of a warehouse before the next one: its pages are read from the device once.
    for warehouse in 1..=warehouses {
        let clean = scan(session, warehouse, screened, &mut running).await?;
        for check in &mut running {
            check.run_warehouse(session, warehouse, &clean).await?;
        }
        step(progress);
    }
    Ok(running.into_iter().map(Running::result).collect())
}

/// The scans that find nothing in a warehouse. Their time is shared equally by the checks that they
/// spare.
async fn scan<S: Session>(
    session: &mut S,
    warehouse: u32,
    screened: bool,
    running: &mut [Running],
) -> Result<Vec<Scan>, SessionError> {
    let mut clean = Vec::new();
    for scan in Scan::ALL {
        // Screened checks have looked at all customers already.
        if screened && scan == Scan::Customers {
            continue;
        }
        let start = Instant::now();
        if session.query(&scan.sql(warehouse)).await?.is_empty() {
            clean.push(scan);
        }
        let shares = |check: &Check| check.statements.iter().any(|s| s.scan == Some(scan));
        let sharing = running.iter().filter(|running| shares(running.check)).count().max(1);
        let share = start.elapsed() / u32::try_from(sharing).unwrap_or(1);
        for running in running.iter_mut().filter(|running| shares(running.check)) {
            running.duration += share;
        }
    }
    Ok(clean)
}

/// Finds the suspects of the three checks that have a screen.
async fn screen<S: Session>(
    session: &mut S,
    warehouses: u32,
    running: &mut [Running],
    step: &mut dyn FnMut(),
) -> Result<(), SessionError> {
    let mut start = Instant::now();
    let mut keep = |name: &str, suspects: BTreeSet<u32>| {
        if let Some(check) = running.iter_mut().find(|running| running.check.name == name) {
            check.suspects = Some(suspects);
            check.duration += start.elapsed();
        }
        start = Instant::now();
        step();
    };
    keep("X1", screens::stock_suspects(session, warehouses).await?);
    let (suspects, paid) = screens::payment_suspects(session, warehouses).await?;
    keep("X4", suspects);
    keep("C10", screens::balance_suspects(session, warehouses, &paid).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_reports() {
        let names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
        let wanted = (1..=12).map(|n| format!("C{n}")).chain((1..=6).map(|n| format!("X{n}")));
        assert!(wanted.eq(names));
    }

    #[test]
    fn each_statement_names_its_columns() {
        for check in &CHECKS {
            assert!((1..=2).contains(&check.statements.len()));
            for statement in check.statements {
                let sql = statement.sql(7);
                assert!(!sql.contains('{') && !sql.contains("  "), "{sql}");
                let select = sql.trim_start_matches("SELECT ").trim_start_matches("STRAIGHT_JOIN ");
                let list = select.split(" FROM ").next().unwrap();
                let mut depth = 0;
                let commas = list.chars().filter(|c| {
                    depth += i32::from(*c == '(') - i32::from(*c == ')');
                    *c == ',' && depth == 0
                });
                assert_eq!(commas.count() + 1, statement.columns.len(), "{}: {list}", check.name);
            }
        }
    }

    #[test]
    fn history_is_read_once_by_the_checks_of_payments_entered() {
        let whole: Vec<_> = CHECKS
            .iter()
            .filter(|check| check.statements.iter().any(|s| !s.is_per_warehouse()))
            .map(|check| check.name)
            .collect();
        assert_eq!(whole, ["C8", "C9"]);
    }
}
