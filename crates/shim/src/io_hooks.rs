//! Functions that read, write and flush.

use crate::faults;
use crate::system::seek;
use crate::transfer::{Offset, TransferLength, sync, transfer};
use device::page::AccessKind;
use libc::{c_int, c_void, iovec, off_t, size_t, ssize_t};
use rustix::fs::SeekFrom;

/// An offset of -1 means the descriptor's position.
fn offset(at: off_t) -> Offset {
    if at == -1 { Offset::Current } else { Offset::Absolute(at) }
}

preload::hooks! { "C"
    fn read(fd: c_int, to: *mut c_void, bytes: size_t) -> ssize_t, or -1 {
        let extent = (Offset::Current, TransferLength::Bytes(bytes));
        transfer(fd, AccessKind::Read, extent, || real::read(fd, to, bytes))
    }

    fn __read_chk(
        fd: c_int, to: *mut c_void, bytes: size_t, room: size_t,
    ) -> ssize_t, or -1 {
        if bytes > room {
            // It ends the process, as it should.
            return real::__read_chk(fd, to, bytes, room);
        }
        read(fd, to, bytes)
    }

    fn write(fd: c_int, from: *const c_void, bytes: size_t) -> ssize_t, or -1 {
        let extent = (Offset::Current, TransferLength::Bytes(bytes));
        transfer(fd, AccessKind::Write, extent, || {
            faults::write(fd, 0, bytes, |done| {
                let result = real::write(fd, from, done);
                if result >= 0 && done < bytes {
                    seek(fd, SeekFrom::Current((bytes - done) as off_t));
                }
                result
            })
        })
    }

    fn pread(
        fd: c_int, to: *mut c_void, bytes: size_t, at: off_t,
    ) -> ssize_t, or -1, also pread64 {
        let extent = (Offset::Absolute(at), TransferLength::Bytes(bytes));
        transfer(fd, AccessKind::Read, extent, || real::pread(fd, to, bytes, at))
    }

    fn __pread_chk(
        fd: c_int, to: *mut c_void, bytes: size_t, at: off_t, room: size_t,
    ) -> ssize_t, or -1, also __pread64_chk {
        if bytes > room {
            return real::__pread_chk(fd, to, bytes, at, room);
        }
        pread(fd, to, bytes, at)
    }

    fn pwrite(
        fd: c_int, from: *const c_void, bytes: size_t, at: off_t,
    ) -> ssize_t, or -1, also pwrite64 {
        let extent = (Offset::Absolute(at), TransferLength::Bytes(bytes));
        transfer(fd, AccessKind::Write, extent, || {
            let offset = u64::try_from(at).unwrap_or(0);
            faults::write(fd, offset, bytes, |done| real::pwrite(fd, from, done, at))
        })
    }

    fn readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t, or -1 {
        let extent = (Offset::Current, TransferLength::Vector(to, count));
        transfer(fd, AccessKind::Read, extent, || real::readv(fd, to, count))
    }

    fn writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t, or -1 {
        let extent = (Offset::Current, TransferLength::Vector(from, count));
        transfer(fd, AccessKind::Write, extent, || real::writev(fd, from, count))
    }

    fn preadv(
        fd: c_int, to: *const iovec, count: c_int, at: off_t,
    ) -> ssize_t, or -1, also preadv64 {
        let extent = (Offset::Absolute(at), TransferLength::Vector(to, count));
        transfer(fd, AccessKind::Read, extent, || real::preadv(fd, to, count, at))
    }

    fn pwritev(
        fd: c_int, from: *const iovec, count: c_int, at: off_t,
    ) -> ssize_t, or -1, also pwritev64 {
        let extent = (Offset::Absolute(at), TransferLength::Vector(from, count));
        transfer(fd, AccessKind::Write, extent, || real::pwritev(fd, from, count, at))
    }

    fn preadv2(
        fd: c_int, to: *const iovec, count: c_int, at: off_t, flags: c_int,
    ) -> ssize_t, or -1, also preadv64v2 {
        let extent = (offset(at), TransferLength::Vector(to, count));
        transfer(fd, AccessKind::Read, extent, || real::preadv2(fd, to, count, at, flags))
    }

    fn pwritev2(
        fd: c_int, from: *const iovec, count: c_int, at: off_t, flags: c_int,
    ) -> ssize_t, or -1, also pwritev64v2 {
        let extent = (offset(at), TransferLength::Vector(from, count));
        transfer(fd, AccessKind::Write, extent, || real::pwritev2(fd, from, count, at, flags))
    }

    fn fsync(fd: c_int) -> c_int, or -1 {
        sync(fd, || real::fsync(fd))
    }

    fn fdatasync(fd: c_int) -> c_int, or -1 {
        sync(fd, || real::fdatasync(fd))
    }
}
