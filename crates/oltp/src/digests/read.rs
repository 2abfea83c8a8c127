//! What a server says of its digests and tables. No row of a table is read: the smallest and
//! largest values come from the ends of indexes.

use super::digest::{Digest, DigestError};
use super::tables::{ColumnFacts, KeyFacts, TableFacts, quoted};
use base::{Session, SessionError, SessionResult, USERS_SETTINGS, errors};
use std::collections::BTreeMap;

/// What a server has counted for a schema.
#[derive(Debug, Default)]
pub(super) struct ObservedDigests {
    pub(super) schema: String,
    pub(super) version: String,
    /// The most frequent first.
    pub(super) digests: Vec<Digest>,
    pub(super) tables: Vec<TableFacts>,
    /// Statements that had no room of their own, of all schemas.
    pub(super) lost: u64,
    /// Executions of prepared statements, of all schemas, which have no digests.
    pub(super) executed: u64,
    /// How many bytes of a digest are kept.
    pub(super) digest_bytes: usize,
}

/// Digests that are looked at.
const DIGESTS_MAX: usize = 1_000;

type TextRows = Vec<Vec<Option<String>>>;

async fn rows<S: Session>(session: &mut S, sql: &str) -> SessionResult<TextRows> {
    let answer = session.query(sql).await?;
    let width = answer.width;
    let value = |row: &base::Row<'_>, column| (!row.is_null(column)).then(|| row.text(column));
    Ok(answer.rows().map(|row| (0..width).map(|column| value(&row, column)).collect()).collect())
}

async fn asked<S: Session>(
    session: &mut S,
    what: &str,
    sql: &str,
) -> Result<TextRows, DigestError> {
    rows(session, sql).await.map_err(|error| {
        let what = what.to_owned();
        match is_denied(&error) {
            true => DigestError::NoRights { what, error },
            false => DigestError::Failed { what, error },
        }
    })
}

fn is_denied(error: &SessionError) -> bool {
    const COLUMNACCESS_DENIED: u16 = 1143;
    let codes =
        [errors::DBACCESS_DENIED_ERROR, errors::TABLEACCESS_DENIED_ERROR, COLUMNACCESS_DENIED];
    error.code().is_some_and(|code| codes.contains(&code))
}

fn text(row: &[Option<String>], column: usize) -> String {
    row.get(column).cloned().flatten().unwrap_or_default()
}

fn number(row: &[Option<String>], column: usize) -> Option<u64> {
    row.get(column)?.as_ref()?.parse().ok()
}

fn one(rows: &TextRows) -> u64 {
    rows.first().and_then(|row| number(row, 0)).unwrap_or(0)
}

/// Reads digests, and tables as far as dictionaries know them.
pub(super) async fn observe<S: Session>(
    session: &mut S,
    samples: bool,
) -> Result<ObservedDigests, DigestError> {
    // MySQL 8.0 keeps what it once told of tables for a day.
    let fresh = "SET NAMES utf8mb4 /*!80000 , information_schema_stats_expiry = 0 */";
    asked(session, "variables", fresh).await?;
    let head = "SELECT DATABASE(), VERSION(), @@performance_schema, LEAST(@@max_digest_length, \
                @@performance_schema_max_digest_length)";
    // The last variable is not there in MariaDB before 10.5 and MySQL 5.6.
    let head = match rows(session, head).await {
        Ok(head) => head,
        Err(_) => {
            asked(
                session,
                "variables",
                "SELECT DATABASE(), VERSION(), \
                  @@performance_schema, @@max_digest_length",
            )
            .await?
        }
    };
    let head = head.first().map_or(&[][..], Vec::as_slice);
    if number(head, 2) != Some(1) {
        return Err(DigestError::Off);
    }
    let consumers = "SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED <> 'YES' \
                     AND NAME IN ('global_instrumentation', 'statements_digest')";
    let off = asked(session, "performance_schema.setup_consumers", consumers).await?;
    if let Some(consumer) = off.first() {
        return Err(DigestError::ConsumerOff { consumer: text(consumer, 0) });
    }
    let mut observed = ObservedDigests {
        schema: text(head, 0),
        version: text(head, 1),
        digest_bytes: number(head, 3).unwrap_or(1024) as usize,
        ..ObservedDigests::default()
    };
    add_digests(session, samples, &mut observed).await?;
    observed.tables = tables(session).await?;
    // Statements are prepared as a run has them.
    asked(session, "variables", USERS_SETTINGS).await?;
    Ok(observed)
}

async fn add_digests<S: Session>(
    session: &mut S,
    samples: bool,
    observed: &mut ObservedDigests,
) -> Result<(), DigestError> {
    const TABLE: &str = "performance_schema.events_statements_summary_by_digest";
    let has_samples = "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = \
                       'performance_schema' AND TABLE_NAME = 'events_statements_summary_by_digest' \
                       AND COLUMN_NAME = 'QUERY_SAMPLE_TEXT'";
    let has_samples = samples && one(&asked(session, TABLE, has_samples).await?) > 0;
    let sample = if has_samples { "QUERY_SAMPLE_TEXT" } else { "NULL" };
    let digests = format!(
        "SELECT DIGEST_TEXT, COUNT_STAR, SUM_ROWS_AFFECTED, SUM_ROWS_SENT, SUM_ROWS_EXAMINED, \
         {sample} FROM {TABLE} WHERE SCHEMA_NAME = DATABASE() AND DIGEST_TEXT IS NOT NULL ORDER BY \
         COUNT_STAR DESC, DIGEST_TEXT LIMIT {DIGESTS_MAX}"
    );
    let mut tells_executions = false;
    for row in asked(session, TABLE, &digests).await? {
        let number = |column| number(&row, column).unwrap_or(0);
        // MySQL 9 tells executions of prepared statements so, and older ones do not at all.
        let written = text(&row, 0);
        let plain = written.strip_prefix("EXECUTE ");
        tells_executions |= plain.is_some();
        observed.digests.push(Digest {
            text: plain.unwrap_or(&written).trim_end().to_owned(),
            calls: number(1),
            rows_affected: number(2),
            rows_sent: number(3),
            rows_examined: number(4),
            sample: row.get(5).cloned().flatten(),
        });
    }
    let lost = format!("SELECT SUM(COUNT_STAR) FROM {TABLE} WHERE DIGEST IS NULL");
    let executed = "SELECT COUNT_STAR FROM \
                    performance_schema.events_statements_summary_global_by_event_name WHERE \
                    EVENT_NAME = 'statement/com/Execute'";
    observed.executed = one(&asked(session, TABLE, executed).await?);
    // Where they have no digest they are counted there as well.
    let lost = one(&asked(session, TABLE, &lost).await?);
    observed.lost = lost.saturating_sub(observed.executed);
    if tells_executions {
        observed.executed = 0;
    }
    Ok(())
}

/// The tables of the schema, with columns and keys.
async fn tables<S: Session>(session: &mut S) -> Result<Vec<TableFacts>, DigestError> {
    let mut tables = Vec::new();
    let mut places = BTreeMap::new();
    let sql = "SELECT TABLE_NAME, TABLE_TYPE, TABLE_ROWS, AVG_ROW_LENGTH FROM \
               information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME";
    for row in asked(session, "information_schema.TABLES", sql).await? {
        places.insert(text(&row, 0), tables.len());
        tables.push(TableFacts {
            name: text(&row, 0),
            is_view: text(&row, 1) == "VIEW",
            rows: number(&row, 2).unwrap_or(0),
            row_bytes: number(&row, 3).unwrap_or(0),
            ..TableFacts::default()
        });
    }
    let sql = "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, CHARACTER_MAXIMUM_LENGTH, EXTRA FROM \
               information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, \
               ORDINAL_POSITION";
    for row in asked(session, "information_schema.COLUMNS", sql).await? {
        let Some(place) = places.get(&text(&row, 0)) else { continue };
        let extra = text(&row, 4).to_ascii_uppercase();
        tables[*place].columns.push(ColumnFacts {
            name: text(&row, 1),
            column_type: text(&row, 2),
            length: number(&row, 3),
            is_generated: ["VIRTUAL", "STORED", "PERSISTENT"].iter().any(|of| extra.contains(of)),
            ..ColumnFacts::default()
        });
    }
    let sql = "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME, NON_UNIQUE, CARDINALITY, SEQ_IN_INDEX \
               FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND INDEX_TYPE = \
               'BTREE' ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', NON_UNIQUE, INDEX_NAME, \
               SEQ_IN_INDEX";
    for row in asked(session, "information_schema.STATISTICS", sql).await? {
        let Some(table) = places.get(&text(&row, 0)).map(|place| &mut tables[*place]) else {
            continue;
        };
        // An index on an expression has none.
        let column = text(&row, 2);
        let Some(column) = table.columns.iter().position(|of| of.name == column) else { continue };
        if number(&row, 5) == Some(1) {
            let is_unique = number(&row, 3) == Some(0);
            table.keys.push(KeyFacts { is_unique, columns: Vec::new() });
        }
        if let Some(key) = table.keys.last_mut() {
            // None where they were not made yet.
            key.columns.push((column, number(&row, 4).filter(|count| *count > 0)));
        }
    }
    Ok(tables)
}

/// Adds what is asked only of tables that statements use: how they are created, the ends of their
/// indexes, and histograms.
pub(super) async fn look_into<S: Session>(
    session: &mut S,
    table: &mut TableFacts,
) -> Result<(), DigestError> {
    let name = quoted(&table.name);
    let create = asked(session, &table.name, &format!("SHOW CREATE TABLE {name}")).await?;
    table.create = create.first().map(|row| text(row, 1)).unwrap_or_default();
    for key in &table.keys {
        let mut known = Vec::new();
        for (place, _) in &key.columns {
            let column = &mut table.columns[*place];
            if !column.is_integer() {
                break;
            }
            let of = quoted(&column.name);
            // Each is one look into the index, as all columns before have one value.
            let before = if known.is_empty() { "1 = 1".to_owned() } else { known.join(" AND ") };
            let sql = format!("SELECT MIN({of}), MAX({of}) FROM {name} WHERE {before}");
            let ends = asked(session, &table.name, &sql).await?;
            let end = |at: usize| ends.first()?.get(at)?.as_ref()?.parse::<i64>().ok();
            let Some(range) = end(0).zip(end(1)) else { break };
            column.range = column.range.or(Some(range));
            known.push(format!("{of} = {}", range.0));
        }
    }
    let sql = format!(
        "SELECT COLUMN_NAME, JSON_LENGTH(HISTOGRAM, '$.buckets'), \
         JSON_EXTRACT(HISTOGRAM, '$.buckets[*][3]') FROM information_schema.COLUMN_STATISTICS \
         WHERE SCHEMA_NAME = DATABASE() AND TABLE_NAME = '{}'",
        table.name.replace('\\', "\\\\").replace('\'', "''")
    );
    // Other servers have none.
    for row in rows(session, &sql).await.unwrap_or_default() {
        let in_buckets = text(&row, 2);
        let in_buckets = in_buckets.trim_matches(['[', ']']).split(',');
        let in_buckets: u64 = in_buckets.filter_map(|count| count.trim().parse::<u64>().ok()).sum();
        // With a bucket for each value they are not counted.
        let distinct = if in_buckets > 0 { Some(in_buckets) } else { number(&row, 1) };
        let name = text(&row, 0);
        if let Some(column) = table.columns.iter_mut().find(|of| of.name == name) {
            column.distinct = distinct.filter(|count| *count > 0);
        }
    }
    Ok(())
}

/// Has the server prepare a statement, which it does not run; within, why it refuses.
pub(super) async fn prepared<S: Session>(
    session: &mut S,
    sql: &str,
) -> Result<Result<(), String>, DigestError> {
    match session.prepare_kind("digest", sql).await {
        Ok(_) => {}
        // Who may read digests may not be who may write.
        Err(error) if is_denied(&error) => {}
        Err(error @ SessionError::Server { .. }) => {
            return Ok(Err(format!("cannot be prepared as it is here ({error})")));
        }
        Err(error @ (SessionError::Lost(_) | SessionError::Unexpected(_))) => {
            return Err(DigestError::Failed { what: "digests".to_owned(), error });
        }
    }
    Ok(Ok(()))
}
