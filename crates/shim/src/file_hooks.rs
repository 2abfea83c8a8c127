//! Functions that make and end descriptors and names.
//!
//! `open`, `openat` and `fcntl` take variable arguments in C; they travel as fixed ones do on
//! x86_64 and aarch64, so a missing one is some value that is not used.

use crate::buffered;
use crate::files::{self, TooMany};
use crate::path::PathOf;
use crate::real;
use crate::record;
use crate::session;
use crate::state::{Inside, ShimState, state};
use device::page::Global;
use libc::{FILE, c_char, c_int, c_uint, mode_t};

/// What the program may ask for and the host does not get where a file is emulated.
const STRIPPED: c_int = libc::O_DIRECT;

fn is_regular(fd: c_int) -> bool {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the status is ours, and read only where it was written.
    unsafe {
        libc::fstat(fd, status.as_mut_ptr()) == 0
            && status.assume_init().st_mode & libc::S_IFMT == libc::S_IFREG
    }
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
    files::seen(fd).is_some_and(|open| state.emulated_file(open).is_some())
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
    let role = state.every_file.unwrap_or_else(|| crate::names::role_of(relative));
    match files::open(fd, relative, role, flags) {
        // Whatever had this place before may have left pages.
        Ok(Some(place)) => {
            buffered::drop_file(state, place);
            if let Some(journal) = &state.journal {
                journal.ring.forget_place(place);
            }
        }
        Ok(None) => {
            let emptied = files::seen(fd).filter(|_| flags & libc::O_TRUNC != 0);
            if let Some(open) = emptied {
                buffered::drop_file(state, open.place());
            }
        }
        Err(TooMany) => {
            state.meter.add(Global::FilesUnseen, 1);
            return;
        }
    }
    if flags & STRIPPED != 0 && is_emulated(state, fd) {
        strip(fd);
    }
    if let Some(open) = files::seen(fd).filter(|_| is_new) {
        record::created(state, fd, &path, open.place());
    }
}

/// The host serves an emulated file from its memory.
fn strip(fd: c_int) {
    let flags = real::fcntl(fd, libc::F_GETFL, 0);
    if flags >= 0 {
        real::fcntl(fd, libc::F_SETFL, (flags & !STRIPPED) as usize);
    }
}

/// A name that is opened.
#[derive(Clone, Copy)]
enum OpenedName {
    At(c_int, *const c_char),
    /// One that nothing has yet.
    New,
}

impl OpenedName {
    /// Whether opening makes the file.
    fn is_made(self, flags: c_int) -> bool {
        match self {
            OpenedName::New => true,
            OpenedName::At(..) if flags & libc::O_CREAT == 0 => false,
            OpenedName::At(at, name) => {
                // SAFETY: the program passes a name.
                real::keeping_errno(|| unsafe { libc::faccessat(at, name, libc::F_OK, 0) != 0 })
            }
        }
    }
}

/// Opens by `call`, which gets the flags. Where changes are recorded, a file that is to be emptied
/// is so by a call of its own.
fn open_by(name: OpenedName, flags: c_int, call: impl Fn(c_int) -> c_int) -> c_int {
    let Some(state) = state() else {
        return call(flags);
    };
    let _inside = Inside::enter();
    let is_recorded = state.journal.is_some();
    let is_new = is_recorded && name.is_made(flags);
    let empties = if is_recorded && !is_new { flags & libc::O_TRUNC } else { 0 };
    let fd = call(flags & !empties);
    if fd >= 0 {
        real::keeping_errno(|| {
            opened(state, fd, flags & !empties, is_new);
            // What cannot be emptied is no file, as with the flag.
            let _ = empty(state, fd, empties);
        });
    } else if real::errno() == libc::EINVAL && flags & STRIPPED != 0 {
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
    let mut errno = libc::EINVAL;
    if fd >= 0 {
        opened(state, fd, flags & !libc::O_TRUNC, false);
        if is_emulated(state, fd) {
            match empty(state, fd, flags) {
                Ok(()) => return fd,
                Err(why) => errno = why,
            }
        }
        closed(state, fd);
        real::close(fd);
    }
    real::set_errno(errno);
    -1
}

/// Does what `O_TRUNC` asks for. Returns why it failed.
fn empty(state: &ShimState, fd: c_int, flags: c_int) -> Result<(), c_int> {
    if flags & libc::O_TRUNC != 0 {
        if record::truncate(fd, 0) < 0 {
            return Err(real::errno());
        }
        if let Some(open) = files::seen(fd) {
            buffered::drop_file(state, open.place());
        }
    }
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    open_by(OpenedName::At(libc::AT_FDCWD, path), flags, |flags| real::open(path, flags, mode))
}

#[unsafe(no_mangle)]
extern "C" fn __open_2(path: *const c_char, flags: c_int) -> c_int {
    open_by(OpenedName::At(libc::AT_FDCWD, path), flags, |flags| real::open(path, flags, 0))
}

#[unsafe(no_mangle)]
extern "C" fn openat(at: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    open_by(OpenedName::At(at, path), flags, |flags| real::openat(at, path, flags, mode))
}

#[unsafe(no_mangle)]
extern "C" fn __openat_2(at: c_int, path: *const c_char, flags: c_int) -> c_int {
    open_by(OpenedName::At(at, path), flags, |flags| real::openat(at, path, flags, 0))
}

#[unsafe(no_mangle)]
extern "C" fn creat(path: *const c_char, mode: mode_t) -> c_int {
    open(path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode)
}

#[unsafe(no_mangle)]
extern "C" fn mkstemp(template: *mut c_char) -> c_int {
    open_by(OpenedName::New, 0, |flags| real::mkostemps(template, 0, flags))
}

#[unsafe(no_mangle)]
extern "C" fn mkostemp(template: *mut c_char, flags: c_int) -> c_int {
    open_by(OpenedName::New, flags, |flags| real::mkostemps(template, 0, flags))
}

#[unsafe(no_mangle)]
extern "C" fn close(fd: c_int) -> c_int {
    // Before the number can be another thread's.
    if let Some(state) = state() {
        session::ends(state, fd);
        closed(state, fd);
    }
    real::close(fd)
}

#[unsafe(no_mangle)]
extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
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

#[unsafe(no_mangle)]
extern "C" fn closefrom(first: c_int) {
    close_range(c_uint::try_from(first).unwrap_or(0), c_uint::MAX, 0);
}

#[unsafe(no_mangle)]
extern "C" fn dup(fd: c_int) -> c_int {
    duplicated(fd, real::dup(fd))
}

#[unsafe(no_mangle)]
extern "C" fn dup2(from: c_int, to: c_int) -> c_int {
    duplicated(from, real::dup2(from, to))
}

#[unsafe(no_mangle)]
extern "C" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    duplicated(from, real::dup3(from, to, flags))
}

fn duplicated(from: c_int, to: c_int) -> c_int {
    if let Some(state) = state()
        && to >= 0
        && to != from
    {
        real::keeping_errno(|| closed(state, to));
        if files::duplicate(from, to) == Err(TooMany) {
            state.meter.add(Global::FilesUnseen, 1);
        }
    }
    to
}

/// What is read and written through the C library's streams goes past the shim, from inside the C
/// library.
#[unsafe(no_mangle)]
extern "C" fn fdopen(fd: c_int, mode: *const c_char) -> *mut FILE {
    let stream = real::fdopen(fd, mode);
    if let Some(state) = state().filter(|_| !stream.is_null()) {
        closed(state, fd);
    }
    stream
}

#[unsafe(no_mangle)]
extern "C" fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
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
            let is_emulated = state.emulated_file(open).is_some();
            let passed = if is_emulated { flags & !STRIPPED } else { flags };
            let result = real::fcntl(fd, command, passed as usize);
            if result >= 0 {
                files::set_flags(fd, flags);
            }
            result
        }
        (libc::F_GETFL, Some(open)) => {
            let flags = real::fcntl(fd, command, argument);
            let hides = open.is_direct() && state.emulated_file(open).is_some();
            if flags >= 0 && hides { flags | STRIPPED } else { flags }
        }
        _ => real::fcntl(fd, command, argument),
    }
}

also! {
    fn open64 = open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    fn __open64_2 = __open_2(path: *const c_char, flags: c_int) -> c_int;
    fn openat64 = openat(at: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    fn __openat64_2 = __openat_2(at: c_int, path: *const c_char, flags: c_int) -> c_int;
    fn creat64 = creat(path: *const c_char, mode: mode_t) -> c_int;
    fn mkstemp64 = mkstemp(template: *mut c_char) -> c_int;
    fn mkostemp64 = mkostemp(template: *mut c_char, flags: c_int) -> c_int;
    fn fcntl64 = fcntl(fd: c_int, command: c_int, argument: usize) -> c_int;
}
