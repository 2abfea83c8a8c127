//! Measurements against each other, from a results file that was written as a run writes it.

use crate::support::{assert_described, directory, float, list, mydyno, text};
use std::path::Path;
use store::{CellId, IntervalRow, LabId, NewCell, NewLab, Results, TimeTotals, empty_histogram};
use testkit::SECOND_NS as S;

/// A run of 30 s with so many new orders a second, some more in one second than in the next, of 10
/// to 20 ms each.
fn record(results: &Results, lab: LabId, ordinal: u32, per_s: u64) {
    let cell = begin_cell(results, lab, ordinal);
    record_repeat(results, (cell, 1), per_s);
}

fn begin_cell(results: &Results, lab: LabId, ordinal: u32) -> CellId {
    let cell = NewCell { ordinal, connections: 8 * ordinal, window_ns: 30 * S, ..testkit::cell() };
    results.begin_cell(lab, &cell).unwrap()
}

fn record_repeat(results: &Results, (cell, ordinal): (CellId, u32), per_s: u64) {
    let repeat = testkit::begin(results, cell, ordinal);
    let rows: Vec<IntervalRow> = (0..30)
        .map(|second| {
            let committed = per_s + second * 7 % 11;
            let mut latency = empty_histogram();
            for order in 0..committed {
                let us = 10_000 + order * 10_000 / committed + second * 13 % 5 * 200;
                latency.record(us * 1000).unwrap();
            }
            IntervalRow {
                start_offset_ns: second * S,
                end_offset_ns: (second + 1) * S,
                latency: TimeTotals {
                    histogram: latency,
                    sum_ns: 15_000_000 * committed,
                    max_ns: 21_000_000,
                    out_of_bounds: 0,
                },
                ..testkit::window(S, "new_order", committed)
            }
        })
        .collect();
    results.put(repeat, &rows).unwrap();
    let result = testkit::result(30 * S);
    results.finish_repeat(repeat, &result).unwrap();
}

/// Six labs of one run each: 1, 3 and 5 of about 200 new orders a second, 2, 4 and 6 of 150. The
/// seventh has two cells, the eighth has failed, the ninth has three repeats, one after the other.
/// The tenth has two cells of four on a machine that becomes slower, the eleventh two of three that
/// are the same each time.
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
    let cell = begin_cell(&results, lab, 1);
    let repeat = testkit::begin(&results, cell, 1);
    testkit::fail(&results, repeat, "server_died");
    let lab = begin();
    let cell = begin_cell(&results, lab, 1);
    for (repeat, per_s) in (1..).zip([150, 151, 149]) {
        record_repeat(&results, (cell, repeat), per_s);
    }
    let lab = begin();
    let cells = [1, 2].map(|ordinal| begin_cell(&results, lab, ordinal));
    for (repeat, per_s) in (1..).zip([400, 330, 280, 210]) {
        record_repeat(&results, (cells[0], repeat), per_s);
        record_repeat(&results, (cells[1], repeat), per_s * 9 / 10);
    }
    let lab = begin();
    let cells = [1, 2].map(|ordinal| begin_cell(&results, lab, ordinal));
    for repeat in 1..=3 {
        record_repeat(&results, (cells[0], repeat), 200);
        record_repeat(&results, (cells[1], repeat), 180);
    }
}

#[test]
fn several_runs_of_each() {
    let work = directory();
    written(work.path());
    let compared =
        |base: &str, other: &str| mydyno(["compare", base, other]).in_directory(work.path());
    let ran = compared("1,3,5", "2,4,6").and_args(["--json"]).run().exits(7);
    let document = ran.json();
    assert_described(&document);
    assert_eq!(text(&document, "/base/basis"), "repeats");
    assert_eq!(list(&document, "/base/repeat_ids").len(), 3);
    assert_eq!(text(&document, "/paired_by"), "time");
    assert_eq!(document["pairs"], 3);
    // 200.33 and 149.67 a second, and 4.97 that each second has on top in the mean of 30.
    let base = float(&document, "/base/nopm/mean");
    assert!((12_200.0..12_450.0).contains(&base), "{base}");
    let ratio = float(&document, "/nopm/ratio");
    assert!((0.74..0.77).contains(&ratio), "{ratio}");
    assert!(float(&document, "/nopm/ratio_high") < 0.8);
    assert!(float(&document, "/nopm/p_corrected") < 0.01);
    assert_eq!(document["regression"], true);
    // A slowdown of a quarter is none that matters where only a third does.
    let least = compared("1,3,5", "2,4,6").and_args(["--at-least", "33%"]).run();
    let words = "slower than 1,3,5 by more than 33 % is neither shown nor excluded";
    assert!(least.exits(0).stdout.contains(words));
    // The other way round it is no regression.
    let better = compared("2,4,6", "1,3,5").run().exits(0);
    for words in [
        "compared each with its neighbour in time, 3 pairs",
        "NOPM: +32.7 %, ratio 1.327 (95 %: 1.2",
        "2,4,6",
        "12324 ± 375",
    ] {
        assert!(better.stdout.contains(words), "{}", better.stdout);
    }
}

#[test]
fn drift_is_no_difference_and_hides_none() {
    let work = directory();
    written(work.path());
    // Three of one and then three of the other: by Welch's test of drifting runs this was a
    // regression.
    let ran = mydyno(["compare", "1,3,5", "9", "--json"]).in_directory(work.path()).run().exits(0);
    let document = ran.json();
    assert_described(&document);
    assert!(document["paired_by"].is_null() && document["nopm"]["ratio"].is_null());
    let notes = list(&document, "/notes");
    let words = "drift of the machine and a difference between them cannot be told apart";
    assert!(notes[0].as_str().unwrap().contains(words), "{notes:?}");
    // Blocks of one lab, each slower than the one before: a tenth less in each of them is found.
    let ran = mydyno(["compare", "10.1", "10.2", "--across", "connections"])
        .in_directory(work.path())
        .run()
        .exits(7);
    for words in [
        "10.1 | 10.2 differ in\n  connections: 8 | 16",
        "compared inside blocks, 4 pairs",
        "10.2 is slower than 10.1 by more than 2 %",
    ] {
        assert!(ran.stdout.contains(words), "{}", ran.stdout);
    }
}

#[test]
fn one_run_of_each_claims_nothing() {
    let work = directory();
    written(work.path());
    let ran = mydyno(["compare", "1", "2.1.1", "--json"]).in_directory(work.path()).run().exits(0);
    let document = ran.json();
    assert_described(&document);
    assert_eq!(text(&document, "/base/basis"), "intervals");
    let (low, high) = (float(&document, "/base/nopm/low"), float(&document, "/base/nopm/high"));
    let nopm = float(&document, "/base/nopm/mean");
    assert!(low < nopm && nopm < high && high - low < 0.1 * nopm, "{low} {high}");
    let p95_us = float(&document, "/base/new_order_p95_us/mean");
    assert!((19_000.0..20_500.0).contains(&p95_us), "{p95_us}");
    assert!(float(&document, "/base/new_order_p95_us/low") < p95_us);
    // Of a cell of one repeat no document of its lab has an interval.
    let lab = mydyno(["lab", "status", "1", "--json"]).in_directory(work.path()).run().exits(0);
    let lab = lab.json();
    assert_eq!(float(&lab, "/cells/0/nopm/mean"), nopm);
    assert_eq!(text(&lab, "/cells/0/nopm/no_interval"), "one_repeat");
    assert!(lab["cells"][0]["nopm"]["low"].is_null());
    // A quarter less, and no interval: two runs do not prove one.
    assert!(float(&document, "/nopm/ratio") < 0.8 && document["nopm"]["p_value"].is_null());
    let notes = list(&document, "/notes");
    let words = "1 pair with a run of either side: nothing is claimed of fewer than 3";
    assert_eq!(notes[0].as_str(), Some(words));
    for (note, name) in notes[1..].iter().zip(["1", "2.1.1"]) {
        let words = format!("{name} is one run: its interval says how well its own mean is known");
        assert!(note.as_str().unwrap().starts_with(&words), "{note}");
    }
    assert_eq!(notes.len(), 3);
    assert_eq!(document["regression"], false);
}

#[test]
fn without_noise_nothing_is_claimed() {
    let work = directory();
    written(work.path());
    let compared = mydyno(["compare", "11.1", "11.2", "--across", "connections"]);
    let ran = compared.in_directory(work.path()).run().exits(0);
    for words in [
        "compared inside blocks, 3 pairs",
        "ratio 0.902\n",
        "note: 3 pairs with a run of either side: there is no noise to hold a difference against",
        "no verdict on the difference",
    ] {
        assert!(ran.stdout.contains(words), "{}", ran.stdout);
    }
    assert!(!ran.stdout.contains("fewer than 3"), "{}", ran.stdout);
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
        ("1,3", "3,5", 2, "repeat 3 is on both sides"),
        ("7.1", "7.2", 2, "connections: 8 | 16"),
        ("7.1", "7.2", 2, "say --across connections"),
    ] {
        mydyno(["compare", base, other]).in_directory(work.path()).run().exits(code).says(&[words]);
    }
    // What failed is left out of several, and named.
    let ran = mydyno(["compare", "1,3,8", "7.1,7.2", "--across", "connections"])
        .in_directory(work.path())
        .run()
        .exits(0);
    for words in ["repeat 9 has no result and is left out", "connections: 8 | 16, 8"] {
        assert!(ran.stdout.contains(words), "{}", ran.stdout);
    }
}
