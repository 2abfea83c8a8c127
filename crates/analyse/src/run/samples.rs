//! From raw samples to rates and means over a time.

use store::{
    Metric, MetricKind, MetricSeries, MetricSource, Repeat, RepeatId, Results, SampleBatch,
    StoreResult, StoredCell, WindowTotals,
};

/// Samples this close to a window's ends belong to it.
const EDGE_NS: u64 = 100_000_000;
/// How often sources are read, where there are too few samples to tell.
const PERIOD_NS: u64 = 1_000_000_000;
/// Where the next sample comes later than so many times the usual, there is a gap.
const GAP: f64 = 2.5;
/// A gauge that was not read for more of a window has no mean of it.
const GAPS_SHARE_MAX: f64 = 0.1;

/// Waits of the threads that serve clients, by what they are for.
pub(crate) const SESSION_WAITS: &str = "session_wait_ns";

/// A time of a run: offsets from its start in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub start_ns: u64,
    pub end_ns: u64,
}

/// A value, and when it was read.
type Sample = (u64, i64);

impl Window {
    pub(crate) fn length_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// The samples that belong to it.
    fn part_of(self, samples: &[Sample]) -> &[Sample] {
        let is_before = |sample: &Sample| sample.0 + EDGE_NS < self.start_ns;
        let is_not_behind = |sample: &Sample| sample.0 <= self.end_ns + EDGE_NS;
        let inside = &samples[samples.partition_point(is_before)..];
        &inside[..inside.partition_point(is_not_behind)]
    }

    /// Are there samples within a gap's length of both ends?
    fn is_reached_by(self, inside: &[Sample], gap_ns: u64) -> bool {
        inside.first().is_some_and(|first| first.0 <= self.start_ns + gap_ns)
            && inside.last().is_some_and(|last| last.0 + gap_ns >= self.end_ns)
    }

    /// Is little enough of it in gaps between these samples?
    fn is_without_holes(self, inside: &[Sample], gap_ns: u64) -> bool {
        let lengths = inside.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let in_gaps_ns: u64 = lengths.filter(|length_ns| *length_ns > gap_ns).sum();
        in_gaps_ns as f64 <= GAPS_SHARE_MAX * self.length_ns() as f64
    }
}

/// Samples by metric.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    series: Vec<MetricSeries>,
    newest_ns: u64,
}

/// What a metric was between two samples: the rise of a counter per second, or the later value of a
/// gauge. `None` is a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricStep {
    pub start_ns: u64,
    pub end_ns: u64,
    pub value: Option<f64>,
}

impl Samples {
    /// Reads those of one repeat.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(results: &Results, repeat: RepeatId) -> StoreResult<Samples> {
        Ok(Samples::of(results.samples(repeat)?))
    }

    pub fn of(series: Vec<MetricSeries>) -> Samples {
        let newest = series.iter().filter_map(|of| Some(of.samples.last()?.0));
        Samples { newest_ns: newest.max().unwrap_or(0), series }
    }

    /// Adds what one source said at one time. What is not later than a metric's last sample is left
    /// out.
    pub fn push(&mut self, batch: &SampleBatch) {
        let at_ns = batch.at_offset_ns;
        self.newest_ns = self.newest_ns.max(at_ns);
        for (metric, value) in &batch.values {
            match self.series.iter_mut().find(|of| of.metric == *metric) {
                Some(of) if of.samples.last().is_some_and(|last| last.0 >= at_ns) => {}
                Some(of) => of.samples.push((at_ns, *value)),
                None => self
                    .series
                    .push(MetricSeries { metric: metric.clone(), samples: vec![(at_ns, *value)] }),
            }
        }
    }

    /// Drops what was read before a time.
    pub fn forget_before(&mut self, at_ns: u64) {
        for of in &mut self.series {
            let old = of.samples.partition_point(|sample| sample.0 < at_ns);
            of.samples.drain(..old);
        }
        self.series.retain(|of| !of.samples.is_empty());
    }

    /// When the newest was read, from the start of the run.
    pub fn newest_ns(&self) -> u64 {
        self.newest_ns
    }

    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// The labels of a metric: cores, disks, roles, threads.
    pub fn labels(&self, source: MetricSource, name: &str) -> impl Iterator<Item = &str> {
        self.all(source, name).map(|of| of.metric.label.as_str())
    }

    fn all(&self, source: MetricSource, name: &str) -> impl Iterator<Item = &MetricSeries> {
        let series = self.series.iter();
        series.filter(move |of| of.metric.source == source && of.metric.name == name)
    }

    fn find(&self, source: MetricSource, name: &str, label: &str) -> Option<&MetricSeries> {
        self.all(source, name).find(|of| of.metric.label == label)
    }

    /// Those of a window.
    pub fn within(&self, window: Window) -> OfWindow<'_> {
        OfWindow { samples: self, window }
    }

    /// The mean of all samples of a gauge that is read seldom.
    pub fn mean_of_run(&self, source: MetricSource, name: &str, label: &str) -> Option<f64> {
        mean_of(&self.find(source, name, label)?.samples)
    }

    /// What a metric is now: the rise of a counter per second up to its last sample, or the last
    /// value of a gauge. `None` where that is too old, or comes after a gap.
    pub fn now(&self, source: MetricSource, name: &str, label: &str) -> Option<f64> {
        let series = self.find(source, name, label)?;
        let last = series.samples.last()?;
        let gap_ns = gap_ns(&series.samples);
        if last.0 + gap_ns < self.newest_ns {
            return None;
        }
        match series.metric.kind {
            MetricKind::Gauge => Some(last.1 as f64),
            MetricKind::Counter => {
                step(&series.metric, series.samples.last_chunk::<2>()?, gap_ns).value
            }
        }
    }

    /// A metric over the whole run, from sample to sample; empty where there is none.
    pub fn steps(&self, source: MetricSource, name: &str, label: &str) -> Vec<MetricStep> {
        let Some(series) = self.find(source, name, label) else { return Vec::new() };
        let gap_ns = gap_ns(&series.samples);
        let pairs = series.samples.windows(2);
        pairs.map(|pair| step(&series.metric, pair, gap_ns)).collect()
    }
}

/// The samples of a window.
#[derive(Clone, Copy)]
pub struct OfWindow<'a> {
    pub(crate) samples: &'a Samples,
    pub(crate) window: Window,
}

impl OfWindow<'_> {
    /// The mean: of a counter the rise per second from the first to the last sample, of a gauge the
    /// mean of its samples. `None` where they do not tell of the whole window, or the source began
    /// anew in it.
    pub fn mean(&self, source: MetricSource, name: &str, label: &str) -> Option<f64> {
        let series = self.samples.find(source, name, label)?;
        let gap_ns = gap_ns(&series.samples);
        let inside = self.counted(series);
        if !self.window.is_reached_by(&inside, gap_ns) {
            return None;
        }
        match series.metric.kind {
            // What a counter rose by in a gap is in its next value.
            MetricKind::Counter => {
                let (first, last) = (inside.first()?, inside.last()?);
                let fell = inside.windows(2).any(|pair| pair[1].1 < pair[0].1);
                (last.0 > first.0 && !fell)
                    .then(|| (last.1 - first.1) as f64 * 1e9 / (last.0 - first.0) as f64)
            }
            MetricKind::Gauge => {
                mean_of(&inside).filter(|_| self.window.is_without_holes(&inside, gap_ns))
            }
        }
    }

    /// The mean of times in nanoseconds, in seconds.
    pub(crate) fn mean_s(&self, source: MetricSource, name: &str, label: &str) -> Option<f64> {
        Some(self.mean(source, name, label)? / 1e9)
    }

    /// The samples of a series, with the 0 that a role or a wait stood at before its first time:
    /// the shim or the server had been read by then, and had not counted it.
    fn counted(&self, series: &MetricSeries) -> Vec<Sample> {
        let mut inside = self.window.part_of(&series.samples).to_vec();
        let Metric { source, kind, name, .. } = &series.metric;
        let is_of_shim = *source == MetricSource::Shim;
        if *kind == MetricKind::Counter && (is_of_shim || name == SESSION_WAITS) {
            let all = self.samples.series.iter().filter(|of| of.metric.source == *source);
            let read = all.filter(|of| is_of_shim || of.metric.name == SESSION_WAITS);
            let read_ns = read.filter_map(|of| Some(self.window.part_of(&of.samples).first()?.0));
            let began_ns = series.samples.first().map(|first| first.0);
            let before_ns = read_ns.min().filter(|read_ns| Some(*read_ns) < began_ns);
            if let Some(read_ns) = before_ns.filter(|_| !inside.is_empty()) {
                inside.insert(0, (read_ns, 0));
            }
        }
        inside
    }

    /// The largest value of a gauge; `None` where there is no sample.
    pub(crate) fn most(&self, source: MetricSource, name: &str, label: &str) -> Option<f64> {
        let series = self.samples.find(source, name, label)?;
        let values = self.window.part_of(&series.samples).iter().map(|sample| sample.1);
        values.max().map(|most| most as f64)
    }

    /// The means of all labels of a metric that have samples, added up. `None` where one of them is
    /// not known: a sum without it would be too small.
    pub(crate) fn total(&self, source: MetricSource, name: &str) -> Option<f64> {
        let is_there = |of: &&MetricSeries| !self.window.part_of(&of.samples).is_empty();
        let mut labels = self.samples.all(source, name).filter(is_there).peekable();
        labels.peek()?;
        labels.map(|of| self.mean(source, name, &of.metric.label)).sum()
    }
}

fn mean_of(samples: &[Sample]) -> Option<f64> {
    let sum: f64 = samples.iter().map(|sample| sample.1 as f64).sum();
    (!samples.is_empty()).then(|| sum / samples.len() as f64)
}

/// From where on the time between two samples of a series is a gap.
fn gap_ns(samples: &[Sample]) -> u64 {
    let lengths = samples.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let mut lengths: Vec<u64> = lengths.collect();
    let usual_ns = match lengths.len() {
        0 | 1 => PERIOD_NS,
        // Of a short and a long one, the long one is the gap.
        count => *lengths.select_nth_unstable((count - 1) / 2).1,
    };
    (usual_ns as f64 * GAP) as u64
}

/// What a metric was between two samples, one behind the other.
fn step(metric: &Metric, pair: &[Sample], gap_ns: u64) -> MetricStep {
    let (start_ns, end_ns) = (pair[0].0, pair[1].0);
    let length_ns = end_ns - start_ns;
    let value = match metric.kind {
        MetricKind::Counter if pair[1].1 < pair[0].1 => None,
        MetricKind::Counter => Some((pair[1].1 - pair[0].1) as f64 * 1e9 / length_ns.max(1) as f64),
        MetricKind::Gauge => Some(pair[1].1 as f64),
    };
    MetricStep { start_ns, end_ns, value: value.filter(|_| length_ns <= gap_ns) }
}

/// A repeat that was read, with the totals of its window and its samples.
#[derive(Clone, Copy)]
pub struct ReadRepeat<'a> {
    pub results: &'a Results,
    pub repeat: &'a Repeat,
    pub cell: &'a StoredCell,
    pub totals: &'a WindowTotals,
    pub samples: &'a Samples,
}

impl ReadRepeat<'_> {
    /// `None` before there is one.
    pub(crate) fn window(&self) -> Option<Window> {
        let start_ns = self.repeat.warmup_ns(&self.cell.what);
        let result = self.repeat.result.as_ref()?;
        Some(Window { start_ns, end_ns: start_ns + result.measured_window_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::{Samples, Window};
    use store::MetricKind::{Counter, Gauge};
    use store::MetricSource::{Host, Power, Shim};
    use store::{Metric, MetricKind, MetricSeries, MetricSource, SampleBatch};

    const S: u64 = 1_000_000_000;

    fn metric(source: MetricSource, kind: MetricKind, name: &str, label: &str) -> Metric {
        Metric { source, name: name.to_owned(), label: label.to_owned(), kind }
    }

    /// A metric that was read at these seconds.
    fn series(metric: Metric, samples: &[(u64, i64)]) -> MetricSeries {
        let at = |(second, value): &(u64, i64)| (second * S, *value);
        MetricSeries { metric, samples: samples.iter().map(at).collect() }
    }

    /// A metric of the host sampled once a second from the start of the run.
    fn each_second(kind: MetricKind, values: &[i64]) -> Samples {
        let samples: Vec<(u64, i64)> = (0..).zip(values.iter().copied()).collect();
        Samples::of(vec![series(metric(Host, kind, "x", ""), &samples)])
    }

    fn window(start_s: u64, end_s: u64) -> Window {
        Window { start_ns: start_s * S, end_ns: end_s * S }
    }

    fn values(samples: &Samples) -> Vec<Option<f64>> {
        let steps = samples.steps(Host, "x", "");
        steps.iter().map(|step| step.value).collect()
    }

    #[test]
    fn rates_are_those_of_the_window() {
        let samples = each_second(Counter, &[0, 1000, 1010, 1030, 9000]);
        let per_s = |from, to| samples.within(window(from, to)).mean(Host, "x", "");
        assert_eq!(per_s(1, 3), Some(15.0));
        assert_eq!(per_s(2, 3), Some(20.0));
        assert_eq!(per_s(3, 3), None);
        assert_eq!(samples.within(window(1, 3)).mean(Host, "y", ""), None);
    }

    #[test]
    fn a_source_that_began_anew_has_no_rate() {
        let samples = each_second(Counter, &[500, 600, 10, 700]);
        assert_eq!(samples.within(window(0, 3)).mean(Host, "x", ""), None);
        assert_eq!(values(&samples), [Some(100.0), None, Some(690.0)]);
    }

    #[test]
    fn a_gap_is_a_gap() {
        let at = [(0, 0), (1, 10), (2, 20), (3, 30), (9, 90)];
        let samples = Samples::of(vec![series(metric(Host, Counter, "x", ""), &at)]);
        let last = *samples.steps(Host, "x", "").last().unwrap();
        assert_eq!((last.start_ns, last.end_ns, last.value), (3 * S, 9 * S, None));
        // The rise itself is known.
        assert_eq!(samples.within(window(0, 9)).mean(Host, "x", ""), Some(10.0));
    }

    #[test]
    fn gauges_have_means() {
        let samples = each_second(Gauge, &[100, 4, 6, 100]);
        assert_eq!(samples.within(window(1, 2)).mean(Host, "x", ""), Some(5.0));
        assert_eq!(samples.within(window(7, 9)).mean(Host, "x", ""), None);
        assert_eq!(samples.mean_of_run(Host, "x", ""), Some(52.5));
        assert_eq!(values(&samples), [Some(4.0), Some(6.0), Some(100.0)]);
    }

    #[test]
    fn samples_of_a_part_are_no_mean_of_the_whole() {
        let seconds: Vec<(u64, i64)> = (0..=60u64).map(|s| (s, s.cast_signed())).collect();
        let mean = |kind, keep: fn(u64) -> bool| {
            let kept: Vec<_> = seconds.iter().copied().filter(|at| keep(at.0)).collect();
            let samples = Samples::of(vec![series(metric(Host, kind, "x", ""), &kept)]);
            samples.within(window(10, 60)).mean(Host, "x", "")
        };
        for (keep, of_counter, of_gauge) in [
            ((|_| true) as fn(u64) -> bool, Some(1.0), Some(35.0)),
            // It came late, or went early.
            (|s| s >= 13, None, None),
            (|s| s <= 57, None, None),
            (|s| s <= 58, Some(1.0), Some(34.0)),
            // A tenth of the window is missing, and more than that.
            (|s| !(31..35).contains(&s), Some(1.0), Some(1655.0 / 47.0)),
            (|s| !(31..36).contains(&s), Some(1.0), None),
        ] {
            assert_eq!(mean(Counter, keep), of_counter);
            assert_eq!(mean(Gauge, keep), of_gauge);
        }
    }

    #[test]
    fn a_total_is_of_all_labels_or_unknown() {
        let of = |label: &str, samples: &[(u64, i64)]| {
            series(metric(Host, Counter, "sent", label), samples)
        };
        let steady = [(0, 0), (1, 10), (2, 20), (3, 30), (4, 40)];
        let gone = of("old", &[(0, 5), (1, 6)]);
        let late = of("late", &[(4, 100)]);
        let total = |series: &[MetricSeries]| {
            Samples::of(series.to_vec()).within(window(2, 4)).total(Host, "sent")
        };
        assert_eq!(total(&[of("a", &steady), of("b", &steady)]), Some(20.0));
        // What is not in the window does not count; what has only begun in it counts, but nobody
        // knows how much.
        assert_eq!(total(&[of("a", &steady), gone]), Some(10.0));
        assert_eq!(total(&[of("a", &steady), late]), None);
        assert_eq!(total(&[]), None);
    }

    #[test]
    fn a_role_was_at_zero_before_its_first_request() {
        let of = |role: &str, samples: &[(u64, i64)]| {
            series(metric(Shim, Counter, "reads", role), samples)
        };
        let data = of("data", &[(0, 50), (1, 60), (2, 70), (3, 80), (4, 90)]);
        let temp = of("temp", &[(3, 7), (4, 12)]);
        let samples = Samples::of(vec![data, temp.clone()]);
        assert_eq!(samples.within(window(2, 4)).mean(Shim, "reads", "temp"), Some(6.0));
        assert_eq!(samples.within(window(2, 4)).total(Shim, "reads"), Some(16.0));
        // Where the shim was not read before, nobody knows.
        let alone = Samples::of(vec![temp]);
        assert_eq!(alone.within(window(3, 4)).mean(Shim, "reads", "temp"), Some(5.0));
        assert_eq!(alone.within(window(0, 4)).mean(Shim, "reads", "temp"), None);
    }

    fn said(at_s: u64, source: MetricSource, kind: MetricKind, value: i64) -> SampleBatch {
        SampleBatch { at_offset_ns: at_s * S, values: vec![(metric(source, kind, "x", ""), value)] }
    }

    #[test]
    fn what_is_now_is_of_the_last_two_samples() {
        let mut samples = Samples::default();
        let now = |samples: &Samples| samples.now(Host, "x", "");
        samples.push(&said(1, Host, Counter, 0));
        assert_eq!(now(&samples), None);
        samples.push(&said(6, Host, Counter, 500));
        assert_eq!(now(&samples), None, "a gap");
        samples.push(&said(7, Host, Counter, 510));
        assert_eq!(now(&samples), Some(10.0));
        samples.push(&said(7, Host, Counter, 900));
        assert_eq!(now(&samples), Some(10.0), "no later than the last");
        samples.push(&said(8, Host, Counter, 3));
        assert_eq!(now(&samples), None, "it began anew");
        samples.push(&said(9, Host, Counter, 5));
        // Another source goes on while this one is silent.
        samples.push(&said(11, Power, Gauge, 4));
        assert_eq!(now(&samples), Some(2.0));
        samples.push(&said(12, Power, Gauge, 4));
        assert_eq!(now(&samples), None, "too old");
        assert_eq!(samples.now(Power, "x", ""), Some(4.0));
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let mut samples = each_second(Counter, &[0, 10, 20, 30]);
        samples.push(&said(5, Power, Gauge, 4));
        samples.forget_before(2 * S);
        assert_eq!(values(&samples), [Some(10.0)]);
        samples.forget_before(4 * S);
        assert_eq!(samples.labels(Host, "x").count(), 0);
        assert_eq!(samples.newest_ns(), 5 * S);
        assert!(!samples.is_empty());
    }

    /// A wait that has not come before is told from its first time on.
    #[test]
    fn a_wait_was_zero_before_it_was_told() {
        let wait = |label: &str| metric(MetricSource::Server, Counter, "session_wait_ns", label);
        let all = vec![
            series(wait("commit"), &[(0, 5), (1, 5), (2, 5), (3, 5)]),
            series(wait("wait/x"), &[(2, 20), (3, 30)]),
        ];
        let samples = Samples::of(all);
        let mean =
            samples.within(window(0, 3)).mean(MetricSource::Server, "session_wait_ns", "wait/x");
        assert_eq!(mean, Some(10.0));
    }
}
