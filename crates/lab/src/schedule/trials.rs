//! A lab of which is not known before what is measured next: that depends on what came out.

use crate::error::LabError;
use crate::progress::{Job, Progress};
use crate::schedule::planned::Planned;
use crate::schedule::resumed::{host_facts, require_same};
use crate::schedule::run_lab::LabRunOptions;
use crate::schedule::stored::{has_failed_checks, lab_of, require_idle};
use crate::schedule::turn::LabRun;
use base::Exit;
use plan::{Plan, PlannedCell, Setting, Turn};
use spec::Cell;
use std::cell::OnceCell;
use store::{LabId, LabStatus, RepeatId, Results};

/// A lab that is measured block by block, as somebody asks for. Cells of one block are measured one
/// beside the other, with equal inputs.
pub struct Trials<'a> {
    results: &'a Results,
    options: &'a LabRunOptions,
    planned: Planned,
    lab: OnceCell<LabId>,
}

/// A cell of [`Trials`], by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrialCell(pub usize);

/// What is measured at a time.
pub struct TrialBlock<'a> {
    /// In their order.
    pub cells: &'a [TrialCell],
    /// The number that this repeat of theirs has; their inputs derive from it.
    pub repeat: u32,
    /// For people.
    pub title: &'a str,
}

impl<'a> Trials<'a> {
    /// A lab of this name without a cell yet.
    pub fn new(name: &str, results: &'a Results, options: &'a LabRunOptions) -> Trials<'a> {
        let planned = Planned::of_search(name);
        Trials { results, options, planned, lab: OnceCell::new() }
    }

    /// The lab of a plan, which begins or goes on.
    ///
    /// # Errors
    /// As [`crate::run_lab`] before its first turn.
    pub fn of_plan(
        plan: &Plan,
        planned: Planned,
        (results, options): (&'a Results, &'a LabRunOptions),
        job: &Job<'_>,
    ) -> Result<Trials<'a>, LabError> {
        let trials = Trials { results, options, planned, lab: OnceCell::new() };
        let planned = &trials.planned;
        // Another may have begun meanwhile.
        require_idle(results, plan)?;
        let lab = match lab_of(results, plan)? {
            None => trials.run().begin_lab(host_facts(planned), job)?,
            Some(lab) => {
                require_same(results, lab, (plan, planned), &planned.turns)?;
                results.resume_lab(lab)?;
                lab
            }
        };
        results.mark_adaptive(lab)?;
        for note in &planned.notes {
            job.note(note);
        }
        trials.lab.get_or_init(|| lab);
        Ok(trials)
    }

    /// The lab, where a block was measured.
    pub fn lab(&self) -> Option<LabId> {
        self.lab.get().copied()
    }

    /// All cells, in the order of their places.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = &PlannedCell> {
        self.planned.cells.iter().map(|(cell, _)| cell)
    }

    /// Adds a cell, which these variables tell from the others.
    ///
    /// # Errors
    /// What this machine lacks.
    pub fn add(
        &mut self,
        what: Cell,
        variables: &[(String, String)],
    ) -> Result<TrialCell, LabError> {
        let settings = variables.iter().map(|(name, value)| Setting::of_variable(name, value));
        Ok(TrialCell(self.planned.add(what, settings.collect())?))
    }

    /// Measures these cells once each, in this order, as a block, but for those of which the
    /// results file has this repeat. A cell that fails has a result that says why.
    ///
    /// # Errors
    /// The results file cannot be written, the machine is not fit, or `stop` is set.
    pub fn block(&self, block: &TrialBlock<'_>, job: &Job<'_>) -> Result<Vec<RepeatId>, LabError> {
        let run = self.run();
        if run.lab.get().is_none() {
            let lab = run.begin_lab(host_facts(&self.planned), job)?;
            self.results.mark_adaptive(lab)?;
            self.lab.get_or_init(|| lab);
        }
        let mut is_begun = false;
        let mut repeats = Vec::new();
        for TrialCell(index) in block.cells {
            let turn = Turn { index: *index, repeat: block.repeat };
            if let Some(there) = run.result_of(turn)? {
                repeats.push(there);
                continue;
            }
            if !is_begun {
                run.begin_block(job)?;
                is_begun = true;
            }
            job.tell(Progress::TurnStarts { title: block.title, cell: run.cell(turn) });
            let mut told = |progress: Progress<'_>| {
                if let Progress::TurnEnds(repeat) = progress {
                    repeats.push(repeat);
                }
                job.tell(progress);
            };
            let exit = run.take(turn, &[], &job.telling(&mut told))?;
            if exit == Exit::Interrupted {
                return Err(LabError::Interrupted);
            }
        }
        Ok(repeats)
    }

    /// Did the checks of a cell find that something was lost?
    ///
    /// # Errors
    /// The results file cannot be read.
    pub fn has_failed_checks(&self) -> Result<bool, LabError> {
        self.lab().map_or(Ok(false), |lab| has_failed_checks(self.results, lab))
    }

    /// Stores that the lab is over: whole, or as a search leaves it that was ended.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub fn finish(self, is_whole: bool) -> Result<(), LabError> {
        let status = if is_whole { LabStatus::Done } else { LabStatus::Interrupted };
        match self.lab() {
            Some(lab) => Ok(self.results.finish_lab(lab, status, None)?),
            None => Ok(()),
        }
    }

    fn run(&self) -> LabRun<'_> {
        LabRun {
            results: self.results,
            planned: &self.planned,
            meters: &self.options.meters,
            command_line: &self.options.command_line,
            fleet: None,
            lab: self.lab.clone(),
        }
    }
}
