//! Filling a database: chunks in parallel, each in one transaction with its mark, then indexes,
//! then foreign keys.
//!
//! A table is loaded by one stream at a time as long as there are other tables to work on: rows
//! arrive in primary-key order and streams do not meet in one index. Indexes of a table are built
//! as soon as its rows are complete, while other tables still load.

mod error;
mod plan;
mod state;

use crate::database::{self, LoadState, TableSums, loaded_chunks};
use crate::schema::{self, Table};
use crate::{Chunk, ChunkSummary, Population, population};
use base::{Connect, RowSource, Session, SessionError, SessionResult, lock};
use drive::{LoadProgress, LoadReport, LoadedTable, Merge, process_cpu_ns};
pub use error::LoadError;
pub use plan::LoadPart;
use plan::{LoadPlan, Task};
use spec::PopulationSpec;
pub use state::drop_database;
use state::{PreparedSchema, prepare, require_alone};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What to load.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    pub population: PopulationSpec,
    /// Connections that load at the same time.
    pub threads: u32,
    /// Give HISTORY a primary key also where the server does not demand one.
    pub history_key: bool,
    /// Drop what mydyno loaded here before; load beside other tables.
    pub force: bool,
}

impl LoadOptions {
    /// What is loaded.
    pub fn population(&self) -> Population {
        let PopulationSpec { seed, warehouses, shard, .. } = self.population;
        Population::new(seed, warehouses).of_shard(shard)
    }
}

/// What a load did.
#[derive(Clone, Debug)]
pub struct PopulateReport {
    pub load: LoadReport,
    /// HISTORY has a primary key.
    pub history_key: bool,
    /// Why no lock kept another load out of the schema, where the server has no locks.
    pub unlocked: Option<String>,
    /// Chunks that an earlier, killed load had left complete.
    pub chunks_found: usize,
}

/// Other processes that load parts of the same database.
pub struct LoadHelpers<'a> {
    /// What is left to this process, which also builds the indexes.
    pub own: LoadPart,
    /// The tables are there: they may begin.
    pub begin: &'a mut dyn FnMut() -> Result<(), LoadError>,
    /// Waits until all of them are done.
    pub finish: &'a mut dyn FnMut() -> Result<(), LoadError>,
}

/// Loads a TPC-C database into the schema that `connect` names, which must exist, together with
/// `helpers`, where there are any. `stop` ends it early.
///
/// # Errors
/// Any [`LoadError`]. What was loaded until then stays, and the same call continues it.
pub fn load<C: Connect + Sync>(
    connect: &C,
    options: &LoadOptions,
    helpers: Option<LoadHelpers<'_>>,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<PopulateReport, LoadError> {
    let mut keeper = block_on(connect.connect_or(LoadError::Connect))?;
    let loaded = load_locked((connect, &mut keeper), options, helpers, stop, on_progress);
    block_on(async {
        // A proxy may keep the connection, and with it the lock. Where it is gone, so is the lock.
        let _ = state::release_lock(&mut keeper).await;
        C::close(keeper).await;
        Ok(())
    })?;
    loaded
}

/// The same with the session that holds the lock.
fn load_locked<C: Connect + Sync>(
    (connect, keeper): (&C, &mut C::Session),
    options: &LoadOptions,
    helpers: Option<LoadHelpers<'_>>,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<PopulateReport, LoadError> {
    let started = Instant::now();
    let cpu_before = process_cpu_ns();
    let prepared = block_on(prepare(keeper, options))?;
    let PreparedSchema { existing, is_local_infile, history_key, unlocked } = prepared;
    let is_local_infile = &AtomicBool::new(is_local_infile);
    let mut found = existing.unwrap_or_default();
    let chunks_found = found.chunks.len();
    let population = options.population();
    let mut bytes = 0;
    if let Some(helpers) = helpers {
        (helpers.begin)()?;
        let plan = LoadPlan::of_part(&population, helpers.own, &found.chunks);
        (_, bytes) = load_all(connect, options, (plan, is_local_infile), stop, on_progress)?;
        (helpers.finish)()?;
        found = block_on(async { Ok(loaded_chunks(keeper).await?) })?;
    }
    let plan = LoadPlan::new(&population, options.population.foreign_keys, &found.chunks);
    let (fresh, fresh_bytes) =
        load_all(connect, options, (plan, is_local_infile), stop, on_progress)?;
    Merge::merge(&mut found.sums, &fresh);
    block_on(finish(keeper, options, unlocked.is_some()))?;
    let table = |(table, sum): (Table, ChunkSummary)| {
        let name = table.name().to_owned();
        LoadedTable { name, rows: sum.rows, checksum: sum.checksum }
    };
    let load = LoadReport {
        is_local_infile: is_local_infile.load(Ordering::Relaxed),
        tables: found.sums.into_iter().map(table).collect(),
        bytes: bytes + fresh_bytes,
        duration: started.elapsed(),
        client_cpu_ns: process_cpu_ns().saturating_sub(cpu_before),
    };
    Ok(PopulateReport { load, history_key, unlocked, chunks_found })
}

/// Loads the rows of a part, while another process prepares the tables and finishes them.
///
/// # Errors
/// Any [`LoadError`]. What was loaded until then stays.
pub fn load_part<C: Connect + Sync>(
    connect: &C,
    options: &LoadOptions,
    part: LoadPart,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<(), LoadError> {
    let (found, is_local_infile) = block_on(async {
        let mut session = connect.connect_or(LoadError::Connect).await?;
        let found = loaded_chunks(&mut session).await?;
        let is_local = state::allows_local_infile(&mut session).await?;
        C::close(session).await;
        Ok((found, is_local))
    })?;
    let plan = LoadPlan::of_part(&options.population(), part, &found.chunks);
    let is_local_infile = &AtomicBool::new(is_local_infile);
    load_all(connect, options, (plan, is_local_infile), stop, on_progress).map(drop)
}

fn block_on<T>(future: impl Future<Output = Result<T, LoadError>>) -> Result<T, LoadError> {
    reactor::block_on(future)?
}

fn failed(what: impl Into<String>) -> impl FnOnce(SessionError) -> LoadError {
    let what = what.into();
    move |error| LoadError::Server { what, error }
}

/// Runs the loading threads; this one reports their progress. Returns what they loaded and how many
/// bytes that were.
fn load_all<C: Connect + Sync>(
    connect: &C,
    options: &LoadOptions,
    (plan, is_local_infile): (LoadPlan, &AtomicBool),
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<(TableSums, u64), LoadError> {
    let shared = &SharedLoad {
        plan: Mutex::new(plan),
        changed: Condvar::new(),
        bytes: AtomicU64::new(0),
        stop,
        population: options.population(),
        is_local_infile,
    };
    let work = || work(connect, shared);
    // One thread's failure interrupts the others: their interruption is not the cause.
    let is_stop = |error: &LoadError| matches!(error, LoadError::Interrupted);
    let loaded = reactor::on_threads(options.threads, work, is_stop, || {
        let waited = shared.changed.wait_timeout(shared.plan(), Duration::from_millis(100));
        let guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        let progress = LoadProgress {
            bytes: guard.found_bytes + shared.bytes.load(Ordering::Relaxed),
            bytes_total: shared.population.bytes_estimate(),
            steps: guard.steps_done,
            steps_total: guard.steps_total,
        };
        drop(guard);
        on_progress(progress);
    })?;
    let mut sums = TableSums::default();
    loaded.iter().for_each(|of_thread| Merge::merge(&mut sums, of_thread));
    Ok((sums, shared.bytes.load(Ordering::Relaxed)))
}

struct SharedLoad<'a> {
    plan: Mutex<LoadPlan>,
    changed: Condvar,
    bytes: AtomicU64,
    stop: &'a AtomicBool,
    population: Population,
    /// Rows go by LOAD DATA LOCAL, else by multi-row INSERTs.
    is_local_infile: &'a AtomicBool,
}

impl SharedLoad<'_> {
    fn plan(&self) -> MutexGuard<'_, LoadPlan> {
        // A plan is changed in steps that cannot fail halfway.
        lock(&self.plan)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits for something to do; `None` where all is done or the load has failed.
    fn next_task(&self) -> Option<Task> {
        let mut plan = self.plan();
        loop {
            if plan.failed || self.stopped() {
                return None;
            }
            let task = plan.next();
            if task.is_some() || plan.is_over() {
                return task;
            }
            let waited = self.changed.wait_timeout(plan, Duration::from_millis(200));
            plan = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn change(&self, change: impl FnOnce(&mut LoadPlan)) {
        change(&mut self.plan());
        self.changed.notify_all();
    }
}

async fn work<C: Connect>(connect: &C, shared: &SharedLoad<'_>) -> Result<TableSums, LoadError> {
    // Dropped on any way out but success, a panic included: the others must not wait for this
    // thread's chunk.
    let guard = FailureGuard(shared);
    let sums = do_tasks(connect, shared).await?;
    std::mem::forget(guard);
    Ok(sums)
}

struct FailureGuard<'a>(&'a SharedLoad<'a>);

impl Drop for FailureGuard<'_> {
    fn drop(&mut self) {
        self.0.change(|plan| plan.failed = true);
    }
}

/// The server's error of an index that is there already.
const DUPLICATE_KEY_NAME: u16 = 1061;

async fn do_tasks<C: Connect>(
    connect: &C,
    shared: &SharedLoad<'_>,
) -> Result<TableSums, LoadError> {
    let mut session = connect.connect_or(LoadError::Connect).await?;
    let set = "SET unique_checks = 0, foreign_key_checks = 0, autocommit = 0";
    session.query(set).await.map_err(failed("preparing a session"))?;
    let mut sums = TableSums::default();
    while let Some(task) = shared.next_task() {
        match task {
            Task::Chunk(chunk) => {
                let summary = load_chunk(&mut session, shared, chunk).await?;
                sums.entry(chunk.table).or_default().merge(&summary);
                shared.change(|plan| plan.chunk_done(chunk));
            }
            Task::Indexes(table, sql) => {
                match session.query(&sql).await {
                    // A killed load has built them.
                    Err(error) if error.code() == Some(DUPLICATE_KEY_NAME) => {}
                    built => {
                        built.map_err(failed(format!("building the indexes of {table}")))?;
                    }
                }
                shared.change(|plan| plan.steps_done += 1);
            }
        }
    }
    C::close(session).await;
    if shared.stopped() { Err(LoadError::Interrupted) } else { Ok(sums) }
}

/// Tries of a chunk that meets locks: those of a killed load's transaction that the server still
/// rolls back.
const CHUNK_TRIES: u32 = 3;

/// Loads a chunk and its mark in one transaction.
async fn load_chunk<S: Session>(
    session: &mut S,
    shared: &SharedLoad<'_>,
    chunk: Chunk,
) -> Result<ChunkSummary, LoadError> {
    let mut tries = 1;
    loop {
        match try_chunk(session, shared, chunk).await {
            Ok(loaded) => return loaded,
            Err(error)
                if tries < CHUNK_TRIES
                    && (error.is_deadlock() || error.is_lock_wait_timeout())
                    && session.query("ROLLBACK").await.is_ok() =>
            {
                tries += 1;
            }
            Err(error) => {
                let Chunk { table, warehouse } = chunk;
                return Err(failed(format!("loading {table} of warehouse {warehouse}"))(error));
            }
        }
    }
}

/// The outer error is the server's, after which another try may succeed.
async fn try_chunk<S: Session>(
    session: &mut S,
    shared: &SharedLoad<'_>,
    chunk: Chunk,
) -> SessionResult<Result<ChunkSummary, LoadError>> {
    let sent = match shared.is_local_infile.load(Ordering::Relaxed) {
        true => load_local(session, shared, chunk).await,
        false => insert(session, shared, chunk).await,
    };
    let (stored, summary) = match sent {
        Err(error) if error.is_file_refused() => {
            shared.is_local_infile.store(false, Ordering::Relaxed);
            insert(session, shared, chunk).await?
        }
        sent => sent?,
    };
    let Some(summary) = summary else {
        session.query("ROLLBACK").await?;
        return Ok(Err(LoadError::Interrupted));
    };
    if stored != summary.rows {
        let answer = session.query("SHOW WARNINGS LIMIT 1").await?;
        let warning = answer.row(0).map_or_else(|| "no warning".to_owned(), |row| row.text(2));
        session.query("ROLLBACK").await?;
        return Ok(Err(LoadError::RowsMissing {
            warning,
            chunk_table: chunk.table,
            warehouse: chunk.warehouse,
            sent: summary.rows,
            stored,
        }));
    }
    database::mark_chunk(session, chunk, summary).await?;
    session.query("COMMIT").await?;
    Ok(Ok(summary))
}

/// The rows of a chunk, counted as they go and cut off by a stop.
struct Counted<'a> {
    rows: population::Rows,
    shared: &'a SharedLoad<'a>,
}

impl RowSource for Counted<'_> {
    fn fill(&mut self, buffer: &mut Vec<u8>) -> bool {
        let before = buffer.len();
        let more = !self.shared.stopped() && self.rows.fill(buffer);
        self.shared.bytes.fetch_add((buffer.len() - before) as u64, Ordering::Relaxed);
        more
    }
}

async fn load_local<S: Session>(
    session: &mut S,
    shared: &SharedLoad<'_>,
    chunk: Chunk,
) -> SessionResult<(u64, Option<ChunkSummary>)> {
    let mut source = Counted { rows: shared.population.rows(chunk), shared };
    let stored = session.load_local(&schema::load_sql(chunk.table), &mut source).await?;
    Ok((stored, source.rows.finished()))
}

async fn insert<S: Session>(
    session: &mut S,
    shared: &SharedLoad<'_>,
    chunk: Chunk,
) -> SessionResult<(u64, Option<ChunkSummary>)> {
    let mut inserts = shared.population.inserts(chunk);
    let (mut stored, mut counted) = (0, 0);
    while !shared.stopped()
        && let Some(statement) = inserts.next_statement()
    {
        stored += session.query(statement).await?.affected_rows;
        let bytes = inserts.rows.bytes();
        shared.bytes.fetch_add(bytes - counted, Ordering::Relaxed);
        counted = bytes;
    }
    Ok((stored, inserts.rows.finished()))
}

/// After all rows and indexes: foreign keys, statistics, and the mark that all is there.
async fn finish<S: Session>(
    session: &mut S,
    options: &LoadOptions,
    is_unlocked: bool,
) -> Result<(), LoadError> {
    require_alone(session, options, is_unlocked).await?;
    if options.population.foreign_keys {
        add_foreign_keys(session).await.map_err(failed("adding the foreign keys"))?;
    }
    // Fresh statistics: plans of the first minutes must not depend on when the server thinks of it.
    let tables = Table::ALL.map(Table::name).join(", ");
    let analysed = session.query(&format!("ANALYZE TABLE {tables}")).await;
    analysed.map_err(failed("analysing the tables"))?;
    let marked = database::set_state(session, LoadState::Complete).await;
    marked.map_err(failed("marking the load complete"))
}

/// Adds the foreign keys that an earlier, killed load has not added.
async fn add_foreign_keys<S: Session>(session: &mut S) -> SessionResult<()> {
    session.query("SET SESSION foreign_key_checks = 0").await?;
    let sql = "SELECT table_name FROM information_schema.referential_constraints \
               WHERE constraint_schema = DATABASE()";
    let answer = session.query(sql).await?;
    let present: BTreeSet<String> = answer.rows().map(|row| row.text(0)).collect();
    for table in Table::ALL {
        let sql = schema::foreign_keys_sql(table).filter(|_| !present.contains(table.name()));
        if let Some(sql) = sql {
            session.query(&sql).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
