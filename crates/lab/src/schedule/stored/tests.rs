use super::has_failed_checks;
use spec::RampLimits;
use store::{LabId, NewCell, NewRamp, RampId, Results, StoredDrill};
use testkit::{Scratch, begin, fail, repeat};

/// Stores a repeat with a result, or one that lost something: a point where there is a ramp.
fn measure(
    (results, lab, ramp): (&Results, LabId, Option<RampId>),
    (ordinal, connections): (u32, u32),
    is_good: bool,
) {
    let cell = NewCell { ordinal, connections, ..testkit::cell() };
    let cell = results.begin_cell(lab, &cell).unwrap();
    let repeat = match ramp {
        Some(ramp) => results.begin_ramp_point(ramp, &repeat(cell, 1)).unwrap(),
        None => begin(results, cell, 1),
    };
    testkit::measure(results, repeat, 100);
    if !is_good {
        fail(results, repeat, "check_failed");
    }
}

#[test]
fn the_last_attempt_says_what_a_cell_lost() {
    let scratch = Scratch::default();
    let (results, lab) = (&*scratch, scratch.lab);
    let place = (results, lab, None);
    measure(place, (1, 8), true);
    assert!(!has_failed_checks(results, lab).unwrap());
    measure(place, (2, 8), false);
    assert!(has_failed_checks(results, lab).unwrap());
    measure(place, (2, 8), true);
    assert!(!has_failed_checks(results, lab).unwrap());
}

#[test]
fn points_that_stand_say_what_a_ramp_lost() {
    let scratch = Scratch::default();
    let (results, lab) = (&*scratch, scratch.lab);
    let new = NewRamp { ordinal: 1, repeat: 1, limits: RampLimits::default() };
    let begin = || results.begin_ramp(lab, &new).unwrap();
    let ramp = begin();
    let place = (results, lab, Some(ramp));
    measure(place, (2, 8), true);
    measure(place, (3, 16), true);
    // Between the two, and the last.
    measure(place, (4, 12), false);
    results.finish_ramp(ramp).unwrap();
    assert!(has_failed_checks(results, lab).unwrap());
    // Taken again, and not measured yet.
    assert_eq!(begin(), ramp);
    assert!(has_failed_checks(results, lab).unwrap());
    // This time it turns elsewhere, so that 12 connections have no other attempt.
    measure(place, (2, 8), true);
    measure(place, (3, 16), true);
    measure(place, (5, 14), true);
    results.finish_ramp(ramp).unwrap();
    assert!(!has_failed_checks(results, lab).unwrap());
    measure(place, (5, 14), false);
    assert!(has_failed_checks(results, lab).unwrap());
}

#[test]
fn a_drill_whose_server_did_not_come_back_has_ended() {
    let scratch = Scratch::default();
    let results = &*scratch;
    let cell = results.begin_cell(scratch.lab, &testkit::cell()).unwrap();
    let repeat = begin(results, cell, 1);
    testkit::measure(results, repeat, 100);
    let has_ended = || results.has_ended(&results.repeat(repeat).unwrap()).unwrap();
    assert!(!has_ended(), "it was to be checked");
    results.put(repeat, &[StoredDrill::default()]).unwrap();
    assert!(has_ended());
}
