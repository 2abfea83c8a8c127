//! Before a run: do the meters that were asked for say something, does the server leave room for
//! what is asked, and does this process?

use crate::error::{LabError, LabResult, WhileDoing, unfit};
use base::{Session, value_of};
use observe::{ExporterSource, MeterSource, Readings, SampleSource};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use spec::Meters;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wire::Connection;

/// Connections that mydyno needs beside the driving ones: variables, sums, checks, and the
/// observer's.
const EXTRA_CONNECTIONS: u64 = 3;

/// How long the server may count sessions that this process has closed.
const LEAVING_PATIENCE: Duration = Duration::from_millis(500);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What the packets of a load and of its statements need.
const PACKET_BYTES: u64 = 64 << 10;

/// Files that this process needs beside its sockets.
const EXTRA_FILES: u64 = 64;

async fn number(session: &mut Connection, sql: &str, column: usize) -> LabResult<u64> {
    let answer = session.query(sql).await;
    let value = answer.and_then(|of| of.row(0).map_or(Ok(0), |row| row.int(column)));
    Ok(u64::try_from(value.doing("reading the server's limits")?).unwrap_or(0))
}

/// Checks that the server has room for `connections` connections with `statements` prepared ones
/// each, and takes writes.
///
/// # Errors
/// [`LabError::Unfit`] with the value that is needed.
pub(crate) async fn check_server(
    session: &mut Connection,
    (connections, statements): (u32, u32),
) -> LabResult<()> {
    check_packets(session).await?;
    let connected = "SHOW GLOBAL STATUS LIKE 'Threads_connected'";
    let limit = number(session, "SELECT @@global.max_connections", 0).await?;
    let asked_at = Instant::now();
    let (in_use, needed) = loop {
        let in_use = number(session, connected, 1).await?;
        // The session that asks is among those in use, and one of the extra ones.
        let needed = in_use + u64::from(connections) + EXTRA_CONNECTIONS - 1;
        if limit >= needed || asked_at.elapsed() > LEAVING_PATIENCE {
            break (in_use, needed);
        }
        reactor::sleep_until(Instant::now() + LOOK_EVERY).await;
    };
    if limit < needed {
        return Err(unfit(format!(
            "max_connections of the server is {limit}, but {connections} connections and the \
             {in_use} that are open need {needed}; run SET GLOBAL max_connections = {needed} (a \
             private server: set it to that), or use at most {} connections",
            (limit + 1).saturating_sub(in_use + EXTRA_CONNECTIONS)
        )));
    }
    let in_use = number(session, "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'", 1).await?;
    let limit = number(session, "SELECT @@global.max_prepared_stmt_count", 0).await?;
    let needed = in_use + u64::from(connections) * u64::from(statements);
    if limit < needed {
        return Err(unfit(format!(
            "max_prepared_stmt_count of the server is {limit}, but {connections} connections with \
             {statements} statements each need {needed}; run SET GLOBAL max_prepared_stmt_count = \
             {needed} (a private server: set it to that), use fewer connections, or --no-prepare"
        )));
    }
    if number(session, "SELECT @@global.read_only OR @@global.innodb_read_only", 0).await? == 1 {
        return Err(unfit(
            "the server is read-only; run SET GLOBAL read_only = 0, or name the primary",
        ));
    }
    Ok(())
}

/// Checks that the server takes packets as large as those of mydyno.
///
/// # Errors
/// [`LabError::Unfit`] where it does not.
pub(crate) async fn check_packets(session: &mut Connection) -> LabResult<()> {
    match number(session, "SELECT @@global.max_allowed_packet", 0).await? {
        limit if limit >= PACKET_BYTES => Ok(()),
        limit => Err(unfit(format!(
            "max_allowed_packet of the server is {limit}, but packets have {PACKET_BYTES} bytes; \
             run SET GLOBAL max_allowed_packet = 67108864 (a private server: set it to that)"
        ))),
    }
}

/// Checks that a server with these variables lets sessions of that isolation level write.
///
/// # Errors
/// [`LabError::Unfit`] where its binary log cannot hold what they do.
pub(crate) fn check_binlog(variables: &[(String, String)], isolation: &str) -> LabResult<()> {
    let is = |name, value| value_of(variables, name).is_some_and(|of| of == value);
    let is_weak = ["read-committed", "read-uncommitted"].contains(&isolation);
    if is_weak && is("log_bin", "ON") && is("binlog_format", "STATEMENT") {
        return Err(unfit(format!(
            "binlog_format of the server is STATEMENT, with which InnoDB refuses every write at \
             isolation level {isolation}; run SET GLOBAL binlog_format = 'ROW' (a private server: \
             set it to that), or use --isolation repeatable-read"
        )));
    }
    Ok(())
}

/// Reads each meter that was asked for once: one that says nothing now would leave its gap in the
/// whole run.
///
/// # Errors
/// [`LabError::Unfit`] with what the meter said; [`LabError::Interrupted`].
pub fn check_meters(meters: &Meters, stop: &AtomicBool) -> LabResult<()> {
    if let Some(command) = &meters.power_command {
        check_meter(&mut MeterSource::new(command), stop)?;
    }
    if let Some(url) = &meters.host_metrics {
        check_meter(&mut ExporterSource::new(url), stop)?;
    }
    Ok(())
}

fn check_meter(meter: &mut dyn SampleSource, stop: &AtomicBool) -> LabResult<()> {
    match meter.read(&mut Readings::default(), stop) {
        Ok(()) => Ok(()),
        Err(_) if stop.load(Ordering::Relaxed) => Err(LabError::Interrupted),
        Err(error) => Err(unfit(store::redact(&error.to_string()))),
    }
}

/// Raises this process's limit of open files to so many `more`: a socket for each connection, or
/// what the threads of a load have.
///
/// # Errors
/// [`LabError::Unfit`] where the hard limit is too low.
pub(crate) fn raise_file_limit(more: u32) -> LabResult<()> {
    let needed = u64::from(more) + EXTRA_FILES;
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
    if limit.current.is_none_or(|current| current >= needed)
        || setrlimit(Resource::Nofile, raised).is_ok()
    {
        return Ok(());
    }
    Err(unfit(format!(
        "the connections need {needed} open files, but this process may have {}; raise `ulimit \
         -n`, or use fewer connections or threads",
        limit.maximum.or(limit.current).unwrap_or(0)
    )))
}

/// What a server shows of itself.
pub(crate) struct ServerTold {
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) status: Vec<(String, String)>,
}

/// # Errors
/// Where the server refuses.
pub(crate) async fn told(session: &mut Connection) -> LabResult<ServerTold> {
    Ok(ServerTold { variables: variables(session).await?, status: status(session).await? })
}

/// All global variables, as the server shows them.
///
/// # Errors
/// Where the server refuses.
pub(crate) async fn variables(session: &mut Connection) -> LabResult<Vec<(String, String)>> {
    let answer =
        session.query("SHOW GLOBAL VARIABLES").await.doing("reading the server's variables")?;
    Ok(answer.rows().map(|row| (row.text(0), row.text(1))).collect())
}

/// All counters of the server, as it shows them.
///
/// # Errors
/// Where the server refuses.
pub(crate) async fn status(session: &mut Connection) -> LabResult<Vec<(String, String)>> {
    observe::global_status(session).await.doing("reading the server's status")
}

/// Bytes of the tables that a condition names and of their indexes; `None` where the session may
/// not look.
pub(crate) async fn data_bytes(session: &mut Connection, condition: &str) -> Option<u64> {
    let of_tables = "SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE";
    let answer = session.query(&format!("{of_tables} {condition}")).await.ok()?;
    let bytes: f64 = answer.rows().next()?.text(0).parse().ok()?;
    Some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::{Meters, check_binlog, check_meters};
    use crate::error::LabError;
    use base::Exit;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_binary_log_of_statements_wants_repeatable_reads() {
        let told = |log: &str, format: &str| {
            let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            [of("log_bin", log), of("binlog_format", format)]
        };
        let error = check_binlog(&told("ON", "STATEMENT"), "read-committed").unwrap_err();
        assert!(error.to_string().contains("binlog_format = 'ROW'"), "{error}");
        check_binlog(&told("ON", "STATEMENT"), "repeatable-read").unwrap();
        check_binlog(&told("ON", "MIXED"), "read-committed").unwrap();
        check_binlog(&told("OFF", "STATEMENT"), "read-uncommitted").unwrap();
        check_binlog(&[], "read-committed").unwrap();
    }

    #[test]
    fn meters_that_say_nothing_are_told_before_a_run() {
        let stop = AtomicBool::new(false);
        let power =
            |command: &str| Meters { power_command: Some(command.to_owned()), host_metrics: None };
        let host = |url: &str| Meters { power_command: None, host_metrics: Some(url.to_owned()) };
        check_meters(&Meters::default(), &stop).unwrap();
        check_meters(&power("echo 200"), &stop).unwrap();
        for (meters, words) in [
            (power("echo off"), ["no watts", "off"]),
            (power("exit 3"), ["no watts", "3"]),
            (host("http://u:geheim@127.0.0.1:1/metrics"), ["no metrics", "refused"]),
        ] {
            let error = check_meters(&meters, &stop).unwrap_err();
            assert_eq!(error.exit(), Exit::Environment);
            let text = error.to_string();
            let lower = text.to_lowercase();
            assert!(words.iter().all(|word| lower.contains(word)), "{text}");
            assert!(!text.contains("geheim"), "{text}");
        }
        let stopped = check_meters(&power("sleep 60"), &AtomicBool::new(true));
        assert!(matches!(stopped, Err(LabError::Interrupted)));
    }
}
