//! Every builtin does what its sheet promises, measured as `mydyno device verify` measures it with fio.

mod simulator;

use device::page::Kind;
use device::{Device, Profile, builtins};
use simulator::{Load, closed_loop, flush_latency_us};

const FILE: u64 = 77;
const SEED: u64 = 1;

/// Long enough for some thousands of requests.
fn seconds(iops: f64) -> f64 {
    (20_000.0 / iops).clamp(0.2, 60.0)
}

fn compare(profile: &Profile, figure: &str, promised: Option<f64>, measured: impl Fn(f64) -> f64) {
    compare_within(profile, figure, promised, 0.05, measured);
}

fn compare_within(
    profile: &Profile,
    figure: &str,
    promised: Option<f64>,
    tolerance: f64,
    measured: impl Fn(f64) -> f64,
) {
    let Some(promised) = promised else { return };
    let measured = measured(promised);
    println!(
        "{} {figure}: {promised} promised, {measured:.1} measured",
        profile.name
    );
    let share = measured / promised;
    if (share - 1.0).abs() > tolerance {
        println!("  WRONG by {:.1} %", (share - 1.0) * 100.0);
        MISSED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

static MISSED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

fn writes(profile: &Profile, worn: bool, depth: u32, seconds: f64) -> f64 {
    let mut device = Device::new(profile, SEED);
    let mut load = Load::random(Kind::Write, depth, seconds);
    if worn {
        device.precondition();
    }
    if profile.disk.is_some() {
        // Its cache fills by itself.
        load.ramp_seconds = profile.seconds_until_sustained();
    }
    closed_loop(&mut device, FILE, load).iops
}

#[test]
fn builtins_keep_the_promises_of_their_sheets() {
    for profile in &builtins() {
        let sheet = &profile.sheet;
        let fresh = || Device::new(profile, SEED);
        let depth = sheet.random_read_queue_depth.unwrap_or(1);
        compare(
            profile,
            "random_read_iops",
            sheet.random_read_iops,
            |iops| {
                let load = Load::random(Kind::Read, depth, seconds(iops));
                closed_loop(&mut fresh(), FILE, load).iops
            },
        );
        let depth = sheet.random_write_queue_depth.unwrap_or(1);
        compare(
            profile,
            "random_write_iops",
            sheet.random_write_iops,
            |iops| writes(profile, true, depth, seconds(iops)),
        );
        let peak = sheet.random_write_peak_iops;
        compare(profile, "random_write_peak_iops", peak, |_| {
            writes(profile, false, depth, profile.peak_seconds().unwrap())
        });
        for (figure, kind, promised) in [
            (
                "sequential_read",
                Kind::Read,
                sheet.sequential_read_mb_per_s,
            ),
            (
                "sequential_write",
                Kind::Write,
                sheet.sequential_write_mb_per_s,
            ),
        ] {
            compare(profile, figure, promised, |mb_per_s| {
                let load = Load::sequential(kind, (5_000.0 / mb_per_s).min(20.0));
                closed_loop(&mut fresh(), FILE, load).mb_per_s
            });
        }
        compare(profile, "read_latency_us", sheet.read_latency_us, |us| {
            let load = Load::random(Kind::Read, 1, seconds(1e6 / us));
            closed_loop(&mut fresh(), FILE, load).latency_us
        });
        compare_within(
            profile,
            "flush_latency_us",
            sheet.flush_latency_us,
            0.1,
            |_| flush_latency_us(&mut fresh(), FILE, 2000),
        );
    }
    let missed = MISSED.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(missed, 0, "figures of sheets that the model misses");
}
