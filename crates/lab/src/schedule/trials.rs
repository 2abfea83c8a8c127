//! A lab of which is not known before what is measured next: that depends on what came out. It is
//! measured block by block, as somebody asks for; cells of one block are measured one beside the
//! other, with equal inputs.

use crate::error::{LabError, LabResult};
use crate::progress::{Job, Progress};
use crate::schedule::resumed::{host_facts, require_same};
use crate::schedule::stored::{has_failed_checks, lab_of, require_idle};
use crate::schedule::turn::LabRun;
use base::Exit;
use plan::{Plan, PlannedCell, Setting, Turn};
use spec::Cell;
use store::{LabStatus, RepeatId};

/// A cell of a lab, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrialCell(pub usize);

impl LabRun<'_> {
    /// Begins the lab of a plan that is searched, or goes on with it.
    ///
    /// # Errors
    /// As [`LabRun::run`] before its first turn.
    pub fn begin_search(&self, plan: &Plan, job: &Job<'_>) -> LabResult<()> {
        let LabRun { results, planned, .. } = self;
        // Another may have begun meanwhile.
        require_idle(results, plan)?;
        let lab = match lab_of(results, plan)? {
            None => self.begin_lab(host_facts(planned))?,
            Some(lab) => {
                require_same(results, lab, (plan, planned), &planned.turns)?;
                results.resume_lab(lab)?;
                self.resume(lab)
            }
        };
        results.mark_adaptive(lab)?;
        job.notes(&planned.notes);
        Ok(())
    }

    /// All cells, in the order of their places.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = &PlannedCell> {
        self.planned.cells.iter().map(|(cell, _)| cell)
    }

    /// Adds a cell, which these variables tell from the others.
    ///
    /// # Errors
    /// What this machine lacks.
    pub fn add(&mut self, what: Cell, variables: &[(String, String)]) -> LabResult<TrialCell> {
        let settings = variables.iter().map(|(name, value)| Setting::of_variable(name, value));
        Ok(TrialCell(self.planned.add(what, settings.collect())?))
    }

    /// Measures these cells once each, in this order, as a block with this title, but for those of
    /// which the results file has this block's repeat. A cell that fails has a result that says
    /// why.
    ///
    /// # Errors
    /// The results file cannot be written, the machine is not fit, or `stop` is set.
    pub fn block(
        &mut self,
        cells: &[TrialCell],
        title: &str,
        job: &Job<'_>,
    ) -> LabResult<Vec<RepeatId>> {
        self.asked_blocks += 1;
        if self.begun().is_none() {
            self.results.mark_adaptive(self.begin_lab(host_facts(&self.planned))?)?;
        }
        let mut is_begun = false;
        let mut repeats = Vec::new();
        for TrialCell(index) in cells {
            let turn = Turn { index: *index, repeat: self.asked_blocks };
            if let Some(there) = self.result_of(turn)? {
                repeats.push(there);
                continue;
            }
            if !is_begun {
                self.begin_block(job)?;
                is_begun = true;
            }
            job.tell(Progress::TurnStarts { title, cell: self.cell(turn) });
            let mut told = |progress: Progress<'_>| {
                if let Progress::TurnEnds(repeat) = progress {
                    repeats.push(repeat);
                }
                job.tell(progress);
            };
            if self.take(turn, &[], &job.telling(&mut told))? == Exit::Interrupted {
                return Err(LabError::Interrupted);
            }
        }
        Ok(repeats)
    }

    /// Did the checks of a cell find that something was lost?
    ///
    /// # Errors
    /// The results file cannot be read.
    pub fn has_failed_checks(&self) -> LabResult<bool> {
        self.begun().map_or(Ok(false), |lab| has_failed_checks(self.results, lab))
    }

    /// Stores that the lab is over: whole, or as a search leaves it that was ended.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub fn finish(self, is_whole: bool) -> LabResult<()> {
        let status = if is_whole { LabStatus::Done } else { LabStatus::Interrupted };
        self.begun().map_or(Ok(()), |lab| Ok(self.results.finish_lab(lab, status, None)?))
    }
}
