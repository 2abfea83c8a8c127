//! Terminals and schedules in the report.

use crate::common::{ONE_CELL, new_cell, new_lab};
use store::{JudgedNumber, JudgedUnit, NewCell, RepeatResult, StoredBand, StoredRequirement};
use testkit::{SECOND_NS, Scratch};

fn requirement(name: &str, value: f64) -> StoredRequirement {
    let allowed = StoredBand { low: Some(12.0), high: None };
    StoredRequirement {
        name: name.to_owned(),
        title: format!("mean of {name}"),
        clause: "5.2.5.4".to_owned(),
        judged: JudgedNumber::of(JudgedUnit::Seconds, Some(value), allowed, allowed),
    }
}

#[test]
fn pace_and_verdicts_are_shown_where_there_are_any() {
    let results = Scratch::with(&new_lab(&ONE_CELL));
    let plain = new_cell(&ONE_CELL, "mysql-5.7", 1, 8);
    let spec = NewCell {
        ordinal: 2,
        workload: "tpcc-spec".to_owned(),
        terminals: Some(10),
        inactive_warehouses: Some(110),
        ..plain.clone()
    };
    let open_loop = NewCell {
        ordinal: 3,
        rate_asked: Some("80%".to_owned()),
        arrivals: Some("uniform".to_owned()),
        ..plain.clone()
    };
    for cell in [plain, spec, open_loop] {
        let has_terminals = cell.terminals.is_some();
        let repeat = results.begin(&cell);
        if has_terminals {
            let both = [requirement("thinking", 12.1), requirement("resting", 11.0)];
            results.put(repeat, &both).unwrap();
        }
        let result = RepeatResult {
            efficiency: has_terminals.then_some(0.97),
            capacity_per_s: Some(512.5),
            ..testkit::result(SECOND_NS)
        };
        results.finish_repeat(repeat, &result).unwrap();
    }
    let html = report::render(&results, results.lab).unwrap();
    assert_eq!(html.matches("<h3>Terminals</h3>").count(), 1);
    assert_eq!(html.matches("<h3>What the clauses ask</h3>").count(), 1);
    assert_eq!(html.matches("<h3>Open loop</h3>").count(), 1);
    for words in [
        "10 terminals",
        "<th scope=\"col\">Requirement</th>",
        "110 inactive ones",
        "mean of resting",
        "80%, uniform",
        "a closed loop did",
    ] {
        assert!(html.contains(words), "{words}");
    }
    assert!(!html.contains("all met"));
}
