//! Functions that change what files are called and how long they are.

use crate::files::{self, Open};
use crate::flight::Extent;
use crate::path::PathOf;
use crate::record::{self, NameBefore};
use crate::state::{Inside, ShimState, state};
use crate::{buffered, faults};
use device::cut::{EntryKind, EntryTicket, NewEntry};
use libc::{ENOSYS, c_char, c_int, c_uint, off_t};
use preload::{keeping_errno, set_errno};

/// The place of the file that a name means, where it is one that is or was open.
fn place_of(state: &ShimState, at: c_int, name: *const c_char) -> Option<usize> {
    keeping_errno(|| {
        let path = PathOf::of_name(at, name)?;
        files::named(state.relative(path.bytes())?)
    })
}

/// What nobody can read any more need not be written.
fn forget(state: &ShimState, place: usize) {
    if files::forget(place) {
        buffered::drop_file(state, place);
        files::release(place);
    }
}

fn gone(at: c_int, name: *const c_char, call: impl FnOnce() -> c_int) -> c_int {
    let Some(state) = state() else {
        return call();
    };
    let _inside = Inside::enter();
    let place = place_of(state, at, name);
    let before = NameBefore::of(state, at, name).filter(|before| before.keep(at, name));
    let result = call();
    if let Some(before) = &before {
        match result {
            0 => before.is_gone(&before.entry(EntryKind::Unlink)),
            _ => keeping_errno(|| before.keep_no_more()),
        }
    }
    if let (0, Some(place)) = (result, place) {
        forget(state, place);
    }
    result
}

/// Records a rename. A file that lost its name by it is kept.
fn record_rename(
    is_done: bool,
    before: Option<&NameBefore>,
    other: Option<&NameBefore>,
    to: *const c_char,
) {
    let Some(before) = before else { return };
    let path = PathOf::of_name(libc::AT_FDCWD, to);
    let entry = before.entry(EntryKind::Rename);
    let names = [before.path.bytes(), path.as_ref().map_or(b"", PathOf::bytes)];
    match other {
        Some(other) if is_done => {
            let other_inode = other.file().inode;
            other.is_gone(&NewEntry { names, other: other_inode, ..entry });
        }
        Some(other) => other.keep_no_more(),
        None if is_done => {
            before.journal.note(&NewEntry { names, ..entry });
        }
        None => {}
    }
}

fn renamed(state: &ShimState, place: usize, to: *const c_char) {
    let path = PathOf::of_name(libc::AT_FDCWD, to);
    let relative = path.as_ref().and_then(|path| state.relative(path.bytes()));
    match relative {
        Some(relative) => files::rename(place, relative, state.role_of(relative)),
        None => forget(state, place),
    }
}

/// Bytes of an emulated file are gone, or no longer wanted in memory.
fn dropped(fd: c_int, from: off_t, to: u64, with_dirty: bool) {
    let (Some(state), Some(open)) = (state(), files::seen(fd)) else { return };
    if state.is_file_emulated(open.file()) {
        let _inside = Inside::enter();
        let from = u64::try_from(from).unwrap_or(0);
        buffered::drop_bytes(state, open.place(), from..to, with_dirty);
    }
}

fn end_of(at: off_t, bytes: off_t) -> u64 {
    u64::try_from(at.saturating_add(bytes)).unwrap_or(u64::MAX)
}

/// Space of a file is about to be taken or given back.
fn allocation_begins(fd: c_int, mode: c_int, at: off_t, bytes: off_t) -> Option<EntryTicket> {
    let begin = u64::try_from(at).ok()?;
    let end = end_of(at, bytes);
    if mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) != 0 {
        let extent = Extent { offset: begin, bytes: end.saturating_sub(begin) };
        return record::hole_begins(fd, extent);
    }
    record::length_begins(fd, |length| if mode == 0 { length.max(end) } else { length })
}

/// Sets a file's length.
pub(crate) fn truncate(fd: c_int, bytes: off_t) -> c_int {
    let ticket = record::length_begins(fd, |_| u64::try_from(bytes).unwrap_or(0));
    record::during(ticket, || real::ftruncate(fd, bytes))
}

/// Writes out what is dirty of an emulated file, or begins to, as `flags` of `sync_file_range` say.
fn write_out(state: &ShimState, (fd, open): (c_int, Open), extent: Extent, flags: c_uint) {
    let _inside = Inside::enter();
    let waits = libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let ticket = if flags & waits == waits { record::write_out_begins(fd, extent) } else { None };
    if state.meter.is_armed() {
        if flags & libc::SYNC_FILE_RANGE_WAIT_AFTER != 0 {
            buffered::write_out(state, open.place());
        } else if flags & libc::SYNC_FILE_RANGE_WRITE != 0 {
            buffered::start_write_out(state, open.place());
        }
    }
    record::over(ticket, true);
}

preload::hooks! { "C"
    fn unlink(path: *const c_char) -> c_int, or -1 {
        gone(libc::AT_FDCWD, path, || real::unlink(path))
    }

    fn unlinkat(at: c_int, path: *const c_char, flags: c_int) -> c_int, or -1 {
        gone(at, path, || real::unlinkat(at, path, flags))
    }

    fn remove(path: *const c_char) -> c_int, or -1 {
        gone(libc::AT_FDCWD, path, || real::remove(path))
    }

    fn rename(from: *const c_char, to: *const c_char) -> c_int, or -1 {
        let Some(state) = state() else {
            return real::rename(from, to);
        };
        let _inside = Inside::enter();
        let [place, replaced] = [from, to].map(|name| place_of(state, libc::AT_FDCWD, name));
        let before = NameBefore::of(state, libc::AT_FDCWD, from);
        let other = NameBefore::of(state, libc::AT_FDCWD, to)
            .filter(|other| before.as_ref().is_some_and(|before| before.file() != other.file()))
            .filter(|other| other.keep(libc::AT_FDCWD, to));
        let result = real::rename(from, to);
        keeping_errno(|| record_rename(result == 0, before.as_ref(), other.as_ref(), to));
        if result == 0 && place != replaced {
            keeping_errno(|| {
                if let Some(replaced) = replaced {
                    forget(state, replaced);
                }
                if let Some(place) = place {
                    renamed(state, place, to);
                }
            });
        }
        result
    }

    fn ftruncate(fd: c_int, bytes: off_t) -> c_int, or -1, also ftruncate64 {
        if let Some(errno) = faults::length_refusal(fd, end_of(0, bytes)) {
            set_errno(errno);
            return -1;
        }
        let result = truncate(fd, bytes);
        if result == 0 {
            dropped(fd, bytes, u64::MAX, true);
        }
        result
    }

    fn fallocate(
        fd: c_int, mode: c_int, at: off_t, bytes: off_t,
    ) -> c_int, or -1, also fallocate64 {
        if let Some(errno) = faults::length_refusal(fd, end_of(at, bytes)) {
            set_errno(errno);
            return -1;
        }
        let ticket = allocation_begins(fd, mode, at, bytes);
        let result = record::during(ticket, || real::fallocate(fd, mode, at, bytes));
        if result == 0 && mode & libc::FALLOC_FL_PUNCH_HOLE != 0 {
            dropped(fd, at, end_of(at, bytes), true);
        }
        result
    }

    fn posix_fallocate(
        fd: c_int, at: off_t, bytes: off_t,
    ) -> c_int, or ENOSYS, also posix_fallocate64 {
        if let Some(errno) = faults::length_refusal(fd, end_of(at, bytes)) {
            return errno;
        }
        let ticket = allocation_begins(fd, 0, at, bytes);
        record::during(ticket, || real::posix_fallocate(fd, at, bytes))
    }

    /// `POSIX_FADV_DONTNEED` empties the kernel's cache, so it empties the modelled one.
    fn posix_fadvise(
        fd: c_int, at: off_t, bytes: off_t, advice: c_int,
    ) -> c_int, or ENOSYS, also posix_fadvise64 {
        let result = real::posix_fadvise(fd, at, bytes, advice);
        if result == 0 && advice == libc::POSIX_FADV_DONTNEED {
            let to = if bytes == 0 { u64::MAX } else { end_of(at, bytes) };
            dropped(fd, at, to, false);
        }
        result
    }

    /// Begins to write, or waits for what is written, without a flush. The whole file is written,
    /// whatever part is named.
    fn sync_file_range(fd: c_int, at: off_t, bytes: off_t, flags: c_uint) -> c_int, or -1 {
        match (state(), files::seen(fd)) {
            (Some(state), Some(open)) if state.is_file_emulated(open.file()) => {
                let [offset, bytes] = [at, bytes].map(|of| u64::try_from(of).unwrap_or(0));
                write_out(state, (fd, open), Extent { offset, bytes }, flags);
                0
            }
            _ => real::sync_file_range(fd, at, bytes, flags),
        }
    }
}
