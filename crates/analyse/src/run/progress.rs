//! How far a run has come, and what its phase waits for.

use std::time::Duration;

/// How far a run has come, in real time.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunProgress {
    pub elapsed: Duration,
    pub total: Duration,
    /// A phase that is under way or comes is automatic: `total` is the most that the run may take.
    pub total_is_most: bool,
    pub in_warmup: bool,
    /// What ends the warm-up or the window that is under way, where that is not its time.
    pub awaited: Option<Awaited>,
}

/// What ends a phase of automatic length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Awaited {
    /// That the server be steady.
    Steadiness {
        /// What is not; `None` before that can be told.
        of: Option<&'static str>,
        /// Of the warm-up, as `most`.
        so_far: Duration,
        most: Duration,
    },
    /// That the mean of the window be known to a share of it.
    Precision {
        asked_share: f64,
        /// `None` before that can be told.
        reached_share: Option<f64>,
        /// Of the window, as `most`.
        so_far: Duration,
        /// What the whole window will probably take, where that is less than the most.
        about: Option<Duration>,
        most: Duration,
    },
}
