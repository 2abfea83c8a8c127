//! Measurements against each other, from a results file that was written as a run writes it.

use crate::support::{assert_described, directory, float, list, mydyno, text};
use std::path::Path;
use store::{
    IntervalRow, LabId, NewCell, NewLab, NewRepeat, Phase, RepeatFailure, RepeatResult, Results,
    empty_histogram,
};

const S: u64 = 1_000_000_000;

/// A run of 30 s with so many new orders a second, some more in one second than in the next, of 10 to 20 ms each.
fn record(results: &Results, lab: LabId, ordinal: u32, per_s: u64) {
    let cell = NewCell {
        ordinal,
        warehouses: 1,
        connections: 8 * ordinal,
        schemas: 1,
        instances: 1,
        window_ns: 30 * S,
        interval_ns: S,
        ..NewCell::default()
    };
    let cell = results.begin_cell(lab, &cell).unwrap();
    let repeat = results
        .begin_repeat(&NewRepeat {
            cell,
            ordinal: 1,
            my_cnf: None,
            seed: None,
            driver_threads: None,
        })
        .unwrap();
    let rows: Vec<IntervalRow> = (0..30)
        .map(|second| {
            let committed = per_s + second * 7 % 11;
            let mut latency = empty_histogram();
            for order in 0..committed {
                let us = 10_000 + order * 10_000 / committed + second * 13 % 5 * 200;
                latency.record(us * 1000).unwrap();
            }
            IntervalRow {
                phase: Phase::Window,
                start_offset_ns: second * S,
                end_offset_ns: (second + 1) * S,
                transaction: "new_order".to_owned(),
                committed,
                rolled_back: 0,
                deadlocks: 0,
                lock_wait_timeouts: 0,
                other_retries: 0,
                errors: 0,
                latency_sum_ns: 15_000_000 * committed,
                latency_max_ns: 21_000_000,
                latency_out_of_bounds: 0,
                latency,
            }
        })
        .collect();
    results.append_intervals(repeat, &rows).unwrap();
    let result = RepeatResult {
        measured_window_ns: 30 * S,
        ..RepeatResult::default()
    };
    results.finish_repeat(repeat, &result).unwrap();
}

/// Six labs of one run each: 1, 3 and 5 of about 200 new orders a second, 2, 4 and 6 of 150. The seventh has two cells, the eighth has failed.
fn written(directory: &Path) {
    let results = Results::create_or_open(&directory.join("mydyno.db")).unwrap();
    let begin = || results.begin_lab(&NewLab::default()).unwrap();
    for per_s in [200, 150, 203, 148, 198, 151] {
        record(&results, begin(), 1, per_s);
    }
    let lab = begin();
    record(&results, lab, 1, 200);
    record(&results, lab, 2, 201);
    let lab = begin();
    let cell = NewCell {
        ordinal: 1,
        schemas: 1,
        instances: 1,
        ..NewCell::default()
    };
    let cell = results.begin_cell(lab, &cell).unwrap();
    let repeat = NewRepeat {
        cell,
        ordinal: 1,
        my_cnf: None,
        seed: None,
        driver_threads: None,
    };
    let repeat = results.begin_repeat(&repeat).unwrap();
    let failure = RepeatFailure {
        reason_code: "server_died".to_owned(),
        ..RepeatFailure::default()
    };
    results.fail_repeat(repeat, &failure).unwrap();
}

#[test]
fn several_runs_of_each() {
    let work = directory();
    written(work.path());
    let compared =
        |base: &str, other: &str| mydyno(["compare", base, other]).in_directory(work.path());
    let ran = compared("1,3,5", "2,4,6")
        .and_args(["--json"])
        .run()
        .exits(7);
    let document = ran.json();
    assert_described(&document);
    assert_eq!(text(&document, "/base/basis"), "repeats");
    assert_eq!(list(&document, "/base/repeat_ids").len(), 3);
    // 200.33 and 149.67 a second, and 4.97 that each second has on top in the mean of 30.
    let (base, other) = (
        float(&document, "/base/nopm/mean"),
        float(&document, "/other/nopm/mean"),
    );
    assert!((12_200.0..12_450.0).contains(&base), "{base}");
    let ratio = float(&document, "/nopm/ratio");
    assert!(
        (ratio - other / base).abs() < 1e-9 && (0.74..0.77).contains(&ratio),
        "{ratio}"
    );
    assert!(float(&document, "/nopm/p_value") < 0.01);
    assert!(float(&document, "/nopm/effect_size") < -5.0);
    assert_eq!(document["regression"], true);
    // The other way round it is no regression.
    let better = compared("2,4,6", "1,3,5").run().exits(0);
    for words in [
        "NOPM: +32.7 %, ratio 1.327",
        "p < 0.001",
        "p = 1.000",
        "2,4,6",
        "12324 ± 375",
    ] {
        assert!(better.stdout.contains(words), "{}", better.stdout);
    }
}

#[test]
fn one_run_of_each_says_so() {
    let work = directory();
    written(work.path());
    let ran = mydyno(["compare", "1", "2.1.1", "--json"])
        .in_directory(work.path())
        .run()
        .exits(0);
    let document = ran.json();
    assert_described(&document);
    assert_eq!(text(&document, "/base/basis"), "intervals");
    assert!(float(&document, "/nopm/p_value") < 1e-3);
    let (low, high) = (
        float(&document, "/base/nopm/low"),
        float(&document, "/base/nopm/high"),
    );
    let nopm = float(&document, "/base/nopm/mean");
    assert!(
        low < nopm && nopm < high && high - low < 0.1 * nopm,
        "{low} {high}"
    );
    let p95_us = float(&document, "/base/new_order_p95_us/mean");
    assert!((19_000.0..20_500.0).contains(&p95_us), "{p95_us}");
    assert!(float(&document, "/base/new_order_p95_us/low") < p95_us);
    let notes = list(&document, "/notes");
    assert!(
        notes[0].as_str().unwrap().contains("1 is one run"),
        "{notes:?}"
    );
    // A quarter less, and no regression: two runs do not prove one.
    assert_eq!(document["regression"], false);
}

#[test]
fn what_cannot_be_compared() {
    let work = directory();
    written(work.path());
    for (base, other, code, words) in [
        ("7", "1", 2, "lab 7 has 2 cells; name one, such as 7.1"),
        ("7.3", "1", 2, "lab 7 has no cell 3"),
        ("7.1.2", "1", 2, "cell 7.1 has no repeat 2"),
        ("99", "1", 2, "has no lab 99"),
        ("1", "8", 1, "8 has no run with a result"),
        ("one", "1", 2, "use the number of a lab"),
    ] {
        mydyno(["compare", base, other])
            .in_directory(work.path())
            .run()
            .exits(code)
            .says(&[words]);
    }
    // What failed is left out of several, and named.
    let ran = mydyno(["compare", "1,3,8", "7.1,7.2"])
        .in_directory(work.path())
        .run()
        .exits(0);
    for words in ["repeat 9 has no result and is left out", "7.1,7.2 mixes"] {
        assert!(ran.stdout.contains(words), "{}", ran.stdout);
    }
}
