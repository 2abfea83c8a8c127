//! A lab from the results file: what its document says of comparisons and sweeps, and that `docs/json.md` describes it.

use analyse::{LabOutcome, lab_outcome};
use serde_json::Value;
use std::path::Path;
use store::{
    IntervalRow, LabStatus, NewCell, NewLab, NewRepeat, Phase, RepeatFailure, RepeatResult,
    Results, empty_histogram,
};

const SECOND_NS: u64 = 1_000_000_000;

fn cell(ordinal: u32, device: &str, capacity: &str) -> NewCell {
    let settings = [("data", device), ("innodb_io_capacity", capacity)];
    NewCell {
        ordinal,
        engine: "xtradb-5.6".to_owned(),
        workload: "tpcc".to_owned(),
        style: "statements".to_owned(),
        warehouses: 10,
        connections: 16,
        window_ns: SECOND_NS,
        interval_ns: SECOND_NS,
        schemas: 1,
        instances: 1,
        settings: settings
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        ..NewCell::default()
    }
}

/// New orders of one window of a second.
fn window(new_orders: u64) -> IntervalRow {
    let mut latency = empty_histogram();
    latency.record_n(1_000_000, new_orders).unwrap();
    IntervalRow {
        phase: Phase::Window,
        start_offset_ns: 0,
        end_offset_ns: SECOND_NS,
        transaction: "new_order".to_owned(),
        committed: new_orders,
        rolled_back: 0,
        deadlocks: 0,
        lock_wait_timeouts: 0,
        other_retries: 0,
        errors: 0,
        latency,
        latency_sum_ns: new_orders * 1_000_000,
        latency_max_ns: 1_000_000,
        latency_out_of_bounds: 0,
    }
}

/// Two devices with four capacities, three repeats of each; the first cell of the second device failed.
fn outcome(path: &Path) -> LabOutcome {
    let results = Results::create_or_open(path).unwrap();
    let lab = results.begin_lab(&NewLab::default()).unwrap();
    let mut ordinal = 0;
    for (device, factor) in [("hdd-15k", 1), ("nvme-pm1725", 10)] {
        for (capacity, new_orders) in [("200", 40), ("2000", 80), ("15000", 81), ("25000", 60)] {
            ordinal += 1;
            let id = results
                .begin_cell(lab, &cell(ordinal, device, capacity))
                .unwrap();
            for repeat in 1..=3 {
                let new = NewRepeat {
                    cell: id,
                    ordinal: repeat,
                    my_cnf: None,
                    seed: None,
                    driver_threads: None,
                };
                let id = results.begin_repeat(&new).unwrap();
                if ordinal == 5 {
                    let failure = RepeatFailure {
                        reason_code: "server_died".to_owned(),
                        ..RepeatFailure::default()
                    };
                    results.fail_repeat(id, &failure).unwrap();
                    continue;
                }
                let rows = [window(new_orders * factor + u64::from(repeat))];
                results.append_intervals(id, &rows).unwrap();
                let result = RepeatResult {
                    measured_window_ns: SECOND_NS,
                    ..RepeatResult::default()
                };
                results.finish_repeat(id, &result).unwrap();
            }
        }
    }
    results.finish_lab(lab, LabStatus::Done, None).unwrap();
    lab_outcome(&results, lab).unwrap()
}

#[test]
fn comparisons_and_sweeps_of_a_lab() {
    let directory = tempfile::tempdir().unwrap();
    let lab = outcome(&directory.path().join("mydyno.db"));
    let dimensions: Vec<&str> = lab
        .comparisons
        .iter()
        .map(|c| c.dimension.as_str())
        .collect();
    assert_eq!(dimensions.iter().filter(|name| **name == "data").count(), 4);
    assert_eq!(dimensions.len(), 6);
    // A baseline without a number: there are means, and nothing that they are compared with.
    let failed = &lab.comparisons[5];
    assert_eq!(
        (failed.baseline.as_str(), failed.rows[0].nopm.mean),
        ("200", None)
    );
    assert!(failed.rows[1].nopm.mean.is_some() && failed.rows[1].nopm.ratio.is_none());
    let slow = &lab.sweeps[0];
    let turning = slow.turning.as_ref().unwrap();
    assert_eq!(
        (
            turning.best.as_str(),
            turning.enough.as_deref(),
            turning.most.as_str()
        ),
        ("15000", Some("2000"), "15000")
    );
    assert!(turning.hurts && turning.proven);
    let fast = &lab.sweeps[1];
    assert_eq!(fast.points[0].nopm, None);
    assert_eq!(fast.turning.as_ref().unwrap().best, "15000");
}

#[test]
fn every_key_is_described() {
    let directory = tempfile::tempdir().unwrap();
    let lab = outcome(&directory.path().join("mydyno.db"));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let page = std::fs::read_to_string(path).unwrap();
    let section = page.split("## `mydyno lab run --json`").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let document = serde_json::to_value(&lab).unwrap();
    let mut open = vec![&document["comparisons"], &document["sweeps"]];
    let mut keys = 0;
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                keys += map.len();
                for (key, value) in map {
                    assert!(section.contains(&format!("`{key}`")), "{key}");
                    open.push(value);
                }
            }
            Value::Array(values) => open.extend(values),
            _ => {}
        }
    }
    assert!(keys > 50, "{keys}");
}
