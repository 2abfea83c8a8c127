//! Threads that serve a client: how long they work on what it asks, and what they wait for
//! meanwhile.
//!
//! A thread serves a client from its first `recv` on a socket until it closes it. It waits for the
//! client in `poll`; between two such waits it is active. What it waits for in files, and how long
//! it sleeps, is counted apart from what background threads do. It gets a name, so that its CPU
//! time can be found in /proc. TLS begins with messages in the clear, so that its sessions are
//! found too.

use crate::state::{ShimState, state};
use crate::{blocked, clock};
use device::Role;
use device::page::{AccessKind, Global, SESSION_THREAD};
use libc::{
    c_int, c_uint, c_void, fd_set, nfds_t, pollfd, sigset_t, size_t, ssize_t, timespec, timeval,
};
use std::cell::Cell;

/// No descriptor.
const NONE: c_int = -1;

thread_local! {
    /// The socket of the client that this thread serves.
    static SOCKET: Cell<c_int> = const { Cell::new(NONE) };
    /// When its last wait for the client was over.
    static SINCE_NS: Cell<u64> = const { Cell::new(0) };
    /// Is it in a request to storage, whose wait is counted as a whole?
    static IS_IN_REQUEST: Cell<bool> = const { Cell::new(false) };
}

/// The thread receives on that socket: if it is a new one, a session begins.
fn begins(socket: c_int) {
    let is_left_alone = |state: &ShimState| state.meter.get(Global::NoAccount) != 0;
    if SOCKET.get() == socket || state().is_none_or(is_left_alone) {
        return;
    }
    SINCE_NS.set(clock::now_ns());
    // One that goes on with another socket is no further one.
    if SOCKET.replace(socket) == NONE {
        blocked::a_session_began();
    }
    let _ = rustix::thread::set_name(SESSION_THREAD);
}

/// The thread closes a descriptor: if it is its session's, it is active no longer.
pub(crate) fn ends(state: &ShimState, fd: c_int) {
    if fd >= 0 && SOCKET.get() == fd {
        count_active(state);
        SOCKET.set(NONE);
        blocked::a_session_ended();
    }
}

fn is_on() -> bool {
    SOCKET.get() != NONE
}

/// Does this thread serve a client, outside of requests to storage?
pub(crate) fn is_at_work() -> bool {
    is_on() && !IS_IN_REQUEST.get()
}

fn count_active(state: &ShimState) {
    let active_ns = clock::now_ns().saturating_sub(SINCE_NS.get());
    state.meter.add(Global::SessionActiveNs, active_ns);
}

/// Does a request, and counts how long a session waited in it: all its time but the CPU that the
/// host's part of it took, and what it then waited for a core. To spin before a due time is to
/// wait.
pub(crate) fn waiting<T>(
    state: &ShimState,
    (role, kind): (Role, AccessKind),
    request: impl FnOnce() -> T,
) -> T {
    if !is_on() {
        return request();
    }
    let before = thread_times_ns();
    IS_IN_REQUEST.set(true);
    let result = request();
    IS_IN_REQUEST.set(false);
    let after = thread_times_ns();
    let since = |of: usize| after[of].saturating_sub(before[of]);
    let [passed_ns, cpu_ns, spun_ns, late_ns] = [0, 1, 2, 3].map(since);
    let not_waited_ns = cpu_ns.saturating_sub(spun_ns) + late_ns;
    state.meter.session_waited(role, kind, passed_ns.saturating_sub(not_waited_ns));
    state.meter.add(Global::SessionSpinNs, spun_ns);
    result
}

/// What time it is, and of this thread: its CPU time, what it spun, and by what it woke late.
fn thread_times_ns() -> [u64; 4] {
    [clock::now_ns(), clock::thread_cpu_ns(), clock::spun_ns(), clock::late_ns()]
}

/// Waits for the client by `call`. Who waits for several descriptors serves no client.
fn for_client(count: nfds_t, call: impl FnOnce() -> c_int) -> c_int {
    let Some(state) = state().filter(|_| count == 1 && is_on()) else {
        return call();
    };
    count_active(state);
    let result = call();
    SINCE_NS.set(clock::now_ns());
    result
}

/// Sleeps by `call`, and counts how long a session did.
fn sleeping(call: impl FnOnce() -> c_int) -> c_int {
    blocked::timed(Global::SessionSleepNs, call)
}

preload::hooks! { "C"
    fn recv(
        socket: c_int, to: *mut c_void, bytes: size_t, flags: c_int,
    ) -> ssize_t, or -1 {
        begins(socket);
        real::recv(socket, to, bytes, flags)
    }

    fn poll(of: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int, or -1 {
        for_client(count, || real::poll(of, count, timeout_ms))
    }

    fn ppoll(
        of: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t,
    ) -> c_int, or -1 {
        for_client(count, || real::ppoll(of, count, timeout, mask))
    }

    fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int, or -1 {
        sleeping(|| real::nanosleep(time, left))
    }

    fn usleep(time_us: c_uint) -> c_int, or -1 {
        sleeping(|| real::usleep(time_us))
    }

    /// `select` on no descriptor is a sleep: InnoDB of MySQL 5.6 has no other.
    fn select(
        count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
        timeout: *mut timeval,
    ) -> c_int, or -1 {
        let call = || real::select(count, read, write, except, timeout);
        if count == 0 { sleeping(call) } else { call() }
    }
}
