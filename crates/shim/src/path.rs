//! Paths of descriptors and names, as the kernel has them.

use crate::real;
use libc::{c_char, c_int};

const PATH_MAX: usize = 4096;

/// The path of an open descriptor.
pub(crate) struct PathOf {
    bytes: [u8; PATH_MAX],
    length: usize,
}

impl PathOf {
    /// The name by which a descriptor can be opened again, with a zero behind it.
    pub(crate) fn link_of(fd: c_int) -> Option<[u8; 26]> {
        let mut link = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
        let mut digits = [0; 20];
        let digits = decimal(u32::try_from(fd).ok()?.into(), &mut digits)?;
        let places = link.iter_mut().skip("/proc/self/fd/".len());
        for (place, digit) in places.zip(digits) {
            *place = *digit;
        }
        Some(link)
    }

    pub(crate) fn of_descriptor(fd: c_int) -> Option<PathOf> {
        let link = PathOf::link_of(fd)?;
        let mut path = PathOf { bytes: [0; PATH_MAX], length: 0 };
        // SAFETY: the link ends with a zero byte; the buffer has this length.
        let length = unsafe {
            libc::readlink(link.as_ptr().cast(), path.bytes.as_mut_ptr().cast(), PATH_MAX)
        };
        path.length = usize::try_from(length).ok()?;
        Some(path)
    }

    /// The path of what a name means, as far as it is one that can be looked at.
    pub(crate) fn of_name(at: c_int, name: *const c_char) -> Option<PathOf> {
        let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let fd = real::openat(at, name, flags, 0);
        if fd < 0 {
            return None;
        }
        let path = PathOf::of_descriptor(fd);
        real::close(fd);
        path
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// The digits of a number.
pub(crate) fn decimal(number: u64, digits: &mut [u8; 20]) -> Option<&[u8]> {
    let mut rest = number;
    let mut begin = digits.len();
    loop {
        begin -= 1;
        *digits.get_mut(begin)? = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return digits.get(begin..);
        }
    }
}
