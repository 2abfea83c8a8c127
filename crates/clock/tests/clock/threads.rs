//! Waiting for threads, signals and other processes, until a time that does not come sooner.

use crate::common::{now_ns, ns, spec, takes};
use crate::waits::WAIT_NS;
use libc::{c_int, c_void, clockid_t, pthread_cond_t, pthread_mutex_t, timespec};
use std::mem::{MaybeUninit, zeroed};
use std::sync::{Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Room for any of C's own types of this kind.
type Opaque = [u64; 16];

unsafe extern "C" {
    fn pthread_cond_clockwait(
        condition: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        clock: clockid_t,
        until: *const timespec,
    ) -> c_int;
    fn pthread_mutex_clocklock(
        mutex: *mut pthread_mutex_t,
        clock: clockid_t,
        until: *const timespec,
    ) -> c_int;
    fn pthread_rwlock_timedrdlock(
        lock: *mut libc::pthread_rwlock_t,
        until: *const timespec,
    ) -> c_int;
    fn pthread_rwlock_clockwrlock(
        lock: *mut libc::pthread_rwlock_t,
        clock: clockid_t,
        until: *const timespec,
    ) -> c_int;
    fn pthread_timedjoin_np(
        thread: libc::pthread_t,
        result: *mut *mut c_void,
        until: *const timespec,
    ) -> c_int;
    fn sem_clockwait(
        semaphore: *mut libc::sem_t,
        clock: clockid_t,
        until: *const timespec,
    ) -> c_int;
    fn cnd_init(condition: *mut Opaque) -> c_int;
    fn cnd_timedwait(condition: *mut Opaque, mutex: *mut Opaque, until: *const timespec) -> c_int;
    fn mtx_init(mutex: *mut Opaque, kind: c_int) -> c_int;
    fn mtx_lock(mutex: *mut Opaque) -> c_int;
    fn mtx_timedlock(mutex: *mut Opaque, until: *const timespec) -> c_int;
}

const REALTIME: clockid_t = libc::CLOCK_REALTIME;
const MONOTONIC: clockid_t = libc::CLOCK_MONOTONIC;

pub fn job() {
    rust_waits();
    conditions();
    locks();
    joins();
    c11();
    semaphores();
    signals();
}

/// Waits until a time of that clock.
fn until(name: &str, clock: clockid_t, mut wait: impl FnMut(*const timespec)) {
    takes(name, WAIT_NS - 1_000_000, || {
        let until = spec(now_ns(clock) + WAIT_NS);
        wait(&raw const until);
        assert!(now_ns(clock) >= ns(until), "{name}");
    });
}

fn rust_waits() {
    let wait = Duration::from_nanos(WAIT_NS);
    let mutex = Mutex::new(());
    takes("Condvar", WAIT_NS, || {
        let (_guard, ended) = Condvar::new().wait_timeout(mutex.lock().unwrap(), wait).unwrap();
        assert!(ended.timed_out());
    });
    takes("park_timeout", WAIT_NS, || std::thread::park_timeout(wait));
    let (_sender, receiver) = std::sync::mpsc::channel::<()>();
    takes("recv_timeout", WAIT_NS, || assert!(receiver.recv_timeout(wait).is_err()));
}

/// A condition variable whose deadlines are of that clock.
pub fn condition_of(clock: clockid_t) -> pthread_cond_t {
    let mut condition = MaybeUninit::uninit();
    // SAFETY: initialised by these functions.
    unsafe {
        let mut attributes = MaybeUninit::uninit();
        assert_eq!(libc::pthread_condattr_init(attributes.as_mut_ptr()), 0);
        assert_eq!(libc::pthread_condattr_setclock(attributes.as_mut_ptr(), clock), 0);
        assert_eq!(libc::pthread_cond_init(condition.as_mut_ptr(), attributes.as_ptr()), 0);
        condition.assume_init()
    }
}

fn conditions() {
    let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    for clock in [REALTIME, MONOTONIC] {
        let mut condition = condition_of(clock);
        let (condition, mutex) = (&raw mut condition, &raw mut mutex);
        // SAFETY: both are initialised, the mutex is held by this thread.
        unsafe {
            assert_eq!(libc::pthread_mutex_lock(mutex), 0);
            until("pthread_cond_timedwait", clock, |time| {
                let ended = libc::pthread_cond_timedwait(condition, mutex, time);
                assert_eq!(ended, libc::ETIMEDOUT);
            });
            until("pthread_cond_clockwait", clock, |time| {
                let ended = pthread_cond_clockwait(condition, mutex, clock, time);
                assert_eq!(ended, libc::ETIMEDOUT);
            });
            assert_eq!(libc::pthread_mutex_unlock(mutex), 0);
        }
    }
}

fn locks() {
    let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    let mut lock = libc::PTHREAD_RWLOCK_INITIALIZER;
    let (mutex, lock) = (&raw mut mutex, &raw mut lock);
    // SAFETY: they live until the end of this function. Who holds a lock may not wait for it, so
    // that another thread is made to hold it; a plain mutex does not ask.
    unsafe {
        assert_eq!(libc::pthread_mutex_lock(mutex), 0);
        until("pthread_mutex_timedlock", REALTIME, |time| {
            assert_eq!(libc::pthread_mutex_timedlock(mutex, time), libc::ETIMEDOUT);
        });
        until("pthread_mutex_clocklock", MONOTONIC, |time| {
            assert_eq!(pthread_mutex_clocklock(mutex, MONOTONIC, time), libc::ETIMEDOUT);
        });
        let address = lock as usize;
        std::thread::spawn(move || {
            assert_eq!(libc::pthread_rwlock_wrlock(address as *mut libc::pthread_rwlock_t), 0);
        })
        .join()
        .unwrap();
        until("pthread_rwlock_timedrdlock", REALTIME, |time| {
            assert_eq!(pthread_rwlock_timedrdlock(lock, time), libc::ETIMEDOUT);
        });
        until("pthread_rwlock_clockwrlock", MONOTONIC, |time| {
            assert_eq!(pthread_rwlock_clockwrlock(lock, MONOTONIC, time), libc::ETIMEDOUT);
        });
    }
}

fn joins() {
    let thread: JoinHandle<()> = std::thread::spawn(std::thread::park);
    let id = std::os::unix::thread::JoinHandleExt::as_pthread_t(&thread);
    until("pthread_timedjoin_np", REALTIME, |time| {
        // SAFETY: the thread has not been joined.
        let ended = unsafe { pthread_timedjoin_np(id, std::ptr::null_mut(), time) };
        assert_eq!(ended, libc::ETIMEDOUT);
    });
    thread.thread().unpark();
    thread.join().unwrap();
}

fn c11() {
    const PLAIN: c_int = 0;
    const TIMED: c_int = 2;
    const TIMED_OUT: c_int = 4;
    let (mut condition, mut mutex): (Opaque, Opaque) = ([0; 16], [0; 16]);
    let (condition, mutex) = (&raw mut condition, &raw mut mutex);
    // SAFETY: initialised here, and long enough.
    unsafe {
        assert_eq!((cnd_init(condition), mtx_init(mutex, PLAIN | TIMED)), (0, 0));
        assert_eq!(mtx_lock(mutex), 0);
        until("cnd_timedwait", REALTIME, |time| {
            assert_eq!(cnd_timedwait(condition, mutex, time), TIMED_OUT);
        });
        until("mtx_timedlock", REALTIME, |time| assert_eq!(mtx_timedlock(mutex, time), TIMED_OUT));
    }
}

fn semaphores() {
    // SAFETY: initialised by `sem_init`, and not moved.
    unsafe {
        let mut semaphore: libc::sem_t = zeroed();
        let semaphore = &raw mut semaphore;
        assert_eq!(libc::sem_init(semaphore, 0, 0), 0);
        until("sem_timedwait", REALTIME, |time| {
            assert_eq!(libc::sem_timedwait(semaphore, time), -1);
        });
        until("sem_clockwait", MONOTONIC, |time| {
            assert_eq!(sem_clockwait(semaphore, MONOTONIC, time), -1);
        });
    }
}

fn signals() {
    let time = spec(WAIT_NS);
    // SAFETY: the set is initialised, time and set are ours.
    unsafe {
        let mut set = zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGUSR2);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        takes("sigtimedwait", WAIT_NS, || {
            let none = std::ptr::null_mut();
            assert_eq!(libc::sigtimedwait(&raw const set, none, &raw const time), -1);
        });
        takes("sigtimedwait by number", WAIT_NS, || {
            let number = libc::SYS_rt_sigtimedwait;
            assert_eq!(libc::syscall(number, &raw const set, 0, &raw const time, 8), -1);
        });
    }
}
