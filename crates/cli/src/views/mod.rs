//! What a run shows while it goes on, instead of the bar: a dashboard on a terminal, plain lines
//! elsewhere, and metrics for Prometheus. All are views of one [`State`].

mod draw;
mod lines;
pub mod watch;

use crate::console::Console;
use crate::failure::Failure;
use base::Dilation;
use lab::{Progress, Subject};
use lines::Lines;
use live::{About, Exporter, State};
use spec::Cell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use watch::Watch;

/// What is shown of a run under way.
pub struct Live {
    state: State,
    view: View,
    pub console: Console,
    exporter: Option<Exporter>,
    /// Set where the user asks for the end.
    pub stop: Arc<AtomicBool>,
    /// Notes that were told, without their figures.
    told: Option<BTreeSet<String>>,
}

/// What of a run is shown.
#[derive(Clone, Copy, Default)]
pub struct LiveOptions {
    /// A dashboard, or lines.
    pub watch: bool,
    /// Where Prometheus may ask.
    pub metrics_listen: Option<SocketAddr>,
    /// How long each part of a measurement takes.
    pub verbose: bool,
    /// Many measurements, most of which have the same to note, but for its figures.
    pub notes_once: bool,
}

/// Where a person looks.
enum View {
    /// At the bar of [`Console`].
    Console,
    Lines(Lines),
    Dashboard(Dashboard),
}

/// How long a terminal that takes nothing may keep a run from its next step.
const PATIENCE: Duration = Duration::from_millis(500);

/// The dashboard, from the first moment of a run to its last.
struct Dashboard {
    watch: Watch,
    /// Told while it is shown, to be printed after it.
    notes: Vec<String>,
}

impl Live {
    /// Begins to show what was asked for, and tells the rest on a console; Prometheus may ask from
    /// now on.
    ///
    /// # Errors
    /// Where the address to listen on cannot be had, or a thread.
    pub fn begin(options: LiveOptions, stop: &Arc<AtomicBool>) -> Result<Live, Failure> {
        let mut console = Console::new()?;
        console.is_verbose = options.verbose;
        let view = match options.watch.then(Watch::prepare).transpose()? {
            None => View::Console,
            Some(None) => View::Lines(Lines::begin()?),
            Some(Some(watch)) => View::Dashboard(Dashboard { watch, notes: Vec::new() }),
        };
        let live = Live {
            state: State::default(),
            view,
            console,
            exporter: options.metrics_listen.map(Exporter::listen).transpose()?,
            stop: Arc::clone(stop),
            told: options.notes_once.then(BTreeSet::new),
        };
        live.publish();
        Ok(live)
    }

    /// Takes what the run tells, and shows it.
    pub fn tell(&mut self, progress: Progress<'_>) {
        if self.take(&progress) {
            self.show(progress);
        }
    }

    /// Takes what the run tells, for all views. Is it to be shown? The results file keeps a note
    /// for each repeat.
    pub fn take(&mut self, progress: &Progress<'_>) -> bool {
        if let (Progress::Note(note), Some(told)) = (progress, &mut self.told)
            && !told.insert(note.replace(|letter: char| letter.is_ascii_digit(), ""))
        {
            return false;
        }
        let stage = self.state.stage;
        take(&mut self.state, progress);
        self.state.is_ending = self.stop.load(Ordering::Relaxed);
        let is_news = matches!(
            progress,
            Progress::RunStarts { .. } | Progress::Interval(_) | Progress::TurnStarts { .. }
        );
        if is_news || self.state.stage != stage {
            self.publish();
        }
        true
    }

    /// Shows to people what has been taken, or has the console show it.
    pub fn show(&mut self, progress: Progress<'_>) {
        let console = &mut self.console;
        if let View::Dashboard(dashboard) = &mut self.view
            && watch::is_gone()
        {
            // A panic of some thread has taken the terminal back. Its words are on it, and below
            // them the run is told plainly.
            dashboard.close(console, PATIENCE);
            self.view = View::Console;
        }
        match &mut self.view {
            View::Console => match progress {
                Progress::Run(_) => console.show_run(&mut self.state),
                other => console.show(other),
            },
            View::Lines(lines) => match progress {
                Progress::Interval(interval) => lines.show(interval, &self.state),
                Progress::Run(_) => {}
                Progress::TurnStarts { title, .. } => lines.remark(title),
                other => console.show(other),
            },
            View::Dashboard(dashboard) => dashboard.show(progress, &self.state, console),
        }
    }

    /// Shows what came of a repeat of a lab.
    pub fn show_result(&mut self, result: &str) {
        self.state.end_turn(result);
        match &mut self.view {
            View::Console => self.console.show(Progress::Step(result)),
            View::Lines(lines) => lines.remark(result),
            View::Dashboard(dashboard) => dashboard.watch.show_now(&self.state),
        }
    }

    /// The load is over: Prometheus finds a gap. The terminal is as it was before, and what was
    /// told meanwhile is printed. A reader who stalls is waited for, as what comes next is for
    /// him, and all is stored.
    pub fn finish(&mut self) {
        self.state.finish();
        self.publish();
        match &mut self.view {
            View::Console => {}
            View::Lines(lines) => lines.finish(),
            View::Dashboard(dashboard) => dashboard.close(&mut self.console, Duration::MAX),
        }
        self.console.done();
    }

    fn publish(&self) {
        if let Some(exporter) = &self.exporter {
            exporter.publish(&self.state);
        }
    }
}

/// Has the model take what the run tells.
fn take(state: &mut State, progress: &Progress<'_>) {
    match progress {
        Progress::TurnStarts { title, cell } => state.begin_turn(title, about(&cell.what, None)),
        Progress::RunStarts { types, warehouses, connections } => {
            state.begin_run(types, *warehouses, *connections);
        }
        Progress::Run(run) => state.run_goes_on(*run),
        Progress::Interval(interval) => state.end_interval(interval),
        Progress::Samples(batches) => state.take_samples(batches),
        Progress::Note(note) => state.note(note),
        Progress::Step(step) => state.step(*step),
        Progress::Load(load) => {
            let percent = load.bytes * 100 / load.bytes_total.max(1);
            let (steps, total) = (load.steps, load.steps_total);
            state.step(format!("loading: {percent} %, indexes {steps}/{total}"));
        }
        Progress::Checks { done, total } => {
            state.finish();
            state.step(format!("checking: {done} of {total}"));
        }
        Progress::Reached { subject, cell } => state.about = about(cell, Some(subject)),
        Progress::TurnEnds(_) | Progress::LabGoesOn { .. } | Progress::Took(..) => {}
    }
}

/// What is run; before its server is up, as it was asked for.
fn about(cell: &Cell, subject: Option<&Subject>) -> About {
    let named = cell.server.private().map(|private| private.engine.clone());
    let reached = subject.map(|subject| subject.engine().map_or(subject.dsn(), str::to_owned));
    About {
        target: named.or(reached).unwrap_or_default(),
        workload: cell.load.workload.name().to_owned(),
        style: cell.load.style.name().to_owned(),
        dilation: subject.map_or(Dilation::NONE, Subject::dilation),
    }
}

impl Dashboard {
    fn show(&mut self, progress: Progress<'_>, state: &State, console: &mut Console) {
        match progress {
            Progress::RunStarts { .. } | Progress::Run(_) => {
                if !self.watch.is_shown() {
                    console.done();
                }
                self.watch.show(state);
            }
            Progress::Note(note) if self.watch.is_shown() => {
                self.notes.push(note.to_owned());
            }
            // The next picture shows these, at most a tenth of a second later.
            Progress::Interval(_)
            | Progress::Samples(_)
            | Progress::TurnEnds(_)
            | Progress::Took(..)
            | Progress::Reached { .. } => {}
            // Of a lab all is on it, from its first repeat to its last.
            Progress::TurnStarts { .. } => {
                if !self.watch.is_shown() {
                    console.done();
                }
                self.watch.show_now(state);
            }
            // A step has no other news until it ends.
            Progress::Step(_) if state.lab.is_some() => self.watch.show_now(state),
            _ if state.lab.is_some() => self.watch.show(state),
            other => {
                self.close(console, PATIENCE);
                console.show(other);
            }
        }
    }

    fn close(&mut self, console: &mut Console, patience: Duration) {
        self.watch.close(patience);
        for note in self.notes.drain(..) {
            console.say_note(&note);
        }
    }
}
