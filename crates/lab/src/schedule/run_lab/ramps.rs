//! Turns that are ramps: one on a server of its own, taken up from its stored points.

use super::{
    LabRun, STARTING, failure_of, is_of_machine, planned_cell, settings_of, timed_out_after,
};
use crate::error::LabError;
use crate::measure::ramp::{RampPlace, ramp, store_failed_ramp};
use crate::progress::{OnProgress, Progress};
use crate::schedule::watchdog::within;
use analyse::standing_points;
use base::Exit;
use plan::Turn;
use server::{Image, ImageKey};
use spec::RampLimits;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use store::{LabId, Results};

/// Ordinals of cells and repeats whose ramp is at its end; where what failed is wanted again, not those that a failure ended.
pub(super) fn ended(
    results: &Results,
    lab: LabId,
    redo: bool,
) -> Result<BTreeSet<(u32, u32)>, LabError> {
    let mut ended = BTreeSet::new();
    for ramp in results.ramps(lab)? {
        let is_again = redo && standing_points(results, ramp.id, false)?.failed.is_some();
        if ramp.finished_utc_ns.is_some() && !is_again {
            ended.insert((ramp.what.ordinal, ramp.what.repeat));
        }
    }
    Ok(ended)
}

impl LabRun<'_> {
    /// One ramp, stored however it ends.
    pub(super) fn take_ramp(
        &self,
        turn: Turn,
        limits: &RampLimits,
        coming: &[ImageKey],
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Exit, LabError> {
        let cell = self.cell(turn);
        let limit = cell.repeat_time_limit;
        // Told before there is a point that they belong to.
        let mut notes = Vec::new();
        let image = self.image(turn, coming, &mut |progress: Progress<'_>| {
            if let Progress::Note(note) = &progress {
                notes.push((*note).to_owned());
            }
            on_progress(progress);
        });
        let settings = settings_of(cell);
        let place = RampPlace {
            results: self.results,
            lab: self.lab,
            ordinal: cell.ordinal,
            repeat: turn.repeat,
            engine: Some(&cell.private().engine),
            settings: &settings,
            seed: self.seed(turn),
            planned_cells: self.planned.cells.len() as u32,
            notes: &notes,
        };
        let (ended, timed_out) = match image {
            Ok(image) => within(limit, self.stop, |stop| {
                self.ramp((turn, place), limits, image, stop, on_progress)
            }),
            Err(error) => (Err(error), false),
        };
        let failure = match ended {
            Ok(Exit::Interrupted) | Err(LabError::Interrupted) if timed_out => {
                timed_out_after(limit)
            }
            Ok(exit) => return Ok(exit),
            Err(error) if is_of_machine(&error) => return Err(error),
            Err(_) if timed_out => timed_out_after(limit),
            Err(error) if error.exit() == Exit::Interrupted => return Ok(Exit::Interrupted),
            Err(error) => failure_of(&error),
        };
        on_progress(Progress::Note(&format!("no result: {}", failure.reason)));
        store_failed_ramp(place, planned_cell(cell), limits, &failure)?;
        Ok(Exit::Failed)
    }

    fn ramp(
        &self,
        (turn, place): (Turn, RampPlace<'_>),
        limits: &RampLimits,
        image: Image,
        stop: &AtomicBool,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Exit, LabError> {
        on_progress(Progress::Step(STARTING));
        let subject = self
            .planned
            .servers_of(turn)?
            .start(self.home, image, stop)?;
        let asked = self.asked(self.cell(turn));
        ramp(place, &subject, (&asked, limits), stop, on_progress)
    }
}
