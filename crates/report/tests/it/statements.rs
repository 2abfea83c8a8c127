//! Where the response time goes, on the page and as CSV.

use crate::common::{ONE_CELL, Shape, build};
use store::{RepeatId, TransactionTime};
use testkit::statement;

#[test]
fn the_largest_parts_are_named_and_all_are_exported() {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (results, lab) = build(&scratch.path().join("mydyno.db"), &ONE_CELL);
    let title = "Where the response time goes";
    let without = report::render(&results, lab).unwrap();
    assert!(!without.contains(title), "nothing was measured");
    let payment = TransactionTime {
        transaction: "payment".to_owned(),
        transactions: 2,
        response_ns: 10_000_000,
        queued_ns: 0,
        paused_ns: 500_000,
    };
    let statements = [
        statement("payment", "commit", &[4_000, 2_000]),
        statement("payment", "update_warehouse", &[1_000; 3]),
    ];
    results.put(RepeatId(1), &[payment]).unwrap();
    results.put(RepeatId(1), &statements).unwrap();
    let html = report::render(&results, lab).unwrap();
    assert!(html.contains(title));
    for part in [
        "commit: 3.00 ms (60 %)",
        "update_warehouse: 1.50 ms (30 %)",
        "pauses between tries: 250 µs (5 %)",
    ] {
        assert!(html.contains(&format!("data-tip=\"{part}\"")), "{part}");
    }
    // Nobody waited for a connection, which is no line of the table.
    assert!(!html.contains("waiting for a connection"));
    let files = report::export_csv(&results, lab, &scratch.path().join("csv")).unwrap();
    let file = files.iter().find(|path| path.ends_with("statements.csv"));
    let text = std::fs::read_to_string(file.unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6, "{text}");
    assert!(lines[1].starts_with("1,1,payment,commit,true,1,3000,"), "{text}");
    assert!(lines[1].ends_with(",4000,0.6"), "{text}");
    assert_eq!(lines[5], "1,1,payment,driver,false,1,250,,,,0.05");
}

/// Other programs read these files: columns are added at the end, and none changes.
#[test]
fn csv_files_stay_as_they_are() {
    let shape = Shape {
        name: "frozen",
        devices: &["hdd-15k"],
        connections: &[8, 16],
        repeats: 2,
        warmup_s: 2,
        window_s: 6,
        failing_cell: Some(2),
        cut_cell: Some(1),
        observed: true,
        is_ramp: true,
        ..ONE_CELL
    };
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (results, lab) = build(&scratch.path().join("mydyno.db"), &shape);
    let payment = TransactionTime {
        transaction: "payment".to_owned(),
        transactions: 2,
        response_ns: 10_000_000,
        queued_ns: 0,
        paused_ns: 500_000,
    };
    let statements = [statement("payment", "commit", &[4_000, 2_000])];
    results.put(RepeatId(1), &[payment]).unwrap();
    results.put(RepeatId(1), &statements).unwrap();
    let mut told = String::new();
    for path in report::export_csv(&results, lab, &scratch.path().join("csv")).unwrap() {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        // FNV-1a
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        told.push_str(&format!("{name}: {} lines, {hash:016x}\n", text.lines().count()));
        for line in text.lines().take(3) {
            told.push_str(&format!("{line}\n"));
        }
    }
    assert_eq!(told, include_str!("csv_files.txt"), "{told}");
}
