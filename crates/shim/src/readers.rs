//! Who reads a file from one end to the other, so that the model reads ahead as a kernel does.

use crate::limits::DESCRIPTORS_MAX;
use libc::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a sequential reader begins to read ahead, and it doubles from there.
const WINDOW_MIN_BYTES: u32 = 16 << 10;

/// For each descriptor, the page after its last read (upper half) and its window in bytes.
static READER: [AtomicU64; DESCRIPTORS_MAX] = [const { AtomicU64::new(0) }; DESCRIPTORS_MAX];

/// A new descriptor has read nothing.
pub(crate) fn forget(fd: c_int) {
    if let Some((reader, ..)) = reader_of(fd) {
        reader.store(0, Ordering::Relaxed);
    }
}

/// What is known of who reads: the page after the last read, and by how much was read ahead of it.
fn reader_of(fd: c_int) -> Option<(&'static AtomicU64, u32, u32)> {
    let reader = READER.get(usize::try_from(fd).ok()?)?;
    let last = reader.load(Ordering::Relaxed);
    Some((reader, (last >> 32) as u32, last as u32))
}

/// How much to read ahead of pages that are missing: 0 for who reads here and there.
pub(crate) fn window_bytes(fd: c_int, pages: &Range<u32>, largest: u32) -> u32 {
    let Some((_, next, window)) = reader_of(fd) else {
        return 0;
    };
    // A reader at the beginning of a file is taken for a sequential one, and one may read a page
    // twice, in parts.
    if pages.start != next && pages.start.saturating_add(1) != next {
        return 0;
    }
    window.saturating_mul(2).clamp(WINDOW_MIN_BYTES.min(largest), largest)
}

/// A window that was used is the one to double.
pub(crate) fn remember(fd: c_int, pages: &Range<u32>, window_bytes: u32, was_used: bool) {
    if let Some((reader, _, last_bytes)) = reader_of(fd) {
        let kept = if was_used || window_bytes == 0 { window_bytes } else { last_bytes };
        let now = u64::from(pages.end) << 32 | u64::from(kept);
        reader.store(now, Ordering::Relaxed);
    }
}
