//! The ramp: which number of connections to measure next, and where the target saturates.
//!
//! A ramp measures nothing itself. It is a function of the points observed so far, so that one that
//! was interrupted goes on from stored points. First connections double from the start; the first
//! count at which a stop condition shows ends that. Then the place is refined on the grid of the
//! finest step: a limit (CPU, response time, retries) by halving between the last good count and
//! the first bad one, a bend of a curve (plateau, kink) by points around the corner that fits best,
//! until the scatter leaves it open by no more than a step.

use crate::ramp::bend::{Bend, BendDirection, CurvePoint, bend};
use crate::ramp::ramp_cpu::{CpuOf, RampCpu};
use crate::ramp::ramp_point::RampPoint;
use crate::stats::statistics::mean;
use base::{counted, percent};
use serde::Serialize;
use spec::{PLATEAU_ELASTICITY, Problem, RampLimits};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// From such a share on, stolen time is told of.
const STEAL_TOLD_MIN: f64 = 0.01;

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum RampStep {
    /// Measure so many connections, and observe the point.
    Measure(u32),
    Done(Saturation),
}

/// Where a ramp ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Saturation {
    /// The last count before the stop condition; `None` where the start shows it already. Without a
    /// reason: the largest measured.
    pub connections: Option<u32>,
    /// The range that scatter and the number of points leave open; equal where nothing is.
    pub connections_low: Option<u32>,
    pub connections_high: Option<u32>,
    /// `None`: no condition showed up to the largest count, or before the points were used up.
    pub reason: Option<StopReason>,
}

/// What ended a ramp, with the number that it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "condition")]
pub enum StopReason {
    Cpu {
        cpu_busy_share: f64,
        cpu_of: CpuOf,
        cpu_steal_share: f64,
    },
    ResponseTime {
        transaction: String,
        p90_us: f64,
        limit_us: f64,
    },
    /// Too many tries had to be made again.
    Retries {
        retries_share: f64,
    },
    /// The response time of a type turned sharply up.
    Kink {
        transaction: String,
        /// Beyond the corner: 2 says that twice the connections take four times as long.
        elasticity: f64,
    },
    /// Throughput no longer rose.
    Plateau {
        /// Beyond the corner: 0 says that more connections give nothing.
        elasticity: f64,
    },
    /// A count gave no result or, where it is no failure of a count alone, the ramp.
    Failed {
        connections: u32,
        reason_code: String,
        reason: String,
    },
}

/// What a count beyond the saturation point showed.
impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::Cpu { cpu_busy_share, cpu_of, cpu_steal_share } => {
                let whose = match cpu_of {
                    CpuOf::Server => "the server and the kernel's interrupts",
                    CpuOf::OthersThanDriver => "other programs than mydyno",
                    CpuOf::Machine => "programs of the server's machine",
                };
                let busy = cpu_busy_share * 100.0;
                write!(f, "{whose} used {busy:.0} % of the processor time that was left to them")?;
                if *cpu_steal_share >= STEAL_TOLD_MIN {
                    let stolen = cpu_steal_share * 100.0;
                    write!(f, ", {stolen:.0} % of all being stolen by other guests")?;
                }
                Ok(())
            }
            StopReason::ResponseTime { transaction, p90_us, limit_us } => write!(
                f,
                "the 90th percentile of {transaction} was {:.3} s, and {:.3} s are allowed",
                p90_us / 1e6,
                limit_us / 1e6
            ),
            StopReason::Retries { retries_share } => write!(
                f,
                "{} of the tries of transactions were retried, after deadlocks, lock wait timeouts \
                 and other conflicts",
                percent(*retries_share)
            ),
            StopReason::Kink { transaction, elasticity } => write!(
                f,
                "response times of {transaction} turn sharply up: twice the connections take {:.1} \
                 times as long",
                elasticity.exp2()
            ),
            StopReason::Plateau { elasticity } => write!(
                f,
                "throughput no longer rises: twice the connections give {:+.0} %",
                (elasticity.exp2() - 1.0) * 100.0
            ),
            StopReason::Failed { connections, reason_code, reason } => {
                if is_of_count(reason_code) {
                    write!(f, "{} gave no result", connections_words(*connections))?;
                } else {
                    write!(f, "the ramp failed at {}", connections_words(*connections))?;
                }
                let reason = reason.lines().next().unwrap_or_default();
                write!(f, " ({reason_code}): {reason}")
            }
        }
    }
}

/// In one sentence.
impl fmt::Display for Saturation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(reason) = &self.reason else {
            return match self.connections {
                Some(most) => write!(
                    f,
                    "no saturation point: no stop condition showed up to {}, the most that were \
                     measured",
                    connections_words(most)
                ),
                None => write!(f, "no saturation point: nothing was measured"),
            };
        };
        let lead = match (reason, self.connections) {
            (StopReason::Failed { .. }, _) => "",
            (_, None) => "at the start already, ",
            (StopReason::Kink { .. } | StopReason::Plateau { .. }, _) => "beyond it ",
            _ => "with more, ",
        };
        let Some(connections) = self.connections else {
            return write!(f, "no saturation point: {lead}{reason}");
        };
        write!(f, "saturation point: {}", connections_words(connections))?;
        let range = self.connections_low.zip(self.connections_high);
        if let Some((low, high)) = range.filter(|(low, high)| low < high) {
            write!(f, " (it may be anywhere from {low} to {high})")?;
        }
        write!(f, "; {lead}{reason}")
    }
}

/// Failures that are a count's own: it was too much for the target. Any other is the ramp's, which
/// then has no saturation point.
const OF_COUNT: [&str; 7] = [
    "lock_wait_timeout",
    "transaction_errors",
    "mix_outside_chance",
    "server_died",
    "no_new_orders",
    "no_transactions",
    "refused",
];

/// Does this reason code tell of one number of connections, and not of the whole ramp?
pub fn is_of_count(reason_code: &str) -> bool {
    OF_COUNT.contains(&reason_code)
}

/// A ramp under way.
#[derive(Clone, Debug)]
pub struct Ramp {
    limits: RampLimits,
    curve: Vec<RampPoint>,
    failed: Option<RampPoint>,
}

/// What points say so far, and the connections that would tell it more exactly.
type RampVerdict = (Saturation, Option<u32>);

impl Ramp {
    /// A ramp that has measured nothing.
    ///
    /// # Errors
    /// A limit that makes no sense.
    pub fn new(limits: RampLimits) -> Result<Ramp, Problem> {
        limits.check()?;
        Ok(Ramp { limits, curve: Vec::new(), failed: None })
    }

    /// A ramp that has measured these points.
    ///
    /// # Errors
    /// A limit that makes no sense.
    pub fn replayed<'a>(
        limits: &RampLimits,
        points: impl IntoIterator<Item = &'a RampPoint>,
    ) -> Result<Ramp, Problem> {
        let mut ramp = Ramp::new(limits.clone())?;
        points.into_iter().for_each(|point| ramp.observe(point.clone()));
        Ok(ramp)
    }

    /// Takes a point; those that nobody asked for, such as stored ones, are welcome too. The first
    /// one without a result ends the ramp.
    pub fn observe(&mut self, point: RampPoint) {
        if point.is_good() {
            self.curve.push(point);
        } else {
            self.failed.get_or_insert(point);
        }
    }

    /// How many points it may still measure.
    pub fn points_left_max(&self) -> usize {
        (self.limits.points_max as usize).saturating_sub(self.curve.len())
    }

    /// What to do now; the same until the next point.
    pub fn next(&self) -> RampStep {
        match self.judged() {
            (_, Some(connections)) if self.points_left_max() > 0 => RampStep::Measure(connections),
            (saturation, _) => RampStep::Done(saturation),
        }
    }

    /// What the points say so far, whether or not more are to come.
    pub fn saturation(&self) -> Saturation {
        self.judged().0
    }

    fn judged(&self) -> RampVerdict {
        let points = self.merged();
        if let Some(failed) = &self.failed {
            return (self.failed_place(failed, &points), None);
        }
        let limit = self.limit_place(&points);
        let ceiling = limit.as_ref().and_then(|(limit, _)| limit.connections_high);
        match (limit, self.bend_place(&points, ceiling)) {
            // A limit is found before a bend below it is looked for.
            (Some(limit @ (_, Some(_))), _) => limit,
            (Some(limit), Some(bent)) if bent.0.connections > limit.0.connections => limit,
            (_, Some(bent)) => bent,
            (Some(limit), None) => limit,
            (None, None) => self.goes_on(&points),
        }
    }

    /// Below a count that gave no result; nowhere where that says nothing of the count.
    fn failed_place(&self, failed: &RampPoint, points: &[RampPoint]) -> Saturation {
        let reason_code = failed.reason_code.clone().unwrap_or_default();
        let is_of_count = is_of_count(&reason_code);
        let mut good = points.iter().filter(|point| {
            is_of_count && point.connections < failed.connections && self.over(point).is_none()
        });
        let last_good = good.next_back().map(|point| point.connections);
        let before = failed.connections.saturating_sub(self.limits.step);
        Saturation {
            connections: last_good,
            connections_low: last_good,
            connections_high: last_good.map(|good| good.max(before)),
            reason: Some(StopReason::Failed {
                connections: failed.connections,
                reason_code,
                reason: failed.reason.clone().unwrap_or_default(),
            }),
        }
    }

    fn goes_on(&self, points: &[RampPoint]) -> RampVerdict {
        let most = points.last().map(|point| point.connections);
        let is_measured = |count: &u32| points.iter().any(|point| point.connections == *count);
        let measure = self.limits.doubling().find(|count| !is_measured(count));
        let [connections, connections_low, connections_high] = [most; 3];
        (Saturation { connections, connections_low, connections_high, reason: None }, measure)
    }

    /// Points by connections, several of one count as their mean.
    fn merged(&self) -> Vec<RampPoint> {
        let mut by_count: BTreeMap<u32, Vec<&RampPoint>> = BTreeMap::new();
        for point in &self.curve {
            by_count.entry(point.connections).or_default().push(point);
        }
        by_count.into_values().map(|same| mean_of(&same)).collect()
    }

    /// What limit a point is over, the processor's first.
    fn over(&self, point: &RampPoint) -> Option<StopReason> {
        let limit = self.limits.cpu_busy_share.unwrap_or(f64::INFINITY);
        let of_cpu = point.cpu.filter(|cpu| cpu.busy_share >= limit).map(|cpu| StopReason::Cpu {
            cpu_busy_share: cpu.busy_share,
            cpu_of: cpu.of,
            cpu_steal_share: cpu.steal_share,
        });
        let mut of_types = point.p90_us.iter().filter_map(|(transaction, p90_us)| {
            let limit_us = *self.limits.p90_us.get(transaction)?;
            (*p90_us > limit_us).then(|| StopReason::ResponseTime {
                transaction: transaction.clone(),
                p90_us: *p90_us,
                limit_us,
            })
        });
        let limit = self.limits.retries_share.unwrap_or(f64::INFINITY);
        let retries = point.retries_share.filter(|share| *share >= limit);
        let retries = retries.map(|retries_share| StopReason::Retries { retries_share });
        // Tries made again make response times long, so they are told of before these.
        of_cpu.or(retries).or_else(|| of_types.next())
    }

    /// Between the last count within all limits and the first over one.
    fn limit_place(&self, points: &[RampPoint]) -> Option<RampVerdict> {
        let mut all = points.iter().enumerate();
        let (index, bad, reason) =
            all.find_map(|(index, point)| Some((index, point.connections, self.over(point)?)))?;
        let last_good = index.checked_sub(1).map(|before| points[before].connections);
        let measure = last_good.and_then(|good| self.limits.between(good..bad));
        let found = Saturation {
            connections: last_good,
            connections_low: last_good,
            connections_high: last_good.map(|good| match measure {
                Some(_) => bad.saturating_sub(self.limits.step),
                None => good,
            }),
            reason: Some(reason),
        };
        Some((found, measure))
    }

    /// The corner of a curve that the doubling counts show bent, below a `ceiling`.
    fn bend_place(&self, points: &[RampPoint], ceiling: Option<u32>) -> Option<RampVerdict> {
        let at = |count| points.iter().find(|point| point.connections == count);
        let doubled: Vec<&RampPoint> = self.limits.doubling().map_while(at).collect();
        let (found, reason) = match self.kink(points, &doubled) {
            Some((transaction, found)) => {
                let elasticity = found.slope_after;
                (found, StopReason::Kink { transaction, elasticity })
            }
            None => {
                let flat = self.limits.plateau_elasticity?;
                let nopm = |point: &RampPoint| Some((point.nopm?, point.nopm_noise_share));
                let found = self.corner(points, BendDirection::Down, nopm)?;
                if !is_flat_behind(&doubled, found.corner, flat) {
                    return None;
                }
                let elasticity = found.slope_after;
                (found, StopReason::Plateau { elasticity })
            }
        };
        let saturation = Saturation {
            connections: Some(found.corner),
            connections_low: Some(found.low),
            connections_high: Some(found.high),
            reason: Some(reason),
        };
        Some((saturation, self.around(&found, points, ceiling.unwrap_or(u32::MAX))))
    }

    /// The transaction type whose response time turns up most, and where; `None` where none turns
    /// up as fast as it would have to.
    fn kink(&self, points: &[RampPoint], doubled: &[&RampPoint]) -> Option<(String, Bend)> {
        let limit = self.limits.kink_elasticity?;
        let flat = self.limits.plateau_elasticity.unwrap_or(PLATEAU_ELASTICITY);
        let is_rare = |name: &&String| doubled.iter().any(|point| point.rare.contains(*name));
        let names = types(doubled).into_iter().filter(|name| !is_rare(name));
        let kinks = names.filter_map(|transaction| {
            let p90_us = |point: &RampPoint| point.p90_us_of(transaction);
            let noisy = |point: &RampPoint| {
                let noise_share = point.p90_noise_share.get(transaction).copied();
                p90_us(point).map(|p90_us| (p90_us, noise_share))
            };
            let found = self.corner(points, BendDirection::Up, noisy)?;
            // While throughput rises, one doubling may be a step, and a line through few points as
            // steep as one likes.
            let behind = doubled.iter().filter(|point| point.connections >= found.corner);
            let is_steep = match behind.collect::<Vec<_>>()[..] {
                [first, _, .., last] => rises(first, last, limit, p90_us),
                _ => false,
            };
            let is_kink = is_steep || is_flat_behind(doubled, found.corner, flat);
            (is_kink && found.slope_after >= limit).then(|| (transaction.clone(), found))
        });
        kinks.max_by(|one, other| one.1.slope_after.total_cmp(&other.1.slope_after))
    }

    /// `value` tells a number of a point and how far chance moves it, as a share of the number.
    fn corner(
        &self,
        points: &[RampPoint],
        turn: BendDirection,
        value: impl Fn(&RampPoint) -> Option<(f64, Option<f64>)>,
    ) -> Option<Bend> {
        let (first, last) = (points.first()?, points.last()?);
        let measured = first.connections..=last.connections;
        let corners: Vec<u32> = self.limits.grid().filter(|at| measured.contains(at)).collect();
        let at = |point: &RampPoint| {
            Some(CurvePoint { connections: f64::from(point.connections), value: value(point)?.0 })
        };
        let measured: Vec<CurvePoint> = self.curve.iter().filter_map(at).collect();
        let squares = self.curve.iter().filter_map(|point| Some(value(point)?.1?.powi(2)));
        let noise_share = mean(&squares.collect::<Vec<f64>>()).map_or(0.0, f64::sqrt);
        bend(&measured, &corners, turn, noise_share)
    }

    /// The count that tells most of a corner: of those that it may be and their neighbours the one
    /// farthest from what is measured; when all are, the one measured least, while more than a step
    /// on either side is open.
    fn around(&self, found: &Bend, points: &[RampPoint], ceiling: u32) -> Option<u32> {
        let step = self.limits.step;
        let is_measured = |count: u32| points.iter().any(|point| point.connections == count);
        let near = |low: u32, high: u32| {
            let (low, high) = (low.saturating_sub(step), high.saturating_add(step).min(ceiling));
            self.limits.grid().filter(move |count| (low..=high).contains(count))
        };
        let is_open = found.high - found.corner > step || found.corner - found.low > step;
        if !is_open {
            return near(found.corner, found.corner).find(|count| !is_measured(*count));
        }
        let distance = |count: u32| {
            let to = |point: &RampPoint| point.connections.abs_diff(count);
            points.iter().map(to).min().unwrap_or(u32::MAX)
        };
        let times = |count: u32| {
            let same = |point: &&RampPoint| point.connections == count;
            self.curve.iter().filter(same).count()
        };
        near(found.low, found.high).max_by_key(|count| {
            let from_corner = count.abs_diff(found.corner);
            (distance(*count), std::cmp::Reverse(times(*count)), std::cmp::Reverse(from_corner))
        })
    }
}

fn connections_words(connections: u32) -> String {
    counted(connections as usize, "connection", "connections")
}

/// Does a doubling behind the corner leave throughput as it was? Noise may hide that for another
/// doubling, which costs a point; it seldom makes one.
fn is_flat_behind(doubled: &[&RampPoint], corner: u32, elasticity: f64) -> bool {
    let mut behind = doubled.windows(2).filter(|pair| pair[1].connections > corner);
    behind.any(|pair| !rises(pair[0], pair[1], elasticity, |point| point.nopm))
}

/// Does a value of both points rise faster than this power of the connections?
fn rises(
    fewer: &RampPoint,
    more: &RampPoint,
    elasticity: f64,
    value: impl Fn(&RampPoint) -> Option<f64>,
) -> bool {
    let growth = f64::from(more.connections) / f64::from(fewer.connections);
    let both = value(fewer).zip(value(more));
    both.is_some_and(|(before, after)| after > before * growth.powf(elasticity))
}

/// Points of one count as one; `same` holds at least one. Noise is read from the points themselves.
fn mean_of(same: &[&RampPoint]) -> RampPoint {
    let over_all = |number: &dyn Fn(&RampPoint) -> Option<f64>| {
        mean(&same.iter().map(|point| number(point)).collect::<Option<Vec<f64>>>()?)
    };
    let busy_share = over_all(&|point| Some(point.cpu?.busy_share));
    let steal_share = over_all(&|point| Some(point.cpu?.steal_share));
    let cpu =
        |(busy_share, steal_share)| Some(RampCpu { busy_share, of: same[0].cpu?.of, steal_share });
    let p90_us = |name: &String| {
        let known = same.iter().filter_map(|point| point.p90_us_of(name));
        Some((name.clone(), mean(&known.collect::<Vec<f64>>())?))
    };
    RampPoint {
        connections: same[0].connections,
        nopm: over_all(&|point| point.nopm),
        cpu: busy_share.zip(steal_share).and_then(cpu),
        retries_share: over_all(&|point| point.retries_share),
        p90_us: types(same).into_iter().filter_map(p90_us).collect(),
        rare: same.iter().flat_map(|point| point.rare.clone()).collect(),
        ..RampPoint::default()
    }
}

/// The transaction types that any of the points tells of.
fn types<'a>(points: &[&'a RampPoint]) -> BTreeSet<&'a String> {
    let names = points.iter().map(|point| point.p90_us.keys());
    names.flatten().collect()
}

#[cfg(test)]
mod tests;
