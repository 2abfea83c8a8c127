//! What is said of drills, and of two sides that are compared, from results files of which the
//! truth is known.

use analyse::{ComparisonAsked, PairedBy, RunComparison, RunsAsked, compare_runs, drills};
use store::{RepeatId, StoredDrill, StoredWitness};
use testkit::{Scratch, begin, window};

/// Six blocks with a run of either side, whose throughput is the base's by this factor and a little
/// noise.
fn compared(percent: u64) -> RunComparison {
    let results = Scratch::default();
    let sides = [1, 2].map(|ordinal| {
        let cell = store::NewCell { ordinal, ..testkit::cell() };
        results.begin_cell(results.lab, &cell).unwrap()
    });
    let mut repeats: [Vec<RepeatId>; 2] = [Vec::new(), Vec::new()];
    for block in 1..=6_u32 {
        results.begin_block(results.lab, &[], None).unwrap();
        for (side, of) in repeats.iter_mut().enumerate() {
            let repeat = begin(&results, sides[side], block);
            let noise = u64::from((block + 4 * side as u32) * 7 % 5);
            let new_orders = [1_000, 10 * percent][side] + noise;
            let mut row = window(2_000_000_000, "new_order", new_orders);
            row.latency.histogram.reset();
            row.latency.max_ns = 40_000_000 + 500_000 * noise;
            row.latency.histogram.record_n(row.latency.max_ns, new_orders).unwrap();
            results.put(repeat, &[row]).unwrap();
            results.finish_repeat(repeat, &testkit::result(2_000_000_000)).unwrap();
            of.push(repeat);
        }
    }
    let [base, other] = repeats.map(|repeats| RunsAsked { name: "side".to_owned(), repeats });
    let asked = ComparisonAsked { base, other, at_least_share: 0.05 };
    compare_runs(&results, &asked).unwrap()
}

#[test]
fn a_regression_is_told_excluded_or_left_open() {
    for (percent, regression, excluded) in [
        (80, true, false),
        (100, false, true),
        (120, false, true),
        // As much less as is of a meaning: neither.
        (95, false, false),
    ] {
        let found = compared(percent);
        assert_eq!((found.paired_by, found.pairs), (Some(PairedBy::Block), 6));
        let ratio = found.nopm.ratio.value.unwrap();
        assert!((ratio * 100.0 - percent as f64).abs() < 1.0, "{ratio}");
        assert_eq!(found.regression, regression, "{percent} %: {found:#?}");
        assert_eq!(found.regression_excluded, excluded, "{percent} %: {found:#?}");
    }
}

#[test]
fn drills_that_lose_something_are_counted() {
    let results = Scratch::default();
    let cell = results.begin_cell(results.lab, &testkit::cell()).unwrap();
    for (ordinal, lost) in (1..).zip([0, 3, 0]) {
        let repeat = begin(&results, cell, ordinal);
        let drill = StoredDrill {
            fault: "kill".to_owned(),
            recovery_ns: Some(2_000_000_000),
            lost_span_ns: Some(lost * 1_000_000_000),
            ..StoredDrill::default()
        };
        results.put(repeat, &[drill]).unwrap();
        let payment = StoredWitness {
            name: "payment".to_owned(),
            acknowledged: 100,
            lost,
            ..StoredWitness::default()
        };
        results.put(repeat, &[payment]).unwrap();
    }
    let found = drills(&results, results.lab).unwrap().remove(0);
    assert_eq!((found.drills, found.recovered, found.with_losses), (3, 3, 1));
    assert_eq!((found.witnessed[0].acknowledged, found.witnessed[0].lost), (300, 3));
    assert!((found.lost_span_max_s - 3.0).abs() < 1e-9);
    assert!(!found.is_kept());
}
