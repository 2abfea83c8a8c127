use super::{RampPoint, failure, ramp_point, ramps, standing};
use crate::lab::outcomes::lab_outcome;
use crate::ramp::saturation::StopReason;
use crate::stats::statistics::NoInterval;
use spec::RampLimits;
use store::{IntervalRow, LabId, NewCell, NewRamp, Phase, RampId, RepeatId, Results};
use testkit::{Scratch, fail, repeat, window};

fn new_ramp(repeat: u32) -> NewRamp {
    NewRamp { ordinal: 1, repeat, limits: RampLimits::default() }
}

/// A count measured for 2 s, with so many new orders.
fn measure(
    place: (&Results, LabId, RampId),
    (ordinal, connections): (u32, u32),
    new_orders: u64,
) -> RepeatId {
    measure_repeat(place, (ordinal, 1), connections, new_orders)
}

fn measure_repeat(
    (results, lab, ramp): (&Results, LabId, RampId),
    (ordinal, of_cell): (u32, u32),
    connections: u32,
    new_orders: u64,
) -> RepeatId {
    let cell = NewCell { ordinal, connections, ..testkit::cell() };
    let cell = results.begin_cell(lab, &cell).unwrap();
    let point = results.begin_ramp_point(ramp, &repeat(cell, of_cell)).unwrap();
    testkit::measure(results, point, new_orders);
    point
}

#[test]
fn a_ramp_is_what_its_stored_points_say() {
    let scratch = Scratch::default();
    let (results, lab) = (&*scratch, scratch.lab);
    let new = new_ramp(1);
    let ramp = results.begin_ramp(lab, &new).unwrap();
    let place = (results, lab, ramp);
    measure(place, (1, 8), 100);
    measure(place, (2, 16), 200);
    let last = measure(place, (3, 32), 400);
    let found = ramps(results, lab).unwrap();
    assert_eq!(found[0].points.len(), 3);
    assert_eq!(found[0].saturation, None);
    let point = &found[0].points[1];
    assert_eq!((point.connections, point.nopm), (16, Some(6_000.0)));
    let p90_us = point.primary_p90_us.unwrap();
    assert!((p90_us / 40_000.0 - 1.0).abs() < 0.01, "{p90_us}");
    assert_eq!(point.cpu, None);

    fail(results, last, "lock_wait_timeout");
    results.finish_ramp(ramp).unwrap();
    let found = ramps(results, lab).unwrap();
    let saturation = found[0].saturation.clone().unwrap();
    assert_eq!(found[0].supported_connections(), Some(16));
    assert_eq!(found[0].supported_words(), "16");
    assert!(
        matches!(&saturation.reason, Some(StopReason::Failed { connections: 32, .. })),
        "{saturation:?}"
    );
    assert_eq!(found[0].points[2].nopm, None);

    // Taken up again, it is the same ramp without an end.
    assert_eq!(results.begin_ramp(lab, &new).unwrap(), ramp);
    assert_eq!(results.ramps(lab).unwrap()[0].what, new);
    assert_eq!(ramps(results, lab).unwrap()[0].saturation, None);
    // One that did nothing is at its end, and so is the ramp.
    let stalled = measure(place, (4, 64), 0);
    let stalled = results.repeat(stalled).unwrap();
    let point = ramp_point(results, &stalled).unwrap().unwrap();
    assert!(!point.is_good());
    assert_eq!(point.reason_code.as_deref(), Some("no_new_orders"));
    assert!(point.nopm.is_none() && point.p90_us.is_empty(), "{point:?}");
    // An interrupted point says nothing.
    let cell = results.repeat(last).unwrap().cell;
    let again = results.begin_ramp_point(ramp, &repeat(cell, 1)).unwrap();
    fail(results, again, "interrupted");
    let again = results.repeat(again).unwrap();
    assert_eq!(ramp_point(results, &again).unwrap(), None);
    assert_eq!(results.ramp_points(ramp).unwrap().len(), 5);
    assert_eq!(ramps(results, lab).unwrap()[0].points.len(), 3);
    assert_eq!(results.ramp_cells(lab, 1).unwrap().len(), 4);
}

#[test]
fn a_count_measured_again_on_one_server_is_no_repeat() {
    let scratch = Scratch::default();
    let (results, lab) = (&*scratch, scratch.lab);
    let begin = |repeat| results.begin_ramp(lab, &new_ramp(repeat)).unwrap();
    let ramp = begin(1);
    measure_repeat((results, lab, ramp), (1, 1), 8, 100);
    measure_repeat((results, lab, ramp), (1, 2), 8, 120);
    let told = |results: &Results| {
        let cell = lab_outcome(results, lab).unwrap().cells.remove(0);
        let again: Vec<bool> = cell.repeats.iter().map(|of| of.measured_again).collect();
        let runs = cell.nopm.estimate.map(|of| of.count);
        (again, cell.nopm.no_interval, cell.nopm.mean, runs)
    };
    let one = (vec![false, true], Some(NoInterval::OneRepeat), Some(3_000.0), None);
    assert_eq!(told(results), one);
    // The ramp has both points.
    assert_eq!(ramps(results, lab).unwrap()[0].points.len(), 2);
    // A server of its own makes a repeat.
    measure_repeat((results, lab, begin(2)), (1, 3), 8, 110);
    let two = (vec![false, true, false], None, Some(3_150.0), Some(2));
    assert_eq!(told(results), two);
}

#[test]
fn retries_are_a_share_of_the_tries_of_all_types() {
    let scratch = Scratch::default();
    let (results, lab) = (&*scratch, scratch.lab);
    let limits = RampLimits { retries_share: Some(0.05), ..RampLimits::default() };
    let ramp = results.begin_ramp(lab, &NewRamp { limits, ..new_ramp(1) }).unwrap();
    assert_eq!(results.ramps(lab).unwrap()[0].what.limits.retries_share, Some(0.05));
    measure((results, lab, ramp), (1, 8), 100);

    let cell = NewCell { ordinal: 2, connections: 16, ..testkit::cell() };
    let window_ns = cell.window_ns;
    let cell = results.begin_cell(lab, &cell).unwrap();
    let point = results.begin_ramp_point(ramp, &repeat(cell, 1)).unwrap();
    // 190 last tries, of which one was given up, and 10 that were made again. What failed in the
    // warm-up does not count.
    let new_orders = IntervalRow {
        rolled_back: 9,
        deadlocks: 4,
        other_retries: 1,
        ..window(window_ns, "new_order", 100)
    };
    let payments =
        IntervalRow { lock_wait_timeouts: 5, errors: 1, ..window(window_ns, "payment", 80) };
    let warmup =
        IntervalRow { phase: Phase::Warmup, deadlocks: 500, ..window(window_ns, "new_order", 10) };
    results.put(point, &[new_orders, payments, warmup]).unwrap();
    results.finish_repeat(point, &testkit::result(window_ns)).unwrap();
    results.finish_ramp(ramp).unwrap();

    let found = ramps(results, lab).unwrap().remove(0);
    assert_eq!(found.conditions.retries_share, Some(0.05));
    let shares: Vec<_> = found.points.iter().map(|point| point.retries_share).collect();
    assert_eq!(shares, [Some(0.0), Some(0.05)]);
    let saturation = found.saturation.unwrap();
    assert_eq!(saturation.connections, Some(8));
    assert_eq!(saturation.reason, Some(StopReason::Retries { retries_share: 0.05 }));
}

/// A point of this count, failed where there is a reason.
fn attempt(connections: u32, reason_code: Option<&str>) -> ((u32, u32), Option<RampPoint>) {
    let point = RampPoint {
        cell_id: 1,
        cell: 1,
        repeat: 1,
        repeat_id: 1,
        connections,
        nopm: reason_code.is_none().then_some(1.0),
        reason_code: reason_code.map(str::to_owned),
        ..RampPoint::default()
    };
    ((connections, 1), Some(point))
}

/// Counts of the points that count, and the failure.
fn stands(
    attempts: &[((u32, u32), Option<RampPoint>)],
    is_taken_up: bool,
) -> (Vec<u32>, Option<String>) {
    let points = standing(attempts, is_taken_up);
    let counts = points.iter().map(|point| point.connections);
    let failed = failure(&points).and_then(|failed| failed.reason_code.clone());
    (counts.collect(), failed)
}

#[test]
fn failures_end_a_ramp_until_it_is_taken_up_again() {
    let good = |connections| attempt(connections, None);
    let code = |code: &str| Some(code.to_owned());
    let mut ramp = vec![good(8), good(16), attempt(32, Some("refused"))];
    assert_eq!(stands(&ramp, false), (vec![8, 16, 32], code("refused")));
    assert_eq!(stands(&ramp, true), (vec![8, 16], None));
    // An interrupted attempt is no point, and takes away the one before it.
    ramp.push(((16, 1), None));
    assert_eq!(stands(&ramp, true), (vec![8], None));
    ramp.push(good(16));
    assert_eq!(stands(&ramp, false), (vec![8, 16], None));
    ramp.push(attempt(64, Some("timed_out")));
    assert_eq!(stands(&ramp, false).1, code("timed_out"));
}

#[test]
fn what_was_disproved_never_counts_again() {
    let good = |connections| attempt(connections, None);
    let disproved = |reason_code| attempt(16, Some(reason_code));
    for reason_code in ["check_failed", "not_checked"] {
        // Checks hang on the last good point, with a count after it that failed.
        let mut ramp =
            vec![good(8), good(12), disproved(reason_code), attempt(32, Some("refused"))];
        let failed = stands(&ramp, false).1;
        assert_eq!(failed.as_deref(), Some(reason_code));
        assert_eq!(stands(&ramp, true), (vec![], None));
        ramp.extend([good(8), good(16)]);
        assert_eq!(stands(&ramp, false), (vec![8, 16], None));
        assert_eq!(stands(&ramp, true), (vec![8, 16], None));
    }
}
