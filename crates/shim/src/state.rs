//! What the shim knows once it has taken over, and whether a thread is inside it.

use crate::cache::PageCache;
use crate::files::File;
use crate::journal::WriteJournal;
use crate::meter::Meter;
use crate::shared::SharedDevice;
use crate::{clock, names};
use base::lock;
use device::page::Global;
use device::{Device, Role, Setup};
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Made once, before the program begins, and never freed.
pub(crate) struct ShimState {
    pub(crate) setup: Setup,
    pub(crate) meter: Meter,
    pub(crate) devices: Vec<EmulatedDevice>,
    /// Tells this process' files from those of others on the same devices; 0 alone.
    pub(crate) file_salt: u64,
    /// The device of each role, by [`Role::index`]; `None` is real storage.
    pub(crate) device_of_role: [Option<usize>; Role::ALL.len()],
    /// Resolved, absolute, without a slash at the end.
    pub(crate) directories: Vec<Vec<u8>>,
    /// Bytes of the system tablespace.
    pub(crate) doublewrite: Range<u64>,
    /// How many pages the modelled page cache holds.
    pub(crate) cache_pages: u64,
    pub(crate) cache: Mutex<PageCache>,
    /// Where changes of emulated files are recorded.
    pub(crate) journal: Option<WriteJournal>,
}

/// A device as this process uses it.
#[expect(
    clippy::large_enum_variant,
    reason = "there are a few per process, and a box would cost each request an access to memory"
)]
pub(crate) enum EmulatedDevice {
    Own(Mutex<Device>),
    Shared(&'static SharedDevice),
}

impl EmulatedDevice {
    /// Asks the model, one thread at a time.
    pub(crate) fn with<T>(&self, ask: impl FnOnce(&mut Device) -> T) -> T {
        match self {
            EmulatedDevice::Own(device) => ask(&mut lock(device)),
            EmulatedDevice::Shared(device) => device.with(ask),
        }
    }
}

impl ShimState {
    pub(crate) fn cache(&self) -> MutexGuard<'_, PageCache> {
        lock(&self.cache)
    }

    /// Waits until a time, or returns at once where it has passed.
    pub(crate) fn wait_until(&self, until_ns: u64) {
        self.meter.add(Global::SpinNs, clock::wait_until(until_ns, self.setup.spin));
    }

    pub(crate) fn device_of(&self, role: Role) -> Option<usize> {
        self.device_of_role[role.index()]
    }

    pub(crate) fn is_emulated(&self, role: Role) -> bool {
        self.device_of(role).is_some()
    }

    /// Whether what the host sees of a file is the shim's to decide. The system tablespace counts
    /// as a whole, where any of its two roles is emulated.
    pub(crate) fn is_file_emulated(&self, file: &File) -> bool {
        self.is_emulated(file.role())
            || (file.is_system_tablespace()
                && !self.doublewrite.is_empty()
                && self.is_emulated(Role::Doublewrite))
    }

    /// The role of a file, by its path below a watched directory.
    pub(crate) fn role_of(&self, relative: &[u8]) -> Role {
        self.setup.every_file.unwrap_or_else(|| names::role_of(relative))
    }

    /// The role of a byte of a file.
    pub(crate) fn role_at(&self, file: &File, offset: u64) -> Role {
        if file.is_system_tablespace() && self.doublewrite.contains(&offset) {
            return Role::Doublewrite;
        }
        file.role()
    }

    /// The role of what is in a directory, where that is watched or below one that is: the first
    /// watched directory is data's, and the others are each of one role.
    pub(crate) fn role_in(&self, path: &[u8]) -> Option<Role> {
        let (index, relative) = self.below(path)?;
        let role = match index {
            0 => names::role_in(relative),
            _ => names::role_of_directory(&self.directories[index]),
        };
        Some(self.setup.every_file.unwrap_or(role))
    }

    /// Which watched directory a path is below, or is, and the rest of the path.
    pub(crate) fn below<'a>(&self, path: &'a [u8]) -> Option<(usize, &'a [u8])> {
        self.directories.iter().enumerate().find_map(|(index, directory)| {
            let rest = path.strip_prefix(directory.as_slice())?;
            let below = rest.strip_prefix(b"/").or(rest.is_empty().then_some(rest));
            Some((index, below?))
        })
    }

    /// The path below the watched directory that it is in.
    pub(crate) fn relative<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        self.below(path).map(|(_, relative)| relative)
    }
}

static STATE: AtomicPtr<ShimState> = AtomicPtr::new(std::ptr::null_mut());

/// `None` where every call is passed through: without a setup, and before it has been read.
pub(crate) fn state() -> Option<&'static ShimState> {
    // SAFETY: null, or what was leaked by `take_over`.
    unsafe { STATE.load(Ordering::Acquire).as_ref() }
}

pub(crate) fn take_over(state: ShimState) {
    STATE.store(Box::into_raw(Box::new(state)), Ordering::Release);
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Marks that the thread is in the shim's own code, so that a crash there can be told from the
/// server's.
pub(crate) struct Inside(bool);

impl Inside {
    pub(crate) fn enter() -> Inside {
        Inside(INSIDE.replace(true))
    }

    pub(crate) fn is() -> bool {
        INSIDE.get()
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}
