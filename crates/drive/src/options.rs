//! How to run: what a run is asked for.

use crate::pace::Pace;
use std::time::Duration;

/// How to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    pub connections: u32,
    /// Threads of this process that carry connections; at least 1.
    pub workers: u32,
    /// Which of all workers these are, where partners have others; `connections` are those of all.
    pub place: Option<WorkerPlace>,
    /// The longest that each may be: [`Control::EndPhase`](crate::Control::EndPhase) ends it
    /// earlier.
    pub warmup: Duration,
    pub window: Duration,
    pub interval: Duration,
    pub pace: Pace,
    /// Longest pause before the second try of a transaction; it doubles with each further try.
    pub retry_pause: Duration,
    pub seed: u64,
}

/// The workers of one process among those of all who drive a run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerPlace {
    /// The number of its first worker, from 0.
    pub first: u32,
    /// Workers of all processes; at most as many as there are connections.
    pub workers_of_all: u32,
}
