//! Functions that read, write and flush.

use crate::real;
use crate::transfer::{Begin, Length, sync, transfer};
use device::page::AccessKind;
use libc::{c_int, c_void, iovec, off_t, size_t, ssize_t};

#[unsafe(no_mangle)]
extern "C" fn read(fd: c_int, to: *mut c_void, bytes: size_t) -> ssize_t {
    let extent = (Begin::Position, Length::Bytes(bytes));
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
    let extent = (Begin::Position, Length::Bytes(bytes));
    transfer(fd, AccessKind::Write, extent, || {
        real::write(fd, from, bytes)
    })
}

#[unsafe(no_mangle)]
extern "C" fn pread(fd: c_int, to: *mut c_void, bytes: size_t, at: off_t) -> ssize_t {
    let extent = (Begin::At(at), Length::Bytes(bytes));
    transfer(fd, AccessKind::Read, extent, || {
        real::pread(fd, to, bytes, at)
    })
}

#[unsafe(no_mangle)]
extern "C" fn pread64(fd: c_int, to: *mut c_void, bytes: size_t, at: off_t) -> ssize_t {
    pread(fd, to, bytes, at)
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
extern "C" fn __pread64_chk(
    fd: c_int,
    to: *mut c_void,
    bytes: size_t,
    at: off_t,
    room: size_t,
) -> ssize_t {
    __pread_chk(fd, to, bytes, at, room)
}

#[unsafe(no_mangle)]
extern "C" fn pwrite(fd: c_int, from: *const c_void, bytes: size_t, at: off_t) -> ssize_t {
    let extent = (Begin::At(at), Length::Bytes(bytes));
    transfer(fd, AccessKind::Write, extent, || {
        real::pwrite(fd, from, bytes, at)
    })
}

#[unsafe(no_mangle)]
extern "C" fn pwrite64(fd: c_int, from: *const c_void, bytes: size_t, at: off_t) -> ssize_t {
    pwrite(fd, from, bytes, at)
}

#[unsafe(no_mangle)]
extern "C" fn readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t {
    let extent = (Begin::Position, Length::Vector(to, count));
    transfer(fd, AccessKind::Read, extent, || real::readv(fd, to, count))
}

#[unsafe(no_mangle)]
extern "C" fn writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t {
    let extent = (Begin::Position, Length::Vector(from, count));
    transfer(fd, AccessKind::Write, extent, || {
        real::writev(fd, from, count)
    })
}

#[unsafe(no_mangle)]
extern "C" fn preadv(fd: c_int, to: *const iovec, count: c_int, at: off_t) -> ssize_t {
    let extent = (Begin::At(at), Length::Vector(to, count));
    transfer(fd, AccessKind::Read, extent, || {
        real::preadv(fd, to, count, at)
    })
}

#[unsafe(no_mangle)]
extern "C" fn preadv64(fd: c_int, to: *const iovec, count: c_int, at: off_t) -> ssize_t {
    preadv(fd, to, count, at)
}

#[unsafe(no_mangle)]
extern "C" fn pwritev(fd: c_int, from: *const iovec, count: c_int, at: off_t) -> ssize_t {
    let extent = (Begin::At(at), Length::Vector(from, count));
    transfer(fd, AccessKind::Write, extent, || {
        real::pwritev(fd, from, count, at)
    })
}

#[unsafe(no_mangle)]
extern "C" fn pwritev64(fd: c_int, from: *const iovec, count: c_int, at: off_t) -> ssize_t {
    pwritev(fd, from, count, at)
}

/// An offset of -1 means the descriptor's position.
fn begin(at: off_t) -> Begin {
    if at == -1 {
        Begin::Position
    } else {
        Begin::At(at)
    }
}

#[unsafe(no_mangle)]
extern "C" fn preadv2(
    fd: c_int,
    to: *const iovec,
    count: c_int,
    at: off_t,
    flags: c_int,
) -> ssize_t {
    let extent = (begin(at), Length::Vector(to, count));
    transfer(fd, AccessKind::Read, extent, || {
        real::preadv2(fd, to, count, at, flags)
    })
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
    let extent = (begin(at), Length::Vector(from, count));
    transfer(fd, AccessKind::Write, extent, || {
        real::pwritev2(fd, from, count, at, flags)
    })
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
