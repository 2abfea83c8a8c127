//! What blocks threads that serve a client: conditions, locks, and words of memory that other
//! threads change.
//!
//! Each such wait is timed. What it was for is told by the place of the program that it was in: its
//! stack. A stack takes some microseconds, so a thread takes one only each time that it has waited
//! for another period, and adds that to the place where it was then. So places have time in
//! proportion to what was waited there, whether in many waits or in few, and stacks cost the same
//! whatever the number of waits and threads.

use crate::state::{ShimState, state};
use crate::{clock, session};
use device::page::{Global, STACK_FRAMES};
use libc::{
    EBUSY, ENOSYS, c_int, c_long, c_void, clockid_t, pthread_cond_t, pthread_mutex_t,
    pthread_rwlock_t, timespec,
};
use preload::keeping_errno;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of all threads together there is a stack in so much real time, where all of them wait.
const STACK_EVERY_NS: u64 = 5_000_000;

static SESSIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// How much longer this thread waits until its period is over.
    static DUE_NS: Cell<u64> = const { Cell::new(0) };
}

pub(crate) fn a_session_began() {
    let sessions = SESSIONS.fetch_add(1, Ordering::Relaxed) + 1;
    // Each has another time to its first stack, so that they do not take them together.
    DUE_NS.set(period_ns(sessions));
}

/// How much a thread waits between its stacks beside so many.
fn period_ns(sessions: u64) -> u64 {
    clock::dilated_duration_ns(sessions.max(1) * STACK_EVERY_NS)
}

pub(crate) fn a_session_ended() {
    SESSIONS.fetch_sub(1, Ordering::Relaxed);
}

/// Waits by `call`, and counts in `word` how long a session did.
pub(crate) fn timed<T>(word: Global, call: impl FnOnce() -> T) -> T {
    let Some(state) = state().filter(|_| session::is_at_work()) else {
        return call();
    };
    let began_ns = clock::now_ns();
    let result = call();
    let waited_ns = clock::now_ns().saturating_sub(began_ns);
    state.meter.add(word, waited_ns);
    place(state, waited_ns);
    result
}

fn blocked<T>(call: impl FnOnce() -> T) -> T {
    timed(Global::SessionBlockedNs, call)
}

/// Adds the periods that end in a wait to the place that a session waits in.
fn place(state: &ShimState, ns: u64) {
    let due_ns = DUE_NS.get();
    let Some(beyond_ns) = ns.checked_sub(due_ns) else {
        return DUE_NS.set(due_ns - ns);
    };
    let period_ns = period_ns(SESSIONS.load(Ordering::Relaxed));
    DUE_NS.set(period_ns - beyond_ns % period_ns);
    keeping_errno(|| {
        let stack = CallStack::here();
        state.meter.waited_at(stack.addresses(), (1 + beyond_ns / period_ns) * period_ns);
    });
}

/// Takes a lock by `call`, which is a wait only where `attempt` finds it taken. The attempt comes
/// first for all threads: it costs what the call does, and who they are need not be asked.
fn lock(attempt: impl FnOnce() -> c_int, call: impl FnOnce() -> c_int) -> c_int {
    match attempt() {
        EBUSY => blocked(call),
        other => other,
    }
}

/// A futex call: one of those that wait, or another.
pub(crate) fn futex(operation: c_long, call: impl FnOnce() -> c_long) -> c_long {
    match operation as c_int & libc::FUTEX_CMD_MASK {
        libc::FUTEX_WAIT
        | libc::FUTEX_WAIT_BITSET
        | libc::FUTEX_WAIT_REQUEUE_PI
        | libc::FUTEX_LOCK_PI
        | libc::FUTEX_LOCK_PI2 => blocked(call),
        _ => call(),
    }
}

/// Addresses that calls return to, the innermost first.
struct CallStack {
    addresses: [u64; STACK_FRAMES],
    frames: usize,
}

const NO_REASON: c_int = 0;
const END_OF_STACK: c_int = 5;

// The unwinder of C++ and Rust: it reads the tables that a program has for its exceptions, and
// allocates nothing.
unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
}

impl CallStack {
    fn here() -> CallStack {
        let mut stack = CallStack { addresses: [0; STACK_FRAMES], frames: 0 };
        // SAFETY: `push` takes what is passed here for what it is, and the stack outlives the call.
        unsafe { _Unwind_Backtrace(push, (&raw mut stack).cast()) };
        stack
    }

    fn addresses(&self) -> &[u64] {
        &self.addresses[..self.frames]
    }
}

extern "C" fn push(frame: *mut c_void, stack: *mut c_void) -> c_int {
    // SAFETY: `CallStack::here` passes its stack, which nobody else uses meanwhile, and the
    // unwinder a frame of it.
    let (stack, address) = unsafe { (&mut *stack.cast::<CallStack>(), _Unwind_GetIP(frame)) };
    let Some(next) = stack.addresses.get_mut(stack.frames) else {
        return END_OF_STACK;
    };
    *next = address as u64;
    stack.frames += 1;
    NO_REASON
}

preload::functions! {
    fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int, or ENOSYS;
    fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int, or ENOSYS;
    fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int, or ENOSYS;
}

preload::hooks! { "C-unwind"
    fn pthread_cond_wait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t,
    ) -> c_int, or ENOSYS @ "GLIBC_2.3.2" {
        blocked(|| real::pthread_cond_wait(condition, mutex))
    }

    fn pthread_cond_timedwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec,
    ) -> c_int, or ENOSYS @ "GLIBC_2.3.2" {
        blocked(|| real::pthread_cond_timedwait(condition, mutex, until))
    }

    fn pthread_cond_clockwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t,
        until: *const timespec,
    ) -> c_int, or ENOSYS {
        blocked(|| real::pthread_cond_clockwait(condition, mutex, clock, until))
    }

    fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int, or ENOSYS {
        lock(|| pthread_mutex_trylock(mutex), || real::pthread_mutex_lock(mutex))
    }

    fn pthread_rwlock_rdlock(of: *mut pthread_rwlock_t) -> c_int, or ENOSYS {
        lock(|| pthread_rwlock_tryrdlock(of), || real::pthread_rwlock_rdlock(of))
    }

    fn pthread_rwlock_wrlock(of: *mut pthread_rwlock_t) -> c_int, or ENOSYS {
        lock(|| pthread_rwlock_trywrlock(of), || real::pthread_rwlock_wrlock(of))
    }
}
