//! Before the first row: may this schema be loaded, and what of it is there already?

use crate::load::{LoadError, LoadOptions};
use base::{Session, SessionError};
use tpcc::Population;
use tpcc::database::{self, CREATE_META_SQL, Contents, LoadedChunks, Meta};
use tpcc::schema::{self, Table};

/// What a schema holds, seen by a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Nothing that is in the way.
    Nothing,
    /// The first part of the same load.
    Part(LoadedChunks),
}

/// A schema that is ready for rows.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub population: Population,
    pub existing: Existing,
    /// LOAD DATA LOCAL is allowed.
    pub local_infile: bool,
}

/// Takes the lock of the schema's load, decides whether loading is allowed, and creates what is missing of the tables.
/// `session` holds the lock until it ends.
///
/// # Errors
/// [`LoadError::Locked`], [`LoadError::NotEmpty`], [`LoadError::NotOurs`], [`LoadError::OtherLoad`],
/// [`LoadError::ReadOnly`], and whatever the server refuses.
pub async fn prepare<S: Session>(
    session: &mut S,
    options: &LoadOptions,
) -> Result<Prepared, LoadError> {
    let schema = database::schema_name(session).await?;
    let lock = "SELECT GET_LOCK(CONCAT('mydyno:', MD5(DATABASE())), 0)";
    if integer(session, lock).await? != 1 {
        return Err(LoadError::Locked { schema });
    }
    let population = Population::new(options.seed, options.warehouses);
    let contents = database::contents(session).await;
    let existing = match contents {
        // What a broken mydyno_meta describes is ours, and may be dropped where that is asked for.
        Err(database::InspectError::BadMeta { .. }) if options.force => Existing::Nothing,
        contents => decide(session, contents?, &schema, &population, options).await?,
    };
    if existing == Existing::Nothing {
        create(session, &population, options)
            .await
            .map_err(|error| match error.code() {
                // --read-only, --super-read-only, innodb_read_only.
                Some(1290 | 1792 | 1836) => LoadError::ReadOnly { error },
                _ => LoadError::Server {
                    what: "creating the tables".to_owned(),
                    error,
                },
            })?;
    }
    let local_infile = integer(session, "SELECT @@global.local_infile").await? == 1;
    Ok(Prepared {
        population,
        existing,
        local_infile,
    })
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
        Contents::Ours(meta) if options.force => {
            drop_ours(session)
                .await
                .map_err(|error| LoadError::Server {
                    what: format!(
                        "dropping the {} warehouses loaded before",
                        meta.population.warehouses
                    ),
                    error,
                })?;
            Ok(Existing::Nothing)
        }
        Contents::Ours(Meta {
            complete: true,
            population: old,
            ..
        }) => Err(LoadError::NotEmpty {
            schema,
            what: format!("{} warehouses", old.warehouses),
        }),
        Contents::Ours(meta) => {
            if meta.population != *population || meta.foreign_keys != options.foreign_keys {
                return Err(LoadError::OtherLoad {
                    schema,
                    meta: Box::new(meta),
                });
            }
            let loaded = database::loaded_chunks(session).await;
            loaded
                .map(Existing::Part)
                .map_err(|error| LoadError::from(database::InspectError::from(error)))
        }
        Contents::Foreign { .. } => Err(LoadError::NotOurs { schema }),
        Contents::Other { missing, .. } if missing.len() < Table::ALL.len() => {
            Err(LoadError::NotOurs { schema })
        }
        Contents::Other { tables, .. } if !options.force => Err(LoadError::NotEmpty {
            schema,
            what: format!("{} other tables", tables.len()),
        }),
        Contents::Other { .. } => Ok(Existing::Nothing),
    }
}

/// Drops what a load of ours has made, children before parents.
async fn drop_ours<S: Session>(session: &mut S) -> Result<(), SessionError> {
    session.query("SET SESSION foreign_key_checks = 0").await?;
    // The mark of what is ours goes last, so that an interrupted drop can be repeated.
    let tables = Table::ALL.iter().rev().map(|table| table.name());
    for table in tables.chain(["mydyno_load", "mydyno_meta"]) {
        session
            .query(&format!("DROP TABLE IF EXISTS {table}"))
            .await?;
    }
    Ok(())
}

async fn create<S: Session>(
    session: &mut S,
    population: &Population,
    options: &LoadOptions,
) -> Result<(), SessionError> {
    drop_ours(session).await?;
    for sql in CREATE_META_SQL {
        session.query(sql).await?;
    }
    database::write_meta(session, population, options.foreign_keys).await?;
    session.query("COMMIT").await?;
    for table in Table::ALL {
        session.query(&schema::create_sql(table)).await?;
    }
    Ok(())
}

/// Creates the tables that a load, killed while it created them, still lacks.
pub(crate) async fn create_missing<S: Session>(session: &mut S) -> Result<(), SessionError> {
    for table in Table::ALL {
        let sql =
            schema::create_sql(table).replacen("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1);
        session.query(&sql).await?;
    }
    Ok(())
}
