//! What threads that serve a client wait for is told from what others do.

use crate::common::{Aligned, Bench, open, slow, tell};
use device::Role;
use device::page::{AccessKind, Global, OfKind};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Mutex;
use std::thread::{Builder, scope, sleep};
use std::time::{Duration, Instant};

/// Requests of the session, and of a thread beside it.
const READS: u64 = 10;
const FLUSHES: u64 = 5;
const OTHER_READS: u64 = 20;
const IDLE: Duration = Duration::from_millis(300);
const ASLEEP: Duration = Duration::from_millis(50);
/// For a condition and for a lock, each.
const BLOCKED: Duration = Duration::from_millis(60);

pub fn job(name: &str, files: &Path) -> bool {
    if name != "session" {
        return false;
    }
    let (server, client) = UnixStream::pair().unwrap();
    scope(|scope| {
        let session = Builder::new().name("worker".to_owned());
        let serve = || {
            let began = Instant::now();
            assert!(serves(&server, files));
            tell("lived_ns", began.elapsed().as_nanos() as u64);
        };
        session.spawn_scoped(scope, serve).unwrap();
        scope.spawn(|| read(&open(&files.join("t.ibd"), libc::O_DIRECT), OTHER_READS));
        sleep(IDLE);
        std::io::Write::write_all(&mut &client, b"a statement").unwrap();
        sleep(IDLE);
        std::io::Write::write_all(&mut &client, b"good-bye").unwrap();
    });
    true
}

/// Waits for a message, works, and waits for another; as servers do it.
fn serves(server: &UnixStream, files: &Path) -> bool {
    let data = open(&files.join("t.ibd"), libc::O_DIRECT);
    let log = open(&files.join("ib_logfile0"), libc::O_DIRECT);
    let mut buffer = [0_u8; 64];
    let mut receive = |flags| {
        let to = buffer.as_mut_ptr().cast();
        // SAFETY: there is so much room.
        unsafe { libc::recv(server.as_raw_fd(), to, 64, flags) }
    };
    let wait = || {
        let mut of = libc::pollfd { fd: server.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: it is one.
        assert_eq!(unsafe { libc::poll(&raw mut of, 1, 10_000) }, 1);
    };
    assert_eq!(receive(libc::MSG_DONTWAIT), -1);
    wait();
    assert!(receive(0) > 0);
    read(&data, READS);
    for _ in 0..FLUSHES {
        log.sync_all().unwrap();
    }
    sleep_as_c(ASLEEP);
    blocked_as_c(BLOCKED);
    wait();
    receive(0) > 0
}

fn read(file: &File, count: u64) {
    let mut memory = Box::new(Aligned([0; 65536]));
    for n in 0..count {
        let page = &mut memory.0[..16384];
        file.read_exact_at(page, n * 16384).unwrap();
    }
}

/// Rust sleeps by another function. Half of the time by one, half by another that servers use.
fn sleep_as_c(time: Duration) {
    let time = time / 2;
    let mut timeout = libc::timeval { tv_sec: 0, tv_usec: i64::from(time.subsec_micros()) };
    let none = std::ptr::null_mut();
    // SAFETY: there are no descriptors, and the time is ours.
    unsafe { libc::select(0, none, none, none, &raw mut timeout) };
    let time = libc::timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
    // SAFETY: the time is ours, and nobody asks for what is left.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
}

/// On a condition that nobody signals, and on a lock that another thread has.
fn blocked_as_c(time: Duration) {
    let mut condition = libc::PTHREAD_COND_INITIALIZER;
    let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    let mut until = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: all three are ours, and alive until the call is over.
    let waited = unsafe {
        libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut until);
        until.tv_nsec += i64::from(time.subsec_nanos());
        until.tv_sec += until.tv_nsec / 1_000_000_000;
        until.tv_nsec %= 1_000_000_000;
        libc::pthread_mutex_lock(&raw mut mutex);
        let waited =
            libc::pthread_cond_timedwait(&raw mut condition, &raw mut mutex, &raw const until);
        libc::pthread_mutex_unlock(&raw mut mutex);
        waited
    };
    assert_eq!(waited, libc::ETIMEDOUT);
    // Rust's locks are futexes.
    let (taken, is_taken) = std::sync::mpsc::channel();
    let lock = Mutex::new(());
    scope(|scope| {
        scope.spawn(|| {
            let _held = lock.lock().unwrap();
            taken.send(()).unwrap();
            sleep(time);
        });
        is_taken.recv().unwrap();
        drop(lock.lock().unwrap());
    });
}

#[test]
fn a_session_is_told_from_other_threads() {
    let mut bench = Bench::new(&[Role::Data, Role::Redo]);
    bench.setup.devices[0].profile = slow();
    bench.fill("t.ibd", 16384 * OTHER_READS as usize);
    bench.fill("ib_logfile0", 4096);
    let told = bench.run("session");
    let page = bench.page();
    let waited = |role, kind| page.of_kind(role, kind, OfKind::SessionNs);
    let all_reads = page.of_kind(Role::Data, AccessKind::Read, OfKind::ResponseSumNs);
    let reads = waited(Role::Data, AccessKind::Read);
    // A third of the reads are its own, and it was off its core nearly all that time.
    assert!(reads > all_reads / 10 && reads < all_reads * 3 / 4, "{reads} {all_reads}");
    let flushes = page.of_kind(Role::Redo, AccessKind::Flush, OfKind::ResponseSumNs);
    let flushed = waited(Role::Redo, AccessKind::Flush);
    // Who loses his core around a request waits longer than it takes.
    assert!(flushed <= flushes * 3 / 2, "{flushed} {flushes}");
    assert_eq!(waited(Role::Data, AccessKind::Flush), 0);
    assert_eq!(waited(Role::Data, AccessKind::Write), 0);
    let slept = page.global(Global::SessionSleepNs);
    assert!(slept >= ASLEEP.as_nanos() as u64, "{slept}");
    let blocked = page.global(Global::SessionBlockedNs);
    let least = 2 * BLOCKED.as_nanos() as u64;
    assert!(blocked >= least && blocked < 2 * least, "{blocked}");
    // Both places are told of, and the sleeps, with their time to a period of 5 ms.
    const PERIOD_NS: u64 = 5_000_000;
    let placed: u64 = page.stacks().map(|stack| stack.waited_ns).sum();
    assert!(placed + PERIOD_NS >= blocked + slept, "{placed} {blocked} {slept}");
    assert!(placed <= blocked + slept, "{placed} {blocked} {slept}");
    let longest = page.stacks().map(|stack| stack.waited_ns).max();
    assert!(longest >= Some(BLOCKED.as_nanos() as u64 - PERIOD_NS), "{longest:?}");
    assert!((3..10).contains(&page.stacks().count()), "{:?}", page.stacks().collect::<Vec<_>>());
    // What it was active holds all of these, and not what it waited for its client.
    let active = page.global(Global::SessionActiveNs);
    assert!(active >= reads + flushed + slept + blocked, "{active} {slept} {blocked}");
    let lived = told.get("lived_ns");
    assert!(active + IDLE.as_nanos() as u64 <= lived, "{active} {lived}");
}
