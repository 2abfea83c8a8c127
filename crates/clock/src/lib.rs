//! The library that is preloaded into an unmodified server so that its clocks run slower than the
//! real ones, or faster: who reads time is told the dilated one, and who waits waits so much longer
//! or less long.
//!
//! It is told by the variable [`base::CLOCK_VARIABLE`]; without it every call is passed through.
//! All clocks are the real ones at the moment that the variable names and run otherwise from there
//! on, but those that count CPU time: a core does in a second what it does. Time in files is the
//! kernel's, and real. Nothing is allocated and nothing panics after the start.
//!
//! The shim, which stands in front of this library, reads and sleeps past it.

#![expect(unsafe_code, reason = "C functions are taken over and called, with times by pointer")]

mod clocks;
mod poll_hooks;
mod read_hooks;
mod sleep_hooks;
mod start;
mod system_calls;
mod timer_hooks;
mod translated;
mod wait_hooks;
