//! Timers. Those of CPU time are real, where that can be told: of `timer_settime` it cannot, as
//! only who made the timer knows its clock.

use crate::translated::{CTime, TranslatedTime, to_dilated};
use libc::{c_int, c_uint, itimerspec, itimerval, timer_t, timespec, timeval};

/// A timer as C has it, in one of two forms.
trait Timer: Copy {
    type Time: CTime;

    /// When it is over, and the interval that follows.
    fn times(&mut self) -> [&mut Self::Time; 2];
}

impl Timer for itimerval {
    type Time = timeval;

    fn times(&mut self) -> [&mut timeval; 2] {
        [&mut self.it_value, &mut self.it_interval]
    }
}

impl Timer for itimerspec {
    type Time = timespec;

    fn times(&mut self) -> [&mut timespec; 2] {
        [&mut self.it_value, &mut self.it_interval]
    }
}

/// Sets a timer by `set`, in real time.
fn set_timer<T: Timer>(
    is_absolute: bool,
    (new, old): (*const T, *mut T),
    set: impl FnOnce(*const T, *mut T) -> c_int,
) -> c_int {
    // SAFETY: null, or what the program passes.
    let Some(mut given) = (unsafe { new.as_ref() }).copied() else {
        return dilated(set(new, old), old);
    };
    for (time, is_absolute) in given.times().into_iter().zip([is_absolute, false]) {
        let translated = if is_absolute {
            TranslatedTime::until_unknown_clock(time)
        } else {
            TranslatedTime::wait(time)
        };
        // SAFETY: a copy of the program's time, or ours.
        *time = unsafe { translated.as_ptr().read() };
    }
    dilated(set(&raw const given, old), old)
}

/// The result of a call, where it is good with what the system says of a timer dilated.
fn dilated<T: Timer>(result: c_int, timer: *mut T) -> c_int {
    // SAFETY: null, or what the system has written for the program.
    if let (0, Some(timer)) = (result, unsafe { timer.as_mut() }) {
        timer.times().into_iter().for_each(|time| to_dilated(time));
    }
    result
}

preload::hooks! { "C-unwind"
    /// The same timer as that of `setitimer`, which knows parts of a second: a real one may be many
    /// of a clock that runs faster.
    fn alarm(seconds: c_uint) -> c_uint {
        let after_s = |tv_sec| timeval { tv_sec, tv_usec: 0 };
        let timer = |tv_sec| itimerval { it_interval: after_s(0), it_value: after_s(tv_sec) };
        let mut old = timer(0);
        setitimer(libc::ITIMER_REAL, &timer(seconds.into()), &raw mut old);
        (old.it_value.tv_sec + i64::from(old.it_value.tv_usec > 0)) as c_uint
    }

    fn setitimer(which: c_int, new: *const itimerval, old: *mut itimerval) -> c_int, or -1 {
        if which != libc::ITIMER_REAL {
            return real::setitimer(which, new, old);
        }
        set_timer(false, (new, old), |new, old| real::setitimer(which, new, old))
    }

    fn getitimer(which: c_int, now: *mut itimerval) -> c_int, or -1 {
        let result = real::getitimer(which, now);
        if which == libc::ITIMER_REAL { dilated(result, now) } else { result }
    }

    fn timer_settime(
        timer: timer_t, flags: c_int, new: *const itimerspec, old: *mut itimerspec,
    ) -> c_int, or -1 @ "GLIBC_2.3.3" {
        set_timer(flags & libc::TIMER_ABSTIME != 0, (new, old), |new, old| {
            real::timer_settime(timer, flags, new, old)
        })
    }

    fn timer_gettime(timer: timer_t, now: *mut itimerspec) -> c_int, or -1 @ "GLIBC_2.3.3" {
        dilated(real::timer_gettime(timer, now), now)
    }

    fn timerfd_settime(
        timer: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec,
    ) -> c_int, or -1 {
        set_timer(flags & libc::TFD_TIMER_ABSTIME != 0, (new, old), |new, old| {
            real::timerfd_settime(timer, flags, new, old)
        })
    }

    fn timerfd_gettime(timer: c_int, now: *mut itimerspec) -> c_int, or -1 {
        dilated(real::timerfd_gettime(timer, now), now)
    }
}
