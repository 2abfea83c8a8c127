//! The figures of a sheet as jobs of fio, and what their results say of a device.

use crate::delta::KindTimes;
use crate::error::{StorageError, StorageResult};
use crate::fio::{EmulatedResult, FioJob, FioResult, Pattern};
use base::{document, named};
use device::page::AccessKind;
use device::{MIXED_WRITE_SHARE, Profile, Role, SEQUENTIAL_QUEUE_DEPTH};
use serde::Serialize;
use std::time::Duration;

/// How far a figure may be from its sheet.
const BOUND_SHARE: f64 = 0.05;
/// Flushes are few and short: a larger part of them is the host's own time.
const FLUSH_BOUND_SHARE: f64 = 0.10;
/// What a call under the shim takes beside the device: clocks, a lock, and the caller's own
/// measuring. It is as good as nothing to a read, but not to a flush of 5 us.
const CALL_US: f64 = 2.0;
/// A host has to be so much better than the device that it plays.
const HOST_MARGIN: f64 = 1.1;

/// What is written of a file where the place of the bytes does not matter: long files are mostly
/// holes.
pub(super) const SPAN_BYTES: u64 = 1 << 30;
/// Figures of a device that has been written to for long.
const PRECONDITIONED: [&str; 2] = ["random_write_iops", "random_mixed_iops"];
/// Time for fio to settle.
const SETTLE: Duration = Duration::from_millis(300);
const HOST_RUNTIME_MAX: Duration = Duration::from_secs(2);
/// Shorter peaks are over before fio has settled.
const PEAK_RUNTIME_MIN: Duration = Duration::from_millis(500);

named! {
    /// How a figure came out.
    #[derive(Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum FigureVerdict {
        Within = "within",
        Outside = "outside",
        /// This host is too slow or too busy to play the device: nothing can be said of the figure.
        HostLimited = "host-limited",
    }
}

document! {
    /// One figure of a sheet.
    #[derive(Clone, Debug, PartialEq)]
    pub struct VerifiedFigure from (
        of: &FigureCheck,
        emulated: &EmulatedResult,
        host_limit: f64
    );
    let measured = of.metric.value(&emulated.measured);
    let total = emulated.counters.timeliness(&Role::ALL);
    let at_work = at_work(of, emulated);
    {
        /// The key in the profile: `random_read_iops`.
        pub key: &'static str = of.key,
        /// `iops`, `mb_per_s` or `us`.
        pub unit: &'static str = of.metric.name(),
        pub queue_depth: u32 = of.job.queue_depth,
        pub sheet: f64 = of.sheet,
        pub measured: f64 = measured,
        /// From the sheet, as a share of it.
        pub deviation_share: f64 = measured / of.sheet - 1.0,
        pub bound_share: f64 = of.metric.bound_share(),
        /// The same job with the shim in place and nothing emulated.
        pub host_limit: f64 = host_limit,
        /// The share of emulated requests that completed in time; `None` without any.
        pub fidelity_share: Option<f64> = total.fidelity_share,
        pub overrun_share: Option<f64> = total.overrun_share,
        /// The mean lateness of the figure's kind of requests.
        pub lateness_mean_us: Option<f64> = at_work.lateness_us,
        pub requests: u64 = emulated.measured.requests,
        pub verdict: FigureVerdict = of.judge(measured, &at_work, host_limit),
    }
}

named! {
    /// Which number of a job is the figure, by its unit.
    pub(super) enum SheetMetric {
        Iops = "iops",
        MbPerS = "mb_per_s",
        ReadLatency = "us",
        FlushLatency = "us",
    }
}

impl SheetMetric {
    pub(super) fn value(self, measured: &FioResult) -> f64 {
        match self {
            SheetMetric::Iops => measured.iops,
            SheetMetric::MbPerS => measured.mb_per_s,
            SheetMetric::ReadLatency => measured.latency.mean_us,
            SheetMetric::FlushLatency => measured.flush.map_or(0.0, |flush| flush.mean_us),
        }
    }

    fn is_time(self) -> bool {
        self.name() == "us"
    }

    fn bound_share(self) -> f64 {
        match self {
            SheetMetric::FlushLatency => FLUSH_BOUND_SHARE,
            _ => BOUND_SHARE,
        }
    }
}

/// One figure to measure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FigureCheck {
    pub(super) key: &'static str,
    pub(super) metric: SheetMetric,
    sheet: f64,
    pub(super) job: FioJob,
    /// See [`PRECONDITIONED`].
    pub(super) preconditioned: bool,
}

/// What a sheet promises, as jobs.
pub(super) fn checks(profile: &Profile, runtime: Duration) -> StorageResult<Vec<FigureCheck>> {
    use Pattern::{FlushedWrite, RandomMixed, RandomRead, RandomWrite};
    use Pattern::{SequentialRead, SequentialWrite};
    use SheetMetric::{FlushLatency, Iops, MbPerS, ReadLatency};
    let sheet = &profile.sheet;
    let job = |pattern, depth: Option<u32>| job(pattern, depth.unwrap_or(1), runtime);
    let sequential = |pattern| job(pattern, Some(SEQUENTIAL_QUEUE_DEPTH));
    let writes = job(RandomWrite, sheet.random_write_queue_depth);
    // A sheet is of a full device. How fast a disk is over a part of its tracks is not promised.
    let gain = profile.random_write_gain(profile.occupancy());
    let of_arm = |figure: Option<f64>| {
        figure.filter(|_| !profile.is_disk() || profile.used_bytes() == profile.capacity_bytes)
    };
    let random_writes = of_arm(sheet.random_write_iops).map(|full| full * gain);
    // The writes among them take so much less.
    let spared_s = random_writes.map_or(0.0, |iops| MIXED_WRITE_SHARE * (gain - 1.0) / iops);
    let mixed = of_arm(sheet.random_mixed_iops).map(|full| 1.0 / (1.0 / full - spared_s));
    let reading = of_arm(sheet.sequential_read_mb_per_s);
    let writing = of_arm(sheet.sequential_write_mb_per_s);
    let read_depth = sheet.random_read_queue_depth;
    let all = [
        ("random_read_iops", Iops, of_arm(sheet.random_read_iops), job(RandomRead, read_depth)),
        ("random_write_iops", Iops, random_writes, sustained(profile, writes)),
        ("random_mixed_iops", Iops, mixed, job(RandomMixed, read_depth)),
        ("random_write_peak_iops", Iops, sheet.random_write_peak_iops, peak(profile, writes)),
        ("sequential_read_mb_per_s", MbPerS, reading, sequential(SequentialRead)),
        ("sequential_write_mb_per_s", MbPerS, writing, sequential(SequentialWrite)),
        ("read_latency_us", ReadLatency, of_arm(sheet.read_latency_us), job(RandomRead, None)),
        ("flush_latency_us", FlushLatency, sheet.flush_latency_us, job(FlushedWrite, None)),
    ];
    let promised = all.into_iter().filter_map(|(key, metric, sheet, job)| {
        let preconditioned = PRECONDITIONED.contains(&key);
        Some(FigureCheck { key, metric, sheet: sheet?, job, preconditioned })
    });
    let checks: Vec<FigureCheck> = promised.collect();
    if checks.is_empty() {
        // Nothing missed would look like everything met.
        return Err(StorageError::EmptySheet { name: profile.name.clone() });
    }
    Ok(checks)
}

fn job(pattern: Pattern, queue_depth: u32, runtime: Duration) -> FioJob {
    let span_bytes = if pattern.is_sequential() { SPAN_BYTES } else { u64::MAX };
    FioJob { ramp: SETTLE, span_bytes, ..FioJob::new(pattern, queue_depth, runtime) }
}

/// Measured when a disk's write cache has found its rate; a solid-state device is preconditioned.
fn sustained(profile: &Profile, writes: FioJob) -> FioJob {
    FioJob { ramp: SETTLE + profile.write_cache_settles_in(), ..writes }
}

/// Measured well before the end of the peak.
fn peak(profile: &Profile, writes: FioJob) -> FioJob {
    let half_s = profile.peak_seconds().unwrap_or(f64::MAX) / 2.0;
    let half = Duration::from_secs_f64(half_s.clamp(0.0, 3600.0));
    let runtime = writes.runtime.min(half).max(PEAK_RUNTIME_MIN);
    FioJob { ramp: SETTLE.min(runtime / 4), runtime, ..writes }
}

impl FigureCheck {
    /// The same work for what the host gives at most.
    pub(super) fn host_job(&self) -> FioJob {
        FioJob {
            ramp: SETTLE,
            runtime: self.job.runtime.min(HOST_RUNTIME_MAX),
            // Unbound, it would fill long files.
            span_bytes: self.job.span_bytes.min(SPAN_BYTES),
            ..self.job
        }
    }

    pub(super) fn duration(&self) -> Duration {
        let host = self.host_job();
        host.ramp + host.runtime + self.job.ramp + self.job.runtime
    }

    fn judge(&self, measured: f64, emulation: &KindTimes, host_limit: f64) -> FigureVerdict {
        let is_time = self.metric.is_time();
        let is_within = self.is_within(measured);
        // A host can make a device slower, but not faster.
        let is_fast = (measured < self.sheet) == is_time;
        if is_fast && !is_within {
            return FigureVerdict::Outside;
        }
        let room = if is_time {
            self.sheet / host_limit.max(f64::MIN_POSITIVE)
        } else {
            host_limit / self.sheet
        };
        // The limit was taken without the cost of the emulation itself, and perhaps in a quieter
        // second.
        let is_late = !is_within && self.would_do(measured, emulation);
        match (room < HOST_MARGIN || is_late, is_within) {
            (true, _) => FigureVerdict::HostLimited,
            (false, true) => FigureVerdict::Within,
            (false, false) => FigureVerdict::Outside,
        }
    }

    fn is_within(&self, value: f64) -> bool {
        (value / self.sheet - 1.0).abs() <= self.metric.bound_share()
    }

    /// Would the device meet its sheet on a host that is never late, and asks again at once?
    fn would_do(&self, measured: f64, emulation: &KindTimes) -> bool {
        let Some(lateness_us) = emulation.lateness_us else { return false };
        let bound_share = self.metric.bound_share();
        if self.metric.is_time() {
            let longest_us = measured - lateness_us;
            let shortest_us = longest_us - CALL_US;
            let bound_us = self.sheet * bound_share;
            return shortest_us <= self.sheet + bound_us && longest_us >= self.sheet - bound_us;
        }
        // Little's law: with all the requests outstanding that fio was told to have, each of them
        // as long as the model made it.
        let modelled_us = emulation.response_us.map(|response_us| response_us - lateness_us);
        modelled_us.filter(|modelled_us| *modelled_us > 0.0).is_some_and(|modelled_us| {
            let per_s = f64::from(self.job.queue_depth) / modelled_us * 1e6;
            let rate = match self.metric {
                SheetMetric::Iops => per_s,
                SheetMetric::MbPerS => per_s * f64::from(self.job.block_bytes) / 1e6,
                SheetMetric::ReadLatency | SheetMetric::FlushLatency => return false,
            };
            rate >= self.sheet * (1.0 - bound_share)
        })
    }
}

/// The times of the requests that the figure is about.
fn at_work(check: &FigureCheck, emulated: &EmulatedResult) -> KindTimes {
    let kinds = match check.metric {
        SheetMetric::FlushLatency => &[AccessKind::Flush],
        _ => check.job.pattern.kinds(),
    };
    emulated.counters.kinds(kinds)
}

#[cfg(test)]
mod tests {
    use super::super::{content, expected_duration};
    use super::FigureVerdict::{HostLimited, Outside, Within};
    use super::{FigureCheck, SheetMetric, checks};
    use crate::delta::KindTimes;
    use crate::fio::Content;
    use std::time::Duration;

    fn check(profile: &str, key: &str) -> FigureCheck {
        let profile = device::builtin(profile).unwrap();
        let all = checks(&profile, Duration::from_secs(5)).unwrap();
        all.into_iter().find(|check| check.key == key).unwrap()
    }

    fn at_work(response_us: f64, lateness_us: f64) -> KindTimes {
        KindTimes { response_us: Some(response_us), lateness_us: Some(lateness_us) }
    }

    const SILENT: KindTimes = KindTimes { response_us: None, lateness_us: None };

    #[test]
    fn rates_are_judged_within_what_the_host_can() {
        let iops = check("sata-850pro", "random_read_iops");
        assert_eq!((iops.sheet, iops.job.queue_depth), (100_000.0, 32));
        // 32 requests of 320 us each are 100,000 a second.
        for (measured, limit, emulation, verdict) in [
            (100_000.0, 200_000.0, SILENT, Within),
            (95_100.0, 200_000.0, SILENT, Within),
            (104_900.0, 200_000.0, SILENT, Within),
            (94_000.0, 200_000.0, SILENT, Outside),
            // Too fast, which no host can be blamed for.
            (106_000.0, 200_000.0, at_work(320.0, 5.0), Outside),
            (106_000.0, 107_000.0, SILENT, Outside),
            // The host's speed, or the device's?
            (100_000.0, 109_000.0, SILENT, HostLimited),
            (60_000.0, 61_000.0, SILENT, HostLimited),
            // fio did not ask again in time, or was woken late.
            (80_000.0, 200_000.0, at_work(325.0, 5.0), HostLimited),
            (80_000.0, 200_000.0, at_work(400.0, 80.0), HostLimited),
            // The model itself took that long, however late the host was besides.
            (80_000.0, 200_000.0, at_work(400.0, 5.0), Outside),
            (50_000.0, 200_000.0, at_work(640.0, 200.0), Outside),
            (80_000.0, 200_000.0, at_work(5.0, 5.0), Outside),
        ] {
            let judged = iops.judge(measured, &emulation, limit);
            assert_eq!(judged, verdict, "{measured} {limit} {emulation:?}");
        }
        let mb_per_s = check("sata-850pro", "sequential_read_mb_per_s");
        let modelled_us = 16.0 * 131_072.0 / mb_per_s.sheet;
        let judge = |emulation| mb_per_s.judge(mb_per_s.sheet * 0.9, &emulation, 10_000.0);
        assert_eq!(judge(at_work(modelled_us + 9.0, 9.0)), HostLimited);
        assert_eq!(judge(at_work(modelled_us * 1.1, 0.0)), Outside);
    }

    #[test]
    fn times_are_judged_within_what_the_host_can() {
        let read = check("hdd-15k", "read_latency_us");
        assert_eq!((read.metric, read.sheet), (SheetMetric::ReadLatency, 5000.0));
        for (measured, limit, lateness_us, verdict) in [
            (5000.0, 10.0, 0.0, Within),
            (5240.0, 10.0, 0.0, Within),
            (4760.0, 10.0, 0.0, Within),
            (4740.0, 10.0, 0.0, Outside),
            (4740.0, 4900.0, 0.0, Outside),
            (5000.0, 4600.0, 0.0, HostLimited),
            (9000.0, 8900.0, 0.0, HostLimited),
            (5300.0, 10.0, 0.0, Outside),
            (5300.0, 10.0, 100.0, HostLimited),
            (9000.0, 10.0, 100.0, Outside),
            // More late than slow: the device itself was too fast.
            (5300.0, 10.0, 600.0, Outside),
            // A call itself costs something.
            (5251.5, 10.0, 0.0, HostLimited),
        ] {
            let judged = read.judge(measured, &at_work(measured, lateness_us), limit);
            assert_eq!(judged, verdict, "{measured} {limit} {lateness_us}");
        }
        let flush = check("sata-850pro", "flush_latency_us");
        assert_eq!(flush.metric, SheetMetric::FlushLatency);
        let sheet = flush.sheet;
        for (share, limit, verdict) in [
            (1.09, 1.0, Within),
            (1.11, 1.0, Outside),
            (0.89, sheet, Outside),
            (1.0, sheet, HostLimited),
            // Flushes that were 0.45 of the sheet late explain this, not that.
            (1.5, 1.0, HostLimited),
            (1.6, 1.0, Outside),
        ] {
            let judged = flush.judge(sheet * share, &at_work(sheet, sheet * 0.45), limit);
            assert_eq!(judged, verdict, "{share} {limit}");
        }
    }

    #[test]
    fn a_sheet_without_promises_cannot_be_verified() {
        let mut profile = device::builtin("hdd-15k").unwrap();
        profile.sheet = device::Sheet::default();
        let error = expected_duration(&profile, Duration::from_secs(1)).unwrap_err();
        assert!(error.to_string().contains("hdd-15k"), "{error}");
    }

    #[test]
    fn jobs_suit_their_figures() {
        let check = |key| check("sata-850pro", key);
        let sustained = check("random_write_iops");
        let peak = check("random_write_peak_iops");
        assert!(sustained.preconditioned && !peak.preconditioned);
        assert!(peak.job.ramp + peak.job.runtime < Duration::from_secs(5));
        assert_eq!(check("read_latency_us").job.queue_depth, 1);
        assert_eq!(check("sequential_read_mb_per_s").job.block_bytes, 131_072);
        let host = sustained.host_job();
        assert!(host.runtime <= Duration::from_secs(2) && host.span_bytes <= 1 << 30);

        let disk = device::builtin("hdd-15k").unwrap();
        let bytes = disk.capacity_bytes;
        assert_eq!(content(&disk), Content::Hole { bytes });
        let second = expected_duration(&disk, Duration::from_secs(1)).unwrap();
        assert!(second > Duration::from_secs(12) && second < Duration::from_secs(60));
    }
}
