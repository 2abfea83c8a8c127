//! What a command tells the person who waits.

use base::Warehouses;
use drive::{Interval, LoadProgress};
use std::time::Duration;
use store::SampleBatch;

/// Something that happened, or how far something has come.
pub enum Progress<'a> {
    /// A new step begins: `cloning the image`.
    Step(&'a str),
    /// Something that the person should know and the store keeps.
    Note(&'a str),
    Load(LoadProgress),
    /// All connections are open and the warm-up begins, over so many warehouses of each schema.
    RunStarts(Warehouses),
    Run(RunProgress),
    /// An interval of a run is over.
    Interval(&'a Interval),
    /// What was sampled beside the run since the last time.
    Samples(&'a [SampleBatch]),
    Checks {
        done: u64,
        total: u64,
    },
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct RunProgress {
    pub elapsed: Duration,
    pub total: Duration,
    pub in_warmup: bool,
    /// Of the last whole interval.
    pub nopm: f64,
    pub new_order_p95_us: f64,
    pub errors: u64,
    pub retries: u64,
}

/// Takes what a command tells.
pub type OnProgress<'a> = dyn FnMut(Progress<'_>) + 'a;
