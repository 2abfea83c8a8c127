//! Functions that wait for threads, signals and other processes.

use crate::passed::Passed;
use crate::real;
use libc::{
    c_int, c_void, clockid_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_t, sem_t,
    sembuf, siginfo_t, sigset_t, size_t, timespec,
};

/// Functions whose last argument is a deadline: of that clock, or of the clock that they name.
macro_rules! until {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $clock:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name($($argument: $type,)* until: *const timespec) -> c_int {
            let until = Passed::until($clock, until);
            real::$name($($argument,)* until.as_ptr())
        }
    )*};
}

until! {
    fn pthread_cond_clockwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t
    ) -> clock;
    fn pthread_mutex_timedlock(mutex: *mut pthread_mutex_t) -> libc::CLOCK_REALTIME;
    fn pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t) -> clock;
    fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t) -> libc::CLOCK_REALTIME;
    fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t) -> libc::CLOCK_REALTIME;
    fn pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t) -> clock;
    fn pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t) -> clock;
    fn pthread_timedjoin_np(thread: pthread_t, result: *mut *mut c_void) -> libc::CLOCK_REALTIME;
    fn pthread_clockjoin_np(
        thread: pthread_t, result: *mut *mut c_void, clock: clockid_t
    ) -> clock;
    fn cnd_timedwait(condition: *mut c_void, mutex: *mut c_void) -> libc::CLOCK_REALTIME;
    fn mtx_timedlock(mutex: *mut c_void) -> libc::CLOCK_REALTIME;
    fn sem_timedwait(semaphore: *mut sem_t) -> libc::CLOCK_REALTIME;
    fn sem_clockwait(semaphore: *mut sem_t, clock: clockid_t) -> clock;
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pthread_cond_timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    real::pthread_cond_timedwait(condition, mutex, Passed::until_of_either(until).as_ptr())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn semtimedop(
    set: c_int,
    operations: *mut sembuf,
    count: size_t,
    timeout: *const timespec,
) -> c_int {
    real::semtimedop(set, operations, count, Passed::wait(timeout).as_ptr())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn sigtimedwait(
    set: *const sigset_t,
    info: *mut siginfo_t,
    timeout: *const timespec,
) -> c_int {
    real::sigtimedwait(set, info, Passed::wait(timeout).as_ptr())
}
