//! Several servers on one machine in the report.

#[expect(dead_code, reason = "each test file uses a part of it")]
mod common;

use common::{ONE_CELL, never_start, new_cell, new_lab};
use store::{IntervalRow, NewCell, NewRepeat, Phase, RepeatResult, Results, empty_histogram};

const MINUTE_NS: u64 = 60_000_000_000;

/// A window of a minute with these new orders.
fn window(new_orders: u64) -> IntervalRow {
    IntervalRow {
        phase: Phase::Window,
        start_offset_ns: 0,
        end_offset_ns: MINUTE_NS,
        transaction: "new_order".to_owned(),
        committed: new_orders,
        rolled_back: 0,
        deadlocks: 0,
        lock_wait_timeouts: 0,
        other_retries: 0,
        errors: 0,
        latency: empty_histogram(),
        latency_sum_ns: 0,
        latency_max_ns: 0,
        latency_out_of_bounds: 0,
    }
}

fn cell_of(ordinal: u32, instances: u32) -> NewCell {
    NewCell {
        instances,
        ..new_cell(&ONE_CELL, "mysql-5.7", ordinal, 16)
    }
}

/// A lab with a cell for each of these; each number is a server's new orders. Then a cell of so many servers that never started.
fn report_of(cells: &[&[u64]], never_started: Option<u32>) -> String {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let results = Results::create_or_open(&scratch.path().join("mydyno.db")).unwrap();
    let lab = results.begin_lab(&new_lab(&ONE_CELL)).unwrap();
    for (ordinal, servers) in (1..).zip(cells) {
        let cell = cell_of(ordinal, servers.len() as u32);
        let cell = results.begin_cell(lab, &cell).unwrap();
        let new = NewRepeat {
            cell,
            ordinal: 1,
            my_cnf: None,
            seed: None,
            driver_threads: None,
        };
        let repeat = results.begin_repeat(&new).unwrap();
        let all = servers.iter().sum();
        results.append_intervals(repeat, &[window(all)]).unwrap();
        if servers.len() > 1 {
            results.record_instances(repeat, servers).unwrap();
        }
        let result = RepeatResult {
            measured_window_ns: MINUTE_NS,
            ..RepeatResult::default()
        };
        results.finish_repeat(repeat, &result).unwrap();
    }
    if let Some(servers) = never_started {
        let ordinal = cells.len() as u32 + 1;
        never_start(&results, lab, cell_of(ordinal, servers), 1);
    }
    report::render(&results, lab).unwrap()
}

#[test]
fn servers_together_stand_beside_one_alone() {
    let html = report_of(&[&[1000], &[700, 800]], None);
    for words in [
        "By servers on one machine",
        "1 server, 16 connections",
        "2 servers, 16 connections",
        "NOPM of each of 2 servers: <b>700, 800</b>",
        ">150<",
        ">9.4<",
    ] {
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn one_number_of_servers_has_no_table() {
    let html = report_of(&[&[1000], &[900]], None);
    assert!(!html.contains("By servers on one machine") && !html.contains("NOPM of each"));
}

#[test]
fn servers_that_never_started_are_not_available_among_their_like() {
    let html = report_of(&[&[1000], &[700, 800]], Some(4));
    let table = html.split("By servers on one machine").nth(1).unwrap();
    let table = table.split("</table>").next().unwrap();
    let row = table.split("4 servers, 16 connections").nth(1).unwrap();
    assert_eq!(row.matches("NA").count(), 2, "{row}");
}
