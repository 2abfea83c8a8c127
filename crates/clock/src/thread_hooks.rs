//! Functions that wait for threads, signals and other processes.

use crate::translated::TranslatedTime;
use libc::{
    CLOCK_REALTIME, ENOSYS, c_int, c_void, clockid_t, pthread_cond_t, pthread_mutex_t,
    pthread_rwlock_t, pthread_t, sem_t, sembuf, siginfo_t, sigset_t, size_t, timespec,
};

/// `thrd_error` of C11.
const THRD_ERROR: c_int = 2;

preload::hooks! { "C-unwind"
    fn pthread_cond_timedwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec,
    ) -> c_int, or ENOSYS @ "GLIBC_2.3.2" {
        let until = TranslatedTime::until_unknown_clock(until);
        real::pthread_cond_timedwait(condition, mutex, until.as_ptr())
    }

    fn pthread_cond_clockwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t,
        until: *const timespec,
    ) -> c_int, or ENOSYS {
        let until = TranslatedTime::until(clock, until);
        real::pthread_cond_clockwait(condition, mutex, clock, until.as_ptr())
    }

    fn pthread_mutex_timedlock(
        mutex: *mut pthread_mutex_t, until: *const timespec,
    ) -> c_int, or ENOSYS {
        real::pthread_mutex_timedlock(mutex, TranslatedTime::until(CLOCK_REALTIME, until).as_ptr())
    }

    fn pthread_mutex_clocklock(
        mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec,
    ) -> c_int, or ENOSYS {
        real::pthread_mutex_clocklock(mutex, clock, TranslatedTime::until(clock, until).as_ptr())
    }

    fn pthread_rwlock_timedrdlock(
        lock: *mut pthread_rwlock_t, until: *const timespec,
    ) -> c_int, or ENOSYS {
        let until = TranslatedTime::until(CLOCK_REALTIME, until);
        real::pthread_rwlock_timedrdlock(lock, until.as_ptr())
    }

    fn pthread_rwlock_timedwrlock(
        lock: *mut pthread_rwlock_t, until: *const timespec,
    ) -> c_int, or ENOSYS {
        let until = TranslatedTime::until(CLOCK_REALTIME, until);
        real::pthread_rwlock_timedwrlock(lock, until.as_ptr())
    }

    fn pthread_rwlock_clockrdlock(
        lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec,
    ) -> c_int, or ENOSYS {
        real::pthread_rwlock_clockrdlock(lock, clock, TranslatedTime::until(clock, until).as_ptr())
    }

    fn pthread_rwlock_clockwrlock(
        lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec,
    ) -> c_int, or ENOSYS {
        real::pthread_rwlock_clockwrlock(lock, clock, TranslatedTime::until(clock, until).as_ptr())
    }

    fn pthread_timedjoin_np(
        thread: pthread_t, result: *mut *mut c_void, until: *const timespec,
    ) -> c_int, or ENOSYS {
        let until = TranslatedTime::until(CLOCK_REALTIME, until);
        real::pthread_timedjoin_np(thread, result, until.as_ptr())
    }

    fn pthread_clockjoin_np(
        thread: pthread_t, result: *mut *mut c_void, clock: clockid_t, until: *const timespec,
    ) -> c_int, or ENOSYS {
        let until = TranslatedTime::until(clock, until);
        real::pthread_clockjoin_np(thread, result, clock, until.as_ptr())
    }

    fn cnd_timedwait(
        condition: *mut c_void, mutex: *mut c_void, until: *const timespec,
    ) -> c_int, or THRD_ERROR {
        real::cnd_timedwait(condition, mutex, TranslatedTime::until(CLOCK_REALTIME, until).as_ptr())
    }

    fn mtx_timedlock(mutex: *mut c_void, until: *const timespec) -> c_int, or THRD_ERROR {
        real::mtx_timedlock(mutex, TranslatedTime::until(CLOCK_REALTIME, until).as_ptr())
    }

    fn sem_timedwait(semaphore: *mut sem_t, until: *const timespec) -> c_int, or -1 {
        real::sem_timedwait(semaphore, TranslatedTime::until(CLOCK_REALTIME, until).as_ptr())
    }

    fn sem_clockwait(
        semaphore: *mut sem_t, clock: clockid_t, until: *const timespec,
    ) -> c_int, or -1 {
        real::sem_clockwait(semaphore, clock, TranslatedTime::until(clock, until).as_ptr())
    }

    fn semtimedop(
        set: c_int, operations: *mut sembuf, count: size_t, timeout: *const timespec,
    ) -> c_int, or -1 {
        real::semtimedop(set, operations, count, TranslatedTime::wait(timeout).as_ptr())
    }

    fn sigtimedwait(
        set: *const sigset_t, info: *mut siginfo_t, timeout: *const timespec,
    ) -> c_int, or -1 {
        real::sigtimedwait(set, info, TranslatedTime::wait(timeout).as_ptr())
    }
}
