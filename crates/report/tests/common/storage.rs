//! Where the files of a fixture are, and what was counted of their devices.

use device::{CacheSetup, DeviceSetup, Setup};
use store::{CellPlace, DeviceIo, RequestIo, RequestKind, RoleIo, ShimFacts, TimeTotals};
use testkit::{SECOND_NS, place};

/// Data on `device`, redo on NVMe.
pub fn places(device: &str) -> Vec<CellPlace> {
    vec![place("data", device), place("redo", "nvme-pm1725")]
}

/// What the shim was told.
fn setup(data: &str) -> String {
    let device = |name| DeviceSetup {
        profile: device::builtin(name).unwrap(),
        seed: 1,
        preconditioned: true,
    };
    let setup = Setup {
        page: "shim.page".to_owned(),
        directories: vec!["data".to_owned()],
        spin: true,
        cache: CacheSetup { bytes: 1 << 20, read_ahead_bytes: 128 << 10 },
        devices: vec![device(data), device("nvme-pm1725")],
        ..Setup::default()
    };
    setup.to_toml().unwrap()
}

/// Reads of 0.8 ms on data.
pub fn device_io(window_s: u64, data: &str) -> DeviceIo {
    let mut times = TimeTotals::default();
    times.histogram.record_n(800_000, 100).unwrap();
    times.sum_ns = 80_000_000;
    times.max_ns = 820_000;
    DeviceIo {
        shim: ShimFacts {
            uring_refused: 3,
            model_calls: 100,
            model_ns: 40_000,
            setup: setup(data),
            ..ShimFacts::default()
        },
        roles: vec![RoleIo {
            role: "data".to_owned(),
            counted_ns: window_s * SECOND_NS,
            outstanding_max: 7,
            busy_ns: SECOND_NS,
            outstanding_ns: 2 * SECOND_NS,
            judged: 100,
            within_tolerance: 98,
            late_ns: 1_000_000,
            overruns: 1,
            requests: vec![RequestIo {
                kind: RequestKind::Read,
                requests: 100,
                bytes: 1_638_400,
                response: times.clone(),
                service: times,
            }],
        }],
    }
}
