//! What fio measures: what holds of every figure on every host, and a directory becomes a profile.
//! That each sheet is met is judged where the host is quick enough, in `serial`.

use crate::support::{PATIENT, assert_described, directory, list, mydyno, shim, text, verified};
use std::fs;

#[test]
fn a_sheet_is_verified_by_fio() {
    shim();
    assert!(verified(PATIENT, "1").len() >= 4);
}

#[test]
fn a_directory_becomes_a_profile() {
    shim();
    let work = directory();
    let ran =
        mydyno(["device", "probe", ".", "--profile", "mine.toml", "--seconds", "1", "--json"]);
    let ran = ran.in_directory(work.path()).run();
    let document = ran.exits(0).json();
    assert_eq!(text(&document, "/output"), "mine.toml");
    assert_described(&document);
    assert_eq!(text(&document, "/profile/name"), "mine");
    let measurements = list(&document, "/measurements");
    assert!(measurements.len() >= 9, "{document:#}");
    let source = text(&document, "/profile/sources/sheet.read_latency_us");
    assert!(source.starts_with("measured by fio-"), "{source}");
    // Nothing stays but the profile.
    let left: Vec<_> = fs::read_dir(work.path()).unwrap().collect();
    assert_eq!(left.len(), 1);

    let show = mydyno(["device", "show", "mine.toml"]).in_directory(work.path());
    show.run().exits(0);
    let again =
        mydyno(["device", "probe", ".", "--profile", "mine.toml"]).in_directory(work.path());
    again.run().exits(2).says(&["mine.toml is there already"]);
}
