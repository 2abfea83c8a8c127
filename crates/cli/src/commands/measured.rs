//! What commands that measure a lab have in common: it is shown while it goes on, and what came of
//! it is known however it ended.

use crate::views::Live;
use lab::{Job, LabError, LabRun, LabRunOptions, LabRunSummary, Planned, Progress};
use std::sync::atomic::AtomicBool;
use store::{LabId, RepeatId, Results};

/// What came of a lab.
pub struct Measured {
    /// `None` where it never began.
    pub lab: Option<LabId>,
    /// That were measured now.
    pub repeats: Vec<RepeatId>,
    pub ended: Result<LabRunSummary, LabError>,
}

/// Measures what is planned; of what it tells, nothing else is shown where `is_shown` says that.
pub fn measure(
    (results, planned): (&Results, Planned),
    options: &LabRunOptions,
    live: &mut Live,
    stop: &AtomicBool,
    is_shown: &mut dyn FnMut(&Progress<'_>, &mut Live) -> bool,
) -> Measured {
    let mut repeats = Vec::new();
    let mut told = |progress: Progress<'_>| {
        if let Progress::TurnEnds(repeat) = progress {
            repeats.push(repeat);
        }
        if live.take(&progress) && !is_shown(&progress, live) {
            live.show(progress);
        }
    };
    let run = LabRun::new(results, planned, options);
    let ended = run.run(&Job::new(stop, &mut told));
    live.finish();
    Measured { lab: run.begun(), repeats, ended }
}
