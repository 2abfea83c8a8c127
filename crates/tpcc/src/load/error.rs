//! Why a load did not come to its end.

use crate::database::{Database, InspectError};
use crate::schema::Table;
use base::{Exit, SessionError, first_of};

/// Why a load did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{0}")]
    Connect(String),
    #[error(transparent)]
    Inspect(#[from] InspectError),
    #[error("{what} failed: {error}; the same `mydyno load` continues where this one ended")]
    Server { what: String, error: SessionError },
    #[error("another load is at work on schema {schema:?}; wait for it, or end it")]
    Locked { schema: String },
    #[error("schema {schema:?} is not empty: it holds {what}; use another schema, or --force")]
    NotEmpty { schema: String, what: String },
    #[error(
        "schema {schema:?} holds TPC-C tables that mydyno did not make ({}), and mydyno drops only \
         its own; drop them yourself or use another schema",
        first_of(tables)
    )]
    NotOurs { schema: String, tables: Vec<String> },
    #[error(
        "schema {schema:?} holds a part of another load ({}, seed {}, foreign keys {}, {} \
         partitions, {} key of HISTORY, table options {:?}); continue it with these, or use \
         --force to start anew",
        rows_of(found), found.seed.unwrap_or_default(),
        if found.foreign_keys { "on" } else { "off" },
        found.partitions,
        if found.history_key { "a" } else { "no" },
        found.table_options.as_deref().unwrap_or_default()
    )]
    OtherLoad { schema: String, found: Box<Database> },
    #[error(
        "an earlier `mydyno load --force` on schema {schema:?} was interrupted while it dropped \
         the old tables; use --force again"
    )]
    HalfDropped { schema: String },
    #[error(
        "the server demands a primary key of every table, and HISTORY of this database has none; \
         use --force to load it anew with --history-key"
    )]
    PrimaryKeyRequired,
    #[error("the server is read-only: {error}; switch read_only off or name another server")]
    ReadOnly { error: SessionError },
    #[error(
        "{chunk_table} of warehouse {warehouse}: {sent} rows were sent but {stored} stored; the \
         table holds rows that mydyno did not load, or the server bends values ({warning}): use \
         --force to start anew"
    )]
    RowsMissing {
        /// The server's first warning.
        warning: String,
        chunk_table: Table,
        warehouse: u32,
        sent: u64,
        stored: u64,
    },
    #[error(
        "{marked} of {wanted} chunks are there when all should be; the server has no locks, so \
         another load may have been at work on this schema: use --force to start anew"
    )]
    ChunksMissing { marked: usize, wanted: usize },
    #[error("interrupted; the same `mydyno load` continues where this one ended")]
    Interrupted,
    #[error("a loading thread failed")]
    Thread(#[from] std::io::Error),
    /// Another process that loads a part.
    #[error("{0}; the same `mydyno load` continues where this one ended")]
    Helper(String),
}

impl From<SessionError> for LoadError {
    fn from(error: SessionError) -> LoadError {
        LoadError::Inspect(error.into())
    }
}

impl LoadError {
    /// What the shell is told.
    pub fn exit(&self) -> Exit {
        match self {
            LoadError::Interrupted => Exit::Interrupted,
            LoadError::Server { error: SessionError::Lost(_), .. }
            | LoadError::Inspect(InspectError::Session(SessionError::Lost(_))) => {
                Exit::ServerFailed
            }
            LoadError::Server { .. }
            | LoadError::RowsMissing { .. }
            | LoadError::ChunksMissing { .. }
            | LoadError::Helper(_)
            | LoadError::Thread(_) => Exit::Failed,
            _ => Exit::Environment,
        }
    }
}

/// Which warehouses a load is of, for people.
fn rows_of(of: &Database) -> String {
    match of.is_shard() {
        false => of.warehouses.counted(),
        true => format!("{} of {}", of.range, of.warehouses),
    }
}
