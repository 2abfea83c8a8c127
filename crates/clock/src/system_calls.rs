//! `syscall`, by which programs read and wait past the C library's functions.

use crate::clocks::clocks;
use crate::translated::{TranslatedTime, wait_ms};
use crate::{poll_hooks, read_hooks, sleep_hooks, timer_hooks, wait_hooks};
use libc::{c_int, c_long, c_void, clockid_t, sigset_t, size_t, timespec};
use preload::{as_libaio, as_system_call};

/// What a system call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// So long.
    For,
    /// So long, and the kernel writes what is left.
    Left,
    Until(clockid_t),
    Milliseconds,
}

const ARGUMENTS: usize = 6;

/// Which argument is how long a call waits, if it is told.
fn wait_of(number: c_long, arguments: &[c_long; ARGUMENTS]) -> Option<(usize, Wait)> {
    Some(match number {
        libc::SYS_futex => (3, futex_wait(arguments[1] as c_int)?),
        libc::SYS_futex_waitv => (3, Wait::Until(arguments[4] as clockid_t)),
        FUTEX_WAIT_NUMBER => (4, Wait::Until(arguments[5] as clockid_t)),
        libc::SYS_ppoll => (2, Wait::Left),
        libc::SYS_pselect6 | libc::SYS_recvmmsg => (4, Wait::Left),
        libc::SYS_epoll_pwait => (3, Wait::Milliseconds),
        libc::SYS_epoll_pwait2 | libc::SYS_semtimedop => (3, Wait::For),
        libc::SYS_io_getevents | IO_PGETEVENTS => (4, Wait::For),
        libc::SYS_rt_sigtimedwait => (2, Wait::For),
        libc::SYS_mq_timedsend | libc::SYS_mq_timedreceive => {
            (4, Wait::Until(libc::CLOCK_REALTIME))
        }
        _ => return None,
    })
}

/// `SYS_futex_wait` of Linux 6.7, which `libc` does not have yet.
const FUTEX_WAIT_NUMBER: c_long = 455;

/// `None` where the fourth argument is no time: it is a number of threads then, or nothing.
fn futex_wait(operation: c_int) -> Option<Wait> {
    let of_flag = if operation & libc::FUTEX_CLOCK_REALTIME != 0 {
        libc::CLOCK_REALTIME
    } else {
        libc::CLOCK_MONOTONIC
    };
    match operation & libc::FUTEX_CMD_MASK {
        libc::FUTEX_WAIT => Some(Wait::For),
        libc::FUTEX_LOCK_PI => Some(Wait::Until(libc::CLOCK_REALTIME)),
        libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAIT_REQUEUE_PI | libc::FUTEX_LOCK_PI2 => {
            Some(Wait::Until(of_flag))
        }
        _ => None,
    }
}

fn call(number: c_long, [a, b, c, d, e, f]: [c_long; ARGUMENTS]) -> c_long {
    real::syscall(number, a, b, c, d, e, f)
}

fn call_waiting(
    number: c_long,
    mut arguments: [c_long; ARGUMENTS],
    (at, wait): (usize, Wait),
) -> c_long {
    let argument = &mut arguments[at];
    let given = *argument as *const timespec;
    let mut translated = match wait {
        Wait::For | Wait::Left => TranslatedTime::wait(given),
        Wait::Until(clock) => TranslatedTime::until(clock, given),
        Wait::Milliseconds => {
            *argument = c_long::from(wait_ms(*argument as c_int));
            return call(number, arguments);
        }
    };
    *argument = translated.as_mut_ptr() as c_long;
    let result = call(number, arguments);
    if wait == Wait::Left {
        translated.give_back();
    }
    result
}

/// Calls that are functions of the C library too, with the same arguments. Linux has the last five
/// on its older architectures only.
fn as_function(number: c_long, [a, b, c, d, e, _]: [c_long; ARGUMENTS]) -> Option<c_long> {
    Some(c_long::from(match number {
        libc::SYS_clock_gettime => read_hooks::clock_gettime(a as _, b as _),
        libc::SYS_gettimeofday => read_hooks::gettimeofday(a as _, b as _),
        libc::SYS_getrusage => read_hooks::getrusage(a as _, b as _),
        libc::SYS_nanosleep => sleep_hooks::nanosleep(a as _, b as _),
        libc::SYS_clock_nanosleep => {
            let error = sleep_hooks::clock_nanosleep(a as _, b as _, c as _, d as _);
            return Some(as_system_call(-error));
        }
        libc::SYS_setsockopt => poll_hooks::setsockopt(a as _, b as _, c as _, d as _, e as _),
        libc::SYS_getsockopt => poll_hooks::getsockopt(a as _, b as _, c as _, d as _, e as _),
        libc::SYS_setitimer => timer_hooks::setitimer(a as _, b as _, c as _),
        libc::SYS_getitimer => timer_hooks::getitimer(a as _, b as _),
        libc::SYS_timerfd_settime => timer_hooks::timerfd_settime(a as _, b as _, c as _, d as _),
        libc::SYS_timerfd_gettime => timer_hooks::timerfd_gettime(a as _, b as _),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll => wait_hooks::poll(a as _, b as _, c as _),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select => poll_hooks::select(a as _, b as _, c as _, d as _, e as _),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait => wait_hooks::epoll_wait(a as _, b as _, c as _, d as _),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_time => return Some(read_hooks::time(a as _)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_alarm => return Some(timer_hooks::alarm(a as _).into()),
        _ => return None,
    }))
}

/// `SYS_io_pgetevents`, which `libc` does not have for every architecture.
#[cfg(target_arch = "x86_64")]
const IO_PGETEVENTS: c_long = 333;
#[cfg(not(target_arch = "x86_64"))]
const IO_PGETEVENTS: c_long = 292;

preload::hooks! { "C-unwind"
    fn syscall(
        number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long,
    ) -> c_long, or -1 {
        let arguments = [a, b, c, d, e, f];
        if clocks().is_none() {
            return call(number, arguments);
        }
        if let Some(wait) = wait_of(number, &arguments) {
            return call_waiting(number, arguments, wait);
        }
        as_function(number, arguments).unwrap_or_else(|| call(number, arguments))
    }

    /// libaio's. Programs load it when they please, so it is not looked for behind us.
    fn io_getevents(
        context: c_long, min: c_long, max: c_long, events: *mut c_void, timeout: *const timespec,
    ) -> c_int {
        let (events, timeout) = (events as c_long, timeout as c_long);
        as_libaio(syscall(libc::SYS_io_getevents, context, min, max, events, timeout, 0))
    }

    fn io_pgetevents(
        context: c_long, min: c_long, max: c_long, events: *mut c_void, timeout: *const timespec,
        mask: *const sigset_t,
    ) -> c_int {
        /// Of the kernel's mask, which is shorter than the C library's.
        const MASK_BYTES: size_t = 8;
        // What the kernel takes a mask by: where it is, and its bytes.
        let mask = [mask as size_t, MASK_BYTES];
        let (events, timeout) = (events as c_long, timeout as c_long);
        let mask = &raw const mask as c_long;
        as_libaio(syscall(IO_PGETEVENTS, context, min, max, events, timeout, mask))
    }
}
