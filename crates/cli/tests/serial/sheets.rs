//! Emulated devices meet their sheets, as fio measures them on a machine that does nothing else.

use crate::support::{PATIENT, shim, text, verified};
use crate::turn;
use serde_json::Value;

/// A busy machine makes a figure `host-limited`, or slow in a way that nobody can explain, so that
/// asking again is fair. A broken emulation is so every time.
const ATTEMPTS: u32 = 3;

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
        let mut now = verified(profile, "2");
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

#[test]
#[ignore = "make soak"]
fn emulated_devices_meet_their_sheets() {
    let _turn = turn();
    let of_requests = ["random_read_iops", "random_write_iops"];
    let of_times = ["read_latency_us", "flush_latency_us"];
    let all = [of_requests, of_times].concat();
    assert_within(PATIENT, &all);
    // Many of these are outstanding, so that a host that is late loses little. Where it is late for
    // the rest of their sheets, as hosts of many guests are, the verdict is `host-limited`;
    // `outside` would be wrong.
    let of_bytes = ["sequential_read_mb_per_s", "sequential_write_mb_per_s"];
    assert_within("cloud-gp3", &[of_requests, of_bytes].concat());
    assert_within("hdd-15k", &[]);
}
