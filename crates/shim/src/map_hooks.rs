//! Ways past the shim, which are refused so that the program takes one that is seen: mappings of
//! emulated files and io_uring. And `syscall`, by which programs call what the C library has no
//! function for.

use crate::state::{Inside, ShimState, state};
use crate::system::syscall as real_syscall;
use crate::{aio_hooks, blocked, files};
use device::page::Global;
use libc::{MAP_FAILED, c_int, c_long, c_uint, c_void, off_t, size_t};
use preload::{as_system_call, set_errno};

/// What is written or read through memory that files share with others is not seen. Private
/// mappings load programs and tables.
fn is_refused(state: &ShimState, flags: c_int, fd: c_int) -> bool {
    let kind = flags & libc::MAP_TYPE;
    if kind != libc::MAP_SHARED && kind != libc::MAP_SHARED_VALIDATE {
        return false;
    }
    let _inside = Inside::enter();
    let file = files::seen(fd).map(files::Open::file);
    file.is_some_and(|file| state.is_file_emulated(file) && !file.may_be_mapped())
}

/// Counts and refuses an attempt to use io_uring, which would go past the shim. `None` where
/// every call is passed through.
fn refuse_uring() -> Option<c_int> {
    state()?.meter.add(Global::UringRefused, 1);
    Some(NO_URING)
}

const NO_URING: c_int = -libc::ENOSYS;

preload::hooks! { "C"
    fn mmap(
        near: *mut c_void, bytes: size_t, protection: c_int, flags: c_int, fd: c_int, at: off_t,
    ) -> *mut c_void, or MAP_FAILED, also mmap64 {
        if fd >= 0
            && let Some(state) = state()
            && is_refused(state, flags, fd)
        {
            state.meter.add(Global::MapsRefused, 1);
            set_errno(libc::ENODEV);
            return MAP_FAILED;
        }
        real::mmap(near, bytes, protection, flags, fd, at)
    }

    fn io_uring_queue_init(
        entries: c_uint, ring: *mut c_void, flags: c_uint,
    ) -> c_int, or NO_URING {
        refuse_uring().unwrap_or_else(|| real::io_uring_queue_init(entries, ring, flags))
    }

    fn io_uring_queue_init_params(
        entries: c_uint, ring: *mut c_void, params: *mut c_void,
    ) -> c_int, or NO_URING {
        refuse_uring().unwrap_or_else(|| real::io_uring_queue_init_params(entries, ring, params))
    }

    fn io_uring_queue_init_mem(
        entries: c_uint, ring: *mut c_void, params: *mut c_void, buffer: *mut c_void,
        bytes: size_t,
    ) -> c_int, or NO_URING {
        refuse_uring()
            .unwrap_or_else(|| real::io_uring_queue_init_mem(entries, ring, params, buffer, bytes))
    }

    fn syscall(
        number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long,
    ) -> c_long {
        if state().is_none() {
            return real_syscall(number, a, b, c, d, e, f);
        }
        as_system_call(match number {
            libc::SYS_futex => {
                return blocked::futex(b, || real_syscall(number, a, b, c, d, e, f));
            }
            libc::SYS_io_uring_setup => refuse_uring().unwrap_or(NO_URING),
            libc::SYS_io_setup => aio_hooks::io_setup(a as _, b as _),
            libc::SYS_io_destroy => aio_hooks::io_destroy(a as _),
            libc::SYS_io_submit => aio_hooks::io_submit(a as _, b, c as _),
            libc::SYS_io_getevents => aio_hooks::io_getevents(a as _, b, c, d as _, e as _),
            libc::SYS_io_cancel => aio_hooks::io_cancel(a as _, b as _, c as _),
            _ => return real_syscall(number, a, b, c, d, e, f),
        })
    }
}
