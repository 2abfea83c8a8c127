//! Functions that wait, and of whose arguments only the time is translated: for threads, signals,
//! other processes, descriptors, messages and files.

use crate::translated::{TranslatedTime, wait_ms};
use libc::{
    CLOCK_REALTIME, ENOSYS, aiocb, c_char, c_int, c_uint, c_void, clockid_t, epoll_event, fd_set,
    mqd_t, nfds_t, pollfd, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_t, sem_t,
    sembuf, siginfo_t, sigset_t, size_t, ssize_t, timespec,
};

/// `thrd_error` of C11.
const THRD_ERROR: c_int = 2;

/// Functions that are passed on, with a time as what stands behind its `=>`: a way to make a
/// [`TranslatedTime`], with the clock of a deadline, or `ms`. In brackets stands what else
/// [`preload::hooks`] takes.
macro_rules! passed {
    ($(
        fn $name:ident(
            $($arg:ident: $type:ty $(=> $translation:ident $(($clock:expr))?)?),* $(,)?
        ) -> $ret:ty [$($behind:tt)*];
    )*) => {
        preload::hooks! { "C-unwind" $(
            fn $name($($arg: $type),*) -> $ret, $($behind)* {
                real::$name($(translated!($arg $(, $translation $(($clock))?)?)),*)
            }
        )* }
    };
}

macro_rules! translated {
    ($arg:ident) => {
        $arg
    };
    ($arg:ident, ms) => {
        wait_ms($arg)
    };
    ($arg:ident, $translation:ident $(($clock:expr))?) => {
        TranslatedTime::$translation($($clock,)? $arg).as_ptr()
    };
}

passed! {
    fn pthread_cond_timedwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t,
        until: *const timespec => until_unknown_clock,
    ) -> c_int [or ENOSYS @ "GLIBC_2.3.2"];

    fn pthread_cond_clockwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t,
        until: *const timespec => until(clock),
    ) -> c_int [or ENOSYS];

    fn pthread_mutex_timedlock(
        mutex: *mut pthread_mutex_t, until: *const timespec => until(CLOCK_REALTIME),
    ) -> c_int [or ENOSYS];

    fn pthread_mutex_clocklock(
        mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec => until(clock),
    ) -> c_int [or ENOSYS];

    fn pthread_rwlock_timedrdlock(
        lock: *mut pthread_rwlock_t, until: *const timespec => until(CLOCK_REALTIME),
    ) -> c_int [or ENOSYS];

    fn pthread_rwlock_timedwrlock(
        lock: *mut pthread_rwlock_t, until: *const timespec => until(CLOCK_REALTIME),
    ) -> c_int [or ENOSYS];

    fn pthread_rwlock_clockrdlock(
        lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec => until(clock),
    ) -> c_int [or ENOSYS];

    fn pthread_rwlock_clockwrlock(
        lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec => until(clock),
    ) -> c_int [or ENOSYS];

    fn pthread_timedjoin_np(
        thread: pthread_t, result: *mut *mut c_void,
        until: *const timespec => until(CLOCK_REALTIME),
    ) -> c_int [or ENOSYS];

    fn pthread_clockjoin_np(
        thread: pthread_t, result: *mut *mut c_void, clock: clockid_t,
        until: *const timespec => until(clock),
    ) -> c_int [or ENOSYS];

    fn cnd_timedwait(
        condition: *mut c_void, mutex: *mut c_void,
        until: *const timespec => until(CLOCK_REALTIME),
    ) -> c_int [or THRD_ERROR];

    fn mtx_timedlock(
        mutex: *mut c_void, until: *const timespec => until(CLOCK_REALTIME),
    ) -> c_int [or THRD_ERROR];

    fn sem_timedwait(
        semaphore: *mut sem_t, until: *const timespec => until(CLOCK_REALTIME),
    ) -> c_int [or -1];

    fn sem_clockwait(
        semaphore: *mut sem_t, clock: clockid_t, until: *const timespec => until(clock),
    ) -> c_int [or -1];

    fn semtimedop(
        set: c_int, operations: *mut sembuf, count: size_t, timeout: *const timespec => wait,
    ) -> c_int [or -1];

    fn sigtimedwait(
        set: *const sigset_t, info: *mut siginfo_t, timeout: *const timespec => wait,
    ) -> c_int [or -1];

    fn pselect(
        count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
        timeout: *const timespec => wait, mask: *const sigset_t,
    ) -> c_int [or -1];

    fn poll(
        of: *mut pollfd, count: nfds_t, timeout_ms: c_int => ms,
    ) -> c_int [or -1, also __poll];

    fn __poll_chk(
        of: *mut pollfd, count: nfds_t, timeout_ms: c_int => ms, room: size_t,
    ) -> c_int [or -1];

    fn ppoll(
        of: *mut pollfd, count: nfds_t, timeout: *const timespec => wait, mask: *const sigset_t,
    ) -> c_int [or -1];

    fn __ppoll_chk(
        of: *mut pollfd, count: nfds_t, timeout: *const timespec => wait, mask: *const sigset_t,
        room: size_t,
    ) -> c_int [or -1];

    fn epoll_wait(
        epoll: c_int, events: *mut epoll_event, room: c_int, timeout_ms: c_int => ms,
    ) -> c_int [or -1];

    fn epoll_pwait(
        epoll: c_int, events: *mut epoll_event, room: c_int, timeout_ms: c_int => ms,
        mask: *const sigset_t,
    ) -> c_int [or -1];

    fn epoll_pwait2(
        epoll: c_int, events: *mut epoll_event, room: c_int, timeout: *const timespec => wait,
        mask: *const sigset_t,
    ) -> c_int [or -1];

    fn mq_timedreceive(
        queue: mqd_t, to: *mut c_char, bytes: size_t, priority: *mut c_uint,
        until: *const timespec => until(CLOCK_REALTIME),
    ) -> ssize_t [or -1];

    fn mq_timedsend(
        queue: mqd_t, from: *const c_char, bytes: size_t, priority: c_uint,
        until: *const timespec => until(CLOCK_REALTIME),
    ) -> c_int [or -1];

    fn aio_suspend(
        list: *const *const aiocb, count: c_int, timeout: *const timespec => wait,
    ) -> c_int [or -1, also aio_suspend64];
}
