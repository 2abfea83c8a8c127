//! Before the first row: may this schema be loaded, and what of it is there already?

use crate::load::{LoadError, LoadOptions};
use base::{Session, SessionError};
use tpcc::Population;
use tpcc::database::{self, CREATE_META_SQL, Contents, LoadState, LoadedChunks, Meta};
use tpcc::schema::{self, Table};
use xxhash_rust::xxh3::xxh3_64;

/// What a schema holds, seen by a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Nothing that is in the way.
    Nothing,
    /// The first part of the same load.
    Part(LoadedChunks),
}

/// A schema that is ready for rows.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) population: Population,
    pub(crate) existing: Existing,
    /// LOAD DATA LOCAL is allowed.
    pub(crate) local_infile: bool,
}

/// Takes the lock of the schema's load, decides whether loading is allowed, and creates what is missing of the tables.
/// `session` holds the lock until it ends.
///
/// # Errors
/// [`LoadError::Locked`], [`LoadError::NotEmpty`], [`LoadError::NotOurs`], [`LoadError::OtherLoad`],
/// [`LoadError::ReadOnly`], and whatever the server refuses.
pub(crate) async fn prepare<S: Session>(
    session: &mut S,
    options: &LoadOptions,
) -> Result<Prepared, LoadError> {
    let schema = database::schema_name(session).await?;
    set_up(session).await?;
    let lock = format!("SELECT GET_LOCK('{}', 0)", lock_name(&schema));
    if integer(session, &lock).await? != 1 {
        return Err(LoadError::Locked { schema });
    }
    let population = Population::new(options.seed, options.warehouses);
    let existing = match database::contents(session).await {
        // mydyno_meta is ours, whatever it says, and so is what stands beside it.
        Err(database::InspectError::BadMeta { .. }) if options.force => Existing::Nothing,
        contents => decide(session, contents?, &schema, &population, options).await?,
    };
    prepare_tables(session, &existing, &population, options)
        .await
        .map_err(|error| match error.code() {
            // --read-only, --super-read-only, innodb_read_only.
            Some(1290 | 1792 | 1836) => LoadError::ReadOnly { error },
            Some(3750) => LoadError::PrimaryKeyRequired,
            _ => LoadError::Server {
                what: "creating the tables".to_owned(),
                error,
            },
        })?;
    let local_infile = integer(session, "SELECT @@global.local_infile").await? == 1;
    Ok(Prepared {
        population,
        existing,
        local_infile,
    })
}

/// Settings of the session that waits while others load.
async fn set_up<S: Session>(session: &mut S) -> Result<(), LoadError> {
    let set = "SET SESSION autocommit = 1, wait_timeout = 2147483";
    session
        .query(set)
        .await
        .map_err(database::InspectError::from)?;
    // HISTORY has no primary key by design (clause 1.3.1). A server that does not know this variable needs no leave, and
    // one that denies it says so when the table is created.
    match session
        .query("SET SESSION sql_require_primary_key = 0")
        .await
    {
        Ok(_) | Err(SessionError::Server { .. }) => Ok(()),
        Err(error) => Err(database::InspectError::from(error).into()),
    }
}

/// Does the session still hold the lock that [`prepare`] took? A server may end a session that idles.
pub(crate) async fn still_locked<S: Session>(session: &mut S) -> Result<bool, LoadError> {
    let schema = database::schema_name(session).await?;
    let name = lock_name(&schema);
    let sql = format!("SELECT IS_USED_LOCK('{name}') = CONNECTION_ID()");
    Ok(integer(session, &sql).await? == 1)
}

/// The lock of the loads of a schema. It is hashed here: a lock's name has 64 characters at most, as many as a schema's,
/// and MySQL 9.6 moved MD5 and SHA1 to a component that servers need not have.
fn lock_name(schema: &str) -> String {
    format!("mydyno:{:016x}", xxh3_64(schema.as_bytes()))
}

async fn integer<S: Session>(session: &mut S, sql: &str) -> Result<i64, LoadError> {
    let answer = session
        .query(sql)
        .await
        .map_err(database::InspectError::from)?;
    // GET_LOCK says NULL where it failed, which is as good as 0 here.
    Ok(answer.row(0).and_then(|row| row.int(0).ok()).unwrap_or(0))
}

async fn decide<S: Session>(
    session: &mut S,
    contents: Contents,
    schema: &str,
    population: &Population,
    options: &LoadOptions,
) -> Result<Existing, LoadError> {
    let schema = schema.to_owned();
    match contents {
        Contents::Empty => Ok(Existing::Nothing),
        Contents::Ours(_) if options.force => Ok(Existing::Nothing),
        Contents::Ours(Meta {
            state: LoadState::Complete,
            population: old,
            ..
        }) => Err(LoadError::NotEmpty {
            schema,
            what: format!("{} warehouses", old.warehouses),
        }),
        Contents::Ours(Meta {
            state: LoadState::Dropping,
            ..
        }) => Err(LoadError::HalfDropped { schema }),
        Contents::Ours(meta) => {
            let is_same = meta.population == *population
                && meta.foreign_keys == options.foreign_keys
                && meta.partitions == options.partitions;
            if !is_same {
                return Err(LoadError::OtherLoad {
                    schema,
                    meta: Box::new(meta),
                });
            }
            let loaded = database::loaded_chunks(session).await;
            Ok(Existing::Part(
                loaded.map_err(database::InspectError::from)?,
            ))
        }
        Contents::Foreign { .. } => Err(LoadError::NotOurs { schema }),
        Contents::Other { missing, .. } if missing.len() < Table::ALL.len() => {
            Err(LoadError::NotOurs { schema })
        }
        Contents::Other { tables, .. } if !options.force => Err(LoadError::NotEmpty {
            schema,
            what: format!("other tables ({})", some_of(&tables)),
        }),
        Contents::Other { .. } => Ok(Existing::Nothing),
    }
}

/// The first names of a list that may be long.
fn some_of(tables: &[String]) -> String {
    const SHOWN: usize = 3;
    match tables.get(SHOWN..) {
        Some(more) if !more.is_empty() => {
            format!("{} and {} more", tables[..SHOWN].join(", "), more.len())
        }
        _ => tables.join(", "),
    }
}

/// Makes every table be there: all anew, or those that a load, killed while it created them, still lacks.
async fn prepare_tables<S: Session>(
    session: &mut S,
    existing: &Existing,
    population: &Population,
    options: &LoadOptions,
) -> Result<(), SessionError> {
    if *existing == Existing::Nothing {
        drop_ours(session).await?;
        for sql in CREATE_META_SQL {
            session.query(sql).await?;
        }
        let LoadOptions {
            foreign_keys,
            partitions,
            ..
        } = *options;
        database::write_meta(session, population, foreign_keys, partitions).await?;
    }
    for table in Table::ALL {
        let sql = schema::create_sql(table, options.partitions);
        let sql = sql.replacen("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1);
        session.query(&sql).await?;
    }
    Ok(())
}

/// Drops what a load of ours has made, children before parents. The word that it is being dropped comes first and goes
/// last: no interruption leaves marks of chunks that are gone.
async fn drop_ours<S: Session>(session: &mut S) -> Result<(), SessionError> {
    const NO_SUCH_TABLE: u16 = 1146;
    match database::set_state(session, LoadState::Dropping).await {
        Err(error) if error.code() == Some(NO_SUCH_TABLE) => {}
        other => other?,
    }
    session.query("SET SESSION foreign_key_checks = 0").await?;
    let tables = Table::ALL.iter().rev().map(|table| table.name());
    for table in tables.chain(["mydyno_load", "mydyno_meta"]) {
        session
            .query(&format!("DROP TABLE IF EXISTS {table}"))
            .await?;
    }
    session.query("SET SESSION foreign_key_checks = 1").await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::lock_name;
    use std::collections::BTreeSet;

    #[test]
    fn every_schema_has_a_lock_whose_name_servers_take_as_it_is() {
        let longest = "\u{1F600}".repeat(64);
        let schemas = ["tpcc", "tpcc2", "TPCC", "it's", &longest, &longest[4..], ""];
        let names: BTreeSet<String> = schemas.into_iter().map(lock_name).collect();
        assert_eq!(names.len(), schemas.len());
        for name in names {
            // Names are compared without regard to case, and stand between quotes.
            let is_plain = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase() || c == ':';
            assert!(name.len() <= 64 && name.chars().all(is_plain), "{name}");
        }
        // Programs of other versions that load the same schema wait for each other.
        assert_eq!(lock_name("tpcc"), "mydyno:1215c5ea14bb881f");
    }
}
