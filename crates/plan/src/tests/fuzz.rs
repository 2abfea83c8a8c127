//! Plans that nobody would write: whatever the text, there is an answer, and a bounded one.

use super::{PLAN, known};
use crate::{CELLS_MAX, Plan, execution_order};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use std::path::Path;

/// What stands in plans, and what should not.
const PIECES: [&str; 40] = [
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ",",
    ".",
    "\"",
    "'",
    "'''",
    "\"\"\"",
    "#",
    "\n",
    "\\",
    "0",
    "-1",
    "1e999",
    "nan",
    "18446744073709551616",
    "true",
    "'auto'",
    "'1s'",
    "'9999999d'",
    "'0'",
    "'80%'",
    "[lab]",
    "[[exclude]]",
    "[ramp]",
    "repeats = 1000",
    "seed = -1",
    "nodes = 3",
    "dilate = 'auto'",
    "topology = 'shards'",
    "dsn = 'mysql://h/x'",
    "connections = [1, 2]",
    "warehouses = [1, 2]",
    "fault = 'kill'",
    "\u{0}é",
];

/// A change of a text: where, of how many characters, to what.
type Change = (Index, usize, &'static str);

fn changed(mut text: String, changes: &[Change]) -> String {
    for (at, length, by) in changes {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let Some(last) = places.len().checked_sub(1) else { break };
        let first = at.index(places.len());
        let end = (first + length).min(last);
        text.replace_range(places[first]..places[end], by);
    }
    text
}

/// The plans that are shipped, and one with most keys.
fn shipped() -> Vec<String> {
    let plans = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let files = std::fs::read_dir(plans).unwrap().map(|file| file.unwrap().path());
    let texts = files.map(|file| std::fs::read_to_string(file).unwrap());
    texts.filter(|text| text.contains("[lab]")).chain([PLAN.to_owned()]).collect()
}

fn answers(text: &str) -> Result<(), TestCaseError> {
    let Ok(plan) = Plan::parse(text, "p.toml") else { return Ok(()) };
    for plan in [plan.clone(), plan.shortened()] {
        if let Ok(cells) = plan.cells(&known()) {
            prop_assert!((1..=CELLS_MAX).contains(&cells.len()), "{}", cells.len());
            if cells.len() < 100 {
                let turns = execution_order(cells.len(), plan.schedule()).len();
                prop_assert_eq!(turns, cells.len() * plan.schedule().repeats as usize);
            }
        }
    }
    Ok(())
}

fn tried(cases: u32) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let change = (any::<Index>(), 0..6_usize, select(&PIECES[..]));
    let mutated = (select(shipped()), prop::collection::vec(change, 1..6));
    runner.run(&mutated, |(text, changes)| answers(&changed(text, &changes))).unwrap();
    let pieces = prop::collection::vec(select(&PIECES[..]), 0..30);
    runner.run(&pieces, |pieces| answers(&pieces.concat())).unwrap();
    runner.run(&".{0,80}", |text| answers(&text)).unwrap();
}

#[test]
fn any_text_has_an_answer() {
    tried(1_000);
}

#[test]
#[ignore = "make soak"]
fn a_million_texts_have_an_answer() {
    tried(1_000_000);
}
