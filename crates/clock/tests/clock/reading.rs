//! What a program is told of the time.

use crate::common::{Moment, at_least_real, factor, now_ns, ns, real_now_ns, spec};
use base::{CLOCK_VARIABLE, DilatedClock};
use libc::{c_int, clockid_t};
use std::time::{Duration, Instant, SystemTime};

/// Real time by which clocks that stand still between ticks are behind.
const TICK_NS: u64 = 20_000_000;
const PASSING_NS: u64 = 30_000_000;

const CLOCKS: [clockid_t; 7] = [
    libc::CLOCK_REALTIME,
    libc::CLOCK_REALTIME_COARSE,
    libc::CLOCK_MONOTONIC,
    libc::CLOCK_MONOTONIC_COARSE,
    libc::CLOCK_MONOTONIC_RAW,
    libc::CLOCK_BOOTTIME,
    libc::CLOCK_TAI,
];

unsafe extern "C" {
    fn timespec_get(time: *mut libc::timespec, base: c_int) -> c_int;
}

pub fn job() {
    let tick_ns = at_least_real(TICK_NS);
    let passing_ns = at_least_real(PASSING_NS);
    for clock in CLOCKS {
        let (before_ns, begun) = (now_ns(clock), Moment::now());
        std::thread::sleep(Duration::from_nanos(passing_ns));
        let passed_ns = begun.passed_ns();
        let told_ns = now_ns(clock) - before_ns;
        assert!(told_ns + tick_ns > passing_ns, "clock {clock}: {told_ns}");
        assert!(told_ns < passed_ns + tick_ns, "clock {clock}: {told_ns} of {passed_ns}");
        by_number(clock);
    }
    // It has been another one since 2 real seconds before this process.
    let of = |now_ns: u64| now_ns as f64;
    let behind_ns = of(real_now_ns(libc::CLOCK_REALTIME)) - of(now_ns(libc::CLOCK_REALTIME));
    let of_start_ns = 2e9 * (1.0 - 1.0 / factor());
    assert!(behind_ns.abs() > of_start_ns.abs(), "{behind_ns}");
    assert!(behind_ns.is_sign_positive() == of_start_ns.is_sign_positive(), "{behind_ns}");
    cpu_time_is_real();
    other_functions();
    usage();
    let begun = Instant::now();
    let from = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    std::thread::sleep(Duration::from_millis(5));
    assert!(begun.elapsed() >= Duration::from_millis(5));
    let to = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    assert!(to - from >= Duration::from_millis(4));
}

/// Between two readings by the function lies one by the system call.
fn by_number(clock: clockid_t) {
    let mut time = spec(0);
    let before_ns = now_ns(clock);
    // SAFETY: the time is ours.
    assert_eq!(unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) }, 0);
    let after_ns = now_ns(clock);
    assert!((before_ns..=after_ns).contains(&ns(time)), "clock {clock}");
}

fn cpu_time_is_real() {
    for clock in [libc::CLOCK_THREAD_CPUTIME_ID, libc::CLOCK_PROCESS_CPUTIME_ID] {
        let before_ns = real_now_ns(clock);
        let told_ns = now_ns(clock);
        let after_ns = real_now_ns(clock);
        assert!((before_ns..=after_ns).contains(&told_ns));
    }
}

/// The same time by other functions.
fn other_functions() {
    let coarse_s = || now_ns(libc::CLOCK_REALTIME_COARSE) / 1_000_000_000;
    let before_s = coarse_s();
    // SAFETY: no argument, or room for a number.
    let told = unsafe {
        let mut to = 0;
        let returned = libc::time(&raw mut to);
        assert_eq!(returned, to);
        [returned, libc::time(std::ptr::null_mut()), libc::syscall(libc::SYS_time, 0)]
    };
    let after_s = coarse_s();
    assert!(told.iter().all(|told| (before_s..=after_s).contains(&(*told as u64))), "{told:?}");
    let before_ns = now_ns(libc::CLOCK_REALTIME);
    let (mut value, mut other) = (libc::timeval { tv_sec: 0, tv_usec: 0 }, spec(0));
    let mut by_number = value;
    // SAFETY: the times are ours.
    unsafe {
        assert_eq!(libc::gettimeofday(&raw mut value, std::ptr::null_mut()), 0);
        assert_eq!(timespec_get(&raw mut other, 1), 1);
        assert_eq!(libc::syscall(libc::SYS_gettimeofday, &raw mut by_number, 0), 0);
    }
    let after_ns = now_ns(libc::CLOCK_REALTIME);
    assert!((before_ns..=after_ns).contains(&ns(other)));
    for value in [value, by_number] {
        let us = value.tv_sec as u64 * 1_000_000 + value.tv_usec as u64;
        assert!((before_ns / 1_000..=after_ns / 1_000).contains(&us));
    }
    let ticks = || {
        // SAFETY: nothing is to be written.
        unsafe { libc::times(std::ptr::null_mut()) }
    };
    let (before, begun) = (ticks(), Moment::now());
    std::thread::sleep(Duration::from_millis(50));
    let passed_ns = begun.passed_ns();
    let told_ns = (ticks() - before) as u64 * 10_000_000;
    let apart_ns = 2 * at_least_real(TICK_NS);
    assert!(told_ns + apart_ns > passed_ns && told_ns < passed_ns + apart_ns, "{told_ns}");
    ticks_since_the_clock_began(ticks());
}

/// They left the real ones when the other clocks did, before this process.
fn ticks_since_the_clock_began(told: i64) {
    let clock = DilatedClock::of_variable(std::env::var_os(CLOCK_VARIABLE)).unwrap().unwrap();
    // SAFETY: nothing is to be written.
    let real = unsafe { libc::syscall(libc::SYS_times, 0) };
    let passed_ns = real_now_ns(libc::CLOCK_MONOTONIC) - clock.origin_ns;
    let passed = passed_ns as f64 / 1e7;
    let expected = real as f64 - passed + passed / factor();
    let apart = at_least_real(TICK_NS) as f64 / 1e7;
    assert!((told as f64 - expected).abs() <= 1.0 + apart, "{told}, not {expected}");
}

/// CPU time of `getrusage` is dilated, so that a share of time is one of dilated time; that of the
/// clocks stays real.
fn usage() {
    while now_ns(libc::CLOCK_PROCESS_CPUTIME_ID) < 40_000_000 {
        std::hint::spin_loop();
    }
    let by_name = |to: *mut libc::rusage| {
        // SAFETY: the room is the caller's.
        i64::from(unsafe { libc::getrusage(libc::RUSAGE_SELF, to) })
    };
    let by_number = |to: *mut libc::rusage| {
        // SAFETY: the room is the caller's.
        unsafe { libc::syscall(libc::SYS_getrusage, libc::RUSAGE_SELF, to) }
    };
    let asked: [&dyn Fn(*mut libc::rusage) -> i64; 2] = [&by_name, &by_number];
    for ask in asked {
        // SAFETY: all zeros are a value of it.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        let before_ns = now_ns(libc::CLOCK_PROCESS_CPUTIME_ID);
        assert_eq!(ask(&raw mut usage), 0);
        let after_ns = now_ns(libc::CLOCK_PROCESS_CPUTIME_ID);
        let us = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
        let told_ns = (us(usage.ru_utime) + us(usage.ru_stime)) as f64 * 1_000.0 * factor();
        // The kernel counts one by its ticks, the other exactly.
        let allowed_ns = before_ns as f64 * 0.9..=after_ns as f64 * 1.1;
        assert!(allowed_ns.contains(&told_ns), "{told_ns} is not in {allowed_ns:?}");
    }
}
