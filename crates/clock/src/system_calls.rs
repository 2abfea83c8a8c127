//! `syscall`, by which programs read and wait past the C library's functions.

use crate::passed::{Passed, wait_ms};
use crate::poll_hooks::IO_PGETEVENTS;
use crate::{poll_hooks, read_hooks, real, sleep_hooks, timer_hooks};
use libc::{c_int, c_long, clockid_t, timespec};

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
    let Some(argument) = arguments.get_mut(at) else {
        return call(number, arguments);
    };
    let given = *argument as *const timespec;
    let mut passed = match wait {
        Wait::For | Wait::Left => Passed::wait(given),
        Wait::Until(clock) => Passed::until(clock, given),
        Wait::Milliseconds => {
            *argument = c_long::from(wait_ms(*argument as c_int));
            return call(number, arguments);
        }
    };
    *argument = passed.as_mut_ptr() as c_long;
    let result = call(number, arguments);
    if wait == Wait::Left {
        passed.give_back();
    }
    result
}

/// As C has it: an error is -1 and `errno`.
fn as_system_call(error: c_int) -> c_long {
    if error == 0 {
        return 0;
    }
    preload::set_errno(error);
    -1
}

/// Calls that are functions of the C library too, with the same arguments.
fn as_function(number: c_long, [a, b, c, d, e, _]: [c_long; ARGUMENTS]) -> Option<c_long> {
    Some(c_long::from(match number {
        libc::SYS_clock_gettime => read_hooks::clock_gettime(a as clockid_t, b as *mut _),
        libc::SYS_gettimeofday => read_hooks::gettimeofday(a as *mut _, b as *mut _),
        libc::SYS_getrusage => read_hooks::getrusage(a as c_int, b as *mut _),
        libc::SYS_nanosleep => sleep_hooks::nanosleep(a as *const _, b as *mut _),
        libc::SYS_clock_nanosleep => {
            let (clock, flags) = (a as clockid_t, b as c_int);
            let error = sleep_hooks::clock_nanosleep(clock, flags, c as *const _, d as *mut _);
            return Some(as_system_call(error));
        }
        libc::SYS_setsockopt => {
            let (socket, level, option) = (a as c_int, b as c_int, c as c_int);
            poll_hooks::setsockopt(socket, level, option, d as *const _, e as u32)
        }
        libc::SYS_getsockopt => {
            let (socket, level, option) = (a as c_int, b as c_int, c as c_int);
            poll_hooks::getsockopt(socket, level, option, d as *mut _, e as *mut _)
        }
        libc::SYS_setitimer => timer_hooks::setitimer(a as c_int, b as *const _, c as *mut _),
        libc::SYS_getitimer => timer_hooks::getitimer(a as c_int, b as *mut _),
        libc::SYS_timerfd_settime => {
            timer_hooks::timerfd_settime(a as c_int, b as c_int, c as *const _, d as *mut _)
        }
        libc::SYS_timerfd_gettime => timer_hooks::timerfd_gettime(a as c_int, b as *mut _),
        _ => return as_old_function(number, [a, b, c, d, e]),
    }))
}

/// Those that Linux has on its older architectures only.
#[cfg(target_arch = "x86_64")]
fn as_old_function(number: c_long, [a, b, c, d, e]: [c_long; 5]) -> Option<c_long> {
    Some(match number {
        libc::SYS_time => read_hooks::time(a as *mut _),
        libc::SYS_alarm => c_long::from(timer_hooks::alarm(a as u32)),
        libc::SYS_poll => c_long::from(poll_hooks::poll(a as *mut _, b as u64, c as c_int)),
        libc::SYS_select => {
            let (read, write, except) = (b as *mut _, c as *mut _, d as *mut _);
            c_long::from(poll_hooks::select(a as c_int, read, write, except, e as *mut _))
        }
        libc::SYS_epoll_wait => {
            let (epoll, events, room) = (a as c_int, b as *mut _, c as c_int);
            c_long::from(poll_hooks::epoll_wait(epoll, events, room, d as c_int))
        }
        _ => return None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn as_old_function(_: c_long, _: [c_long; 5]) -> Option<c_long> {
    None
}

#[unsafe(no_mangle)]
extern "C-unwind" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    let arguments = [a, b, c, d, e, f];
    if crate::clocks::clocks().is_none() {
        return call(number, arguments);
    }
    if let Some(wait) = wait_of(number, &arguments) {
        return call_waiting(number, arguments, wait);
    }
    as_function(number, arguments).unwrap_or_else(|| call(number, arguments))
}
