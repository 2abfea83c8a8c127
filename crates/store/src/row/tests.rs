//! `docs/results-file.md` is an interface: its tables of columns are made from the row types, whose
//! doc comments say what a column means. `UPDATE_DOCS=1 cargo test -p store --lib` writes them
//! anew.

use super::Stored;
use crate::*;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;

/// Adds the columns of a row type with their meanings.
type Describe = fn(&str, &mut Vec<(String, String)>);

/// The row types of each table.
const ROWS: [(&str, &[Describe]); 33] = [
    ("block", &[Block::describe]),
    ("cell", &[StoredCell::describe]),
    ("cell_place", &[CellPlace::describe]),
    ("cell_preset", &[CellPreset::describe]),
    ("cell_transaction", &[CellTransaction::describe]),
    ("connection_time", &[StoredConnectionTime::describe]),
    ("check_result", &[StoredCheck::describe]),
    ("drill", &[StoredDrill::describe]),
    ("drill_witness", &[StoredWitness::describe]),
    ("failure", &[StoredFailure::describe]),
    ("fleet_rank", &[StoredRank::describe]),
    ("replica", &[StoredReplica::describe]),
    ("host_before", &[HostBefore::describe]),
    ("in_flight", &[InFlight::describe]),
    ("input_counter", &[InputCounter::describe]),
    ("instance_result", &[InstanceResult::describe]),
    ("interval", &[IntervalRow::describe]),
    ("interval_schedule", &[ScheduleCounts::describe]),
    ("interval_time", &[TimeRow::describe]),
    ("lab", &[NewLab::describe, Lab::describe]),
    ("load", &[StoredLoad::describe]),
    ("load_table", &[StoredLoadTable::describe]),
    ("metric", &[Metric::describe]),
    ("preset_variable", &[PresetVariable::describe]),
    ("ramp", &[StoredRamp::describe]),
    ("repeat", &[NewRepeat::describe, Repeat::describe, RepeatFailure::describe]),
    ("role_io", &[RoleIo::describe]),
    ("role_request", &[RequestIo::describe]),
    ("shim", &[ShimFacts::describe]),
    ("silence", &[StoredSilence::describe]),
    ("statement_time", &[StoredStatementTime::describe]),
    ("transaction_time", &[TransactionTime::describe]),
    ("verdict", &[StoredRequirement::describe]),
];

/// Columns that are in no row type.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "lab",
        "process",
        "Boot id, process id and start time of the writer, by which a later mydyno sees that it is \
         gone.",
    ),
    ("host_fact", "machine", "The number of the machine in its lab, from 1."),
    (
        "host_fact",
        "key",
        "`host_name`, `cpu_model`, `cpu_cores`, `memory_bytes`, `kernel`, `os`, `file_system`, ...",
    ),
    ("cell_transaction", "ordinal", "Order of the workload, from 1."),
    (
        "cell_setting",
        "name",
        "`preset`, `scale` (of the preset, where it is not for the cell's warehouses), \
         `innodb_io_capacity`, `page_cache_bytes` (of emulated devices, `--page-cache`), ...",
    ),
    ("cell_preset", "cell_id", "The key."),
    ("preset_variable", "ordinal", "Order of the papers."),
    ("repeat", "process", "As in `lab`."),
    ("host_before", "repeat_id", "The key."),
    ("ramp_response_limit", "p90_us", "The longest 90th percentile."),
    ("ramp_point", "repeat_id", "The key."),
    ("server_variable", "phase", "`start` or `end`."),
    ("server_status", "phase", "`start` or `end`."),
    ("metric", "id", "The key."),
    ("sample", "at_offset_ns", "When it was read, from the start of the run."),
    ("interval", "id", "The key."),
    (
        "interval",
        "latency_histogram_ns",
        "The same response times as HdrHistogram V2, deflated (any HdrHistogram library reads it; \
         not base64); NULL where there is none.",
    ),
    ("interval_schedule", "phase", "As in `interval`."),
    ("interval_time", "id", "The key."),
    ("interval_time", "phase", "As in `interval`."),
    ("statement_time", "executions", "Statements that were sent."),
    ("connection_time", "repeat_id", "The key."),
    ("silence", "ordinal", "Order of time, from 1."),
    ("verdict", "ordinal", "Order to show them in."),
    ("role_request", "role", "As in `cell_place`."),
    ("shim", "repeat_id", "The key."),
    ("drill_witness", "ordinal", "Order to show them in."),
    ("input_counter", "ordinal", "Order to show them in."),
    ("load", "id", "The key."),
    ("load_table", "ordinal", "Order of the schema."),
    ("check_result", "id", "The key."),
    ("check_result", "lab_id", "One of the three is set."),
    ("note", "id", "The key."),
    ("note", "lab_id", "One of the two is set."),
    ("note", "note", "Text."),
];

/// What each column means, where it has to be said.
fn meanings() -> BTreeMap<(String, String), String> {
    let others = OTHERS.iter().map(|(table, column, meaning)| {
        let key = ((*table).to_owned(), (*column).to_owned());
        (key, (*meaning).to_owned())
    });
    let mut meanings: BTreeMap<_, _> = others.collect();
    for (table, types) in ROWS {
        let mut columns = Vec::new();
        types.iter().for_each(|describe| describe("", &mut columns));
        for (column, meaning) in columns.into_iter().filter(|(_, meaning)| !meaning.is_empty()) {
            let key = (table.to_owned(), column);
            meanings.entry(key).or_insert(meaning);
        }
    }
    meanings
}

/// Columns of each table of a new file, in their order.
fn columns_by_table() -> BTreeMap<String, Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    drop(Results::create_or_open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    let mut columns = connection
        .prepare(
            "SELECT t.name, c.name FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c \
             WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid",
        )
        .unwrap();
    let mut by_table: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let rows = columns.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    for row in rows.unwrap() {
        let (table, column): (String, String) = row.unwrap();
        by_table.entry(table).or_default().push(column);
    }
    by_table
}

#[test]
fn every_table_and_column_is_listed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results-file.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut meanings = meanings();
    let mut undescribed = columns_by_table();
    let mut made = String::new();
    let mut table = None;
    for line in text.lines() {
        match line.strip_prefix("### ") {
            Some(heading) => table = heading.split('`').nth(1),
            None if line.starts_with("## ") => table = None,
            None => {}
        }
        if table.is_some() && line.starts_with("| `") {
            continue;
        }
        made.push_str(line);
        made.push('\n');
        let Some(table) = table.filter(|_| line.starts_with("|---")) else {
            continue;
        };
        for column in undescribed.remove(table).unwrap_or_default() {
            let meaning = meanings.remove(&(table.to_owned(), column.clone()));
            let meaning = meaning.map_or_else(String::new, |meaning| format!(" {meaning}"));
            made.push_str(&format!("| `{column}` |{meaning} |\n"));
        }
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    assert!(undescribed.is_empty(), "no heading and table head: {undescribed:?}");
    assert!(meanings.is_empty(), "not columns: {meanings:?}");
    let update = "UPDATE_DOCS=1 cargo test -p store --lib";
    assert!(made == text, "columns are not those of the file; `{update}`");
}
