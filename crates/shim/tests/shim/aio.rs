//! Asynchronous I/O by libaio.

use crate::common::{Aligned, Bench, open, requests, tell, timed};
use device::Role;
use device::page::{Kind, OfKind, OfRole};
use std::ffi::{CStr, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

type Setup = extern "C" fn(i32, *mut u64) -> i32;
type Destroy = extern "C" fn(u64) -> i32;
type Submit = extern "C" fn(u64, i64, *mut *mut Iocb) -> i32;
type GetEvents = extern "C" fn(u64, i64, i64, *mut Event, *const libc::timespec) -> i32;

/// A context, by the functions of libaio as a program finds them.
struct Context {
    id: u64,
    destroy: Destroy,
    submit: Submit,
    get_events: GetEvents,
}

fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: the names end with zeros.
    unsafe {
        let flags = libc::RTLD_NOW | libc::RTLD_GLOBAL;
        let library = libc::dlopen(c"libaio.so.1".as_ptr(), flags);
        assert!(
            !library.is_null(),
            "libaio.so.1 is missing (package libaio1)"
        );
        let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        assert!(!found.is_null(), "{name:?}");
        found
    }
}

impl Context {
    fn new() -> Context {
        // SAFETY: these are their types.
        let (setup, destroy, submit, get_events) = unsafe {
            (
                std::mem::transmute::<*mut c_void, Setup>(symbol(c"io_setup")),
                std::mem::transmute::<*mut c_void, Destroy>(symbol(c"io_destroy")),
                std::mem::transmute::<*mut c_void, Submit>(symbol(c"io_submit")),
                std::mem::transmute::<*mut c_void, GetEvents>(symbol(c"io_getevents")),
            )
        };
        let mut id = 0;
        assert_eq!(setup(128, &raw mut id), 0);
        Context {
            id,
            destroy,
            submit,
            get_events,
        }
    }

    fn submit(&self, blocks: &mut [Iocb]) -> i32 {
        let mut pointers: Vec<*mut Iocb> = blocks.iter_mut().map(|block| &raw mut *block).collect();
        (self.submit)(self.id, pointers.len() as i64, pointers.as_mut_ptr())
    }

    fn get(&self, min: i64, events: &mut [Event], timeout_ms: Option<i64>) -> i32 {
        let timeout = timeout_ms.map(|ms| libc::timespec {
            tv_sec: 0,
            tv_nsec: ms * 1_000_000,
        });
        let timeout = timeout
            .as_ref()
            .map_or(std::ptr::null(), |time| &raw const *time);
        (self.get_events)(
            self.id,
            min,
            events.len() as i64,
            events.as_mut_ptr(),
            timeout,
        )
    }
}

fn block(file: &File, opcode: u16, (buffer, bytes): (*const u8, u64), offset: u64) -> Iocb {
    Iocb {
        data: offset,
        opcode,
        fd: file.as_raw_fd() as u32,
        buffer: buffer as u64,
        bytes,
        offset: offset as i64,
        ..Iocb::default()
    }
}

pub fn job(name: &str, files: &Path) -> bool {
    let file = || open(&files.join("t.ibd"), libc::O_DIRECT);
    let mut memory: Vec<Aligned> = (0..32).map(|_| Aligned([3; 65536])).collect();
    let mut events = [Event::default(); 64];
    match name {
        "read at once" => {
            let (context, file) = (Context::new(), file());
            let read = |(n, memory): (usize, &mut Aligned)| {
                block(&file, 0, (memory.0.as_mut_ptr(), 16384), n as u64 * 16384)
            };
            let mut blocks: Vec<Iocb> = memory.iter_mut().enumerate().map(read).collect();
            timed("submit_ns", || assert_eq!(context.submit(&mut blocks), 32));
            timed("wait_ns", || {
                assert_eq!(context.get(32, &mut events, None), 32);
            });
            for event in &events[..32] {
                assert_eq!(event.result, 16384);
                // SAFETY: the blocks are still there.
                assert_eq!(unsafe { (*(event.object as *const Iocb)).data }, event.data);
            }
            assert!(memory.iter().all(|memory| memory.0[..16384] == [7; 16384]));
            // Nothing is left, and times are kept.
            let began = Instant::now();
            assert_eq!(context.get(1, &mut events, Some(20)), 0);
            assert!(began.elapsed() >= Duration::from_millis(20));
        }
        "short behind long" => {
            let (context, file) = (Context::new(), file());
            let long = vec![1_u8; 8 << 20];
            let short = (memory[0].0.as_ptr(), 512);
            let mut blocks = [
                block(&file, 0, (long.as_ptr(), long.len() as u64), 0),
                block(&file, 1, short, 512),
                block(&file, 3, (std::ptr::null(), 0), 0),
            ];
            // Where the host needs longer for the long one than the device, it is due first.
            let long_came_last = (0..20).any(|_| {
                assert_eq!(context.submit(&mut blocks), 3);
                let mut last = 0;
                for _ in 0..3 {
                    assert_eq!(context.get(1, &mut events[..1], None), 1);
                    last = events[0].object;
                }
                last == &raw const blocks[0] as u64
            });
            assert!(long_came_last);
        }
        _ => return more_jobs(name, files),
    }
    true
}

fn more_jobs(name: &str, files: &Path) -> bool {
    let file = || open(&files.join("t.ibd"), libc::O_DIRECT);
    let memory: Vec<Aligned> = (0..32).map(|_| Aligned([3; 65536])).collect();
    let mut events = [Event::default(); 64];
    match name {
        "wake" => {
            let (context, file) = (Context::new(), file());
            std::thread::scope(|scope| {
                let waiter = scope.spawn(|| {
                    let mut events = [Event::default(); 4];
                    let first = context.get(1, &mut events, None);
                    (first, context.get(1, &mut events, None))
                });
                std::thread::sleep(Duration::from_millis(30));
                let mut blocks = [block(&file, 0, (memory[0].0.as_ptr(), 4096), 0)];
                assert_eq!(context.submit(&mut blocks), 1);
                std::thread::sleep(Duration::from_millis(30));
                assert_eq!((context.destroy)(context.id), 0);
                assert_eq!(waiter.join().unwrap(), (1, -libc::EINVAL));
            });
        }
        "emulated and real" => {
            let (context, file) = (Context::new(), file());
            let log = open(&files.join("ib_logfile0"), 0);
            let mut blocks: Vec<Iocb> = (0..16)
                .map(|n| {
                    let file = if n % 3 == 0 { &log } else { &file };
                    block(file, 1, (memory[n].0.as_ptr(), 4096), n as u64 * 4096)
                })
                .collect();
            assert_eq!(context.submit(&mut blocks), 16);
            assert_eq!(context.get(16, &mut events, Some(900)), 16);
            let sum: u64 = events[..16].iter().map(|event| event.data / 4096).sum();
            tell("sum", sum);
        }
        _ => return false,
    }
    true
}

#[test]
fn requests_are_served_at_once_and_nobody_is_blocked() {
    let bench = Bench::new(&[Role::Data]);
    bench.fill("t.ibd", 32 * 16384);
    let told = bench.run("read at once");
    let page = bench.page();
    assert_eq!(requests(&page, Role::Data), [32, 0, 0]);
    assert_eq!(page.of_role(Role::Data, OfRole::OutstandingMax), 32);
    assert_eq!(page.of_role(Role::Data, OfRole::Outstanding), 0);
    let sum_ns = page.of_kind(Role::Data, Kind::Read, OfKind::ResponseSumNs);
    let told_ns = told.get("submit_ns") + told.get("wait_ns");
    assert!(told_ns * 4 < sum_ns, "{told_ns} {sum_ns}");
}

#[test]
fn what_is_due_first_comes_first() {
    let bench = Bench::new(&[Role::Data]);
    bench.fill("t.ibd", 32 << 20);
    bench.run("short behind long");
    let [reads, writes, flushes] = requests(&bench.page(), Role::Data);
    assert!(reads > 0 && reads == writes && writes == flushes);
}

#[test]
fn who_waits_is_woken_by_a_request_and_by_the_end() {
    let bench = Bench::new(&[Role::Data]);
    bench.fill("t.ibd", 16384);
    bench.run("wake");
    assert_eq!(requests(&bench.page(), Role::Data), [1, 0, 0]);
}

#[test]
fn one_context_holds_emulated_and_real_requests() {
    for emulated in [
        &[Role::Data][..],
        &[Role::Redo],
        &[],
        &[Role::Data, Role::Redo],
    ] {
        let bench = Bench::new(emulated);
        let told = bench.run("emulated and real");
        assert_eq!(told.get("sum"), (0..16).sum::<u64>());
        let page = bench.page();
        assert_eq!(requests(&page, Role::Data)[1], 10, "{emulated:?}");
        // Buffered writes of an emulated role stay in the cache.
        let redo = u64::from(!emulated.contains(&Role::Redo)) * 6;
        assert_eq!(requests(&page, Role::Redo)[1], redo, "{emulated:?}");
        assert_eq!(page.of_role(Role::Data, OfRole::Outstanding), 0);
    }
}
