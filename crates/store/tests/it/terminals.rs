//! What terminals and schedules store.

use crate::common::{interval, paced_cell, requirement, result, running, running_as};
use hdrhistogram::Histogram;
use store::{
    PacedInterval, Phase, RepeatResult, ScheduleCounts, StoredRequirement, TimeKind, TimeRow,
    TimeTotals,
};
use testkit::SECOND_NS;

fn times(kind: TimeKind, transaction: Option<&str>, times_ms: &[u64]) -> TimeRow {
    let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600 * SECOND_NS, 3).unwrap();
    for ms in times_ms {
        histogram.record(ms * 1_000_000).unwrap();
    }
    TimeRow {
        kind,
        transaction: transaction.map(str::to_owned),
        times: TimeTotals {
            histogram,
            sum_ns: times_ms.iter().sum::<u64>() * 1_000_000,
            max_ns: times_ms.iter().max().copied().unwrap_or(0) * 1_000_000,
            out_of_bounds: 0,
        },
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
    results.put(repeat, &rows).unwrap();
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
    results.put(repeat, &all).unwrap();
    assert_eq!(results.get::<StoredRequirement>(repeat).unwrap(), all);
    let passed: Vec<_> = results
        .summary(repeat)
        .unwrap()
        .verdicts
        .into_iter()
        .map(|verdict| verdict.judged.passed)
        .collect();
    assert_eq!(passed, [Some(true), Some(false), None]);
    // A closed loop without terminals has neither.
    let summary = results.summary(repeat).unwrap();
    assert!(summary.terminals.is_none() && summary.open_loop.is_none());
}
