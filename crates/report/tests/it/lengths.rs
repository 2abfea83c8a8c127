//! What a report says of a warm-up and a window of automatic length.

use crate::common::{ONE_CELL, new_cell, new_lab};
use store::{NewCell, RepeatResult};
use testkit::{SECOND_NS as S, Scratch, begin};

#[test]
fn what_automatic_lengths_came_to() {
    let results = Scratch::with(&new_lab(&ONE_CELL));
    let cell = NewCell {
        warmup_ns: 1_800 * S,
        warmup_auto: true,
        window_ns: 3_600 * S,
        window_auto: true,
        precision_share: Some(0.02),
        ..new_cell(&ONE_CELL, "mysql-5.7", 1, 8)
    };
    let cell = results.begin_cell(results.lab, &cell).unwrap();
    for (ordinal, warmup_s, is_steady, precision_share) in
        [(1, 84, true, Some(0.015)), (2, 1_800, false, None)]
    {
        let repeat = begin(&results, cell, ordinal);
        let result = RepeatResult {
            warmup_measured_ns: Some(warmup_s * S),
            warmup_steady: Some(is_steady),
            window_precision_share: precision_share,
            ..testkit::result(30 * S)
        };
        results.finish_repeat(repeat, &result).unwrap();
    }
    let html = report::render(&results, results.lab).unwrap();
    for words in [
        "warm-up automatic (30 min at most), window automatic (1 h at most) to ± 2 %, \
         intervals of ",
        "Warm-up 84.0 s, until the server was steady; window 30.0 s, its mean throughput is \
         known to ± 1.5 % (± 2 % asked).",
        "Warm-up 1800.0 s, the most that it might take, and the server was not steady; window \
         30.0 s, it was too short",
    ] {
        assert!(html.contains(words), "{words}");
    }
}
