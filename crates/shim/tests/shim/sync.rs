//! Reads, writes and flushes that the caller waits for.

use crate::common::{Aligned, Bench, open, requests, timed};
use device::Role;
use device::page::{AccessKind, Global, OfKind, OfRole, Snapshot};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

const PAGE: usize = 16384;

pub fn job(name: &str, files: &Path) -> bool {
    let mut buffer = Box::new(Aligned([3; 65536]));
    let data = |flags: i32| open(&files.join("t.ibd"), flags);
    match name {
        "direct" => {
            let file = data(libc::O_DIRECT);
            timed("reads_ns", || {
                for n in 0..100 {
                    file.read_exact_at(&mut buffer.0[..PAGE], n * PAGE as u64).unwrap();
                    assert!(buffer.0[..PAGE].iter().all(|byte| *byte == 7));
                }
            });
            buffer.0.fill(5);
            for n in 0..50 {
                file.write_all_at(&buffer.0[..PAGE], n * PAGE as u64).unwrap();
            }
            timed("flushes_ns", || {
                for _ in 0..5 {
                    file.sync_data().unwrap();
                    file.sync_all().unwrap();
                }
            });
            file.read_exact_at(&mut buffer.0[..PAGE], 49 * PAGE as u64).unwrap();
            assert!(buffer.0[..PAGE].iter().all(|byte| *byte == 5));
        }
        "errors" => {
            let file = data(libc::O_DIRECT);
            let end = file.metadata().unwrap().len();
            assert_eq!(file.read_at(&mut buffer.0, end).unwrap(), 0);
            let last = file.read_at(&mut buffer.0, end - 100).unwrap();
            assert_eq!(last, 100);
            let read_only = File::open(files.join("t.ibd")).unwrap();
            let error = read_only.write_at(&buffer.0, 0).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EBADF));
        }
        "sequential" => {
            // Positions and appends, and a log whose writes are flushed.
            let mut log = open(&files.join("ib_logfile0"), libc::O_DSYNC | libc::O_DIRECT);
            for _ in 0..10 {
                log.write_all(&buffer.0[..512]).unwrap();
            }
            drop(log);
            let mut log = File::open(files.join("ib_logfile0")).unwrap();
            let mut text = Vec::new();
            log.read_to_end(&mut text).unwrap();
            assert_eq!(text, vec![3; 5120]);
        }
        _ => return false,
    }
    true
}

/// Whether requests of the role came back when they should have, as far as a machine that does
/// other things lets a test demand that.
fn is_on_time(page: &Snapshot, role: Role) -> bool {
    let judged = page.of_role(role, OfRole::Judged);
    let within = page.of_role(role, OfRole::WithinTolerance);
    assert_eq!(page.of_role(role, OfRole::Outstanding), 0);
    assert!(judged > 0);
    within * 3 >= judged * 2
}

#[test]
fn direct_requests_take_the_devices_time() {
    let bench = Bench::new(&[Role::Data]);
    bench.fill("t.ibd", 100 * PAGE);
    let told = bench.run("direct");
    let page = bench.page();
    assert_eq!(requests(&page, Role::Data), [101, 50, 10]);
    let of = |kind, word| page.of_kind(Role::Data, kind, word);
    assert_eq!(of(AccessKind::Read, OfKind::Bytes), 101 * PAGE as u64);
    assert_eq!(of(AccessKind::Write, OfKind::Bytes), 50 * PAGE as u64);
    // One at a time: the response is the service, and what the program saw is the response.
    let service_ns = of(AccessKind::Read, OfKind::ServiceSumNs);
    let response_ns = of(AccessKind::Read, OfKind::ResponseSumNs);
    assert!(service_ns / 101 > 20_000, "{service_ns}");
    assert!(response_ns >= service_ns);
    assert!(told.get("reads_ns") >= service_ns / 101 * 100 * 99 / 100);
    assert!(told.get("flushes_ns") >= of(AccessKind::Flush, OfKind::ServiceSumNs));
    assert_eq!(page.of_role(Role::Data, OfRole::OutstandingMax), 1);
    let busy_ns = page.of_role(Role::Data, OfRole::BusyNs);
    let outstanding_ns = page.of_role(Role::Data, OfRole::OutstandingNs);
    assert!(busy_ns.abs_diff(outstanding_ns) < 161 * 100, "{busy_ns} {outstanding_ns}");
    assert_ne!(page.global(Global::Process), 0);
}

#[test]
fn unarmed_nothing_waits_and_all_is_counted() {
    let bench = Bench::new(&[Role::Data]);
    bench.arm(false);
    bench.fill("t.ibd", 100 * PAGE);
    bench.run("direct");
    let page = bench.page();
    assert_eq!(requests(&page, Role::Data), [101, 50, 10]);
    assert_eq!(page.global(Global::ModelCalls), 0);
    assert_eq!(page.of_role(Role::Data, OfRole::Judged), 0);
}

#[test]
fn real_storage_is_counted_only() {
    let bench = Bench::new(&[]);
    bench.fill("t.ibd", 100 * PAGE);
    bench.run("direct");
    let page = bench.page();
    assert_eq!(requests(&page, Role::Data), [101, 50, 10]);
    assert_eq!(page.global(Global::ModelCalls), 0);
}

#[test]
fn results_and_errors_are_the_hosts() {
    let bench = Bench::new(&[Role::Data]);
    bench.fill("t.ibd", 10 * PAGE);
    bench.run("errors");
    assert_eq!(requests(&bench.page(), Role::Data)[0], 2);
}

#[test]
fn roles_come_from_names_and_synchronous_writes_flush() {
    let bench = Bench::new(&[Role::Redo]);
    bench.run("sequential");
    let page = bench.page();
    assert_eq!(requests(&page, Role::Data), [0, 0, 0]);
    let [_, writes, flushes] = requests(&page, Role::Redo);
    assert_eq!((writes, flushes), (10, 10));
    assert_eq!(page.of_kind(Role::Redo, AccessKind::Write, OfKind::Bytes), 5120);
    assert_eq!(page.of_role(Role::Redo, OfRole::Outstanding), 0);
}

#[test]
fn requests_come_back_when_they_are_due() {
    for spin in [true, false] {
        let on_time = (0..10).any(|_| {
            let mut bench = Bench::new(&[Role::Data]);
            bench.setup.spin = spin;
            bench.fill("t.ibd", 100 * PAGE);
            bench.run("direct");
            let on_time = is_on_time(&bench.page(), Role::Data);
            if !on_time {
                // Whatever else the machine does may end.
                std::thread::sleep(Duration::from_secs(1));
            }
            on_time
        });
        assert!(on_time, "spin = {spin}");
    }
}
