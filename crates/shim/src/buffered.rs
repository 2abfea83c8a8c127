//! Emulated files that are not opened for direct I/O: through the modelled page cache.

use crate::cache::{PAGE_BYTES, PageRun, RUN_PAGES_MAX, UNDECIDED};
use crate::files::file_bytes;
use crate::flight::Extent;
use crate::state::ShimState;
use crate::write_back::{ReadBatch, WRITE_BACK, cache_changed};
use crate::{clock, readers};
use device::page::{AccessKind, Global};
use libc::c_int;
use preload::keeping_errno;
use std::ops::Range;

/// What is read or written, by whom.
#[derive(Clone, Copy)]
pub(crate) struct BufferedRequest {
    pub(crate) fd: c_int,
    /// [`crate::files::Open::place`].
    pub(crate) place: usize,
    pub(crate) extent: Extent,
}

fn pages_of(extent: Extent) -> Range<u32> {
    let first = extent.offset / PAGE_BYTES;
    let end = extent.end().div_ceil(PAGE_BYTES);
    // No page has the last number, so that there is one after each.
    let number = |page: u64| u32::try_from(page).unwrap_or(u32::MAX).min(u32::MAX - 1);
    number(first)..number(end)
}

/// Reads or writes through the cache.
pub(crate) fn transfer(
    state: &ShimState,
    kind: AccessKind,
    request: BufferedRequest,
    call: impl FnOnce() -> isize,
) -> isize {
    // Pages of which only a part is written are read first, where there is something to read.
    let needs_read = kind == AccessKind::Write && is_partial(request.extent);
    let bytes_before = if needs_read { file_bytes(request.fd) } else { 0 };
    keeping_errno(|| WRITE_BACK.run_writeback(state));
    // What the host takes is a part of what the device takes, not beside it.
    let began_ns = clock::now_ns();
    let result = call();
    let Some(bytes) = u64::try_from(result).ok().filter(|bytes| *bytes > 0) else {
        return result;
    };
    let extent = Extent { bytes, ..request.extent };
    let request = BufferedRequest { extent, ..request };
    keeping_errno(|| match kind {
        AccessKind::Read => read(state, request, began_ns),
        AccessKind::Write => write(state, began_ns, request, bytes_before),
        AccessKind::Flush => {}
    });
    result
}

fn is_partial(extent: Extent) -> bool {
    !extent.offset.is_multiple_of(PAGE_BYTES) || !extent.end().is_multiple_of(PAGE_BYTES)
}

fn read(state: &ShimState, request: BufferedRequest, began_ns: u64) {
    let pages = pages_of(request.extent);
    let window = readers::window_bytes(request.fd, &pages, state.setup.cache.read_ahead_bytes);
    let mut ahead_end = 0;
    if window > 0 {
        let end = u64::from(pages.end) + u64::from(window) / PAGE_BYTES;
        let file_end = file_bytes(request.fd).div_ceil(PAGE_BYTES);
        ahead_end = end.min(file_end).min(u64::from(u32::MAX - 1)) as u32;
    }
    let (hits, misses) = read_in(state, request.place, pages.clone(), ahead_end, began_ns);
    state.meter.add(Global::CacheHits, hits);
    state.meter.add(Global::CacheMisses, misses);
    let was_used = misses > 0;
    readers::remember(request.fd, &pages, window, was_used);
}

/// Reads pages into the cache for who waits since `began_ns`, and waits for those that were not
/// there or are still being read. Where the last is missing, what comes until `ahead_end` is
/// read as well. Returns how many pages were there, and how many were not.
fn read_in(
    state: &ShimState,
    place: usize,
    pages: Range<u32>,
    ahead_end: u32,
    began_ns: u64,
) -> (u64, u64) {
    let mut group: Option<ReadBatch> = None;
    let (mut hits, mut misses) = (0, 0);
    // Requests begin later than what they are for only where something else had to be waited for.
    let mut begin_ns = began_ns;
    let mut next = pages.start;
    while next < pages.end {
        if let Some(group) = &mut group {
            group.make_room(state);
        }
        let run = {
            let mut cache = state.cache();
            while next < pages.end && cache.touch(place, next) {
                hits += 1;
                next += 1;
            }
            let first = next;
            while next < pages.end.max(ahead_end)
                && next - first < RUN_PAGES_MAX
                && !cache.has(place, next)
                && (next < pages.end || first < pages.end)
            {
                misses += u64::from(next < pages.end);
                if let Some(evicted) = cache.insert_unread(place, next) {
                    drop(cache);
                    if evict(state, evicted) {
                        begin_ns = clock::now_ns();
                    }
                    cache = state.cache();
                }
                next += 1;
            }
            PageRun { place, first, pages: next - first }
        };
        if run.pages > 0 {
            let group = group.get_or_insert_with(|| ReadBatch::new(began_ns));
            group.begin_not_before(begin_ns);
            group.send(state, run);
        }
    }
    if let Some(group) = group {
        cache_changed(state);
        group.wait(state);
    }
    if hits > 0 {
        wait_until_read(state, place, pages);
    }
    (hits, misses)
}

/// How often a page is looked at of which nobody knows yet when it will be read, and for how long
/// at most.
const UNDECIDED_STEP_NS: u64 = 50_000;
const UNDECIDED_MAX_NS: u64 = 10_000_000_000;

/// Waits for pages that were there but are still being read, for somebody else.
fn wait_until_read(state: &ShimState, place: usize, pages: Range<u32>) {
    let since_ns = clock::now_ns();
    let mut now_ns = since_ns;
    while now_ns < since_ns + UNDECIDED_MAX_NS {
        let ready_ns = state.cache().ready_ns(place, pages.clone());
        if ready_ns <= now_ns {
            return;
        }
        if ready_ns != UNDECIDED {
            return state.wait_until(ready_ns);
        }
        state.wait_until(now_ns + UNDECIDED_STEP_NS);
        now_ns = clock::now_ns();
    }
}

/// Dirty pages that gave their place to others are written; where the queue is full, who needs the
/// place waits. Returns whether it had to.
fn evict(state: &ShimState, run: PageRun) -> bool {
    let mut must_wait = false;
    while !WRITE_BACK.try_send(state, run) {
        WRITE_BACK.wait_for_one(state);
        must_wait = true;
    }
    must_wait
}

fn write(state: &ShimState, began_ns: u64, request: BufferedRequest, bytes_before: u64) {
    let (place, extent) = (request.place, request.extent);
    let pages = pages_of(extent);
    let mut begin_ns = began_ns;
    let last = pages.end.saturating_sub(1);
    // The only page is the first and the last.
    for number in [pages.start, last].into_iter().take(pages.len().min(2)) {
        let from = u64::from(number) * PAGE_BYTES;
        let to = (from + PAGE_BYTES).min(bytes_before);
        let is_covered = extent.offset <= from && extent.offset + extent.bytes >= to;
        if from < bytes_before && !is_covered {
            read_in(state, place, number..number + 1, 0, begin_ns);
            begin_ns = clock::now_ns();
        }
    }
    let now_ns = clock::now_ns();
    for number in pages.clone() {
        let mut cache = state.cache();
        let evicted = cache.insert(place, number);
        cache.dirty(place, number, now_ns);
        drop(cache);
        if let Some(run) = evicted {
            evict(state, run);
        }
    }
    cache_changed(state);
    throttle(state, pages.len() as u64);
}

/// Who makes pages dirty faster than the device takes them waits until as many as it made, and half
/// as many more, are written.
fn throttle(state: &ShimState, dirtied_pages: u64) {
    let mut written = 0;
    while written <= dirtied_pages.saturating_mul(3) / 2 && WRITE_BACK.is_throttled(state) {
        WRITE_BACK.run_writeback(state);
        let Some(pages) = WRITE_BACK.wait_for_one(state) else { return };
        written += pages;
    }
}

/// Writes the dirty pages of a file and waits for them, and for those under way, whoever sent them.
pub(crate) fn write_out(state: &ShimState, place: usize) {
    if WRITE_BACK.dirty_pages() > 0 {
        let now_ns = clock::now_ns();
        let mut has_sent = false;
        // Room is made before pages are taken: who flushes the file meanwhile must find them dirty
        // or under way. The cache is locked in the condition only: who holds the slots of the
        // write-back may lock it, so not the other way round.
        while state.cache().is_file_dirty(place, now_ns) {
            if !WRITE_BACK.has_room(state) {
                WRITE_BACK.wait_for_one(state);
                continue;
            }
            let run = state.cache().take_of_file(place, now_ns);
            let Some(run) = run else { break };
            evict(state, run);
            has_sent = true;
        }
        if has_sent {
            cache_changed(state);
        }
    }
    WRITE_BACK.finish(state, place);
}

/// Begins to write the dirty pages of a file, as far as the queue has room.
pub(crate) fn start_write_out(state: &ShimState, place: usize) {
    let now_ns = clock::now_ns();
    while WRITE_BACK.has_room(state) {
        let run = state.cache().take_of_file(place, now_ns);
        let Some(run) = run else { break };
        evict(state, run);
    }
    cache_changed(state);
}

/// Takes bytes of a file out of the cache; dirty pages only where they no longer matter.
pub(crate) fn drop_bytes(state: &ShimState, place: usize, bytes: Range<u64>, with_dirty: bool) {
    if WRITE_BACK.pages() == 0 {
        return;
    }
    // A page of which a part stays, stays.
    let number = |page: u64| u32::try_from(page).unwrap_or(u32::MAX);
    let first = number(bytes.start.div_ceil(PAGE_BYTES));
    let end = number(bytes.end / PAGE_BYTES);
    let mut cache = state.cache();
    if end.saturating_sub(first) <= RUN_PAGES_MAX && with_dirty {
        for page in first..end {
            cache.drop_page(place, page);
        }
    } else {
        cache.drop_pages(place, first..end, with_dirty);
    }
    drop(cache);
    cache_changed(state);
}

/// Takes all of a file out of the cache; nobody wants it any more.
pub(crate) fn drop_file(state: &ShimState, place: usize) {
    drop_bytes(state, place, 0..u64::MAX, true);
}

/// While the emulation is not armed nothing is in the cache, so that it begins empty.
pub(crate) fn stay_empty(state: &ShimState) {
    if WRITE_BACK.pages() > 0 {
        state.cache().clear();
        cache_changed(state);
    }
}
