//! From raw samples, as they come, to what the metrics are now: a counter's rise per second between its last two samples, a gauge's last
//! value. What is too old, or has a gap, is unknown.

use std::collections::{BTreeMap, HashMap};
use store::MetricSource::{Host, Process, Shim};
use store::{MetricKind, MetricSource, SampleBatch};

/// Sources are read once a second: what is further apart has a gap, and what is older is not now.
const GAP_NS: u64 = 2_500_000_000;

/// The metrics that are shown; others are not kept.
static KEPT: [(MetricSource, &str); 19] = [
    (Host, "cpu_cores"),
    (Host, "cpu_user_ns"),
    (Host, "cpu_system_ns"),
    (Host, "cpu_iowait_ns"),
    (Host, "cpu_irq_ns"),
    (Host, "cpu_softirq_ns"),
    (Host, "cpu_steal_ns"),
    (Host, "disk_reads"),
    (Host, "disk_read_bytes"),
    (Host, "disk_writes"),
    (Host, "disk_write_bytes"),
    (Host, "disk_flushes"),
    (Process, "cpu_user_ns"),
    (Process, "cpu_system_ns"),
    (Shim, "reads"),
    (Shim, "read_bytes"),
    (Shim, "writes"),
    (Shim, "write_bytes"),
    (Shim, "flushes"),
];

/// The last samples of each metric.
#[derive(Debug, Default)]
pub struct Rates {
    /// By metric, then by label.
    kept: HashMap<(MetricSource, &'static str), BTreeMap<String, Kept>>,
    newest_ns: u64,
}

#[derive(Debug)]
struct Kept {
    at_ns: u64,
    value: i64,
    /// It has risen since it was seen first.
    rose: bool,
    /// The rise per second up to the last sample, or the gauge itself.
    now: Option<f64>,
}

impl Rates {
    /// Takes what one source said at one time.
    pub fn take(&mut self, batch: &SampleBatch) {
        let at_ns = batch.at_offset_ns;
        self.newest_ns = self.newest_ns.max(at_ns);
        for (metric, value) in &batch.values {
            let wanted =
                |kept: &&(MetricSource, &str)| **kept == (metric.source, metric.name.as_str());
            let Some(key) = KEPT.iter().find(wanted) else {
                continue;
            };
            let labels = self.kept.entry(*key).or_default();
            match labels.get_mut(&metric.label) {
                Some(kept) => kept.take(metric.kind, at_ns, *value),
                None => {
                    labels.insert(
                        metric.label.clone(),
                        Kept::first(metric.kind, at_ns, *value),
                    );
                }
            }
        }
    }

    /// What the metric is now: the rise of a counter per second, or a gauge.
    #[must_use]
    pub fn now(&self, source: MetricSource, name: &str, label: &str) -> Option<f64> {
        let kept = self.labels_of(source, name)?.get(label)?;
        kept.now.filter(|_| kept.at_ns + GAP_NS >= self.newest_ns)
    }

    /// The labels of a counter that has risen since the first sample, in order.
    pub fn risen(&self, source: MetricSource, name: &str) -> impl Iterator<Item = &str> {
        let labels = self.labels_of(source, name).into_iter().flatten();
        labels
            .filter(|(_, kept)| kept.rose)
            .map(|(label, _)| label.as_str())
    }

    /// The labels of a metric, in order.
    pub fn labels(&self, source: MetricSource, name: &str) -> impl Iterator<Item = &str> {
        let labels = self.labels_of(source, name).into_iter().flatten();
        labels.map(|(label, _)| label.as_str())
    }

    fn labels_of(&self, source: MetricSource, name: &str) -> Option<&BTreeMap<String, Kept>> {
        let (_, known) = KEPT.iter().find(|kept| **kept == (source, name))?;
        self.kept.get(&(source, *known))
    }
}

impl Kept {
    fn first(kind: MetricKind, at_ns: u64, value: i64) -> Kept {
        Kept {
            at_ns,
            value,
            rose: false,
            now: (kind == MetricKind::Gauge).then_some(value as f64),
        }
    }

    fn take(&mut self, kind: MetricKind, at_ns: u64, value: i64) {
        if at_ns <= self.at_ns {
            return;
        }
        let length_ns = at_ns - self.at_ns;
        self.now = match kind {
            MetricKind::Gauge => Some(value as f64),
            // The source began anew, or was not read in between.
            MetricKind::Counter if value < self.value || length_ns > GAP_NS => None,
            MetricKind::Counter => Some((value - self.value) as f64 * 1e9 / length_ns as f64),
        };
        self.rose |= value > self.value;
        self.at_ns = at_ns;
        self.value = value;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Rates;
    use store::MetricSource::{Host, Process, Server, Shim};
    use store::{Metric, MetricKind, MetricSource, SampleBatch};

    pub(crate) const S: u64 = 1_000_000_000;

    /// What a source said `at_s` seconds after the start: source, name, label, value; names that end in `cores` are gauges.
    pub(crate) fn batch(at_s: f64, values: &[(MetricSource, &str, &str, i64)]) -> SampleBatch {
        let value = |(source, name, label, value): &(MetricSource, &str, &str, i64)| {
            let kind = match name.ends_with("cores") {
                true => MetricKind::Gauge,
                false => MetricKind::Counter,
            };
            let metric = Metric {
                source: *source,
                name: (*name).to_owned(),
                label: (*label).to_owned(),
                kind,
            };
            (metric, *value)
        };
        SampleBatch {
            at_offset_ns: (at_s * S as f64) as u64,
            values: values.iter().map(value).collect(),
        }
    }

    #[test]
    fn rates_are_differences_of_two_samples() {
        let mut rates = Rates::default();
        rates.take(&batch(1.0, &[(Shim, "reads", "data", 100)]));
        assert_eq!(rates.now(Shim, "reads", "data"), None);
        rates.take(&batch(3.0, &[(Shim, "reads", "data", 400)]));
        assert_eq!(rates.now(Shim, "reads", "data"), Some(150.0));
        rates.take(&batch(
            4.0,
            &[(Shim, "reads", "data", 400), (Shim, "reads", "redo", 7)],
        ));
        assert_eq!(rates.now(Shim, "reads", "data"), Some(0.0));
        let labels: Vec<&str> = rates.labels(Shim, "reads").collect();
        assert_eq!(labels, ["data", "redo"]);
        let risen: Vec<&str> = rates.risen(Shim, "reads").collect();
        assert_eq!(risen, ["data"]);
    }

    #[test]
    fn gaps_and_sources_that_began_anew_are_unknown() {
        let mut rates = Rates::default();
        let reads = |at_s, value| batch(at_s, &[(Shim, "reads", "data", value)]);
        rates.take(&reads(1.0, 0));
        rates.take(&reads(6.0, 500));
        assert_eq!(rates.now(Shim, "reads", "data"), None, "a gap");
        rates.take(&reads(7.0, 510));
        assert_eq!(rates.now(Shim, "reads", "data"), Some(10.0));
        rates.take(&reads(8.0, 3));
        assert_eq!(rates.now(Shim, "reads", "data"), None, "it began anew");
        rates.take(&reads(9.0, 5));
        // Another source goes on while this one is silent.
        rates.take(&batch(11.0, &[(Host, "cpu_cores", "", 4)]));
        assert_eq!(rates.now(Shim, "reads", "data"), Some(2.0));
        rates.take(&batch(12.0, &[(Host, "cpu_cores", "", 4)]));
        assert_eq!(rates.now(Shim, "reads", "data"), None, "too old");
        assert_eq!(rates.now(Host, "cpu_cores", ""), Some(4.0));
    }

    #[test]
    fn unknown_metrics_are_ignored() {
        let mut rates = Rates::default();
        for at_s in [1.0, 2.0] {
            let values = [
                (Server, "questions", "", 5),
                (Process, "reads", "data", 5),
                (Host, "entropy", "", 5),
            ];
            rates.take(&batch(at_s, &values));
        }
        assert!(rates.kept.is_empty());
        assert_eq!(rates.now(Server, "questions", ""), None);
    }
}
