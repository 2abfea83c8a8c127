//! What is watched over a warm-up or a window, one value for each interval, in bounded memory.

use analyse::Watched;
use device::Role;
use std::time::Duration;
use store::{MetricSource, SampleBatch};

/// Where a series has so many values, each two become one.
const VALUES_MAX: usize = 4_000;
/// What a series may change over the later half of a warm-up, as a share of its mean.
pub(super) const TOLERANCE: f64 = 0.1;
/// Less of the buffer pool, or of the redo log, has no say.
const NEGLIGIBLE: f64 = 0.01;
/// A gauge that was not read for so long is silent: nothing is steady while it may come back.
const SILENT_AFTER: Duration = Duration::from_secs(10);
/// After so long it is gone, and has no say any more.
const GONE_AFTER: Duration = Duration::from_secs(40);

/// Values at equal distances of time.
#[derive(Clone, Debug)]
pub(super) struct WatchedSeries {
    pub(super) values: Vec<f64>,
    /// How many intervals a value is the mean of.
    pub(super) merged: u32,
    /// Of the value under way.
    sum: f64,
    count: u32,
}

impl Default for WatchedSeries {
    fn default() -> WatchedSeries {
        WatchedSeries { values: Vec::new(), merged: 1, sum: 0.0, count: 0 }
    }
}

impl WatchedSeries {
    /// Adds an interval's value.
    pub(super) fn push(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
        if self.count < self.merged {
            return;
        }
        self.values.push(self.sum / f64::from(self.count));
        self.sum = 0.0;
        self.count = 0;
        if self.values.len() == VALUES_MAX {
            let pairs = self.values.chunks(2);
            self.values = pairs.map(|pair| pair.iter().sum::<f64>() / pair.len() as f64).collect();
            self.merged *= 2;
        }
    }
}

/// One that the server tells.
#[derive(Clone, Debug)]
struct Gauge {
    name: &'static str,
    metric: &'static str,
    /// (offset from the start of the run in ns, value).
    newest: Option<(u64, i64)>,
    series: WatchedSeries,
}

impl Gauge {
    fn new(name: &'static str, metric: &'static str) -> Gauge {
        Gauge { name, metric, newest: None, series: WatchedSeries::default() }
    }

    /// Time since it was read; `None` where it never was.
    fn age(&self, now_ns: u64) -> Option<Duration> {
        let (at_ns, _) = self.newest?;
        Some(Duration::from_nanos(now_ns.saturating_sub(at_ns)))
    }

    fn is_there(&self, now_ns: u64) -> bool {
        self.age(now_ns).is_some_and(|age| age <= GONE_AFTER)
    }
}

/// What is level in a steady server: dirty pages, the checkpoint age once the log has gone round,
/// and free pages once the pool is full or has all of the database.
#[derive(Clone, Debug)]
pub(super) struct Gauges {
    all: [Gauge; 3],
    pool_pages: f64,
    /// Of the redo logs of all servers together, whose samples are sums; 0 is not known.
    pub(super) redo_bytes: f64,
    /// Servers below whose data flash does not copy yet what it will. Only random writes bring it
    /// there, which the redo log has none of.
    unsettled: i64,
    /// End of the last interval, from the start of the run.
    at_ns: u64,
}

const CHECKPOINT_AGE: &str = "checkpoint_age_bytes";

impl Default for Gauges {
    fn default() -> Gauges {
        Gauges {
            all: [
                Gauge::new("dirty pages", "buffer_pool_pages_dirty"),
                Gauge::new("checkpoint age", CHECKPOINT_AGE),
                Gauge::new("free pages", "buffer_pool_pages_free"),
            ],
            pool_pages: 0.0,
            redo_bytes: 0.0,
            unsettled: 0,
            at_ns: 0,
        }
    }
}

impl Gauges {
    pub(super) fn take(&mut self, batch: &SampleBatch) {
        for (metric, value) in &batch.values {
            let is_of_data = metric.label == Role::Data.name();
            if metric.source == MetricSource::Shim && metric.name == "unsettled" && is_of_data {
                self.unsettled = *value;
            }
            if metric.source != MetricSource::Server {
                continue;
            }
            if metric.name == "buffer_pool_pages_total" {
                self.pool_pages = *value as f64;
            }
            if let Some(gauge) = self.all.iter_mut().find(|gauge| gauge.metric == metric.name) {
                gauge.newest = Some((batch.at_offset_ns, *value));
            }
        }
    }

    /// Adds the newest values to the series, as those of an interval that ends at `end_ns`. One
    /// that is not there is not a number: it is not judged, and where it comes later it is not
    /// steady before the half that is looked at has numbers alone.
    pub(super) fn push(&mut self, end_ns: u64) {
        self.at_ns = end_ns;
        for gauge in &mut self.all {
            let newest = gauge.newest.filter(|_| gauge.is_there(end_ns));
            gauge.series.push(newest.map_or(f64::NAN, |(_, value)| value as f64));
        }
    }

    /// The name of one that was read before, is silent now and may come back.
    pub(super) fn silent(&self) -> Option<&'static str> {
        let is_silent = |gauge: &&Gauge| {
            let age = gauge.age(self.at_ns);
            age.is_some_and(|age| age > SILENT_AFTER && age <= GONE_AFTER)
        };
        self.all.iter().find(is_silent).map(|gauge| gauge.name)
    }

    /// Does the flash below the data copy less than it will?
    pub(super) fn is_unsettled(&self) -> bool {
        self.unsettled > 0
    }

    /// The names of those that cannot be judged: never read, or gone.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let missing = self.all.iter().filter(|gauge| !gauge.is_there(self.at_ns));
        missing.map(|gauge| gauge.name).collect()
    }

    /// The others.
    pub(super) fn watched(&self) -> Vec<Watched<'_>> {
        let watched = self.all.iter().filter(|gauge| gauge.is_there(self.at_ns)).map(|gauge| {
            let is_age = gauge.metric == CHECKPOINT_AGE;
            let whole = if is_age { self.redo_bytes } else { self.pool_pages };
            Watched {
                name: gauge.name,
                values: &gauge.series.values,
                tolerance_share: TOLERANCE,
                // A page, or a byte, where the whole is not known: an idle server is steady.
                negligible: (NEGLIGIBLE * whole).max(1.0),
            }
        });
        watched.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{VALUES_MAX, WatchedSeries};

    #[test]
    fn a_long_series_stays_small() {
        let mut series = WatchedSeries::default();
        for index in 0..10_000 {
            series.push(f64::from(index));
        }
        assert_eq!(series.merged, 4);
        assert_eq!(series.values.len(), 10_000 / 4);
        assert!(series.values.len() < VALUES_MAX);
        // The mean of 0 to 3, and of the last four.
        assert_eq!(series.values[0], 1.5);
        assert_eq!(series.values.last(), Some(&9_997.5));
    }
}
