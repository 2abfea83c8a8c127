//! Paths of descriptors and names, as the kernel has them.

use crate::system::system;
use libc::{c_char, c_int};
use std::ffi::CStr;
use std::io::Write;

const PATH_MAX: usize = 4096;
const NAME_MAX: usize = 1024;

/// A name that is made without allocation. What is behind it is zeros.
pub(crate) struct ShortName([u8; NAME_MAX]);

impl ShortName {
    /// The number of a file in a directory. `None` where the directory's name is too long.
    pub(crate) fn of_number(directory: &[u8], number: u64) -> Option<ShortName> {
        let mut name = ShortName([0; NAME_MAX]);
        let mut place = &mut name.0[..NAME_MAX - 1];
        place.write_all(directory).ok()?;
        write!(place, "/{number}").ok()?;
        Some(name)
    }

    pub(crate) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

/// The path of an open descriptor.
pub(crate) struct PathOf {
    bytes: [u8; PATH_MAX],
    length: usize,
}

impl PathOf {
    /// The name by which a descriptor can be opened again.
    pub(crate) fn link_of(fd: c_int) -> Option<ShortName> {
        ShortName::of_number(b"/proc/self/fd", u64::try_from(fd).ok()?)
    }

    pub(crate) fn of_descriptor(fd: c_int) -> Option<PathOf> {
        let link = PathOf::link_of(fd)?;
        let mut path = PathOf { bytes: [0; PATH_MAX], length: 0 };
        let link = link.as_c_str();
        path.length = rustix::fs::readlinkat_raw(rustix::fs::CWD, link, &mut path.bytes).ok()?;
        Some(path)
    }

    /// The path of what a name means, as far as it is one that can be looked at.
    pub(crate) fn of_name(at: c_int, name: *const c_char) -> Option<PathOf> {
        of_name(at, name, PathOf::of_descriptor)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Asks for something of what a name means, by a descriptor that only this has.
pub(crate) fn of_name<T>(
    at: c_int,
    name: *const c_char,
    ask: impl FnOnce(c_int) -> Option<T>,
) -> Option<T> {
    let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let fd = system(libc::SYS_openat, [at as usize, name as usize, flags as usize]);
    if fd < 0 {
        return None;
    }
    let answer = ask(fd as c_int);
    // SAFETY: opened here, and nobody else's.
    unsafe { rustix::io::close(fd as c_int) };
    answer
}
