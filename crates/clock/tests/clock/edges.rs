//! Times that are none, past, for ever, or interrupted.

use crate::common::{BUSY_NS, Moment, at_least_real, factor, now_ns, ns, real_now_ns, spec};
use crate::threads::condition_of;
use libc::{c_int, pthread_cond_t, pthread_mutex_t, timespec};
use std::io::{Error, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::ptr::null_mut;
use std::thread::{scope, sleep};
use std::time::Duration;

pub fn job() {
    no_times();
    past_deadlines();
    deadlines_that_never_come();
    timeouts_that_never_come();
    what_is_left();
}

/// For other threads, so that they need their real time.
fn pause(ms: u64) {
    sleep(Duration::from_nanos(at_least_real(ms * 1_000_000)));
}

fn last_error() -> c_int {
    Error::last_os_error().raw_os_error().unwrap()
}

/// What the system refuses it still refuses.
fn no_times() {
    let below = timespec { tv_sec: -1, tv_nsec: 0 };
    let beyond = timespec { tv_sec: 0, tv_nsec: 1_000_000_000 };
    for time in [below, beyond] {
        // SAFETY: the time is ours.
        unsafe {
            assert_eq!(libc::nanosleep(&raw const time, null_mut()), -1);
            assert_eq!(last_error(), libc::EINVAL);
            let clock = libc::CLOCK_MONOTONIC;
            let error = libc::clock_nanosleep(clock, 0, &raw const time, null_mut());
            assert_eq!(error, libc::EINVAL);
        }
    }
    // SAFETY: no time, and none wanted.
    unsafe {
        assert_eq!(libc::clock_gettime(12345, null_mut()), -1);
        assert_eq!(last_error(), libc::EINVAL);
        let mut time = spec(0);
        assert_eq!(libc::poll(null_mut(), 0, 0), 0);
        assert_eq!(libc::nanosleep(&raw const time, &raw mut time), 0);
    }
}

fn timed_wait(condition: &mut pthread_cond_t, until: timespec) -> c_int {
    let mut mutex: pthread_mutex_t = libc::PTHREAD_MUTEX_INITIALIZER;
    let mutex = &raw mut mutex;
    // SAFETY: both are initialised, the mutex is held by this thread.
    unsafe {
        assert_eq!(libc::pthread_mutex_lock(mutex), 0);
        libc::pthread_cond_timedwait(&raw mut *condition, mutex, &raw const until)
    }
}

fn past_deadlines() {
    for clock in [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC] {
        let mut condition = condition_of(clock);
        let now_ns = now_ns(clock);
        let second_ns = 1_000_000_000;
        for until_ns in [0, 1, second_ns, now_ns / 2, now_ns - second_ns, now_ns] {
            let begun_ns = real_now_ns(libc::CLOCK_MONOTONIC);
            assert_eq!(timed_wait(&mut condition, spec(until_ns)), libc::ETIMEDOUT);
            let passed_ns = real_now_ns(libc::CLOCK_MONOTONIC) - begun_ns;
            assert!(passed_ns < BUSY_NS, "clock {clock}, until {until_ns}: {passed_ns}");
            let until = spec(until_ns);
            // SAFETY: the time is ours.
            let ended = unsafe {
                libc::clock_nanosleep(clock, libc::TIMER_ABSTIME, &raw const until, null_mut())
            };
            assert_eq!(ended, 0);
        }
    }
}

fn deadlines_that_never_come() {
    let year_s = 366 * 86_400;
    for clock in [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC] {
        let now_s = (now_ns(clock) / 1_000_000_000) as i64;
        for until_s in [now_s + 10 * year_s, now_s + 1_000_000_000, 1 << 40, i64::MAX] {
            let mut condition = condition_of(clock);
            let address = &raw mut condition as usize;
            scope(|scope| {
                scope.spawn(move || {
                    pause(2);
                    // SAFETY: it lives until this thread has ended. Repeated, as the other one
                    // may not wait yet.
                    for _ in 0..20 {
                        unsafe { libc::pthread_cond_signal(address as *mut pthread_cond_t) };
                        pause(1);
                    }
                });
                let until = timespec { tv_sec: until_s, tv_nsec: 999_999_999 };
                assert_eq!(timed_wait(&mut condition, until), 0, "clock {clock}, {until_s}");
            });
        }
    }
}

fn timeouts_that_never_come() {
    for timeout_ms in [-1, c_int::MIN, c_int::MAX] {
        let (here, mut there) = UnixStream::pair().unwrap();
        scope(|scope| {
            scope.spawn(move || {
                pause(3);
                there.write_all(b"x").unwrap();
                there
            });
            let mut of = libc::pollfd { fd: here.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: it is one.
            assert_eq!(unsafe { libc::poll(&raw mut of, 1, timeout_ms) }, 1);
        });
    }
}

extern "C" fn does_nothing(_: c_int) {}

/// Of a sleep that a signal ends, and of a `select` that ends before its time.
fn what_is_left() {
    let long_ns = at_least_real(400_000_000);
    // SAFETY: the action is initialised. This thread lives while another one sends it a signal.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = does_nothing as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, null_mut()), 0);
        let this = libc::pthread_self();
        let begun = Moment::now();
        let (time, mut left) = (spec(long_ns), spec(0));
        scope(|scope| {
            scope.spawn(move || {
                pause(20);
                libc::pthread_kill(this, libc::SIGUSR1);
            });
            assert_eq!(libc::nanosleep(&raw const time, &raw mut left), -1);
        });
        assert_eq!(last_error(), libc::EINTR);
        let passed_ns = begun.passed_ns();
        assert!(ns(left) < long_ns, "{}", ns(left));
        assert!(ns(left) + passed_ns >= long_ns, "{} after {passed_ns}", ns(left));
    }
    let (here, mut there) = UnixStream::pair().unwrap();
    there.write_all(b"x").unwrap();
    let mut timeout = libc::timeval { tv_sec: 1, tv_usec: 0 };
    // SAFETY: set and time are ours, and the descriptor is one that the set has room for.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::FD_SET(here.as_raw_fd(), &raw mut set);
        let begun = Moment::now();
        let (set, none) = (&raw mut set, null_mut());
        let count = here.as_raw_fd() + 1;
        assert_eq!(libc::select(count, set, none, none, &raw mut timeout), 1);
        let left_us = (timeout.tv_sec * 1_000_000 + timeout.tv_usec) as u64;
        let passed_us = begun.passed_ns() / 1_000;
        assert!(left_us <= 1_000_000 + at_least_real(1), "{left_us} of {}", factor());
        assert!(left_us + passed_us + 1_000 >= 1_000_000, "{left_us} after {passed_us}");
    }
}
