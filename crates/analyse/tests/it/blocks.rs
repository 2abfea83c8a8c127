//! Comparisons in blocks, tried on labs of which the truth is known: a machine that drifts by 10 %
//! from block to block, and noise of 3 % from run to run. docs/statistics.md has the same with more
//! trials.

use crate::simulated::{Scenario, scenarios};

const TRIALS: usize = 2_000;

#[test]
fn equal_cells_are_called_different_once_in_twenty() {
    for scenario in scenarios() {
        let found = scenario.tried(TRIALS);
        // Bartlett's test overlooks some of the labs whose cells scatter unlike.
        let is_alike = scenario.deviations.iter().all(|one| *one == 0.03);
        let most = if is_alike { 0.06 } else { 0.07 };
        let rate = found.false_alarms;
        assert!((0.04..=most).contains(&rate), "{}: {rate}", scenario.name);
        // A whole table of comparisons is wrong no more often than one of them.
        let rate = found.tables_with_false_alarms;
        assert!(rate <= most, "{}: {rate}", scenario.name);
    }
}

#[test]
fn true_differences_are_found_though_blocks_drift() {
    let of_three = Scenario::alike("9 cells, 3 repeats", 9, 3).tried(TRIALS);
    assert!(of_three.twenty_percent > 0.95, "{of_three:?}");
    assert!(of_three.twenty_percent_corrected > 0.85, "{of_three:?}");
    // 5 % is two standard errors: with the noise known exactly a test would find it in 51 %, one
    // that asks for a gain alone in 64 %.
    assert!(of_three.five_percent > 0.40, "{of_three:?}");
    assert!(of_three.five_percent_one_sided > 0.55, "{of_three:?}");
    let of_five = Scenario::alike("9 cells, 5 repeats", 9, 5).tried(TRIALS);
    assert!(of_five.five_percent > 0.60, "{of_five:?}");
    assert!(of_five.twenty_percent_corrected > 0.97, "{of_five:?}");
}
