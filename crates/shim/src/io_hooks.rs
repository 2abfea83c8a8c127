//! Functions that read, write and flush.

use crate::faults;
use crate::system::seek;
use crate::transfer::Offset::{self, Absolute, Current};
use crate::transfer::TransferLength::{Bytes, Vector};
use crate::transfer::{sync, transfer};
use device::page::AccessKind::{Read, Write};
use libc::{c_int, c_void, iovec, off_t, size_t, ssize_t};
use rustix::fs::SeekFrom;

/// An offset of -1 means the descriptor's position.
fn offset(at: off_t) -> Offset {
    if at == -1 { Current } else { Absolute(at) }
}

preload::hooks! { "C"
    fn read(fd: c_int, to: *mut c_void, bytes: size_t) -> ssize_t, or -1 {
        transfer(fd, Read, Current, Bytes(bytes), || real::read(fd, to, bytes))
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
        transfer(fd, Write, Current, Bytes(bytes), || {
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
        transfer(fd, Read, Absolute(at), Bytes(bytes), || real::pread(fd, to, bytes, at))
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
        transfer(fd, Write, Absolute(at), Bytes(bytes), || {
            let offset = u64::try_from(at).unwrap_or(0);
            faults::write(fd, offset, bytes, |done| real::pwrite(fd, from, done, at))
        })
    }

    fn readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t, or -1 {
        transfer(fd, Read, Current, Vector(to, count), || real::readv(fd, to, count))
    }

    fn writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t, or -1 {
        transfer(fd, Write, Current, Vector(from, count), || real::writev(fd, from, count))
    }

    fn preadv(
        fd: c_int, to: *const iovec, count: c_int, at: off_t,
    ) -> ssize_t, or -1, also preadv64 {
        transfer(fd, Read, Absolute(at), Vector(to, count), || real::preadv(fd, to, count, at))
    }

    fn pwritev(
        fd: c_int, from: *const iovec, count: c_int, at: off_t,
    ) -> ssize_t, or -1, also pwritev64 {
        transfer(fd, Write, Absolute(at), Vector(from, count), || {
            real::pwritev(fd, from, count, at)
        })
    }

    fn preadv2(
        fd: c_int, to: *const iovec, count: c_int, at: off_t, flags: c_int,
    ) -> ssize_t, or -1, also preadv64v2 {
        transfer(fd, Read, offset(at), Vector(to, count), || {
            real::preadv2(fd, to, count, at, flags)
        })
    }

    fn pwritev2(
        fd: c_int, from: *const iovec, count: c_int, at: off_t, flags: c_int,
    ) -> ssize_t, or -1, also pwritev64v2 {
        transfer(fd, Write, offset(at), Vector(from, count), || {
            real::pwritev2(fd, from, count, at, flags)
        })
    }

    fn fsync(fd: c_int) -> c_int, or -1 {
        sync(fd, || real::fsync(fd))
    }

    fn fdatasync(fd: c_int) -> c_int, or -1 {
        sync(fd, || real::fdatasync(fd))
    }
}
