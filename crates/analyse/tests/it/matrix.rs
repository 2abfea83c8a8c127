//! A lab from the results file: what its document says of comparisons and sweeps, and that
//! `docs/json.md` describes it.

use analyse::{LabOutcome, lab_glance, lab_outcome};
use serde_json::Value;
use store::{LabStatus, NewCell};
use testkit::{Scratch, begin, fail, measure};

fn cell(ordinal: u32, device: &str, capacity: &str) -> NewCell {
    let settings = [("data", device), ("innodb_io_capacity", capacity)];
    NewCell {
        ordinal,
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        ..testkit::cell()
    }
}

/// Two devices with four capacities, three repeats of each; the first cell of the second device
/// failed.
fn outcome() -> LabOutcome {
    let results = measured();
    lab_outcome(&results, results.lab).unwrap()
}

fn measured() -> Scratch {
    let results = Scratch::default();
    let mut ordinal = 0;
    for (device, factor) in [("hdd-15k", 1), ("nvme-pm1725", 10)] {
        for (capacity, new_orders) in [("200", 40), ("2000", 80), ("15000", 81), ("25000", 60)] {
            ordinal += 1;
            let cell = cell(ordinal, device, capacity);
            let cell = results.begin_cell(results.lab, &cell).unwrap();
            for nth in 1..=3 {
                let repeat = begin(&results, cell, nth);
                let new_orders = new_orders * factor + u64::from(nth);
                match ordinal {
                    5 => fail(&results, repeat, "server_died"),
                    _ => measure(&results, repeat, new_orders),
                }
            }
        }
    }
    results.finish_lab(results.lab, LabStatus::Done, None).unwrap();
    results
}

#[test]
fn where_results_decided_what_was_measured_nothing_is_claimed() {
    let results = measured();
    let of_all = |lab: &LabOutcome| -> Vec<analyse::Ratio> {
        let rows = lab.comparisons.iter().flat_map(|of| &of.rows);
        rows.flat_map(|row| [row.nopm, row.new_order_p95_us]).collect()
    };
    let plan = lab_outcome(&results, results.lab).unwrap();
    assert!(!plan.adaptive && of_all(&plan).iter().any(analyse::Ratio::differs));
    results.mark_adaptive(results.lab).unwrap();
    let searched = lab_outcome(&results, results.lab).unwrap();
    assert!(searched.adaptive && searched.sweeps.is_empty() && searched.reversals.is_empty());
    let ratios = of_all(&searched);
    assert!(ratios.iter().all(|of| of.p_value.is_none() && of.p_corrected.is_none()));
    assert!(ratios.iter().any(|of| of.ratio.low.is_some()));
}

#[test]
fn a_list_tells_the_highest_cell_and_all_that_have_a_number() {
    let results = measured();
    let lab = lab_outcome(&results, results.lab).unwrap();
    let found = lab_glance(&results, results.lab).unwrap();
    let means: Vec<f64> = lab.cells.iter().filter_map(|cell| cell.nopm.mean).collect();
    assert_eq!((found.chart.len(), &found.chart), (7, &means));
    assert_eq!(found.highest, lab.cells[6].nopm.mean);
    assert_eq!(found.highest, means.iter().copied().reduce(f64::max));
    assert_eq!(found.p95_us, Some(lab.cells[6].new_order_p95_us));
    assert!(found.verdict.starts_with("The highest mean"), "{}", found.verdict);
}

#[test]
fn comparisons_and_sweeps_of_a_lab() {
    let lab = outcome();
    let dimensions: Vec<&str> = lab.comparisons.iter().map(|c| c.dimension.as_str()).collect();
    assert_eq!(dimensions.iter().filter(|name| **name == "data").count(), 4);
    assert_eq!(dimensions.len(), 6);
    // The baseline is itself.
    let baseline = &lab.comparisons[0].rows[0].nopm;
    assert_eq!((baseline.ratio.value, baseline.percent_difference), (Some(1.0), Some(0.0)));
    // A baseline without a number: there are means, and nothing that they are compared with.
    let failed = &lab.comparisons[5];
    assert_eq!((failed.baseline.as_str(), failed.rows[0].nopm.mean), ("200", None));
    assert!(failed.rows[1].nopm.mean.is_some() && failed.rows[1].nopm.ratio.value.is_none());
    let slow = &lab.sweeps[0];
    let turning = slow.turning.as_ref().unwrap();
    assert_eq!(
        (turning.best.as_str(), turning.enough.as_deref(), turning.most.as_str()),
        ("15000", Some("2000"), "15000")
    );
    assert!(turning.hurts && turning.proven);
    let fast = &lab.sweeps[1];
    assert_eq!(fast.points[0].nopm, None);
    assert_eq!(fast.turning.as_ref().unwrap().best, "15000");
}

#[test]
fn every_key_is_described() {
    let lab = outcome();
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
