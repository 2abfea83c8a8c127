//! libaio, as a program finds it.

use std::ffi::{CStr, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Iocb {
    pub data: u64,
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
pub struct Event {
    pub data: u64,
    pub object: u64,
    pub result: i64,
    result2: i64,
}

type Setup = extern "C" fn(i32, *mut u64) -> i32;
type Destroy = extern "C" fn(u64) -> i32;
type Submit = extern "C" fn(u64, i64, *mut *mut Iocb) -> i32;
type GetEvents = extern "C" fn(u64, i64, i64, *mut Event, *const libc::timespec) -> i32;

/// A context, by the functions of libaio as a program finds them.
pub struct Context {
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
        assert!(!library.is_null(), "libaio.so.1 is missing (package libaio1)");
        let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        assert!(!found.is_null(), "{name:?}");
        found
    }
}

impl Context {
    pub fn new() -> Context {
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
        Context { id, destroy, submit, get_events }
    }

    pub fn destroy(&self) -> i32 {
        (self.destroy)(self.id)
    }

    pub fn submit(&self, blocks: &mut [Iocb]) -> i32 {
        let mut pointers: Vec<*mut Iocb> = blocks.iter_mut().map(|block| &raw mut *block).collect();
        (self.submit)(self.id, pointers.len() as i64, pointers.as_mut_ptr())
    }

    pub fn get(&self, min: i64, events: &mut [Event], timeout_ms: Option<i64>) -> i32 {
        let timeout = timeout_ms.map(|ms| libc::timespec { tv_sec: 0, tv_nsec: ms * 1_000_000 });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), |time| &raw const *time);
        (self.get_events)(self.id, min, events.len() as i64, events.as_mut_ptr(), timeout)
    }
}

pub fn block(file: &File, opcode: u16, (buffer, bytes): (*const u8, u64), offset: u64) -> Iocb {
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
