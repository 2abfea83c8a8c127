//! Before a run: does the server leave room for what is asked, and does this process?

use crate::error::LabError;
use base::{Session, SessionError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use wire::Connection;

/// Connections that mydyno needs beside the driving ones: variables, sums, checks, and the observer's.
const EXTRA_CONNECTIONS: u64 = 3;

/// Prepared statements of a connection.
#[derive(Clone, Copy)]
pub(crate) struct PreparedStatements(pub(crate) u32);

/// Files that this process needs beside its sockets.
const EXTRA_FILES: u64 = 64;

async fn number(session: &mut Connection, sql: &str, column: usize) -> Result<u64, SessionError> {
    let answer = session.query(sql).await?;
    let value = answer.row(0).map_or(Ok(0), |row| row.int(column))?;
    Ok(u64::try_from(value).unwrap_or(0))
}

/// Checks that the server has room for `connections` connections with so many prepared statements each, and takes writes.
///
/// # Errors
/// [`LabError::Unfit`] with the value that is needed.
pub(crate) async fn check_server(
    session: &mut Connection,
    connections: u32,
    statements: PreparedStatements,
) -> Result<(), LabError> {
    let PreparedStatements(statements) = statements;
    let failed = |error| LabError::Session {
        doing: "reading the server's limits",
        error,
    };
    let connected = "SHOW GLOBAL STATUS LIKE 'Threads_connected'";
    let in_use = number(session, connected, 1).await.map_err(failed)?;
    let limit = number(session, "SELECT @@global.max_connections", 0)
        .await
        .map_err(failed)?;
    // The session that asks is among those in use, and one of the extra ones.
    let needed = in_use + u64::from(connections) + EXTRA_CONNECTIONS - 1;
    if limit < needed {
        return Err(LabError::Unfit(format!(
            "max_connections of the server is {limit}, but {connections} connections and the {in_use} that are open \
             need {needed}; run SET GLOBAL max_connections = {needed}, or use at most {} connections (-c)",
            (limit + 1).saturating_sub(in_use + EXTRA_CONNECTIONS)
        )));
    }
    let prepared = "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'";
    let in_use = number(session, prepared, 1).await.map_err(failed)?;
    let sql = "SELECT @@global.max_prepared_stmt_count";
    let limit = number(session, sql, 0).await.map_err(failed)?;
    let needed = in_use + u64::from(connections) * u64::from(statements);
    if limit < needed {
        return Err(LabError::Unfit(format!(
            "max_prepared_stmt_count of the server is {limit}, but {connections} connections with {statements} \
             statements each need {needed}; run SET GLOBAL max_prepared_stmt_count = {needed}, or use fewer connections (-c)"
        )));
    }
    let sql = "SELECT @@global.read_only OR @@global.innodb_read_only";
    if number(session, sql, 0).await.map_err(failed)? == 1 {
        return Err(LabError::Unfit(
            "the server is read-only; run SET GLOBAL read_only = 0, or name the primary".to_owned(),
        ));
    }
    Ok(())
}

/// Raises this process's limit of open files to what `connections` sockets need.
///
/// # Errors
/// [`LabError::Unfit`] where the hard limit is too low.
pub(crate) fn raise_file_limit(connections: u32) -> Result<(), LabError> {
    let needed = u64::from(connections) + EXTRA_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum: limit.maximum,
    };
    if limit.maximum.is_none_or(|maximum| maximum >= needed)
        && setrlimit(Resource::Nofile, raised).is_ok()
    {
        return Ok(());
    }
    Err(LabError::Unfit(format!(
        "{connections} connections need {needed} open files, but this process may have {}; raise `ulimit -n`",
        limit.maximum.or(limit.current).unwrap_or(0)
    )))
}

/// All global variables, as the server shows them.
///
/// # Errors
/// Where the server refuses.
pub(crate) async fn variables(session: &mut Connection) -> Result<Vec<(String, String)>, LabError> {
    let answer = session
        .query("SHOW GLOBAL VARIABLES")
        .await
        .map_err(|error| LabError::Session {
            doing: "reading the server's variables",
            error,
        })?;
    Ok(answer
        .rows()
        .map(|row| (row.text(0), row.text(1)))
        .collect())
}

/// All counters of the server, as it shows them.
///
/// # Errors
/// Where the server refuses.
pub(crate) async fn status(session: &mut Connection) -> Result<Vec<(String, String)>, LabError> {
    observe::global_status(session)
        .await
        .map_err(|error| LabError::Session {
            doing: "reading the server's status",
            error,
        })
}
