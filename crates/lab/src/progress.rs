//! What a command tells the person who waits.

use crate::target::subject::Subject;
use analyse::RunProgress;
use base::Warehouses;
use drive::{Interval, LoadProgress, TransactionInfo};
use plan::PlannedCell;
use spec::Cell;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::{LabId, RepeatId, SampleBatch};

/// Something that happened, or how far something has come.
pub enum Progress<'a> {
    /// A new step begins: `cloning the image`.
    Step(&'a str),
    /// Something that the person should know and the store keeps.
    Note(&'a str),
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
    /// An interval is over: of the run or, before that starts, of the loop that finds the capacity.
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

/// What every step of a command is given: when to stop, and whom to tell.
pub struct Job<'a> {
    pub stop: &'a AtomicBool,
    /// What the user sets; what else ends a step is its time limit.
    pub(crate) user_stop: &'a AtomicBool,
    on_progress: RefCell<&'a mut OnProgress<'a>>,
}

impl<'a> Job<'a> {
    pub fn new(stop: &'a AtomicBool, on_progress: &'a mut OnProgress<'a>) -> Job<'a> {
        Job { stop, user_stop: stop, on_progress: RefCell::new(on_progress) }
    }

    /// The same, told to somebody else, who may tell this one.
    pub(crate) fn telling<'b>(&self, on_progress: &'b mut OnProgress<'b>) -> Job<'b>
    where
        'a: 'b,
    {
        Job { stop: self.stop, user_stop: self.user_stop, on_progress: RefCell::new(on_progress) }
    }

    /// Does `work`, which this flag ends too, as the user's does.
    pub(crate) fn until<T>(&self, stop: &AtomicBool, work: impl FnOnce(&Job<'_>) -> T) -> T {
        let mut tell = |progress: Progress<'_>| self.tell(progress);
        work(&Job { stop, ..self.telling(&mut tell) })
    }

    /// Does `work`, and collects its notes: of what comes before there is a repeat that they belong
    /// to.
    pub(crate) fn noting<T>(&self, notes: &mut Vec<String>, work: impl FnOnce(&Job<'_>) -> T) -> T {
        work(&self.telling(&mut |progress: Progress<'_>| {
            if let Progress::Note(note) = &progress {
                notes.push((*note).to_owned());
            }
            self.tell(progress);
        }))
    }

    /// Tells it. Whoever is told may tell another job, not this one.
    pub fn tell(&self, progress: Progress<'_>) {
        (self.on_progress.borrow_mut())(progress);
    }

    pub fn note(&self, note: &str) {
        self.tell(Progress::Note(note));
    }

    pub fn notes<T: AsRef<str>>(&self, notes: impl IntoIterator<Item = T>) {
        notes.into_iter().for_each(|note| self.note(note.as_ref()));
    }

    pub fn step(&self, step: &str) {
        self.tell(Progress::Step(step));
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Does the user or a scheduler ask for a stop?
    pub(crate) fn is_stop_asked(&self) -> bool {
        self.user_stop.load(Ordering::Relaxed)
    }
}

/// Tells how long the parts of a measurement took, one after another.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn begin() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// The part that began with the end of the one before is over.
    pub(crate) fn lap(&mut self, part: &'static str, job: &Job<'_>) {
        let begun = std::mem::replace(&mut self.0, Instant::now());
        job.tell(Progress::Took(part, begun.elapsed()));
    }
}
