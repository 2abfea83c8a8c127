//! Execution: turns one after another, each on a server of its own or on one that is there, each
//! stored when it ends. What failed of a plan is a result too, and the next turn begins; called
//! again with the same plan and results file, it does what is missing. A command is one turn.

use crate::error::LabResult;
use crate::eta::Eta;
use crate::progress::{Job, Progress};
use crate::schedule::planned::{LabSource, Planned};
use crate::schedule::resumed::{host_facts, require_same};
use crate::schedule::stored::{has_failed_checks, has_result, lab_of, missing, require_idle};
use crate::schedule::turn::{LabRun, LabRunOptions};
use base::{Exit, counted};
use plan::{Plan, Shard, Turn};
use server::ImageKey;
use spec::Connections;
use std::time::{Duration, Instant};
use store::{LabId, LabStatus, Results};

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabRunSummary {
    pub lab: LabId,
    /// Turns that were measured now, and those of them without a result.
    pub measured: usize,
    pub failed: usize,
    /// Turns that are still missing: of a shard, of its own.
    pub left: usize,
    /// The shard that was asked for, and turns of others that the results file lacks.
    pub shard: Option<Shard>,
    pub left_of_others: usize,
    /// Interrupted, CheckFailed where a database of the lab lost something, now or earlier, else
    /// Ok: a cell that failed is a result. Of a command, how its turn ended.
    pub exit: Exit,
}

impl LabRunSummary {
    /// What is missing, for people; `None` where the lab has every repeat of its plan.
    pub fn missing_text(&self) -> Option<String> {
        match (self.left, self.shard, self.left_of_others) {
            (0, Some(shard), 1..) => {
                Some(format!("shard {shard} is complete; `mydyno merge` puts shards together"))
            }
            (0, ..) => None,
            (left, ..) => Some(counted(left, "repeat is missing", "repeats are missing")),
        }
    }
}

/// Turns that are to be taken now, in their order: those that are missing of the cells that are
/// asked for. All of these where no lab has begun yet.
fn to_do(
    begun: Option<(&Results, LabId)>,
    planned: &Planned,
    options: &LabRunOptions,
) -> LabResult<Vec<Turn>> {
    let mut turns = match begun {
        Some((results, lab)) => missing(results, lab, (planned, &planned.turns), options.redo)?,
        None => planned.turns.clone(),
    };
    turns.retain(|turn| {
        let ordinal = &planned.cells[turn.index].0.ordinal;
        options.only.is_empty() || options.only.contains(ordinal)
    });
    Ok(turns)
}

/// Refuses what this machine cannot do, before there is a results file.
///
/// # Errors
/// What is needed and not there.
pub fn require_possible(planned: &Planned, options: &LabRunOptions) -> LabResult<()> {
    let turns = to_do(None, planned, options)?;
    planned.needs(&turns)?;
    planned.images_for(&turns)?;
    Ok(())
}

/// How a lab ended, and why where no repeat says so.
fn status_of(source: &LabSource, ended: &LabResult<LabRunSummary>) -> (LabStatus, Option<String>) {
    let summary = match ended {
        Ok(summary) => summary,
        Err(error) if error.exit() == Exit::Interrupted => return (LabStatus::Interrupted, None),
        Err(error) => return (LabStatus::Failed, Some(error.to_string())),
    };
    match (source, summary.exit) {
        (LabSource::Plan(_), _) => match summary.missing_text() {
            None => (LabStatus::Done, None),
            missing => (LabStatus::Interrupted, missing),
        },
        (_, Exit::Interrupted) => (LabStatus::Interrupted, None),
        (LabSource::Demo(_), _) if summary.failed > 0 => {
            (LabStatus::Failed, Some("a cell has no result".to_owned()))
        }
        (LabSource::Demo(_) | LabSource::Search, _) | (_, Exit::Ok) => (LabStatus::Done, None),
        (LabSource::Command, _) => (LabStatus::Failed, None),
    }
}

impl LabRun<'_> {
    /// Begins the lab or goes on with it, takes the turns that are missing, and stores how it
    /// ended.
    ///
    /// # Errors
    /// The results file cannot be written, or the machine is not fit. What a plan's cell dies of is
    /// stored with it; what a command dies of is its error, and before its server is up there is no
    /// lab.
    pub fn run(&self, job: &Job<'_>) -> LabResult<LabRunSummary> {
        let planned = &self.planned;
        let turns = match &planned.source {
            LabSource::Command => planned.turns.clone(),
            LabSource::Demo(_) | LabSource::Search => {
                self.begin_lab(host_facts(planned))?;
                planned.turns.clone()
            }
            LabSource::Plan(plan) => match self.begin_or_resume(plan, job)? {
                Some(turns) => turns,
                None => return self.summary(&[], job),
            },
        };
        let ended = self.take_all(&turns, job);
        if let Some(lab) = self.begun() {
            let (status, reason) = status_of(&planned.source, &ended);
            self.results.finish_lab(lab, status, reason.as_deref())?;
        }
        ended
    }

    /// Begins the lab of a plan or goes on with it, says what to know of it, and returns the turns
    /// to take; `None` where there is nothing to do, and the lab stays as it ended.
    fn begin_or_resume(&self, plan: &Plan, job: &Job<'_>) -> LabResult<Option<Vec<Turn>>> {
        let (results, planned, options) = (self.results, &self.planned, self.options);
        // Another may have begun meanwhile.
        require_idle(results, plan)?;
        let begun = lab_of(results, plan)?;
        let turns = to_do(begun.map(|lab| (results, lab)), planned, options)?;
        planned.needs(&turns)?;
        let mut is_over = false;
        match begun {
            None => {
                self.begin_lab(host_facts(planned))?;
            }
            Some(lab) => {
                require_same(results, self.resume(lab), (plan, planned), &turns)?;
                let left = missing(results, lab, (planned, &planned.turns), options.redo)?.len();
                // Where its end was not stored, it is stored now.
                let stored = results.lab(lab)?;
                let ends_as = status_of(&planned.source, &Ok(self.summary(&[], job)?));
                is_over =
                    turns.is_empty() && (left > 0 || ends_as == (stored.status, stored.reason));
                if !is_over {
                    let all = planned.turns.len();
                    let there = all - left;
                    job.tell(Progress::LabGoesOn { lab, there, all });
                    results.resume_lab(lab)?;
                }
            }
        }
        job.notes(planned.notes.iter().chain(&planned.note_on_images(&turns)));
        Ok((!is_over).then_some(turns))
    }

    /// Of the turns that were taken, as they ended.
    fn summary(&self, taken: &[Exit], job: &Job<'_>) -> LabResult<LabRunSummary> {
        let (results, lab, planned) = (self.results, self.lab()?, &self.planned);
        let left = missing(results, lab, (planned, &planned.turns), false)?.len();
        let all = planned.shard.map(|_| planned.turns_of_plan()).unwrap_or_default();
        let left_of_all = missing(results, lab, (planned, &all), false)?.len();
        let mut summary = LabRunSummary {
            lab,
            measured: taken.len(),
            failed: taken.iter().filter(|exit| **exit != Exit::Ok).count(),
            left,
            shard: planned.shard,
            left_of_others: left_of_all.saturating_sub(left),
            exit: Exit::Ok,
        };
        // Some without a result are an answer; nothing but those is none.
        if !taken.is_empty() && !has_result(results, lab)? {
            summary.exit = Exit::Failed;
        }
        if has_failed_checks(results, lab)? {
            summary.exit = Exit::CheckFailed;
        }
        if job.is_stop_asked() {
            summary.exit = Exit::Interrupted;
        }
        Ok(summary)
    }

    fn take_all(&self, turns: &[Turn], job: &Job<'_>) -> LabResult<LabRunSummary> {
        if let (true, Some(turn)) = (self.is_command(), turns.first()) {
            let exit = self.take(*turn, &[], job)?;
            return Ok(LabRunSummary { exit, ..self.summary(&[exit], job)? });
        }
        let images = self.planned.images_for(turns)?;
        let begun = Instant::now();
        let mut taken = Vec::new();
        // How this machine's turns compare with what was expected of them.
        let mut eta = Eta::default();
        let mut block_of = None;
        for (done, turn) in turns.iter().enumerate() {
            let is_late = |limit| begun.elapsed() >= limit;
            let time_limit = self.planned.source.plan().and_then(Plan::time_limit);
            if time_limit.is_some_and(is_late) || job.is_stop_asked() {
                break;
            }
            let expected: Duration = turns[done..].iter().map(|turn| self.expected(*turn)).sum();
            let cell = self.cell(*turn);
            let left = match cell.what.load.connections {
                // What other ramps took says nothing of how many points this one needs.
                Connections::Ramp(_) => expected,
                _ => eta.of(expected.as_secs_f64()).unwrap_or(expected),
            };
            if block_of.replace(turn.repeat) != Some(turn.repeat) {
                self.begin_block(job)?;
            }
            job.tell(Progress::TurnStarts {
                title: &self.title(*turn, (done, turns.len()), left),
                cell,
            });
            let turn_begun = Instant::now();
            let coming: Vec<ImageKey> = images[done + 1..].iter().flatten().cloned().collect();
            let exit = self.take(*turn, &coming, job)?;
            eta.learn(self.expected(*turn).as_secs_f64(), turn_begun.elapsed());
            if exit == Exit::Interrupted {
                break;
            }
            taken.push(exit);
        }
        self.summary(&taken, job)
    }

    /// Begins a block, to which all turns belong until the next one begins: a repeat of this call.
    /// What an earlier call left of a repeat is measured at another time, and so in another block.
    pub(crate) fn begin_block(&self, job: &Job<'_>) -> LabResult<()> {
        job.step("timing a fixed piece of work on this host");
        let canary = observe::canary().inspect_err(|error| {
            job.note(&format!("a block has no canary: {error}"));
        });
        self.results.begin_block(self.lab()?, &host_facts(&self.planned), canary.ok())?;
        Ok(())
    }

    fn expected(&self, turn: Turn) -> Duration {
        self.planned.cells[turn.index].1.duration
    }

    fn title(&self, turn: Turn, (done, all): (usize, usize), left: Duration) -> String {
        let cell = self.cell(turn);
        // The only one has nothing that tells it from others.
        let label = Some(cell.label()).filter(|label| !label.is_empty());
        format!(
            "{} of {all}: cell {}{}, repeat {} of {}; {} {} min left",
            done + 1,
            cell.ordinal,
            label.map_or_else(String::new, |label| format!(" ({label})")),
            turn.repeat,
            cell.repeats,
            cell.what.estimate_word(),
            left.as_secs().div_ceil(60)
        )
    }
}
