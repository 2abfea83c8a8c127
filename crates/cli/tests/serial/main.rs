//! What needs a machine that computes next to nothing else: tests of a binary of their own. Those
//! that need it to themselves take turns.

mod bound;
mod faster;
mod sheets;
mod standstill;
#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "most of it is for the tests that run in parallel"
)]
#[path = "../support/mod.rs"]
mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One such test at a time.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
