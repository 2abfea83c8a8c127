//! `docs/results-file.md` and `docs/json.md` are interfaces: they name exactly what there is, and
//! their queries run.

use crate::common::{self, interval, result, running};
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use store::{
    InputCounter, JudgedNumber, JudgedUnit, Phase, StoredBand, StoredCheck, StoredFailure,
    TransactionTime,
};

fn document_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn document(name: &str) -> String {
    std::fs::read_to_string(document_path(name)).unwrap()
}

/// The words in backquotes of a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

#[test]
fn every_query_runs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let (results, _, _, repeat) = running(&path);
    let rows = [interval(0, Phase::Window, &[1_000; 100])];
    results.put(repeat, &rows).unwrap();
    results.finish_repeat(repeat, &result()).unwrap();
    let connection = Connection::open(&path).unwrap();
    let text = document("results-file.md");
    let queries: Vec<&str> =
        text.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(queries.len(), 12);
    for query in &queries {
        let mut statement = connection.prepare(query).unwrap();
        let mut rows = statement.query([]).unwrap();
        while rows.next().unwrap().is_some() {}
    }
    let nopm: f64 = connection.query_row(queries[0], [], |row| row.get("nopm")).unwrap();
    assert_eq!(Some(nopm), results.summary(repeat).unwrap().rates.nopm);
}

/// Keys of all objects in a document.
fn keys(value: &serde_json::Value, into: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                into.insert(key.clone());
                keys(value, into);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| keys(value, into)),
        _ => {}
    }
}

fn one_payment() -> TransactionTime {
    TransactionTime {
        transaction: "payment".to_owned(),
        transactions: 1,
        response_ns: 1,
        ..TransactionTime::default()
    }
}

#[test]
fn every_json_key_is_described() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let cell = store::NewCell {
        places: common::placed_cell().places,
        preset: Some(common::preset()),
        ..common::paced_cell()
    };
    let (results, _, _, repeat) = common::running_as(&path, cell);
    let counter = InputCounter {
        name: "rollbacks".to_owned(),
        title: String::new(),
        hits: 0,
        trials: 0,
        judged: JudgedNumber::of(
            JudgedUnit::Share,
            None,
            StoredBand::default(),
            StoredBand::default(),
        ),
    };
    results.put(repeat, &[counter]).unwrap();
    let check = StoredCheck::default();
    let on = repeat;
    results.record_checks(on, &[check]).unwrap();
    let failure = StoredFailure {
        transaction: "payment".to_owned(),
        error_code: "lost".to_owned(),
        occurrences: 1,
        first_message: String::new(),
    };
    results.put(repeat, &[failure]).unwrap();
    results.put(repeat, &[common::requirement(Some(1.0))]).unwrap();
    results.record_device_io(repeat, &common::device_io()).unwrap();
    results.put(repeat, &[one_payment()]).unwrap();
    results.finish_repeat(repeat, &result()).unwrap();
    let summary = serde_json::to_value(results.summary(repeat).unwrap()).unwrap();
    let mut actual = BTreeSet::new();
    keys(&summary, &mut actual);
    let text = document("json.md");
    let described: BTreeSet<String> = text.lines().flat_map(quoted).map(str::to_owned).collect();
    let missing: Vec<_> = actual.difference(&described).collect();
    assert!(missing.is_empty(), "docs/json.md does not describe {missing:?}");
    for required in [
        "nopm",
        "tpm_total",
        "window_s",
        "connections",
        "workload",
        "style",
        "seed",
        "client_cpu_s",
        "statements",
        "transactions",
        "new_orders_in_database",
        "p999_us",
        "retries",
    ] {
        assert!(actual.contains(required), "{required}");
    }
}
