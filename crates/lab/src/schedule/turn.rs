//! One turn: a server is started or reached, one measurement is made on it, and stored however it
//! ends.

use crate::error::{LabError, LabResult, unfit};
use crate::measure::measurement::{RepeatPlace, measure};
use crate::measure::planned_row::planned_row;
use crate::measure::ramp::{ramp, store_failed_ramp};
use crate::measure::seeds::seed_of_repeat;
use crate::progress::{Job, Progress, Stopwatch};
use crate::schedule::pilot::Pilots;
use crate::schedule::planned::{LabSource, Planned};
use crate::schedule::stored::has_ended;
use crate::schedule::watchdog::within;
use crate::stop;
use crate::target::changed::ChangedVariables;
use crate::target::disk_space;
use crate::target::instruments;
use crate::target::populate::reach;
use crate::target::resolved::Resolved;
use crate::target::subject::Subject;
use base::{Dilation, Exit};
use fleet::Leader;
use plan::{PlannedCell, Turn};
use server::{Image, ImageKey, ServerError};
use spec::{Cell, Connections, Dilate, External, Meters, Server};
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;
use storage::StorageError;
use store::{
    LabId, NewLab, NewRepeat, Repeat, RepeatFailure, RepeatId, RepeatStatus, Results, StoredLoad,
};

/// What to execute, and how.
#[derive(Clone, Debug, Default)]
pub struct LabRunOptions {
    /// Ordinals of cells; all where none is named.
    pub only: Vec<u32>,
    /// Measure again what failed.
    pub redo: bool,
    /// Instead of those that cells name.
    pub meters: Meters,
    /// As typed, without passwords.
    pub command_line: String,
    /// Other ranks, which drive the load together with this process.
    pub fleet: Option<Arc<Leader>>,
}

/// A lab, which takes turns.
pub struct LabRun<'a> {
    pub(crate) results: &'a Results,
    pub(crate) planned: Planned,
    pub(crate) options: &'a LabRunOptions,
    lab: OnceCell<LabId>,
    /// How many blocks a search has asked for. The inputs of each derive from its number.
    pub asked_blocks: u32,
}

impl<'a> LabRun<'a> {
    /// What is planned, of which nothing is measured yet.
    pub fn new(results: &'a Results, planned: Planned, options: &'a LabRunOptions) -> LabRun<'a> {
        LabRun { results, planned, options, lab: OnceCell::new(), asked_blocks: 0 }
    }

    pub(crate) fn is_command(&self) -> bool {
        matches!(self.planned.source, LabSource::Command)
    }

    /// The lab, where it has begun: that of a command does when its server is up.
    pub fn begun(&self) -> Option<LabId> {
        self.lab.get().copied()
    }

    /// The lab, which has begun.
    pub(crate) fn lab(&self) -> LabResult<LabId> {
        self.begun().ok_or_else(|| unfit("the lab has not begun"))
    }

    /// Goes on with a lab that an earlier call began.
    pub(super) fn resume(&self, lab: LabId) -> LabId {
        *self.lab.get_or_init(|| lab)
    }

    pub(crate) fn begin_lab(&self, host_facts: Vec<(String, String)>) -> LabResult<LabId> {
        let plan = match &self.planned.source {
            LabSource::Plan(plan) => Some(plan),
            LabSource::Demo(_) | LabSource::Command | LabSource::Search => None,
        };
        let lab = self.results.begin_lab(&NewLab {
            name: self.planned.name.clone(),
            plan: plan.map(|plan| plan.text().to_owned()),
            command_line: self.options.command_line.clone(),
            mydyno_version: env!("CARGO_PKG_VERSION").to_owned(),
            turns: plan.map(|_| self.planned.turns_of_plan().len() as u32),
            host_facts,
        })?;
        Ok(self.resume(lab))
    }

    pub(crate) fn cell(&self, turn: Turn) -> &PlannedCell {
        &self.planned.cells[turn.index].0
    }

    /// What the inputs of a turn derive from: of a command the seed that it names.
    fn seed(&self, turn: Turn) -> u64 {
        let seed = self.cell(turn).what.load.seed;
        if self.is_command() { seed } else { seed_of_repeat(seed, turn.repeat) }
    }

    /// One turn; of a plan, stored however it ends. `coming` are the images of those after it.
    pub(crate) fn take(&self, turn: Turn, coming: &[ImageKey], job: &Job<'_>) -> LabResult<Exit> {
        let cell = self.cell(turn);
        let attempted = self.last_attempt(turn)?;
        let limit = cell.repeat_time_limit;
        let mut notes = Vec::new();
        let prepared = job.noting(&mut notes, |job| -> LabResult<_> {
            let (images, loads) = self.planned.server(turn)?.images(coming, job)?;
            if self.begun().is_some() {
                self.record_loads(&loads)?;
            }
            Ok((images, loads))
        });
        // A database that has to be populated first is no repeat's time.
        let (ended, timed_out) = match prepared {
            Ok(prepared) => within(limit, job, |job| self.measure(turn, prepared, &mut notes, job)),
            Err(error) => (Err(error), false),
        };
        if self.is_command() {
            return ended;
        }
        let before = attempted.map(|attempt| attempt.id);
        let new = self.last_attempt(turn)?.filter(|new| Some(new.id) != before);
        if let Err(error) = &ended
            && is_interrupted(error, timed_out, new.as_ref(), job)
        {
            return Ok(Exit::Interrupted);
        }
        let failure = match &ended {
            // Else it had ended before, and only its server took longer.
            Ok(Exit::Interrupted) if timed_out => Some(timed_out_after(limit)),
            Ok(Exit::Interrupted) => return Ok(Exit::Interrupted),
            Ok(_) => None,
            Err(error) if is_of_machine(error) => return ended,
            Err(_) if timed_out => Some(timed_out_after(limit)),
            Err(error) => Some(error.failure()),
        };
        let exit = ended.unwrap_or_else(|error| error.exit());
        if let Connections::Ramp(limits) = &cell.what.load.connections {
            let Some(failure) = failure else {
                return Ok(exit);
            };
            job.note(&format!("no result: {}", failure.reason));
            store_failed_ramp(self.place(turn, &notes)?, limits, &failure)?;
            return Ok(Exit::Failed);
        }
        let repeat = self.repeat_of(turn, new, &notes)?;
        disk_space::require_of(&repeat)?;
        if let Some(failure) = &failure {
            job.note(&format!("no result: {}", failure.reason));
            if timed_out || repeat.status != RepeatStatus::Failed {
                self.results.fail_repeat(repeat.id, failure)?;
            }
        }
        job.tell(Progress::TurnEnds(repeat.id));
        let is_failed = timed_out && failure.is_some() && exit != Exit::CheckFailed;
        Ok(if is_failed { Exit::Failed } else { exit })
    }

    /// The repeat that this turn has made; where it never came to one of its own, one is made that
    /// says why.
    fn repeat_of(&self, turn: Turn, made: Option<Repeat>, notes: &[String]) -> LabResult<Repeat> {
        if let Some(repeat) = made {
            return Ok(repeat);
        }
        let new = planned_row(self.cell(turn));
        let cell = self.results.begin_planned_cell(self.lab()?, &new)?;
        let dilation = self.cell(turn).what.server.dilate().fixed().unwrap_or_default();
        let repeat = self.results.begin_repeat(&NewRepeat {
            dilation: dilation.factor(),
            ..NewRepeat::not_driven(cell, turn.repeat)
        })?;
        notes.iter().try_for_each(|note| self.results.record_note(repeat, note))?;
        Ok(self.results.repeat(repeat)?)
    }

    /// What a turn has given already: a result, or why there is none.
    pub(crate) fn result_of(&self, turn: Turn) -> LabResult<Option<RepeatId>> {
        let Some(last) = self.last_attempt(turn)? else { return Ok(None) };
        Ok(has_ended(self.results, &last, self.cell(turn).what.checks)?.then_some(last.id))
    }

    fn last_attempt(&self, turn: Turn) -> LabResult<Option<Repeat>> {
        let repeats = self.repeats_of_cell(turn)?;
        Ok(repeats.into_iter().rfind(|repeat| repeat.ordinal == turn.repeat))
    }

    /// All that the lab has of the cell of a turn.
    fn repeats_of_cell(&self, turn: Turn) -> LabResult<Vec<Repeat>> {
        let Some(lab) = self.begun() else {
            return Ok(Vec::new());
        };
        let ordinal = self.cell(turn).ordinal;
        let cells = self.results.cells(lab)?;
        let cell = cells.iter().find(|cell| cell.what.ordinal == ordinal);
        Ok(cell.map_or(Ok(Vec::new()), |cell| self.results.repeats(cell.id))?)
    }

    fn record_loads(&self, loads: &[StoredLoad]) -> LabResult<()> {
        for load in loads {
            self.results.record_load(&StoredLoad { lab: self.begun(), ..load.clone() })?;
        }
        Ok(())
    }

    /// Starts or reaches the server, and measures; `notes` were told before, and those of the start
    /// come after them.
    fn measure(
        &self,
        turn: Turn,
        (images, loads): (Vec<Image>, Vec<StoredLoad>),
        notes: &mut Vec<String>,
        job: &Job<'_>,
    ) -> LabResult<Exit> {
        let cell = self.cell(turn);
        let server = self.planned.server(turn)?;
        let subject = job.noting(notes, |job| {
            server.start(&images, self.dilation(turn, (server, &images), job)?, job)
        })?;
        let mut watch = Stopwatch::begin();
        reach(&subject)?;
        job.tell(Progress::Reached { subject: &subject, cell: &cell.what });
        if self.begun().is_none() {
            let data = subject.instance().map(|instance| instance.data_directory());
            self.begin_lab(observe::host_facts(data))?;
            self.record_loads(&loads)?;
        } else if cell.what.server.private().is_none() && self.planned.turns.len() > 1 {
            let note = "all repeats on this server share one database, which has grown with each \
                that was measured before";
            notes.push(note.to_owned());
            job.note(note);
        }
        let changed = changed(&subject, &cell.what)?;
        watch.lap("reaching it, and what its host is", job);
        let ended = self.measure_on(turn, &subject, notes, job);
        let mut watch = Stopwatch::begin();
        for changed in changed {
            if subject.is_private() { changed.forget()? } else { changed.restore()? }
        }
        drop(subject);
        watch.lap("ending the server", job);
        ended
    }

    /// How many times slower the clocks of a turn run. One that is automatic is found once for a
    /// cell, and holds for all of its repeats.
    fn dilation(
        &self,
        turn: Turn,
        (server, images): (Resolved<'_>, &[Image]),
        job: &Job<'_>,
    ) -> LabResult<Dilation> {
        let most = match self.cell(turn).what.server.dilate() {
            Dilate::By(dilation) => return Ok(dilation),
            Dilate::Auto { most } => most,
        };
        let repeats = self.repeats_of_cell(turn)?;
        let done = repeats.iter().find(|repeat| repeat.status == RepeatStatus::Done);
        if let Some(found) = done.and_then(|repeat| Dilation::new(repeat.dilation)) {
            return Ok(found);
        }
        let cell = self.cell(turn);
        let pilots = Pilots { server, images, cell, seed: self.seed(turn) };
        let lengths = &cell.what.lengths;
        let dilated = lengths.warmup.most + lengths.window.most;
        let within_limit = cell.repeat_time_limit.as_secs_f64() / dilated.as_secs_f64();
        let most = Dilation::new(within_limit.min(most.factor())).unwrap_or(Dilation::LEAST);
        pilots.find(most, job)
    }

    fn measure_on(
        &self,
        turn: Turn,
        subject: &Subject,
        notes: &[String],
        job: &Job<'_>,
    ) -> LabResult<Exit> {
        let place = self.place(turn, notes)?;
        let mut what = self.cell(turn).what.clone();
        // Those that this call names count instead of the plan's.
        let Meters { power_command, host_metrics } = self.options.meters.clone();
        what.meters.power_command = power_command.or(what.meters.power_command);
        what.meters.host_metrics = host_metrics.or(what.meters.host_metrics);
        if let Connections::Ramp(limits) = &what.load.connections {
            return ramp(place, subject, (&what, limits), job);
        }
        let (repeat, exit) = measure(place, subject, &what, job)?;
        if self.is_command() {
            job.tell(Progress::TurnEnds(repeat));
        }
        Ok(exit)
    }

    fn place<'b>(&'b self, turn: Turn, notes: &'b [String]) -> LabResult<RepeatPlace<'b>> {
        let planned = self.cell(turn);
        Ok(RepeatPlace {
            results: self.results,
            lab: self.lab()?,
            planned,
            ordinal: planned.ordinal,
            repeat: turn.repeat,
            notes,
            seed: self.seed(turn),
            ramp: None,
            // Nothing stands before the points of a command.
            planned_cells: if self.is_command() { 0 } else { self.planned.cells.len() as u32 },
            fleet: self.options.fleet.as_deref(),
        })
    }
}

/// Sets the variables of a server that is there, and switches on the instruments that the account
/// of each is from.
fn changed(subject: &Subject, cell: &Cell) -> LabResult<Vec<ChangedVariables>> {
    let mut changed: Vec<ChangedVariables> = Vec::new();
    for (number, server) in subject.each().enumerate() {
        let mut set = match &cell.server {
            Server::External(External { set, .. }) if number == 0 => set.clone(),
            Server::External(_) | Server::Private(_) => Vec::new(),
        };
        let wanted = instruments::wanted(server, cell.load.account_from).and_then(|instruments| {
            set.extend(instruments);
            if set.is_empty() { Ok(None) } else { ChangedVariables::set(server, &set).map(Some) }
        });
        match wanted {
            Ok(one) => changed.extend(one),
            Err(error) => {
                changed.into_iter().try_for_each(ChangedVariables::restore)?;
                return Err(error);
            }
        }
    }
    Ok(changed)
}

/// Was a turn that failed only stopped? One whose repeat is stored as failed has given a stop
/// its time already.
fn is_interrupted(error: &LabError, timed_out: bool, made: Option<&Repeat>, job: &Job<'_>) -> bool {
    let is_stored = made.is_some_and(|repeat| repeat.own_failure().is_some());
    match error {
        // Each has to be mended by the user.
        LabError::Store(_) | LabError::NotSetBack { .. } => false,
        _ if error.exit() == Exit::Interrupted => !timed_out,
        _ if timed_out || is_stored || is_of_machine(error) || !error.may_be_a_stop() => {
            job.is_stop_asked()
        }
        _ => stop::comes(|| job.is_stop_asked()),
    }
}

/// Nobody's cell is at fault: the lab ends, and goes on when that is mended.
fn is_of_machine(error: &LabError) -> bool {
    matches!(
        error,
        LabError::Store(_)
            | LabError::NoRoom(_)
            | LabError::NotSetBack { .. }
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
        reason: format!("it took more than {} s (repeat_time_limit)", limit.as_secs()),
        log_tail: None,
    }
}
