//! Emulated devices meet their sheets under fio. In a file of its own, whose tests cargo runs while no other's run: two things
//! measured at a time would measure each other.

#[expect(dead_code, unused_imports, reason = "each test file uses a part of it")]
mod support;

use serde_json::Value;
use std::time::Duration;
use support::{assert_described, directory, float, list, mydyno, number, shim, text};

/// One device takes half a minute.
const VERIFICATION: Duration = Duration::from_secs(240);
/// A busy machine makes a figure `host-limited`, or slow in a way that nobody can explain, so that asking again is fair. A
/// broken emulation is so every time.
const ATTEMPTS: u32 = 3;

/// What must hold on every host, at every attempt: figures are judged by their bounds, and what is faster than its sheet is not the
/// host's doing.
fn assert_holds(figure: &Value) {
    let verdict = text(figure, "/verdict");
    let deviation = float(figure, "/deviation_share");
    let is_within = deviation.abs() <= float(figure, "/bound_share");
    match verdict {
        "within" => assert!(is_within, "{figure:#}"),
        "outside" => assert!(!is_within, "{figure:#}"),
        _ => assert_eq!(verdict, "host-limited"),
    }
    let is_fast = (deviation < 0.0) == (text(figure, "/unit") == "us");
    assert!(is_within || !is_fast || verdict == "outside", "{figure:#}");
    assert!(number(figure, "/requests") > 0, "{figure:#}");
    assert!(float(figure, "/fidelity_share") > 0.0, "{figure:#}");
}

/// The figures of one device, after what holds for any.
fn verified(profile: &str) -> Vec<Value> {
    let arguments = ["device", "verify", profile, "--seconds", "2", "--json"];
    let ran = mydyno(arguments).spawn().wait(VERIFICATION);
    let document = ran.json();
    let figures = list(&document, "/devices/0/figures").to_vec();
    figures.iter().for_each(assert_holds);
    assert_described(&document);
    assert!(text(&document, "/fio_version").starts_with("fio-"));
    let verdicts = [("/within", "within"), ("/host_limited", "host-limited")];
    for (pointer, verdict) in verdicts.into_iter().chain([("/outside", "outside")]) {
        let such = figures.iter().filter(|f| text(f, "/verdict") == verdict);
        assert_eq!(number(&document, pointer), such.count() as u64);
    }
    let passed = number(&document, "/outside") == 0;
    assert_eq!(document["passed"], passed);
    ran.exits(if passed { 0 } else { 6 });
    figures
}

/// Verifies until each of the keys was seen within its bound, and no other is outside every time.
fn assert_within(profile: &str, keys: &[&str]) {
    shim();
    let mut open: Option<Vec<Value>> = None;
    for _ in 0..ATTEMPTS {
        let unsettled = |figure: &Value| match text(figure, "/verdict") {
            "outside" => true,
            "host-limited" => keys.contains(&text(figure, "/key")),
            _ => false,
        };
        let mut now = verified(profile);
        for key in keys {
            assert!(now.iter().any(|f| text(f, "/key") == *key), "no {key}");
        }
        now.retain(unsettled);
        if let Some(before) = open {
            now.retain(|figure| before.iter().any(|other| other["key"] == figure["key"]));
        }
        if now.is_empty() {
            return;
        }
        open = Some(now);
    }
    panic!("{profile}: {ATTEMPTS} times so; is this machine busy? {open:#?}");
}

/// Any host outruns these.
#[test]
fn emulated_devices_meet_their_sheets() {
    assert_within(
        "hdd-15k",
        &["random_read_iops", "random_write_iops", "read_latency_us"],
    );
    assert_within(
        "cloud-gp3",
        &[
            "random_read_iops",
            "random_write_iops",
            "sequential_read_mb_per_s",
            "sequential_write_mb_per_s",
            "read_latency_us",
        ],
    );
}

#[test]
fn a_sheet_that_promises_nothing_is_refused() {
    let work = directory();
    let profile = "name = \"mute\"\ntitle = \"A mute disk\"\ncapacity_bytes = 600_000_000_000\n[sheet]\n[disk]\nrpm = 7200\n\
                   average_seek_ms = 8.0\nsequential_mb_per_s = 150\n";
    std::fs::write(work.path().join("mute.toml"), profile).unwrap();
    let ran = mydyno(["device", "verify", "hdd-15k", "mute.toml"]).in_directory(work.path());
    ran.run()
        .exits(2)
        .says(&["[sheet] of mute", "read_latency_us"]);
}
