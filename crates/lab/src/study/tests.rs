use super::has_failed_checks;
use base::RampLimits;
use store::{
    IntervalRow, LabId, NewCell, NewLab, NewRamp, NewRepeat, Phase, RampId, RepeatFailure,
    RepeatResult, Results, empty_histogram,
};

const WINDOW_NS: u64 = 2_000_000_000;

/// Stores a repeat with a result, or one that lost something: a point where there is a ramp.
fn measure(
    (results, lab, ramp): (&Results, LabId, Option<RampId>),
    (ordinal, connections): (u32, u32),
    is_good: bool,
) {
    let cell = NewCell {
        ordinal,
        connections,
        server_version: "5.7.22".to_owned(),
        warehouses: 1,
        schemas: 1,
        instances: 1,
        window_ns: WINDOW_NS,
        interval_ns: WINDOW_NS,
        ..NewCell::default()
    };
    let repeat = NewRepeat {
        cell: results.begin_cell(lab, &cell).unwrap(),
        ordinal: 1,
        my_cnf: None,
        seed: None,
        driver_threads: None,
    };
    let repeat = match ramp {
        Some(ramp) => results.begin_ramp_point(ramp, &repeat).unwrap(),
        None => results.begin_repeat(&repeat).unwrap(),
    };
    let mut latency = empty_histogram();
    latency.record_n(1_000_000, 100).unwrap();
    let row = IntervalRow {
        phase: Phase::Window,
        start_offset_ns: 0,
        end_offset_ns: WINDOW_NS,
        transaction: "new_order".to_owned(),
        committed: 100,
        rolled_back: 0,
        deadlocks: 0,
        lock_wait_timeouts: 0,
        other_retries: 0,
        errors: 0,
        latency,
        latency_sum_ns: 100_000_000,
        latency_max_ns: 1_000_000,
        latency_out_of_bounds: 0,
    };
    results.append_intervals(repeat, &[row]).unwrap();
    let result = RepeatResult {
        measured_window_ns: WINDOW_NS,
        ..RepeatResult::default()
    };
    results.finish_repeat(repeat, &result).unwrap();
    if !is_good {
        let failure = RepeatFailure {
            reason_code: "check_failed".to_owned(),
            reason: "checks failed: condition_1".to_owned(),
            log_tail: None,
        };
        results.fail_repeat(repeat, &failure).unwrap();
    }
}

fn results() -> (tempfile::TempDir, Results, LabId) {
    let directory = tempfile::tempdir().unwrap();
    let results = Results::create_or_open(&directory.path().join("mydyno.db")).unwrap();
    let lab = results.begin_lab(&NewLab::default()).unwrap();
    (directory, results, lab)
}

#[test]
fn the_last_attempt_says_what_a_cell_lost() {
    let (_directory, results, lab) = results();
    let place = (&results, lab, None);
    measure(place, (1, 8), true);
    assert!(!has_failed_checks(&results, lab).unwrap());
    measure(place, (2, 8), false);
    assert!(has_failed_checks(&results, lab).unwrap());
    measure(place, (2, 8), true);
    assert!(!has_failed_checks(&results, lab).unwrap());
}

#[test]
fn points_that_stand_say_what_a_ramp_lost() {
    let (_directory, results, lab) = results();
    let new = NewRamp {
        ordinal: 1,
        repeat: 1,
        limits: RampLimits::default(),
    };
    let begin = || results.begin_ramp(lab, &new).unwrap();
    let ramp = begin();
    let place = (&results, lab, Some(ramp));
    measure(place, (2, 8), true);
    measure(place, (3, 16), true);
    // Between the two, and the last.
    measure(place, (4, 12), false);
    results.finish_ramp(ramp).unwrap();
    assert!(has_failed_checks(&results, lab).unwrap());
    // Taken again, and not measured yet.
    assert_eq!(begin(), ramp);
    assert!(has_failed_checks(&results, lab).unwrap());
    // This time it turns elsewhere, so that 12 connections have no other attempt.
    measure(place, (2, 8), true);
    measure(place, (3, 16), true);
    measure(place, (5, 14), true);
    results.finish_ramp(ramp).unwrap();
    assert!(!has_failed_checks(&results, lab).unwrap());
    measure(place, (5, 14), false);
    assert!(has_failed_checks(&results, lab).unwrap());
}
