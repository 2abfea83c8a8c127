//! From raw samples to rates and means over a time.

use store::{MetricKind, MetricSeries, MetricSource, RepeatId, Results, StoreError};

/// Samples this close to a window's ends belong to it.
const EDGE_NS: u64 = 100_000_000;
/// Where the next sample comes later than so many times the usual, there is a gap.
const GAP: f64 = 2.5;

/// A time of a run: offsets from its start in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub start_ns: u64,
    pub end_ns: u64,
}

impl Window {
    /// The samples that belong to it.
    fn part_of(self, series: &MetricSeries) -> impl DoubleEndedIterator<Item = &(u64, i64)> {
        let holds = move |(at_ns, _): &&(u64, i64)| {
            at_ns + EDGE_NS >= self.start_ns && *at_ns <= self.end_ns + EDGE_NS
        };
        series.samples.iter().filter(holds)
    }
}

/// The samples of one repeat.
pub struct Samples {
    series: Vec<MetricSeries>,
}

/// What a metric was between two samples: the rise of a counter per second, or the mean of a gauge. `None` is a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub start_ns: u64,
    pub end_ns: u64,
    pub value: Option<f64>,
}

impl Samples {
    /// Reads them.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(results: &Results, repeat: RepeatId) -> Result<Samples, StoreError> {
        Ok(Samples::of(results.samples(repeat)?))
    }

    #[must_use]
    pub fn of(series: Vec<MetricSeries>) -> Samples {
        Samples { series }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// The labels of a metric: cores, disks, roles, threads.
    pub fn labels(&self, source: MetricSource, name: &str) -> impl Iterator<Item = &str> {
        let of = move |series: &&MetricSeries| {
            series.metric.source == source && series.metric.name == name
        };
        self.series
            .iter()
            .filter(of)
            .map(|s| s.metric.label.as_str())
    }

    fn find(&self, source: MetricSource, name: &str, label: &str) -> Option<&MetricSeries> {
        self.series.iter().find(|series| {
            let metric = &series.metric;
            metric.source == source && metric.name == name && metric.label == label
        })
    }

    /// The rise of a counter per second over a window. `None` where fewer than two samples are in it, or the source began anew.
    #[must_use]
    pub fn per_s(
        &self,
        window: Window,
        source: MetricSource,
        name: &str,
        label: &str,
    ) -> Option<f64> {
        let series = self.find(source, name, label)?;
        let inside = || window.part_of(series);
        let (first, last) = (inside().next()?, inside().next_back()?);
        let fell = inside().zip(inside().skip(1)).any(|(a, b)| b.1 < a.1);
        (last.0 > first.0 && !fell)
            .then(|| (last.1 - first.1) as f64 * 1e9 / (last.0 - first.0) as f64)
    }

    /// The mean of a gauge over a window; `None` where no sample is in it.
    #[must_use]
    pub fn mean(
        &self,
        window: Window,
        source: MetricSource,
        name: &str,
        label: &str,
    ) -> Option<f64> {
        let series = self.find(source, name, label)?;
        let inside = || window.part_of(series);
        let count = inside().count();
        (count > 0).then(|| inside().map(|(_, value)| *value as f64).sum::<f64>() / count as f64)
    }

    /// A metric over the whole run, from sample to sample; empty where there is none.
    #[must_use]
    pub fn steps(&self, source: MetricSource, name: &str, label: &str) -> Vec<Step> {
        let Some(series) = self.find(source, name, label) else {
            return Vec::new();
        };
        let samples = &series.samples;
        let lengths = || samples.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let mut sorted: Vec<u64> = lengths().collect();
        sorted.sort_unstable();
        let usual_ns = sorted.get(sorted.len() / 2).copied().unwrap_or(0);
        let step = |pair: &[(u64, i64)]| {
            let (start_ns, end_ns) = (pair[0].0, pair[1].0);
            let length_ns = end_ns - start_ns;
            let is_gap = length_ns as f64 > usual_ns as f64 * GAP;
            let value = match series.metric.kind {
                MetricKind::Counter if pair[1].1 < pair[0].1 => None,
                MetricKind::Counter => {
                    Some((pair[1].1 - pair[0].1) as f64 * 1e9 / length_ns.max(1) as f64)
                }
                MetricKind::Gauge => Some(pair[1].1 as f64),
            };
            Step {
                start_ns,
                end_ns,
                value: value.filter(|_| !is_gap),
            }
        };
        samples.windows(2).map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Samples, Window};
    use store::{Metric, MetricKind, MetricSeries, MetricSource};

    const S: u64 = 1_000_000_000;

    /// A metric sampled once a second from the start of the run.
    fn each_second(
        source: MetricSource,
        kind: MetricKind,
        name: &str,
        label: &str,
        values: &[i64],
    ) -> MetricSeries {
        let at = |(second, value): (usize, &i64)| (second as u64 * S, *value);
        MetricSeries {
            metric: Metric {
                source,
                name: name.to_owned(),
                label: label.to_owned(),
                kind,
            },
            samples: values.iter().enumerate().map(at).collect(),
        }
    }

    const HOST: MetricSource = MetricSource::Host;

    fn samples(kind: MetricKind, values: &[i64]) -> Samples {
        Samples::of(vec![each_second(HOST, kind, "x", "", values)])
    }

    fn window(start_s: u64, end_s: u64) -> Window {
        Window {
            start_ns: start_s * S,
            end_ns: end_s * S,
        }
    }

    #[test]
    fn rates_are_those_of_the_window() {
        let samples = samples(MetricKind::Counter, &[0, 1000, 1010, 1030, 9000]);
        let per_s = |from, to| samples.per_s(window(from, to), HOST, "x", "");
        assert_eq!(per_s(1, 3), Some(15.0));
        assert_eq!(per_s(2, 3), Some(20.0));
        assert_eq!(per_s(3, 3), None);
        assert_eq!(samples.per_s(window(1, 3), HOST, "y", ""), None);
    }

    #[test]
    fn a_source_that_began_anew_has_no_rate() {
        let samples = samples(MetricKind::Counter, &[500, 600, 10, 700]);
        assert_eq!(samples.per_s(window(0, 3), HOST, "x", ""), None);
        let steps = samples.steps(HOST, "x", "");
        let values: Vec<_> = steps.iter().map(|step| step.value).collect();
        assert_eq!(values, [Some(100.0), None, Some(690.0)]);
    }

    #[test]
    fn a_gap_is_a_gap() {
        let mut series = each_second(HOST, MetricKind::Counter, "x", "", &[0, 10, 20, 30]);
        series.samples.push((9 * S, 90));
        let samples = Samples::of(vec![series]);
        let last = *samples.steps(HOST, "x", "").last().unwrap();
        assert_eq!(
            (last.start_ns, last.end_ns, last.value),
            (3 * S, 9 * S, None)
        );
        // The rise itself is known.
        assert_eq!(samples.per_s(window(0, 9), HOST, "x", ""), Some(10.0));
    }

    #[test]
    fn gauges_have_means() {
        let samples = samples(MetricKind::Gauge, &[100, 4, 6, 100]);
        assert_eq!(samples.mean(window(1, 2), HOST, "x", ""), Some(5.0));
        assert_eq!(samples.mean(window(7, 9), HOST, "x", ""), None);
        let values: Vec<_> = samples
            .steps(HOST, "x", "")
            .iter()
            .map(|s| s.value)
            .collect();
        assert_eq!(values, [Some(4.0), Some(6.0), Some(100.0)]);
    }
}
