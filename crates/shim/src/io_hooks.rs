//! Functions that read, write and flush.

use crate::faults;
use crate::real;
use crate::transfer::{Begin, TransferLength, sync, transfer};
use device::page::AccessKind;
use libc::{c_int, c_void, iovec, off_t, size_t, ssize_t};

#[unsafe(no_mangle)]
extern "C" fn read(fd: c_int, to: *mut c_void, bytes: size_t) -> ssize_t {
    let extent = (Begin::Position, TransferLength::Bytes(bytes));
    transfer(fd, AccessKind::Read, extent, || real::read(fd, to, bytes))
}

#[unsafe(no_mangle)]
extern "C" fn __read_chk(fd: c_int, to: *mut c_void, bytes: size_t, room: size_t) -> ssize_t {
    if bytes > room {
        // It ends the process, as it should.
        return real::__read_chk(fd, to, bytes, room);
    }
    read(fd, to, bytes)
}

#[unsafe(no_mangle)]
extern "C" fn write(fd: c_int, from: *const c_void, bytes: size_t) -> ssize_t {
    let extent = (Begin::Position, TransferLength::Bytes(bytes));
    transfer(fd, AccessKind::Write, extent, || {
        faults::write(fd, 0, bytes, |done| {
            let result = real::write(fd, from, done);
            if result >= 0 && done < bytes {
                real::lseek(fd, (bytes - done) as off_t, libc::SEEK_CUR);
            }
            result
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn pread(fd: c_int, to: *mut c_void, bytes: size_t, at: off_t) -> ssize_t {
    let extent = (Begin::At(at), TransferLength::Bytes(bytes));
    transfer(fd, AccessKind::Read, extent, || real::pread(fd, to, bytes, at))
}

#[unsafe(no_mangle)]
extern "C" fn __pread_chk(
    fd: c_int,
    to: *mut c_void,
    bytes: size_t,
    at: off_t,
    room: size_t,
) -> ssize_t {
    if bytes > room {
        return real::__pread_chk(fd, to, bytes, at, room);
    }
    pread(fd, to, bytes, at)
}

#[unsafe(no_mangle)]
extern "C" fn pwrite(fd: c_int, from: *const c_void, bytes: size_t, at: off_t) -> ssize_t {
    let extent = (Begin::At(at), TransferLength::Bytes(bytes));
    transfer(fd, AccessKind::Write, extent, || {
        let offset = u64::try_from(at).unwrap_or(0);
        faults::write(fd, offset, bytes, |done| real::pwrite(fd, from, done, at))
    })
}

#[unsafe(no_mangle)]
extern "C" fn readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t {
    let extent = (Begin::Position, TransferLength::Vector(to, count));
    transfer(fd, AccessKind::Read, extent, || real::readv(fd, to, count))
}

#[unsafe(no_mangle)]
extern "C" fn writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t {
    let extent = (Begin::Position, TransferLength::Vector(from, count));
    transfer(fd, AccessKind::Write, extent, || real::writev(fd, from, count))
}

#[unsafe(no_mangle)]
extern "C" fn preadv(fd: c_int, to: *const iovec, count: c_int, at: off_t) -> ssize_t {
    let extent = (Begin::At(at), TransferLength::Vector(to, count));
    transfer(fd, AccessKind::Read, extent, || real::preadv(fd, to, count, at))
}

#[unsafe(no_mangle)]
extern "C" fn pwritev(fd: c_int, from: *const iovec, count: c_int, at: off_t) -> ssize_t {
    let extent = (Begin::At(at), TransferLength::Vector(from, count));
    transfer(fd, AccessKind::Write, extent, || real::pwritev(fd, from, count, at))
}

/// An offset of -1 means the descriptor's position.
fn begin(at: off_t) -> Begin {
    if at == -1 { Begin::Position } else { Begin::At(at) }
}

#[unsafe(no_mangle)]
extern "C" fn preadv2(
    fd: c_int,
    to: *const iovec,
    count: c_int,
    at: off_t,
    flags: c_int,
) -> ssize_t {
    let extent = (begin(at), TransferLength::Vector(to, count));
    transfer(fd, AccessKind::Read, extent, || real::preadv2(fd, to, count, at, flags))
}

#[unsafe(no_mangle)]
extern "C" fn preadv64v2(
    fd: c_int,
    to: *const iovec,
    count: c_int,
    at: off_t,
    flags: c_int,
) -> ssize_t {
    preadv2(fd, to, count, at, flags)
}

#[unsafe(no_mangle)]
extern "C" fn pwritev2(
    fd: c_int,
    from: *const iovec,
    count: c_int,
    at: off_t,
    flags: c_int,
) -> ssize_t {
    let extent = (begin(at), TransferLength::Vector(from, count));
    transfer(fd, AccessKind::Write, extent, || real::pwritev2(fd, from, count, at, flags))
}

#[unsafe(no_mangle)]
extern "C" fn pwritev64v2(
    fd: c_int,
    from: *const iovec,
    count: c_int,
    at: off_t,
    flags: c_int,
) -> ssize_t {
    pwritev2(fd, from, count, at, flags)
}

#[unsafe(no_mangle)]
extern "C" fn fsync(fd: c_int) -> c_int {
    sync(fd, || real::fsync(fd))
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: c_int) -> c_int {
    sync(fd, || real::fdatasync(fd))
}

also! {
    fn pread64 = pread(fd: c_int, to: *mut c_void, bytes: size_t, at: off_t) -> ssize_t;
    fn __pread64_chk =
        __pread_chk(fd: c_int, to: *mut c_void, bytes: size_t, at: off_t, room: size_t) -> ssize_t;
    fn pwrite64 = pwrite(fd: c_int, from: *const c_void, bytes: size_t, at: off_t) -> ssize_t;
    fn preadv64 = preadv(fd: c_int, to: *const iovec, count: c_int, at: off_t) -> ssize_t;
    fn pwritev64 = pwritev(fd: c_int, from: *const iovec, count: c_int, at: off_t) -> ssize_t;
}
