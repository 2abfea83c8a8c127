//! What a schema holds: our tables `mydyno_meta` and `mydyno_load`, and the question whether this
//! is a database to run on.
//!
//! `mydyno_meta` says what was loaded, one row per fact, `mydyno_load` which chunks of it are
//! there: its row is written in the transaction that holds the chunk, so a load that was killed
//! goes on with what is missing. A database that tpcc-mysql loaded has neither and is taken as it
//! is.

use crate::population::ChunkSummary;
use crate::schema::Table;
use crate::{Chunk, probe};
use base::{Session, SessionError, SessionResult, WarehouseRange, Warehouses, errors};
use drive::{Facts, Merge};
use std::collections::{BTreeMap, BTreeSet};

/// Version of schema and population rules. A database of another version is loaded anew.
pub const SCHEMA_VERSION: u32 = 2;

const META: &str = "mydyno_meta";
const LOAD: &str = "mydyno_load";
/// The fact in `mydyno_meta`.
const DRIVEN_BY_TPCC_MYSQL: &str = "driven_by_tpcc_mysql";
const TABLE_OPTIONS: &str = "table_options";
const FIRST_WAREHOUSE: &str = "first_warehouse";
const LAST_WAREHOUSE: &str = "last_warehouse";

/// DDL of our own tables.
pub const CREATE_META_SQL: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS mydyno_meta (name VARCHAR(40) NOT NULL PRIMARY KEY, value \
     VARCHAR(200) NOT NULL) ENGINE=InnoDB DEFAULT CHARSET=latin1",
    "CREATE TABLE IF NOT EXISTS mydyno_load (table_name VARCHAR(20) NOT NULL, w_id INT NOT NULL, \
     row_count BIGINT NOT NULL, checksum BIGINT UNSIGNED NOT NULL, PRIMARY KEY (table_name, w_id)) \
     ENGINE=InnoDB DEFAULT CHARSET=latin1",
];

/// How far the database is that `mydyno_meta` describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadState {
    Loading = 0,
    /// All chunks are loaded and all indexes built.
    Complete = 1,
    /// It is being dropped to be loaded anew: no mark of a chunk means anything.
    Dropping = 2,
}

/// What a schema holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// No table at all.
    Empty,
    /// Tables, but not those of TPC-C; `missing` are those that it lacks.
    Other { tables: Vec<String>, missing: Vec<&'static str> },
    /// Loaded by mydyno, wholly or in part.
    Ours(Database, LoadState),
    /// All nine tables, made by another tool.
    Foreign { warehouses: Warehouses },
}

/// A database that transactions can run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// All of them, those of other shards too.
    pub warehouses: Warehouses,
    /// Those that have rows here: all, or those of a shard.
    pub range: WarehouseRange,
    /// The seed of the load; unknown where another tool loaded it.
    pub seed: Option<u64>,
    /// The load's constant for last names; unknown where another tool loaded it.
    pub c_load: Option<u32>,
    pub foreign_keys: bool,
    /// Of each table that is split; 0 where none is.
    pub partitions: u32,
    /// What ends the CREATE TABLE of each; unknown where another tool loaded it.
    pub table_options: Option<String>,
    /// HISTORY has a primary key.
    pub history_key: bool,
    /// Workload `tpcc-mysql` has run on it, so that the checks of
    /// [`crate::tpcc_mysql::FAILING_CHECKS`] cannot hold. Known only where mydyno loaded it.
    pub driven_by_tpcc_mysql: bool,
}

/// Why a schema is no database to run on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("no schema is selected; name one in the DSN (mysql://user@host/tpcc) or option file")]
    NoSchema,
    #[error("schema {schema:?} is empty; load it with `mydyno load`")]
    Empty { schema: String },
    #[error(
        "schema {schema:?} is not a TPC-C database: it lacks {}; name the right schema, or load \
         one with `mydyno load`",
        missing.join(", ")
    )]
    NotTpcc { schema: String, missing: Vec<&'static str> },
    #[error(
        "schema {schema:?} has tables of TPC-C's names without the columns {}; name the right \
         schema, or load one with `mydyno load`",
        missing.join(", ")
    )]
    OtherColumns { schema: String, missing: Vec<String> },
    #[error(
        "schema {schema:?} was not loaded by mydyno and is not whole: {}; load it again with the \
         tool that made it, or an empty schema with `mydyno load`",
        gaps.join("; ")
    )]
    NotWhole { schema: String, gaps: Vec<String> },
    #[error(
        "schema {schema:?} is half loaded ({chunks} of {wanted} chunks); the same `mydyno load` \
         ({}, seed {seed}) continues it, `mydyno load --force` starts anew",
        warehouses.counted()
    )]
    HalfLoaded { schema: String, chunks: u64, wanted: u64, warehouses: Warehouses, seed: u64 },
    #[error(
        "{table}.mydyno_meta holds no usable {name}; the table was changed by hand: load anew with \
         `mydyno load --force`"
    )]
    BadMeta { table: String, name: &'static str },
    #[error(
        "schema {schema:?} holds {}, but {wanted} were asked for; ask for at most {have}, or load \
         {wanted}",
        have.counted()
    )]
    TooFewWarehouses { schema: String, have: Warehouses, wanted: Warehouses },
}

impl Database {
    /// Into how many chunks a load divides it.
    fn chunks(&self) -> u64 {
        // The items are one.
        1 + (Table::ALL.len() as u64 - 1) * u64::from(self.range.count())
    }

    /// Is it one of several shards?
    pub fn is_shard(&self) -> bool {
        self.range != WarehouseRange::all(self.warehouses)
    }
}

/// The name of the schema that the session uses.
///
/// # Errors
/// [`InspectError::NoSchema`], [`InspectError::Session`].
pub async fn schema_name<S: Session>(session: &mut S) -> Result<String, InspectError> {
    let answer = session.query("SELECT DATABASE()").await?;
    match answer.row(0) {
        Some(row) if !row.is_null(0) => Ok(row.text(0)),
        _ => Err(InspectError::NoSchema),
    }
}

/// What the session's schema holds.
///
/// # Errors
/// [`InspectError::NoSchema`], [`InspectError::BadMeta`], [`InspectError::Session`].
pub async fn contents<S: Session>(session: &mut S) -> Result<Contents, InspectError> {
    let schema = schema_name(session).await?;
    let sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() \
        ORDER BY 1";
    let answer = session.query(sql).await?;
    let tables: Vec<String> = answer.rows().map(|row| row.text(0)).collect();
    let has = |name: &str| tables.iter().any(|table| table.eq_ignore_ascii_case(name));
    let has_meta = has(META);
    // A load that was killed right at its start leaves an empty one, and no table besides our two.
    let is_untouched = tables.iter().all(|table| table == META || table == LOAD);
    if has_meta && !(is_untouched && session.query("SELECT 1 FROM mydyno_meta").await?.is_empty()) {
        let (database, state) = read_meta(session, &schema).await?;
        return Ok(Contents::Ours(database, state));
    }
    let missing: Vec<&'static str> =
        Table::ALL.iter().map(|table| table.name()).filter(|name| !has(name)).collect();
    match (tables.is_empty() || has_meta, missing.is_empty()) {
        (true, _) => Ok(Contents::Empty),
        (false, false) => Ok(Contents::Other { tables, missing }),
        (false, true) => {
            // Warehouses are numbered from 1 without gaps, and tpcc_start's -w says how many are
            // used.
            let count = probe::count(session, "SELECT COUNT(*) FROM warehouse").await?;
            Ok(Contents::Foreign { warehouses: Warehouses(u32::try_from(count).unwrap_or(0)) })
        }
    }
}

/// The database that the session's schema holds, with at least `wanted` warehouses where a number
/// is asked for.
///
/// # Errors
/// Any [`InspectError`], each with what to do.
pub async fn inspect<S: Session>(
    session: &mut S,
    wanted: Option<Warehouses>,
) -> Result<Database, InspectError> {
    let schema = schema_name(session).await?;
    let database = match contents(session).await? {
        Contents::Empty | Contents::Foreign { warehouses: Warehouses(0) } => {
            return Err(InspectError::Empty { schema });
        }
        Contents::Other { missing, .. } => return Err(InspectError::NotTpcc { schema, missing }),
        Contents::Ours(database, LoadState::Complete) => database,
        Contents::Ours(database, _) => {
            let chunks = match loaded_chunks(session).await {
                Ok(loaded) => loaded.chunks.len() as u64,
                Err(error) if error.code() == Some(errors::NO_SUCH_TABLE) => 0,
                Err(error) => return Err(error.into()),
            };
            let Database { warehouses, seed, .. } = database;
            let (wanted, seed) = (database.chunks(), seed.unwrap_or_default());
            return Err(InspectError::HalfLoaded { schema, chunks, wanted, warehouses, seed });
        }
        Contents::Foreign { warehouses } => foreign(session, schema.clone(), warehouses).await?,
    };
    if let Some(wanted) = wanted.filter(|wanted| *wanted > database.warehouses) {
        return Err(InspectError::TooFewWarehouses { schema, have: database.warehouses, wanted });
    }
    Ok(database)
}

/// A database of another tool, if it has what transactions need.
async fn foreign<S: Session>(
    session: &mut S,
    schema: String,
    warehouses: Warehouses,
) -> Result<Database, InspectError> {
    let missing = probe::missing_columns(session).await?;
    if !missing.is_empty() {
        return Err(InspectError::OtherColumns { schema, missing });
    }
    let gaps = probe::gaps(session, warehouses).await?;
    if !gaps.is_empty() {
        return Err(InspectError::NotWhole { schema, gaps });
    }
    Ok(Database {
        warehouses,
        range: WarehouseRange::all(warehouses),
        seed: None,
        c_load: None,
        foreign_keys: probe::count(session, FOREIGN_KEYS_SQL).await? > 0,
        partitions: u32::try_from(probe::count(session, PARTITIONS_SQL).await?).unwrap_or(0),
        table_options: None,
        history_key: probe::count(session, HISTORY_KEYS_SQL).await? > 0,
        driven_by_tpcc_mysql: false,
    })
}

const FOREIGN_KEYS_SQL: &str = "SELECT COUNT(*) FROM information_schema.referential_constraints \
    WHERE constraint_schema = DATABASE() AND table_name = 'order_line'";

/// Of the largest table, which other tools split if any.
const PARTITIONS_SQL: &str = "SELECT COUNT(*) FROM information_schema.partitions WHERE \
    table_schema = DATABASE() AND table_name = 'order_line' AND partition_name IS NOT NULL";

const HISTORY_KEYS_SQL: &str = "SELECT COUNT(*) FROM information_schema.table_constraints WHERE \
    table_schema = DATABASE() AND table_name = 'history' AND constraint_type = 'PRIMARY KEY'";

/// Does the server, or the cluster that it is a node of, demand a primary key of every table?
///
/// # Errors
/// Where the server refuses.
pub async fn demands_primary_keys<S: Session>(session: &mut S) -> SessionResult<bool> {
    // A server does not know all of them.
    let sql = "SHOW VARIABLES WHERE variable_name IN ('sql_require_primary_key', \
        'innodb_force_primary_key', 'wsrep_on', 'group_replication_group_name')";
    let answer = session.query(sql).await?;
    let demands = |name: &str, value: &str| match name {
        // The group's name, where one is set up.
        "group_replication_group_name" => !value.is_empty(),
        _ => value.eq_ignore_ascii_case("ON") || value == "1",
    };
    let mut rows = answer.rows();
    Ok(rows.any(|row| demands(&row.text(0), &row.text(1))))
}

async fn read_meta<S: Session>(
    session: &mut S,
    schema: &str,
) -> Result<(Database, LoadState), InspectError> {
    let answer = session.query("SELECT name, value FROM mydyno_meta").await?;
    let facts: BTreeMap<String, String> =
        answer.rows().map(|row| (row.text(0), row.text(1))).collect();
    let bad = |name: &'static str| InspectError::BadMeta { table: schema.to_owned(), name };
    let number = |name: &'static str| -> Result<u64, InspectError> {
        facts.get(name).and_then(|value| value.parse().ok()).ok_or_else(|| bad(name))
    };
    let small = |name: &'static str| u32::try_from(number(name)?).map_err(|_| bad(name));
    if small("schema_version")? != SCHEMA_VERSION {
        return Err(bad("schema_version"));
    }
    let warehouses = Warehouses(small("warehouses")?);
    // Of a shard only.
    let range = match facts.contains_key(FIRST_WAREHOUSE) {
        true => WarehouseRange::between((small(FIRST_WAREHOUSE)?, small(LAST_WAREHOUSE)?))
            .filter(|range| range.last() <= warehouses.0)
            .ok_or_else(|| bad(LAST_WAREHOUSE))?,
        false => WarehouseRange::all(warehouses),
    };
    let database = Database {
        warehouses,
        range,
        seed: Some(number("seed")?),
        c_load: Some(small("c_load")?),
        foreign_keys: number("foreign_keys")? != 0,
        // An earlier mydyno did not split tables, and says nothing of it.
        partitions: if facts.contains_key("partitions") { small("partitions")? } else { 0 },
        table_options: facts.get(TABLE_OPTIONS).cloned(),
        // Nor did it give HISTORY a key.
        history_key: facts.get("history_key").is_some_and(|value| value == "1"),
        driven_by_tpcc_mysql: facts.contains_key(DRIVEN_BY_TPCC_MYSQL),
    };
    let state = match number("state")? {
        0 => LoadState::Loading,
        1 => LoadState::Complete,
        _ => LoadState::Dropping,
    };
    Ok((database, state))
}

/// Writes what is being loaded.
///
/// # Errors
/// Where the server refuses.
pub async fn write_meta<S: Session>(session: &mut S, database: &Database) -> SessionResult<()> {
    let flag = |is_so: bool| Some(u8::from(is_so).to_string());
    let of_shard = database.is_shard().then_some(database.range);
    let facts = [
        ("schema_version", Some(SCHEMA_VERSION.to_string())),
        ("warehouses", Some(database.warehouses.to_string())),
        ("seed", database.seed.map(|seed| seed.to_string())),
        ("c_load", database.c_load.map(|constant| constant.to_string())),
        ("foreign_keys", flag(database.foreign_keys)),
        ("partitions", Some(database.partitions.to_string())),
        ("history_key", flag(database.history_key)),
        ("state", Some((LoadState::Loading as u8).to_string())),
        ("mydyno_version", Some(env!("CARGO_PKG_VERSION").to_owned())),
        (TABLE_OPTIONS, database.table_options.as_ref().map(|of| of.replace('\'', "''"))),
        (FIRST_WAREHOUSE, of_shard.map(|range| range.first().to_string())),
        (LAST_WAREHOUSE, of_shard.map(|range| range.last().to_string())),
    ];
    let known =
        facts.into_iter().filter_map(|(name, value)| Some(format!("('{name}', '{}')", value?)));
    let sql = format!("INSERT INTO mydyno_meta VALUES {}", known.collect::<Vec<_>>().join(", "));
    session.query(&sql).await.map(drop)
}

/// Writes how far the database is.
///
/// # Errors
/// Where the server refuses.
pub async fn set_state<S: Session>(session: &mut S, state: LoadState) -> SessionResult<()> {
    let sql = format!("UPDATE mydyno_meta SET value = '{}' WHERE name = 'state'", state as u8);
    session.query(&sql).await.map(drop)
}

/// Writes that workload `tpcc-mysql` drives a database of ours; before it does, as a killed run
/// leaves its traces too.
///
/// # Errors
/// Where the server refuses.
pub async fn mark_driven_by_tpcc_mysql<S: Session>(session: &mut S) -> SessionResult<()> {
    let sql = format!("INSERT IGNORE INTO mydyno_meta VALUES ('{DRIVEN_BY_TPCC_MYSQL}', '1')");
    session.query(&sql).await.map(drop)
}

/// Marks a chunk as loaded, in the transaction that loads it.
///
/// # Errors
/// Where the server refuses.
pub async fn mark_chunk<S: Session>(
    session: &mut S,
    chunk: Chunk,
    summary: ChunkSummary,
) -> SessionResult<()> {
    let sql = format!(
        "INSERT INTO {LOAD} VALUES ('{}', {}, {}, {})",
        chunk.table, chunk.warehouse, summary.rows, summary.checksum
    );
    session.query(&sql).await.map(drop)
}

/// What the chunks of each table add up to.
pub type TableSums = BTreeMap<Table, ChunkSummary>;

/// The chunks that are loaded, and their sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedChunks {
    pub chunks: BTreeSet<Chunk>,
    pub sums: TableSums,
}

/// What `mydyno_load` says is loaded.
///
/// # Errors
/// Where the server refuses.
pub async fn loaded_chunks<S: Session>(session: &mut S) -> SessionResult<LoadedChunks> {
    let mut loaded = LoadedChunks::default();
    for table in Table::ALL {
        let sql = format!(
            "SELECT w_id, row_count, CAST(checksum AS CHAR) FROM {LOAD} WHERE table_name = \
             '{table}'"
        );
        let answer = session.query(&sql).await?;
        for row in answer.rows() {
            let warehouse = u32::try_from(row.int(0)?).unwrap_or(0);
            let rows = u64::try_from(row.int(1)?).unwrap_or(0);
            let checksum = row.text(2).parse().unwrap_or(0);
            let summary = ChunkSummary { rows, checksum, ..ChunkSummary::default() };
            loaded.chunks.insert(Chunk { table, warehouse });
            loaded.sums.entry(table).or_default().merge(&summary);
        }
    }
    Ok(loaded)
}

/// The numbers of [`Sums`], in the order of its fields.
///
/// # Errors
/// Where the server refuses.
pub async fn facts<S: Session>(session: &mut S) -> SessionResult<Facts> {
    let mut facts = Facts::default();
    for sql in [NEXT_ORDERS_SQL, OLDEST_OPEN_ORDERS_SQL, PAYMENT_CENTS_SQL] {
        facts.0.push(probe::count(session, sql).await?);
    }
    Ok(facts)
}

/// What the transactions that changed a database add up to: each rises with what was committed.
/// They are read from the rows of warehouses and districts, and from one place of an index for each
/// district: cheap on a database of any size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Of `d_next_o_id`: rises by 1 with each order.
    pub next_orders: i64,
    /// Of the number of the oldest open order of each district, or of its next order where none is
    /// open: rises by 1 with each order that is delivered, as the oldest one always is.
    pub oldest_open_orders: i64,
    /// Of `w_ytd` in cents: rises by the amount of each payment.
    pub payment_cents: i64,
}

impl From<&Facts> for Sums {
    fn from(facts: &Facts) -> Sums {
        let at = |place: usize| facts.0.get(place).copied().unwrap_or_default();
        Sums { next_orders: at(0), oldest_open_orders: at(1), payment_cents: at(2) }
    }
}

const NEXT_ORDERS_SQL: &str = "SELECT CAST(SUM(d_next_o_id) AS SIGNED) FROM district";
const OLDEST_OPEN_ORDERS_SQL: &str = "SELECT CAST(SUM(COALESCE((SELECT no_o_id FROM new_orders \
    WHERE no_w_id = d_w_id AND no_d_id = d_id ORDER BY no_o_id LIMIT 1), d_next_o_id)) AS SIGNED) \
    FROM district";
const PAYMENT_CENTS_SQL: &str = "SELECT CAST(SUM(w_ytd) * 100 AS SIGNED) FROM warehouse";

#[cfg(test)]
mod tests;
