//! Functions that wait for descriptors, and are told or tell how long in ways of their own.

use crate::translated::{TranslatedTime, to_dilated};
use libc::{c_int, c_uint, c_void, fd_set, mmsghdr, socklen_t, timespec, timeval};

/// Whether a socket's option is a time that its reads or writes wait at most.
fn is_timeout(level: c_int, option: c_int) -> bool {
    /// `SO_RCVTIMEO_NEW` and `SO_SNDTIMEO_NEW`, which are the same on 64 bits.
    const NEW: [c_int; 2] = [66, 67];
    let is_one = option == libc::SO_RCVTIMEO || option == libc::SO_SNDTIMEO;
    level == libc::SOL_SOCKET && (is_one || NEW.contains(&option))
}

preload::hooks! { "C-unwind"
    /// Linux writes what is left of the timeout, and so do we.
    fn select(
        count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
        timeout: *mut timeval,
    ) -> c_int, or -1, also __select {
        let mut wait = TranslatedTime::wait(timeout.cast_const());
        let result = real::select(count, read, write, except, wait.as_mut_ptr());
        wait.give_back();
        result
    }

    fn recvmmsg(
        socket: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, timeout: *mut timespec,
    ) -> c_int, or -1 {
        let mut wait = TranslatedTime::wait(timeout.cast_const());
        let result = real::recvmmsg(socket, messages, count, flags, wait.as_mut_ptr());
        wait.give_back();
        result
    }

    fn setsockopt(
        socket: c_int, level: c_int, option: c_int, value: *const c_void, bytes: socklen_t,
    ) -> c_int, or -1 {
        if !is_timeout(level, option) || (bytes as usize) < size_of::<timeval>() {
            return real::setsockopt(socket, level, option, value, bytes);
        }
        let wait = TranslatedTime::wait(value.cast::<timeval>());
        real::setsockopt(socket, level, option, wait.as_ptr().cast(), bytes)
    }

    fn getsockopt(
        socket: c_int, level: c_int, option: c_int, value: *mut c_void, bytes: *mut socklen_t,
    ) -> c_int, or -1 {
        let result = real::getsockopt(socket, level, option, value, bytes);
        if result == 0 && is_timeout(level, option) {
            // SAFETY: the system has just written how long the value is.
            if unsafe { *bytes } as usize >= size_of::<timeval>() {
                to_dilated(value.cast::<timeval>());
            }
        }
        result
    }
}
