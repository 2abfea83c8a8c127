//! Sleeping, and waiting for descriptors and files.

use crate::common::{at_least_real, now_ns, ns, spec, takes, takes_at_least};
use libc::{c_int, c_long, timespec, timeval};
use std::ffi::CStr;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::ptr::{null, null_mut};
use std::thread::sleep;
use std::time::Duration;

pub const WAIT_NS: u64 = 5_000_000;
const WAIT_MS: c_int = 5;

unsafe extern "C" {
    fn thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int;
}

pub fn job() {
    sleeping();
    let (socket, _other) = UnixStream::pair().unwrap();
    polling(socket.as_raw_fd());
    socket_options(socket.as_raw_fd());
    by_number(socket.as_raw_fd());
    asynchronous(socket.as_raw_fd());
    libaio();
}

fn sleeping() {
    takes("thread::sleep", WAIT_NS, || sleep(Duration::from_nanos(WAIT_NS)));
    let time = spec(WAIT_NS);
    let none = null_mut();
    // SAFETY: the times are ours.
    unsafe {
        takes("nanosleep", WAIT_NS, || assert_eq!(libc::nanosleep(&raw const time, none), 0));
        takes("usleep", WAIT_NS, || assert_eq!(libc::usleep(WAIT_MS as u32 * 1_000), 0));
        takes("thrd_sleep", WAIT_NS, || assert_eq!(thrd_sleep(&raw const time, none), 0));
        for clock in [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME, libc::CLOCK_BOOTTIME] {
            takes("clock_nanosleep", WAIT_NS, || {
                assert_eq!(libc::clock_nanosleep(clock, 0, &raw const time, none), 0);
            });
            takes("clock_nanosleep until", WAIT_NS - 1_000_000, || {
                let until = spec(now_ns(clock) + WAIT_NS);
                let flags = libc::TIMER_ABSTIME;
                assert_eq!(libc::clock_nanosleep(clock, flags, &raw const until, none), 0);
                assert!(now_ns(clock) >= ns(until));
            });
        }
    }
}

fn polling(fd: c_int) {
    let time = spec(WAIT_NS);
    let mut of = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: descriptors and times are ours.
    unsafe {
        takes("poll", WAIT_NS, || assert_eq!(libc::poll(&raw mut of, 1, WAIT_MS), 0));
        takes("ppoll", WAIT_NS, || {
            assert_eq!(libc::ppoll(&raw mut of, 1, &raw const time, null()), 0);
        });
        let by_number =
            |timeout: *mut timeval| libc::syscall(libc::SYS_select, 0, 0, 0, 0, timeout);
        let by_name = |timeout: *mut timeval| {
            let none = null_mut();
            libc::c_long::from(libc::select(0, none, none, none, timeout))
        };
        let asked: [&dyn Fn(*mut timeval) -> c_long; 2] = [&by_name, &by_number];
        for select in asked {
            takes("select", WAIT_NS, || {
                let mut timeout = timeval { tv_sec: 0, tv_usec: i64::from(WAIT_MS) * 1_000 };
                assert_eq!(select(&raw mut timeout), 0);
                assert_eq!((timeout.tv_sec, timeout.tv_usec), (0, 0));
            });
        }
        takes("pselect", WAIT_NS, || {
            let none = null_mut();
            assert_eq!(libc::pselect(0, none, none, none, &raw const time, null()), 0);
        });
        let epoll = libc::epoll_create1(0);
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        assert_eq!(libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event), 0);
        let to = &raw mut event;
        takes("epoll_wait", WAIT_NS, || assert_eq!(libc::epoll_wait(epoll, to, 1, WAIT_MS), 0));
        takes("epoll_pwait", WAIT_NS, || {
            assert_eq!(libc::epoll_pwait(epoll, to, 1, WAIT_MS, null()), 0);
        });
        for number in [libc::SYS_epoll_wait, libc::SYS_epoll_pwait] {
            takes("epoll_wait by number", WAIT_NS, || {
                assert_eq!(libc::syscall(number, epoll, to, 1, WAIT_MS, 0, 8), 0);
            });
        }
        takes("epoll_pwait2", WAIT_NS, || {
            let result = libc::syscall(libc::SYS_epoll_pwait2, epoll, to, 1, &raw const time, 0, 8);
            assert_eq!(result, 0);
        });
        libc::close(epoll);
    }
}

fn socket_options(fd: c_int) {
    let timeout = timeval { tv_sec: 0, tv_usec: i64::from(WAIT_MS) * 1_000 };
    let mut told = timeval { tv_sec: 0, tv_usec: 0 };
    let mut bytes = size_of::<timeval>() as u32;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_RCVTIMEO);
    // SAFETY: the option is a time, which is ours.
    unsafe {
        let set = libc::setsockopt(fd, level, option, (&raw const timeout).cast(), bytes);
        assert_eq!(set, 0);
        let got = libc::getsockopt(fd, level, option, (&raw mut told).cast(), &raw mut bytes);
        assert_eq!(got, 0);
    }
    // The kernel keeps it in its own ticks, of which no machine has less than 100 a second.
    let most_us = 5_000 + at_least_real(10_000) as i64;
    assert!((5_000..=most_us).contains(&told.tv_usec), "{}", told.tv_usec);
    let mut byte = 0_u8;
    takes_at_least("SO_RCVTIMEO", WAIT_NS - 1_000, || {
        // SAFETY: there is room for a byte.
        assert_eq!(unsafe { libc::recv(fd, (&raw mut byte).cast(), 1, 0) }, -1);
    });
    // SAFETY: the option is a time, and there is a byte.
    unsafe {
        let value = (&raw const timeout).cast();
        assert_eq!(libc::setsockopt(fd, level, libc::SO_SNDTIMEO, value, bytes), 0);
        let send = |flags| libc::send(fd, (&raw const byte).cast(), 1, flags);
        while send(libc::MSG_DONTWAIT) == 1 {}
        takes_at_least("SO_SNDTIMEO", WAIT_NS - 1_000, || assert_eq!(send(0), -1));
    }
    other_option(fd);
}

/// A value of the size of a time is none by that.
fn other_option(fd: c_int) {
    let linger = timeval { tv_sec: 1 | (123 << 32), tv_usec: 0 };
    let (mut told, mut bytes) = (timeval { tv_sec: 0, tv_usec: 0 }, size_of::<timeval>() as u32);
    let (level, option) = (libc::SOL_SOCKET, libc::SO_LINGER);
    // SAFETY: the option is two numbers, for which there is room.
    unsafe {
        let set = libc::setsockopt(fd, level, option, (&raw const linger).cast(), bytes);
        assert_eq!(set, 0);
        let got = libc::getsockopt(fd, level, option, (&raw mut told).cast(), &raw mut bytes);
        assert_eq!((got, told.tv_sec), (0, linger.tv_sec));
    }
}

fn by_number(fd: c_int) {
    let word = 7_u32;
    let of = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let futex = |operation: c_int, time: timespec| {
        let (word, time) = (&raw const word, &raw const time);
        // SAFETY: word and time are ours.
        let result =
            unsafe { libc::syscall(libc::SYS_futex, word, operation, 7, time, 0, u32::MAX) };
        assert_eq!(result, -1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ETIMEDOUT));
    };
    takes("futex", WAIT_NS, || futex(libc::FUTEX_WAIT, spec(WAIT_NS)));
    for (flag, clock) in
        [(0, libc::CLOCK_MONOTONIC), (libc::FUTEX_CLOCK_REALTIME, libc::CLOCK_REALTIME)]
    {
        takes("futex until", WAIT_NS - 1_000_000, || {
            let until = spec(now_ns(clock) + WAIT_NS);
            futex(libc::FUTEX_WAIT_BITSET | flag, until);
            assert!(now_ns(clock) >= ns(until));
        });
    }
    let mut time = spec(WAIT_NS);
    // SAFETY: as above.
    unsafe {
        takes("nanosleep by number", WAIT_NS, || {
            assert_eq!(libc::syscall(libc::SYS_nanosleep, &raw const time, 0), 0);
        });
        takes("clock_nanosleep by number", WAIT_NS, || {
            let clock = libc::CLOCK_MONOTONIC;
            assert_eq!(libc::syscall(libc::SYS_clock_nanosleep, clock, 0, &raw const time, 0), 0);
        });
        takes("poll by number", WAIT_NS, || {
            assert_eq!(libc::syscall(libc::SYS_poll, &raw const of, 1, WAIT_MS), 0);
        });
        takes("ppoll by number", WAIT_NS, || {
            time = spec(WAIT_NS);
            let (of, time) = (&raw const of, &raw mut time);
            assert_eq!(libc::syscall(libc::SYS_ppoll, of, 1, time, 0, 8), 0);
        });
    }
    // The kernel wrote that nothing is left of it.
    assert_eq!(ns(time), 0);
    futex_wait(&word);
    let no_time = timespec { tv_sec: 0, tv_nsec: 1_000_000_000 };
    // SAFETY: the time is ours.
    let refused = unsafe {
        libc::syscall(libc::SYS_clock_nanosleep, libc::CLOCK_MONOTONIC, 0, &raw const no_time, 0)
    };
    let error = std::io::Error::last_os_error().raw_os_error();
    assert_eq!((refused, error), (-1, Some(libc::EINVAL)));
}

/// `futex_wait` of Linux 6.7; older ones do not have it.
fn futex_wait(word: &u32) {
    const NUMBER: c_long = 455;
    const FUTEX2_SIZE_U32: c_int = 2;
    let wait = |until: timespec| {
        let (word, until) = (&raw const *word, &raw const until);
        let (mask, clock) = (u64::from(u32::MAX), libc::CLOCK_MONOTONIC);
        // SAFETY: word and time are ours.
        let result =
            unsafe { libc::syscall(NUMBER, word, 7_u64, mask, FUTEX2_SIZE_U32, until, clock) };
        assert_eq!(result, -1);
        std::io::Error::last_os_error().raw_os_error()
    };
    if wait(spec(1)) == Some(libc::ENOSYS) {
        return;
    }
    takes("futex_wait", WAIT_NS - 1_000_000, || {
        let until_ns = now_ns(libc::CLOCK_MONOTONIC) + WAIT_NS;
        assert_eq!(wait(spec(until_ns)), Some(libc::ETIMEDOUT));
        assert!(now_ns(libc::CLOCK_MONOTONIC) >= until_ns);
    });
}

/// POSIX requests: one that does not end.
fn asynchronous(fd: c_int) {
    let mut byte = 0_u8;
    // SAFETY: all zeros is a control block.
    let mut block: libc::aiocb = unsafe { std::mem::zeroed() };
    block.aio_fildes = fd;
    block.aio_buf = (&raw mut byte).cast();
    block.aio_nbytes = 1;
    let time = spec(WAIT_NS);
    // SAFETY: the block outlives the request, whose socket's time is over before.
    unsafe {
        assert_eq!(libc::aio_read(&raw mut block), 0);
        let list = [&raw const block];
        takes_at_least("aio_suspend", 1_000_000, || {
            libc::aio_suspend(list.as_ptr(), 1, &raw const time);
        });
        while libc::aio_error(&raw const block) == libc::EINPROGRESS {
            sleep(Duration::from_millis(1));
        }
        libc::aio_return(&raw mut block);
    }
}

/// By the function and by its number.
fn libaio() {
    type GetEvents = extern "C" fn(u64, c_long, c_long, *mut [u64; 4], *const timespec) -> c_int;
    let mut context = 0_u64;
    let time = spec(WAIT_NS);
    let mut event = [0_u64; 4];
    let (to, until) = (&raw mut event, &raw const time);
    let name: &CStr = c"io_getevents";
    // SAFETY: context, event and time are ours, and the function has this type.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_io_setup, 1, &raw mut context), 0);
        takes("io_getevents by number", WAIT_NS, || {
            assert_eq!(libc::syscall(libc::SYS_io_getevents, context, 1, 1, to, until), 0);
        });
        let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        assert!(!found.is_null());
        let get = std::mem::transmute::<*mut libc::c_void, GetEvents>(found);
        takes("io_getevents", WAIT_NS, || assert_eq!(get(context, 1, 1, to, until), 0));
        assert_eq!(get(0, 1, 1, to, until), -libc::EINVAL);
        libc::syscall(libc::SYS_io_destroy, context);
    }
}
