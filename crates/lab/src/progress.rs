//! What a command tells the person who waits.

use base::Warehouses;
use drive::{Interval, LoadProgress};
use plan::Cell;
use std::time::Duration;
use store::{RepeatId, SampleBatch};

/// Something that happened, or how far something has come.
pub enum Progress<'a> {
    /// A new step begins: `cloning the image`.
    Step(&'a str),
    /// Something that the person should know and the store keeps.
    Note(&'a str),
    /// A repeat of a plan's cell begins; `title` says which, and what is left.
    TurnStarts {
        title: &'a str,
        cell: &'a Cell,
    },
    /// A repeat of a plan's cell is stored, whatever came of it.
    TurnEnds(RepeatId),
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
    /// A phase that is under way or comes is automatic: `total` is the most that the run may take.
    pub total_is_most: bool,
    pub in_warmup: bool,
    /// What ends the warm-up or the window that is under way, where that is not its time.
    pub awaited: Option<Awaited>,
    /// Of the last whole interval.
    pub nopm: f64,
    pub new_order_p95_us: f64,
    pub errors: u64,
    pub retries: u64,
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

/// Takes what a command tells.
pub type OnProgress<'a> = dyn FnMut(Progress<'_>) + 'a;
