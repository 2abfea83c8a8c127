//! Devices that several processes use together: one model for all of them, in memory that they
//! share.
//!
//! The memory is mapped at one address in every process, so that what points into it is right in
//! each of them: the model is the same code on the same bytes as in a process alone, and costs as
//! much. That works because a device takes all its memory when it is made ([`Device`]): the first
//! process makes the devices there, while it holds the file's lock, and the others find them.
//! Afterwards a mutex lets one of them in at a time, which the kernel gives on where its holder is
//! killed. A device that was left in the middle of a request goes on as it is: its numbers may be
//! off by that request, of a process that is dead.

use crate::system::map_shared;
use device::{Device, DeviceSetup, SHARED_BYTES, Sharing};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::fmt::Display;
use std::mem::size_of;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Far from where Linux puts programs, heaps, libraries and stacks, and below 2^39, where the
/// smallest address spaces end.
const ADDRESS: usize = 0x20_0000_0000;
/// First word of memory whose devices are made.
const MADE: u64 = u64::from_le_bytes(*b"mydynoD1");

/// What the memory begins with.
#[repr(C)]
struct Header {
    made: AtomicU64,
    /// Processes with another build of this library have another layout.
    device_bytes: AtomicUsize,
    count: AtomicUsize,
    devices: AtomicPtr<SharedDevice>,
}

/// A device in shared memory.
pub(crate) struct SharedDevice {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    device: UnsafeCell<Device>,
}

// SAFETY: the device is used by who holds the mutex only, which is made for several threads and
// processes.
unsafe impl Sync for SharedDevice {}

impl SharedDevice {
    /// Asks the device, alone among all threads of all processes.
    pub(crate) fn with<T>(&self, ask: impl FnOnce(&mut Device) -> T) -> T {
        let _held = Held::lock(self);
        // SAFETY: the mutex is held until the end of this function.
        ask(unsafe { &mut *self.device.get() })
    }
}

/// The mutex of a device, held.
struct Held<'a>(&'a SharedDevice);

impl Held<'_> {
    fn lock(shared: &SharedDevice) -> Held<'_> {
        // SAFETY: initialised when it was made, and never destroyed.
        match unsafe { libc::pthread_mutex_lock(shared.mutex.get()) } {
            0 => {}
            libc::EOWNERDEAD => {
                // SAFETY: held by this thread.
                unsafe { libc::pthread_mutex_consistent(shared.mutex.get()) };
            }
            // Nothing else can happen to such a mutex; to go on without it would destroy what
            // others use.
            _ => std::process::abort(),
        }
        Held(shared)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SAFETY: held by this thread.
        unsafe { libc::pthread_mutex_unlock(self.0.mutex.get()) };
    }
}

/// The devices of `setups`, made in shared memory or found there.
///
/// # Errors
/// Where the memory cannot be had, at its address, or was made by another build.
pub(crate) fn devices(
    sharing: &Sharing,
    setups: &[DeviceSetup],
) -> Result<&'static [SharedDevice], String> {
    let unfit = |why: &dyn Display| {
        format!(
            "the memory {} for devices that processes share cannot be used: {why}",
            sharing.memory
        )
    };
    let mapped = map_shared(&sharing.memory, SHARED_BYTES, ADDRESS as *mut libc::c_void);
    let (file, mapped) = mapped.map_err(|why| unfit(&why))?;
    file.lock().map_err(|error| unfit(&error))?;
    // SAFETY: mapped just now, longer than a header, aligned to pages, zero at first, and never
    // unmapped.
    let header = unsafe { &*mapped.cast::<Header>() };
    if header.made.load(Ordering::Acquire) != MADE {
        let devices = make_all(setups);
        header.device_bytes.store(size_of::<SharedDevice>(), Ordering::Relaxed);
        header.count.store(devices.len(), Ordering::Relaxed);
        header.devices.store(devices.as_mut_ptr(), Ordering::Relaxed);
        header.made.store(MADE, Ordering::Release);
    }
    // The mapping keeps the file open, and with it the lock, after this descriptor is closed.
    file.unlock().map_err(|error| unfit(&error))?;
    let count = header.count.load(Ordering::Relaxed);
    if header.device_bytes.load(Ordering::Relaxed) != size_of::<SharedDevice>()
        || count != setups.len()
    {
        return Err(unfit(&"another build of mydyno, or another setup, has made its devices"));
    }
    // SAFETY: so many were made there, by this build, and are never freed.
    Ok(unsafe { std::slice::from_raw_parts(header.devices.load(Ordering::Relaxed), count) })
}

/// A device as its setup has it.
pub(crate) fn made(setup: &DeviceSetup) -> Device {
    let mut device = Device::new(&setup.profile, setup.seed);
    if setup.preconditioned {
        device.precondition();
    }
    device
}

/// Makes devices whose memory, to the last queue, is in the shared one.
fn make_all(setups: &[DeviceSetup]) -> &'static mut [SharedDevice] {
    let of = |setup| SharedDevice {
        // SAFETY: bytes that are going to be initialised below.
        mutex: UnsafeCell::new(unsafe { std::mem::zeroed() }),
        device: UnsafeCell::new(made(setup)),
    };
    let devices = in_shared_memory(|| setups.iter().map(of).collect::<Vec<_>>()).leak();
    for device in &mut *devices {
        initialise(device.mutex.get());
    }
    devices
}

/// For several processes, and given on where its holder dies.
fn initialise(mutex: *mut libc::pthread_mutex_t) {
    // SAFETY: plain memory, initialised by the next call, used by those after it, and nobody has
    // the mutex yet. On Linux none of these fails with these arguments.
    unsafe {
        let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
        libc::pthread_mutexattr_init(&raw mut attributes);
        libc::pthread_mutexattr_setpshared(&raw mut attributes, libc::PTHREAD_PROCESS_SHARED);
        libc::pthread_mutexattr_setrobust(&raw mut attributes, libc::PTHREAD_MUTEX_ROBUST);
        libc::pthread_mutex_init(mutex, &raw const attributes);
        libc::pthread_mutexattr_destroy(&raw mut attributes);
    }
}

thread_local! {
    /// The next free byte of the shared memory, while this thread makes devices there; else 0.
    static NEXT: Cell<usize> = const { Cell::new(0) };
}

/// What this thread allocates in `make` is in the shared memory.
fn in_shared_memory<T>(make: impl FnOnce() -> T) -> T {
    NEXT.set(ADDRESS + size_of::<Header>());
    let made = make();
    NEXT.set(0);
    made
}

/// The system's, except while devices are made for several processes: then it hands out the shared
/// memory, byte after byte, of which nothing comes back. Only this library's own code uses it, not
/// the program that it is loaded into.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

impl Allocator {
    /// Null where there is no room, as allocators say it.
    fn take(next: usize, layout: Layout) -> *mut u8 {
        let begin = next.next_multiple_of(layout.align());
        match begin.checked_add(layout.size()) {
            Some(end) if end <= ADDRESS + SHARED_BYTES => {
                NEXT.set(end);
                begin as *mut u8
            }
            _ => std::ptr::null_mut(),
        }
    }

    fn is_shared(at: *mut u8) -> bool {
        (ADDRESS..ADDRESS + SHARED_BYTES).contains(&(at as usize))
    }
}

// SAFETY: either the system's allocator for a block from its begin to its end, or memory that is
// handed out once and never freed. Growing by the default, a copy, happens at the start only.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match NEXT.get() {
            // SAFETY: the caller's.
            0 => unsafe { System.alloc(layout) },
            next => Allocator::take(next, layout),
        }
    }

    // By default it writes zeros, and a page cache of gigabytes would be there as a whole from the
    // begin.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match NEXT.get() {
            // SAFETY: the caller's.
            0 => unsafe { System.alloc_zeroed(layout) },
            // Nothing was written there before: a new file is zeros.
            next => Allocator::take(next, layout),
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if !Allocator::is_shared(at) {
            // SAFETY: the caller's; it came from there.
            unsafe { System.dealloc(at, layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Held, made, make_all};
    use device::page::AccessKind;
    use device::{Access, DeviceSetup, SHARED_BYTES, builtins};
    use rustix::mm::{MapFlags, ProtFlags};

    /// A mapping of this process stands in for a file's.
    fn map() {
        let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE;
        let (at, protection) = (super::ADDRESS as *mut _, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: nothing that is mapped already is replaced.
        let mapped = unsafe { rustix::mm::mmap_anonymous(at, SHARED_BYTES, protection, flags) };
        let mapped = mapped.unwrap();
        assert_eq!(mapped as usize, super::ADDRESS);
    }

    /// Devices are made in a new file, which is zeros; here, in what those of the profile before
    /// have left.
    fn empty() {
        // SAFETY: mapped by `map`, private and anonymous, and nothing of it is used any more.
        let done = unsafe {
            libc::madvise(super::ADDRESS as *mut libc::c_void, SHARED_BYTES, libc::MADV_DONTNEED)
        };
        assert_eq!(done, 0);
    }

    #[test]
    fn every_device_fits_and_works_there() {
        map();
        let outside = vec![1_u8; 100];
        for profile in builtins() {
            let setup =
                |seed| DeviceSetup { profile: profile.clone(), seed, preconditioned: false };
            empty();
            // One for each role, all of them different.
            let setups: Vec<DeviceSetup> = (0..6).map(setup).collect();
            let devices = make_all(&setups);
            assert_eq!(devices.len(), 6);
            let at = devices.as_ptr() as usize;
            assert!((super::ADDRESS..super::ADDRESS + SHARED_BYTES).contains(&at));
            let mut alone = made(&setups[3]);
            for n in 0..100 {
                let access = Access {
                    kind: AccessKind::ALL[n % 3],
                    address: n as u64 * 40_960,
                    bytes: 4096,
                };
                let now_ns = n as u64 * 1_000;
                let together = devices[3].with(|device| device.submit(now_ns, access));
                assert_eq!(together, alone.submit(now_ns, access), "{}", profile.name);
            }
            // The end of a thread that holds a device is for the mutex what the end of a process
            // is.
            std::thread::scope(|threads| {
                threads.spawn(|| std::mem::forget(Held::lock(&devices[0])));
            });
            for _ in 0..2 {
                let used_bytes = devices[0].with(|device| device.used_bytes());
                assert_eq!(used_bytes, profile.capacity_bytes);
            }
        }
        // What is allocated otherwise is the system's.
        let more = vec![2_u8; 100];
        let is_shared = |bytes: &[u8]| super::Allocator::is_shared(bytes.as_ptr().cast_mut());
        assert!(!is_shared(&outside) && !is_shared(&more));
        let inside = super::in_shared_memory(|| vec![3_u8; 100]);
        assert!(is_shared(&inside));
    }
}
