//! Where the response time goes, on the page and as CSV.

#[expect(dead_code, reason = "each test file uses a part of it")]
mod common;

use common::{ONE_CELL, build};
use store::{RepeatId, StatementTime, TimeTotals, TransactionTime, empty_histogram};

fn statement(kind: &str, times_us: &[u64]) -> StatementTime {
    let mut histogram = empty_histogram();
    for us in times_us {
        histogram.record(us * 1_000).unwrap();
    }
    StatementTime {
        transaction: "payment".to_owned(),
        kind: kind.to_owned(),
        times: TimeTotals {
            histogram,
            sum_ns: times_us.iter().sum::<u64>() * 1_000,
            max_ns: times_us.iter().max().unwrap() * 1_000,
            out_of_bounds: 0,
        },
    }
}

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
        statement("commit", &[4_000, 2_000]),
        statement("update_warehouse", &[1_000; 3]),
    ];
    results
        .record_statement_times(RepeatId(1), &[payment], &statements)
        .unwrap();
    let html = report::render(&results, lab).unwrap();
    assert!(html.contains(title));
    let largest = "<summary>Payment: <code>commit</code> 60 %, <code>update_warehouse</code> 30 %, \
                   pauses between tries 5 %</summary>";
    assert!(html.contains(largest), "{largest}");
    // Nobody waited for a connection, which is no line of the table.
    assert!(!html.contains("waiting for a connection"));
    let files = report::export_csv(&results, lab, &scratch.path().join("csv")).unwrap();
    let file = files.iter().find(|path| path.ends_with("statements.csv"));
    let text = std::fs::read_to_string(file.unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6, "{text}");
    assert!(
        lines[1].starts_with("1,1,payment,commit,true,1,3000,"),
        "{text}"
    );
    assert!(lines[1].ends_with(",4000,0.6"), "{text}");
    assert_eq!(lines[5], "1,1,payment,driver,false,1,250,,,,0.05");
}
