//! Filling a database: the tables of sysbench in parallel, or the statements of a file one after
//! the other.

use crate::file::{SetupStatement, WorkloadFile};
use crate::generate::DrawnValues;
use crate::script::{START_TRANSACTION, execute};
use crate::sql::created_table;
use crate::sysbench::{
    COMMENT, COMMENT_LOADING, SbtestError, SbtestRows, bytes_estimate, create_sql, index_sql,
    is_sbtest, tables_of,
};
use base::{
    Connect, Exit, Random, RowSource, Session, SessionError, SessionResult, USERS_SETTINGS,
    first_of,
};
use drive::{LoadProgress, LoadReport, LoadedTable};
use spec::SbtestTables;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use xxhash_rust::xxh3::Xxh3;

/// How to load.
#[derive(Clone, Copy, Debug)]
pub struct ScriptLoadOptions<'a> {
    pub seed: u64,
    /// Connections that load at the same time, a table each.
    pub threads: u32,
    /// Drop what mydyno loaded here before; load beside other tables.
    pub force: bool,
    /// Of sysbench's tables.
    pub table_options: &'a str,
}

/// Why a load did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum ScriptLoadError {
    #[error("{0}")]
    Connect(String),
    #[error("{what} failed: {error}")]
    Server { what: String, error: SessionError },
    #[error("the schema is not empty: it holds {tables}; use another schema, or --force")]
    NotEmpty { tables: String },
    #[error(
        "the schema holds {table}, which mydyno did not make, and mydyno drops only its own; drop \
         it yourself or use another schema"
    )]
    NotOurs { table: String },
    #[error("interrupted; load again with --force")]
    Interrupted,
    #[error("a loading thread failed")]
    Thread(#[from] std::io::Error),
}

impl ScriptLoadError {
    /// What the shell is told.
    pub fn exit(&self) -> Exit {
        match self {
            ScriptLoadError::Interrupted => Exit::Interrupted,
            ScriptLoadError::Server { error: SessionError::Lost(_), .. } => Exit::ServerFailed,
            ScriptLoadError::Server { .. } | ScriptLoadError::Thread(_) => Exit::Failed,
            ScriptLoadError::Connect(_)
            | ScriptLoadError::NotEmpty { .. }
            | ScriptLoadError::NotOurs { .. } => Exit::Environment,
        }
    }
}

fn failed(what: impl Into<String>) -> impl FnOnce(SessionError) -> ScriptLoadError {
    let what = what.into();
    move |error| ScriptLoadError::Server { what, error }
}

/// Loads the tables of sysbench.
pub(crate) fn load_sbtest<C: Connect + Sync>(
    connect: &C,
    tables: SbtestTables,
    options: ScriptLoadOptions<'_>,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadReport, ScriptLoadError> {
    let is_local_infile = reactor::block_on(async {
        let mut session = connect.connect_or(ScriptLoadError::Connect).await?;
        make_room(&mut session, options.force, &is_sbtest).await?;
        let sql = "SELECT @@global.local_infile";
        let answer = session.query(sql).await.map_err(failed(sql))?;
        let is_on = answer.int().ok().flatten() == Some(1);
        C::close(session).await;
        Ok::<_, ScriptLoadError>(is_on)
    })??;
    let shared = &SbtestLoad {
        tables,
        table_options: options.table_options,
        seed: options.seed,
        is_local_infile: AtomicBool::new(is_local_infile),
        next: AtomicU32::new(1),
        steps_done: AtomicU32::new(0),
        bytes: AtomicU64::new(0),
        failed: AtomicBool::new(false),
        stop,
    };
    let work = || async move {
        let loaded = fill_tables(connect, shared).await;
        shared.failed.fetch_or(loaded.is_err(), Ordering::Relaxed);
        loaded
    };
    let is_stop = |error: &ScriptLoadError| matches!(error, ScriptLoadError::Interrupted);
    let threads = options.threads.min(tables.count);
    let loaded = reactor::on_threads(threads, work, is_stop, || {
        thread::sleep(Duration::from_millis(20));
        on_progress(LoadProgress {
            bytes: shared.bytes.load(Ordering::Relaxed),
            bytes_total: bytes_estimate(tables),
            steps: shared.steps_done.load(Ordering::Relaxed),
            steps_total: tables.count,
        });
    })?;
    let loaded: BTreeMap<u32, LoadedTable> = loaded.into_iter().flatten().collect();
    Ok(LoadReport {
        is_local_infile: shared.is_local_infile.load(Ordering::Relaxed),
        tables: loaded.into_values().collect(),
        bytes: shared.bytes.load(Ordering::Relaxed),
        ..LoadReport::default()
    })
}

/// Refuses a schema that is not empty or, where it is forced, drops our own tables of it.
async fn make_room<S: Session>(
    session: &mut S,
    force: bool,
    is_of_load: &dyn Fn(&str) -> bool,
) -> Result<(), ScriptLoadError> {
    let there = tables_of(session).await;
    let there = there.map_err(failed("listing the tables"))?;
    if !force && !there.is_empty() {
        let names: Vec<String> = there.into_iter().map(|(name, _)| name).collect();
        return Err(ScriptLoadError::NotEmpty { tables: first_of(&names) });
    }
    drop_ours(session, is_of_load).await.map(drop)
}

/// Behind the comment of a table that has one of its own.
const MARK: &str = " (mydyno)";
const MARK_LOADING: &str = " (mydyno: loading)";

/// Drops the tables of a load, of which mydyno has to have made each.
pub(crate) async fn drop_ours<S: Session>(
    session: &mut S,
    is_of_load: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>, ScriptLoadError> {
    let there = tables_of(session).await;
    let mut ours = there.map_err(failed("listing the tables"))?;
    ours.retain(|(table, _)| is_of_load(table));
    let is_ours =
        |of: &str| [COMMENT, COMMENT_LOADING].contains(&of) || of.ends_with(MARK) || is_loading(of);
    let mut others = ours.iter().filter(|(_, comment)| !is_ours(comment));
    if let Some((table, _)) = others.next() {
        return Err(ScriptLoadError::NotOurs { table: table.clone() });
    }
    let set = "SET SESSION foreign_key_checks = ";
    session.query(&format!("{set}0")).await.map_err(failed("preparing a session"))?;
    for (table, _) in &ours {
        let dropped = session.query(&format!("DROP TABLE {}", quoted(table))).await;
        dropped.map_err(failed(format!("dropping {table}")))?;
    }
    session.query(&format!("{set}1")).await.map_err(failed("preparing a session"))?;
    Ok(ours.into_iter().map(|(table, _)| table).collect())
}

fn quoted(table: &str) -> String {
    format!("`{}`", table.replace('`', "``"))
}

/// Does the comment of a table say that its load has not ended?
fn is_loading(comment: &str) -> bool {
    comment == COMMENT_LOADING || comment.ends_with(MARK_LOADING)
}

/// Has the load of the tables of this file ended, where it has begun?
///
/// # Errors
/// [`SbtestError::Loading`] where it has not.
pub(crate) async fn require_loaded<S: Session>(
    session: &mut S,
    file: &WorkloadFile,
) -> Result<(), SbtestError> {
    let there = tables_of(session).await?;
    match there.iter().any(|(table, comment)| file.creates(table) && is_loading(comment)) {
        true => Err(SbtestError::Loading),
        false => Ok(()),
    }
}

/// Says in the comment of a table that it is ours, and that it is being filled, or no longer: a
/// mark that goes with the table.
async fn mark<S: Session>(session: &mut S, table: &str, is_filled: bool) -> SessionResult<()> {
    let there = tables_of(session).await?;
    let Some((_, own)) = there.iter().find(|(name, _)| name.eq_ignore_ascii_case(table)) else {
        return Ok(());
    };
    let own = own.strip_suffix(MARK_LOADING).unwrap_or(own);
    let own = if own == COMMENT_LOADING { "" } else { own };
    let comment = match (own.is_empty(), is_filled) {
        (true, true) => COMMENT.to_owned(),
        (true, false) => COMMENT_LOADING.to_owned(),
        (false, is_filled) => {
            let mark = if is_filled { MARK } else { MARK_LOADING };
            own.replace('\\', "\\\\").replace('\'', "''") + mark
        }
    };
    let sql = format!("ALTER TABLE {} COMMENT = '{comment}'", quoted(table));
    session.query(&sql).await.map(drop)
}

/// What the loading threads have in common.
struct SbtestLoad<'a> {
    tables: SbtestTables,
    table_options: &'a str,
    seed: u64,
    /// Rows go by LOAD DATA LOCAL, else by multi-row INSERTs.
    is_local_infile: AtomicBool,
    /// The next table that nobody fills.
    next: AtomicU32,
    /// Indexes that were built.
    steps_done: AtomicU32,
    bytes: AtomicU64,
    failed: AtomicBool,
    stop: &'a AtomicBool,
}

async fn fill_tables<C: Connect>(
    connect: &C,
    shared: &SbtestLoad<'_>,
) -> Result<BTreeMap<u32, LoadedTable>, ScriptLoadError> {
    let mut session = connect.connect_or(ScriptLoadError::Connect).await?;
    session.query("SET unique_checks = 0").await.map_err(failed("preparing a session"))?;
    let mut loaded = BTreeMap::new();
    loop {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        if number > shared.tables.count {
            break;
        }
        loaded.insert(number, fill(&mut session, number, shared).await?);
    }
    C::close(session).await;
    Ok(loaded)
}

/// Makes one table: its rows first, its index behind them, as sysbench does.
async fn fill<S: Session>(
    session: &mut S,
    number: u32,
    shared: &SbtestLoad<'_>,
) -> Result<LoadedTable, ScriptLoadError> {
    let name = format!("sbtest{number}");
    let created = session.query(&create_sql(number, shared.table_options)).await;
    created.map_err(failed(format!("creating {name}")))?;
    let mut rows = SbtestRows::new(shared.seed, number, shared.tables);
    let mut checksum = Xxh3::new();
    let (mut lines, mut stored) = (Vec::new(), 0);
    while rows.next_lines(&mut lines) {
        if shared.stop.load(Ordering::Relaxed) || shared.failed.load(Ordering::Relaxed) {
            return Err(ScriptLoadError::Interrupted);
        }
        checksum.update(&lines);
        shared.bytes.fetch_add(lines.len() as u64, Ordering::Relaxed);
        let sent = send(session, &name, &lines, &shared.is_local_infile).await;
        stored += sent.map_err(failed(format!("filling {name}")))?;
        lines.clear();
    }
    for sql in [
        index_sql(number),
        format!("ALTER TABLE {name} COMMENT = '{COMMENT}'"),
        // Plans of the first minutes must not depend on when the server thinks of it.
        format!("ANALYZE TABLE {name}"),
    ] {
        session.query(&sql).await.map_err(failed(sql.as_str()))?;
    }
    shared.steps_done.fetch_add(1, Ordering::Relaxed);
    Ok(LoadedTable { name, rows: stored, checksum: checksum.digest() })
}

/// Sends rows to a table as the server takes them; returns how many it stored.
async fn send<S: Session>(
    session: &mut S,
    table: &str,
    lines: &[u8],
    is_local_infile: &AtomicBool,
) -> SessionResult<u64> {
    if is_local_infile.load(Ordering::Relaxed) {
        let sql = format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} (id, k, c, pad)");
        match session.load_local(&sql, &mut OneFill(Some(lines))).await {
            Err(error) if error.is_file_refused() => {
                is_local_infile.store(false, Ordering::Relaxed);
            }
            sent => return sent,
        }
    }
    insert(session, table, lines).await
}

/// Lines that were made already.
struct OneFill<'a>(Option<&'a [u8]>);

impl RowSource for OneFill<'_> {
    fn fill(&mut self, buffer: &mut Vec<u8>) -> bool {
        let lines = self.0.take();
        buffer.extend_from_slice(lines.unwrap_or_default());
        lines.is_some()
    }
}

/// Where the server does not take files: statements below any `max_allowed_packet` that a server
/// runs with. No value needs escaping.
async fn insert<S: Session>(session: &mut S, table: &str, lines: &[u8]) -> SessionResult<u64> {
    const STATEMENT_BYTES: usize = 48 << 10;
    let text = String::from_utf8_lossy(lines);
    let mut stored = 0;
    let mut tuples =
        text.lines().map(|line| format!("('{}')", line.replace('\t', "','"))).peekable();
    while tuples.peek().is_some() {
        let mut sql = format!("INSERT INTO {table} (id, k, c, pad) VALUES ");
        while let Some(tuple) = tuples.next_if(|_| sql.len() < STATEMENT_BYTES) {
            sql.push_str(&tuple);
            sql.push(',');
        }
        sql.pop();
        stored += session.query(&sql).await?.affected_rows;
    }
    Ok(stored)
}

/// Runs the setup of a file.
pub(crate) fn load_file<C: Connect + Sync>(
    connect: &C,
    file: &WorkloadFile,
    options: ScriptLoadOptions<'_>,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadReport, ScriptLoadError> {
    reactor::block_on(async {
        let mut session = connect.connect_or(ScriptLoadError::Connect).await?;
        make_room(&mut session, options.force, &|table| file.creates(table)).await?;
        let users = session.query(USERS_SETTINGS).await.map(drop);
        users.map_err(failed("preparing a session"))?;
        let schema = session.query("SELECT DATABASE()").await;
        let schema = schema.map_err(failed("reading the name of the schema"))?;
        let schema = schema.row(0).map_or_else(String::new, |row| row.text(0));
        let mut created = BTreeSet::new();
        let steps_total = file.setup.len() as u32;
        for (steps, setup) in (0..).zip(&file.setup) {
            let mut random = Random::new(options.seed, &[u64::from(steps)]);
            let what = format!("statement {} of the setup", steps + 1);
            let mut on_row = || {
                on_progress(LoadProgress { bytes: 0, bytes_total: 0, steps, steps_total });
                !stop.load(Ordering::Relaxed)
            };
            let done = set_up(&mut session, setup, &mut random, &mut on_row).await;
            if !done.map_err(failed(what))? {
                return Err(ScriptLoadError::Interrupted);
            }
            match created_table(&setup.sql) {
                Some((of, table)) if of.as_ref().is_none_or(|of| *of == schema) => {
                    let marked = mark(&mut session, &table, false).await;
                    marked.map_err(failed(format!("writing into the comment of {table}")))?;
                    created.insert(table);
                }
                Some(_) | None => {}
            }
        }
        for table in created {
            let marked = mark(&mut session, &table, true).await;
            marked.map_err(failed(format!("writing into the comment of {table}")))?;
        }
        C::close(session).await;
        Ok(LoadReport::default())
    })?
}

/// Runs a statement as often as it says; false where `go_on` did.
async fn set_up<S: Session>(
    session: &mut S,
    setup: &SetupStatement,
    random: &mut Random,
    go_on: &mut dyn FnMut() -> bool,
) -> SessionResult<bool> {
    const ROWS_OF_COMMIT: u64 = 1_000;
    if setup.parameters.is_empty() && setup.times == 1 {
        let mut more = session.query(&setup.sql).await?.more;
        while more {
            more = session.answer().await?.more;
        }
        return Ok(go_on());
    }
    let statement = session.prepare_kind("load", &setup.sql).await?;
    for row in 0..setup.times {
        if row % ROWS_OF_COMMIT == 0 {
            let sql = if row == 0 { START_TRANSACTION } else { "COMMIT AND CHAIN" };
            session.query(sql).await?;
            if !go_on() {
                return Ok(false);
            }
        }
        let values = DrawnValues::drawn(&setup.generators, random);
        execute(session, statement, &setup.parameters, &values).await?;
    }
    session.query("COMMIT").await?;
    Ok(true)
}
