//! Times that the program passes by pointer, and the real ones that are passed on in their place.
//!
//! Invalid times are passed on unchanged, so the C library reports the error. So is everything
//! while there is no dilated clock.

use crate::clocks::{Clocks, clocks};
use base::DilatedClock;
use libc::{c_int, clockid_t, timespec, timeval};

const NS_PER_S: u64 = 1_000_000_000;
/// No machine is up for that long (31 years), and no date is before that (2001).
const MONOTONIC_MAX_NS: u64 = 1_000_000_000 * NS_PER_S;

/// A time as C has it.
pub(crate) trait CTime: Copy {
    /// `None` where it is no time, or before its clock's begin.
    fn ns(&self) -> Option<u64>;

    /// Rounded up, so that nobody waits too short.
    fn of_ns(ns: u64) -> Self;
}

impl CTime for timespec {
    fn ns(&self) -> Option<u64> {
        let in_second = u64::try_from(self.tv_nsec).ok().filter(|ns| *ns < NS_PER_S)?;
        let seconds = u64::try_from(self.tv_sec).ok()?;
        Some(seconds.saturating_mul(NS_PER_S).saturating_add(in_second))
    }

    fn of_ns(ns: u64) -> timespec {
        timespec { tv_sec: (ns / NS_PER_S) as i64, tv_nsec: (ns % NS_PER_S) as i64 }
    }
}

impl CTime for timeval {
    fn ns(&self) -> Option<u64> {
        let in_second = u64::try_from(self.tv_usec).ok().filter(|us| *us < 1_000_000)?;
        let seconds = u64::try_from(self.tv_sec).ok()?;
        Some(seconds.saturating_mul(NS_PER_S).saturating_add(in_second * 1_000))
    }

    fn of_ns(ns: u64) -> timeval {
        let us = ns.div_ceil(1_000);
        timeval { tv_sec: (us / 1_000_000) as i64, tv_usec: (us % 1_000_000) as i64 }
    }
}

/// What is left of a real duration, in dilated time. It is rounded up: who waits for it after an
/// interruption has not waited too short.
fn dilated_rest_ns(clock: &DilatedClock, ns: u64) -> u64 {
    let floor_ns = clock.dilated_ns(ns);
    floor_ns.saturating_add(u64::from(clock.real_ns(floor_ns) < ns))
}

/// The real time of a dilated deadline. What is past stays past, what is far off stays so; 0, which
/// is no deadline for some functions, stays 0, and nothing else becomes it.
fn real_deadline_ns(clock: &DilatedClock, ns: u64) -> u64 {
    if ns == 0 { 0 } else { clock.real_ns(ns).max(1) }
}

/// A time that the program passes, and the real one where it is dilated.
pub(crate) struct TranslatedTime<T> {
    given: *const T,
    real: Option<T>,
}

impl<T: CTime> TranslatedTime<T> {
    fn new(
        given: *const T,
        real_ns: impl FnOnce(&Clocks, u64) -> Option<u64>,
    ) -> TranslatedTime<T> {
        let real = clocks().and_then(|clocks| {
            // SAFETY: null, or a time that the program passes.
            let given_ns = unsafe { given.as_ref() }?.ns()?;
            real_ns(clocks, given_ns).map(T::of_ns)
        });
        TranslatedTime { given, real }
    }

    /// A duration.
    pub(crate) fn wait(given: *const T) -> TranslatedTime<T> {
        TranslatedTime::new(given, |clocks, ns| Some(clocks.durations.real_ns(ns)))
    }

    /// A deadline of that clock.
    pub(crate) fn until(clock: clockid_t, given: *const T) -> TranslatedTime<T> {
        TranslatedTime::new(given, |clocks, ns| Some(real_deadline_ns(clocks.dilated(clock)?, ns)))
    }

    /// A deadline whose clock was said to the C library long before: of a condition variable by its
    /// attributes, of a timer when it was made. Which one it is the deadline tells: one is since
    /// 1970, the other since the machine was started. Whichever side it is on it stays there, so
    /// that one that is far off or long past is so for either clock.
    pub(crate) fn until_unknown_clock(given: *const T) -> TranslatedTime<T> {
        TranslatedTime::new(given, |clocks, ns| {
            if ns < MONOTONIC_MAX_NS {
                let clock = clocks.dilated(libc::CLOCK_MONOTONIC)?;
                Some(real_deadline_ns(clock, ns).min(MONOTONIC_MAX_NS - 1))
            } else {
                let clock = clocks.dilated(libc::CLOCK_REALTIME)?;
                Some(real_deadline_ns(clock, ns).max(MONOTONIC_MAX_NS))
            }
        })
    }

    pub(crate) fn as_ptr(&self) -> *const T {
        self.real.as_ref().map_or(self.given, std::ptr::from_ref)
    }

    /// For functions that write what is left there.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut T {
        self.real.as_mut().map_or(self.given.cast_mut(), std::ptr::from_mut)
    }

    /// Tells the program what the system says is left.
    pub(crate) fn give_back(&self) {
        if let Some(left) = self.real {
            // SAFETY: a time that the program passed, to a function that writes it.
            unsafe { self.given.cast_mut().write(left) };
            to_dilated(self.given.cast_mut());
        }
    }
}

/// Dilates a duration that the system wrote for the program, where it did.
pub(crate) fn to_dilated<T: CTime>(left: *mut T) {
    let Some(clocks) = clocks() else { return };
    // SAFETY: null, or where the program had a duration written.
    if let Some(left) = unsafe { left.as_mut() }
        && let Some(ns) = left.ns()
    {
        *left = T::of_ns(dilated_rest_ns(&clocks.durations, ns));
    }
}

/// A timeout in milliseconds: none below 0. Rounded up.
pub(crate) fn wait_ms(timeout_ms: c_int) -> c_int {
    match (clocks(), u64::try_from(timeout_ms)) {
        (Some(clocks), Ok(ms)) => {
            let ns = clocks.durations.real_ns(ms * 1_000_000);
            c_int::try_from(ns.div_ceil(1_000_000)).unwrap_or(c_int::MAX)
        }
        _ => timeout_ms,
    }
}
