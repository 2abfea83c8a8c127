//! Functions that tell the time.

use crate::clocks::clocks;
use crate::translated::{CTime, to_dilated};
use libc::{
    c_int, c_short, c_ushort, c_void, clock_t, clockid_t, rusage, time_t, timespec, timeval, tms,
};

/// Dilates a time of that clock which the system wrote for the program.
#[inline]
fn dilate<T: CTime>(clock: clockid_t, time: *mut T) {
    let Some(dilated) = clocks().and_then(|clocks| clocks.dilated(clock)) else {
        return;
    };
    // SAFETY: null, or where the program had the time written.
    if let Some(time) = unsafe { time.as_mut() }
        && let Some(ns) = time.ns()
    {
        *time = T::of_ns(dilated.dilated_ns(ns));
    }
}

/// The dilated time of a clock.
fn now(clock: clockid_t) -> timespec {
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    clock_gettime(clock, &raw mut now);
    now
}

/// The C library's `struct timeb`.
#[repr(C)]
struct TimeB {
    seconds: time_t,
    ms: c_ushort,
    zone: c_short,
    is_dst: c_short,
}

preload::hooks! { "C-unwind"
    fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int, or -1 {
        let result = real::clock_gettime(clock, time);
        if result == 0 {
            dilate(clock, time);
        }
        result
    }

    fn gettimeofday(
        time: *mut timeval, zone: *mut c_void,
    ) -> c_int, or -1, also __gettimeofday {
        let result = real::gettimeofday(time, zone);
        // SAFETY: null, or where the program wants the time.
        if let (0, Some(_), Some(time)) = (result, clocks(), unsafe { time.as_mut() }) {
            let now = now(libc::CLOCK_REALTIME);
            *time = timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1_000 };
        }
        result
    }

    fn time(to: *mut time_t) -> time_t {
        let seconds = now(libc::CLOCK_REALTIME_COARSE).tv_sec;
        // SAFETY: null, or where the program wants it.
        if let Some(to) = unsafe { to.as_mut() } {
            *to = seconds;
        }
        seconds
    }

    fn ftime(to: *mut TimeB) -> c_int {
        let now = now(libc::CLOCK_REALTIME);
        let ms = (now.tv_nsec / 1_000_000) as c_ushort;
        // SAFETY: where the program wants it.
        unsafe { to.write(TimeB { seconds: now.tv_sec, ms, zone: 0, is_dst: 0 }) };
        0
    }

    /// CPU times stay real; what it returns is a clock.
    fn times(to: *mut tms) -> clock_t, or -1 {
        let ticks = real::times(to);
        match (clocks(), u64::try_from(ticks)) {
            (Some(clocks), Ok(ticks)) => clocks.ticks.dilated_ns(ticks) as clock_t,
            _ => ticks,
        }
    }

    /// CPU time in dilated seconds, unlike that of the CPU-time clocks: MySQL 8.0 divides it by the
    /// time that passed to learn how busy it keeps its cores, and its log writer spins by that
    /// share.
    fn getrusage(who: c_int, to: *mut rusage) -> c_int, or -1 {
        let result = real::getrusage(who, to);
        // SAFETY: null, or where the program had its usage written.
        if let (0, Some(usage)) = (result, unsafe { to.as_mut() }) {
            to_dilated(&raw mut usage.ru_utime);
            to_dilated(&raw mut usage.ru_stime);
        }
        result
    }

    fn timespec_get(to: *mut timespec, base: c_int) -> c_int, or 0 {
        /// The only base that all C libraries have.
        const TIME_UTC: c_int = 1;
        let result = real::timespec_get(to, base);
        if result == TIME_UTC {
            dilate(libc::CLOCK_REALTIME, to);
        }
        result
    }
}
