//! The functions that this library stands in front of.

use libc::{
    aiocb, c_char, c_int, c_long, c_uint, c_void, clock_t, clockid_t, epoll_event, fd_set,
    itimerspec, itimerval, mmsghdr, mqd_t, nfds_t, pollfd, pthread_cond_t, pthread_mutex_t,
    pthread_rwlock_t, pthread_t, rusage, sem_t, sembuf, siginfo_t, sigset_t, size_t, socklen_t,
    ssize_t, timer_t, timespec, timeval, tms,
};

preload::functions! { Behind:
    fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int, or -1;
    fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int, or -1;
    fn times(time: *mut tms) -> clock_t, or -1;
    fn getrusage(who: c_int, to: *mut rusage) -> c_int, or -1;
    fn timespec_get(time: *mut timespec, base: c_int) -> c_int, or 0;
    fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int, or -1;
    fn clock_nanosleep(
        clock: clockid_t, flags: c_int, time: *const timespec, left: *mut timespec
    ) -> c_int, or libc::ENOSYS;
    fn thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int, or -2;
    fn select(
        count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
        timeout: *mut timeval
    ) -> c_int, or -1;
    fn pselect(
        count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
        timeout: *const timespec, mask: *const sigset_t
    ) -> c_int, or -1;
    fn poll(of: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int, or -1;
    fn __poll_chk(of: *mut pollfd, count: nfds_t, timeout_ms: c_int, room: size_t) -> c_int, or -1;
    fn ppoll(
        of: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t
    ) -> c_int, or -1;
    fn __ppoll_chk(
        of: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t,
        room: size_t
    ) -> c_int, or -1;
    fn epoll_wait(
        epoll: c_int, events: *mut epoll_event, room: c_int, timeout_ms: c_int
    ) -> c_int, or -1;
    fn epoll_pwait(
        epoll: c_int, events: *mut epoll_event, room: c_int, timeout_ms: c_int,
        mask: *const sigset_t
    ) -> c_int, or -1;
    fn epoll_pwait2(
        epoll: c_int, events: *mut epoll_event, room: c_int, timeout: *const timespec,
        mask: *const sigset_t
    ) -> c_int, or -1;
    fn recvmmsg(
        socket: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, timeout: *mut timespec
    ) -> c_int, or -1;
    fn setsockopt(
        socket: c_int, level: c_int, option: c_int, value: *const c_void, bytes: socklen_t
    ) -> c_int, or -1;
    fn getsockopt(
        socket: c_int, level: c_int, option: c_int, value: *mut c_void, bytes: *mut socklen_t
    ) -> c_int, or -1;
    fn mq_timedreceive(
        queue: mqd_t, to: *mut c_char, bytes: size_t, priority: *mut c_uint, until: *const timespec
    ) -> ssize_t, or -1;
    fn mq_timedsend(
        queue: mqd_t, from: *const c_char, bytes: size_t, priority: c_uint, until: *const timespec
    ) -> c_int, or -1;
    fn aio_suspend(
        list: *const *const aiocb, count: c_int, timeout: *const timespec
    ) -> c_int, or -1;
    fn pthread_cond_timedwait @ "GLIBC_2.3.2"(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec
    ) -> c_int, or libc::ENOSYS;
    fn pthread_cond_clockwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t,
        until: *const timespec
    ) -> c_int, or libc::ENOSYS;
    fn pthread_mutex_timedlock(
        mutex: *mut pthread_mutex_t, until: *const timespec
    ) -> c_int, or libc::ENOSYS;
    fn pthread_mutex_clocklock(
        mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec
    ) -> c_int, or libc::ENOSYS;
    fn pthread_rwlock_timedrdlock(
        lock: *mut pthread_rwlock_t, until: *const timespec
    ) -> c_int, or libc::ENOSYS;
    fn pthread_rwlock_timedwrlock(
        lock: *mut pthread_rwlock_t, until: *const timespec
    ) -> c_int, or libc::ENOSYS;
    fn pthread_rwlock_clockrdlock(
        lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec
    ) -> c_int, or libc::ENOSYS;
    fn pthread_rwlock_clockwrlock(
        lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec
    ) -> c_int, or libc::ENOSYS;
    fn pthread_timedjoin_np(
        thread: pthread_t, result: *mut *mut c_void, until: *const timespec
    ) -> c_int, or libc::ENOSYS;
    fn pthread_clockjoin_np(
        thread: pthread_t, result: *mut *mut c_void, clock: clockid_t, until: *const timespec
    ) -> c_int, or libc::ENOSYS;
    fn cnd_timedwait(
        condition: *mut c_void, mutex: *mut c_void, until: *const timespec
    ) -> c_int, or THRD_ERROR;
    fn mtx_timedlock(mutex: *mut c_void, until: *const timespec) -> c_int, or THRD_ERROR;
    fn sem_timedwait(semaphore: *mut sem_t, until: *const timespec) -> c_int, or -1;
    fn sem_clockwait(
        semaphore: *mut sem_t, clock: clockid_t, until: *const timespec
    ) -> c_int, or -1;
    fn semtimedop(
        set: c_int, operations: *mut sembuf, count: size_t, timeout: *const timespec
    ) -> c_int, or -1;
    fn sigtimedwait(
        set: *const sigset_t, info: *mut siginfo_t, timeout: *const timespec
    ) -> c_int, or -1;
    fn alarm(seconds: c_uint) -> c_uint, or 0;
    fn setitimer(which: c_int, new: *const itimerval, old: *mut itimerval) -> c_int, or -1;
    fn getitimer(which: c_int, now: *mut itimerval) -> c_int, or -1;
    fn timer_settime @ "GLIBC_2.3.3"(
        timer: timer_t, flags: c_int, new: *const itimerspec, old: *mut itimerspec
    ) -> c_int, or -1;
    fn timer_gettime @ "GLIBC_2.3.3"(timer: timer_t, now: *mut itimerspec) -> c_int, or -1;
    fn timerfd_settime(
        timer: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec
    ) -> c_int, or -1;
    fn timerfd_gettime(timer: c_int, now: *mut itimerspec) -> c_int, or -1;
    fn syscall(
        number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long
    ) -> c_long, or -1;
}

/// `thrd_error` of C11.
const THRD_ERROR: c_int = 2;
