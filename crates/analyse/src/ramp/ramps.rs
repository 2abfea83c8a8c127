//! The ramps of a lab, from the results file alone: their points as they are stored, and what these
//! say.

use crate::ramp::ramp_point::{RampPoint, ramp_point};
use crate::ramp::saturation::{Ramp, Saturation, StopReason};
use base::{counted, document};
use spec::RampLimits;
use store::{
    CellId, LabId, NewCell, NewRamp, RampId, Results, StoreResult, StoredRamp, ThroughputMetric,
};

/// Of a ramp whose database lost something, or could not be looked at: nothing that was measured
/// before counts either.
const DISPROVING: [&str; 2] = ["check_failed", "not_checked"];

document! {
    /// One ramp. `docs/json.md` describes its keys.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RampOutcome from (
        stored: &NewRamp,
        cell: Option<&NewCell>,
        points: Vec<RampPoint>,
        saturation: Option<Saturation>
    );
    let words = match &saturation {
        Some(saturation) => saturation.to_string(),
        None => format!(
            "not at its end: {}",
            counted(points.len(), "point is measured", "points are measured")
        ),
    };
    {
        /// Of the plan's cell.
        pub ordinal: u32 = stored.ordinal,
        pub repeat: u32 = stored.repeat,
        pub conditions: RampLimits = stored.limits.clone(),
        /// The same in the plan's words.
        #[serde(skip)]
        pub asked: String = stored.limits.to_string(),
        /// What `nopm` counts.
        #[serde(skip)]
        pub metric: ThroughputMetric = cell.map(|of| of.throughput_metric).unwrap_or_default(),
        /// [`store::NewCell::only_primary`]
        #[serde(skip)]
        pub primary: Option<String> = cell.and_then(|of| of.only_primary().map(str::to_owned)),
        /// In the order of measurement.
        pub points: Vec<RampPoint> = points,
        /// `None` while points or checks are missing.
        pub saturation: Option<Saturation> = saturation,
        /// The same in one sentence.
        pub words: String = words,
    }
}

impl RampOutcome {
    /// The saturation point; `None` where there is none, and where no condition showed.
    pub fn supported_connections(&self) -> Option<u32> {
        let saturation = self.saturation.as_ref()?;
        saturation.reason.as_ref()?;
        saturation.connections
    }

    /// The transaction type whose response times ended it, where that is another than the one that
    /// people look at first.
    pub fn telling_transaction(&self) -> Option<&str> {
        match self.saturation.as_ref()?.reason.as_ref()? {
            StopReason::ResponseTime { transaction, .. } | StopReason::Kink { transaction, .. } => {
                Some(transaction.as_str()).filter(|name| self.primary.as_deref() != Some(*name))
            }
            _ => None,
        }
    }

    /// [`RampOutcome::supported_connections`] for people.
    pub fn supported_words(&self) -> String {
        let saturation = self.saturation.as_ref();
        match saturation.map(|found| (&found.reason, found.connections)) {
            Some((None, Some(most))) => format!("{most} or more"),
            Some((Some(_), Some(connections))) => connections.to_string(),
            _ => "NA".to_owned(),
        }
    }
}

/// All ramps of a lab, in the order of its plan.
///
/// # Errors
/// There is no such lab, or the file cannot be read.
pub fn ramps(results: &Results, lab: LabId) -> StoreResult<Vec<RampOutcome>> {
    let ramps = results.ramps(lab)?;
    ramps.iter().map(|ramp| outcome(results, ramp)).collect()
}

fn outcome(results: &Results, stored: &StoredRamp) -> StoreResult<RampOutcome> {
    let points = standing_points(results, stored.id, false)?;
    let counted = points.iter().filter(|point| point.is_good()).chain(failure(&points));
    let ramp = stored.finished_utc_ns.map(|_| Ramp::replayed(&stored.what.limits, counted));
    // Only a foreign hand can have stored limits that make no sense.
    let saturation = ramp.and_then(Result::ok).map(|ramp| ramp.saturation());
    let cell = points.first().map(|point| results.cell(CellId(point.cell_id))).transpose()?;
    Ok(RampOutcome::of(&stored.what, cell.as_ref().map(|cell| &cell.what), points, saturation))
}

/// Which stored points of a ramp count, in the order of measurement; with `is_taken_up`, as it is
/// about to go on. Failed ones, which ended it, are the last.
///
/// # Errors
/// The file cannot be read.
pub fn standing_points(
    results: &Results,
    ramp: RampId,
    is_taken_up: bool,
) -> StoreResult<Vec<RampPoint>> {
    let points = results.ramp_points(ramp)?.into_iter();
    let attempts = points
        .map(|repeat| Ok(((repeat.cell, repeat.ordinal), ramp_point(results, &repeat)?)))
        .collect::<StoreResult<Vec<_>>>()?;
    Ok(standing(&attempts, is_taken_up))
}

/// A failure ends a ramp: where good points follow it, or are about to, the ramp was taken up
/// again, and the failure says nothing more. One that disproves leaves nothing of what was before
/// it. Of several attempts the last counts.
fn standing<K: PartialEq>(
    attempts: &[(K, Option<RampPoint>)],
    is_taken_up: bool,
) -> Vec<RampPoint> {
    let last = |is: &dyn Fn(&RampPoint) -> bool, among: usize| {
        let found = attempts[..among].iter().rposition(|(_, point)| point.as_ref().is_some_and(is));
        found.map_or(0, |index| index + 1)
    };
    let all = attempts.len();
    let failures_from = if is_taken_up { all } else { last(&RampPoint::is_good, all) };
    let points_from = last(&disproves, failures_from);
    let mut points = Vec::new();
    for (index, (place, point)) in attempts.iter().enumerate().skip(points_from) {
        let is_last = attempts[index + 1..].iter().all(|(other, _)| other != place);
        let counts = |point: &&RampPoint| is_last && (index >= failures_from || point.is_good());
        points.extend(point.as_ref().filter(counts).cloned());
    }
    points
}

/// What ended a ramp of these points, where it was a failure.
fn failure(points: &[RampPoint]) -> Option<&RampPoint> {
    let mut failures = points.iter().filter(|point| !point.is_good());
    let disproof = failures.clone().rfind(|point| disproves(point));
    disproof.or_else(|| failures.next_back())
}

fn disproves(point: &RampPoint) -> bool {
    point.reason_code.as_deref().is_some_and(|code| DISPROVING.contains(&code))
}

#[cfg(test)]
mod tests;
