//! A lab whose cells are not known before: what is measured next depends on what came out.

use crate::error::LabError;
use crate::progress::{OnProgress, Progress};
use crate::schedule::planned::Planned;
use crate::schedule::resumed::host_facts;
use crate::schedule::run_lab::LabRunOptions;
use crate::schedule::turn::LabRun;
use base::Exit;
use plan::{Setting, Turn};
use spec::Cell;
use std::cell::OnceCell;
use std::sync::atomic::AtomicBool;
use store::{LabId, LabStatus, RepeatId, Results};

/// A lab that grows. Cells of one block are measured one beside the other, with equal inputs.
pub struct Trials<'a> {
    results: &'a Results,
    options: &'a LabRunOptions,
    stop: &'a AtomicBool,
    planned: Planned,
    lab: OnceCell<LabId>,
    blocks: u32,
}

/// A cell of [`Trials`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialCell(usize);

impl<'a> Trials<'a> {
    /// Measures nothing yet.
    pub fn new(
        name: &str,
        results: &'a Results,
        options: &'a LabRunOptions,
        stop: &'a AtomicBool,
    ) -> Trials<'a> {
        let planned = Planned::of_search(name);
        Trials { results, options, stop, planned, lab: OnceCell::new(), blocks: 0 }
    }

    /// The lab, where a block was measured.
    pub fn lab(&self) -> Option<LabId> {
        self.lab.get().copied()
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

    /// Measures these cells once each, in this order, as a block. A cell that fails has a result
    /// that says why.
    ///
    /// # Errors
    /// The results file cannot be written, the machine is not fit, or `stop` is set.
    pub fn block(
        &mut self,
        cells: &[TrialCell],
        title: &str,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Vec<RepeatId>, LabError> {
        self.blocks += 1;
        let run = LabRun {
            results: self.results,
            planned: &self.planned,
            meters: &self.options.meters,
            command_line: &self.options.command_line,
            stop: self.stop,
            lab: self.lab.clone(),
        };
        if run.lab.get().is_none() {
            let lab = run.begin_lab(host_facts(&self.planned), on_progress)?;
            self.lab.get_or_init(|| lab);
        }
        run.begin_block(on_progress)?;
        let mut repeats = Vec::new();
        for TrialCell(index) in cells {
            let turn = Turn { index: *index, repeat: self.blocks };
            on_progress(Progress::TurnStarts { title, cell: run.cell(turn) });
            let exit = run.take(turn, &[], &mut |progress| {
                if let Progress::TurnEnds(repeat) = progress {
                    repeats.push(repeat);
                }
                on_progress(progress);
            })?;
            if exit == Exit::Interrupted {
                return Err(LabError::Interrupted);
            }
        }
        Ok(repeats)
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
}
