//! Asynchronous I/O contexts of Linux (libaio) that hold both what the shim emulates and what the
//! kernel does.
//!
//! An emulated request is done on the host while it is submitted, at the speed of memory, and lies
//! in its context until it is due. Nothing runs in the background: who asks for completions waits
//! for the earliest, and is woken when an earlier one comes.

use crate::clock::{self, Woken};
use crate::flight::Flight;
use crate::meter::CountedRequest;
use crate::record;
use crate::state::ShimState;
use crate::system::system;
use base::lock;
use device::cut::EntryTicket;
use libc::c_int;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const CONTEXTS_MAX: usize = 256;
const FREE: u64 = 0;
/// What is outstanding is still waited for.
const GOING: u64 = 1;
/// Requests that a context can hold, whatever the program asked for.
const REQUESTS_MIN: usize = 64;
const REQUESTS_MAX: usize = 65536;
/// While a context has requests both in the kernel and here, both are looked at this often.
const MERGE_NS: u64 = 100_000;
/// While it has requests in the kernel only, new ones here are looked for this often.
const KERNEL_SLICE_NS: u64 = 1_000_000;

/// The kernel's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct IoEvent {
    pub(crate) data: u64,
    pub(crate) object: u64,
    pub(crate) result: i64,
    pub(crate) result2: i64,
}

/// An emulated request, done on the host.
pub(crate) struct EmulatedRequest {
    pub(crate) flight: Flight,
    /// What is told of it when it is due.
    pub(crate) event: IoEvent,
    /// Its record in the journal, which is over when somebody is told of it.
    pub(crate) ticket: Option<EntryTicket>,
}

impl EmulatedRequest {
    /// Who waited for it is told, at the end of that time.
    fn end(self, state: &ShimState, waited_ns: Range<u64>) {
        let bytes = u64::try_from(self.event.result).ok();
        record::over(self.ticket, bytes.is_some());
        self.flight.end(state, waited_ns, bytes);
    }
}

impl Ord for EmulatedRequest {
    /// The earliest is the greatest, as [`BinaryHeap`] needs it.
    fn cmp(&self, other: &EmulatedRequest) -> std::cmp::Ordering {
        other.flight.when_ns().cmp(&self.flight.when_ns())
    }
}

impl PartialOrd for EmulatedRequest {
    fn partial_cmp(&self, other: &EmulatedRequest) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for EmulatedRequest {
    fn eq(&self, other: &EmulatedRequest) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for EmulatedRequest {}

/// A request that the kernel does, of a file that is counted.
pub(crate) struct InKernel {
    pub(crate) object: u64,
    pub(crate) counted: CountedRequest,
}

#[derive(Default)]
struct ContextTable {
    emulated: BinaryHeap<EmulatedRequest>,
    in_kernel: Vec<InKernel>,
}

pub(crate) struct Context {
    /// The kernel's name of it; [`FREE`] or [`GOING`], which are no addresses, as the kernel's
    /// names are.
    id: AtomicU64,
    /// Changes whenever who waits should look again.
    changes: AtomicU32,
    waiters: AtomicU32,
    /// Emulated requests, those being submitted included.
    emulated_count: AtomicU32,
    kernel_count: AtomicU32,
    capacity: AtomicU32,
    table: Mutex<ContextTable>,
}

static CONTEXTS: [Context; CONTEXTS_MAX] = [const {
    Context {
        id: AtomicU64::new(FREE),
        changes: AtomicU32::new(0),
        waiters: AtomicU32::new(0),
        emulated_count: AtomicU32::new(0),
        kernel_count: AtomicU32::new(0),
        capacity: AtomicU32::new(0),
        table: Mutex::new(ContextTable { emulated: BinaryHeap::new(), in_kernel: Vec::new() }),
    }
}; CONTEXTS_MAX];

pub(crate) fn find(id: u64) -> Option<&'static Context> {
    let has_id = |context: &&Context| context.id.load(Ordering::Acquire) == id;
    CONTEXTS.iter().find(has_id).filter(|_| id > GOING)
}

/// A context was made. Memory for its requests is taken here, so that submitting needs none.
/// `false` where there are too many.
pub(crate) fn register(id: u64, requests: usize) -> bool {
    let capacity = requests.clamp(REQUESTS_MIN, REQUESTS_MAX);
    for context in &CONTEXTS {
        let mut table = lock(&context.table);
        if context.id.load(Ordering::Relaxed) == FREE {
            *table = ContextTable {
                emulated: BinaryHeap::with_capacity(capacity),
                in_kernel: Vec::with_capacity(capacity),
            };
            context.capacity.store(capacity as u32, Ordering::Relaxed);
            context.emulated_count.store(0, Ordering::Relaxed);
            context.kernel_count.store(0, Ordering::Relaxed);
            context.id.store(id, Ordering::Release);
            return true;
        }
    }
    false
}

impl Context {
    fn is(&self, id: u64) -> bool {
        self.id.load(Ordering::Acquire) == id
    }

    /// Keeps a place for an emulated request; `false` where the context is full.
    pub(crate) fn reserve(&self) -> bool {
        let capacity = self.capacity.load(Ordering::Relaxed);
        let more = |count: u32| (count < capacity).then(|| count + 1);
        self.emulated_count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// A request that a place was kept for has been done on the host.
    pub(crate) fn push(&self, request: EmulatedRequest) {
        let when_ns = request.flight.when_ns();
        let mut table = lock(&self.table);
        let is_first = table.emulated.peek().is_none_or(|first| when_ns < first.flight.when_ns());
        table.emulated.push(request);
        drop(table);
        if is_first {
            self.wake();
        }
    }

    /// Who waits looks again.
    pub(crate) fn wake(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
        if self.waiters.load(Ordering::SeqCst) > 0 {
            clock::wake_all(&self.changes);
        }
    }

    /// A request is about to be given to the kernel.
    pub(crate) fn enter_kernel(&self, request: Option<InKernel>) {
        self.kernel_count.fetch_add(1, Ordering::Relaxed);
        let mut table = lock(&self.table);
        // What does not fit is not counted: the kernel takes somewhat more than it was asked for.
        if let Some(request) = request
            && table.in_kernel.len() < table.in_kernel.capacity()
        {
            table.in_kernel.push(request);
        }
    }

    /// It has come back, or was not taken.
    pub(crate) fn leave_kernel(&self, object: u64) -> Option<InKernel> {
        // The context may have gone meanwhile.
        let less = |count: u32| count.checked_sub(1);
        let _ = self.kernel_count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        let mut table = lock(&self.table);
        let at = table.in_kernel.iter().position(|request| request.object == object)?;
        Some(table.in_kernel.swap_remove(at))
    }

    /// Takes what is due, in the order in which it was due, and asks the model again for what is
    /// queued. Returns when there is something to do next (`u64::MAX`: never).
    fn take_due(&self, state: &ShimState, since_ns: u64, events: &mut Events) -> u64 {
        let mut table = lock(&self.table);
        loop {
            let Some(mut first) = table.emulated.peek_mut() else {
                return u64::MAX;
            };
            let next_ns = first.flight.when_ns();
            let now_ns = clock::now_ns();
            if next_ns > now_ns || events.is_full() {
                return next_ns;
            }
            if first.flight.is_queued() {
                // It takes its new place in the order.
                first.flight.poll(state, now_ns);
                continue;
            }
            let request = PeekMut::pop(first);
            self.emulated_count.fetch_sub(1, Ordering::Relaxed);
            events.push(request.event);
            request.end(state, since_ns..now_ns);
        }
    }

    /// Takes what the kernel has completed, waiting for `min` of it no longer than that.
    fn take_from_kernel(
        &self,
        id: u64,
        min: usize,
        wait_ns: u64,
        state: &ShimState,
        events: &mut Events,
    ) -> i64 {
        let timeout = (wait_ns < u64::MAX).then(|| clock::timespec_of(wait_ns));
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let (room, free) = (events.room(), events.free() as usize);
        let arguments = [id as usize, min.min(room), room, free, timeout as usize];
        let result = system(libc::SYS_io_getevents, arguments);
        if result < 0 {
            return -i64::from(preload::errno());
        }
        let now_ns = clock::now_ns();
        for _ in 0..result {
            let Some(event) = events.accept() else { break };
            if let Some(request) = self.leave_kernel(event.object) {
                let bytes = u64::try_from(event.result).ok();
                state.meter.end(request.counted, now_ns, bytes);
            }
        }
        result
    }

    /// Does what `io_getevents` does: gives at least `min` completions unless it is `until_ns`
    /// before that.
    pub(crate) fn get(
        &self,
        state: &ShimState,
        id: u64,
        min: usize,
        until_ns: u64,
        events: &mut Events,
    ) -> i64 {
        let since_ns = clock::now_ns();
        if state.devices.is_empty() {
            // Nothing comes from here: one call of the kernel, as without the shim.
            let left_ns = until_ns.saturating_sub(since_ns);
            let wait_ns = if until_ns == u64::MAX { u64::MAX } else { left_ns };
            return self.take_from_kernel(id, min, wait_ns, state, events);
        }
        loop {
            let seen = self.changes.load(Ordering::SeqCst);
            let next_ns = self.take_due(state, since_ns, events);
            let in_kernel = self.kernel_count.load(Ordering::Relaxed) > 0;
            if in_kernel && !events.is_full() {
                let result = self.take_from_kernel(id, 0, 0, state, events);
                if result < 0 && events.count == 0 {
                    return result;
                }
            }
            if events.count >= min {
                return events.count as i64;
            }
            if !self.is(id) {
                return events.count_or(libc::EINVAL);
            }
            let now_ns = clock::now_ns();
            if now_ns >= until_ns {
                return events.count as i64;
            }
            let until_ns = until_ns.min(next_ns);
            let interrupted = if in_kernel {
                self.wait_in_kernel(state, (id, min), (now_ns, until_ns, next_ns), events)
            } else {
                self.wait_here(state, seen, until_ns)
            };
            if interrupted {
                return events.count_or(libc::EINTR);
            }
        }
    }

    /// Returns whether a signal came.
    fn wait_in_kernel(
        &self,
        state: &ShimState,
        (id, min): (u64, usize),
        (now_ns, until_ns, next_ns): (u64, u64, u64),
        events: &mut Events,
    ) -> bool {
        let slice_ns = if next_ns == u64::MAX { KERNEL_SLICE_NS } else { MERGE_NS };
        let left_ns = until_ns.saturating_sub(now_ns);
        if next_ns != u64::MAX && left_ns < MERGE_NS {
            state.wait_until(until_ns);
            return false;
        }
        let min = min.saturating_sub(events.count).max(1);
        let result = self.take_from_kernel(id, min, left_ns.min(slice_ns), state, events);
        result == -i64::from(libc::EINTR)
    }

    /// Sleeps until something is due here or has come, or a signal has.
    fn wait_here(&self, state: &ShimState, seen: u32, until_ns: u64) -> bool {
        let sleep_until_ns = match until_ns {
            u64::MAX => u64::MAX,
            until_ns => until_ns.saturating_sub(clock::margin_ns(state.setup.spin)),
        };
        if clock::now_ns() < sleep_until_ns {
            self.waiters.fetch_add(1, Ordering::SeqCst);
            let woken = clock::wait_on(&self.changes, seen, sleep_until_ns);
            self.waiters.fetch_sub(1, Ordering::SeqCst);
            if woken != Woken::Time || clock::now_ns() < sleep_until_ns {
                return woken == Woken::Signal;
            }
        }
        let from_ns = clock::now_ns();
        let mut now_ns = from_ns;
        while now_ns < until_ns && self.changes.load(Ordering::Relaxed) == seen {
            std::hint::spin_loop();
            now_ns = clock::now_ns();
        }
        state.meter.add(device::page::Global::SpinNs, now_ns - from_ns);
        false
    }

    /// The context goes: who waits is told, and what is outstanding is waited for, as the kernel
    /// does.
    pub(crate) fn destroy(&self, state: &ShimState) {
        self.id.store(GOING, Ordering::Release);
        self.wake();
        loop {
            let request = lock(&self.table).emulated.pop();
            let Some(mut request) = request else { break };
            let since_ns = clock::now_ns();
            request.flight.wait(state);
            request.end(state, since_ns..clock::now_ns());
            self.emulated_count.fetch_sub(1, Ordering::Relaxed);
        }
        let now_ns = clock::now_ns();
        let mut table = lock(&self.table);
        while let Some(request) = table.in_kernel.pop() {
            state.meter.end(request.counted, now_ns, Some(0));
        }
        self.id.store(FREE, Ordering::Release);
    }
}

/// The events that the program wants filled.
pub(crate) struct Events {
    events: *mut IoEvent,
    room: usize,
    count: usize,
}

impl Events {
    /// `events` has room for that many, as the program promises.
    pub(crate) fn new(events: *mut IoEvent, room: usize) -> Events {
        Events { events, room, count: 0 }
    }

    /// What has been taken would be lost with an error.
    fn count_or(&self, errno: c_int) -> i64 {
        if self.count == 0 { -i64::from(errno) } else { self.count as i64 }
    }

    fn room(&self) -> usize {
        self.room - self.count
    }

    fn is_full(&self) -> bool {
        self.room() == 0
    }

    fn free(&self) -> *mut IoEvent {
        self.events.wrapping_add(self.count)
    }

    fn push(&mut self, event: IoEvent) {
        if !self.is_full() {
            // SAFETY: the program has room for it; `take_due` asks before.
            unsafe { self.free().write(event) };
            self.count += 1;
        }
    }

    /// Counts the next event, which the kernel has written.
    fn accept(&mut self) -> Option<IoEvent> {
        if self.is_full() {
            return None;
        }
        // SAFETY: the kernel has written it.
        let event = unsafe { self.free().read() };
        self.count += 1;
        Some(event)
    }
}
