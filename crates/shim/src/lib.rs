//! The library that is preloaded into an unmodified server: it sees the server's file input and
//! output, counts it by role, and where a role is on an emulated device, completes each request no
//! earlier than the device model says.
//!
//! It is named by `LD_PRELOAD` and told what to do by the file that `MYDYNO_SHIM_SETUP` names;
//! without it every call is passed through. The real input and output always happens, at the speed
//! of the host, and its results are never altered: only their time is, unless a fault is asked for.
//! On the path of a request nothing is allocated; tables are static or made when the process
//! starts. An index of a table is right or the emulation is wrong, which ends the process: a panic
//! does not leave a function that C calls, and the page tells that the shim has crashed.
//!
//! An emulated file is not made durable on the host: a flush costs the time it costs the model, and
//! what it promises holds against the death of the process, not of the machine.

#![expect(unsafe_code, reason = "C functions are taken over and called; shared memory is mapped")]

mod aio;
mod aio_hooks;
mod blocked;
mod buffered;
mod cache;
mod clock;
mod crash;
mod faults;
mod file_hooks;
mod files;
mod flight;
mod io_hooks;
mod journal;
mod limits;
mod map_hooks;
mod meter;
mod name_hooks;
mod names;
mod path;
mod readers;
mod record;
mod removed;
mod session;
mod shared;
mod start;
mod state;
mod system;
mod transfer;
mod write_back;
