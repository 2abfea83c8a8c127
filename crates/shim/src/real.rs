//! The functions that the shim stands in front of.

use libc::{
    FILE, c_char, c_int, c_long, c_uint, c_void, fd_set, iovec, mode_t, nfds_t, off_t, pollfd,
    sigset_t, size_t, ssize_t, timespec, timeval,
};
pub(crate) use preload::{errno, keeping_errno, set_errno};
use std::ptr::null_mut;

/// A system call past the function `syscall`, which is ours.
pub(crate) fn system<const N: usize>(number: c_long, arguments: [usize; N]) -> c_long {
    const { assert!(N <= 6) };
    let at = |index: usize| arguments.get(index).map_or(0, |argument| *argument as c_long);
    syscall(number, at(0), at(1), at(2), at(3), at(4), at(5))
}

preload::functions! { Behind:
    fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int, or -1;
    fn openat(at: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, or -1;
    fn mkostemps(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int, or -1;
    fn close(fd: c_int) -> c_int, or -1;
    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int, or -1;
    fn read(fd: c_int, to: *mut c_void, bytes: size_t) -> ssize_t, or -1;
    fn write(fd: c_int, from: *const c_void, bytes: size_t) -> ssize_t, or -1;
    fn pread(fd: c_int, to: *mut c_void, bytes: size_t, at: off_t) -> ssize_t, or -1;
    fn pwrite(fd: c_int, from: *const c_void, bytes: size_t, at: off_t) -> ssize_t, or -1;
    fn __read_chk(fd: c_int, to: *mut c_void, bytes: size_t, room: size_t) -> ssize_t, or -1;
    fn __pread_chk(
        fd: c_int, to: *mut c_void, bytes: size_t, at: off_t, room: size_t
    ) -> ssize_t, or -1;
    fn readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t, or -1;
    fn writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t, or -1;
    fn preadv(fd: c_int, to: *const iovec, count: c_int, at: off_t) -> ssize_t, or -1;
    fn pwritev(fd: c_int, from: *const iovec, count: c_int, at: off_t) -> ssize_t, or -1;
    fn preadv2(
        fd: c_int, to: *const iovec, count: c_int, at: off_t, flags: c_int
    ) -> ssize_t, or -1;
    fn pwritev2(
        fd: c_int, from: *const iovec, count: c_int, at: off_t, flags: c_int
    ) -> ssize_t, or -1;
    fn fsync(fd: c_int) -> c_int, or -1;
    fn fdatasync(fd: c_int) -> c_int, or -1;
    fn sync_file_range(fd: c_int, at: off_t, bytes: off_t, flags: c_uint) -> c_int, or -1;
    fn fallocate(fd: c_int, mode: c_int, at: off_t, bytes: off_t) -> c_int, or -1;
    fn posix_fallocate(fd: c_int, at: off_t, bytes: off_t) -> c_int, or libc::ENOSYS;
    fn posix_fadvise(fd: c_int, at: off_t, bytes: off_t, advice: c_int) -> c_int, or libc::ENOSYS;
    fn ftruncate(fd: c_int, bytes: off_t) -> c_int, or -1;
    fn lseek(fd: c_int, offset: off_t, whence: c_int) -> off_t, or -1;
    fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int, or -1;
    fn dup(fd: c_int) -> c_int, or -1;
    fn dup2(from: c_int, to: c_int) -> c_int, or -1;
    fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int, or -1;
    fn fdopen(fd: c_int, mode: *const c_char) -> *mut FILE, or null_mut();
    fn unlink(path: *const c_char) -> c_int, or -1;
    fn unlinkat(at: c_int, path: *const c_char, flags: c_int) -> c_int, or -1;
    fn remove(path: *const c_char) -> c_int, or -1;
    fn rename(from: *const c_char, to: *const c_char) -> c_int, or -1;
    fn recv(socket: c_int, to: *mut c_void, bytes: size_t, flags: c_int) -> ssize_t, or -1;
    fn poll(of: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int, or -1;
    fn ppoll(
        of: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t
    ) -> c_int, or -1;
    fn select(
        count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
        timeout: *mut timeval
    ) -> c_int, or -1;
    fn usleep(time_us: c_uint) -> c_int, or -1;
    fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int, or -1;
    fn mmap(
        near: *mut c_void, bytes: size_t, protection: c_int, flags: c_int, fd: c_int, at: off_t
    ) -> *mut c_void, or libc::MAP_FAILED;
    fn syscall(
        number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long
    ) -> c_long, or -1;
    fn sigaction(
        signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction
    ) -> c_int, or -1;
    fn io_uring_queue_init(
        entries: c_uint, ring: *mut c_void, flags: c_uint
    ) -> c_int, or -libc::ENOSYS;
    fn io_uring_queue_init_params(
        entries: c_uint, ring: *mut c_void, params: *mut c_void
    ) -> c_int, or -libc::ENOSYS;
    fn io_uring_queue_init_mem(
        entries: c_uint, ring: *mut c_void, params: *mut c_void, buffer: *mut c_void, bytes: size_t
    ) -> c_int, or -libc::ENOSYS;
}
