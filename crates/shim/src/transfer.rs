//! Reads, writes and flushes that the caller waits for.

use crate::buffered::{self, BufferedRequest};
use crate::files::{self, Open};
use crate::flight::{EmulatedPlace, Extent, Flight};
use crate::state::{Inside, ShimState, state};
use crate::system::seek;
use crate::write_back::WRITE_BACK;
use crate::{clock, faults, record, session};
use device::Role;
use device::cut::EntryTicket;
use device::page::AccessKind;
use libc::{c_int, iovec, off_t};
use preload::{keeping_errno, set_errno};
use rustix::fs::SeekFrom;

/// Where in its file a request begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offset {
    Absolute(off_t),
    /// The descriptor's position, or the end of the file where it appends.
    Current,
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

/// A read, write or flush of a file that is seen.
#[derive(Clone, Copy)]
pub(crate) struct FileRequest {
    fd: c_int,
    open: Open,
    kind: AccessKind,
    pub(crate) role: Role,
    extent: Extent,
    /// Where the model is asked about it.
    target: Option<EmulatedPlace>,
}

impl FileRequest {
    pub(crate) fn new(
        state: &ShimState,
        (fd, open): (c_int, Open),
        kind: AccessKind,
        extent: Extent,
    ) -> FileRequest {
        let file = open.file();
        let is_flush = kind == AccessKind::Flush;
        let role = if is_flush { file.role() } else { state.role_at(file, extent.offset) };
        let device = state.device_of(role).filter(|_| extent.bytes > 0 || is_flush);
        let device = device.filter(|_| state.meter.is_armed());
        let target = device.map(|device| EmulatedPlace { device, role, file: file.identity() });
        FileRequest { fd, open, kind, role, extent, target }
    }

    /// The error with which it fails, without being done.
    pub(crate) fn refusal(&self, state: &ShimState) -> Option<c_int> {
        faults::refusal(state, self.role, || {
            self.kind == AccessKind::Write && self.extent.end() > files::file_bytes(self.fd)
        })
    }

    /// Its record in the journal, which is to be over when somebody is told of it.
    pub(crate) fn record(&self, state: &ShimState) -> Option<EntryTicket> {
        record::begins(state, (self.fd, self.open), (self.role, self.kind), self.extent)
    }

    /// Hands it to the model and does it on the host, by `call`. What goes through the page cache
    /// is over then, as in the kernel.
    pub(crate) fn begin(&self, state: &ShimState, call: impl FnOnce() -> isize) -> (Flight, isize) {
        let place = self.open.place();
        let Some(target) = self.target else {
            let flight = Flight::unmodelled(state, self.kind, self.role, clock::now_ns());
            if state.is_emulated(self.role) && !state.meter.is_armed() {
                buffered::stay_empty(state);
            }
            return (flight, call());
        };
        if self.kind != AccessKind::Flush && !self.open.is_direct() {
            let request = BufferedRequest { fd: self.fd, place, extent: self.extent };
            let result = buffered::transfer(state, self.kind, request, call);
            return (Flight::uncounted(), result);
        }
        WRITE_BACK.run_writeback(state);
        match self.kind {
            AccessKind::Flush => buffered::write_out(state, place),
            // Past the page cache, in which nothing of what it writes stays.
            AccessKind::Write => {
                let bytes = self.extent.offset..self.extent.end();
                buffered::drop_bytes(state, place, bytes, true);
            }
            AccessKind::Read => {}
        }
        let flight = Flight::begin(state, self.kind, target, self.extent, clock::now_ns());
        let result = call();
        keeping_errno(|| flight.host_done(state));
        (flight, result)
    }

    /// Whether it is a write with that result that a flush belongs to.
    pub(crate) fn is_synced(&self, result: isize) -> bool {
        self.kind == AccessKind::Write && self.open.is_sync() && result > 0
    }

    /// Writes what is dirty of its file, flushes the device's cache and waits for both.
    pub(crate) fn flush(&self, state: &ShimState) {
        if state.is_emulated(self.role) {
            let (kind, extent) = (AccessKind::Flush, Extent::default());
            let (flight, _) = FileRequest { kind, extent, ..*self }.begin(state, || 0);
            flight.finish(state, Some(0));
        }
    }

    /// Does it, and waits until it is due.
    fn complete(&self, state: &ShimState, call: impl FnOnce() -> isize) -> isize {
        if let Some(errno) = self.refusal(state) {
            set_errno(errno);
            return -1;
        }
        session::waiting(state, (self.role, self.kind), || {
            let ticket = self.record(state);
            let (flight, result) = self.begin(state, call);
            keeping_errno(|| {
                flight.finish(state, u64::try_from(result).ok());
                if self.is_synced(result) {
                    self.flush(state);
                }
            });
            record::over(ticket, result >= 0);
            result
        })
    }
}

/// Reads or writes by `call`; `offset` and `length` say what.
pub(crate) fn transfer(
    fd: c_int,
    kind: AccessKind,
    offset: Offset,
    length: TransferLength,
    call: impl FnOnce() -> isize,
) -> isize {
    let (Some(state), Some(open)) = (state(), files::seen(fd)) else {
        return call();
    };
    let _inside = Inside::enter();
    let file = open.file();
    let needs_offset = state.is_file_emulated(file) || file.is_system_tablespace();
    let extent = Extent {
        offset: if needs_offset { offset_of(fd, open, kind, offset) } else { 0 },
        bytes: length.bytes(),
    };
    FileRequest::new(state, (fd, open), kind, extent).complete(state, call)
}

fn offset_of(fd: c_int, open: Open, kind: AccessKind, offset: Offset) -> u64 {
    match offset {
        Offset::Absolute(offset) => u64::try_from(offset).unwrap_or(0),
        Offset::Current => {
            // An appending write is going to move the position there.
            let is_append = kind == AccessKind::Write && open.is_append();
            let from = if is_append { SeekFrom::End(0) } else { SeekFrom::Current(0) };
            seek(fd, from).unwrap_or(0)
        }
    }
}

/// `fsync` and its like: `call` is the real one, for files that are on real storage.
pub(crate) fn sync(fd: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let (Some(state), Some(open)) = (state(), files::seen(fd)) else {
        return sync_unseen(fd, call);
    };
    let _inside = Inside::enter();
    let request = FileRequest::new(state, (fd, open), AccessKind::Flush, Extent::default());
    let is_emulated = state.is_emulated(request.role);
    request.complete(state, || if is_emulated { 0 } else { call() as isize }) as c_int
}

/// Of what is no file that is seen, only directories matter, and only to the journal.
fn sync_unseen(fd: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let ticket = state().and_then(|state| {
        let _inside = Inside::enter();
        keeping_errno(|| record::directory_flush_begins(state, fd))
    });
    record::during(ticket, call)
}
