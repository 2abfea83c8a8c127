//! Ways past the shim, which are refused so that the program takes one that is seen: mappings of
//! emulated files and io_uring. And `syscall`, by which programs call what the C library has no
//! function for.

use crate::state::{Inside, ShimState, state};
use crate::{aio_hooks, files, real};
use device::page::Global;
use libc::{c_int, c_long, c_uint, c_void, off_t, size_t};

#[unsafe(no_mangle)]
extern "C" fn mmap(
    near: *mut c_void,
    bytes: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    at: off_t,
) -> *mut c_void {
    if fd >= 0
        && let Some(state) = state()
        && is_refused(state, flags, fd)
    {
        state.meter.add(Global::MapsRefused, 1);
        real::set_errno(libc::ENODEV);
        return libc::MAP_FAILED;
    }
    real::mmap(near, bytes, protection, flags, fd, at)
}

#[unsafe(no_mangle)]
extern "C" fn mmap64(
    near: *mut c_void,
    bytes: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    at: off_t,
) -> *mut c_void {
    mmap(near, bytes, protection, flags, fd, at)
}

/// What is written or read through memory that files share with others is not seen. Private
/// mappings load programs and tables.
fn is_refused(state: &ShimState, flags: c_int, fd: c_int) -> bool {
    let kind = flags & libc::MAP_TYPE;
    if kind != libc::MAP_SHARED && kind != libc::MAP_SHARED_VALIDATE {
        return false;
    }
    let _inside = Inside::enter();
    let file = files::seen(fd).and_then(|open| state.emulated_file(open));
    file.is_some_and(|file| !file.may_be_mapped())
}

/// Counts and refuses an attempt to use io_uring, which would go past the shim. `None` where it
/// only forwards.
fn refuse_uring() -> Option<c_int> {
    state()?.meter.add(Global::UringRefused, 1);
    Some(-libc::ENOSYS)
}

#[unsafe(no_mangle)]
extern "C" fn io_uring_queue_init(entries: c_uint, ring: *mut c_void, flags: c_uint) -> c_int {
    refuse_uring().unwrap_or_else(|| real::io_uring_queue_init(entries, ring, flags))
}

#[unsafe(no_mangle)]
extern "C" fn io_uring_queue_init_params(
    entries: c_uint,
    ring: *mut c_void,
    params: *mut c_void,
) -> c_int {
    refuse_uring().unwrap_or_else(|| real::io_uring_queue_init_params(entries, ring, params))
}

#[unsafe(no_mangle)]
extern "C" fn io_uring_queue_init_mem(
    entries: c_uint,
    ring: *mut c_void,
    params: *mut c_void,
    buffer: *mut c_void,
    bytes: size_t,
) -> c_int {
    refuse_uring()
        .unwrap_or_else(|| real::io_uring_queue_init_mem(entries, ring, params, buffer, bytes))
}

/// As C has it: an error is -1 and `errno`.
fn as_system_call(result: c_int) -> c_long {
    if result < 0 {
        real::set_errno(-result);
        return -1;
    }
    c_long::from(result)
}

#[unsafe(no_mangle)]
extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    if state().is_none() {
        return real::syscall(number, a, b, c, d, e, f);
    }
    match number {
        libc::SYS_io_uring_setup => {
            if let Some(refused) = refuse_uring() {
                return as_system_call(refused);
            }
            real::syscall(number, a, b, c, d, e, f)
        }
        libc::SYS_io_setup => as_system_call(aio_hooks::io_setup(a as c_int, b as *mut u64)),
        libc::SYS_io_destroy => as_system_call(aio_hooks::io_destroy(a as u64)),
        libc::SYS_io_submit => as_system_call(aio_hooks::io_submit(a as u64, b, c as *mut _)),
        libc::SYS_io_getevents => {
            as_system_call(aio_hooks::io_getevents(a as u64, b, c, d as *mut _, e as *const _))
        }
        libc::SYS_io_cancel => {
            as_system_call(aio_hooks::io_cancel(a as u64, b as *mut _, c as *mut _))
        }
        _ => real::syscall(number, a, b, c, d, e, f),
    }
}
