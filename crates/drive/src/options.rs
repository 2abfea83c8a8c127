//! How to run: what a run is asked for.

use crate::pace::Pace;
use std::time::Duration;

/// How to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    pub connections: u32,
    /// Threads that carry the connections; at least 1.
    pub workers: u32,
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
