//! Before the first row: may this schema be loaded, and what of it is there already?

use super::{LoadError, LoadOptions};
use crate::database::{
    self, CREATE_META_SQL, Contents, Database, InspectError, LoadState, LoadedChunks,
};
use crate::lock::{Lock, lock_name, take_lock};
use crate::schema::{self, Table};
use crate::transactions::procedures;
use base::{Session, SessionResult, errors, first_of};
use std::time::Duration;

/// How long the server may take to end the session of a load before this one.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// A schema that is ready for rows.
#[derive(Debug)]
pub(crate) struct PreparedSchema {
    /// The first part of the same load, where an earlier call has left one.
    pub(crate) existing: Option<LoadedChunks>,
    /// LOAD DATA LOCAL is allowed.
    pub(crate) is_local_infile: bool,
    /// HISTORY has a primary key.
    pub(crate) history_key: bool,
    /// Why there is no lock, where the server has none.
    pub(crate) unlocked: Option<String>,
}

/// Takes the lock of the schema's load, decides whether loading is allowed, and creates what is
/// missing of the tables. `session` holds the lock until it ends.
///
/// # Errors
/// [`LoadError::Locked`], [`LoadError::NotEmpty`], [`LoadError::NotOurs`],
/// [`LoadError::OtherLoad`], [`LoadError::ReadOnly`], and whatever the server refuses.
pub(crate) async fn prepare<S: Session>(
    session: &mut S,
    options: &LoadOptions,
) -> Result<PreparedSchema, LoadError> {
    let (schema, unlocked) = locked(session).await?;
    let demanded = database::demands_primary_keys(session).await?;
    let population = options.population();
    let mut wanted = Database {
        warehouses: population.warehouses,
        range: population.range,
        seed: Some(population.seed),
        c_load: Some(population.c_load),
        foreign_keys: options.population.foreign_keys,
        partitions: options.population.partitions,
        table_options: options.population.table_options.clone(),
        history_key: options.history_key || demanded,
        driven_by_tpcc_mysql: false,
    };
    let existing = match database::contents(session).await {
        // mydyno_meta is ours, whatever it says, and so is what stands beside it.
        Err(InspectError::BadMeta { .. }) if options.force => None,
        contents => decide(session, contents?, &schema, &mut wanted, options).await?,
    };
    prepare_tables(session, existing.is_none(), &wanted).await.map_err(|error| {
        match error.code() {
            _ if error.is_read_only() => LoadError::ReadOnly { error },
            Some(3750) => LoadError::PrimaryKeyRequired,
            _ => LoadError::Server { what: "creating the tables".to_owned(), error },
        }
    })?;
    let is_local_infile = allows_local_infile(session).await?;
    Ok(PreparedSchema { existing, is_local_infile, history_key: wanted.history_key, unlocked })
}

/// Takes the lock of the schema's load; the schema, and why there is no lock, where the server has
/// none.
async fn locked<S: Session>(session: &mut S) -> Result<(String, Option<String>), LoadError> {
    let schema = database::schema_name(session).await?;
    match take_lock(session, &lock_name(&schema), LOCK_WAIT).await? {
        Lock::Held => Ok((schema, None)),
        Lock::Busy => Err(LoadError::Locked { schema }),
        Lock::Forbidden(why) => Ok((schema, Some(why))),
    }
}

/// Drops what mydyno made of a TPC-C database, and says which tables and procedures there were.
///
/// # Errors
/// [`LoadError::Locked`], [`LoadError::NotOurs`], and whatever the server refuses.
pub async fn drop_database<S: Session>(session: &mut S) -> Result<Vec<String>, LoadError> {
    let (schema, _) = locked(session).await?;
    match database::contents(session).await {
        Err(InspectError::BadMeta { .. }) => {}
        contents => match contents? {
            Contents::Empty | Contents::Ours(..) => {}
            Contents::Foreign { .. } => return Err(not_ours(schema, &[])),
            Contents::Other { missing, .. } if missing.len() < Table::ALL.len() => {
                return Err(not_ours(schema, &missing));
            }
            Contents::Other { .. } => return Ok(Vec::new()),
        },
    }
    let sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()";
    let answer = session.query(sql).await?;
    let mut dropped: Vec<String> = answer.rows().map(|row| row.text(0)).collect();
    dropped.retain(|table| our_tables().any(|ours| ours.eq_ignore_ascii_case(table)));
    drop_ours(session).await?;
    dropped.extend(procedures::uninstall(session).await?);
    Ok(dropped)
}

/// Is LOAD DATA LOCAL allowed?
pub(crate) async fn allows_local_infile<S: Session>(session: &mut S) -> Result<bool, LoadError> {
    Ok(integer(session, "SELECT @@global.local_infile").await? == 1)
}

/// Fails where another load may have worked on the schema since [`prepare`]: the lock is gone, as a
/// server may end a session that idles, or, where the server has no locks, a chunk is.
pub(crate) async fn require_alone<S: Session>(
    session: &mut S,
    options: &LoadOptions,
    is_unlocked: bool,
) -> Result<(), LoadError> {
    if is_unlocked {
        let marked = database::loaded_chunks(session).await?.chunks.len();
        let wanted = options.population().chunks().count();
        return match marked == wanted {
            true => Ok(()),
            false => Err(LoadError::ChunksMissing { marked, wanted }),
        };
    }
    let schema = database::schema_name(session).await?;
    let name = lock_name(&schema);
    let sql = format!("SELECT IS_USED_LOCK('{name}') = CONNECTION_ID()");
    match integer(session, &sql).await? {
        1 => Ok(()),
        _ => Err(LoadError::Locked { schema }),
    }
}

/// Releases the lock of the schema's load, where this session has it.
pub(crate) async fn release_lock<S: Session>(session: &mut S) -> Result<(), LoadError> {
    let schema = database::schema_name(session).await?;
    session.query(&format!("DO RELEASE_LOCK('{}')", lock_name(&schema))).await?;
    Ok(())
}

async fn integer<S: Session>(session: &mut S, sql: &str) -> Result<i64, LoadError> {
    Ok(session.query(sql).await?.int().ok().flatten().unwrap_or(0))
}

async fn decide<S: Session>(
    session: &mut S,
    contents: Contents,
    schema: &str,
    wanted: &mut Database,
    options: &LoadOptions,
) -> Result<Option<LoadedChunks>, LoadError> {
    let schema = schema.to_owned();
    match contents {
        Contents::Empty => Ok(None),
        Contents::Ours(..) if options.force => Ok(None),
        Contents::Ours(Database { warehouses, .. }, LoadState::Complete) => {
            Err(LoadError::NotEmpty { schema, what: warehouses.counted() })
        }
        Contents::Ours(_, LoadState::Dropping) => Err(LoadError::HalfDropped { schema }),
        Contents::Ours(found, LoadState::Loading) => {
            // What began without a key of HISTORY is not given one because the server demands it
            // now.
            if found.history_key || !options.history_key {
                wanted.history_key = found.history_key;
            }
            if found != *wanted {
                return Err(LoadError::OtherLoad { schema, found: Box::new(found) });
            }
            Ok(Some(database::loaded_chunks(session).await?))
        }
        Contents::Foreign { .. } => Err(not_ours(schema, &[])),
        Contents::Other { missing, .. } if missing.len() < Table::ALL.len() => {
            Err(not_ours(schema, &missing))
        }
        Contents::Other { tables, .. } if !options.force => Err(LoadError::NotEmpty {
            schema,
            what: format!("other tables ({})", first_of(&tables)),
        }),
        Contents::Other { .. } => Ok(None),
    }
}

/// All tables of TPC-C but those that are missing are another's.
fn not_ours(schema: String, missing: &[&str]) -> LoadError {
    let there = Table::ALL.iter().map(|table| table.name()).filter(|name| !missing.contains(name));
    LoadError::NotOurs { schema, tables: there.map(str::to_owned).collect() }
}

/// The tables of a load, children before parents, and those that say what it was.
fn our_tables() -> impl Iterator<Item = &'static str> {
    let tables = Table::ALL.iter().rev().map(|table| table.name());
    tables.chain(["mydyno_load", "mydyno_meta"])
}

/// Makes every table be there: all anew, or those that a load, killed while it created them, still
/// lacks.
async fn prepare_tables<S: Session>(
    session: &mut S,
    is_new: bool,
    wanted: &Database,
) -> SessionResult<()> {
    if is_new {
        drop_ours(session).await?;
        for sql in CREATE_META_SQL {
            session.query(sql).await?;
        }
        database::write_meta(session, wanted).await?;
    }
    for table in Table::ALL {
        let options = wanted.table_options.as_deref().unwrap_or_default();
        let sql = schema::create_sql(table, wanted.partitions, wanted.history_key, options);
        let sql = sql.replacen("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1);
        session.query(&sql).await?;
    }
    Ok(())
}

/// Drops what a load of ours has made, children before parents. The word that it is being dropped
/// comes first and goes last: no interruption leaves marks of chunks that are gone.
async fn drop_ours<S: Session>(session: &mut S) -> SessionResult<()> {
    match database::set_state(session, LoadState::Dropping).await {
        Err(error) if error.code() == Some(errors::NO_SUCH_TABLE) => {}
        other => other?,
    }
    session.query("SET SESSION foreign_key_checks = 0").await?;
    for table in our_tables() {
        session.query(&format!("DROP TABLE IF EXISTS {table}")).await?;
    }
    session.query("SET SESSION foreign_key_checks = 1").await?;
    Ok(())
}
