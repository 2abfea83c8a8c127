//! Functions that sleep.

use crate::clocks::clocks;
use crate::passed::{Passed, shorten};
use crate::real;
use libc::{c_int, c_uint, clockid_t, timespec};

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    let result = real::nanosleep(Passed::wait(time).as_ptr(), left);
    if result == -1 && preload::errno() == libc::EINTR {
        shorten(left);
    }
    result
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    if flags & libc::TIMER_ABSTIME != 0 {
        let until = Passed::until(clock, time);
        return real::clock_nanosleep(clock, flags, until.as_ptr(), left);
    }
    if clocks().is_none_or(|clocks| clocks.dilated(clock).is_none()) {
        return real::clock_nanosleep(clock, flags, time, left);
    }
    let result = real::clock_nanosleep(clock, flags, Passed::wait(time).as_ptr(), left);
    if result == libc::EINTR {
        shorten(left);
    }
    result
}

/// Returns the seconds that are left, as the C library's does.
#[unsafe(no_mangle)]
extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    let time = timespec { tv_sec: i64::from(seconds), tv_nsec: 0 };
    let mut left = timespec { tv_sec: 0, tv_nsec: 0 };
    match nanosleep(&raw const time, &raw mut left) {
        0 => 0,
        _ => c_uint::try_from(left.tv_sec).unwrap_or(seconds),
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn usleep(time_us: c_uint) -> c_int {
    let time = timespec {
        tv_sec: i64::from(time_us / 1_000_000),
        tv_nsec: i64::from(time_us % 1_000_000) * 1_000,
    };
    nanosleep(&raw const time, std::ptr::null_mut())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int {
    /// A signal came.
    const INTERRUPTED: c_int = -1;
    let result = real::thrd_sleep(Passed::wait(time).as_ptr(), left);
    if result == INTERRUPTED {
        shorten(left);
    }
    result
}

also! {
    fn __nanosleep = nanosleep(time: *const timespec, left: *mut timespec) -> c_int;
}
