//! Requests that go wrong, where who started the process asks for it on the shared page
//! ([`DeviceFault`](device::DeviceFault)). While nothing is wrong, a request costs one load more.

use crate::files;
use crate::state::{ShimState, state};
use device::page::Global;
use device::{Device, FaultKind, Role, fault_of};
use libc::c_int;

/// A write that is short ends at one of these.
const SECTOR_BYTES: usize = 512;

/// What is wrong with emulated files of a role now.
pub(crate) fn now(state: &ShimState, role: Role) -> Option<FaultKind> {
    match state.meter.get(Global::Fault) {
        0 => None,
        word => fault_of(word, role).filter(|_| state.is_emulated(role)),
    }
}

/// The error of a request that fails; `grows` says whether it makes its file longer.
pub(crate) fn refusal(
    state: &ShimState,
    role: Role,
    grows: impl FnOnce() -> bool,
) -> Option<c_int> {
    match now(state, role)? {
        FaultKind::IoError => Some(libc::EIO),
        FaultKind::DeviceLost => {
            let device = &state.devices[state.device_of(role)?];
            (!device.with(Device::lose_member)).then_some(libc::EIO)
        }
        FaultKind::DiskFull => grows().then_some(libc::ENOSPC),
        FaultKind::ShortWrite | FaultKind::FailSlow => None,
    }
}

/// The error with which a file does not get that length.
pub(crate) fn length_refusal(fd: c_int, bytes: u64) -> Option<c_int> {
    let (state, open) = (state()?, files::seen(fd)?);
    refusal(state, open.file().role(), || bytes > files::file_bytes(fd))
}

/// Writes by `call`, which gets how many of the bytes: all of them or, where writes are short, the
/// first half, which passes for all.
pub(crate) fn write(
    fd: c_int,
    offset: u64,
    bytes: usize,
    call: impl FnOnce(usize) -> isize,
) -> isize {
    if !is_short(fd, offset) {
        return call(bytes);
    }
    let result = call(bytes / 2 / SECTOR_BYTES * SECTOR_BYTES);
    if result < 0 { result } else { bytes as isize }
}

fn is_short(fd: c_int, offset: u64) -> bool {
    let Some(state) = state().filter(|state| state.meter.get(Global::Fault) != 0) else {
        return false;
    };
    let file = files::seen(fd).map(files::Open::file);
    let role = file.map(|file| state.role_at(file, offset));
    role.and_then(|role| now(state, role)) == Some(FaultKind::ShortWrite)
}
