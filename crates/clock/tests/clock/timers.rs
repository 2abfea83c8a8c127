//! Timers, and what is left of them.

use crate::common::{Moment, at_least_real, now_ns, spec, takes};
use crate::waits::WAIT_NS;
use libc::{c_int, clockid_t, itimerspec, itimerval, sigset_t, timeval};
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// An interval that is over while a test looks at it.
const LONG_NS: u64 = 1_000_000_000;

pub fn job() {
    let alarm = blocked(libc::SIGALRM);
    interval_timer();
    for clock in [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME] {
        for flags in [0, libc::TIMER_ABSTIME] {
            posix_timer(clock, flags, &alarm);
            timer_descriptor(clock, flags);
        }
    }
    cpu_timers_are_real();
}

/// Waits of whole seconds.
pub fn seconds() {
    // SAFETY: numbers only.
    takes("sleep", 1_000_000_000, || assert_eq!(unsafe { libc::sleep(1) }, 0));
    handle(libc::SIGALRM);
    takes("alarm", 1_000_000_000, || {
        CAME.store(false, Ordering::SeqCst);
        // SAFETY: as above.
        assert_eq!(unsafe { libc::alarm(1) }, 0);
        while !CAME.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    // SAFETY: as above.
    let left = unsafe { (libc::alarm(100), libc::alarm(0)) };
    assert_eq!(left, (0, 100));
}

static CAME: AtomicBool = AtomicBool::new(false);

extern "C" fn came(_: c_int) {
    CAME.store(true, Ordering::SeqCst);
}

/// Any thread of the process may get the signal.
fn handle(signal: c_int) {
    // SAFETY: the action is initialised, and its handler sets a word.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = came as *const () as usize;
        assert_eq!(libc::sigaction(signal, &raw const action, null_mut()), 0);
    }
}

/// A set with a signal that this thread gets by asking for it only.
fn blocked(signal: c_int) -> sigset_t {
    // SAFETY: the set is initialised.
    unsafe {
        let mut set = zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, null_mut());
        set
    }
}

fn wait_for(set: &sigset_t) {
    let mut signal = 0;
    // SAFETY: both are ours.
    assert_eq!(unsafe { libc::sigwait(set, &raw mut signal) }, 0);
}

fn of_us(us: i64) -> itimerval {
    let none = timeval { tv_sec: 0, tv_usec: 0 };
    itimerval {
        it_interval: none,
        it_value: timeval { tv_sec: us / 1_000_000, tv_usec: us % 1_000_000 },
    }
}

fn interval_timer() {
    let which = libc::ITIMER_REAL;
    let (mut left, mut old, mut old_by_number) = (of_us(0), of_us(0), of_us(0));
    let (long, none) = (of_us(1_000_000), of_us(0));
    let begun = Moment::now();
    let number = libc::SYS_setitimer;
    // SAFETY: the timers are ours. It is ended before it is over.
    unsafe {
        assert_eq!(libc::setitimer(which, &raw const long, null_mut()), 0);
        assert_eq!(libc::getitimer(which, &raw mut left), 0);
        assert_eq!(libc::setitimer(which, &raw const long, &raw mut old), 0);
        assert_eq!(libc::syscall(number, which, &raw const none, &raw mut old_by_number), 0);
    }
    let passed_us = (begun.passed_ns() / 1_000) as i64;
    for left in [left, old, old_by_number] {
        let us = left.it_value.tv_sec * 1_000_000 + left.it_value.tv_usec;
        let most_us = 1_000_000 + at_least_real(1) as i64;
        assert!(us <= most_us && us + passed_us + 1 >= 1_000_000, "{us} after {passed_us}");
    }
}

fn timer_of(ns: u64) -> itimerspec {
    itimerspec { it_interval: spec(0), it_value: spec(ns) }
}

/// When a timer is to be over, as `flags` want it told.
fn value_ns(clock: clockid_t, flags: c_int, wait_ns: u64) -> u64 {
    if flags == 0 { wait_ns } else { now_ns(clock) + wait_ns }
}

fn posix_timer(clock: clockid_t, flags: c_int, alarm: &sigset_t) {
    // SAFETY: the event says where the signal goes: to this thread, which waits for it.
    unsafe {
        let mut event: libc::sigevent = zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGALRM;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer = null_mut();
        assert_eq!(libc::timer_create(clock, &raw mut event, &raw mut timer), 0);
        takes("timer_settime", WAIT_NS - 1_000_000, || {
            let new = timer_of(value_ns(clock, flags, WAIT_NS));
            assert_eq!(libc::timer_settime(timer, flags, &raw const new, null_mut()), 0);
            wait_for(alarm);
        });
        let (new, mut left) = (timer_of(value_ns(clock, flags, LONG_NS)), timer_of(0));
        let begun = Moment::now();
        assert_eq!(libc::timer_settime(timer, flags, &raw const new, null_mut()), 0);
        assert_eq!(libc::timer_gettime(timer, &raw mut left), 0);
        is_left(left, begun);
        libc::timer_delete(timer);
    }
}

fn timer_descriptor(clock: clockid_t, flags: c_int) {
    let flags = if flags == 0 { 0 } else { libc::TFD_TIMER_ABSTIME };
    // SAFETY: times and room for what is read are ours.
    unsafe {
        let timer = libc::timerfd_create(clock, 0);
        assert!(timer >= 0);
        takes("timerfd_settime", WAIT_NS - 1_000_000, || {
            let new = timer_of(value_ns(clock, flags, WAIT_NS));
            assert_eq!(libc::timerfd_settime(timer, flags, &raw const new, null_mut()), 0);
            let mut count = 0_u64;
            assert_eq!(libc::read(timer, (&raw mut count).cast(), 8), 8);
        });
        let (new, mut left) = (timer_of(value_ns(clock, flags, LONG_NS)), timer_of(0));
        let begun = Moment::now();
        assert_eq!(libc::timerfd_settime(timer, flags, &raw const new, null_mut()), 0);
        assert_eq!(libc::timerfd_gettime(timer, &raw mut left), 0);
        is_left(left, begun);
        assert_eq!(libc::syscall(libc::SYS_timerfd_gettime, timer, &raw mut left), 0);
        is_left(left, begun);
        libc::close(timer);
    }
}

/// What is left of a timer of [`LONG_NS`], and what has passed, are all of it.
fn is_left(left: itimerspec, begun: Moment) {
    let left_ns = left.it_value.tv_sec as u64 * 1_000_000_000 + left.it_value.tv_nsec as u64;
    let passed_ns = begun.passed_ns();
    assert!(left_ns <= LONG_NS + 1_000, "{left_ns}");
    assert!(left_ns + passed_ns + 1_000_000 >= LONG_NS, "{left_ns} after {passed_ns}");
}

fn cpu_timers_are_real() {
    let (long, none) = (of_us(900_000), of_us(0));
    let mut left = of_us(0);
    // SAFETY: the timers are ours, and ended before they are over.
    unsafe {
        assert_eq!(libc::setitimer(libc::ITIMER_PROF, &raw const long, null_mut()), 0);
        assert_eq!(libc::getitimer(libc::ITIMER_PROF, &raw mut left), 0);
        assert_eq!(libc::setitimer(libc::ITIMER_PROF, &raw const none, null_mut()), 0);
    }
    assert!(left.it_value.tv_sec == 0 && left.it_value.tv_usec > 500_000);
}
