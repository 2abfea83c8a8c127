//! A ramp: one number of connections after another on one server, until `analyse` says where the
//! target saturates. Every point is stored when it ends, so that a ramp which was interrupted goes
//! on from its points.

use crate::error::{LabError, LabResult, unfit};
use crate::eta::Eta;
use crate::measure::check::{check_subject, record};
use crate::measure::measurement::{RepeatPlace, measure};
use crate::measure::planned_row::planned_row;
use crate::measure::seeds::seed_of_point;
use crate::progress::{Job, Progress};
use crate::stop;
use crate::target::disk_space;
use crate::target::subject::Subject;
use analyse::{Ramp, RampPoint, RampStep, is_of_count, ramp_point, standing_points};
use base::{Exit, clock, counted};
use spec::{Cell, Connections, RampLimits};
use std::time::{Duration, Instant};
use store::{NewCell, NewRamp, NewRepeat, RampId, Repeat, RepeatFailure, RepeatId};
use tpcc::CheckSet;

/// What a point takes beside its warm-up and window, until one has shown it.
const POINT_TIME: Duration = Duration::from_secs(3);

/// Raises connections until a condition shows, from the points that are stored. What a point dies
/// of ends the ramp, and is stored.
///
/// Returns Ok, Interrupted or CheckFailed; where no number of connections gave a result,
/// ServerFailed or Failed.
///
/// # Errors
/// Where the first point could not begin, a disk is full ([`LabError::NoRoom`]), or the results
/// file cannot be written.
pub(crate) fn ramp(
    place: RepeatPlace<'_>,
    subject: &Subject,
    asked: (&Cell, &RampLimits),
    job: &Job<'_>,
) -> LabResult<Exit> {
    let mut running = RunningRamp::begin(place, subject, asked)?;
    let exit = running.rise(job)?;
    if exit != Exit::Interrupted {
        place.results.finish_ramp(running.points.id)?;
    }
    Ok(exit)
}

/// Stores that a ramp failed as a whole, before the count that it would have measured next: in the
/// words of its other points or, where it has none, of its plan.
pub(crate) fn store_failed_ramp(
    place: RepeatPlace<'_>,
    limits: &RampLimits,
    failure: &RepeatFailure,
) -> LabResult<()> {
    let points = Points { place, id: begin(place, limits)? };
    let good = points.good()?;
    let connections = match replayed(limits, &good)?.next() {
        RampStep::Measure(connections) => connections,
        RampStep::Done(saturation) => saturation.connections.unwrap_or(limits.start),
    };
    // With other words a turn that could not begin would tell of this count.
    let mut failure = failure.clone();
    if is_of_count(&failure.reason_code) {
        failure.reason_code = "failed".to_owned();
    }
    let repeat = points.store_failed(connections, &good, &failure)?;
    place.notes.iter().try_for_each(|note| place.results.record_note(repeat, note))?;
    Ok(place.results.finish_ramp(points.id)?)
}

fn begin(place: RepeatPlace<'_>, limits: &RampLimits) -> LabResult<RampId> {
    let ramp = NewRamp { ordinal: place.ordinal, repeat: place.repeat, limits: limits.clone() };
    Ok(place.results.begin_ramp(place.lab, &ramp)?)
}

/// The stored points of a ramp.
#[derive(Clone, Copy)]
struct Points<'a> {
    place: RepeatPlace<'a>,
    id: RampId,
}

impl Points<'_> {
    /// Where the next measurement of a count goes: its cell and repeat. Repeats of this ramp that
    /// do not count are measured again as further attempts.
    fn next_of(&self, connections: u32, good: &[RampPoint]) -> LabResult<(u32, u32)> {
        let RepeatPlace { results, lab, .. } = self.place;
        let cells = results.ramp_cells(lab, self.place.ordinal)?;
        let Some(cell) = cells.iter().find(|cell| cell.what.connections == connections) else {
            let all = results.cells(lab)?;
            let planned = self.place.planned_cells;
            let last = all.iter().map(|cell| cell.what.ordinal).fold(planned, u32::max);
            return Ok((last + 1, 1));
        };
        let mine: Vec<RepeatId> = self.stored()?.iter().map(|repeat| repeat.id).collect();
        let repeats = results.repeats(cell.id)?;
        let is_good = |id: RepeatId| good.iter().any(|point| point.repeat_id == id.0);
        let again = repeats.iter().find(|one| mine.contains(&one.id) && !is_good(one.id));
        let last = repeats.iter().map(|repeat| repeat.ordinal).max();
        let repeat = again.map_or(last.unwrap_or(0) + 1, |repeat| repeat.ordinal);
        Ok((cell.what.ordinal, repeat))
    }

    fn stored(&self) -> LabResult<Vec<Repeat>> {
        Ok(self.place.results.ramp_points(self.id)?)
    }

    /// Those that count when the ramp goes on.
    fn good(&self) -> LabResult<Vec<RampPoint>> {
        Ok(standing_points(self.place.results, self.id, true)?)
    }

    /// A count that gave no result, as another attempt or a repeat of its own.
    fn store_failed(
        &self,
        connections: u32,
        good: &[RampPoint],
        failure: &RepeatFailure,
    ) -> LabResult<RepeatId> {
        let RepeatPlace { results, lab, .. } = self.place;
        let (ordinal, repeat) = self.next_of(connections, good)?;
        let siblings = results.ramp_cells(lab, self.place.ordinal)?;
        let same = siblings.iter().find(|cell| cell.what.connections == connections);
        let point_of = |what: &NewCell| NewCell { ordinal, connections, ..what.clone() };
        let cell = match (same, siblings.first()) {
            (Some(same), _) => same.id,
            (None, Some(sibling)) => results.begin_cell(lab, &point_of(&sibling.what))?,
            (None, None) => {
                results.begin_planned_cell(lab, &point_of(&planned_row(self.place.planned)))?
            }
        };
        let new = NewRepeat {
            dilation: clock::dilation().factor(),
            ..NewRepeat::not_driven(cell, repeat)
        };
        let repeat = results.begin_ramp_point(self.id, &new)?;
        results.fail_repeat(repeat, failure)?;
        Ok(repeat)
    }
}

/// A ramp under way.
struct RunningRamp<'a> {
    points: Points<'a>,
    subject: &'a Subject,
    /// Each point, but for its connections; checks are made once, after the last one.
    cell: &'a Cell,
    limits: &'a RampLimits,
    /// The points that count.
    good: Vec<RampPoint>,
    /// The last of them that this server took.
    measured: Option<RepeatId>,
    /// How long they took.
    eta: Eta,
    /// Notes that the person has seen.
    told: Vec<String>,
}

/// How a point ended.
enum PointEnd {
    Counted,
    Interrupted,
    Failed {
        exit: Exit,
        /// Does it tell of the count, and not of the whole ramp?
        is_of_count: bool,
    },
}

impl<'a> RunningRamp<'a> {
    fn begin(
        place: RepeatPlace<'a>,
        subject: &'a Subject,
        (cell, limits): (&'a Cell, &'a RampLimits),
    ) -> LabResult<RunningRamp<'a>> {
        let points = Points { place, id: begin(place, limits)? };
        let mut good = points.good()?;
        // All were measured, but the server that would prove them is gone: the last point is
        // measured again.
        if matches!(replayed(limits, &good)?.next(), RampStep::Done(_)) {
            good.pop();
        }
        let (measured, eta, told) = (None, Eta::default(), Vec::new());
        Ok(RunningRamp { points, subject, cell, limits, good, measured, eta, told })
    }

    fn rise(&mut self, job: &Job<'_>) -> LabResult<Exit> {
        loop {
            let ramp = replayed(self.limits, &self.good)?;
            let RampStep::Measure(connections) = ramp.next() else { return self.check(job) };
            if job.is_stopped() {
                return Ok(Exit::Interrupted);
            }
            job.step(&self.title(connections, ramp.points_left_max()));
            let begun = Instant::now();
            match self.point(connections, job)? {
                PointEnd::Counted => self.eta.learn(1.0, begun.elapsed()),
                PointEnd::Interrupted => return Ok(Exit::Interrupted),
                PointEnd::Failed { exit, is_of_count: false } => return Ok(exit),
                // That a count fails is a result, where a smaller one did not.
                PointEnd::Failed { exit, .. } if self.good.is_empty() => return Ok(exit),
                PointEnd::Failed { exit, .. } if self.is_gone(exit) => return Ok(Exit::Ok),
                // The last one is measured again.
                PointEnd::Failed { .. } if self.lacks_proof() => drop(self.good.pop()),
                PointEnd::Failed { .. } => return self.check(job),
            }
        }
    }

    fn is_gone(&self, exit: Exit) -> bool {
        exit == Exit::ServerFailed || self.subject.ended().is_some()
    }

    /// The first count after a ramp was taken up failed: checks would prove none of its points, as
    /// another server took them.
    fn lacks_proof(&self) -> bool {
        self.measured.is_none() && self.cell.checks
    }

    fn title(&self, connections: u32, left: usize) -> String {
        let lengths = &self.cell.lengths;
        let expected = lengths.warmup.expected() + lengths.window.expected() + POINT_TIME;
        let left_time = self.eta.of(left as f64).unwrap_or(expected * left as u32);
        let number = self.good.len() + 1;
        format!(
            "point {number} of at most {}: {}; at most {:.0} min left",
            self.good.len() + left,
            counted(connections as usize, "connection", "connections"),
            (left_time.as_secs_f64() / 60.0).ceil()
        )
    }

    /// Measures one count.
    fn point(&mut self, connections: u32, job: &Job<'_>) -> LabResult<PointEnd> {
        let (ordinal, repeat) = self.points.next_of(connections, &self.good)?;
        let place = RepeatPlace {
            ordinal,
            repeat,
            notes: if self.measured.is_none() { self.points.place.notes } else { &[] },
            seed: seed_of_point(self.points.place.seed, (connections, repeat)),
            ramp: Some(self.points.id),
            ..self.points.place
        };
        let mut cell = self.cell.clone();
        cell.load.connections = Connections::Fixed(connections);
        cell.checks = false;
        let newest = self.newest()?;
        // The results file has each note of each point.
        let told = &mut self.told;
        let mut telling = |progress: Progress<'_>| {
            if let Progress::Note(note) = &progress {
                if told.iter().any(|other| other == note) {
                    return;
                }
                told.push((*note).to_owned());
            }
            job.tell(progress);
        };
        let measured = match measure(place, self.subject, &cell, &job.telling(&mut telling)) {
            Err(error @ LabError::Store(_)) => return Err(error),
            Err(LabError::Interrupted) => return Ok(PointEnd::Interrupted),
            other => other,
        };
        let begun = self.newest()?.filter(|last| Some(*last) != newest);
        let (repeat, exit) = match (measured, begun) {
            (Ok(measured), _) => measured,
            // A measurement that had begun says why, and has waited for a stop itself.
            (Err(error), Some(repeat)) => (repeat, error.exit()),
            (Err(_), None) if stop::comes(|| job.is_stop_asked()) => {
                return Ok(PointEnd::Interrupted);
            }
            (Err(error), None) if self.good.is_empty() => return Err(error),
            // Where another count was measured before, a repeat is made that says why.
            (Err(error), None) => {
                let failure = error.failure();
                (self.points.store_failed(connections, &self.good, &failure)?, error.exit())
            }
        };
        if exit == Exit::Interrupted {
            return Ok(PointEnd::Interrupted);
        }
        self.observe(repeat, exit, job)
    }

    fn newest(&self) -> LabResult<Option<RepeatId>> {
        Ok(self.points.stored()?.last().map(|repeat| repeat.id))
    }

    fn observe(&mut self, repeat: RepeatId, exit: Exit, job: &Job<'_>) -> LabResult<PointEnd> {
        let results = self.points.place.results;
        let stored = results.repeat(repeat)?;
        disk_space::require_of(&stored)?;
        let Some(point) = ramp_point(results, &stored)? else {
            return Ok(PointEnd::Interrupted);
        };
        if let Some(reason_code) = &point.reason_code {
            let reason = point.reason.clone().unwrap_or_default();
            // It was measured, and did nothing.
            if stored.is_whole() {
                let failure = self.subject.failure(reason_code, reason.clone());
                results.fail_repeat(repeat, &failure)?;
            }
            job.note(&format!(
                "{} gave no result: {}",
                counted(point.connections as usize, "connection", "connections"),
                reason.lines().next().unwrap_or_default()
            ));
            let exit = if exit == Exit::Ok { Exit::Failed } else { exit };
            return Ok(PointEnd::Failed { exit, is_of_count: is_of_count(reason_code) });
        }
        if let (None, Some(share)) = (&point.cpu, self.limits.cpu_busy_share) {
            let note = format!(
                "the CPU condition ({:.0} %) is not judged, as nothing tells how busy the \
                 server's machine is: give its node_exporter (--host-metrics), or leave the \
                 condition out",
                share * 100.0
            );
            // It is said once.
            if !self.told.contains(&note) {
                job.note(&note);
                results.record_note(repeat, &note)?;
                self.told.push(note);
            }
        }
        self.good.push(point);
        self.measured = Some(repeat);
        Ok(PointEnd::Counted)
    }

    /// The checks after the last point, where they are asked for.
    fn check(&mut self, job: &Job<'_>) -> LabResult<Exit> {
        let Some(repeat) = self.measured.filter(|_| self.cell.checks) else {
            return Ok(Exit::Ok);
        };
        let results = self.points.place.results;
        job.step("checking the database after the last point");
        let mut notes = Vec::new();
        let asked = (&self.cell.load.workload, CheckSet::Consistency);
        let checked = job.noting(&mut notes, |job| check_subject(self.subject, asked, job));
        notes.iter().try_for_each(|note| results.record_note(repeat, note))?;
        let checked = match checked {
            Ok(checked) => checked,
            Err(LabError::Interrupted) => return Ok(Exit::Interrupted),
            Err(error @ LabError::Store(_)) => return Err(error),
            Err(_) if stop::comes(|| job.is_stop_asked()) => return Ok(Exit::Interrupted),
            Err(error) => {
                let reason = format!("the database could not be checked: {error}");
                results.fail_repeat(repeat, &self.subject.failure("not_checked", reason))?;
                return Ok(error.exit());
            }
        };
        record(results, repeat, &checked.checks, &checked.unexpected, self.subject)
    }
}

/// The ramp as these points leave it.
fn replayed(limits: &RampLimits, good: &[RampPoint]) -> LabResult<Ramp> {
    Ramp::replayed(limits, good).map_err(unfit)
}
