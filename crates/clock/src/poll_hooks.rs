//! Functions that wait for descriptors, messages and files.

use crate::passed::{Passed, shorten, wait_ms};
use crate::real;
use libc::{
    aiocb, c_char, c_int, c_long, c_uint, c_void, epoll_event, fd_set, mmsghdr, mqd_t, nfds_t,
    pollfd, sigset_t, size_t, socklen_t, ssize_t, timespec, timeval,
};

/// Linux writes what is left of the timeout, and so do we.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    let mut wait = Passed::wait(timeout.cast_const());
    let result = real::select(count, read, write, except, wait.as_mut_ptr());
    wait.give_back();
    result
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    real::pselect(count, read, write, except, Passed::wait(timeout).as_ptr(), mask)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn poll(of: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int {
    real::poll(of, count, wait_ms(timeout_ms))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __poll_chk(
    of: *mut pollfd,
    count: nfds_t,
    timeout_ms: c_int,
    room: size_t,
) -> c_int {
    real::__poll_chk(of, count, wait_ms(timeout_ms), room)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn ppoll(
    of: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    real::ppoll(of, count, Passed::wait(timeout).as_ptr(), mask)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __ppoll_chk(
    of: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
    room: size_t,
) -> c_int {
    real::__ppoll_chk(of, count, Passed::wait(timeout).as_ptr(), mask, room)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout_ms: c_int,
) -> c_int {
    real::epoll_wait(epoll, events, room, wait_ms(timeout_ms))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout_ms: c_int,
    mask: *const sigset_t,
) -> c_int {
    real::epoll_pwait(epoll, events, room, wait_ms(timeout_ms), mask)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn epoll_pwait2(
    epoll: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    real::epoll_pwait2(epoll, events, room, Passed::wait(timeout).as_ptr(), mask)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn recvmmsg(
    socket: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    let mut wait = Passed::wait(timeout.cast_const());
    let result = real::recvmmsg(socket, messages, count, flags, wait.as_mut_ptr());
    wait.give_back();
    result
}

/// Whether a socket's option is a time that its reads or writes wait at most.
fn is_timeout(level: c_int, option: c_int) -> bool {
    /// `SO_RCVTIMEO_NEW` and `SO_SNDTIMEO_NEW`, which are the same on 64 bits.
    const NEW: [c_int; 2] = [66, 67];
    let is_one = option == libc::SO_RCVTIMEO || option == libc::SO_SNDTIMEO;
    level == libc::SOL_SOCKET && (is_one || NEW.contains(&option))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn setsockopt(
    socket: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    bytes: socklen_t,
) -> c_int {
    if !is_timeout(level, option) || (bytes as usize) < size_of::<timeval>() {
        return real::setsockopt(socket, level, option, value, bytes);
    }
    let wait = Passed::wait(value.cast::<timeval>());
    real::setsockopt(socket, level, option, wait.as_ptr().cast(), bytes)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn getsockopt(
    socket: c_int,
    level: c_int,
    option: c_int,
    value: *mut c_void,
    bytes: *mut socklen_t,
) -> c_int {
    let result = real::getsockopt(socket, level, option, value, bytes);
    if result == 0 && is_timeout(level, option) {
        // SAFETY: the system has just written how long the value is.
        if unsafe { *bytes } as usize >= size_of::<timeval>() {
            shorten(value.cast::<timeval>());
        }
    }
    result
}

#[unsafe(no_mangle)]
extern "C-unwind" fn mq_timedreceive(
    queue: mqd_t,
    to: *mut c_char,
    bytes: size_t,
    priority: *mut c_uint,
    until: *const timespec,
) -> ssize_t {
    let until = Passed::until(libc::CLOCK_REALTIME, until);
    real::mq_timedreceive(queue, to, bytes, priority, until.as_ptr())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn mq_timedsend(
    queue: mqd_t,
    from: *const c_char,
    bytes: size_t,
    priority: c_uint,
    until: *const timespec,
) -> c_int {
    let until = Passed::until(libc::CLOCK_REALTIME, until);
    real::mq_timedsend(queue, from, bytes, priority, until.as_ptr())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn aio_suspend(
    list: *const *const aiocb,
    count: c_int,
    timeout: *const timespec,
) -> c_int {
    real::aio_suspend(list, count, Passed::wait(timeout).as_ptr())
}

/// As libaio has it: an error is a negative number.
fn as_libaio(result: c_long) -> c_int {
    if result < 0 { -preload::errno() } else { result as c_int }
}

/// libaio's. Programs load it when they please, so it is not looked for behind us.
#[unsafe(no_mangle)]
extern "C-unwind" fn io_getevents(
    context: c_long,
    min: c_long,
    max: c_long,
    events: *mut c_void,
    timeout: *const timespec,
) -> c_int {
    let wait = Passed::wait(timeout);
    let (events, timeout) = (events as c_long, wait.as_ptr() as c_long);
    as_libaio(real::syscall(libc::SYS_io_getevents, context, min, max, events, timeout, 0))
}

/// `SYS_io_pgetevents`, which `libc` does not have for every architecture.
#[cfg(target_arch = "x86_64")]
pub(crate) const IO_PGETEVENTS: c_long = 333;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const IO_PGETEVENTS: c_long = 292;

/// What the kernel takes a mask of signals by.
#[repr(C)]
struct SignalMask {
    mask: *const sigset_t,
    bytes: size_t,
}

#[unsafe(no_mangle)]
extern "C-unwind" fn io_pgetevents(
    context: c_long,
    min: c_long,
    max: c_long,
    events: *mut c_void,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    /// Of the kernel's mask, which is shorter than the C library's.
    const MASK_BYTES: size_t = 8;
    let mask = SignalMask { mask, bytes: MASK_BYTES };
    let wait = Passed::wait(timeout);
    let (events, timeout) = (events as c_long, wait.as_ptr() as c_long);
    let mask = &raw const mask as c_long;
    as_libaio(real::syscall(IO_PGETEVENTS, context, min, max, events, timeout, mask))
}

also! {
    fn __select = select(
        count: c_int,
        read: *mut fd_set,
        write: *mut fd_set,
        except: *mut fd_set,
        timeout: *mut timeval,
    ) -> c_int;
    fn __poll = poll(of: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int;
    fn aio_suspend64 =
        aio_suspend(list: *const *const aiocb, count: c_int, timeout: *const timespec) -> c_int;
}
