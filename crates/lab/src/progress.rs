//! What a command tells the person who waits.

use crate::target::subject::Subject;
use analyse::RunProgress;
use base::Warehouses;
use drive::{Interval, LoadProgress, TransactionInfo};
use plan::PlannedCell;
use spec::Cell;
use std::time::{Duration, Instant};
use store::{LabId, RepeatId, SampleBatch};

/// Something that happened, or how far something has come.
pub enum Progress<'a> {
    /// A new step begins: `cloning the image`.
    Step(&'a str),
    /// Something that the person should know and the store keeps.
    Note(&'a str),
    /// There is a lab in the results file now.
    LabBegins(LabId),
    /// A lab that an earlier call began goes on, with so many of all its repeats.
    LabGoesOn {
        lab: LabId,
        there: usize,
        all: usize,
    },
    /// The server of a cell answers.
    Reached {
        subject: &'a Subject,
        cell: &'a Cell,
    },
    /// A repeat of a plan's cell begins; `title` says which, and what is left.
    TurnStarts {
        title: &'a str,
        cell: &'a PlannedCell,
    },
    /// A repeat of a cell is stored, whatever came of it; no ramp has one.
    TurnEnds(RepeatId),
    Load(LoadProgress),
    /// All connections are open and the warm-up begins.
    RunStarts {
        types: &'static [TransactionInfo],
        /// Those of each schema.
        warehouses: Warehouses,
        connections: u32,
    },
    Run(RunProgress),
    /// An interval of a run is over.
    Interval(&'a Interval),
    /// What was sampled beside the run since the last time.
    Samples(&'a [SampleBatch]),
    Checks {
        done: u64,
        total: u64,
    },
    /// A part of a measurement is over, and took that long in real time.
    Took(&'static str, Duration),
}

/// Takes what a command tells.
pub type OnProgress<'a> = dyn FnMut(Progress<'_>) + 'a;

/// Tells how long the parts of a measurement took, one after another.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn begin() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// The part that began with the end of the one before is over.
    pub(crate) fn lap(&mut self, part: &'static str, on_progress: &mut OnProgress<'_>) {
        let begun = std::mem::replace(&mut self.0, Instant::now());
        on_progress(Progress::Took(part, begun.elapsed()));
    }
}
