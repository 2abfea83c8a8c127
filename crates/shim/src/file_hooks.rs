//! Functions that make and end descriptors and names.
//!
//! `open`, `openat` and `fcntl` take variable arguments in C; they travel as fixed ones do on
//! x86_64 and aarch64, so a missing one is some value that is not used.

use crate::path::PathOf;
use crate::state::{Inside, ShimState, state};
use crate::system::status;
use crate::{buffered, files, name_hooks, record, session};
use device::page::Global;
use libc::{FILE, c_char, c_int, c_uint, mode_t};
use preload::{errno, keeping_errno, set_errno};
use rustix::fs::FileType;

/// What the program may ask for and the host does not get where a file is emulated.
const STRIPPED: c_int = libc::O_DIRECT;

fn is_regular(fd: c_int) -> bool {
    status(fd).is_some_and(|status| FileType::from_raw_mode(status.st_mode).is_file())
}

/// A descriptor is closed, or not to be seen any longer. Pages of a file without a name go with its
/// last one.
fn closed(state: &ShimState, fd: c_int) {
    if let Some(place) = files::close(fd) {
        let _inside = Inside::enter();
        buffered::drop_file(state, place);
        files::release(place);
    }
}

/// Whether a descriptor is of a file that is emulated.
fn is_emulated(state: &ShimState, fd: c_int) -> bool {
    files::seen(fd).is_some_and(|open| state.is_file_emulated(open.file()))
}

/// A descriptor was made, `is_new` with its file. It is seen from now on where it is a regular file
/// below a watched directory.
fn opened(state: &ShimState, fd: c_int, flags: c_int, is_new: bool) {
    closed(state, fd);
    if flags & (libc::O_PATH | libc::O_DIRECTORY) == libc::O_PATH || !is_regular(fd) {
        return;
    }
    let Some(path) = PathOf::of_descriptor(fd) else {
        return;
    };
    let Some(relative) = state.relative(path.bytes()) else {
        return;
    };
    let Some((place, is_known)) = files::open(fd, relative, state.role_of(relative), flags) else {
        state.meter.add(Global::FilesUnseen, 1);
        return;
    };
    // Whatever had this place before may have left pages.
    if !is_known || flags & libc::O_TRUNC != 0 {
        buffered::drop_file(state, place);
    }
    if let Some(journal) = state.journal.as_ref().filter(|_| !is_known) {
        journal.ring.forget_place(place);
    }
    if flags & STRIPPED != 0 && is_emulated(state, fd) {
        strip(fd);
    }
    if is_new {
        record::created(state, fd, &path, place);
    }
}

/// The host serves an emulated file from its memory.
fn strip(fd: c_int) {
    let flags = real::fcntl(fd, libc::F_GETFL, 0);
    if flags >= 0 {
        real::fcntl(fd, libc::F_SETFL, (flags & !STRIPPED) as usize);
    }
}

/// A directory, and a name in it.
type NameAt = (c_int, *const c_char);

/// Whether opening makes the file. `name` is where it is opened; `None` where the C library makes a
/// name that nothing has.
fn is_made(name: Option<NameAt>, flags: c_int) -> bool {
    // SAFETY: the program passes a name.
    let is_free = |(at, name)| unsafe { libc::faccessat(at, name, libc::F_OK, 0) != 0 };
    name.is_none_or(|name| flags & libc::O_CREAT != 0 && keeping_errno(|| is_free(name)))
}

/// Opens by `call`, which gets the flags. Where changes are recorded, a file that is to be emptied
/// is so by a call of its own.
fn open_by(name: Option<NameAt>, flags: c_int, call: impl Fn(c_int) -> c_int) -> c_int {
    let Some(state) = state() else {
        return call(flags);
    };
    let _inside = Inside::enter();
    let is_recorded = state.journal.is_some();
    let is_new = is_recorded && is_made(name, flags);
    let empties = if is_recorded && !is_new { flags & libc::O_TRUNC } else { 0 };
    let fd = call(flags & !empties);
    if fd >= 0 {
        keeping_errno(|| {
            opened(state, fd, flags & !empties, is_new);
            // What cannot be emptied is no file, as with the flag.
            let _ = empty(state, fd, empties);
        });
    } else if errno() == libc::EINVAL && flags & STRIPPED != 0 {
        return open_refused(state, flags, call);
    }
    fd
}

/// A file system that has no direct I/O has refused the flag, as it may for files that are real.
/// Whose the file is can only be told once it is open, so until then nothing is changed: a file
/// that was to be made has been made by the call that was refused, and one that was to be emptied
/// has not been.
fn open_refused(state: &ShimState, flags: c_int, call: impl Fn(c_int) -> c_int) -> c_int {
    let mut without = STRIPPED | libc::O_TRUNC;
    if flags & libc::O_CREAT != 0 {
        without |= libc::O_CREAT | libc::O_EXCL;
    }
    let fd = call(flags & !without);
    let mut refused = libc::EINVAL;
    if fd >= 0 {
        opened(state, fd, flags & !libc::O_TRUNC, false);
        if is_emulated(state, fd) {
            match empty(state, fd, flags) {
                Ok(()) => return fd,
                Err(why) => refused = why,
            }
        }
        closed(state, fd);
        real::close(fd);
    }
    set_errno(refused);
    -1
}

/// Does what `O_TRUNC` asks for. Returns why it failed.
fn empty(state: &ShimState, fd: c_int, flags: c_int) -> Result<(), c_int> {
    if flags & libc::O_TRUNC != 0 {
        if name_hooks::truncate(fd, 0) < 0 {
            return Err(errno());
        }
        if let Some(open) = files::seen(fd) {
            buffered::drop_file(state, open.place());
        }
    }
    Ok(())
}

fn duplicated(from: c_int, to: c_int) -> c_int {
    if let Some(state) = state()
        && to >= 0
        && to != from
    {
        keeping_errno(|| closed(state, to));
        if !files::duplicate(from, to) {
            state.meter.add(Global::FilesUnseen, 1);
        }
    }
    to
}

/// What nothing makes a stream of.
const NO_STREAM: *mut FILE = std::ptr::null_mut();

preload::hooks! { "C"
    fn open(
        path: *const c_char, flags: c_int, mode: mode_t,
    ) -> c_int, or -1, also open64 {
        open_by(Some((libc::AT_FDCWD, path)), flags, |flags| real::open(path, flags, mode))
    }

    fn __open_2(path: *const c_char, flags: c_int) -> c_int, also __open64_2 {
        open(path, flags, 0)
    }

    fn openat(
        at: c_int, path: *const c_char, flags: c_int, mode: mode_t,
    ) -> c_int, or -1, also openat64 {
        open_by(Some((at, path)), flags, |flags| real::openat(at, path, flags, mode))
    }

    fn __openat_2(
        at: c_int, path: *const c_char, flags: c_int,
    ) -> c_int, also __openat64_2 {
        openat(at, path, flags, 0)
    }

    fn creat(path: *const c_char, mode: mode_t) -> c_int, also creat64 {
        open(path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode)
    }

    fn mkstemp(template: *mut c_char) -> c_int, also mkstemp64 {
        mkostemp(template, 0)
    }

    fn mkostemp(template: *mut c_char, flags: c_int) -> c_int, or -1, also mkostemp64 {
        open_by(None, flags, |flags| real::mkostemp(template, flags))
    }

    fn close(fd: c_int) -> c_int, or -1 {
        // Before the number can be another thread's.
        if let Some(state) = state() {
            session::ends(state, fd);
            closed(state, fd);
        }
        real::close(fd)
    }

    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int, or -1 {
        if let Some(state) = state()
            && flags & libc::CLOSE_RANGE_CLOEXEC as c_int == 0
        {
            let end = last.saturating_add(1).min(crate::limits::DESCRIPTORS_MAX as u32);
            for fd in first..end {
                closed(state, fd as c_int);
            }
        }
        real::close_range(first, last, flags)
    }

    fn closefrom(first: c_int) -> () {
        close_range(c_uint::try_from(first).unwrap_or(0), c_uint::MAX, 0);
    }

    fn dup(fd: c_int) -> c_int, or -1 {
        duplicated(fd, real::dup(fd))
    }

    fn dup2(from: c_int, to: c_int) -> c_int, or -1 {
        duplicated(from, real::dup2(from, to))
    }

    fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int, or -1 {
        duplicated(from, real::dup3(from, to, flags))
    }

    /// What is read and written through the C library's streams goes past the shim, from inside the
    /// C library.
    fn fdopen(fd: c_int, mode: *const c_char) -> *mut FILE, or NO_STREAM {
        let stream = real::fdopen(fd, mode);
        if let Some(state) = state().filter(|_| !stream.is_null()) {
            closed(state, fd);
        }
        stream
    }

    fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int, or -1, also fcntl64 {
        let Some(state) = state() else {
            return real::fcntl(fd, command, argument);
        };
        let open = files::seen(fd);
        match (command, open) {
            (libc::F_DUPFD | libc::F_DUPFD_CLOEXEC, _) => {
                duplicated(fd, real::fcntl(fd, command, argument))
            }
            (libc::F_SETFL, Some(open)) => {
                let flags = argument as c_int;
                let is_emulated = state.is_file_emulated(open.file());
                let passed = if is_emulated { flags & !STRIPPED } else { flags };
                let result = real::fcntl(fd, command, passed as usize);
                if result >= 0 {
                    files::set_flags(fd, flags);
                }
                result
            }
            (libc::F_GETFL, Some(open)) => {
                let flags = real::fcntl(fd, command, argument);
                let hides = open.is_direct() && state.is_file_emulated(open.file());
                if flags >= 0 && hides { flags | STRIPPED } else { flags }
            }
            _ => real::fcntl(fd, command, argument),
        }
    }
}
