//! Tables of `docs/json.md` are made from the types of the documents, whose doc comments say what a
//! key means. `UPDATE_DOCS=1 cargo test -p store --lib` writes them anew.

use crate::*;
use std::path::Path;

/// A key of an object.
pub(crate) struct Key {
    pub(crate) key: &'static str,
    /// Its doc comment.
    pub(crate) meaning: &'static str,
    /// It is not in the document.
    pub(crate) is_skipped: bool,
}

/// The objects whose tables are on the page, each after a comment with its name.
const OBJECTS: [(&str, &[Key]); 16] = [
    ("Summary", Summary::KEYS),
    ("TransactionSummary", TransactionSummary::KEYS),
    ("ConnectionTimeSummary", ConnectionTimeSummary::KEYS),
    ("SilenceSummary", SilenceSummary::KEYS),
    ("TimeSpent", TimeSpent::KEYS),
    ("ErrorSummary", ErrorSummary::KEYS),
    ("InputSummary", InputSummary::KEYS),
    ("TerminalsSummary", TerminalsSummary::KEYS),
    ("DurationsSummary", DurationsSummary::KEYS),
    ("OpenLoopSummary", OpenLoopSummary::KEYS),
    ("VerdictSummary", VerdictSummary::KEYS),
    ("DeviceSummary", DeviceSummary::KEYS),
    ("RequestSummary", RequestSummary::KEYS),
    ("ShimSummary", ShimSummary::KEYS),
    ("CheckSummary", CheckSummary::KEYS),
    ("RankSummary", RankSummary::KEYS),
];

/// The lines of a table.
fn table(keys: &[Key]) -> String {
    let mut lines: Vec<(Vec<String>, String)> = Vec::new();
    for key in keys.iter().filter(|key| !key.is_skipped) {
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
