//! Proves a database consistent: runs the checks of `list`, each of them in one consistent
//! snapshot, so also under load. Of a database that is divided over shards each has a snapshot of
//! its own: there nobody may change it meanwhile.

mod across;
mod list;
mod population;
mod screens;

pub use list::{CHECKS, Check, Statement};
pub use population::{INITIAL, LASTING};

use crate::probe;
use crate::shards::ShardSession;
use across::{BALANCES, Comparison, Offending, PAYMENTS, STOCK};
use base::limits::OFFENDING_ROWS_MAX;
use base::{Row, Session, SessionError, SessionResult, WarehouseRange, Warehouses};
use list::Scan;
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::iter;
use std::rc::Rc;
use std::time::{Duration, Instant};
use store::StoredCheck;

/// Which checks are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckSet {
    /// Those that every committed state passes.
    Consistency,
    /// Those, and the rules of the population that a run leaves as they are; of a database that no
    /// run has changed also those that a run changes.
    Population,
}

impl CheckSet {
    /// The checks to ask of a database that is all as it was loaded, or is not.
    fn checks(self, as_loaded: bool) -> Vec<&'static Check> {
        let mut checks: Vec<&'static Check> = CHECKS.iter().collect();
        if self == CheckSet::Population {
            checks.extend(&LASTING);
            checks.extend(INITIAL.iter().filter(|_| as_loaded));
        }
        checks
    }
}

/// What the checks of a database are asked of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All of it.
    Whole,
    /// All of it, and the suspects of the checks that have a screen are known.
    Screened,
    /// One of its shards, for the checks whose rows are all there.
    Shard,
}

impl Scope {
    /// Is this check asked here?
    fn has(self, check: &Check) -> bool {
        match self {
            Scope::Whole | Scope::Screened => true,
            Scope::Shard => check.across.is_none(),
        }
    }

    /// Is this scan of use? Other checks than those that it spares have looked at all customers
    /// already, or a part of their history is elsewhere.
    fn scans(self, scan: Scan) -> bool {
        self == Scope::Whole || scan != Scan::Customers
    }
}

/// A check under way.
struct Running {
    check: &'static Check,
    found: Offending,
    duration: Duration,
    /// The only warehouses to look at; `None` is all.
    suspects: Option<Rc<BTreeSet<u32>>>,
}

impl Running {
    /// Looks for offending rows by one statement, in one warehouse where the statement is of one.
    async fn look<S: Session>(
        &mut self,
        session: &mut S,
        statement: &Statement,
        warehouse: u32,
    ) -> SessionResult<()> {
        let sql = statement.sql(warehouse);
        let limited = format!("{sql} LIMIT {}", OFFENDING_ROWS_MAX + 1);
        let answer = session.query(&limited).await?;
        // Each value behind its column's name.
        let example = |row: Row<'_>| {
            let values = statement.columns.iter().zip(row.texts());
            values.map(|(name, text)| format!("{name} {text}")).collect::<Vec<_>>().join(", ")
        };
        let examples: Vec<String> = answer.rows().map(example).collect();
        let found = answer.len();
        // Rows are counted only where there are more of them than examples: a consistent database
        // pays nothing.
        let rows = if found > OFFENDING_ROWS_MAX {
            let all = format!("SELECT COUNT(*) FROM ({sql}) AS offending");
            u64::try_from(probe::count(session, &all).await?).unwrap_or(0).max(found as u64)
        } else {
            found as u64
        };
        self.found.add(rows, examples);
        Ok(())
    }

    /// Runs the statements of one warehouse, except those that a scan has shown to find nothing.
    async fn run_warehouse<S: Session>(
        &mut self,
        session: &mut S,
        warehouse: u32,
        clean: Option<Scan>,
    ) -> SessionResult<()> {
        if let Some(suspects) = &self.suspects {
            let Some(nth) = suspects.iter().position(|&suspect| suspect == warehouse) else {
                return Ok(());
            };
            if nth >= OFFENDING_ROWS_MAX {
                self.found.rows += 1;
                return Ok(());
            }
        }
        let start = Instant::now();
        for statement in self.check.statements {
            let is_spared = statement.scan.is_some_and(|scan| Some(scan) <= clean);
            if !statement.is_per_warehouse() || is_spared {
                continue;
            }
            self.look(session, statement, warehouse).await?;
        }
        self.duration += start.elapsed();
        Ok(())
    }

    /// Runs the statements that look at all warehouses at once.
    async fn run_whole<S: Session>(&mut self, session: &mut S) -> SessionResult<()> {
        let start = Instant::now();
        for statement in self.check.statements.iter().filter(|s| !s.is_per_warehouse()) {
            self.look(session, statement, 0).await?;
        }
        self.duration += start.elapsed();
        Ok(())
    }

    fn of(check: &'static Check) -> Running {
        Running { check, found: Offending::default(), duration: Duration::ZERO, suspects: None }
    }

    /// The same check, which has found nothing yet.
    fn begin(&self) -> Running {
        Running { suspects: self.suspects.clone(), ..Running::of(self.check) }
    }

    /// Adds what was found elsewhere.
    fn add(&mut self, other: Running) {
        self.found.add(other.found.rows, other.found.examples);
        self.duration += other.duration;
    }

    /// Adds what was found on a shard, by its number from 1.
    fn add_of_shard(&mut self, mut other: Running, shard: usize) {
        for row in &mut other.found.examples {
            row.insert_str(0, &format!("shard {shard}, "));
        }
        self.add(other);
    }

    fn result(self) -> StoredCheck {
        StoredCheck {
            name: self.check.name.to_owned(),
            title: self.check.title.to_owned(),
            clause: self.check.clause.to_owned(),
            passed: self.found.rows == 0,
            offending_rows: self.found.rows,
            examples: self.found.examples,
            duration_ns: u64::try_from(self.duration.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

/// Runs the checks of a set on warehouses 1..=`warehouses`. Each session has a consistent read-only
/// snapshot, which ends with it, and takes the next warehouse when it is done with one; the first
/// looks at what is of no warehouse. `progress` hears of steps done and of all steps. The schema
/// must be the sessions' default one. Without foreign keys C10, X1 and X4 count each warehouse
/// beyond the first [`OFFENDING_ROWS_MAX`] offending ones as one row.
///
/// # Errors
/// The first error of a session; what was found until then is lost with it, as it proves nothing.
pub async fn run_checks<S: Session>(
    (first, others): (&mut S, &mut [S]),
    set: CheckSet,
    warehouses: Warehouses,
    progress: &mut dyn FnMut(u64, u64),
) -> SessionResult<Vec<StoredCheck>> {
    let screened = warehouses.0 > 1 && !screens::is_indexed(first).await?;
    for session in iter::once(&mut *first).chain(others.iter_mut()) {
        begin_snapshot(session).await?;
    }
    let step = stepping(1 + u64::from(warehouses.0) + if screened { 3 } else { 0 }, progress);
    let range = WarehouseRange::all(warehouses);
    let result = async {
        let checks = asked(&mut [ShardSession { session: &mut *first, range }], set).await?;
        let scope = if screened { Scope::Screened } else { Scope::Whole };
        run((&mut *first, &mut *others), range, &checks, scope, &step).await
    }
    .await;
    for session in iter::once(first).chain(others) {
        end_snapshot(session, &result).await?;
    }
    Ok(result?.into_iter().map(Running::result).collect())
}

/// Runs the checks of a set over the shards of a database, of which there is one at least and which
/// nobody may change meanwhile: those whose rows lie together on each shard, C10, X1 and X4 over
/// all of them. Of these three each warehouse beyond the first [`OFFENDING_ROWS_MAX`] offending
/// ones counts as one row. The schemas must be the sessions' default ones.
///
/// # Errors
/// As [`run_checks`].
pub async fn run_checks_of_shards<S: Session>(
    parts: &mut [ShardSession<'_, S>],
    set: CheckSet,
    progress: &mut dyn FnMut(u64, u64),
) -> SessionResult<Vec<StoredCheck>> {
    for part in parts.iter_mut() {
        begin_snapshot(part.session).await?;
    }
    let each = parts.iter().map(|part| 2 + u64::from(part.range.count()));
    let total = each.sum::<u64>() + 3;
    let step = stepping(total, progress);
    let result = run_in_snapshots(parts, set, &step).await;
    for part in parts {
        end_snapshot(part.session, &result).await?;
    }
    Ok(result?.into_iter().map(Running::result).collect())
}

/// Begins a snapshot that cannot write.
async fn begin_snapshot<S: Session>(session: &mut S) -> SessionResult<()> {
    // With autocommit off, a question before has opened a transaction, and the next statement needs
    // there to be none.
    session.query("COMMIT").await?;
    // Of the next transaction only: the session is left as it was.
    session.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
    session.query("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").await.map(drop)
}

async fn end_snapshot<S: Session, T>(
    session: &mut S,
    result: &SessionResult<T>,
) -> SessionResult<()> {
    match result {
        // After any other error the session is useless, and the server ends its transaction.
        Ok(_) | Err(SessionError::Server { .. }) => session.query("COMMIT").await.map(drop),
        Err(_) => Ok(()),
    }
}

/// Tells `progress` with each call of another step, of so many.
fn stepping(total: u64, progress: &mut dyn FnMut(u64, u64)) -> impl Fn() {
    let state = RefCell::new((0, progress));
    move || {
        let (done, progress) = &mut *state.borrow_mut();
        progress(*done, total);
        *done += 1;
    }
}

/// The checks of a set that are asked of a database, which may be divided over shards.
async fn asked<S: Session>(
    parts: &mut [ShardSession<'_, S>],
    set: CheckSet,
) -> SessionResult<Vec<&'static Check>> {
    let mut as_loaded = true;
    if set == CheckSet::Population {
        for part in parts {
            as_loaded &= population::is_as_loaded(part.session).await?;
        }
    }
    Ok(set.checks(as_loaded))
}

/// Runs checks in the snapshots of sessions that all see these warehouses.
async fn run<S: Session>(
    (first, others): (&mut S, &mut [S]),
    range: WarehouseRange,
    checks: &[&'static Check],
    scope: Scope,
    step: &impl Fn(),
) -> SessionResult<Vec<Running>> {
    step();
    let checks = checks.iter().filter(|check| scope.has(check));
    let mut running: Vec<Running> = checks.copied().map(Running::of).collect();
    if scope == Scope::Screened {
        let part = &mut [ShardSession { session: &mut *first, range }];
        screen(part, &mut running, step).await?;
    }
    for check in &mut running {
        check.run_whole(first).await?;
    }
    step();
    let left: RefCell<VecDeque<u32>> = RefCell::new(range.iter().collect());
    let by_session = iter::once(first).chain(others).map(|session| async {
        let found = next_warehouses(session, &left, scope, &running, step).await;
        if found.is_err() {
            left.borrow_mut().clear();
        }
        found
    });
    let mut found = Vec::new();
    for of_session in reactor::join_all(by_session).await {
        found.extend(of_session?);
    }
    // Examples are those of the first warehouses, whoever was first to look at them.
    found.sort_by_key(|(warehouse, _)| *warehouse);
    for (_, of_warehouse) in found {
        for (all, found) in running.iter_mut().zip(of_warehouse) {
            all.add(found);
        }
    }
    Ok(running)
}

/// Runs the checks on one warehouse of those that are left after the other. All checks of a
/// warehouse come before the next one: its pages are read from the device once.
async fn next_warehouses<S: Session>(
    session: &mut S,
    left: &RefCell<VecDeque<u32>>,
    scope: Scope,
    running: &[Running],
    step: &impl Fn(),
) -> SessionResult<Vec<(u32, Vec<Running>)>> {
    let mut all = Vec::new();
    let next = || left.borrow_mut().pop_front();
    while let Some(warehouse) = next() {
        let mut found: Vec<Running> = running.iter().map(Running::begin).collect();
        let clean = scan(session, warehouse, scope, &mut found).await?;
        for check in &mut found {
            check.run_warehouse(session, warehouse, clean).await?;
        }
        step();
        all.push((warehouse, found));
    }
    Ok(all)
}

async fn run_in_snapshots<S: Session>(
    parts: &mut [ShardSession<'_, S>],
    set: CheckSet,
    step: &impl Fn(),
) -> SessionResult<Vec<Running>> {
    let checks = asked(parts, set).await?;
    let mut running: Vec<Running> = checks.iter().copied().map(Running::of).collect();
    for (part, shard) in parts.iter_mut().zip(1..) {
        let session = &mut *part.session;
        for found in run((session, &mut []), part.range, &checks, Scope::Shard, step).await? {
            let mut all = running.iter_mut();
            if let Some(of_all) = all.find(|of_all| of_all.check.name == found.check.name) {
                of_all.add_of_shard(found, shard);
            }
        }
    }
    screen(parts, &mut running, step).await?;
    for check in &mut running {
        name_suspects(parts, check).await?;
    }
    Ok(running)
}

/// Names the rows of suspect warehouses, whose shards all have a part in them.
async fn name_suspects<S: Session>(
    parts: &mut [ShardSession<'_, S>],
    check: &mut Running,
) -> SessionResult<()> {
    let (Some(across), Some(suspects)) = (check.check.across, check.suspects.take()) else {
        return Ok(());
    };
    let start = Instant::now();
    for (nth, &warehouse) in suspects.iter().enumerate() {
        let home = parts.iter().position(|part| part.range.contains(warehouse));
        let found = match home {
            Some(home) if nth < OFFENDING_ROWS_MAX => {
                across.compare(parts, home, warehouse).await?
            }
            _ => Offending { rows: 1, examples: Vec::new() },
        };
        let of_shard = Running { found, ..Running::of(check.check) };
        check.add_of_shard(of_shard, home.map_or(0, |home| home + 1));
    }
    check.duration += start.elapsed();
    Ok(())
}

/// The widest scan that finds nothing in a warehouse. The time of each is shared equally by the
/// checks that it spares.
async fn scan<S: Session>(
    session: &mut S,
    warehouse: u32,
    scope: Scope,
    running: &mut [Running],
) -> SessionResult<Option<Scan>> {
    for scan in Scan::ALL.into_iter().filter(|scan| scope.scans(*scan)) {
        let start = Instant::now();
        let is_clean = session.query(&scan.sql(warehouse)).await?.is_empty();
        let is_spared = |statement: &Statement| statement.scan.is_some_and(|of| of <= scan);
        let shares = |running: &&mut Running| running.check.statements.iter().any(is_spared);
        let mut sharing: Vec<_> = running.iter_mut().filter(shares).collect();
        let share = start.elapsed() / u32::try_from(sharing.len().max(1)).unwrap_or(1);
        for running in &mut sharing {
            running.duration += share;
        }
        if is_clean {
            return Ok(Some(scan));
        }
    }
    Ok(None)
}

/// Finds the suspects of the three checks that have a screen.
async fn screen<S: Session>(
    parts: &mut [ShardSession<'_, S>],
    running: &mut [Running],
    step: &impl Fn(),
) -> SessionResult<()> {
    let mut start = Instant::now();
    let mut keep = |across: &'static Comparison, suspects: BTreeSet<u32>| {
        if let Some(check) = running.iter_mut().find(|of| of.check.across == Some(across)) {
            check.suspects = Some(Rc::new(suspects));
            check.duration += start.elapsed();
        }
        start = Instant::now();
        step();
    };
    keep(STOCK, screens::stock_suspects(parts).await?);
    let (suspects, paid) = screens::payment_suspects(parts).await?;
    keep(PAYMENTS, suspects);
    keep(BALANCES, screens::balance_suspects(parts, &paid).await?);
    Ok(())
}

#[cfg(test)]
mod tests;
