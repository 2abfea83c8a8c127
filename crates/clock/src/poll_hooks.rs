//! Functions that wait for descriptors, messages and files.

use crate::translated::{TranslatedTime, to_dilated, wait_ms};
use libc::{
    aiocb, c_char, c_int, c_uint, c_void, epoll_event, fd_set, mmsghdr, mqd_t, nfds_t, pollfd,
    sigset_t, size_t, socklen_t, ssize_t, timespec, timeval,
};

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

    fn pselect(
        count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
        timeout: *const timespec, mask: *const sigset_t,
    ) -> c_int, or -1 {
        real::pselect(count, read, write, except, TranslatedTime::wait(timeout).as_ptr(), mask)
    }

    fn poll(
        of: *mut pollfd, count: nfds_t, timeout_ms: c_int,
    ) -> c_int, or -1, also __poll {
        real::poll(of, count, wait_ms(timeout_ms))
    }

    fn __poll_chk(
        of: *mut pollfd, count: nfds_t, timeout_ms: c_int, room: size_t,
    ) -> c_int, or -1 {
        real::__poll_chk(of, count, wait_ms(timeout_ms), room)
    }

    fn ppoll(
        of: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t,
    ) -> c_int, or -1 {
        real::ppoll(of, count, TranslatedTime::wait(timeout).as_ptr(), mask)
    }

    fn __ppoll_chk(
        of: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t,
        room: size_t,
    ) -> c_int, or -1 {
        real::__ppoll_chk(of, count, TranslatedTime::wait(timeout).as_ptr(), mask, room)
    }

    fn epoll_wait(
        epoll: c_int, events: *mut epoll_event, room: c_int, timeout_ms: c_int,
    ) -> c_int, or -1 {
        real::epoll_wait(epoll, events, room, wait_ms(timeout_ms))
    }

    fn epoll_pwait(
        epoll: c_int, events: *mut epoll_event, room: c_int, timeout_ms: c_int,
        mask: *const sigset_t,
    ) -> c_int, or -1 {
        real::epoll_pwait(epoll, events, room, wait_ms(timeout_ms), mask)
    }

    fn epoll_pwait2(
        epoll: c_int, events: *mut epoll_event, room: c_int, timeout: *const timespec,
        mask: *const sigset_t,
    ) -> c_int, or -1 {
        real::epoll_pwait2(epoll, events, room, TranslatedTime::wait(timeout).as_ptr(), mask)
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

    fn mq_timedreceive(
        queue: mqd_t, to: *mut c_char, bytes: size_t, priority: *mut c_uint,
        until: *const timespec,
    ) -> ssize_t, or -1 {
        let until = TranslatedTime::until(libc::CLOCK_REALTIME, until);
        real::mq_timedreceive(queue, to, bytes, priority, until.as_ptr())
    }

    fn mq_timedsend(
        queue: mqd_t, from: *const c_char, bytes: size_t, priority: c_uint, until: *const timespec,
    ) -> c_int, or -1 {
        let until = TranslatedTime::until(libc::CLOCK_REALTIME, until);
        real::mq_timedsend(queue, from, bytes, priority, until.as_ptr())
    }

    fn aio_suspend(
        list: *const *const aiocb, count: c_int, timeout: *const timespec,
    ) -> c_int, or -1, also aio_suspend64 {
        real::aio_suspend(list, count, TranslatedTime::wait(timeout).as_ptr())
    }
}
