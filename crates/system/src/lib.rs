//! Child processes, and what the kernel tells of memory, file systems and processes.

mod child;
mod facts;
mod spawn;

pub use child::{ChildProcess, POLL_INTERVAL};
pub use facts::{ProcessStat, end_of_file, free_bytes, meminfo_bytes, number, size_bytes};
pub use spawn::{ChildOptions, DiesWith, cpu_set};
