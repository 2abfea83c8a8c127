//! The ramps of a lab, from the results file alone: their points as they are stored, and what these
//! say.

use crate::ramp_cpu::RampCpu;
use crate::remarks::remarks;
use crate::repeat_resources::used_by;
use crate::runs::{Run, Runs, percentile_noise_share};
use crate::samples::{Samples, Window};
use crate::saturation::{FailedPoint, MeasuredPoint, Ramp, Saturation, StopReason};
use base::counted;
use serde::Serialize;
use spec::RampLimits;
use std::collections::{BTreeMap, BTreeSet};
use store::{
    CellId, LabId, MetricSource, RampId, Repeat, Results, StoreError, StoredCell, StoredRamp,
    ThroughputMetric, TransactionTotals, WindowTotals,
};

/// Of a count that was measured, and did nothing.
const NO_NEW_ORDERS: &str = "no_new_orders";
const NO_TRANSACTIONS: &str = "no_transactions";
/// Of a ramp whose database lost something, or could not be looked at: nothing that was measured
/// before counts either.
const DISPROVING: [&str; 2] = ["check_failed", "not_checked"];

/// Of fewer transactions the 90th percentile rests on the slowest three at most: it may double by
/// chance.
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
    /// What `nopm` counts.
    #[serde(skip)]
    pub metric: ThroughputMetric,
    /// [`store::NewCell::only_primary`]
    #[serde(skip)]
    pub primary: Option<String>,
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
    pub stop_retries_share: Option<f64>,
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
    /// [`MeasuredPoint::nopm_noise_share`]
    #[serde(skip)]
    pub nopm_noise_share: Option<f64>,
    pub new_order_p95_us: Option<f64>,
    /// Of the same transactions, which are those that people look at first.
    #[serde(skip)]
    pub primary_p90_us: Option<f64>,
    /// By transaction type.
    pub p90_us: BTreeMap<String, f64>,
    /// [`MeasuredPoint::p90_noise_share`]
    #[serde(skip)]
    pub p90_noise_share: BTreeMap<String, f64>,
    /// As [`crate::RunDocument::remarks`].
    pub remarks: Vec<String>,
    /// [`MeasuredPoint::rare`]
    #[serde(skip)]
    pub rare: BTreeSet<String>,
    /// `None` is not known.
    pub cpu: Option<RampCpu>,
    /// [`MeasuredPoint::retries_share`]
    pub retries_share: Option<f64>,
    pub reason_code: Option<String>,
    pub reason: Option<String>,
}

impl RampPoint {
    /// For a [`Ramp`]; `None` where it failed.
    pub fn observed(&self) -> Option<MeasuredPoint> {
        self.reason_code.is_none().then(|| MeasuredPoint {
            connections: self.connections,
            nopm: self.nopm.unwrap_or(0.0),
            nopm_noise_share: self.nopm_noise_share,
            cpu: self.cpu,
            retries_share: self.retries_share,
            p90_us: self.p90_us.clone(),
            p90_noise_share: self.p90_noise_share.clone(),
            rare: self.rare.clone(),
        })
    }

    /// Why it ends its ramp, where it does.
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
    let cell = match points.first() {
        Some(point) => Some(results.cell(CellId(point.cell_id))?.what),
        None => None,
    };
    Ok(RampOutcome {
        metric: cell.as_ref().map_or_else(Default::default, |of| of.throughput_metric),
        primary: cell.and_then(|of| of.only_primary().map(str::to_owned)),
        ordinal: stored.what.ordinal,
        repeat: stored.what.repeat,
        conditions: RampConditions::of(limits),
        asked: limits.to_string(),
        points,
        saturation,
        words,
    })
}

/// The ramp as these points leave it. `None` where its limits make no sense, which only a foreign
/// hand can have stored.
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

/// A failure ends a ramp: where good points follow it, or are about to, the ramp was taken up
/// again, and the failure says nothing more. One that disproves leaves nothing of what was before
/// it. Of several attempts the last counts.
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
    let failures_from = if is_taken_up { all } else { last(&is_good, all) };
    let points_from = last(&disproves, failures_from);
    let mut points = Vec::new();
    for (index, (place, point)) in attempts.iter().enumerate().skip(points_from) {
        let is_last = attempts[index + 1..].iter().all(|(other, _)| other != place);
        let counts = |point: &&RampPoint| is_last && (index >= failures_from || is_good(point));
        points.extend(point.as_ref().filter(counts).cloned());
    }
    let mut failures = points.iter().filter(|point| !is_good(point));
    let disproof = failures.clone().rfind(|point| disproves(point));
    let failed = disproof.or_else(|| failures.next_back());
    StandingPoints { failed: failed.and_then(RampPoint::failed), points }
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
        nopm_noise_share: None,
        new_order_p95_us: None,
        primary_p90_us: None,
        p90_us: BTreeMap::new(),
        p90_noise_share: BTreeMap::new(),
        remarks: Vec::new(),
        rare: BTreeSet::new(),
        cpu: None,
        retries_share: None,
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
        cell: &StoredCell,
    ) -> Result<(), StoreError> {
        let run: Vec<Run> = Run::read(results, repeat.id)?.into_iter().collect();
        let run = Runs::of(&self.connections.to_string(), &run);
        if run.nopm.mean.is_none_or(|nopm| nopm <= 0.0) {
            let metric = cell.what.throughput_metric;
            let code = match metric {
                ThroughputMetric::Nopm => NO_NEW_ORDERS,
                ThroughputMetric::Tpm => NO_TRANSACTIONS,
            };
            self.reason_code = Some(code.to_owned());
            let reason = format!("no {} ended in the window", metric.transaction());
            self.reason = Some(format!("{reason}; take a longer one"));
            return Ok(());
        }
        self.nopm = run.nopm.mean;
        self.nopm_half_width = run.nopm.estimate.map(|estimate| estimate.half_width());
        self.nopm_noise_share =
            run.nopm.estimate.map(|estimate| estimate.standard_error / estimate.mean);
        self.new_order_p95_us = run.new_order_p95_us.mean;
        let window = results.window_totals(repeat.id)?;
        let p90_ns = window.primary().quantile_ns(0.9);
        self.primary_p90_us = p90_ns.map(|ns| ns as f64 / 1e3);
        for (transaction, totals) in window.iter() {
            let transaction = &transaction.name;
            if totals.completed() < KINK_TRANSACTIONS_MIN {
                self.rare.insert(transaction.clone());
            }
            if let Some(ns) = totals.quantile_ns(0.9) {
                self.p90_us.insert(transaction.clone(), ns as f64 / 1e3);
                let noise = percentile_noise_share(results, repeat.id, transaction, totals, 0.9)?;
                let noise = noise.map(|noise| (transaction.clone(), noise));
                self.p90_noise_share.extend(noise);
            }
        }
        self.retries_share = retries_share(&window);
        let of_window = results.window_summary(repeat, &cell.what, &window)?;
        self.remarks = remarks(&of_window, &cell.what);
        let samples = Samples::read(results, repeat.id)?;
        let used = used_by(results, (repeat, cell), &window, &samples)?;
        let start_ns = repeat.warmup_ns(&cell.what);
        let length_ns = repeat.result.as_ref().map(|of| of.measured_window_ns);
        let whole = Window { start_ns, end_ns: start_ns + length_ns.unwrap_or(0) };
        let spin_ns = samples.mean(whole, MetricSource::Shim, "spin_ns", "");
        let spin_cores = spin_ns.unwrap_or(0.0) / 1e9;
        self.cpu = used.and_then(|used| RampCpu::of(&used, spin_cores));
        Ok(())
    }

    /// The 90th percentile of a type.
    pub fn p90_us_of(&self, transaction: &str) -> Option<f64> {
        self.p90_us.get(transaction).copied()
    }
}

/// Of all tries in a window, those that were made again; `None` where there were no tries.
fn retries_share(window: &WindowTotals) -> Option<f64> {
    let sum = |count: fn(&TransactionTotals) -> u64| {
        window.iter().map(|(_, of)| count(of)).sum::<u64>() as f64
    };
    let retries = sum(TransactionTotals::retries);
    // Each transaction has one last try, whether it ended well or was given up.
    let tries = retries + sum(|of| of.completed() + of.errors);
    (tries > 0.0).then(|| retries / tries)
}

impl RampConditions {
    /// As it was asked for.
    pub fn of(limits: &RampLimits) -> RampConditions {
        RampConditions {
            connections_start: limits.start,
            connections_step: limits.step,
            connections_max: limits.connections_max,
            points_max: limits.points_max,
            stop_cpu_busy_share: limits.cpu_busy_share,
            stop_p90_us: limits.p90_us.clone(),
            stop_retries_share: limits.retries_share,
            stop_kink_elasticity: limits.kink_elasticity,
            stop_plateau_elasticity: limits.plateau_elasticity,
        }
    }
}

#[cfg(test)]
mod tests;
