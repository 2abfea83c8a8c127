//! Telling a crash inside the shim from one of the server: its handlers are called as before, after
//! the page has been told.

use crate::state::{Inside, state};
use device::page::Global;
use libc::{c_int, c_void, sigaction as Action, siginfo_t};
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The program's handler of a signal.
struct ServerHandler {
    signal: c_int,
    handler: AtomicUsize,
    /// Its handler takes three arguments.
    has_info: AtomicBool,
}

const fn default(signal: c_int) -> ServerHandler {
    ServerHandler {
        signal,
        handler: AtomicUsize::new(libc::SIG_DFL),
        has_info: AtomicBool::new(false),
    }
}

static HANDLERS: [ServerHandler; 5] = [
    default(libc::SIGSEGV),
    default(libc::SIGBUS),
    default(libc::SIGILL),
    default(libc::SIGFPE),
    default(libc::SIGABRT),
];

fn handler_of(signal: c_int) -> Option<&'static ServerHandler> {
    HANDLERS.iter().find(|handler| handler.signal == signal)
}

/// Handles what the program does not handle itself, too.
pub(crate) fn watch() {
    for of_server in &HANDLERS {
        let Some(mut action) = real_action(of_server.signal) else {
            continue;
        };
        if action.sa_sigaction == libc::SIG_DFL {
            action.sa_sigaction = crashed as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            real::sigaction(of_server.signal, &raw const action, std::ptr::null_mut());
        }
    }
}

fn real_action(signal: c_int) -> Option<Action> {
    // SAFETY: all zeros are a value.
    let mut action: Action = unsafe { std::mem::zeroed() };
    (real::sigaction(signal, null(), &raw mut action) == 0).then_some(action)
}

preload::hooks! { "C"
    fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int, or -1 {
        let (Some(_), Some(of_server)) = (state(), handler_of(signal)) else {
            return real::sigaction(signal, new, old);
        };
        set_action(of_server, new, old)
    }
}

/// Does what `sigaction` does, behind our handler.
fn set_action(of_server: &ServerHandler, new: *const Action, old: *mut Action) -> c_int {
    let Some(mut before) = real_action(of_server.signal) else {
        return -1;
    };
    if before.sa_sigaction == crashed as *const () as usize {
        before.sa_sigaction = of_server.handler.load(Ordering::SeqCst);
        if !of_server.has_info.load(Ordering::SeqCst) {
            before.sa_flags &= !libc::SA_SIGINFO;
        }
    }
    if !new.is_null() {
        // SAFETY: not null, so what the program wants done.
        let asked = unsafe { *new };
        let mut action = asked;
        let ours = crashed as *const () as usize;
        if asked.sa_sigaction != libc::SIG_IGN {
            action.sa_sigaction = ours;
            action.sa_flags |= libc::SA_SIGINFO;
        }
        let result = real::sigaction(of_server.signal, &raw const action, std::ptr::null_mut());
        if result != 0 {
            return result;
        }
        // Who got ours from `signal` and gives it back wants what it was before.
        if asked.sa_sigaction != libc::SIG_IGN && asked.sa_sigaction != ours {
            let has_info = asked.sa_flags & libc::SA_SIGINFO != 0;
            of_server.has_info.store(has_info, Ordering::SeqCst);
            of_server.handler.store(asked.sa_sigaction, Ordering::SeqCst);
        }
    }
    if !old.is_null() {
        // SAFETY: not null, so where the program wants it.
        unsafe { old.write(before) };
    }
    0
}

extern "C" fn crashed(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    if let Some(state) = state()
        && state.meter.get(Global::CrashSignal) == 0
    {
        state.meter.set(Global::CrashInside, u64::from(Inside::is()));
        state.meter.set(Global::CrashSignal, signal as u64);
    }
    let Some(of_server) = handler_of(signal) else {
        return;
    };
    let handler = of_server.handler.load(Ordering::SeqCst);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        die_of(signal);
        return;
    }
    if of_server.has_info.load(Ordering::SeqCst) {
        // SAFETY: the program gave it as a handler of this type.
        let handler = unsafe {
            std::mem::transmute::<usize, extern "C" fn(c_int, *mut siginfo_t, *mut c_void)>(handler)
        };
        handler(signal, info, context);
    } else {
        // SAFETY: as above.
        let handler = unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(handler) };
        handler(signal);
    }
}

/// What happens without a handler: the signal comes again, as soon as this one has returned.
fn die_of(signal: c_int) {
    let Some(mut action) = real_action(signal) else {
        return;
    };
    action.sa_sigaction = libc::SIG_DFL;
    action.sa_flags = 0;
    real::sigaction(signal, &raw const action, std::ptr::null_mut());
    // SAFETY: sends a signal to this thread.
    unsafe { libc::raise(signal) };
}
