//! Warm-ups and windows of automatic length.

use crate::tests::{PLAN, cells, known, wrong};
use crate::{CellNeeds, Files, Length, Plan, Sizes, parse_precision};
use std::time::Duration;

#[test]
fn lengths_as_people_write_them() {
    let seconds = |n| Duration::from_secs(n);
    let parse = |text| Length::parse(text, seconds(9), humantime::parse_duration).ok();
    assert_eq!(parse("90s"), Some(Length::fixed(seconds(90))));
    assert_eq!(parse("auto"), Some(Length::auto(seconds(9))));
    assert_eq!(parse("auto:10m"), Some(Length::auto(seconds(600))));
    for bad in ["", "auto:", "auto:x", "automatic", "auto10m", "10m:auto"] {
        assert_eq!(parse(bad), None, "{bad}");
    }
    let told = |length: Length| length.to_string();
    assert_eq!(told(Length::fixed(seconds(90))), "1m 30s");
    assert_eq!(told(Length::auto(seconds(600))), "auto, 10m at most");
    let expected = |length: Length| length.expected().as_secs();
    assert_eq!(expected(Length::fixed(seconds(3_600))), 3_600);
    assert_eq!(expected(Length::auto(seconds(3_600))), 300);
    assert_eq!(expected(Length::auto(seconds(60))), 60);
}

#[test]
fn precision_is_a_share() {
    assert_eq!(parse_precision("2%"), Some(0.02));
    assert_eq!(parse_precision("0.5 %"), Some(0.005));
    assert_eq!(parse_precision("0.02"), Some(0.02));
    assert_eq!(parse_precision("0.01%"), Some(0.000_1));
    for bad in [
        "",
        "%",
        "0",
        "0.009%",
        "-1%",
        "51%",
        "2",
        "nan",
        "inf%",
        "2 percent",
    ] {
        assert_eq!(parse_precision(bad), None, "{bad}");
    }
}

fn with(load: &str) -> String {
    PLAN.replace("warehouses = 10", &format!("warehouses = 10\n{load}"))
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn lengths_may_be_automatic() {
    let fixed = &cells(PLAN).unwrap()[0];
    let auto = &cells(&with("warmup = 'auto'\nwindow = 'auto:20m'")).unwrap()[0];
    assert_eq!(auto.warmup, Length::auto(30 * MINUTE));
    assert_eq!(auto.window, Length::auto(20 * MINUTE));
    assert_eq!(auto.precision_share, 0.02);
    // The most of both, 10 minutes, and 10 s for each of 10 warehouses.
    let limit = auto.repeat_time_limit;
    assert_eq!(limit, 60 * MINUTE + Duration::from_secs(100));
    let precise = |load: &str| cells(&with(load)).unwrap()[0].precision_share;
    assert_eq!(precise("window = 'auto'\nprecision = '1%'"), 0.01);
    assert_eq!(precise("window = 'auto'\nprecision = 0.05"), 0.05);

    // A window of 20 minutes is not one that may end before.
    let key = |load: &str| cells(&with(load)).unwrap()[0].key();
    assert_ne!(key("window = '20m'"), key("window = 'auto:20m'"));
    assert_ne!(
        key("window = 'auto'"),
        key("window = 'auto'\nprecision = 0.05")
    );
    assert_ne!(key("warmup = '30m'"), key("warmup = 'auto'"));
    assert_eq!(key("precision = '2%'\nwindow = 'auto'"), {
        key("window = 'auto'")
    });

    // A guess where nobody knows: 5 minutes each.
    let sizes = Sizes {
        pool_bytes: 1 << 30,
        redo_bytes: 1 << 30,
    };
    let duration = |cell| CellNeeds::of(cell, sizes, Files::Home).duration;
    let more = duration(auto) - duration(fixed);
    assert_eq!(more, 10 * MINUTE - Duration::from_secs(70));
    let shortened = Plan::parse(&with("warmup = 'auto'\nwindow = 'auto'"), "p.toml");
    let shortened = shortened.unwrap().shortened().cells(&known()).unwrap();
    assert!(!shortened[0].warmup.is_auto && shortened[0].window.most < MINUTE);
}

#[test]
fn wrong_lengths_are_refused_with_their_place() {
    for (load, at, words) in [
        ("warmup = 'autumn'", "'autumn'", "\"auto:10m\""),
        ("warmup = 'auto:10s'", "'auto:10s'", "30 intervals at least"),
        ("window = 'auto:0s'", "'auto:0s'", "from 1s"),
        (
            "window = 'auto:10m'\ninterval = '30s'",
            "'auto:10m'",
            "which take 15m",
        ),
        ("precision = '2%'", "'2%'", "a fixed one"),
        (
            "window = 'auto'\nprecision = 2.5",
            "2.5",
            "`precision` is 2.5",
        ),
        (
            "window = 'auto'\nprecision = '60%'",
            "'60%'",
            "0.01% to 50%",
        ),
        ("window = 'auto'\nprecision = 2", "2", "a share like"),
        (
            "window = 'auto'\nprecision = [0.01]",
            "[0.01]",
            "no dimension",
        ),
    ] {
        let (error, rest) = wrong(&with(load));
        assert!(rest.starts_with(at), "{load}: {error} at {rest:?}");
        assert!(error.to_string().contains(words), "{load}: {error}");
    }
}
