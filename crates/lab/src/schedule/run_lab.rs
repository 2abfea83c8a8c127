//! A plan's execution: its turns one after another, each on a fresh clone, each stored when it ends. What failed is a result too, and the
//! next turn begins. Called again with the same plan and results file, it does what is missing.

mod ramps;

use crate::error::LabError;
use crate::measure::measurement::{self, Measured, measure};
use crate::measure::seeds::seed_of_repeat;
use crate::measure::workload::{metric_of, transactions_of};
use crate::progress::{OnProgress, Progress};
use crate::schedule::planned::Planned;
use crate::schedule::watchdog::within;
use crate::target::disk_space;
use crate::target::populate::record_load;
use analyse::standing_points;
use base::Exit;
use plan::{Plan, PlannedCell, Setting, Turn};
use server::{Home, Image, ImageKey, ServerError};
use spec::{Cell, Connections, Lengths, Meters};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use storage::StorageError;
use store::{
    CheckedOn, LabId, NewCell, NewRepeat, NoteOn, Repeat, RepeatFailure, RepeatStatus, Results,
    redact,
};

/// What to execute of a plan, and how.
#[derive(Clone, Debug, Default)]
pub struct LabRunOptions {
    /// Ordinals of cells; all where none is named.
    pub only: Vec<u32>,
    /// Measure again what failed.
    pub redo: bool,
    pub meters: Meters,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabRunSummary {
    /// Turns that were measured now, and those of them without a result.
    pub measured: usize,
    pub failed: usize,
    /// Turns that are still missing.
    pub left: usize,
    /// Interrupted, CheckFailed where a database of the lab lost something, now or earlier, else Ok: a cell that failed is a result.
    pub exit: Exit,
}

/// What goes on before a repeat has a server.
const STARTING: &str = "cloning the database and starting a server";

/// The lab of the results file that executes this plan, where one has begun.
pub fn lab_of(results: &Results, plan: &Plan) -> Result<Option<LabId>, LabError> {
    // As it was stored.
    let text = redact(plan.text());
    let mut labs = results.labs()?;
    labs.retain(|lab| lab.plan.as_ref() == Some(&text) && lab.name == plan.name());
    Ok(labs.last().map(|lab| lab.id))
}

/// Turns of a plan that have no result in `lab` yet, in the order of their execution.
pub fn missing(
    results: &Results,
    lab: LabId,
    planned: &Planned,
    redo: bool,
) -> Result<Vec<Turn>, LabError> {
    let ended_ramps = ramps::ended(results, lab, redo)?;
    let mut ended = BTreeMap::new();
    for cell in results.cells(lab)? {
        for repeat in results.repeats(cell.id)? {
            let has_ended = has_ended(results, &repeat, redo)?;
            ended.insert((cell.what.ordinal, repeat.ordinal), has_ended);
        }
    }
    let turns = planned.turns.iter().copied();
    let is_missing = |turn: &Turn| {
        let cell = &planned.cells[turn.index].0;
        let place = (cell.ordinal, turn.repeat);
        match cell.what.load.connections {
            Connections::Ramp(_) => !ended_ramps.contains(&place),
            _ => ended.get(&place) != Some(&true),
        }
    };
    Ok(turns.filter(is_missing).collect())
}

/// Turns that are to be taken now, in their order: those that are missing of the cells that are asked for. All of these where no lab has
/// begun yet.
pub fn to_do(
    begun: Option<(&Results, LabId)>,
    planned: &Planned,
    spec: &LabRunOptions,
) -> Result<Vec<Turn>, LabError> {
    let mut turns = match begun {
        Some((results, lab)) => missing(results, lab, planned, spec.redo)?,
        None => planned.turns.clone(),
    };
    turns.retain(|turn| {
        spec.only.is_empty() || spec.only.contains(&planned.cells[turn.index].0.ordinal)
    });
    Ok(turns)
}

fn has_ended(results: &Results, repeat: &Repeat, redo: bool) -> Result<bool, LabError> {
    Ok(match repeat.status {
        RepeatStatus::Running => false,
        // Without its checks it proves nothing, and its server is gone.
        RepeatStatus::Done => {
            repeat.is_whole() && !results.checks(CheckedOn::Repeat(repeat.id))?.is_empty()
        }
        // What was only interrupted is measured again.
        RepeatStatus::Failed | RepeatStatus::Skipped => !redo && repeat.own_failure().is_some(),
    })
}

/// Executes what is missing of a plan.
///
/// # Errors
/// The results file cannot be written. What a cell dies of is stored with it.
pub fn run_lab(
    place: (&Home, &Results, LabId),
    plan: &Plan,
    planned: &Planned,
    spec: &LabRunOptions,
    stop: &AtomicBool,
    on_progress: &mut OnProgress<'_>,
) -> Result<LabRunSummary, LabError> {
    let (home, results, lab) = place;
    let turns = to_do(Some((results, lab)), planned, spec)?;
    let images = planned.images_for(&turns)?;
    let lab_run = LabRun {
        home,
        results,
        lab,
        planned,
        spec,
        stop,
    };
    let begun = Instant::now();
    let mut summary = LabRunSummary {
        measured: 0,
        failed: 0,
        left: 0,
        exit: Exit::Ok,
    };
    let mut pace = Pace::default();
    let mut block_of = None;
    for (done, turn) in turns.iter().enumerate() {
        let is_late = plan
            .time_limit()
            .is_some_and(|limit| begun.elapsed() >= limit);
        if is_late || stop.load(Ordering::Relaxed) {
            break;
        }
        let to_come = &turns[done..];
        let expected: Duration = to_come.iter().map(|turn| lab_run.expected(*turn)).sum();
        let left = match lab_run.cell(*turn).what.load.connections {
            // What other ramps took says nothing of how many points this one needs.
            Connections::Ramp(_) => expected,
            _ => pace.of(expected),
        };
        let title = lab_run.title(*turn, done, turns.len(), left);
        let cell = lab_run.cell(*turn);
        if block_of.replace(turn.repeat) != Some(turn.repeat) {
            lab_run.begin_block(on_progress)?;
        }
        on_progress(Progress::TurnStarts {
            title: &title,
            cell,
        });
        let turn_begun = Instant::now();
        let exit = lab_run.take(*turn, &images[done + 1..], on_progress)?;
        pace.learn(lab_run.expected(*turn), turn_begun.elapsed());
        if exit == Exit::Interrupted {
            break;
        }
        if let Some(repeat) = lab_run.last_attempt(*turn)? {
            on_progress(Progress::TurnEnds(repeat.id));
        }
        summary.measured += 1;
        summary.failed += usize::from(exit != Exit::Ok);
    }
    summary.left = missing(results, lab, planned, false)?.len();
    if has_failed_checks(results, lab)? {
        summary.exit = Exit::CheckFailed;
    }
    if stop.load(Ordering::Relaxed) {
        summary.exit = Exit::Interrupted;
    }
    Ok(summary)
}

/// Has any repeat that counts lost something?
fn has_failed_checks(results: &Results, lab: LabId) -> Result<bool, LabError> {
    let has_failed = |reason_code: &Option<String>| reason_code.as_deref() == Some("check_failed");
    // A point whose ramp was measured again may be none of its points any more.
    let mut of_ramps = BTreeSet::new();
    for ramp in results.ramps(lab)? {
        let standing = standing_points(results, ramp.id, false)?.points;
        if standing.iter().any(|point| has_failed(&point.reason_code)) {
            return Ok(true);
        }
        let all = results.ramp_points(ramp.id)?;
        of_ramps.extend(all.iter().map(|repeat| repeat.id));
    }
    for cell in results.cells(lab)? {
        let mut repeats = results.repeats(cell.id)?;
        repeats.retain(|repeat| !of_ramps.contains(&repeat.id));
        if repeats.iter().any(|repeat| has_failed(&repeat.reason_code)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How this machine's turns compare with what was expected of them.
#[derive(Default)]
struct Pace {
    expected: Duration,
    taken: Duration,
}

impl Pace {
    fn learn(&mut self, expected: Duration, taken: Duration) {
        self.expected += expected;
        self.taken += taken;
    }

    fn of(&self, expected: Duration) -> Duration {
        if self.expected.is_zero() {
            return expected;
        }
        expected.mul_f64(self.taken.as_secs_f64() / self.expected.as_secs_f64())
    }
}

struct LabRun<'a> {
    home: &'a Home,
    results: &'a Results,
    lab: LabId,
    planned: &'a Planned,
    spec: &'a LabRunOptions,
    stop: &'a AtomicBool,
}

impl LabRun<'_> {
    /// Begins a block, to which all turns belong until the next one begins: a repeat of this call.
    /// What an earlier call left of a repeat is measured at another time, and so in another block.
    fn begin_block(&self, on_progress: &mut OnProgress<'_>) -> Result<(), LabError> {
        on_progress(Progress::Step("timing a fixed piece of work on this host"));
        let canary = match observe::canary() {
            Ok(canary) => Some(canary),
            Err(error) => {
                on_progress(Progress::Note(&format!("a block has no canary: {error}")));
                None
            }
        };
        self.results.begin_block(self.lab, canary)?;
        Ok(())
    }

    fn cell(&self, turn: Turn) -> &PlannedCell {
        &self.planned.cells[turn.index].0
    }

    /// What the inputs of a turn derive from.
    fn seed(&self, turn: Turn) -> u64 {
        seed_of_repeat(self.cell(turn).what.load.seed, turn.repeat)
    }

    fn expected(&self, turn: Turn) -> Duration {
        self.planned.cells[turn.index].1.duration
    }

    fn title(&self, turn: Turn, done: usize, all: usize, left: Duration) -> String {
        let cell = self.cell(turn);
        format!(
            "{} of {all}: cell {} ({}), repeat {} of {}; {} {} min left",
            done + 1,
            cell.ordinal,
            cell.label(),
            turn.repeat,
            cell.repeats,
            cell.what.load.connections.of_times(),
            left.as_secs().div_ceil(60)
        )
    }

    /// One turn, stored however it ends; `coming` are the images of those after it.
    fn take(
        &self,
        turn: Turn,
        coming: &[ImageKey],
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Exit, LabError> {
        if let Connections::Ramp(limits) = &self.cell(turn).what.load.connections {
            return self.take_ramp(turn, limits, coming, on_progress);
        }
        // Told before there is a repeat that they belong to.
        let mut notes = Vec::new();
        let attempted = self.last_attempt(turn)?;
        let limit = self.cell(turn).repeat_time_limit;
        let image = self.image(turn, coming, &mut |progress: Progress<'_>| {
            if let Progress::Note(note) = &progress {
                notes.push((*note).to_owned());
            }
            on_progress(progress);
        });
        // A database that has to be populated first is no repeat's time.
        let (measured, timed_out) = match image {
            Ok(image) => within(limit, self.stop, |stop| {
                self.measure((turn, image), &notes, stop, on_progress)
            }),
            Err(error) => (Err(error), false),
        };
        let (exit, failure) = match measured {
            // Else it had ended before, and only its server took longer.
            Ok(measured) if timed_out && measured.exit == Exit::Interrupted => {
                (measured.exit, Some(timed_out_after(limit)))
            }
            Ok(measured) => (measured.exit, None),
            Err(error) if is_of_machine(&error) => return Err(error),
            Err(_) if timed_out => (Exit::Failed, Some(timed_out_after(limit))),
            Err(error) => (error.exit(), Some(failure_of(&error))),
        };
        if exit == Exit::Interrupted && !timed_out {
            return Ok(exit);
        }
        // Where it never came to a repeat of its own, the cell gets one that says why.
        let repeat = match self.last_attempt(turn)? {
            Some(repeat)
                if attempted
                    .as_ref()
                    .is_none_or(|before| before.id != repeat.id) =>
            {
                repeat.id
            }
            _ => {
                let repeat = self.results.begin_repeat(&self.planned_repeat(turn)?)?;
                for note in &notes {
                    self.results.record_note(NoteOn::Repeat(repeat), note)?;
                }
                repeat
            }
        };
        disk_space::require_of(&self.results.repeat(repeat)?)?;
        let Some(failure) = failure else {
            return Ok(exit);
        };
        on_progress(Progress::Note(&format!("no result: {}", failure.reason)));
        if timed_out || self.results.repeat(repeat)?.status != RepeatStatus::Failed {
            self.results.fail_repeat(repeat, &failure)?;
        }
        Ok(if timed_out && exit != Exit::CheckFailed {
            Exit::Failed
        } else {
            exit
        })
    }

    fn last_attempt(&self, turn: Turn) -> Result<Option<Repeat>, LabError> {
        let ordinal = self.cell(turn).ordinal;
        let cells = self.results.cells(self.lab)?;
        let Some(cell) = cells.iter().find(|cell| cell.what.ordinal == ordinal) else {
            return Ok(None);
        };
        let mut repeats = self.results.repeats(cell.id)?;
        repeats.retain(|repeat| repeat.ordinal == turn.repeat);
        Ok(repeats.pop())
    }

    fn image(
        &self,
        turn: Turn,
        coming: &[ImageKey],
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Image, LabError> {
        let resolved = self.planned.servers_of(turn)?;
        let (image, load) = resolved.image(self.home, coming, self.stop, on_progress)?;
        if let Some(load) = load {
            record_load(self.results, Some(self.lab), &load)?;
        }
        Ok(image)
    }

    /// Measures on a clone of the image; `notes` were told before.
    fn measure(
        &self,
        (turn, image): (Turn, Image),
        notes: &[String],
        stop: &AtomicBool,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Measured, LabError> {
        let cell = self.cell(turn);
        on_progress(Progress::Step(STARTING));
        let resolved = self.planned.servers_of(turn)?;
        let subject = resolved.start(self.home, image, stop)?;
        let place = measurement::Place {
            results: self.results,
            lab: self.lab,
            ordinal: cell.ordinal,
            repeat: turn.repeat,
            engine: Some(&cell.private().engine),
            settings: &settings_of(cell),
            notes,
            seed: self.seed(turn),
            ramp: None,
        };
        measure(place, &subject, &self.asked(cell), stop, on_progress)
    }

    /// The cell, with meters that this call names instead of the plan's.
    fn asked(&self, cell: &PlannedCell) -> Cell {
        let Meters {
            power_command,
            host_metrics,
        } = self.spec.meters.clone();
        let of_plan = cell.what.meters.clone();
        Cell {
            meters: Meters {
                power_command: power_command.or(of_plan.power_command),
                host_metrics: host_metrics.or(of_plan.host_metrics),
            },
            ..cell.what.clone()
        }
    }

    /// A repeat of a cell that had no server.
    fn planned_repeat(&self, turn: Turn) -> Result<NewRepeat, LabError> {
        let new = planned_cell(self.cell(turn));
        Ok(NewRepeat {
            cell: self.results.begin_planned_cell(self.lab, &new)?,
            ordinal: turn.repeat,
            my_cnf: None,
            seed: None,
            driver_threads: None,
        })
    }
}

/// A cell as far as its plan tells of it.
fn planned_cell(cell: &PlannedCell) -> NewCell {
    let ns = |duration: Duration| duration.as_nanos() as u64;
    let private = cell.private();
    let Cell { load, lengths, .. } = &cell.what;
    let Lengths {
        warmup,
        window,
        interval,
        ..
    } = *lengths;
    let preset = private.preset.iter();
    let preset = preset.map(|preset| ("preset".to_owned(), preset.name.clone()));
    NewCell {
        ordinal: cell.ordinal,
        engine: private.engine.clone(),
        workload: load.workload.name().to_owned(),
        style: load.style.name().to_owned(),
        throughput_metric: metric_of(&load.workload),
        transactions: transactions_of(&load.workload),
        warehouses: Some(private.population.warehouses.0),
        connections: load.connections.first().unwrap_or_default(),
        home: Some(load.home),
        foreign_keys: Some(private.population.foreign_keys),
        partitions: private.population.partitions,
        isolation: load.isolation.map(|level| level.name().to_owned()),
        warmup_ns: ns(warmup.most),
        window_ns: ns(window.most),
        interval_ns: ns(interval),
        warmup_auto: warmup.is_auto,
        window_auto: window.is_auto,
        precision_share: lengths.window_precision_share(),
        seed: load.seed,
        schemas: 1,
        instances: private.instances,
        settings: settings_of(cell).into_iter().chain(preset).collect(),
        ..NewCell::default()
    }
}

/// What the plan says of the cell, in its words, but for what is a column of its own and for the preset, which its server tells.
fn settings_of(cell: &PlannedCell) -> Vec<(String, String)> {
    let told = |setting: &Setting| match setting {
        Setting::Variable { name, value } => Some((name.clone(), value.clone())),
        Setting::Place { .. } | Setting::Rate(_) | Setting::Terminals(_) => {
            Some((setting.name(), setting.value()))
        }
        _ => None,
    };
    cell.settings.iter().filter_map(told).collect()
}

/// Nobody's cell is at fault: the lab ends, and goes on when that is mended.
fn is_of_machine(error: &LabError) -> bool {
    matches!(
        error,
        LabError::Store(_)
            | LabError::NoRoom(_)
            | LabError::Server(
                ServerError::Disk { .. }
                    | ServerError::Io { .. }
                    | ServerError::Locked { .. }
                    | ServerError::MissingPackage { .. }
                    | ServerError::NotAServer { .. }
                    | ServerError::NotInstalled { .. }
                    | ServerError::ImagesMax { .. }
            )
            | LabError::Storage(StorageError::Disk { .. })
    )
}

fn timed_out_after(limit: Duration) -> RepeatFailure {
    RepeatFailure {
        reason_code: "timed_out".to_owned(),
        reason: format!(
            "it took more than {} s (repeat_time_limit)",
            limit.as_secs()
        ),
        log_tail: None,
    }
}

pub(crate) fn failure_of(error: &LabError) -> RepeatFailure {
    let reason_code = match error {
        LabError::Load(_) => "load_failed",
        LabError::ServerDied { .. } => "server_died",
        LabError::Unfit(_) => "refused",
        _ if error.exit() == Exit::ServerFailed => "server_failed",
        _ => "failed",
    };
    RepeatFailure {
        reason_code: reason_code.to_owned(),
        reason: error.to_string(),
        log_tail: None,
    }
}

#[cfg(test)]
mod tests;
