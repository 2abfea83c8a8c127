//! Jobs of fio, and what they give.

use super::output::FioResult;
use crate::delta::Delta;
use base::{Dilation, named};
use device::Profile;
use device::page::AccessKind;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub(crate) const RANDOM_BYTES: u32 = 4 << 10;
const SEQUENTIAL_BYTES: u32 = 128 << 10;

named! {
    /// What a job does, by the name that fio has for it.
    pub enum Pattern {
        RandomRead = "randread",
        RandomWrite = "randwrite",
        /// Seven reads for three writes.
        RandomMixed = "randrw",
        SequentialRead = "read",
        SequentialWrite = "write",
        /// Random writes, each followed by a flush (fdatasync), which is an option of its own.
        FlushedWrite = "randwrite",
    }
}

impl Pattern {
    /// The requests that are measured.
    pub(crate) fn kinds(self) -> &'static [AccessKind] {
        match self {
            Pattern::RandomRead | Pattern::SequentialRead => &[AccessKind::Read],
            Pattern::RandomMixed => &[AccessKind::Read, AccessKind::Write],
            _ => &[AccessKind::Write],
        }
    }

    pub(crate) fn is_sequential(self) -> bool {
        matches!(self, Pattern::SequentialRead | Pattern::SequentialWrite)
    }
}

/// One job of fio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FioJob {
    pub pattern: Pattern,
    pub block_bytes: u32,
    pub queue_depth: u32,
    /// Not measured, before the run time.
    pub ramp: Duration,
    pub runtime: Duration,
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// How much of the file is worked on, from its begin.
    pub span_bytes: u64,
}

impl FioJob {
    /// A job past the page cache, without a ramp, on the whole file.
    pub(crate) fn new(pattern: Pattern, queue_depth: u32, runtime: Duration) -> FioJob {
        FioJob {
            pattern,
            block_bytes: if pattern.is_sequential() { SEQUENTIAL_BYTES } else { RANDOM_BYTES },
            queue_depth,
            ramp: Duration::ZERO,
            runtime,
            direct: true,
            span_bytes: u64::MAX,
        }
    }
}

/// Who waits for a job.
pub struct JobWatch<'a> {
    /// Ends it.
    pub stop: &'a AtomicBool,
    /// Is told how long it has been running, now and then.
    pub on_tick: &'a mut dyn FnMut(Duration),
}

/// A device that a job runs on by the shim.
#[derive(Clone, Copy, Debug)]
pub struct Emulation<'a> {
    pub profile: &'a Profile,
    /// It begins as long random writing leaves it.
    pub preconditioned: bool,
    /// Without it the shim is there and nothing waits: what the host can do at most.
    pub armed: bool,
    /// Of the device and of fio: its times, those of the job included, are dilated.
    pub dilation: Dilation,
}

/// What a job under the shim gave.
#[derive(Clone, Debug, PartialEq)]
pub struct EmulatedResult {
    pub measured: FioResult,
    /// From the end of the ramp.
    pub counters: Delta,
}
