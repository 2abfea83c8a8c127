//! What terminals and schedules store.

use crate::common::{interval, paced_cell, requirement, result, running, running_as, write_old};
use hdrhistogram::Histogram;
use rusqlite::Connection;
use store::{PacedInterval, Phase, RepeatResult, Results, ScheduleCounts, TimeKind, TimeRow};
use testkit::SECOND_NS;

fn times(kind: TimeKind, transaction: Option<&str>, times_ms: &[u64]) -> TimeRow {
    let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600 * SECOND_NS, 3).unwrap();
    for ms in times_ms {
        histogram.record(ms * 1_000_000).unwrap();
    }
    TimeRow {
        kind,
        transaction: transaction.map(str::to_owned),
        occurrences: times_ms.len() as u64,
        histogram,
        sum_ns: times_ms.iter().sum::<u64>() * 1_000_000,
        max_ns: times_ms.iter().max().copied().unwrap_or(0) * 1_000_000,
        out_of_bounds: 0,
    }
}

fn paced(second: u64, phase: Phase, rows: Vec<TimeRow>) -> PacedInterval {
    PacedInterval {
        phase,
        start_offset_ns: second * SECOND_NS,
        end_offset_ns: (second + 1) * SECOND_NS,
        schedule: Some(ScheduleCounts { offered: 100, late: 3, skipped: 1 }),
        times: rows,
    }
}

#[test]
fn the_window_adds_up_and_the_rest_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let (results, _, _, repeat) = running_as(&path, paced_cell());
    let think = |ms: &[u64]| times(TimeKind::Think, Some("payment"), ms);
    let lag = |ms: &[u64]| times(TimeKind::Lag, None, ms);
    for (second, phase, ms) in [
        (0, Phase::Warmup, &[9_000][..]),
        (1, Phase::Window, &[1_000, 2_000]),
        (2, Phase::Window, &[6_000]),
        (3, Phase::Drain, &[9_000]),
    ] {
        let rows = vec![think(ms), lag(&[1, 2, 30])];
        let interval = paced(second, phase, rows);
        results.append_paced(repeat, &interval).unwrap();
    }
    let rows = [interval(1, Phase::Window, &[1_000; 100])];
    results.append_intervals(repeat, &rows).unwrap();
    let counts = results.window_schedule(repeat).unwrap().unwrap();
    assert_eq!((counts.offered, counts.late, counts.skipped), (200, 6, 2));
    let rates = RepeatResult {
        capacity_per_s: Some(250.0),
        rate_per_s: Some(200.0),
        ceiling_nopm: Some(151.2),
        efficiency: Some(0.97),
        ..result()
    };
    results.finish_repeat(repeat, &rates).unwrap();
    let summary = results.summary(repeat).unwrap();
    let terminals = summary.terminals.unwrap();
    assert_eq!(terminals.think_mean_s.get("payment"), Some(&Some(3.0)));
    assert_eq!(terminals.think_mean_s.get("new_order"), Some(&None));
    assert_eq!((terminals.count, terminals.paced_warehouses), (100, 10));
    assert_eq!(terminals.inactive_warehouses, Some(2));
    assert_eq!(terminals.efficiency, Some(0.97));
    let open_loop = summary.open_loop.unwrap();
    assert_eq!(open_loop.capacity_per_s, Some(250.0));
    assert_eq!((open_loop.skipped, open_loop.completed), (2, 100));
    assert_eq!(open_loop.lag_max_us, Some(30_000.0));
    assert!((open_loop.lag_p50_us.unwrap() - 2_000.0).abs() < 2.0);
    assert_eq!(summary.result_metadata.as_deref(), Some("cached"));
}

#[test]
fn verdicts_come_back_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let (results, _, _, repeat) = running(&directory.path().join("mydyno.db"));
    let mut all = Vec::new();
    for (name, value) in [("z", Some(3.0)), ("b", Some(1.0)), ("a", None)] {
        let mut one = requirement(value);
        one.name = name.to_owned();
        all.push(one);
    }
    results.record_requirements(repeat, &all).unwrap();
    assert_eq!(results.requirements(repeat).unwrap(), all);
    let passed: Vec<_> = results
        .summary(repeat)
        .unwrap()
        .verdicts
        .into_iter()
        .map(|verdict| verdict.passed)
        .collect();
    assert_eq!(passed, [Some(true), Some(false), None]);
    // A closed loop without terminals has neither.
    let summary = results.summary(repeat).unwrap();
    assert!(summary.terminals.is_none() && summary.open_loop.is_none());
}

/// Before format 11 an inactive warehouse had terminals and no rows, and clause 4.1.3 was judged by
/// as many warehouses as the terminals would have needed.
#[test]
fn terminals_without_rows_of_an_earlier_format_prove_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let mut rows = "INSERT INTO lab (id, name, command_line, mydyno_version, status, \
        started_utc_ns, process) VALUES (1, 'run', 'mydyno run', '0', 'done', 1, '');"
        .to_owned();
    // 10 warehouses with rows: with their own terminals, and with those of 990 absent ones besides.
    for (id, terminals, inactive) in [(1, 100, 0), (2, 10_000, 990)] {
        rows += &format!(
            "INSERT INTO cell (id, lab_id, ordinal, engine, server_version, flavour, transport, \
             target, workload, style, warehouses, connections, home, foreign_keys, warmup_ns, \
             window_ns, interval_ns, seed, terminals, inactive_warehouses) VALUES ({id}, 1, {id}, \
             '', '', '', '', '', 'tpcc-spec', 'statements', 10, 8, 0, 1, 0, 1, 1, 1, {terminals}, \
             {inactive}); INSERT INTO repeat (id, cell_id, ordinal, attempt, status, \
             started_utc_ns, efficiency, process) VALUES ({id}, {id}, 1, 1, 'running', 1, 0.97, \
             ''); INSERT INTO verdict (repeat_id, ordinal, name, title, clause, unit, value, \
             verdict) VALUES ({id}, 1, 'nopm_per_warehouse', '', '4.1.3', 'nopm_per_warehouse', \
             12.54, 'within'), ({id}, 2, 'payment_p90', '', '5.2.5.3', 's', 0.1, 'within');"
        );
    }
    write_old(&path, 10, &rows);
    drop(Results::open(&path).unwrap());
    let file = Connection::open(&path).unwrap();
    let left = |sql: &str| -> Vec<i64> {
        let mut statement = file.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let judged = "SELECT repeat_id FROM verdict WHERE clause = '4.1.3'";
    assert_eq!(left(judged), [1]);
    assert_eq!(left("SELECT repeat_id FROM verdict ORDER BY 1"), [1, 1, 2]);
    assert_eq!(left("SELECT id FROM repeat WHERE efficiency IS NOT NULL"), [1]);
    let known = "SELECT id FROM cell WHERE inactive_warehouses IS NOT NULL";
    assert_eq!(left(known), Vec::<i64>::new());
}
