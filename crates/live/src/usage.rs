//! What CPUs and storage do: from the samples of the last moments, now or in the mean of the last
//! interval.

use analyse::{CpuShares, IoCounters, IoRates, Samples, Window, cores_used};
use device::Role;
use std::collections::BTreeSet;
use store::MetricSource::{self, Host, Process, Shim};
use store::{Metric, SampleBatch};

/// What is now needs so much of the past: two samples, and some that tell how often there are any.
const NOW_NS: u64 = 10_000_000_000;
/// No more of the past is kept, however long an interval is.
const KEPT_MAX_NS: u64 = 3_600_000_000_000;
/// Processes by their labels.
const SERVER: &str = "server";
const MYDYNO: &str = "mydyno";

/// What CPUs and storage do; what is not known is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// CPU time as shares of all cores of the host.
    pub cpu: CpuShares,
    pub server_cores: Option<f64>,
    pub mydyno_cores: Option<f64>,
    pub io_by: IoBy,
    pub io: Vec<IoRow>,
}

/// What the rows of I/O are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoBy {
    /// What files are for: the shim counts.
    Role,
    /// Disks of the host that have done anything, where no shim counts.
    Disk,
}

/// I/O of one role or disk.
#[derive(Clone, Debug, PartialEq)]
pub struct IoRow {
    pub name: String,
    pub rates: IoRates,
}

/// The samples since the last interval began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    samples: Samples,
    /// The last one that was told.
    interval: Option<Window>,
    /// Disks that have done anything.
    busy_disks: BTreeSet<String>,
}

impl Recent {
    /// Takes what one source said at one time.
    pub(crate) fn take(&mut self, batch: &SampleBatch) {
        let shown = batch.values.iter().filter(|(metric, _)| is_shown(metric));
        self.samples.push(&SampleBatch {
            at_offset_ns: batch.at_offset_ns,
            values: shown.cloned().collect(),
        });
        let newest_ns = self.samples.newest_ns();
        let interval_end_ns = self.interval.map_or(0, |interval| interval.end_ns);
        let from_ns = interval_end_ns.min(newest_ns).saturating_sub(NOW_NS);
        self.samples.forget_before(from_ns.max(newest_ns.saturating_sub(KEPT_MAX_NS)));
        let does_anything = |disk: &&str| {
            let get = |source, name: &str, label: &str| self.samples.now(source, name, label);
            let rates = IoCounters::OF_DISKS.rates(disk, &get);
            [rates.reads_per_s, rates.writes_per_s].into_iter().flatten().any(|per_s| per_s > 0.0)
        };
        let disks = self.samples.labels(Host, "disk_reads");
        self.busy_disks.extend(disks.filter(does_anything).map(str::to_owned));
    }

    /// An interval is over.
    pub(crate) fn end_interval(&mut self, interval: Window) {
        self.interval = Some(interval);
    }

    /// What is now.
    pub(crate) fn now(&self) -> Usage {
        self.usage(|source, name, label| self.samples.now(source, name, label))
    }

    /// What was in the mean of the last interval; as last known, where its samples have not all
    /// come.
    pub(crate) fn in_interval(&self) -> Usage {
        self.usage(|source, name, label| {
            let mean = |interval| self.samples.within(interval).mean(source, name, label);
            let mean = self.interval.and_then(mean);
            mean.or_else(|| self.samples.now(source, name, label))
        })
    }

    fn usage(&self, get: impl Fn(MetricSource, &str, &str) -> Option<f64>) -> Usage {
        let row = |counters: IoCounters, name: &str| IoRow {
            name: name.to_owned(),
            rates: counters.rates(name, &get),
        };
        let counted: Vec<&str> = self.samples.labels(Shim, "reads").collect();
        let (io_by, io) = if counted.is_empty() {
            let disks = self.busy_disks.iter();
            (IoBy::Disk, disks.map(|disk| row(IoCounters::OF_DISKS, disk)).collect())
        } else {
            let roles = Role::ALL.iter().map(|role| role.name());
            let roles = roles.filter(|role| counted.contains(role));
            (IoBy::Role, roles.map(|role| row(IoCounters::OF_ROLES, role)).collect())
        };
        Usage {
            cpu: CpuShares::of(&get),
            server_cores: cores_used(SERVER, &get),
            mydyno_cores: cores_used(MYDYNO, &get),
            io_by,
            io,
        }
    }
}

/// Is it among what [`Usage`] tells? The rest, as of each core, is not kept.
fn is_shown(metric: &Metric) -> bool {
    match metric.source {
        Host => metric.label.is_empty() || metric.name.starts_with("disk_"),
        Process => [SERVER, MYDYNO].contains(&metric.label.as_str()),
        Shim => !metric.label.is_empty(),
        MetricSource::Server | MetricSource::Power => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{IoBy, Recent, Usage};
    use crate::testkit::{S, batch, in_window};
    use analyse::{CpuShares, Window};
    use std::ops::Range;
    use store::MetricSource::{Host, Process, Server, Shim};

    fn window(seconds: Range<u64>) -> Window {
        Window { start_ns: seconds.start * S, end_ns: seconds.end * S }
    }

    #[test]
    fn cpu_and_io_are_rates() {
        let mut state = in_window();
        let now = state.usage();
        assert_eq!(now.cpu.user, Some(0.5));
        assert_eq!(now.cpu.busy(), Some(0.625));
        assert_eq!(now.cpu.iowait, Some(0.05));
        assert_eq!((now.server_cores, now.mydyno_cores), (Some(1.75), None));
        let names: Vec<&str> = now.io.iter().map(|row| row.name.as_str()).collect();
        assert_eq!((now.io_by, &names[..]), (IoBy::Role, &["data", "redo"][..]));
        let (data, redo) = (now.io[0].rates, now.io[1].rates);
        assert_eq!(data.reads_per_s, Some(1_234.0));
        assert_eq!(data.write_bytes_per_s, Some(9e6));
        assert_eq!((redo.flushes_per_s, redo.read_bytes_per_s), (Some(445.0), None));
        // A later sample of another source: all of these are too old to be shown.
        state.take_samples(&[batch(40.0, &[(Process, "cpu_user_ns", "mydyno", 1)])]);
        let now = state.usage();
        assert_eq!((now.cpu, now.server_cores), (CpuShares::default(), None));
        assert_eq!(now.io[0].rates.reads_per_s, None);
    }

    #[test]
    fn where_no_shim_counts_disks_are_shown() {
        let mut recent = Recent::default();
        let at = |at_s: u32, reads: i64| {
            let values = [
                (Host, "disk_reads", "vda", reads),
                (Host, "disk_writes", "vda", 4),
                (Host, "disk_reads", "vdb", 7),
            ];
            batch(f64::from(at_s), &values)
        };
        for (at_s, reads) in [(1, 10), (2, 60)] {
            recent.take(&at(at_s, reads));
        }
        let now = recent.now();
        assert_eq!((now.io_by, now.io.len()), (IoBy::Disk, 1));
        let rates = now.io[0].rates;
        assert_eq!((now.io[0].name.as_str(), rates.reads_per_s), ("vda", Some(50.0)));
        assert_eq!((rates.writes_per_s, rates.flushes_per_s), (Some(0.0), None));
        // It stays, whatever is forgotten of it.
        for at_s in 3..60 {
            recent.take(&at(at_s, 60));
        }
        recent.end_interval(window(0..59));
        recent.take(&at(60, 60));
        assert_eq!(recent.now().io[0].rates.reads_per_s, Some(0.0));
    }

    #[test]
    fn an_interval_has_the_mean_of_all_of_it() {
        let mut recent = Recent::default();
        let reads = |usage: Usage| usage.io[0].rates.reads_per_s;
        // 100 a second, and 1,000 in the last one.
        for second in 0..10u32 {
            let reads = (Shim, "reads", "data", i64::from(second) * 100);
            recent.take(&batch(f64::from(second), &[reads]));
        }
        recent.take(&batch(10.0, &[(Shim, "reads", "data", 1_900)]));
        recent.end_interval(window(0..10));
        assert_eq!(reads(recent.now()), Some(1_000.0));
        assert_eq!(reads(recent.in_interval()), Some(190.0));
        // Its last sample has not come: what was known last.
        recent.end_interval(window(10..11));
        assert_eq!(reads(recent.in_interval()), Some(1_000.0));
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
        recent.end_interval(window(0..100));
        recent.take(&batch(101.0, &[(Host, "cpu_user_ns", "", 5)]));
        assert_eq!(user(&recent), 11);
    }
}
