//! The functions of libaio. Errors are returned as negative numbers, as libaio does.

use crate::aio::{self, Context, EmulatedRequest, Events, InKernel, IoEvent};
use crate::files::{self, Open};
use crate::flight::{Extent, Flight};
use crate::io_hooks::real;
use crate::meter::CountedRequest;
use crate::state::{Inside, ShimState, state};
use crate::system::system;
use crate::transfer::{FileRequest, TransferLength};
use crate::{clock, faults};
use device::page::AccessKind;
use libc::{c_int, c_long, iovec, sigset_t, timespec};
use preload::{as_libaio, errno};

/// The kernel's layout, on machines with the low byte first.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Iocb {
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

const HAS_EVENT_FD: u32 = 1;

/// What a control block asks for.
#[derive(Clone, Copy)]
struct AioOperation {
    kind: AccessKind,
    length: TransferLength,
}

impl AioOperation {
    fn from_iocb(iocb: &Iocb) -> Option<AioOperation> {
        let bytes = TransferLength::Bytes(iocb.bytes as usize);
        let vector = TransferLength::Vector(iocb.buffer as *const iovec, iocb.bytes as c_int);
        let (kind, length) = match iocb.opcode {
            0 => (AccessKind::Read, bytes),
            1 => (AccessKind::Write, bytes),
            2 | 3 => (AccessKind::Flush, TransferLength::Bytes(0)),
            7 => (AccessKind::Read, vector),
            8 => (AccessKind::Write, vector),
            _ => return None,
        };
        Some(AioOperation { kind, length })
    }
}

fn submit_to_kernel(id: u64, count: usize, iocbs: *mut *mut Iocb) -> c_int {
    as_libaio(system(libc::SYS_io_submit, [id as usize, count, iocbs as usize]))
}

/// What is emulated, and on which file.
fn emulated(state: &ShimState, iocb: &Iocb) -> Option<(AioOperation, Open)> {
    let operation = AioOperation::from_iocb(iocb)?;
    let open = files::seen(iocb.fd as c_int)?;
    state.is_file_emulated(open.file()).then_some((operation, open))
}

/// Does a request on the host and leaves it until it is due. Returns 1, or an error.
fn submit_here(
    state: &ShimState,
    context: &Context,
    (iocb, object): (&Iocb, u64),
    (operation, open): (AioOperation, Open),
) -> c_int {
    if !context.reserve() {
        return -libc::EAGAIN;
    }
    let offset = u64::try_from(iocb.offset).unwrap_or(0);
    let extent = Extent { offset, bytes: operation.length.bytes() };
    let request = FileRequest::new(state, (iocb.fd as c_int, open), operation.kind, extent);
    let refusal = request.refusal(state);
    let ticket = if refusal.is_none() { request.record(state) } else { None };
    let (mut flight, result) = match refusal {
        Some(errno) => (Flight::uncounted(), -(errno as isize)),
        None => {
            let is_emulated = state.is_emulated(request.role);
            request.begin(state, || on_host(iocb, operation, is_emulated))
        }
    };
    let has_event_fd = iocb.flags & HAS_EVENT_FD != 0;
    let is_synced = request.is_synced(result);
    if has_event_fd || is_synced {
        // There is no thread that could signal or flush later.
        flight.wait(state);
    }
    if is_synced {
        request.flush(state);
    }
    let event = IoEvent { data: iocb.data, object, result: result as i64, result2: 0 };
    context.push(EmulatedRequest { flight, event, ticket });
    if has_event_fd {
        let one = 1_u64;
        real::write(iocb.event_fd as c_int, (&raw const one).cast(), 8);
    }
    1
}

/// Returns what the completion tells: bytes or a negative error.
fn on_host(iocb: &Iocb, operation: AioOperation, is_emulated: bool) -> isize {
    use TransferLength::{Bytes, Vector};
    let (fd, at, buffer) = (iocb.fd as c_int, iocb.offset, iocb.buffer as *mut libc::c_void);
    let result = match (operation.kind, operation.length) {
        (AccessKind::Read, Bytes(bytes)) => real::pread(fd, buffer, bytes, at),
        (AccessKind::Write, Bytes(bytes)) => {
            let offset = u64::try_from(at).unwrap_or(0);
            faults::write(fd, offset, bytes, |done| real::pwrite(fd, buffer, done, at))
        }
        (AccessKind::Read, Vector(vector, count)) => real::preadv(fd, vector, count, at),
        (AccessKind::Write, Vector(vector, count)) => real::pwritev(fd, vector, count, at),
        (AccessKind::Flush, _) if is_emulated => 0,
        (AccessKind::Flush, _) => real::fsync(fd) as isize,
    };
    if result < 0 { -(errno() as isize) } else { result }
}

/// Gives requests to the kernel and counts those of files that are seen.
fn forward(
    state: &ShimState,
    context: &Context,
    id: u64,
    (iocbs, count): (*mut *mut Iocb, usize),
) -> c_int {
    for at in 0..count {
        // SAFETY: the program passes that many pointers to control blocks.
        let object = unsafe { *iocbs.wrapping_add(at) };
        // SAFETY: as above.
        let counted = counted(state, unsafe { &*object });
        let object = object as u64;
        context.enter_kernel(counted.map(|counted| InKernel { object, counted }));
    }
    let result = submit_to_kernel(id, count, iocbs);
    let taken = usize::try_from(result).unwrap_or(0);
    for at in taken..count {
        // SAFETY: as above.
        let object = unsafe { *iocbs.wrapping_add(at) } as u64;
        if let Some(request) = context.leave_kernel(object) {
            state.meter.end(request.counted, clock::now_ns(), None);
        }
    }
    context.wake();
    result
}

/// Counts a request of a file that is seen.
fn counted(state: &ShimState, iocb: &Iocb) -> Option<CountedRequest> {
    let operation = AioOperation::from_iocb(iocb)?;
    let file = files::seen(iocb.fd as c_int)?.file();
    let role = state.role_at(file, u64::try_from(iocb.offset).unwrap_or(0));
    Some(state.meter.begin(role, operation.kind, clock::now_ns()))
}

/// When a wait that the program passes is over.
fn end_of_wait_ns(timeout: *const timespec) -> u64 {
    // SAFETY: null, or a time that the program passes.
    let Some(timeout) = (unsafe { timeout.as_ref() }) else { return u64::MAX };
    let wait_ns = (timeout.tv_sec as u64).saturating_mul(1_000_000_000);
    clock::now_ns().saturating_add(wait_ns.saturating_add(timeout.tv_nsec as u64))
}

preload::exports! { "C"
    fn io_setup(requests: c_int, context: *mut u64) -> c_int {
        let result = system(libc::SYS_io_setup, [requests as usize, context as usize]);
        if result < 0 {
            return as_libaio(result);
        }
        if state().is_some() {
            // SAFETY: the kernel has just written it.
            let id = unsafe { context.read() };
            if !aio::register(id, usize::try_from(requests).unwrap_or(0)) {
                system(libc::SYS_io_destroy, [id as usize]);
                // SAFETY: as above; who tries again has to find 0 there.
                unsafe { context.write(0) };
                return -libc::EAGAIN;
            }
        }
        0
    }

    fn io_queue_init(requests: c_int, context: *mut u64) -> c_int {
        if requests <= 0 {
            return -libc::EINVAL;
        }
        // SAFETY: the program passes where to write, as libaio demands.
        unsafe { context.write(0) };
        io_setup(requests, context)
    }

    fn io_destroy(id: u64) -> c_int, also io_queue_release {
        if let (Some(state), Some(context)) = (state(), aio::find(id)) {
            let _inside = Inside::enter();
            context.destroy(state);
        }
        as_libaio(system(libc::SYS_io_destroy, [id as usize]))
    }

    fn io_submit(id: u64, count: c_long, iocbs: *mut *mut Iocb) -> c_int {
        let (Some(state), Some(context)) = (state(), aio::find(id)) else {
            return submit_to_kernel(id, count as usize, iocbs);
        };
        let Ok(count) = usize::try_from(count) else {
            return -libc::EINVAL;
        };
        let _inside = Inside::enter();
        let mut submitted = 0;
        while submitted < count {
            let at = iocbs.wrapping_add(submitted);
            // SAFETY: the program passes that many pointers to control blocks.
            let iocb = unsafe { **at };
            let result = match emulated(state, &iocb) {
                // SAFETY: as above.
                Some(what) => submit_here(state, context, (&iocb, unsafe { *at } as u64), what),
                None => {
                    let run = (submitted + 1..count).find(|next| {
                        // SAFETY: as above.
                        let iocb = unsafe { **iocbs.wrapping_add(*next) };
                        emulated(state, &iocb).is_some()
                    });
                    forward(state, context, id, (at, run.unwrap_or(count) - submitted))
                }
            };
            match result {
                done if done > 0 => submitted += done as usize,
                error if submitted == 0 => return error,
                _ => break,
            }
        }
        submitted as c_int
    }

    fn io_getevents(
        id: u64, min: c_long, max: c_long, events: *mut IoEvent, timeout: *const timespec,
    ) -> c_int {
        let (Some(state), Some(context)) = (state(), aio::find(id)) else {
            let (id, min, max) = (id as usize, min as usize, max as usize);
            let arguments = [id, min, max, events as usize, timeout as usize];
            return as_libaio(system(libc::SYS_io_getevents, arguments));
        };
        let (Ok(min), Ok(max)) = (usize::try_from(min), usize::try_from(max)) else {
            return -libc::EINVAL;
        };
        if min > max {
            return -libc::EINVAL;
        }
        let _inside = Inside::enter();
        let until_ns = end_of_wait_ns(timeout);
        context.get(state, id, min, until_ns, &mut Events::new(events, max)) as c_int
    }

    /// Does what `io_getevents` does, with other signals held back meanwhile.
    fn io_pgetevents(
        id: u64, min: c_long, max: c_long, events: *mut IoEvent, timeout: *const timespec,
        mask: *const sigset_t,
    ) -> c_int {
        if mask.is_null() {
            return io_getevents(id, min, max, events, timeout);
        }
        let mut before = std::mem::MaybeUninit::<sigset_t>::zeroed();
        // SAFETY: the program passes a mask, and where the old one goes is ours.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, before.as_mut_ptr()) };
        let result = io_getevents(id, min, max, events, timeout);
        // SAFETY: written above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
        result
    }

    /// What is emulated has been done: there is nothing to take back, as in the kernel for files.
    fn io_cancel(id: u64, iocb: *mut Iocb, event: *mut IoEvent) -> c_int {
        let arguments = [id as usize, iocb as usize, event as usize];
        as_libaio(system(libc::SYS_io_cancel, arguments)).min(0)
    }
}
