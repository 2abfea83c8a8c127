//! Timers. Those of CPU time are real, where that can be told: of `timer_settime` it cannot, as
//! only who made the timer knows its clock.

use crate::clocks::clocks;
use crate::passed::{Passed, dilated_rest_ns, shorten};
use crate::real;
use libc::{c_int, c_uint, itimerspec, itimerval, timer_t};

const NS_PER_S: u64 = 1_000_000_000;

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn alarm(seconds: c_uint) -> c_uint {
    let Some(clocks) = clocks() else {
        return real::alarm(seconds);
    };
    let in_seconds = |ns: u64| c_uint::try_from(ns.div_ceil(NS_PER_S)).unwrap_or(c_uint::MAX);
    let real_ns = clocks.durations.real_ns(u64::from(seconds) * NS_PER_S);
    let left = real::alarm(in_seconds(real_ns));
    in_seconds(dilated_rest_ns(&clocks.durations, u64::from(left) * NS_PER_S))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn setitimer(
    which: c_int,
    new: *const itimerval,
    old: *mut itimerval,
) -> c_int {
    // SAFETY: null, or what the program passes.
    let given = unsafe { new.as_ref() };
    let (Some(given), libc::ITIMER_REAL) = (given, which) else {
        return real::setitimer(which, new, old);
    };
    let value = Passed::wait(&raw const given.it_value);
    let interval = Passed::wait(&raw const given.it_interval);
    // SAFETY: each is the program's time or ours.
    let passed = unsafe {
        itimerval { it_value: value.as_ptr().read(), it_interval: interval.as_ptr().read() }
    };
    let result = real::setitimer(which, &raw const passed, old);
    if result == 0 {
        shorten_timer(old);
    }
    result
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn getitimer(which: c_int, now: *mut itimerval) -> c_int {
    let result = real::getitimer(which, now);
    if result == 0 && which == libc::ITIMER_REAL {
        shorten_timer(now);
    }
    result
}

fn shorten_timer(timer: *mut itimerval) {
    // SAFETY: null, or what the system has written for the program.
    if let Some(timer) = unsafe { timer.as_mut() } {
        shorten(&raw mut timer.it_value);
        shorten(&raw mut timer.it_interval);
    }
}

/// Sets a timer by `set`, in real time.
fn set_timer(
    is_absolute: bool,
    (new, old): (*const itimerspec, *mut itimerspec),
    set: impl FnOnce(*const itimerspec, *mut itimerspec) -> c_int,
) -> c_int {
    // SAFETY: null, or what the program passes.
    let Some(given) = (unsafe { new.as_ref() }) else {
        return set(new, old);
    };
    let value = &raw const given.it_value;
    let value = if is_absolute { Passed::until_of_either(value) } else { Passed::wait(value) };
    let interval = Passed::wait(&raw const given.it_interval);
    // SAFETY: each is the program's time or ours.
    let passed = unsafe {
        itimerspec { it_value: value.as_ptr().read(), it_interval: interval.as_ptr().read() }
    };
    let result = set(&raw const passed, old);
    if result == 0 {
        shorten_specified(old);
    }
    result
}

fn shorten_specified(timer: *mut itimerspec) {
    // SAFETY: null, or what the system has written for the program.
    if let Some(timer) = unsafe { timer.as_mut() } {
        shorten(&raw mut timer.it_value);
        shorten(&raw mut timer.it_interval);
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn timer_settime(
    timer: timer_t,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    set_timer(flags & libc::TIMER_ABSTIME != 0, (new, old), |new, old| {
        real::timer_settime(timer, flags, new, old)
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn timer_gettime(timer: timer_t, now: *mut itimerspec) -> c_int {
    let result = real::timer_gettime(timer, now);
    if result == 0 {
        shorten_specified(now);
    }
    result
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn timerfd_settime(
    timer: c_int,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    set_timer(flags & libc::TFD_TIMER_ABSTIME != 0, (new, old), |new, old| {
        real::timerfd_settime(timer, flags, new, old)
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn timerfd_gettime(timer: c_int, now: *mut itimerspec) -> c_int {
    let result = real::timerfd_gettime(timer, now);
    if result == 0 {
        shorten_specified(now);
    }
    result
}
