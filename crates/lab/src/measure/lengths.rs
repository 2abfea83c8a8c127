//! Warm-ups that end when the server is steady, and windows that end when their mean is known. Fed
//! with the intervals and samples of a run; the statistics are those of `analyse`.
//! docs/statistics.md says why each number is as it is.

mod series;

use crate::measure::capacity::{self, KnownCapacity};
use analyse::{
    Awaited, Precision, PrecisionAsked, Steadiness, Trend, Watched, precision, steadiness,
};
use base::{limits, percent, percent_at_most};
use drive::{Control, Interval, Phase, RunReport};
use series::{Gauges, TOLERANCE, WatchedSeries};
use spec::{Lengths, defaults};
use std::time::Duration;
use store::{RepeatResult, SampleBatch};

/// A series is looked at again when it has become longer by one part of so many: each look takes
/// time, and a chance to err.
const LOOK_PARTS: u64 = 100;

/// The phases of a run, and what ends them.
#[derive(Default)]
pub(crate) struct PhaseEnds {
    lengths: Lengths,
    phase: Phase,
    /// Intervals of the phase under way, and the count of them at which it is looked at again.
    intervals: u64,
    next_look: u64,
    /// Primary transactions per minute of the phase under way; of a window that finds the capacity,
    /// all transactions per second.
    throughput: WatchedSeries,
    gauges: Gauges,
    steadiness: Option<Steadiness>,
    /// What the phase under way waited for has come: it ends with the interval under way, whatever
    /// that shows.
    has_arrived: bool,
    /// Of an automatic warm-up that has ended.
    warmup_steady: Option<bool>,
    /// Gauges that could not be judged when that was decided.
    missing: Vec<&'static str>,
    /// Of an automatic window: what it asked for was reached before it was over.
    window_arrived: bool,
    /// Of the whole window so far.
    precision: Option<Precision>,
    /// End of the newest interval of the warm-up, from the start of the run.
    warmup_end_ns: u64,
    /// The window is a closed loop that finds the capacity.
    pub(crate) is_capacity: bool,
    /// What that loop has shown.
    pub(crate) capacity: Option<KnownCapacity>,
}

impl PhaseEnds {
    /// Of a run that is asked for, on servers with so much redo log together; 0 is not known.
    pub(crate) fn of(lengths: &Lengths, redo_bytes: f64) -> PhaseEnds {
        let mut ends = PhaseEnds { lengths: *lengths, ..PhaseEnds::default() };
        ends.gauges.redo_bytes = redo_bytes;
        ends
    }

    /// Of the closed loop that finds the capacity before a run that is asked for. The end of its
    /// automatic warm-up is judged by throughput alone.
    pub(crate) fn of_capacity(asked: &Lengths) -> PhaseEnds {
        PhaseEnds { is_capacity: true, ..PhaseEnds::of(&capacity::loop_of(asked), 0.0) }
    }

    /// How well the mean of an automatic window is to be known.
    fn asked(&self) -> PrecisionAsked {
        PrecisionAsked {
            half_width_share: self.lengths.precision_share.unwrap_or(defaults::PRECISION_SHARE),
            intervals_min: limits::AUTO_WINDOW_INTERVALS_MIN as usize,
        }
    }

    /// Takes what was sampled beside the run.
    pub(crate) fn sampled(&mut self, batches: &[SampleBatch]) {
        batches.iter().for_each(|batch| self.gauges.take(batch));
    }

    /// Takes an interval, and says whether its phase goes on.
    pub(crate) fn take(&mut self, interval: &Interval) -> Control {
        self.enter(interval.phase);
        if self.phase == Phase::Warmup {
            self.warmup_end_ns = interval.end_offset_ns;
        }
        // What an interrupted run has of its last interval says little.
        let is_short = u128::from(interval.length_ns()) * 2 < self.lengths.interval.as_nanos();
        if !self.is_auto() || is_short {
            return Control::Continue;
        }
        self.throughput.push(match self.phase {
            Phase::Window if self.is_capacity => interval.completed_per_s(),
            _ => interval.primary_per_minute(),
        });
        if self.phase == Phase::Warmup {
            self.gauges.push(interval.end_offset_ns);
        }
        self.intervals += 1;
        if self.has_arrived || self.intervals < self.next_look {
            return Control::Continue;
        }
        self.next_look = self.intervals + (self.intervals / LOOK_PARTS).max(1);
        self.has_arrived = self.look() && self.is_old_enough(interval.end_offset_ns);
        if self.has_arrived { Control::EndPhase(self.phase) } else { Control::Continue }
    }

    /// May the phase under way end now? The warm-up begins with the run.
    fn is_old_enough(&self, now_ns: u64) -> bool {
        self.phase != Phase::Warmup || Duration::from_nanos(now_ns) >= limits::AUTO_WARMUP_MIN
    }

    /// Does the phase under way end by what it shows?
    fn is_auto(&self) -> bool {
        match self.phase {
            Phase::Warmup => self.lengths.warmup.is_auto,
            Phase::Window => self.lengths.window.is_auto,
            Phase::Drain => false,
        }
    }

    /// Judges the phase under way: has it come to its end?
    fn look(&mut self) -> bool {
        if self.phase == Phase::Window && self.is_capacity {
            let (known, is_enough) = capacity::look(&self.throughput.values);
            self.capacity = known;
            return is_enough;
        }
        if self.phase == Phase::Window {
            let found = precision(&self.throughput.values, &self.asked());
            self.precision = Some(found);
            return found.reached;
        }
        let mut watched = vec![Watched {
            name: "throughput",
            values: &self.throughput.values,
            tolerance_share: TOLERANCE,
            negligible: 0.0,
        }];
        watched.extend(self.gauges.watched());
        let found = steadiness(&watched);
        let is_steady =
            found.steady && self.gauges.silent().is_none() && !self.gauges.is_unsettled();
        self.steadiness = Some(found);
        self.missing = self.gauges.missing();
        is_steady
    }

    /// The phase under way ends where another one has come.
    fn enter(&mut self, phase: Phase) {
        if phase == self.phase {
            return;
        }
        if self.is_auto() {
            // What a warm-up ended by stays; the precision of a window is that of the whole.
            if self.phase == Phase::Warmup {
                self.warmup_steady = Some(self.has_arrived || self.look());
            } else {
                self.look();
                self.window_arrived = self.has_arrived;
            }
        }
        self.has_arrived = false;
        self.phase = phase;
        self.intervals = 0;
        self.next_look = 0;
        self.throughput = WatchedSeries::default();
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
            notes.push(format!(
                "the warm-up took the most that it may, {} s, and the server was not steady{}; \
                 allow it more",
                self.lengths.warmup.most.as_secs(),
                self.why_unsteady()
            ));
        }
        if self.warmup_steady.is_some() && !self.missing.is_empty() {
            notes.push(format!(
                "the end of the warm-up was judged without the server's {}, which could not be \
                 observed",
                self.missing.join(" and ")
            ));
        }
        let took_most = u128::from(report.window_ns) >= self.lengths.window.most.as_nanos();
        if took_most
            && !self.window_arrived
            && let Some(found) = self.precision.filter(|found| !found.reached)
        {
            let known = found.half_width_share.map_or_else(
                || "too short to tell how well its mean is known".to_owned(),
                |share| format!("its mean is known to ± {}", percent_at_most(share)),
            );
            notes.push(format!(
                "the window took the most that it may, {} s, and {known}, where ± {} was asked \
                 for; allow it more, or ask for less",
                self.lengths.window.most.as_secs(),
                percent(self.asked().half_width_share)
            ));
        }
        notes
    }

    fn why_unsteady(&self) -> String {
        match (self.unsteady(), self.gauges.silent()) {
            // A stalled server: nothing is allowed of nothing.
            (Some(trend), _) if trend.tolerance == 0.0 => format!(": {} was 0", trend.name),
            (Some(trend), _) => format!(
                ": {} changed over its later half by {:.1} ± {:.1} times what is allowed",
                trend.name,
                trend.change.abs() / trend.tolerance,
                trend.change_half_width / trend.tolerance
            ),
            (None, Some(name)) => format!(": its {name} could not be observed any more"),
            (None, None) if self.gauges.is_unsettled() => {
                ": the flash below its data does not copy yet what it will after long writing"
                    .to_owned()
            }
            (None, None) => String::new(),
        }
    }

    /// The first series that is not steady.
    fn unsteady(&self) -> Option<&Trend> {
        self.steadiness.as_ref()?.trends.iter().find(|trend| !trend.steady)
    }

    /// May the run that is in the warm-up, or in the window, end before its time?
    pub(crate) fn may_end_early(&self, in_warmup: bool) -> bool {
        self.lengths.window.is_auto || (in_warmup && self.lengths.warmup.is_auto)
    }

    /// What the warm-up or the window waits for, where it is automatic, in a run that has gone on
    /// for `elapsed`.
    pub(crate) fn awaited(&self, in_warmup: bool, elapsed: Duration) -> Option<Awaited> {
        if in_warmup {
            let unsteady = self.unsteady().map(|trend| trend.name);
            return self.lengths.warmup.is_auto.then(|| Awaited::Steadiness {
                of: unsteady.or_else(|| self.gauges.silent()).or_else(|| {
                    self.gauges.is_unsettled().then_some("write amplification of the flash")
                }),
                so_far: elapsed,
                most: self.lengths.warmup.most,
            });
        }
        let found = self.precision.as_ref();
        let about = found.and_then(|found| found.intervals_needed).and_then(|values| {
            let interval_s =
                self.lengths.interval.as_secs_f64() * f64::from(self.throughput.merged);
            let about = Duration::try_from_secs_f64(values as f64 * interval_s).ok();
            about.filter(|about| *about < self.lengths.window.most)
        });
        self.lengths.window.is_auto.then(|| Awaited::Precision {
            asked_share: self.asked().half_width_share,
            reached_share: found.and_then(|found| found.half_width_share),
            so_far: elapsed.saturating_sub(Duration::from_nanos(self.warmup_end_ns)),
            about,
            most: self.lengths.window.most,
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
pub(crate) mod tests;
