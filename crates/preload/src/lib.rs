//! What libraries that are preloaded into a program have in common: finding the functions that they
//! stand in front of, and ending a process that must not run without them.

#![expect(unsafe_code, reason = "functions are found by name, and errno is a place in memory")]

use libc::{c_int, c_void};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The exit code of an environment that is not fit.
const UNFIT: c_int = 4;

/// Where a function is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionPlace {
    /// In the libraries behind the one that asks.
    Behind,
    /// In the C library itself, past all that is preloaded.
    CLibrary,
}

/// A function of another library. It is looked up once, without allocation.
pub struct Function {
    place: FunctionPlace,
    name: &'static CStr,
    /// The version to take where the library has it; empty for the default. Before glibc 2.36
    /// `dlsym` found the oldest behind a library, which is another function for some names.
    version: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Function {
    pub const fn new(
        place: FunctionPlace,
        name: &'static CStr,
        version: &'static CStr,
    ) -> Function {
        Function { place, name, version, found: AtomicPtr::new(null_mut()) }
    }

    /// Where it is; null where there is none.
    #[inline]
    pub fn find(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if found.is_null() { self.look_up() } else { found }
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        let Some(library) = self.library() else {
            return null_mut();
        };
        let mut found = null_mut();
        if !self.version.is_empty() {
            // SAFETY: both texts end with a zero byte.
            found = unsafe { libc::dlvsym(library, self.name.as_ptr(), self.version.as_ptr()) };
        }
        if found.is_null() {
            // SAFETY: as above.
            found = unsafe { libc::dlsym(library, self.name.as_ptr()) };
        }
        self.found.store(found, Ordering::Relaxed);
        found
    }

    fn library(&self) -> Option<*mut c_void> {
        if self.place == FunctionPlace::Behind {
            // Behind the library that this code is linked into.
            return Some(libc::RTLD_NEXT);
        }
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
        // SAFETY: it is loaded, as this library needs it too, and stays so.
        let library = unsafe { libc::dlopen(c"libc.so.6".as_ptr(), flags) };
        (!library.is_null()).then_some(library)
    }
}

/// Functions to call by their own names, each with what it returns where it is not to be found
/// (`errno` is ENOSYS then), and `find_all`, which looks them up so that no later call has to.
///
/// They are safe to call in one sense only: their arguments are those that the program passed, or
/// point to what is the caller's and alive, and are judged by the C library and the kernel as they
/// would be without the caller.
#[macro_export]
macro_rules! functions {
    ($place:ident: $(
        fn $name:ident $(@ $version:literal)? ($($arg:ident: $type:ty),* $(,)?) -> $ret:ty,
            or $missing:expr;
    )*) => {
        struct Functions { $($name: $crate::Function,)* }

        static FUNCTIONS: Functions = Functions { $(
            $name: $crate::Function::new(
                $crate::FunctionPlace::$place,
                $crate::text(concat!(stringify!($name), "\0")),
                $crate::text(concat!($($version,)? "\0")),
            ),
        )* };

        /// Looks every function up, so that no later call has to.
        pub(crate) fn find_all() {
            $(FUNCTIONS.$name.find();)*
        }

        $(#[inline]
        pub(crate) fn $name($($arg: $type),*) -> $ret {
            let found = FUNCTIONS.$name.find();
            if found.is_null() {
                $crate::set_errno($crate::ENOSYS);
                return $missing;
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
