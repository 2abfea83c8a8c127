//! What `device verify` says of a profile.

use super::{assert_described, float, list, mydyno, number, text};
use serde_json::Value;

pub const PATIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../device/tests/patient.toml");

/// What must hold on every host, at every attempt: figures are judged by their bounds, and what is
/// faster than its sheet is not the host's doing.
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
pub fn verified(profile: &str, seconds: &str) -> Vec<Value> {
    let arguments = ["device", "verify", profile, "--seconds", seconds, "--json"];
    let ran = mydyno(arguments).run();
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
