//! Warm-ups and windows of automatic length in plans.

use crate::tests::{PLAN, cells, known, wrong};
use crate::{CellNeeds, Files, Plan, Sizes};
use spec::Length;
use std::time::Duration;

fn with(load: &str) -> String {
    PLAN.replace("warehouses = 10", &format!("warehouses = 10\n{load}"))
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn lengths_may_be_automatic() {
    let fixed = &cells(PLAN).unwrap()[0];
    let auto = &cells(&with("warmup = 'auto'\nwindow = 'auto:20m'")).unwrap()[0];
    assert_eq!(auto.what.lengths.warmup, Length::auto(30 * MINUTE));
    assert_eq!(auto.what.lengths.window, Length::auto(20 * MINUTE));
    assert_eq!(auto.what.lengths.window_precision_share(), Some(0.02));
    // The most of both, 10 minutes, and 10 s for each of 10 warehouses.
    let limit = auto.repeat_time_limit;
    assert_eq!(limit, 60 * MINUTE + Duration::from_secs(100));
    let precise = |load: &str| cells(&with(load)).unwrap()[0].what.lengths.window_precision_share();
    assert_eq!(precise("window = 'auto'\nprecision = '1%'"), Some(0.01));
    assert_eq!(precise("window = 'auto'\nprecision = 0.05"), Some(0.05));

    // A window of 20 minutes is not one that may end before.
    let key = |load: &str| cells(&with(load)).unwrap()[0].what.key();
    assert_ne!(key("window = '20m'"), key("window = 'auto:20m'"));
    assert_ne!(key("window = 'auto'"), key("window = 'auto'\nprecision = 0.05"));
    assert_ne!(key("warmup = '30m'"), key("warmup = 'auto'"));
    assert_eq!(key("precision = '2%'\nwindow = 'auto'"), { key("window = 'auto'") });

    // A guess where nobody knows: 5 minutes each.
    let sizes = Sizes { pool_bytes: 1 << 30, redo_bytes: 1 << 30 };
    let duration = |cell| CellNeeds::of(cell, sizes, Files::Home).duration;
    let more = duration(auto) - duration(fixed);
    assert_eq!(more, 10 * MINUTE - Duration::from_secs(70));
    let shortened = Plan::parse(&with("warmup = 'auto'\nwindow = 'auto'"), "p.toml");
    let shortened = shortened.unwrap().shortened().cells(&known()).unwrap();
    assert!(
        !shortened[0].what.lengths.warmup.is_auto && shortened[0].what.lengths.window.most < MINUTE
    );
}

#[test]
fn wrong_lengths_are_refused_with_their_place() {
    for (load, at, words) in [
        ("warmup = 'autumn'", "'autumn'", "\"auto:10m\""),
        ("warmup = 'auto:10s'", "'auto:10s'", "30 intervals at least"),
        ("window = 'auto:0s'", "'auto:0s'", "from 1ms"),
        ("window = 'auto:10m'\ninterval = '30s'", "'auto:10m'", "which take 15m"),
        ("precision = '2%'", "'2%'", "this one is fixed"),
        ("window = 'auto'\nprecision = 2.5", "2.5", "`precision` is 2.5"),
        ("window = 'auto'\nprecision = '60%'", "'60%'", "0.01% to 50%"),
        ("window = 'auto'\nprecision = 2", "2", "a share like"),
        ("window = 'auto'\nprecision = [0.01]", "[0.01]", "no dimension"),
    ] {
        let (error, rest) = wrong(&with(load));
        assert!(rest.starts_with(at), "{load}: {error} at {rest:?}");
        assert!(error.to_string().contains(words), "{load}: {error}");
    }
}
