//! Crashes, mappings, and descriptors that become something else.

use crate::common::{Aligned, Bench, open, requests, tell};
use device::Role;
use device::page::Global;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

const LONG_BYTES: usize = 512 << 20;

extern "C" fn leave(_signal: libc::c_int) {
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) };
}

fn handle(signal: libc::c_int) {
    // SAFETY: the handler is one of one argument, and all zeros is a value.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = leave as *const () as usize;
        assert_eq!(libc::sigaction(signal, &raw const action, null_mut()), 0);
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now);
        assert_eq!(now.sa_sigaction, action.sa_sigaction);
    }
}

/// Signals a thread that is in a long read.
fn crash_in_a_read(file: &File) {
    let thread = AtomicI32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut bytes = vec![0; LONG_BYTES];
            // SAFETY: asks for a number.
            thread.store(unsafe { libc::gettid() }, Ordering::SeqCst);
            file.read_exact_at(&mut bytes, 0).unwrap();
        });
        while thread.load(Ordering::SeqCst) == 0 {
            std::hint::spin_loop();
        }
        std::thread::sleep(Duration::from_millis(50));
        let (process, thread) = (std::process::id(), thread.load(Ordering::SeqCst));
        // SAFETY: signals a thread of this process.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGSEGV) };
        std::thread::sleep(Duration::from_secs(5));
    });
}

fn map(flags: i32, file: &File) -> (bool, i32) {
    let fd = file.as_raw_fd();
    // SAFETY: a new mapping, which nobody uses.
    let at = unsafe { libc::mmap(null_mut(), 4096, libc::PROT_READ, flags, fd, 0) };
    let error = std::io::Error::last_os_error().raw_os_error();
    (at != libc::MAP_FAILED, error.unwrap_or(0))
}

pub fn job(name: &str, files: &Path) -> bool {
    let file = || open(&files.join("t.ibd"), libc::O_DIRECT);
    match name {
        "crash outside" => {
            handle(libc::SIGABRT);
            // SAFETY: signals this thread.
            unsafe { libc::raise(libc::SIGABRT) };
        }
        "crash inside" => {
            let file = file();
            file.set_len(LONG_BYTES as u64).unwrap();
            handle(libc::SIGSEGV);
            crash_in_a_read(&file);
        }
        "crash unhandled" => {
            // SAFETY: signals this thread.
            unsafe { libc::raise(libc::SIGFPE) };
        }
        "map" => {
            let file = file();
            file.set_len(4096).unwrap();
            assert_eq!(map(libc::MAP_SHARED, &file), (false, libc::ENODEV));
            assert!(map(libc::MAP_PRIVATE, &file).0);
            let other = open(&files.join("ib_logfile0"), 0);
            other.set_len(4096).unwrap();
            assert!(map(libc::MAP_SHARED, &other).0);
        }
        "become a socket" => {
            let closed = file();
            let fd = closed.as_raw_fd();
            drop(closed);
            let (mut one, _other) = UnixStream::pair().unwrap();
            assert_eq!(one.as_raw_fd(), fd);
            one.write_all(b"not for the disk").unwrap();
            // And a number that is taken over while it is open.
            let replaced = file();
            // SAFETY: both are open.
            assert!(unsafe { libc::dup2(fd, replaced.as_raw_fd()) } >= 0);
            (&replaced).write_all(b"nor this").unwrap();
            tell("done", 1);
        }
        "hide flags" => {
            let file = file();
            // SAFETY: asks for and sets flags of an open file.
            unsafe {
                let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
                assert_ne!(flags & libc::O_DIRECT, 0);
                let without = flags & !libc::O_DIRECT;
                assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_SETFL, without), 0);
                assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_GETFL), without);
                assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags), 0);
                let copy = libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 10);
                assert_eq!(libc::fcntl(copy, libc::F_GETFL), flags);
            }
            // Direct, so it costs; and from memory that no device takes.
            let buffer = Box::new(Aligned([1; 65536]));
            file.write_all_at(&buffer.0[1..4097], 0).unwrap();
        }
        "open what has no direct I/O" => {
            let direct = |path: &Path| {
                let mut options = std::fs::OpenOptions::new();
                options.read(true).custom_flags(libc::O_DIRECT).open(path)
            };
            let other = direct(Path::new("/proc/version")).unwrap_err();
            assert_eq!(other.raw_os_error(), Some(libc::EINVAL));
            assert!(direct(Path::new("/proc/sys/kernel/ostype")).is_ok());
            let missing = direct(Path::new("/proc/sys/kernel/none")).unwrap_err();
            assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
            tell("done", 1);
        }
        "read too much" => {
            let mut room = [0_u8; 16];
            // SAFETY: it ends the process before it reads.
            unsafe { __read_chk(file().as_raw_fd(), room.as_mut_ptr().cast(), 17, 16) };
        }
        _ => return false,
    }
    true
}

unsafe extern "C" {
    fn __read_chk(fd: i32, to: *mut libc::c_void, bytes: usize, room: usize) -> isize;
}

fn crash(bench: &Bench) -> (u64, u64) {
    let page = bench.page();
    (page.global(Global::CrashSignal), page.global(Global::CrashInside))
}

#[test]
fn crashes_inside_are_told_from_those_outside() {
    let bench = Bench::new(&[Role::Data]);
    assert_eq!(crash(&bench), (0, 0));
    assert!(bench.job("crash outside").status().unwrap().success());
    assert_eq!(crash(&bench), (libc::SIGABRT as u64, 0));
    drop(bench);
    let bench = Bench::new(&[Role::Data]);
    assert!(bench.job("crash inside").status().unwrap().success());
    assert_eq!(crash(&bench), (libc::SIGSEGV as u64, 1));
    drop(bench);
    let bench = Bench::new(&[Role::Data]);
    let status = bench.job("crash unhandled").status().unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    assert_eq!(signal, Some(libc::SIGFPE));
    assert_eq!(crash(&bench), (libc::SIGFPE as u64, 0));
}

#[test]
fn shared_mappings_of_emulated_files_are_refused() {
    let bench = Bench::new(&[Role::Data]);
    bench.run("map");
    assert_eq!(bench.page().global(Global::MapsRefused), 1);
}

#[test]
fn descriptors_of_something_else_are_not_files() {
    let bench = Bench::new(&[Role::Data]);
    assert_eq!(bench.run("become a socket").get("done"), 1);
    assert_eq!(requests(&bench.page(), Role::Data), [0, 0, 0]);
}

#[test]
fn direct_io_is_hidden_from_the_host_only() {
    let bench = Bench::new(&[Role::Data]);
    bench.run("hide flags");
    assert_eq!(requests(&bench.page(), Role::Data), [0, 1, 0]);
}

#[test]
fn direct_opens_that_the_host_refuses_are_for_emulated_files_only() {
    let mut bench = Bench::new(&[Role::Data]);
    bench.setup.directories.push("/proc/sys/kernel".to_owned());
    assert_eq!(bench.run("open what has no direct I/O").get("done"), 1);
}

#[test]
fn checked_reads_are_checked() {
    let bench = Bench::new(&[Role::Data]);
    let ended = bench.job("read too much").output().unwrap().status;
    assert_eq!(ended.signal(), Some(libc::SIGABRT));
}
