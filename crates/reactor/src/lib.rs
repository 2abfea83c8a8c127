//! One thread, many connections: tasks, timers and socket readiness on epoll.
//!
//! A load generator pays for wake-ups and system calls, so this executor has just what that needs
//! and no more. Tasks stay on their thread, nothing is atomic, and an event wakes its task by an
//! index instead of a `Waker`. It follows that only the futures of this crate may suspend a task,
//! and that a leaf future may be polled without cause: each looks at its own condition again.
//!
//! Tasks hand work to each other through a [`Queue`] and tell each other of its end by a
//! [`Signal`].
//!
//! Sockets are registered once, edge-triggered. Reading is tried before waiting, and interest in
//! writing exists only while a write is blocked: on unix sockets the peer's every read would wake
//! us otherwise.

mod core;
mod queue;
mod tasks;
mod time;

pub use crate::core::PolledSocket;
pub use crate::queue::{Queue, Signal};
pub use crate::tasks::{Tasks, block_on, block_on_unless, join_all, on_threads};
pub use crate::time::{TimedOut, sleep_until, timeout_at};
