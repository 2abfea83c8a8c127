//! The shim beside the library that dilates the program's clocks: devices are slower by the same
//! factor, and neither the program nor the counters see it.

use crate::common::{Aligned, Bench, open, slow, tell, timed};
use crate::libaio::{Context, Event, block};
use base::{CLOCK_VARIABLE, Dilation};
use device::Role;
use device::page::{AccessKind, Global, OfKind, OfRole, Snapshot};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

const READS: u64 = 50;
const PAGE: usize = 4096;
const FACTOR: f64 = 4.0;
const FASTER: f64 = 0.25;
/// No read of the slow device takes less.
const SOONEST: Duration = Duration::from_micros(50);

pub fn job(name: &str, files: &Path) -> bool {
    if !name.starts_with("dilated-") {
        return false;
    }
    let file = open(&files.join("t.ibd"), libc::O_DIRECT);
    let mut memory = Box::new(Aligned([0; 65536]));
    match name {
        "dilated-reads" => timed("reads_ns", || {
            for read in 0..READS {
                file.read_exact_at(&mut memory.0[..PAGE], read * PAGE as u64).unwrap();
            }
        }),
        "dilated-aio" => {
            let context = Context::new();
            let mut events = [Event::default(); READS as usize];
            // Nothing comes: the time of the program is what it waits for.
            timed("nothing_ns", || assert_eq!(context.get(1, &mut events, Some(20)), 0));
            let at = |read: u64| {
                let buffer = (memory.0.as_ptr(), PAGE as u64);
                block(&file, 0, buffer, read * PAGE as u64)
            };
            timed("reads_ns", || {
                let mut blocks: Vec<_> = (0..READS).map(at).collect();
                let begun = Instant::now();
                assert_eq!(context.submit(&mut blocks), READS as i32);
                // Nothing comes sooner than the device can.
                let mut done = context.get(1, &mut events, Some(0));
                assert!(done == 0 || begun.elapsed() > SOONEST, "{done} at once");
                while done < READS as i32 {
                    done += context.get(1, &mut events, None);
                }
            });
            tell("destroyed", u64::from(context.destroy() == 0));
        }
        _ => return false,
    }
    true
}

/// What a job takes, and its page.
struct Ran {
    real: Duration,
    dilated: Duration,
    page: Snapshot,
}

fn run(name: &str, factor: f64) -> Ran {
    let mut bench = Bench::new(&[Role::Data]);
    bench.setup.devices[0].profile = slow();
    bench.dilation = Dilation::new(factor).unwrap();
    bench.fill("t.ibd", READS as usize * PAGE);
    let begun = Instant::now();
    let told = bench.run(name);
    Ran {
        real: begun.elapsed(),
        dilated: Duration::from_nanos(told.get("reads_ns")),
        page: bench.page(),
    }
}

impl Ran {
    fn sum_ns(&self, word: OfKind) -> u64 {
        self.page.of_kind(Role::Data, AccessKind::Read, word)
    }
}

/// Whether requests came back when they should have, in the program's time.
fn is_on_time(page: &Snapshot) -> bool {
    let judged = page.of_role(Role::Data, OfRole::Judged);
    assert!(judged > 0);
    page.of_role(Role::Data, OfRole::WithinTolerance) * 3 >= judged * 2
}

#[test]
fn a_dilated_device_is_slower_and_looks_the_same() {
    let plain = run("dilated-reads", 1.0);
    let dilated = run("dilated-reads", FACTOR);
    let faster = run("dilated-reads", FASTER);
    // A second of the machine is four of the fastest.
    for (ran, busy_ns) in [(&plain, 1), (&dilated, 1), (&faster, 4)] {
        let busy_ns = busy_ns * 1_000_000_000;
        assert_eq!(ran.sum_ns(OfKind::Requests), READS);
        let service_ns = ran.sum_ns(OfKind::ServiceSumNs);
        let response_ns = ran.sum_ns(OfKind::ResponseSumNs);
        let seen_ns = ran.dilated.as_nanos() as u64;
        assert!(service_ns <= response_ns && response_ns <= seen_ns, "{response_ns} {seen_ns}");
        // Whatever else this machine does: as much again, in which all of it were late.
        assert!(seen_ns < 2 * service_ns + busy_ns, "{seen_ns} {service_ns}");
    }
    // The model knows nothing of it.
    let services = [&plain, &dilated, &faster].map(|ran| ran.sum_ns(OfKind::ServiceSumNs));
    let is_same = |service: &u64| services[0].abs_diff(*service) < services[0] / 20;
    assert!(services.iter().all(is_same), "{services:?}");
    assert!(dilated.real >= dilated.dilated.mul_f64(FACTOR), "{:?}", dilated.real);
    // What is spun is counted in the same time as what is waited.
    let spun_ns = dilated.page.global(Global::SpinNs);
    assert!(spun_ns < dilated.sum_ns(OfKind::ResponseSumNs), "{spun_ns}");
}

#[test]
fn dilated_requests_come_back_when_they_are_due() {
    let on_time = (0..10).any(|_| {
        let on_time = is_on_time(&run("dilated-reads", FACTOR).page);
        if !on_time {
            // Whatever else the machine does may end.
            std::thread::sleep(Duration::from_secs(1));
        }
        on_time
    });
    assert!(on_time);
}

#[test]
fn asynchronous_requests_are_dilated_too() {
    for factor in [FACTOR, FASTER] {
        let ran = run("dilated-aio", factor);
        assert_eq!(ran.sum_ns(OfKind::Requests), READS);
        assert!(ran.dilated.as_nanos() as u64 >= ran.sum_ns(OfKind::ServiceSumNs) / READS);
        assert!(ran.real >= (ran.dilated + Duration::from_millis(20)).mul_f64(factor));
    }
}

/// Devices that are slower than their server's clocks would be other devices.
#[test]
fn without_its_clock_no_program_is_dilated() {
    let bench = Bench::new(&[Role::Data]);
    for (clock, why) in [("8@0", "no clock is preloaded"), ("8", "is no clock")] {
        let output = bench.job("dilated-reads").env(CLOCK_VARIABLE, clock).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains(why), "{said}");
    }
}
