//! Workloads that are lists of statements with generated parameters: sysbench's OLTP and those that
//! a user writes into a file ([`file`]). Both are a [`Script`], which one [`drive::Workload`] runs.
//! What is asked about one of them or its database is answered here, and nowhere else.
//!
//! Nothing here opens a file, a socket or a process.

mod digests;
pub mod file;
mod generate;
mod load;
mod script;
mod sql;
mod sysbench;
mod workload;

pub use digests::{DigestError, DigestOptions, DigestWorkload, workload_from_digests};
pub use load::{ScriptLoadError, ScriptLoadOptions};
pub use script::Script;
pub use sysbench::{SbtestError, is_sbtest};
pub use workload::{ScriptOptions, ScriptWorkload};

use base::{Connect, Session, counted};
use drive::{LoadProgress, LoadReport, TransactionInfo, process_cpu_ns};
use file::WorkloadFile;
use spec::{RandType, SbtestTables, ScriptDatabase, ScriptKind};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The types of a workload's transactions; those of a file are known when it has been read.
pub fn types(workload: &ScriptKind) -> &'static [TransactionInfo] {
    match workload {
        ScriptKind::SysbenchOltp(mix) => sysbench::types(*mix),
        ScriptKind::File(_) => &[],
    }
}

/// The transactions of a workload on the database of this session, and that database; one of
/// sysbench draws ids as it does by default, or as is said.
///
/// # Errors
/// Where it is none for this workload, and what `read` says of a file.
pub async fn fit<S: Session, E: From<SbtestError>>(
    (workload, rand_type): (&ScriptKind, Option<RandType>),
    read: impl FnOnce(&str) -> Result<WorkloadFile, E>,
    session: &mut S,
) -> Result<(Script, ScriptDatabase), E> {
    Ok(match workload {
        ScriptKind::SysbenchOltp(mix) => {
            let tables = sysbench::inspect(session).await?;
            if sysbench::keeps_rows(*mix) {
                sysbench::require_rows(session, tables).await?;
            }
            let rand_type = rand_type.unwrap_or(mix.rand_type());
            (sysbench::script(*mix, rand_type, tables), ScriptDatabase::Sbtest(tables))
        }
        ScriptKind::File(path) => {
            let file = read(path)?;
            load::require_loaded(session, &file).await?;
            (file.script, ScriptDatabase::File(path.clone()))
        }
    })
}

/// What a database is filled with, for people.
pub fn words(database: &ScriptDatabase) -> String {
    match database {
        ScriptDatabase::Sbtest(SbtestTables { count, rows }) => {
            format!("{} of {rows} rows", counted(*count as usize, "table", "tables"))
        }
        ScriptDatabase::File(path) => format!("the tables of {path}"),
    }
}

/// About as much as its tables take on disk; 0 of what a file's setup makes, which nobody knows.
pub fn database_bytes_estimate(database: &ScriptDatabase) -> u64 {
    match database {
        ScriptDatabase::Sbtest(tables) => sysbench::database_bytes_estimate(*tables),
        ScriptDatabase::File(_) => 0,
    }
}

/// What tells its rows from those of others, but for their seed: a part of a file's name.
///
/// # Errors
/// What `read` says of a file.
pub fn contents<E>(
    database: &ScriptDatabase,
    read: impl FnOnce(&str) -> Result<WorkloadFile, E>,
) -> Result<String, E> {
    Ok(match database {
        ScriptDatabase::Sbtest(SbtestTables { count, rows }) => {
            format!("sbtest{}_{count}x{rows}", sysbench::TABLES_VERSION)
        }
        ScriptDatabase::File(path) => format!("file{:016x}", read(path)?.xxh3),
    })
}

/// Drops the tables of a database, which mydyno has to have made, and says which there were.
///
/// # Errors
/// Any [`ScriptLoadError`], before anything is dropped where a table is not mydyno's, and what
/// `read` says of a file.
pub async fn drop_tables<S: Session, E: From<ScriptLoadError>>(
    session: &mut S,
    database: &ScriptDatabase,
    read: impl FnOnce(&str) -> Result<WorkloadFile, E>,
) -> Result<Vec<String>, E> {
    Ok(match database {
        ScriptDatabase::Sbtest(_) => load::drop_ours(session, &sysbench::is_sbtest).await?,
        ScriptDatabase::File(path) => {
            let file = read(path)?;
            load::drop_ours(session, &|table| file.creates(table)).await?
        }
    })
}

/// Fills a database in the schema that `connect` names, which must exist.
///
/// # Errors
/// Any [`ScriptLoadError`], and what `read` says of a file.
pub fn load<C: Connect + Sync, E: From<ScriptLoadError>>(
    connect: &C,
    (database, read): (&ScriptDatabase, impl FnOnce(&str) -> Result<WorkloadFile, E>),
    options: ScriptLoadOptions<'_>,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadReport, E> {
    let (started, cpu_before) = (Instant::now(), process_cpu_ns());
    let report = match database {
        ScriptDatabase::Sbtest(tables) => {
            load::load_sbtest(connect, *tables, options, stop, on_progress)?
        }
        ScriptDatabase::File(path) => {
            load::load_file(connect, &read(path)?, options, stop, on_progress)?
        }
    };
    let client_cpu_ns = process_cpu_ns().saturating_sub(cpu_before);
    Ok(LoadReport { duration: started.elapsed(), client_cpu_ns, ..report })
}
