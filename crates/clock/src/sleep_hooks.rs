//! Functions that sleep.

use crate::clocks::clocks;
use crate::translated::{CTime, TranslatedTime, to_dilated};
use libc::{ENOSYS, c_int, c_uint, clockid_t, timespec};

preload::hooks! { "C-unwind"
    fn nanosleep(
        time: *const timespec, left: *mut timespec,
    ) -> c_int, or -1, also __nanosleep {
        let result = real::nanosleep(TranslatedTime::wait(time).as_ptr(), left);
        if result == -1 && preload::errno() == libc::EINTR {
            to_dilated(left);
        }
        result
    }

    fn clock_nanosleep(
        clock: clockid_t, flags: c_int, time: *const timespec, left: *mut timespec,
    ) -> c_int, or ENOSYS {
        if flags & libc::TIMER_ABSTIME != 0 {
            let until = TranslatedTime::until(clock, time);
            return real::clock_nanosleep(clock, flags, until.as_ptr(), left);
        }
        if clocks().is_none_or(|clocks| clocks.dilated(clock).is_none()) {
            return real::clock_nanosleep(clock, flags, time, left);
        }
        let result = real::clock_nanosleep(clock, flags, TranslatedTime::wait(time).as_ptr(), left);
        if result == libc::EINTR {
            to_dilated(left);
        }
        result
    }

    /// Returns the seconds that are left, as the C library's does.
    fn sleep(seconds: c_uint) -> c_uint {
        let time = timespec { tv_sec: i64::from(seconds), tv_nsec: 0 };
        let mut left = timespec { tv_sec: 0, tv_nsec: 0 };
        match nanosleep(&raw const time, &raw mut left) {
            0 => 0,
            _ => c_uint::try_from(left.tv_sec).unwrap_or(seconds),
        }
    }

    fn usleep(time_us: c_uint) -> c_int {
        let time = timespec::of_ns(u64::from(time_us) * 1_000);
        nanosleep(&raw const time, std::ptr::null_mut())
    }

    fn thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int, or -2 {
        /// A signal came.
        const INTERRUPTED: c_int = -1;
        let result = real::thrd_sleep(TranslatedTime::wait(time).as_ptr(), left);
        if result == INTERRUPTED {
            to_dilated(left);
        }
        result
    }
}
