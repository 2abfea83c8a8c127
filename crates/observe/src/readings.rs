//! What sources give, and what of it samplers tell.

use crate::error::{ObserveError, ObserveResult};
use base::{Instant, clock};
use std::sync::atomic::AtomicBool;
use store::{Metric, MetricKind, MetricSource, SampleBatch};

/// Something that can be read again and again.
pub trait SampleSource: Send {
    /// For people: `the host`.
    fn title(&self) -> &'static str;

    /// Reads what there is now. Where that takes time, it gives up soon after `stop` is set.
    fn read(&mut self, into: &mut Readings, stop: &AtomicBool) -> ObserveResult<()>;
}

/// Values as a source gives them.
#[derive(Debug, Default)]
pub struct Readings {
    pub(crate) values: Vec<(Metric, i64)>,
    pub(crate) lost: Vec<(&'static str, ObserveError)>,
    pub(crate) at: Option<Instant>,
}

impl Readings {
    /// Now is the time of these values. Without it, the time is when the source has been read.
    pub fn taken_now(&mut self) {
        self.at = Some(Instant::now());
    }

    /// A counter: it only grows.
    pub fn counter(&mut self, source: MetricSource, name: &str, label: &str, value: i64) {
        self.give(MetricKind::Counter, source, name, label, value);
    }

    /// A value that goes up and down.
    pub fn gauge(&mut self, source: MetricSource, name: &str, label: &str, value: i64) {
        self.give(MetricKind::Gauge, source, name, label, value);
    }

    /// A value of that kind. What the host counts of time or energy comes out in dilated time: a
    /// second of it has a second of each core, and its watts.
    pub fn give(
        &mut self,
        kind: MetricKind,
        source: MetricSource,
        name: &str,
        label: &str,
        value: i64,
    ) {
        let is_of_host = !matches!(source, MetricSource::Server | MetricSource::Shim);
        let is_counted = kind == MetricKind::Counter && is_of_host;
        let value = match name.rsplit('_').next() {
            Some("ns" | "us" | "uj") if is_counted => {
                (value as f64 / clock::dilation().factor()) as i64
            }
            _ => value,
        };
        let metric = Metric { source, name: name.to_owned(), label: label.to_owned(), kind };
        self.values.push((metric, value));
    }

    /// A part of the source, named as in [`SampleSource::title`], could not be read; the values of
    /// the others are good.
    pub fn lose(&mut self, part: &'static str, error: ObserveError) {
        self.lost.push((part, error));
    }

    /// The parts that could not be read.
    pub fn lost(&self) -> &[(&'static str, ObserveError)] {
        &self.lost
    }

    /// All values so far.
    pub fn values(&self) -> &[(Metric, i64)] {
        &self.values
    }
}

/// What samplers tell. Of a source, or a part of one, they tell the first loss and the first return
/// only, and all of them in one number at the end: one that comes and goes all the time does not
/// fill a terminal.
#[derive(Debug)]
pub enum Sampled {
    Batch(SampleBatch),
    /// A source that could be read before, or was never asked, cannot be read: there is a gap from
    /// here on.
    Lost {
        source: &'static str,
        at_offset_ns: u64,
        reason: String,
    },
    /// A source that was lost can be read again.
    Back {
        source: &'static str,
        at_offset_ns: u64,
        lost_ns: u64,
    },
    /// At the end, of each source that was ever lost.
    LostInAll {
        source: &'static str,
        times: u64,
        /// From the first reading that failed to the next that did not, or to the end.
        lost_ns: u64,
    },
}

#[cfg(test)]
impl Readings {
    /// The one value of this name and label, for tests.
    pub(crate) fn value(&self, name: &str, label: &str) -> Option<i64> {
        let mut found =
            self.values().iter().filter(|(metric, _)| metric.name == name && metric.label == label);
        let value = found.next().map(|(_, value)| *value);
        assert!(found.next().is_none(), "{name} of {label:?} comes twice");
        value
    }
}
