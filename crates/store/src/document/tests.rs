//! Tables of `docs/json.md` are made from the types of the documents, whose doc comments say what a
//! key means. `UPDATE_DOCS=1 cargo test -p store --lib` writes them anew.

use crate::*;
use std::path::Path;

/// What is an object in JSON.
pub(crate) trait Keys {
    fn keys(into: &mut Vec<Key>);
}

/// A key of an object.
pub(crate) struct Key {
    pub(crate) key: &'static str,
    /// Its doc comment.
    pub(crate) meaning: &'static str,
}

/// An object by its name, and what lists its keys.
type ObjectKeys = (&'static str, fn(&mut Vec<Key>));

/// The objects whose tables are on the page, each after a comment with its name.
const OBJECTS: [ObjectKeys; 16] = [
    ("Summary", Summary::keys),
    ("TransactionSummary", TransactionSummary::keys),
    ("ConnectionTimeSummary", ConnectionTimeSummary::keys),
    ("SilenceSummary", SilenceSummary::keys),
    ("TimeSpent", TimeSpent::keys),
    ("StoredFailure", StoredFailure::keys),
    ("InputCounter", InputCounter::keys),
    ("TerminalsSummary", TerminalsSummary::keys),
    ("DurationsSummary", DurationsSummary::keys),
    ("OpenLoopSummary", OpenLoopSummary::keys),
    ("StoredRequirement", StoredRequirement::keys),
    ("DeviceSummary", DeviceSummary::keys),
    ("RequestSummary", RequestSummary::keys),
    ("ShimSummary", ShimSummary::keys),
    ("StoredCheck", StoredCheck::keys),
    ("StoredRank", StoredRank::keys),
];

/// The lines of a table.
fn table(keys: fn(&mut Vec<Key>)) -> String {
    let mut all = Vec::new();
    keys(&mut all);
    let mut lines: Vec<(Vec<String>, String)> = Vec::new();
    for key in all {
        let name = format!("`{}`", key.key);
        let meaning = key.meaning.lines().map(str::trim);
        let meaning = meaning.collect::<Vec<_>>().join(" ").replace("`None`", "`null`");
        match lines.last_mut().filter(|_| meaning.is_empty()) {
            Some((names, _)) => names.push(name),
            None => lines.push((vec![name], meaning)),
        }
    }
    let lines = lines.into_iter();
    let lines = lines.map(|(names, meaning)| format!("| {} | {meaning} |\n", names.join(", ")));
    lines.collect()
}

#[test]
fn every_key_is_described() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut made = text.clone();
    for (name, keys) in OBJECTS {
        let head = format!("<!-- {name} -->\n| key | meaning |\n|---|---|\n");
        let (before, rest) = made.split_once(&head).unwrap_or_else(|| panic!("no table of {name}"));
        let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
        made = format!("{before}{head}{}\n{after}", table(keys));
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let update = "UPDATE_DOCS=1 cargo test -p store --lib";
    assert!(made == text, "keys are not those of the documents; `{update}`");
}
