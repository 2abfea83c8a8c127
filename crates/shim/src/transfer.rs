//! Reads, writes and flushes that the caller waits for.

use crate::buffered::{self, BufferedRequest};
use crate::clock;
use crate::faults;
use crate::files::{self, File, Open};
use crate::flight::{EmulatedPlace, Extent, Flight};
use crate::meter::CountedRequest;
use crate::real::{self, keeping_errno};
use crate::record;
use crate::session;
use crate::state::{Inside, ShimState, state};
use crate::write_back::WRITE_BACK;
use device::Role;
use device::page::AccessKind;
use libc::{c_int, iovec, off_t};

/// Where in its file a request begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Begin {
    At(off_t),
    /// At the descriptor's position, or at the end of the file where it appends.
    Position,
}

/// How long a request is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TransferLength {
    Bytes(usize),
    Vector(*const iovec, c_int),
}

impl TransferLength {
    pub(crate) fn bytes(self) -> u64 {
        match self {
            TransferLength::Bytes(bytes) => bytes as u64,
            TransferLength::Vector(vector, count) => {
                let count = usize::try_from(count).unwrap_or(0).min(1024);
                if vector.is_null() {
                    return 0;
                }
                // SAFETY: the caller passes that many, as the function it calls demands.
                let parts = unsafe { std::slice::from_raw_parts(vector, count) };
                parts.iter().map(|part| part.iov_len as u64).sum()
            }
        }
    }
}

/// Reads or writes by `call`; `begin` and `length` say what.
pub(crate) fn transfer(
    fd: c_int,
    kind: AccessKind,
    (begin, length): (Begin, TransferLength),
    call: impl FnOnce() -> isize,
) -> isize {
    let Some((state, open, file)) = seen(fd) else {
        return call();
    };
    let _inside = Inside::enter();
    let needs_offset = state.is_file_emulated(file) || file.is_system_tablespace();
    let extent = Extent {
        offset: if needs_offset { offset_of(fd, open, kind, begin) } else { 0 },
        bytes: length.bytes(),
    };
    let role = state.role_at(file, extent.offset);
    let grows = || {
        let end = extent.offset.saturating_add(extent.bytes);
        kind == AccessKind::Write && end > files::file_bytes(fd)
    };
    if let Some(errno) = faults::refusal(state, role, grows) {
        real::set_errno(errno);
        return -1;
    }
    session::waiting(state, (role, kind), || {
        let is_write = kind == AccessKind::Write;
        let ticket =
            is_write.then(|| record::write_begins(state, (fd, open), role, extent)).flatten();
        let result = transfer_seen(state, (fd, open, file), (role, kind), extent, call);
        record::over(ticket, result >= 0);
        result
    })
}

fn transfer_seen(
    state: &ShimState,
    (fd, open, file): (c_int, Open, &File),
    (role, kind): (Role, AccessKind),
    extent: Extent,
    call: impl FnOnce() -> isize,
) -> isize {
    let is_synced = kind == AccessKind::Write && open.is_sync();
    match state.device_of(role) {
        Some(device) if extent.bytes > 0 && state.meter.is_armed() => {
            let target = EmulatedPlace { device, role, file: file.identity() };
            let place = open.place();
            let result = if open.is_direct() {
                direct_at(state, (kind, place), target, extent, call)
            } else {
                let request = BufferedRequest { fd, place, extent };
                buffered::transfer(state, kind, request, call)
            };
            if is_synced && result > 0 {
                keeping_errno(|| flush(state, place, target));
            }
            result
        }
        device => {
            let began_ns = clock::now_ns();
            let counts = |kind, began_ns| CountedRequest { role, kind, began_ns };
            let result = counted(state, counts(kind, began_ns), call);
            if device.is_some() {
                if !state.meter.is_armed() {
                    buffered::stay_empty(state);
                }
                if is_synced && result > 0 {
                    counted(state, counts(AccessKind::Flush, clock::now_ns()), || 0);
                }
            }
            result
        }
    }
}

/// The state and the file of a descriptor that is seen.
fn seen(fd: c_int) -> Option<(&'static ShimState, Open, &'static File)> {
    let state = state()?;
    let open = files::seen(fd)?;
    Some((state, open, open.file()?))
}

fn offset_of(fd: c_int, open: Open, kind: AccessKind, begin: Begin) -> u64 {
    let offset = match begin {
        Begin::At(offset) => offset,
        Begin::Position if kind == AccessKind::Write && open.is_append() => {
            // The write is going to move the position there.
            real::lseek(fd, 0, libc::SEEK_END)
        }
        Begin::Position => real::lseek(fd, 0, libc::SEEK_CUR),
    };
    u64::try_from(offset).unwrap_or(0)
}

/// Forwards and counts.
pub(crate) fn counted(
    state: &ShimState,
    counted: CountedRequest,
    call: impl FnOnce() -> isize,
) -> isize {
    state.meter.begin(counted.role, counted.began_ns);
    let result = call();
    let bytes = u64::try_from(result).ok();
    state.meter.end(counted, clock::now_ns(), bytes);
    result
}

/// A request past the page cache, in which nothing of what it writes stays.
fn direct_at(
    state: &ShimState,
    (kind, place): (AccessKind, usize),
    target: EmulatedPlace,
    extent: Extent,
    call: impl FnOnce() -> isize,
) -> isize {
    WRITE_BACK.go_on(state);
    if kind == AccessKind::Write {
        let end = extent.offset.saturating_add(extent.bytes);
        buffered::drop_bytes(state, place, extent.offset..end, true);
    }
    direct(state, kind, target, extent, call)
}

/// A request past the page cache: to the model, to the host, and back when it is due.
fn direct(
    state: &ShimState,
    kind: AccessKind,
    target: EmulatedPlace,
    extent: Extent,
    call: impl FnOnce() -> isize,
) -> isize {
    let began_ns = clock::now_ns();
    let mut flight = Flight::begin(state, kind, target, extent, began_ns);
    let result = call();
    keeping_errno(|| {
        flight.host_done(state, clock::now_ns());
        flight.wait(state);
        flight.end(state, began_ns..clock::now_ns(), u64::try_from(result).ok());
    });
    result
}

/// Writes what is dirty of a file, flushes the device's cache and waits for both.
pub(crate) fn flush(state: &ShimState, place: usize, target: EmulatedPlace) {
    WRITE_BACK.go_on(state);
    buffered::write_out(state, place);
    let none = Extent { offset: 0, bytes: 0 };
    direct(state, AccessKind::Flush, target, none, || 0);
}

/// `fsync` and its like: `call` is the real one, for files that are on real storage.
pub(crate) fn sync(fd: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let Some((state, open, file)) = seen(fd) else {
        return sync_unseen(fd, call);
    };
    let _inside = Inside::enter();
    let role = file.role();
    if let Some(errno) = faults::refusal(state, role, || false) {
        real::set_errno(errno);
        return -1;
    }
    let ticket = record::flush_begins(state, (fd, open), role);
    let began_ns = clock::now_ns();
    let counts = CountedRequest { role, kind: AccessKind::Flush, began_ns };
    let result =
        session::waiting(state, (role, AccessKind::Flush), || match state.device_of(role) {
            Some(device) if state.meter.is_armed() => {
                let target = EmulatedPlace { device, role, file: file.identity() };
                flush(state, open.place(), target);
                0
            }
            Some(_) => counted(state, counts, || 0) as c_int,
            None => counted(state, counts, || call() as isize) as c_int,
        });
    record::over(ticket, result == 0);
    result
}

/// Of what is no file that is seen, only directories matter, and only to the journal.
fn sync_unseen(fd: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let ticket = state().and_then(|state| {
        let _inside = Inside::enter();
        keeping_errno(|| record::directory_flush_begins(state, fd))
    });
    let result = call();
    record::over(ticket, result == 0);
    result
}
