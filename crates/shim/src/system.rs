//! The shim's own system calls. They go past what is preloaded, the shim itself included.

use libc::{c_int, c_long, c_void};
use rustix::fd::BorrowedFd;
use rustix::fs::{SeekFrom, Stat};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::{File, OpenOptions};

preload::functions! {
    fn syscall(
        number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long,
    ) -> c_long, or -1;
}

/// A system call that the clock behind the shim is to see, or with what the program points to.
pub(crate) fn system<const N: usize>(number: c_long, arguments: [usize; N]) -> c_long {
    const { assert!(N <= 6) };
    let at = |index: usize| arguments.get(index).map_or(0, |argument| *argument as c_long);
    syscall(number, at(0), at(1), at(2), at(3), at(4), at(5))
}

/// A descriptor for the duration of a call.
fn borrow(fd: c_int) -> Option<BorrowedFd<'static>> {
    // SAFETY: it is no -1. Where the program closes it meanwhile the call fails, or is of another
    // file, as in the program itself.
    (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })
}

pub(crate) fn status(fd: c_int) -> Option<Stat> {
    rustix::fs::fstat(borrow(fd)?).ok()
}

/// Moves a descriptor's position. Returns where it is then.
pub(crate) fn seek(fd: c_int, to: SeekFrom) -> Option<u64> {
    rustix::fs::seek(borrow(fd)?, to).ok()
}

/// Reads what is there, until the end of the file, and returns how much. `None` where that fails.
pub(crate) fn read_all(fd: c_int, mut to: &mut [u8], mut from: u64) -> rustix::io::Result<u64> {
    let fd = borrow(fd).ok_or(rustix::io::Errno::BADF)?;
    let begin = from;
    while !to.is_empty() {
        match rustix::io::pread(fd, &mut *to, from)? {
            0 => break,
            got => {
                to = &mut to[got..];
                from += got as u64;
            }
        }
    }
    Ok(from - begin)
}

/// Maps a file of that many bytes for good, at an address unless that is null.
pub(crate) fn map_shared(
    path: &str,
    bytes: usize,
    at: *mut c_void,
) -> Result<(File, *mut c_void), String> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    if length != bytes as u64 {
        return Err(format!("it has {length} bytes, not {bytes}"));
    }
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let fixed = if at.is_null() { MapFlags::empty() } else { MapFlags::FIXED_NOREPLACE };
    // SAFETY: nothing that is mapped already is replaced.
    let mapped =
        unsafe { rustix::mm::mmap(at, bytes, protection, MapFlags::SHARED | fixed, &file, 0) };
    let mapped = mapped.map_err(|error| error.to_string())?;
    // Kernels before 4.17 take the address as a wish.
    if !at.is_null() && mapped != at {
        return Err(format!("the address {at:p} is taken in this process"));
    }
    Ok((file, mapped))
}
