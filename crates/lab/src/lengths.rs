//! Warm-ups that end when the server is steady, and windows that end when their mean is known. Fed with the intervals and samples of a run;
//! the statistics are those of `analyse`. METHODOLOGY.md says why each number is as it is.

mod series;

use crate::progress::Awaited;
use crate::spec::RunSpec;
use analyse::{Precision, PrecisionAsked, Steadiness, Trend, Watched, precision, steadiness};
use base::limits;
use drive::{Control, Interval, Phase, RunReport};
use plan::Length;
use series::{Gauges, Series};
use std::time::Duration;
use store::{RepeatResult, SampleBatch};
use tpcc::Transaction;

/// What throughput may change over the later half of a warm-up, as a share of its mean.
const TOLERANCE: f64 = 0.05;
/// A series is looked at again when it has become longer by one part of so many: each look takes time, and a chance to err.
const LOOK_PARTS: u64 = 100;

/// The phases of a run, and what ends them.
pub(crate) struct Lengths {
    warmup: Length,
    window: Length,
    interval: Duration,
    asked: PrecisionAsked,
    phase: Phase,
    /// Intervals of the phase under way, and the count of them at which it is looked at again.
    intervals: u64,
    next_look: u64,
    /// New orders per minute of the phase under way.
    throughput: Series,
    gauges: Gauges,
    steadiness: Option<Steadiness>,
    /// Of an automatic warm-up that has ended.
    warmup_steady: Option<bool>,
    by_throughput_alone: bool,
    precision: Option<Precision>,
}

impl Lengths {
    /// Of a run that is asked for, on so many servers with these variables.
    pub(crate) fn of(spec: &RunSpec, variables: &[(String, String)], instances: u32) -> Lengths {
        Lengths {
            warmup: spec.warmup,
            window: spec.window,
            interval: spec.interval,
            asked: PrecisionAsked {
                half_width_share: spec.precision_share,
                intervals_min: limits::AUTO_INTERVALS_MIN as usize,
            },
            phase: Phase::Warmup,
            intervals: 0,
            next_look: 0,
            throughput: Series::default(),
            gauges: Gauges::of(variables, instances),
            steadiness: None,
            warmup_steady: None,
            by_throughput_alone: false,
            precision: None,
        }
    }

    /// Takes what was sampled beside the run.
    pub(crate) fn sampled(&mut self, batches: &[SampleBatch]) {
        for batch in batches {
            self.gauges.take(batch);
        }
    }

    /// Takes an interval, and says whether its phase goes on.
    pub(crate) fn take(&mut self, interval: &Interval) -> Control {
        self.enter(interval.phase);
        let ns = interval.end_offset_ns - interval.start_offset_ns;
        // What an interrupted run has of its last interval says little.
        let is_short = u128::from(ns) * 2 < self.interval.as_nanos();
        if !self.is_auto() || is_short {
            return Control::Continue;
        }
        let new_orders = interval.transactions[Transaction::NewOrder.index()].completed();
        self.throughput.push(new_orders as f64 * 60e9 / ns as f64);
        if self.phase == Phase::Warmup {
            self.gauges.push(interval.end_offset_ns);
        }
        self.intervals += 1;
        if self.intervals < self.next_look {
            return Control::Continue;
        }
        self.next_look = self.intervals + (self.intervals / LOOK_PARTS).max(1);
        if self.look() {
            Control::EndPhase(self.phase)
        } else {
            Control::Continue
        }
    }

    /// Does the phase under way end by what it shows?
    fn is_auto(&self) -> bool {
        match self.phase {
            Phase::Warmup => self.warmup.is_auto,
            Phase::Window => self.window.is_auto,
            Phase::Drain => false,
        }
    }

    /// Judges the phase under way: has it come to its end?
    fn look(&mut self) -> bool {
        if self.phase == Phase::Window {
            let found = precision(self.throughput.values(), &self.asked);
            self.precision = Some(found);
            return found.reached;
        }
        let mut watched = vec![Watched {
            name: "throughput",
            values: self.throughput.values(),
            tolerance_share: TOLERANCE,
            negligible: 0.0,
        }];
        watched.extend(self.gauges.watched());
        let found = steadiness(&watched);
        let is_steady = found.steady;
        self.steadiness = Some(found);
        is_steady
    }

    /// The phase under way ends where another one has come.
    fn enter(&mut self, phase: Phase) {
        if phase == self.phase {
            return;
        }
        if self.is_auto() {
            let has_arrived = self.look();
            if self.phase == Phase::Warmup {
                self.warmup_steady = Some(has_arrived);
                self.by_throughput_alone = self.gauges.watched().is_empty();
            }
        }
        self.phase = phase;
        self.intervals = 0;
        self.next_look = 0;
        self.throughput = Series::default();
    }

    /// Takes the end of the run; tells what a reader of its numbers should know.
    pub(crate) fn finish(&mut self, report: &RunReport) -> Vec<String> {
        self.enter(Phase::Drain);
        let mut notes = Vec::new();
        // Without a window there is nothing to know of it, or of what came before.
        if report.window_ns == 0 {
            return notes;
        }
        if self.warmup_steady == Some(false) {
            let unsteady = self.unsteady().map_or_else(String::new, |trend| {
                format!(
                    ": {} changed over its later half by {:.1} ± {:.1} times what is allowed",
                    trend.name,
                    trend.change.abs() / trend.tolerance,
                    trend.change_half_width / trend.tolerance
                )
            });
            notes.push(format!(
                "the warm-up took the most that it may, {} s, and the server was not steady{unsteady}; allow it more",
                self.warmup.most.as_secs()
            ));
        }
        if self.by_throughput_alone {
            notes.push(
                "the end of the warm-up was judged by throughput alone, as the server's dirty pages and checkpoint age could not be observed"
                    .to_owned(),
            );
        }
        let is_whole = !report.interrupted && report.aborted.is_none();
        if is_whole && let Some(found) = self.precision.filter(|found| !found.reached) {
            let known = found.half_width_share.map_or_else(
                || "too short to tell how well its mean is known".to_owned(),
                |share| format!("its mean is known to ± {:.1} %", share * 100.0),
            );
            notes.push(format!(
                "the window took the most that it may, {} s, and {known}, where ± {:.1} % was asked for; allow it more, or ask for less",
                self.window.most.as_secs(),
                self.asked.half_width_share * 100.0
            ));
        }
        notes
    }

    /// The first series that is not steady.
    fn unsteady(&self) -> Option<&Trend> {
        let trends = &self.steadiness.as_ref()?.trends;
        trends.iter().find(|trend| !trend.steady)
    }

    /// What the warm-up or the window waits for, where it is automatic.
    pub(crate) fn awaited(&self, in_warmup: bool) -> Option<Awaited> {
        if in_warmup {
            return self.warmup.is_auto.then(|| Awaited::Steadiness {
                of: self.unsteady().map(|trend| trend.name),
                most: self.warmup.most,
            });
        }
        let found = self.precision.as_ref();
        let needed = found.and_then(|found| found.intervals_needed);
        let about = needed.and_then(|values| {
            let interval_s = self.interval.as_secs_f64() * f64::from(self.throughput.merged());
            let about = Duration::try_from_secs_f64(values as f64 * interval_s).ok();
            about.filter(|about| *about < self.window.most)
        });
        self.window.is_auto.then(|| Awaited::Precision {
            asked_share: self.asked.half_width_share,
            reached_share: found.and_then(|found| found.half_width_share),
            about,
            most: self.window.most,
        })
    }

    /// Adds to a result what the phases came to.
    pub(crate) fn complete(&self, result: RepeatResult) -> RepeatResult {
        RepeatResult {
            warmup_steady: self.warmup_steady,
            window_precision_share: self.precision.and_then(|found| found.half_width_share),
            ..result
        }
    }
}

#[cfg(test)]
mod tests;
