//! What the host, the processes and the storage do: from the samples of the last moments, now or in the mean of the last interval.

use analyse::{CpuShares, IoCounters, IoRates, Samples, Window, cores_used};
use device::Role;
use std::collections::BTreeSet;
use store::MetricSource::{self, Host, Process, Shim};
use store::{Metric, SampleBatch};

/// What is now needs so much of the past: two samples, and some that tell how often there are any.
const NOW_NS: u64 = 10_000_000_000;
/// No more of the past is kept, however long an interval is.
const KEPT_MAX_NS: u64 = 3_600_000_000_000;

/// The samples since the last interval began.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    samples: Samples,
    /// The last one that was told.
    interval: Option<Window>,
    /// Disks that have done anything.
    busy_disks: BTreeSet<String>,
}

impl Recent {
    /// Takes what one source said at one time.
    pub fn take(&mut self, batch: &SampleBatch) {
        let shown = batch.values.iter().filter(|(metric, _)| is_shown(metric));
        self.samples.push(&SampleBatch {
            at_offset_ns: batch.at_offset_ns,
            values: shown.cloned().collect(),
        });
        let newest_ns = self.samples.newest_ns();
        let interval_end_ns = self.interval.map_or(0, |interval| interval.end_ns);
        let from_ns = interval_end_ns.min(newest_ns).saturating_sub(NOW_NS);
        self.samples
            .forget_before(from_ns.max(newest_ns.saturating_sub(KEPT_MAX_NS)));
        let does_anything = |disk: &&str| {
            let rates = IoCounters::OF_DISKS.rates(disk, self.now());
            [rates.reads_per_s, rates.writes_per_s]
                .into_iter()
                .flatten()
                .any(|per_s| per_s > 0.0)
        };
        let disks = self.samples.labels(Host, IoCounters::OF_DISKS.reads);
        let busy: Vec<String> = disks.filter(does_anything).map(str::to_owned).collect();
        self.busy_disks.extend(busy);
    }

    /// An interval is over.
    pub fn interval(&mut self, interval: Window) {
        self.interval = Some(interval);
    }

    /// What metrics are now.
    pub fn now(&self) -> impl Fn(MetricSource, &str, &str) -> Option<f64> {
        move |source, name, label| self.samples.now(source, name, label)
    }

    /// What metrics were in the mean of the last interval; as last known, where its samples have not all come.
    pub fn in_interval(&self) -> impl Fn(MetricSource, &str, &str) -> Option<f64> {
        move |source, name, label| {
            let mean = |interval| self.samples.mean(interval, source, name, label);
            let mean = self.interval.and_then(mean);
            mean.or_else(|| self.samples.now(source, name, label))
        }
    }

    /// I/O by role where the shim counts, else by disk, of disks that have done anything.
    pub fn io(&self, get: impl Fn(MetricSource, &str, &str) -> Option<f64>) -> (IoBy, Vec<IoRow>) {
        let row = |counters: IoCounters, name: &str| IoRow {
            name: name.to_owned(),
            rates: counters.rates(name, &get),
        };
        let counted: Vec<&str> = self
            .samples
            .labels(Shim, IoCounters::OF_ROLES.reads)
            .collect();
        let roles = Role::ALL.iter().map(|role| role.name());
        let rows: Vec<IoRow> = roles
            .filter(|role| counted.contains(role))
            .map(|role| row(IoCounters::OF_ROLES, role))
            .collect();
        if !rows.is_empty() {
            return (IoBy::Role, rows);
        }
        let disks = self.busy_disks.iter();
        let of_disk = |disk: &String| row(IoCounters::OF_DISKS, disk);
        (IoBy::Disk, disks.map(of_disk).collect())
    }
}

/// Is it among what the dashboard and the lines show? The rest, as of each core, is not kept.
fn is_shown(metric: &Metric) -> bool {
    match metric.source {
        Host => metric.label.is_empty() || metric.name.starts_with("disk_"),
        Process => [SERVER, MYDYNO].contains(&metric.label.as_str()),
        Shim => !metric.label.is_empty(),
        MetricSource::Server | MetricSource::Power => false,
    }
}

/// Processes by their labels.
const SERVER: &str = "server";
const MYDYNO: &str = "mydyno";

/// CPU time: shares of all cores of the host, and cores by process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    pub shares: CpuShares,
    pub server_cores: Option<f64>,
    pub mydyno_cores: Option<f64>,
}

impl Cpu {
    pub fn of(get: impl Fn(MetricSource, &str, &str) -> Option<f64>) -> Cpu {
        Cpu {
            shares: CpuShares::of(&get),
            server_cores: cores_used(SERVER, &get),
            mydyno_cores: cores_used(MYDYNO, &get),
        }
    }
}

/// What the rows of I/O are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoBy {
    /// What files are for: the shim counts.
    Role,
    /// Disks of the host, where no shim counts.
    Disk,
}

/// I/O of one role or disk.
#[derive(Clone, Debug, PartialEq)]
pub struct IoRow {
    pub name: String,
    pub rates: IoRates,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Cpu, IoBy, Recent};
    use crate::live::state::State;
    use crate::live::state::tests::{in_window, interval};
    use analyse::Window;
    use lab::{Phase, Progress};
    use store::MetricSource::{Host, Process, Server, Shim};
    use store::{Metric, MetricKind, MetricSource, SampleBatch};

    pub(crate) const S: u64 = 1_000_000_000;

    /// What a source said `at_s` seconds after the start: source, name, label, value; names that end in `cores` are gauges.
    pub(crate) fn batch(at_s: f64, values: &[(MetricSource, &str, &str, i64)]) -> SampleBatch {
        let value = |(source, name, label, value): &(MetricSource, &str, &str, i64)| {
            let kind = if name.ends_with("cores") {
                MetricKind::Gauge
            } else {
                MetricKind::Counter
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
    fn cpu_and_io_are_rates() {
        let mut state = in_window();
        let cpu = state.cpu();
        assert_eq!(cpu.shares.user, Some(0.5));
        assert_eq!(cpu.shares.busy(), Some(0.625));
        assert_eq!(cpu.shares.iowait, Some(0.05));
        assert_eq!((cpu.server_cores, cpu.mydyno_cores), (Some(1.75), None));
        let (by, rows) = state.io();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!((by, &names[..]), (IoBy::Role, &["data", "redo"][..]));
        let (data, redo) = (rows[0].rates, rows[1].rates);
        assert_eq!(data.reads_per_s, Some(1_234.0));
        assert_eq!(data.write_bytes_per_s, Some(9e6));
        assert_eq!(
            (redo.flushes_per_s, redo.read_bytes_per_s),
            (Some(445.0), None)
        );
        // A later sample of another source: all of these are too old to be shown.
        let later = [batch(40.0, &[(Process, "cpu_user_ns", "mydyno", 1)])];
        state.take(&Progress::Samples(&later));
        assert_eq!(state.cpu(), Cpu::default());
        assert_eq!(state.io().1[0].rates.reads_per_s, None);
    }

    #[test]
    fn where_no_shim_counts_disks_are_shown() {
        let mut state = State::default();
        let at = |at_s: u32, reads: i64| {
            let values = [
                (Host, "disk_reads", "vda", reads),
                (Host, "disk_writes", "vda", 4),
                (Host, "disk_reads", "vdb", 7),
            ];
            batch(f64::from(at_s), &values)
        };
        for (at_s, reads) in [(1, 10), (2, 60)] {
            state.take(&Progress::Samples(&[at(at_s, reads)]));
        }
        let (by, rows) = state.io();
        assert_eq!((by, rows.len()), (IoBy::Disk, 1));
        let rates = rows[0].rates;
        assert_eq!(
            (rows[0].name.as_str(), rates.reads_per_s),
            ("vda", Some(50.0))
        );
        assert_eq!((rates.writes_per_s, rates.flushes_per_s), (Some(0.0), None));
        // It stays, whatever is forgotten of it.
        for at_s in 3..60 {
            state.take(&Progress::Samples(&[at(at_s, 60)]));
        }
        state.take(&Progress::Interval(&interval(Phase::Window, 0.0, 59.0, 1)));
        state.take(&Progress::Samples(&[at(60, 60)]));
        assert_eq!(state.io().1[0].rates.reads_per_s, Some(0.0));
    }

    #[test]
    fn an_interval_has_the_mean_of_all_of_it() {
        let mut recent = Recent::default();
        let reads =
            |get: &dyn Fn(MetricSource, &str, &str) -> Option<f64>| get(Shim, "reads", "data");
        // 100 a second, and 1,000 in the last one.
        for second in 0..10u32 {
            let reads = (Shim, "reads", "data", i64::from(second) * 100);
            recent.take(&batch(f64::from(second), &[reads]));
        }
        recent.take(&batch(10.0, &[(Shim, "reads", "data", 1_900)]));
        let window = |start_s, end_s| Window {
            start_ns: start_s * S,
            end_ns: end_s * S,
        };
        recent.interval(window(0, 10));
        assert_eq!(reads(&recent.now()), Some(1_000.0));
        assert_eq!(reads(&recent.in_interval()), Some(190.0));
        // Its last sample has not come: what was known last.
        recent.interval(window(10, 11));
        assert_eq!(reads(&recent.in_interval()), Some(1_000.0));
    }

    #[test]
    fn what_is_not_shown_is_not_kept() {
        let mut recent = Recent::default();
        for at_s in [1.0, 2.0] {
            let values = [
                (Server, "questions", "", 5),
                (Process, "cpu_ns", "driver-0", 5),
                (Host, "cpu_user_ns", "cpu0", 5),
                (Shim, "spin_ns", "", 5),
            ];
            recent.take(&batch(at_s, &values));
        }
        assert!(recent.samples.is_empty());
        recent.take(&batch(3.0, &[(Host, "cpu_user_ns", "", 5)]));
        let user = |recent: &Recent| recent.samples.steps(Host, "cpu_user_ns", "").len();
        for at_s in 4..=100u32 {
            recent.take(&batch(f64::from(at_s), &[(Host, "cpu_user_ns", "", 5)]));
        }
        assert_eq!(user(&recent), 97, "no interval was told yet");
        recent.interval(Window {
            start_ns: 0,
            end_ns: 100 * S,
        });
        recent.take(&batch(101.0, &[(Host, "cpu_user_ns", "", 5)]));
        assert_eq!(user(&recent), 11);
    }
}
