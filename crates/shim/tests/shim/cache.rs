//! Files that are not opened for direct I/O.

use crate::common::{Aligned, Bench, open, profile, requests, tell, timed};
use device::Role;
use device::page::{AccessKind, Global, OfKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Barrier;
use std::time::Instant;

const PAGE: usize = 16384;

pub fn job(name: &str, files: &Path) -> bool {
    let mut buffer = Box::new(Aligned([3; 65536]));
    let file = || open(&files.join("t.ibd"), 0);
    match name {
        "write, flush, read" => {
            let file = file();
            for n in 0..100 {
                file.write_all_at(&buffer.0[..PAGE], n * PAGE as u64).unwrap();
            }
            timed("flush_ns", || file.sync_all().unwrap());
            for n in 0..100 {
                file.read_exact_at(&mut buffer.0[..PAGE], n * PAGE as u64).unwrap();
            }
        }
        "read ahead" => {
            let file = file();
            for n in 0..64 {
                file.read_exact_at(&mut buffer.0[..PAGE], n * PAGE as u64).unwrap();
            }
        }
        "read here and there" => {
            let file = file();
            for n in 1..11 {
                file.read_exact_at(&mut buffer.0[..PAGE], (63 - n * 5) * PAGE as u64).unwrap();
            }
            // What was cached of a file that is no more is not read again.
            std::fs::remove_file(files.join("t.ibd")).unwrap();
            drop(file);
            tell("done", 1);
        }
        "write in part" => {
            let file = file();
            file.write_all_at(&buffer.0[..512], 512).unwrap();
            file.write_all_at(&buffer.0[..512], 1024).unwrap();
            file.write_all_at(&buffer.0[..4096], 8192).unwrap();
            file.write_all_at(&buffer.0[..512], 1 << 20).unwrap();
        }
        "write much" => {
            let file = file();
            for n in 0..512 {
                file.write_all_at(&buffer.0[..PAGE], n * PAGE as u64).unwrap();
            }
        }
        _ => return more_jobs(name, files),
    }
    true
}

fn more_jobs(name: &str, files: &Path) -> bool {
    let mut buffer = Box::new(Aligned([3; 65536]));
    let file = || open(&files.join("t.ibd"), 0);
    match name {
        "read together" => {
            let barrier = Barrier::new(2);
            // Of both, so that one that is late for the barrier does not seem to have waited less.
            let began = Instant::now();
            let read = |name: &str| {
                let file = file();
                let mut buffer = vec![0; 4096];
                barrier.wait();
                file.read_exact_at(&mut buffer, 1 << 19).unwrap();
                tell(name, began.elapsed().as_nanos() as u64);
            };
            std::thread::scope(|scope| {
                scope.spawn(|| read("first_ns"));
                read("second_ns");
            });
        }
        "empty and replace" => {
            let emptied = file();
            emptied.write_all_at(&buffer.0[..PAGE], 0).unwrap();
            std::fs::File::create(files.join("t.ibd")).unwrap();
            // The last descriptor of a file without a name goes as another takes its number.
            let replaced = open(&files.join("u.ibd"), 0);
            replaced.write_all_at(&buffer.0[..PAGE], 0).unwrap();
            std::fs::remove_file(files.join("u.ibd")).unwrap();
            // SAFETY: both are open.
            assert!(unsafe { libc::dup2(emptied.as_raw_fd(), replaced.as_raw_fd()) } >= 0);
            // Nor is there a page so far behind.
            assert!(emptied.write_at(&buffer.0[..512], i64::MAX as u64 - 100).is_err());
            assert_eq!(emptied.read_at(&mut buffer.0, i64::MAX as u64 - 65536).unwrap(), 0);
        }
        _ => return false,
    }
    true
}

#[test]
fn writes_are_free_until_they_are_flushed() {
    let bench = Bench::new(&[Role::Data]);
    let told = bench.run("write, flush, read");
    let page = bench.page();
    // Neighbours are written together, 512 KiB at most.
    assert_eq!(requests(&page, Role::Data), [0, 4, 1]);
    let written = page.of_kind(Role::Data, AccessKind::Write, OfKind::Bytes);
    assert_eq!(written, 100 * PAGE as u64);
    assert_eq!(page.global(Global::CacheHits), 400);
    assert_eq!(page.global(Global::CacheMisses), 0);
    assert_eq!(page.global(Global::CachePages), 400);
    assert_eq!(page.global(Global::CacheDirtyPages), 0);
    let flush_ns = page.of_kind(Role::Data, AccessKind::Flush, OfKind::ServiceSumNs);
    assert!(told.get("flush_ns") > flush_ns);
}

#[test]
fn sequential_readers_are_read_ahead_for() {
    let bench = Bench::new(&[Role::Data]);
    bench.fill("t.ibd", 64 * PAGE);
    bench.run("read ahead");
    let page = bench.page();
    // 16 KiB and 16 ahead, 16 and 32, 16 and 64, and then 16 and 128 each.
    assert_eq!(requests(&page, Role::Data), [9, 0, 0]);
    let read = page.of_kind(Role::Data, AccessKind::Read, OfKind::Bytes);
    assert_eq!(read, 64 * PAGE as u64);
    assert_eq!(page.global(Global::CacheMisses), 9 * 4);
    assert_eq!(page.global(Global::CacheHits), (64 - 9) * 4);
}

#[test]
fn others_are_not_and_files_leave_the_cache() {
    let bench = Bench::new(&[Role::Data]);
    bench.fill("t.ibd", 64 * PAGE);
    bench.run("read here and there");
    let page = bench.page();
    assert_eq!(requests(&page, Role::Data), [10, 0, 0]);
    assert_eq!(page.global(Global::CachePages), 0);
}

#[test]
fn pages_that_are_written_in_part_are_read_first() {
    let bench = Bench::new(&[Role::Data]);
    bench.fill("t.ibd", 64 * PAGE);
    bench.run("write in part");
    // The first of two writes to one page; not the whole page, not what is behind the end.
    let page = bench.page();
    assert_eq!(requests(&page, Role::Data), [1, 0, 0]);
    assert_eq!(page.global(Global::CacheDirtyPages), 3);
    let counted = [Global::CacheHits, Global::CacheMisses].map(|word| page.global(word));
    assert_eq!(counted, [0, 0], "the program has read nothing");
}

#[test]
fn files_that_are_emptied_or_gone_leave_the_cache() {
    let bench = Bench::new(&[Role::Data]);
    bench.run("empty and replace");
    let page = bench.page();
    assert_eq!(page.global(Global::CachePages), 0);
    assert_eq!(page.global(Global::CacheDirtyPages), 0);
}

#[test]
fn a_page_that_is_being_read_is_waited_for() {
    let mut bench = Bench::new(&[Role::Data]);
    bench.fill("t.ibd", 64 * PAGE);
    let disk = &mut bench.setup.devices[0];
    disk.profile = profile("hdd-15k");
    let told = bench.run("read together");
    let page = bench.page();
    assert_eq!(requests(&page, Role::Data), [1, 0, 0]);
    let read_ns = page.of_kind(Role::Data, AccessKind::Read, OfKind::ServiceSumNs);
    for name in ["first_ns", "second_ns"] {
        assert!(told.get(name) >= read_ns, "{name} of {read_ns}");
    }
}

#[test]
fn who_writes_faster_than_the_device_waits_for_it() {
    let mut bench = Bench::new(&[Role::Data]);
    bench.setup.cache.bytes = 4 << 20;
    bench.run("write much");
    let page = bench.page();
    let written = page.of_kind(Role::Data, AccessKind::Write, OfKind::Bytes);
    assert!(written >= 6 << 20, "{written}");
    assert!(page.global(Global::CacheDirtyPages) <= 1024 / 4);
    assert!(page.global(Global::CachePages) <= 1024);
}

#[test]
fn unarmed_the_cache_stays_empty() {
    let bench = Bench::new(&[Role::Data]);
    bench.arm(false);
    bench.run("write, flush, read");
    let page = bench.page();
    assert_eq!(requests(&page, Role::Data), [100, 100, 1]);
    assert_eq!(page.global(Global::CachePages), 0);
}
