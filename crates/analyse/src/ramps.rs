//! The ramps of a lab, from the results file alone: their points as they are stored, and what these say.

use crate::load::Intervals;
use crate::resources::resources;
use crate::runs::{RunsAsked, runs};
use crate::samples::Samples;
use crate::saturation::{FailedPoint, Point, Ramp, Saturation, StopReason};
use base::{RampLimits, counted};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use store::{Cell, LabId, RampId, Repeat, Results, StoreError, StoredRamp};

const NEW_ORDER: &str = "new_order";
/// Of a count that was measured, and did nothing.
const NO_NEW_ORDERS: &str = "no_new_orders";
/// Of a ramp whose database lost something, or could not be looked at: nothing that was measured before counts either.
const DISPROVING: [&str; 2] = ["check_failed", "not_checked"];

/// Of fewer transactions the 90th percentile rests on the slowest three at most: it may double by chance.
const KINK_TRANSACTIONS_MIN: u64 = 30;

/// One ramp. `docs/json.md` describes its keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RampOutcome {
    /// Of the plan's cell.
    pub ordinal: u32,
    pub repeat: u32,
    pub conditions: RampConditions,
    /// The same in the plan's words.
    #[serde(skip)]
    pub asked: String,
    /// In the order of measurement.
    pub points: Vec<RampPoint>,
    /// `None` while points or checks are missing.
    pub saturation: Option<Saturation>,
    /// The same in one sentence.
    pub words: String,
}

/// What was to end it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RampConditions {
    pub connections_start: u32,
    pub connections_step: u32,
    pub connections_max: u32,
    pub points_max: usize,
    pub stop_cpu_busy_share: Option<f64>,
    /// By transaction type.
    pub stop_p90_us: BTreeMap<String, f64>,
    pub stop_kink_elasticity: Option<f64>,
    pub stop_plateau_elasticity: Option<f64>,
}

/// One measurement of a ramp; without numbers where it failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RampPoint {
    pub cell_id: i64,
    /// Of its cell in the lab.
    pub cell: u32,
    pub repeat: u32,
    pub repeat_id: i64,
    pub connections: u32,
    pub nopm: Option<f64>,
    pub nopm_half_width: Option<f64>,
    pub new_order_p95_us: Option<f64>,
    /// By transaction type.
    pub p90_us: BTreeMap<String, f64>,
    /// [`Point::rare`]
    #[serde(skip)]
    pub rare: BTreeSet<String>,
    pub cpu_busy_share: Option<f64>,
    pub reason_code: Option<String>,
    pub reason: Option<String>,
}

impl RampPoint {
    /// For a [`Ramp`]; `None` where it failed.
    #[must_use]
    pub fn observed(&self) -> Option<Point> {
        self.reason_code.is_none().then(|| Point {
            connections: self.connections,
            nopm: self.nopm.unwrap_or(0.0),
            nopm_half_width: self.nopm_half_width.unwrap_or(0.0),
            cpu_busy_share: self.cpu_busy_share,
            p90_us: self.p90_us.clone(),
            rare: self.rare.clone(),
        })
    }

    /// Why it ends its ramp, where it does.
    #[must_use]
    pub fn failed(&self) -> Option<FailedPoint> {
        Some(FailedPoint {
            connections: self.connections,
            reason_code: self.reason_code.clone()?,
            reason: self.reason.clone().unwrap_or_default(),
        })
    }
}

impl RampOutcome {
    /// The saturation point; `None` where there is none, and where no condition showed.
    #[must_use]
    pub fn supported_connections(&self) -> Option<u32> {
        let saturation = self.saturation.as_ref()?;
        saturation.reason.as_ref()?;
        saturation.connections
    }

    /// The transaction type whose response times ended it, where that is another than the one that people look at first.
    #[must_use]
    pub fn telling_transaction(&self) -> Option<&str> {
        match self.saturation.as_ref()?.reason.as_ref()? {
            StopReason::ResponseTime { transaction, .. } | StopReason::Kink { transaction, .. } => {
                Some(transaction.as_str()).filter(|name| *name != NEW_ORDER)
            }
            _ => None,
        }
    }

    /// [`RampOutcome::supported_connections`] for people.
    #[must_use]
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
pub fn ramps(results: &Results, lab: LabId) -> Result<Vec<RampOutcome>, StoreError> {
    let ramps = results.ramps(lab)?;
    ramps.iter().map(|ramp| outcome(results, ramp)).collect()
}

fn outcome(results: &Results, stored: &StoredRamp) -> Result<RampOutcome, StoreError> {
    let StandingPoints { points, failed } = standing_points(results, stored.id, false)?;
    let limits = &stored.what.limits;
    let saturation = stored
        .finished_utc_ns
        .and_then(|_| replayed(limits, &points, failed))
        .map(|ramp| ramp.saturation());
    let words = match &saturation {
        Some(saturation) => saturation.to_string(),
        None => format!(
            "not at its end: {}",
            counted(points.len(), "point is measured", "points are measured")
        ),
    };
    Ok(RampOutcome {
        ordinal: stored.what.ordinal,
        repeat: stored.what.repeat,
        conditions: RampConditions::of(limits),
        asked: limits.to_string(),
        points,
        saturation,
        words,
    })
}

/// The ramp as these points leave it. `None` where its limits make no sense, which only a foreign hand can have stored.
fn replayed(
    limits: &RampLimits,
    points: &[RampPoint],
    failed: Option<FailedPoint>,
) -> Option<Ramp> {
    let mut ramp = Ramp::new(limits.clone()).ok()?;
    for point in points.iter().filter_map(RampPoint::observed) {
        ramp.observe(point);
    }
    if let Some(failed) = failed {
        ramp.observe_failure(failed);
    }
    Some(ramp)
}

/// The points of a ramp that count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StandingPoints {
    /// In the order of measurement; the failed ones are the last.
    pub points: Vec<RampPoint>,
    /// What ended the ramp, where it was a failure.
    pub failed: Option<FailedPoint>,
}

/// Which stored points of a ramp count; with `is_taken_up`, as it is about to go on.
///
/// # Errors
/// The file cannot be read.
pub fn standing_points(
    results: &Results,
    ramp: RampId,
    is_taken_up: bool,
) -> Result<StandingPoints, StoreError> {
    let mut attempts = Vec::new();
    for repeat in results.ramp_points(ramp)? {
        attempts.push(((repeat.cell, repeat.ordinal), ramp_point(results, &repeat)?));
    }
    Ok(standing(&attempts, is_taken_up))
}

/// A failure ends a ramp: where good points follow it, or are about to, the ramp was taken up again, and the failure says nothing more. One
/// that disproves leaves nothing of what was before it. Of several attempts the last counts.
fn standing<K: PartialEq>(
    attempts: &[(K, Option<RampPoint>)],
    is_taken_up: bool,
) -> StandingPoints {
    let is_good = |point: &RampPoint| point.reason_code.is_none();
    let disproves = |point: &RampPoint| {
        let code = point.reason_code.as_deref();
        code.is_some_and(|code| DISPROVING.contains(&code))
    };
    let last = |is: &dyn Fn(&RampPoint) -> bool, among: usize| {
        let found = attempts[..among].iter();
        let mut found = found.map(|(_, point)| point.as_ref().is_some_and(is));
        found.rposition(|is| is).map_or(0, |index| index + 1)
    };
    let all = attempts.len();
    let failures_from = if is_taken_up {
        all
    } else {
        last(&is_good, all)
    };
    let points_from = last(&disproves, failures_from);
    let mut points = Vec::new();
    for (index, (place, point)) in attempts.iter().enumerate().skip(points_from) {
        let is_last = attempts[index + 1..]
            .iter()
            .all(|(other, _)| other != place);
        let counts = |point: &&RampPoint| is_last && (index >= failures_from || is_good(point));
        points.extend(point.as_ref().filter(counts).cloned());
    }
    let mut failures = points.iter().filter(|point| !is_good(point));
    let disproof = failures.clone().rfind(|point| disproves(point));
    let failed = disproof.or_else(|| failures.next_back());
    StandingPoints {
        failed: failed.and_then(RampPoint::failed),
        points,
    }
}

/// A stored measurement as a point; `None` where it was interrupted, so that it says nothing.
///
/// # Errors
/// The file cannot be read.
pub fn ramp_point(results: &Results, repeat: &Repeat) -> Result<Option<RampPoint>, StoreError> {
    let cell = results.cell(repeat.cell)?;
    let failed = repeat.own_failure().is_some();
    let mut point = RampPoint {
        cell_id: cell.id.0,
        cell: cell.what.ordinal,
        repeat: repeat.ordinal,
        repeat_id: repeat.id.0,
        connections: cell.what.connections,
        nopm: None,
        nopm_half_width: None,
        new_order_p95_us: None,
        p90_us: BTreeMap::new(),
        rare: BTreeSet::new(),
        cpu_busy_share: None,
        reason_code: repeat.reason_code.clone().filter(|_| failed),
        reason: repeat.reason.clone().filter(|_| failed),
    };
    if failed {
        return Ok(Some(point));
    }
    if !repeat.is_whole() {
        return Ok(None);
    }
    point.measure(results, repeat, &cell)?;
    Ok(Some(point))
}

impl RampPoint {
    /// The numbers of a whole window.
    fn measure(
        &mut self,
        results: &Results,
        repeat: &Repeat,
        cell: &Cell,
    ) -> Result<(), StoreError> {
        let asked = RunsAsked {
            name: self.connections.to_string(),
            repeats: vec![repeat.id],
        };
        // That it is one run is no news here.
        let run = runs(results, &asked, &mut Vec::new())?;
        if run.nopm.mean.is_none_or(|nopm| nopm <= 0.0) {
            self.reason_code = Some(NO_NEW_ORDERS.to_owned());
            self.reason = Some("no new order ended in the window; take a longer one".to_owned());
            return Ok(());
        }
        self.nopm = run.nopm.mean;
        self.nopm_half_width = run.nopm.estimate.map(|estimate| estimate.half_width());
        self.new_order_p95_us = run.new_order_p95_us.mean;
        let intervals = Intervals::read(results, repeat.id)?;
        for (transaction, totals) in &intervals.window {
            if totals.completed() < KINK_TRANSACTIONS_MIN {
                self.rare.insert(transaction.clone());
            }
            if let Some(ns) = totals.quantile_ns(0.9) {
                self.p90_us.insert(transaction.clone(), ns as f64 / 1e3);
            }
        }
        let samples = Samples::read(results, repeat.id)?;
        let used = resources(results, (repeat, cell), &intervals, &samples)?;
        self.cpu_busy_share = used.and_then(|used| used.host.cpu_busy_share);
        Ok(())
    }

    /// The 90th percentile of a type.
    #[must_use]
    pub fn p90_us_of(&self, transaction: &str) -> Option<f64> {
        self.p90_us.get(transaction).copied()
    }

    /// The 90th percentile of the type that people look at first.
    #[must_use]
    pub fn new_order_p90_us(&self) -> Option<f64> {
        self.p90_us_of(NEW_ORDER)
    }
}

impl RampConditions {
    /// As it was asked for.
    #[must_use]
    pub fn of(limits: &RampLimits) -> RampConditions {
        RampConditions {
            connections_start: limits.start,
            connections_step: limits.step,
            connections_max: limits.connections_max,
            points_max: limits.points_max,
            stop_cpu_busy_share: limits.cpu_busy_share,
            stop_p90_us: limits.p90_us.clone(),
            stop_kink_elasticity: limits.kink_elasticity,
            stop_plateau_elasticity: limits.plateau_elasticity,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RampPoint, ramp_point, ramps, standing};
    use crate::saturation::StopReason;
    use base::RampLimits;
    use store::{
        IntervalRow, LabId, NewCell, NewLab, NewRamp, NewRepeat, Phase, RampId, RepeatFailure,
        RepeatId, RepeatResult, Results, empty_histogram,
    };

    const S: u64 = 1_000_000_000;

    /// A count measured for 2 s, with so many new orders.
    fn measure(
        (results, lab, ramp): (&Results, LabId, RampId),
        (ordinal, connections): (u32, u32),
        new_orders: u64,
    ) -> RepeatId {
        let cell = NewCell {
            ordinal,
            connections,
            warehouses: 1,
            schemas: 1,
            instances: 1,
            window_ns: 2 * S,
            interval_ns: S,
            ..NewCell::default()
        };
        let repeat = NewRepeat {
            cell: results.begin_cell(lab, &cell).unwrap(),
            ordinal: 1,
            my_cnf: None,
            seed: None,
            driver_threads: None,
        };
        let repeat = results.begin_ramp_point(ramp, &repeat).unwrap();
        let mut latency = empty_histogram();
        latency.record_n(40_000_000, new_orders).unwrap();
        let row = IntervalRow {
            phase: Phase::Window,
            start_offset_ns: 0,
            end_offset_ns: 2 * S,
            transaction: "new_order".to_owned(),
            committed: new_orders,
            rolled_back: 0,
            deadlocks: 0,
            lock_wait_timeouts: 0,
            other_retries: 0,
            errors: 0,
            latency,
            latency_sum_ns: new_orders * 40_000_000,
            latency_max_ns: 40_000_000,
            latency_out_of_bounds: 0,
        };
        results.append_intervals(repeat, &[row]).unwrap();
        let result = RepeatResult {
            measured_window_ns: 2 * S,
            ..RepeatResult::default()
        };
        results.finish_repeat(repeat, &result).unwrap();
        repeat
    }

    #[test]
    fn a_ramp_is_what_its_stored_points_say() {
        let directory = tempfile::tempdir().unwrap();
        let results = Results::create_or_open(&directory.path().join("mydyno.db")).unwrap();
        let lab = results.begin_lab(&NewLab::default()).unwrap();
        let new = NewRamp {
            ordinal: 1,
            repeat: 1,
            limits: RampLimits::default(),
        };
        let ramp = results.begin_ramp(lab, &new).unwrap();
        let place = (&results, lab, ramp);
        measure(place, (1, 8), 100);
        measure(place, (2, 16), 200);
        let last = measure(place, (3, 32), 400);
        let found = ramps(&results, lab).unwrap();
        assert_eq!(found[0].points.len(), 3);
        assert_eq!(found[0].saturation, None);
        let point = &found[0].points[1];
        assert_eq!((point.connections, point.nopm), (16, Some(6_000.0)));
        let p90_us = point.new_order_p90_us().unwrap();
        assert!((p90_us / 40_000.0 - 1.0).abs() < 0.01, "{p90_us}");
        assert_eq!(point.cpu_busy_share, None);

        let failure = |code: &str| RepeatFailure {
            reason_code: code.to_owned(),
            reason: "locks".to_owned(),
            log_tail: None,
        };
        results
            .fail_repeat(last, &failure("lock_wait_timeout"))
            .unwrap();
        results.finish_ramp(ramp).unwrap();
        let found = ramps(&results, lab).unwrap();
        let saturation = found[0].saturation.clone().unwrap();
        assert_eq!(found[0].supported_connections(), Some(16));
        assert_eq!(found[0].supported_words(), "16");
        assert!(
            matches!(
                &saturation.reason,
                Some(StopReason::Failed {
                    connections: 32,
                    ..
                })
            ),
            "{saturation:?}"
        );
        assert_eq!(found[0].points[2].nopm, None);

        // Taken up again, it is the same ramp without an end.
        assert_eq!(results.begin_ramp(lab, &new).unwrap(), ramp);
        assert_eq!(results.ramps(lab).unwrap()[0].what, new);
        assert_eq!(ramps(&results, lab).unwrap()[0].saturation, None);
        // One that did nothing is at its end, and so is the ramp.
        let stalled = measure(place, (4, 64), 0);
        let stalled = results.repeat(stalled).unwrap();
        let point = ramp_point(&results, &stalled).unwrap().unwrap();
        assert_eq!(point.observed(), None);
        assert_eq!(point.failed().unwrap().reason_code, "no_new_orders");
        assert!(point.nopm.is_none() && point.p90_us.is_empty(), "{point:?}");
        // An interrupted point says nothing.
        let repeat = NewRepeat {
            cell: results.repeat(last).unwrap().cell,
            ordinal: 1,
            my_cnf: None,
            seed: None,
            driver_threads: None,
        };
        let again = results.begin_ramp_point(ramp, &repeat).unwrap();
        results.fail_repeat(again, &failure("interrupted")).unwrap();
        let again = results.repeat(again).unwrap();
        assert_eq!(ramp_point(&results, &again).unwrap(), None);
        assert_eq!(results.ramp_points(ramp).unwrap().len(), 5);
        assert_eq!(ramps(&results, lab).unwrap()[0].points.len(), 3);
        assert_eq!(results.ramp_cells(lab, 1).unwrap().len(), 4);
    }

    /// A point of this count, failed where there is a reason.
    fn attempt(connections: u32, reason_code: Option<&str>) -> ((u32, u32), Option<RampPoint>) {
        let point = RampPoint {
            cell_id: 1,
            cell: 1,
            repeat: 1,
            repeat_id: 1,
            connections,
            nopm: reason_code.is_none().then_some(1.0),
            nopm_half_width: None,
            new_order_p95_us: None,
            p90_us: Default::default(),
            rare: Default::default(),
            cpu_busy_share: None,
            reason_code: reason_code.map(str::to_owned),
            reason: None,
        };
        ((connections, 1), Some(point))
    }

    /// Counts of the points that count, and the failure.
    fn stands(
        attempts: &[((u32, u32), Option<RampPoint>)],
        is_taken_up: bool,
    ) -> (Vec<u32>, Option<String>) {
        let found = standing(attempts, is_taken_up);
        let counts = found.points.iter().map(|point| point.connections);
        let failed = found.failed.map(|failed| failed.reason_code);
        (counts.collect(), failed)
    }

    #[test]
    fn failures_end_a_ramp_until_it_is_taken_up_again() {
        let good = |connections| attempt(connections, None);
        let code = |code: &str| Some(code.to_owned());
        let mut ramp = vec![good(8), good(16), attempt(32, Some("refused"))];
        assert_eq!(stands(&ramp, false), (vec![8, 16, 32], code("refused")));
        assert_eq!(stands(&ramp, true), (vec![8, 16], None));
        // An interrupted attempt is no point, and takes away the one before it.
        ramp.push(((16, 1), None));
        assert_eq!(stands(&ramp, true), (vec![8], None));
        ramp.push(good(16));
        assert_eq!(stands(&ramp, false), (vec![8, 16], None));
        ramp.push(attempt(64, Some("timed_out")));
        assert_eq!(stands(&ramp, false).1, code("timed_out"));
    }

    #[test]
    fn what_was_disproved_never_counts_again() {
        let good = |connections| attempt(connections, None);
        let disproved = |reason_code| attempt(16, Some(reason_code));
        for reason_code in ["check_failed", "not_checked"] {
            // Checks hang on the last good point, with a count after it that failed.
            let mut ramp = vec![
                good(8),
                good(12),
                disproved(reason_code),
                attempt(32, Some("refused")),
            ];
            let failed = stands(&ramp, false).1;
            assert_eq!(failed.as_deref(), Some(reason_code));
            assert_eq!(stands(&ramp, true), (vec![], None));
            ramp.extend([good(8), good(16)]);
            assert_eq!(stands(&ramp, false), (vec![8, 16], None));
            assert_eq!(stands(&ramp, true), (vec![8, 16], None));
        }
    }
}
