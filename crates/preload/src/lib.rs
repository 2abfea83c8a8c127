//! What libraries that are preloaded into a program have in common: finding the functions that they
//! stand in front of, and ending a process that must not run without them.

#![expect(unsafe_code, reason = "functions are found by name, and errno is a place in memory")]

use libc::{c_int, c_long, c_void};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The exit code of an environment that is not fit.
const UNFIT: c_int = 4;

/// A function of the libraries behind the one that asks. It is looked up once, without allocation.
pub struct Function {
    name: &'static CStr,
    /// The version to take where the library has it; empty for the default. Before glibc 2.36
    /// `dlsym` found the oldest behind a library, which is another function for some names.
    version: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Function {
    pub const fn new(name: &'static CStr, version: &'static CStr) -> Function {
        Function { name, version, found: AtomicPtr::new(null_mut()) }
    }

    /// Where it is; null where there is none.
    #[inline]
    pub fn find(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if found.is_null() { self.look_up() } else { found }
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        // SAFETY: the text ends with a zero byte.
        let mut found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if !self.version.is_empty() {
            // SAFETY: both texts end with a zero byte.
            let of_version =
                unsafe { libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), self.version.as_ptr()) };
            // Another preloaded library, which has no versions, stands before the one that has.
            if !of_version.is_null() && (found.is_null() || library(found) == library(of_version)) {
                found = of_version;
            }
        }
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Where the library begins that a function is in; null where that is not known.
fn library(function: *mut c_void) -> *mut c_void {
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: it is only looked up, and what is found is written to what is ours.
    unsafe { libc::dladdr(function, &raw mut found) };
    found.dli_fbase
}

/// Functions that a library takes over. Each is exported with its body, under its name and those
/// that follow `also`:
///
/// ```text
/// fn fsync(fd: c_int) -> c_int, or -1 { sync(fd, || real::fsync(fd)) }
/// fn creat(path: *const c_char, mode: mode_t) -> c_int, also creat64 { open(path, NEW, mode) }
/// ```
///
/// With `or`, the module `real` has the function behind it, as [`functions`] declares it. What
/// comes first is the calling convention: `"C-unwind"` where a thread may be cancelled inside.
#[macro_export]
macro_rules! hooks {
    ($abi:tt $(
        $(#[$doc:meta])*
        fn $name:ident $arguments:tt -> $ret:ty
            $(, or $($number:literal)? $($constant:ident)? $(@ $version:literal)?)?
            $(, also $alias:ident)* $body:block
    )*) => {
        pub(crate) mod real {
            use super::*;

            $crate::functions! { $($(
                fn $name $arguments -> $ret, or $($number)? $($constant)? $(@ $version)?;
            )?)* }
        }

        $crate::exports! { $abi
            $($(#[$doc])* fn $name $arguments -> $ret $(, also $alias)* $body)*
        }
    };
}

/// [`hooks`] that have no function behind them.
#[macro_export]
macro_rules! exports {
    ($abi:tt $(
        $(#[$doc:meta])*
        fn $name:ident $arguments:tt -> $ret:ty $(, also $alias:ident)* $body:block
    )*) => {
        $(
            $crate::export! { $abi $(#[$doc])* $name $arguments $ret, $body }
            $($crate::export! { $abi $alias $arguments $ret, $name })*
        )*
    };
}

/// One exported function, or another name of it.
#[macro_export]
macro_rules! export {
    (
        $abi:tt $(#[$doc:meta])*
        $name:ident ($($arg:ident: $type:ty),* $(,)?) $ret:ty, $body:block
    ) => {
        $(#[$doc])*
        pub(crate) extern $abi fn $name($($arg: $type),*) -> $ret $body

        // What calls it in here means this one. By its exported name it would call the program's,
        // where that has one: MariaDB's own builds hold libaio, and export it.
        const _: () = {
            #[unsafe(no_mangle)]
            extern $abi fn $name($($arg: $type),*) -> $ret {
                self::$name($($arg),*)
            }
        };
    };
    ($abi:tt $alias:ident ($($arg:ident: $type:ty),* $(,)?) $ret:ty, $name:ident) => {
        #[unsafe(no_mangle)]
        extern $abi fn $alias($($arg: $type),*) -> $ret {
            $name($($arg),*)
        }
    };
}

/// Functions to call by their own names, each with what it returns where it is not to be found
/// (`errno` is ENOSYS then). They are looked up when the library is loaded, so that no later call
/// has to.
///
/// They are safe to call in one sense only: their arguments are those that the program passed, or
/// point to what is the caller's and alive, and are judged by the C library and the kernel as they
/// would be without the caller.
#[macro_export]
macro_rules! functions {
    ($(
        fn $name:ident ($($arg:ident: $type:ty),* $(,)?) -> $ret:ty,
            or $($number:literal)? $($constant:ident)? $(@ $version:literal)?;
    )*) => {
        struct Functions { $($name: $crate::Function,)* }

        static FUNCTIONS: Functions = Functions { $(
            $name: $crate::Function::new(
                $crate::text(concat!(stringify!($name), "\0")),
                $crate::text(concat!($($version,)? "\0")),
            ),
        )* };

        #[used]
        #[unsafe(link_section = ".init_array")]
        static FIND_ALL: extern "C" fn() = find_all;

        extern "C" fn find_all() {
            $(FUNCTIONS.$name.find();)*
        }

        $(#[inline]
        pub(crate) fn $name($($arg: $type),*) -> $ret {
            let found = FUNCTIONS.$name.find();
            if found.is_null() {
                $crate::set_errno($crate::ENOSYS);
                return $($number)? $($constant)?;
            }
            // SAFETY: the C library's function of this name has this type; variable arguments
            // travel as fixed ones do on x86_64 and aarch64.
            let function: extern "C-unwind" fn($($type),*) -> $ret =
                unsafe { std::mem::transmute(found) };
            function($($arg),*)
        })*
    };
}

/// What `errno` is where a function is missing.
pub const ENOSYS: c_int = libc::ENOSYS;

/// Text that ends with a zero byte, for [`functions`].
pub const fn text(bytes: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(bytes.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

pub fn errno() -> c_int {
    // SAFETY: the C library gives each thread an errno of its own.
    unsafe { *libc::__errno_location() }
}

pub fn set_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = value };
}

/// What a system call returned, as libaio tells it: an error as its negative number.
pub fn as_libaio(result: c_long) -> c_int {
    if result < 0 { -errno() } else { result as c_int }
}

/// The other way round: what libaio tells, as C has it of a system call.
pub fn as_system_call(result: c_int) -> c_long {
    if result < 0 {
        set_errno(-result);
        return -1;
    }
    c_long::from(result)
}

/// Runs what may change `errno` after the call whose `errno` the program is to see.
pub fn keeping_errno<T>(run: impl FnOnce() -> T) -> T {
    let errno = errno();
    let result = run();
    set_errno(errno);
    result
}

/// Ends a process that was started for something that cannot be, without running its code.
pub fn end_unfit(why: &str) -> ! {
    let line = format!("mydyno {why}\n");
    // SAFETY: the text is there for so many bytes; where it cannot be written there is nobody to
    // tell.
    unsafe {
        libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len());
        libc::_exit(UNFIT)
    }
}
