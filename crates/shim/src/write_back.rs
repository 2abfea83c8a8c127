//! Requests of the modelled page cache that nobody waits for, without a thread: whoever enters an
//! operation takes up what is complete and sends more. So the device has a bounded queue of them,
//! as a kernel's has.

use crate::cache::PageRun;
use crate::flight::{EmulatedPlace, Extent, Flight};
use crate::state::ShimState;
use crate::{clock, files};
use base::lock;
use device::page::{AccessKind, Global};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes of the page cache under way at once.
const UNDER_WAY_MAX: usize = 64;
/// Where there are more waiters than writes, they look again after this.
const CROWDED_STEP_NS: u64 = 50_000;
/// Dirty pages of the cache, in percent, from which they are written; and from which who makes more
/// waits. As Linux has it.
const BACKGROUND_PERCENT: u64 = 10;
const THROTTLE_PERCENT: u64 = 20;
/// Pages that were dirty for this long are written.
const EXPIRE_NS: u64 = 30_000_000_000;

/// A request for a run of pages.
pub(crate) struct PageRequest {
    pub(crate) flight: Flight,
    run: PageRun,
    /// Somebody waits for it and takes it up.
    is_claimed: bool,
}

pub(crate) struct WriteBack {
    slots: Mutex<[Option<PageRequest>; UNDER_WAY_MAX]>,
    /// Of writes under way, each of which has one at least.
    under_way_pages: AtomicU64,
    /// What is in the cache: the page that is shared with another process has a copy, which is not
    /// to be trusted.
    pages: AtomicU64,
    dirty_pages: AtomicU64,
    /// When the page became dirty that has been so for longest; `u64::MAX`: none is.
    oldest_ns: AtomicU64,
}

/// The one of this process.
pub(crate) static WRITE_BACK: WriteBack = WriteBack {
    slots: Mutex::new([const { None }; UNDER_WAY_MAX]),
    under_way_pages: AtomicU64::new(0),
    pages: AtomicU64::new(0),
    dirty_pages: AtomicU64::new(0),
    oldest_ns: AtomicU64::new(u64::MAX),
};

/// Tells what is in the cache now, and keeps what is to be known of it without locking it.
pub(crate) fn cache_changed(state: &ShimState) {
    let cache = state.cache();
    let (pages, dirty_pages) = (cache.count.into(), cache.dirty_count.into());
    state.meter.set(Global::CachePages, pages);
    state.meter.set(Global::CacheDirtyPages, dirty_pages);
    WRITE_BACK.pages.store(pages, Ordering::Relaxed);
    WRITE_BACK.dirty_pages.store(dirty_pages, Ordering::Relaxed);
    let oldest_ns = cache.oldest_ns().unwrap_or(u64::MAX);
    WRITE_BACK.oldest_ns.store(oldest_ns, Ordering::Relaxed);
}

impl WriteBack {
    /// Pages in the cache.
    pub(crate) fn pages(&self) -> u64 {
        self.pages.load(Ordering::Relaxed)
    }

    pub(crate) fn dirty_pages(&self) -> u64 {
        self.dirty_pages.load(Ordering::Relaxed)
    }

    /// Whether who makes pages dirty has to wait.
    pub(crate) fn is_throttled(&self, state: &ShimState) -> bool {
        // What is being written is not clean yet.
        let pages = self.dirty_pages() + self.under_way_pages.load(Ordering::Relaxed);
        pages * 100 > THROTTLE_PERCENT * state.cache_pages
    }

    /// Pages that became dirty before that time are to be written.
    fn due_ns(&self, state: &ShimState, now_ns: u64) -> Option<u64> {
        let expired_ns = now_ns.saturating_sub(EXPIRE_NS);
        let are_many = self.dirty_pages() * 100 > BACKGROUND_PERCENT * state.cache_pages;
        if are_many || self.is_throttled(state) {
            Some(now_ns)
        } else {
            (self.oldest_ns.load(Ordering::Relaxed) < expired_ns).then_some(expired_ns)
        }
    }

    /// Takes up what is complete, and sends what is due to be written.
    pub(crate) fn run_writeback(&self, state: &ShimState) {
        let now_ns = clock::now_ns();
        let mut before_ns = self.due_ns(state, now_ns);
        if before_ns.is_none() && self.under_way_pages.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Whoever is at it does it for all.
        let Ok(mut slots) = self.slots.try_lock() else {
            return;
        };
        for slot in slots.iter_mut() {
            self.take_up(state, slot, now_ns);
            if slot.is_none()
                && let Some(from_ns) = before_ns
            {
                // A statement of its own: the cache is not locked while the model is asked.
                let run = state.cache().take_oldest(from_ns);
                match run {
                    Some(run) => *slot = self.send(state, run, now_ns),
                    None => before_ns = None,
                }
            }
        }
        drop(slots);
        cache_changed(state);
    }

    fn send(&self, state: &ShimState, run: PageRun, now_ns: u64) -> Option<PageRequest> {
        let request = begin(state, AccessKind::Write, run, now_ns)?;
        self.under_way_pages.fetch_add(u64::from(run.pages), Ordering::Relaxed);
        Some(request)
    }

    /// What is complete leaves its slot, and not before: until then it counts as under way, and who
    /// flushes its file finds it.
    fn take(&self, slot: &mut Option<PageRequest>) -> Option<PageRequest> {
        let request = slot.take()?;
        self.under_way_pages.fetch_sub(u64::from(request.run.pages), Ordering::Relaxed);
        Some(request)
    }

    /// Takes up what is complete, unless somebody waits for it.
    fn take_up(&self, state: &ShimState, slot: &mut Option<PageRequest>, now_ns: u64) {
        let Some(request) = slot else { return };
        request.poll(state, now_ns);
        if !request.is_claimed
            && request.is_over(now_ns)
            && let Some(request) = self.take(slot)
        {
            request.end_unjudged(state, now_ns);
        }
    }

    /// Waits for the earliest of what is under way and nobody else waits for. Returns its pages, or
    /// `None` where nothing is under way at all.
    pub(crate) fn wait_for_one(&self, state: &ShimState) -> Option<u64> {
        let mut slots = lock(&self.slots);
        let others_ns = slots.iter().flatten().map(|request| request.flight.when_ns()).min()?;
        let free = slots.iter_mut().enumerate();
        let free = free.filter_map(|(index, slot)| Some((index, slot.as_mut()?)));
        let free = free.filter(|(_, request)| !request.is_claimed);
        let Some((index, request)) = free.min_by_key(|(_, request)| request.flight.when_ns())
        else {
            drop(slots);
            // As many wait as requests are under way: this one looks again when one has left.
            state.wait_until(others_ns.max(clock::now_ns() + CROWDED_STEP_NS));
            return Some(0);
        };
        request.is_claimed = true;
        drop(slots);
        loop {
            let now_ns = clock::now_ns();
            let mut slots = lock(&self.slots);
            // It stays there until it is taken here.
            let slot = &mut slots[index];
            let request = slot.as_mut()?;
            request.poll(state, now_ns);
            if request.is_over(now_ns) {
                let request = self.take(slot)?;
                let pages = u64::from(request.run.pages);
                request.end_unjudged(state, now_ns);
                return Some(pages);
            }
            let when_ns = request.flight.when_ns();
            drop(slots);
            state.wait_until(when_ns);
        }
    }

    /// Sends a run without waiting, where there is room. Returns whether there was.
    pub(crate) fn try_send(&self, state: &ShimState, run: PageRun) -> bool {
        let now_ns = clock::now_ns();
        lock(&self.slots).iter_mut().any(|slot| {
            self.take_up(state, slot, now_ns);
            let is_free = slot.is_none();
            if is_free {
                *slot = self.send(state, run, now_ns);
            }
            is_free
        })
    }

    /// Whether a run could be sent without waiting.
    pub(crate) fn has_room(&self, state: &ShimState) -> bool {
        let now_ns = clock::now_ns();
        lock(&self.slots).iter_mut().any(|slot| {
            self.take_up(state, slot, now_ns);
            slot.is_none()
        })
    }

    /// Waits for what is under way of a file, whoever else waits for it too. Of what only this
    /// waits for, the last to come back is judged.
    pub(crate) fn finish(&self, state: &ShimState, place: usize) {
        if self.under_way_pages.load(Ordering::Relaxed) == 0 {
            return;
        }
        let since_ns = clock::now_ns();
        let back = CameBack { since_ns, last: None };
        let mut awaited = AwaitedPages { place, claimed: 0, back };
        while let Some(until_ns) = self.look_for(state, &mut awaited) {
            state.wait_until(until_ns);
        }
        awaited.back.end(state);
    }

    /// Takes up what is complete of what is awaited. Returns when to look again, or `None` where
    /// nothing is under way any more.
    fn look_for(&self, state: &ShimState, awaited: &mut AwaitedPages) -> Option<u64> {
        let now_ns = clock::now_ns();
        let (mut ask_ns, mut due_ns) = (None, None);
        for (index, slot) in lock(&self.slots).iter_mut().enumerate() {
            let Some(request) = slot else { continue };
            let began_ns = request.flight.counted.began_ns;
            if request.run.place != awaited.place || began_ns > awaited.back.since_ns {
                continue;
            }
            let bit = 1_u64 << index;
            if !std::mem::replace(&mut request.is_claimed, true) {
                awaited.claimed |= bit;
            }
            request.poll(state, now_ns);
            let when_ns = request.flight.when_ns();
            if request.flight.is_queued() {
                ask_ns = Some(ask_ns.unwrap_or(when_ns).min(when_ns));
            } else if when_ns > now_ns {
                due_ns = due_ns.max(Some(when_ns));
            } else if awaited.claimed & bit != 0 {
                awaited.claimed &= !bit;
                if let Some(request) = self.take(slot) {
                    awaited.back.add(state, request, now_ns);
                }
            }
        }
        ask_ns.or(due_ns)
    }
}

/// What somebody waits for of a file.
struct AwaitedPages {
    place: usize,
    /// A bit for each slot that only this takes from.
    claimed: u64,
    back: CameBack,
}

const _: () = assert!(UNDER_WAY_MAX <= u64::BITS as usize);

/// Requests that somebody waits for together, and that came back. The last is judged: for the
/// others nobody looked when they were due.
struct CameBack {
    since_ns: u64,
    last: Option<PageRequest>,
}

impl CameBack {
    fn add(&mut self, state: &ShimState, request: PageRequest, now_ns: u64) {
        let when_ns = request.flight.when_ns();
        let is_last = self.last.as_ref().is_none_or(|last| last.flight.when_ns() <= when_ns);
        let earlier = if is_last { self.last.replace(request) } else { Some(request) };
        if let Some(earlier) = earlier {
            earlier.end_unjudged(state, now_ns);
        }
    }

    fn end(self, state: &ShimState) {
        if let Some(last) = self.last {
            let bytes = Some(last.run.bytes());
            last.flight.end(state, self.since_ns..clock::now_ns(), bytes);
        }
    }
}

/// Hands a run of pages to the model. `None` where its role is not emulated.
pub(crate) fn begin(
    state: &ShimState,
    kind: AccessKind,
    run: PageRun,
    now_ns: u64,
) -> Option<PageRequest> {
    let file = files::at(run.place);
    let role = state.role_at(file, run.offset());
    let target = EmulatedPlace { device: state.device_of(role)?, role, file: file.identity() };
    let extent = Extent { offset: run.offset(), bytes: run.bytes() };
    let flight = Flight::begin(state, kind, target, extent, now_ns);
    Some(PageRequest { flight, run, is_claimed: false })
}

impl PageRequest {
    fn poll(&mut self, state: &ShimState, now_ns: u64) {
        if self.flight.is_queued() && self.flight.when_ns() <= now_ns {
            self.flight.poll(state, now_ns);
        }
    }

    fn is_over(&self, now_ns: u64) -> bool {
        !self.flight.is_queued() && self.flight.when_ns() <= now_ns
    }

    /// Tells when pages that are read are there, as far as that is decided.
    fn tell_ready(&self, state: &ShimState) {
        if !self.flight.is_queued() {
            state.cache().ready_at(self.run, self.flight.when_ns());
        }
    }

    fn wait(&mut self, state: &ShimState) {
        let was_queued = self.flight.is_queued();
        self.flight.wait(state);
        if was_queued {
            self.tell_ready(state);
        }
    }

    fn end_unjudged(self, state: &ShimState, now_ns: u64) {
        self.flight.end_unjudged(state, now_ns, Some(self.run.bytes()));
    }
}

/// Reads of pages that somebody waits for together.
pub(crate) struct ReadBatch {
    flights: [Option<PageRequest>; UNDER_WAY_MAX],
    count: usize,
    /// Since when somebody waits.
    since_ns: u64,
    /// When the next request begins.
    begin_ns: u64,
}

impl ReadBatch {
    /// A batch for who waits since then, and whose requests begin then.
    pub(crate) fn new(since_ns: u64) -> ReadBatch {
        ReadBatch {
            flights: [const { None }; UNDER_WAY_MAX],
            count: 0,
            since_ns,
            begin_ns: since_ns,
        }
    }

    /// What comes next had to wait until then for something else.
    pub(crate) fn begin_not_before(&mut self, begin_ns: u64) {
        self.begin_ns = self.begin_ns.max(begin_ns);
    }

    /// Where there are as many as a queue holds, waits for the earliest. To be called before pages
    /// are put into the cache, so that who needs them too waits for no more than their request.
    pub(crate) fn make_room(&mut self, state: &ShimState) {
        if self.count < UNDER_WAY_MAX {
            return;
        }
        let waiting = self.flights.iter_mut().filter(|slot| slot.is_some());
        let when_ns = |slot: &&mut Option<PageRequest>| {
            slot.as_ref().map_or(0, |request| request.flight.when_ns())
        };
        if let Some(mut request) = waiting.min_by_key(when_ns).and_then(Option::take) {
            self.count -= 1;
            request.wait(state);
            request.end_unjudged(state, clock::now_ns());
        }
        self.begin_ns = clock::now_ns();
    }

    /// Sends one more read. The host has done its part before.
    pub(crate) fn send(&mut self, state: &ShimState, run: PageRun) {
        self.make_room(state);
        match begin(state, AccessKind::Read, run, self.begin_ns) {
            Some(request) => {
                request.flight.host_done(state);
                request.tell_ready(state);
                if let Some(slot) = self.flights.iter_mut().find(|slot| slot.is_none()) {
                    *slot = Some(request);
                    self.count += 1;
                }
            }
            None => state.cache().ready_at(run, 0),
        }
    }

    /// Waits for all.
    pub(crate) fn wait(self, state: &ShimState) {
        let mut back = CameBack { since_ns: self.since_ns, last: None };
        for mut request in self.flights.into_iter().flatten() {
            request.wait(state);
            back.add(state, request, clock::now_ns());
        }
        back.end(state);
    }
}
