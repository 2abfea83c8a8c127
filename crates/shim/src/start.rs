//! Taking over, before the program begins. Where that fails the process ends: it must not run
//! without the emulation it was started for.

use crate::cache::PageCache;
use crate::journal::WriteJournal;
use crate::meter::Meter;
use crate::shared::{self, made};
use crate::state::{EmulatedDevice, ShimState, take_over};
use crate::system::map_shared;
use crate::{clock, crash};
use device::page::{Global, MAGIC, PAGE_BYTES, PAGE_WORDS};
use device::{Role, SETUP_VARIABLE, Setup, Sharing};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let Some(path) = std::env::var_os(SETUP_VARIABLE).filter(|path| !path.is_empty()) else {
        return;
    };
    if let Err(why) = prepare(&path) {
        preload::end_unfit(&format!("shim: {}: {why}", path.to_string_lossy()));
    }
}

fn prepare(path: &OsStr) -> Result<(), String> {
    clock::prepare()?;
    let text = fs::read_to_string(path)
        .map_err(|error| format!("the setup cannot be read: {error}; {SETUP_VARIABLE} names it"))?;
    let setup = Setup::parse(&text).map_err(|error| error.to_string())?;
    let words = map_page(&setup.page)?;
    let meter = Meter::new(words, clock::now_ns());
    let is_first = take_page(&meter);
    let cache = PageCache::new(setup.cache.bytes);
    let directories = directories(&setup.directories)?;
    let journal = setup.journal.as_ref().filter(|_| is_first);
    let journal = journal.map(|journal| WriteJournal::start(journal, &setup, &directories));
    let state = ShimState {
        devices: devices(&setup)?,
        file_salt: setup.sharing.as_ref().map_or(0, file_salt),
        device_of_role: Role::ALL.map(|role| setup.device_of(role)),
        directories,
        journal: journal.transpose()?,
        doublewrite: setup.doublewrite_in_system_tablespace.map_or(0..0, |[from, to]| from..to),
        cache_pages: u64::from(cache.capacity()),
        cache: Mutex::new(cache),
        meter,
        setup,
    };
    take_over(state);
    crash::watch();
    Ok(())
}

/// Who started the process finds it by this. A program that it starts in turn, with its
/// environment, does not take its place. Returns whether this is the first.
fn take_page(meter: &Meter) -> bool {
    let process = u64::from(std::process::id());
    meter.set_first(Global::Process, process);
    meter.get(Global::Process) == process
}

fn map_page(path: &str) -> Result<&'static [AtomicU64; PAGE_WORDS], String> {
    let unfit = |why: &str| format!("the page {path} cannot be used: {why}");
    let mapped = map_shared(path, PAGE_BYTES, std::ptr::null_mut());
    let (_, mapped) = mapped.map_err(|why| unfit(&why))?;
    // SAFETY: mapped just now at this length, aligned to pages, never unmapped, and written by
    // atomic operations only.
    let words = unsafe { &*mapped.cast::<[AtomicU64; PAGE_WORDS]>() };
    if words[0].load(Ordering::Relaxed) != MAGIC {
        return Err(unfit("it is no page of this version of mydyno"));
    }
    Ok(words)
}

fn directories(names: &[String]) -> Result<Vec<Vec<u8>>, String> {
    let resolve = |name: &String| {
        let path = fs::canonicalize(Path::new(name))
            .map_err(|error| format!("the directory {name} cannot be resolved: {error}"))?;
        let bytes = path.as_os_str().as_bytes();
        Ok(bytes.strip_suffix(b"/").unwrap_or(bytes).to_vec())
    };
    names.iter().map(resolve).collect()
}

/// The devices of the setup: this process' own, or those that it shares.
fn devices(setup: &Setup) -> Result<Vec<EmulatedDevice>, String> {
    let Some(sharing) = &setup.sharing else {
        let own = setup.devices.iter().map(|device| EmulatedDevice::Own(Mutex::new(made(device))));
        return Ok(own.collect());
    };
    let shared = shared::devices(sharing, &setup.devices)?;
    Ok(shared.iter().map(EmulatedDevice::Shared).collect())
}

fn file_salt(sharing: &Sharing) -> u64 {
    u64::from(sharing.process).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
