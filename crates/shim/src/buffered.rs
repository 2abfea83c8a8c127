//! Emulated files that are not opened for direct I/O: through the modelled page cache.

use crate::cache::{PAGE_BYTES, RUN_PAGES_MAX, Run, UNDECIDED};
use crate::clock;
use crate::flight::Extent;
use crate::state::State;
use crate::transfer::keeping_errno;
use crate::write_back::{Group, Pressure};
use device::page::{AccessKind, Global};
use libc::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a sequential reader begins to read ahead, and it doubles from there.
const WINDOW_MIN_BYTES: u32 = 16 << 10;

const READERS: usize = crate::files::DESCRIPTORS_MAX;

/// Of each descriptor: the page after its last read (upper half) and its window in bytes.
static READER: [AtomicU64; READERS] = [const { AtomicU64::new(0) }; READERS];

/// What is read or written, by whom.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) fd: c_int,
    /// [`crate::files::Open::place`].
    pub(crate) place: usize,
    pub(crate) extent: Extent,
}

/// The program may ask for anything.
fn end_of(extent: Extent) -> u64 {
    extent.offset.saturating_add(extent.bytes)
}

fn pages_of(extent: Extent) -> Range<u32> {
    let first = extent.offset / PAGE_BYTES;
    let end = end_of(extent).div_ceil(PAGE_BYTES);
    // No page has the last number, so that there is one after each.
    let number = |page: u64| u32::try_from(page).unwrap_or(u32::MAX).min(u32::MAX - 1);
    number(first)..number(end)
}

/// A new descriptor has read nothing.
pub(crate) fn forget_reader(fd: c_int) {
    if let Some(reader) = usize::try_from(fd).ok().and_then(|fd| READER.get(fd)) {
        reader.store(0, Ordering::Relaxed);
    }
}

/// What is known of who reads: the page after the last read, and by how much was read ahead of it.
fn reader_of(fd: c_int) -> Option<(&'static AtomicU64, u32, u32)> {
    let reader = READER.get(usize::try_from(fd).ok()?)?;
    let last = reader.load(Ordering::Relaxed);
    Some((reader, (last >> 32) as u32, last as u32))
}

/// By how much to read ahead of pages if they are missing: 0 for who reads here and there.
fn window_bytes(state: &State, fd: c_int, pages: &Range<u32>) -> u32 {
    let Some((_, next, window)) = reader_of(fd) else {
        return 0;
    };
    // A reader at the beginning of a file is taken for a sequential one, and one may read a page twice, in parts.
    if pages.start != next && pages.start.saturating_add(1) != next {
        return 0;
    }
    let largest = state.read_ahead_bytes;
    window
        .saturating_mul(2)
        .clamp(WINDOW_MIN_BYTES.min(largest), largest)
}

/// A window that was used is the one to double.
fn remember_reader(fd: c_int, pages: &Range<u32>, window_bytes: u32, was_used: bool) {
    if let Some((reader, _, last_bytes)) = reader_of(fd) {
        let kept = if was_used || window_bytes == 0 {
            window_bytes
        } else {
            last_bytes
        };
        let now = u64::from(pages.end) << 32 | u64::from(kept);
        reader.store(now, Ordering::Relaxed);
    }
}

fn file_bytes(fd: c_int) -> u64 {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the status is ours, and read only where it was written.
    unsafe {
        if libc::fstat(fd, status.as_mut_ptr()) == 0 {
            u64::try_from(status.assume_init().st_size).unwrap_or(0)
        } else {
            0
        }
    }
}

/// Reads or writes through the cache.
pub(crate) fn transfer(
    state: &State,
    kind: AccessKind,
    request: Request,
    call: impl FnOnce() -> isize,
) -> isize {
    // Pages of which only a part is written are read first, where there is something to read.
    let bytes_before = if kind == AccessKind::Write && is_partial(request.extent) {
        file_bytes(request.fd)
    } else {
        0
    };
    keeping_errno(|| state.write_back.go_on(state));
    // What the host takes is a part of what the device takes, not beside it.
    let began_ns = clock::now_ns();
    let result = call();
    let Some(bytes) = u64::try_from(result).ok().filter(|bytes| *bytes > 0) else {
        return result;
    };
    let extent = Extent {
        bytes,
        ..request.extent
    };
    let request = Request { extent, ..request };
    keeping_errno(|| match kind {
        AccessKind::Read => read(state, request, began_ns),
        AccessKind::Write => write(state, request, bytes_before, began_ns),
        AccessKind::Flush => {}
    });
    result
}

fn is_partial(extent: Extent) -> bool {
    !extent.offset.is_multiple_of(PAGE_BYTES) || !end_of(extent).is_multiple_of(PAGE_BYTES)
}

fn read(state: &State, request: Request, began_ns: u64) {
    let pages = pages_of(request.extent);
    let window = window_bytes(state, request.fd, &pages);
    let ahead_end = if window > 0 {
        let end = u64::from(pages.end) + u64::from(window) / PAGE_BYTES;
        let file_end = file_bytes(request.fd).div_ceil(PAGE_BYTES);
        end.min(file_end).min(u64::from(u32::MAX - 1)) as u32
    } else {
        0
    };
    let brought = bring(state, request.place, pages.clone(), ahead_end, began_ns);
    state.meter.add(Global::CacheHits, brought.hits);
    state.meter.add(Global::CacheMisses, brought.misses);
    let was_used = brought.misses > 0;
    remember_reader(request.fd, &pages, window, was_used);
}

/// How many pages were there, and how many were not.
#[derive(Clone, Copy)]
struct Brought {
    hits: u64,
    misses: u64,
}

/// Brings pages into the cache for who waits since `began_ns`, and waits for those that were not there or are still being read.
/// Where the last is missing, what comes until `ahead_end` is brought as well.
fn bring(state: &State, place: usize, pages: Range<u32>, ahead_end: u32, began_ns: u64) -> Brought {
    let mut group: Option<Group> = None;
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
            Run {
                place,
                first,
                pages: next - first,
            }
        };
        if run.pages > 0 {
            let group = group.get_or_insert_with(|| Group::new(began_ns));
            group.begin_not_before(begin_ns);
            group.send(state, run);
        }
    }
    if let Some(group) = group {
        state.cache_changed();
        group.wait(state);
    }
    if hits > 0 {
        wait_until_read(state, place, pages);
    }
    Brought { hits, misses }
}

/// How often a page is looked at of which nobody knows yet when it will be read, and for how long at most.
const UNDECIDED_STEP_NS: u64 = 50_000;
const UNDECIDED_MAX_NS: u64 = 10_000_000_000;

/// Waits for pages that were there but are still being read, for somebody else.
fn wait_until_read(state: &State, place: usize, pages: Range<u32>) {
    let since_ns = clock::now_ns();
    let mut now_ns = since_ns;
    while now_ns < since_ns + UNDECIDED_MAX_NS {
        let ready_ns = state.cache().ready_ns(place, pages.clone());
        if ready_ns <= now_ns {
            return;
        }
        let until_ns = match ready_ns {
            UNDECIDED => now_ns + UNDECIDED_STEP_NS,
            ready_ns => ready_ns,
        };
        let spun_ns = clock::wait_until(until_ns, state.spin);
        state.meter.add(Global::SpinNs, spun_ns);
        if ready_ns != UNDECIDED {
            return;
        }
        now_ns = clock::now_ns();
    }
}

/// Dirty pages that gave their place to others are written; where the queue is full, who needs the place waits. Returns whether
/// it had to.
fn evict(state: &State, run: Run) -> bool {
    let mut rest = state.write_back.try_send(state, run);
    let must_wait = rest.is_some();
    while let Some(run) = rest {
        state.write_back.wait_for_one(state);
        rest = state.write_back.try_send(state, run);
    }
    must_wait
}

fn write(state: &State, request: Request, bytes_before: u64, began_ns: u64) {
    let (place, extent) = (request.place, request.extent);
    let pages = pages_of(extent);
    let mut begin_ns = began_ns;
    let last = pages.end.saturating_sub(1);
    let ends = [pages.start, last];
    // The only page is the first and the last.
    for number in ends.into_iter().take(pages.len().min(2)) {
        let from = u64::from(number) * PAGE_BYTES;
        let to = (from + PAGE_BYTES).min(bytes_before);
        let is_covered = extent.offset <= from && extent.offset + extent.bytes >= to;
        if from < bytes_before && !is_covered {
            bring(state, place, number..number + 1, 0, begin_ns);
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
    state.cache_changed();
    throttle(state, pages.len() as u64);
}

/// Who makes pages dirty faster than the device takes them waits until as many as it made, and half as many more, are written.
fn throttle(state: &State, dirtied_pages: u64) {
    let mut written = 0;
    while written <= dirtied_pages.saturating_mul(3) / 2 {
        let now_ns = clock::now_ns();
        if state.write_back.pressure(state, now_ns) != Pressure::Throttle {
            return;
        }
        state.write_back.go_on(state);
        match state.write_back.wait_for_one(state) {
            None => return,
            Some(pages) => written += pages,
        }
    }
}

/// Writes the dirty pages of a file and waits for them, and for those under way, whoever sent them.
pub(crate) fn write_out(state: &State, place: usize) {
    if state.write_back.dirty_pages() > 0 {
        let now_ns = clock::now_ns();
        let mut has_sent = false;
        // Room is made before pages are taken: who flushes the file meanwhile must find them dirty or under way.
        loop {
            // A statement of its own: who holds the slots of the write-back may lock the cache, so not the other way round.
            let is_dirty = state.cache().is_file_dirty(place, now_ns);
            if !is_dirty {
                break;
            }
            if !state.write_back.has_room(state) {
                state.write_back.wait_for_one(state);
                continue;
            }
            let run = state.cache().take_of_file(place, now_ns);
            let Some(run) = run else { break };
            evict(state, run);
            has_sent = true;
        }
        if has_sent {
            state.cache_changed();
        }
    }
    state.write_back.finish(state, place);
}

/// Begins to write the dirty pages of a file, as far as the queue has room.
pub(crate) fn start_write_out(state: &State, place: usize) {
    let now_ns = clock::now_ns();
    while state.write_back.has_room(state) {
        let run = state.cache().take_of_file(place, now_ns);
        let Some(run) = run else { break };
        evict(state, run);
    }
    state.cache_changed();
}

/// Takes bytes of a file out of the cache; dirty pages only where they no longer matter.
pub(crate) fn drop_bytes(state: &State, place: usize, bytes: Range<u64>, with_dirty: bool) {
    if state.write_back.pages() == 0 {
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
        cache.drop_pages(place, first, end, with_dirty);
    }
    drop(cache);
    state.cache_changed();
}

/// Takes all of a file out of the cache; nobody wants it any more.
pub(crate) fn drop_file(state: &State, place: usize) {
    drop_bytes(state, place, 0..u64::MAX, true);
}

/// While the emulation is not armed nothing is in the cache, so that it begins empty.
pub(crate) fn stay_empty(state: &State) {
    if state.write_back.pages() > 0 {
        state.cache().clear();
        state.cache_changed();
    }
}
