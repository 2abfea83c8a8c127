//! What happened between two copies of the shim's page, as numbers with units.

use device::Role;
use device::page::{BUCKETS, Global, Histogram, Kind, OfKind, OfRole, Snapshot, bucket_floor_ns};
use serde::Serialize;
use std::time::Duration;

/// Above this share of overruns the host, not the device, was measured.
const OVERRUN_SHARE_MAX: f64 = 0.01;
/// Below this share of requests in time the emulation is not what it says.
const FIDELITY_SHARE_MIN: f64 = 0.99;

/// The difference of two copies of a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Delta {
    pub elapsed_s: f64,
    /// One for each role, in the order of [`Role::ALL`].
    pub roles: Vec<RoleCounters>,
    /// All roles together; `role` is `None`. Its queue depth is the sum of the roles', its busy share is `None`: roles may share a
    /// device.
    pub total: RoleCounters,
    pub process: ProcessCounters,
}

/// What concerns the whole process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProcessCounters {
    /// Share of the 4 KiB pages of buffered reads that the modelled page cache had; `None` where nothing was read through it.
    pub cache_hit_ratio: Option<f64>,
    pub cache_hits: u64,
    pub cache_misses: u64,
    /// At the end.
    pub cache_bytes: u64,
    pub cache_dirty_bytes: u64,
    pub model_full: u64,
    /// Since the process started, because these things happen when it does.
    pub files_unseen: u64,
    pub uring_refused: u64,
    pub maps_refused: u64,
    pub model_s: f64,
    pub model_calls: u64,
    pub spin_s: f64,
}

/// One role.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RoleCounters {
    pub role: Option<Role>,
    pub reads: KindCounters,
    pub writes: KindCounters,
    pub flushes: KindCounters,
    /// Mean number of requests at the device.
    pub mean_queue_depth: f64,
    /// The most requests there were since the process started.
    pub queue_depth_max: u64,
    /// Share of the time with at least one request at the device.
    pub busy_share: Option<f64>,
    /// Emulated requests that were judged; the shares are `None` without any.
    pub judged: u64,
    pub within_tolerance: u64,
    /// Requests that completed within 2 % or 20 us of their due time.
    pub fidelity_share: Option<f64>,
    pub lateness_mean_us: Option<f64>,
    /// Requests for which the host needed longer than the model.
    pub overruns: u64,
    pub overrun_share: Option<f64>,
}

/// One kind of requests of a role.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KindCounters {
    pub requests: u64,
    pub bytes: u64,
    pub requests_per_s: f64,
    pub bytes_per_s: f64,
    /// From the request to its completion.
    pub response: Option<Times>,
    /// On the device, without waiting in its queue; `None` for real devices.
    pub service: Option<Times>,
}

/// A distribution of times. Percentiles are to 1/32, from histograms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    pub mean_us: f64,
    pub p50_us: f64,
    pub p95_us: f64,
    pub p99_us: f64,
    /// Exact where it is the largest since the process started, else the upper end of its bucket.
    pub max_us: f64,
}

/// A histogram with its exact sum.
#[derive(Clone)]
struct Distribution {
    buckets: Vec<u64>,
    sum_ns: u64,
    max_ns: u64,
}

impl Delta {
    /// What happened from one copy to a later one of the same process.
    #[must_use]
    pub fn between(begin: &Snapshot, end: &Snapshot, elapsed: Duration) -> Delta {
        let elapsed_s = elapsed.as_secs_f64();
        let part = |roles: &[Role]| role_counters(begin, end, elapsed_s, roles);
        let roles = Role::ALL.iter().map(|role| RoleCounters {
            role: Some(*role),
            ..part(&[*role])
        });
        Delta {
            elapsed_s,
            roles: roles.collect(),
            total: RoleCounters {
                busy_share: None,
                ..part(&Role::ALL)
            },
            process: process_counters(begin, end),
        }
    }

    /// One role.
    #[must_use]
    pub fn role(&self, role: Role) -> Option<&RoleCounters> {
        self.roles.get(role.index())
    }

    /// What makes these numbers doubtful, for people, with what to do.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for counters in &self.roles {
            let Some(role) = counters.role.map(Role::name) else {
                continue;
            };
            let above = |share: &f64| *share > OVERRUN_SHARE_MAX;
            if let Some(share) = counters.overrun_share.filter(above) {
                warnings.push(format!(
                    "the host was slower than the emulated device of {role} for {:.1} % of its requests: the numbers are partly the \
                     host's; use a host with more cores or memory, or fewer connections (`mydyno device verify` shows its limits)",
                    share * 100.0
                ));
            } else if let Some(share) = counters.fidelity_share.filter(|s| *s < FIDELITY_SHARE_MIN)
            {
                warnings.push(format!(
                    "only {:.1} % of the requests to the emulated device of {role} completed within 2 % or 20 us of their due time: \
                     the host is busy with other things; free some cores",
                    share * 100.0
                ));
            }
        }
        let process = &self.process;
        for (count, what) in [
            (
                process.model_full,
                "requests were not emulated, because more were outstanding than the model holds; lower the connections or \
                 innodb_*_io_threads",
            ),
            (
                process.files_unseen,
                "files were not seen by the shim, because too many were open; lower innodb_open_files and table_open_cache",
            ),
            (
                process.uring_refused,
                "attempts to use io_uring were refused, so that the server fell back to I/O that the shim sees",
            ),
            (
                process.maps_refused,
                "attempts to map a file of an emulated device into memory were refused",
            ),
        ] {
            if count > 0 {
                warnings.push(format!("{count} {what}"));
            }
        }
        warnings
    }
}

fn process_counters(begin: &Snapshot, end: &Snapshot) -> ProcessCounters {
    let rise = |word| end.global(word).saturating_sub(begin.global(word));
    let (hits, misses) = (rise(Global::CacheHits), rise(Global::CacheMisses));
    ProcessCounters {
        cache_hit_ratio: share(hits, hits + misses),
        cache_hits: hits,
        cache_misses: misses,
        cache_bytes: end.global(Global::CachePages) << 12,
        cache_dirty_bytes: end.global(Global::CacheDirtyPages) << 12,
        model_full: rise(Global::ModelFull),
        files_unseen: end.global(Global::FilesUnseen),
        uring_refused: end.global(Global::UringRefused),
        maps_refused: end.global(Global::MapsRefused),
        model_s: rise(Global::ModelNs) as f64 / 1e9,
        model_calls: rise(Global::ModelCalls),
        spin_s: rise(Global::SpinNs) as f64 / 1e9,
    }
}

fn role_counters(begin: &Snapshot, end: &Snapshot, elapsed_s: f64, roles: &[Role]) -> RoleCounters {
    let rise = |word: OfRole| -> u64 {
        let of = |role: &Role| {
            end.of_role(*role, word)
                .saturating_sub(begin.of_role(*role, word))
        };
        roles.iter().map(of).sum()
    };
    let kind = |kind| kind_counters(begin, end, elapsed_s, roles, kind);
    let judged = rise(OfRole::Judged);
    let within = rise(OfRole::WithinTolerance);
    let overruns = rise(OfRole::Overruns);
    let late_ns = rise(OfRole::LateNs);
    let elapsed_ns = (elapsed_s * 1e9).max(1.0);
    let deepest = roles
        .iter()
        .map(|role| end.of_role(*role, OfRole::OutstandingMax));
    RoleCounters {
        role: None,
        reads: kind(Kind::Read),
        writes: kind(Kind::Write),
        flushes: kind(Kind::Flush),
        mean_queue_depth: rise(OfRole::OutstandingNs) as f64 / elapsed_ns,
        queue_depth_max: deepest.max().unwrap_or(0),
        busy_share: Some((rise(OfRole::BusyNs) as f64 / elapsed_ns).min(1.0)),
        judged,
        within_tolerance: within,
        fidelity_share: share(within, judged),
        lateness_mean_us: (judged > 0).then(|| late_ns as f64 / judged as f64 / 1e3),
        overruns,
        overrun_share: share(overruns, judged),
    }
}

fn kind_counters(
    begin: &Snapshot,
    end: &Snapshot,
    elapsed_s: f64,
    roles: &[Role],
    kind: Kind,
) -> KindCounters {
    let rise = |word| -> u64 {
        let of = |role: &Role| {
            let before = begin.of_kind(*role, kind, word);
            end.of_kind(*role, kind, word).saturating_sub(before)
        };
        roles.iter().map(of).sum()
    };
    let times = |histogram, sum, max| {
        let mut all = Distribution::empty();
        for role in roles {
            all.add(
                begin,
                end,
                Part {
                    role: *role,
                    kind,
                    histogram,
                    max,
                },
            );
        }
        all.sum_ns = rise(sum);
        all.times()
    };
    let requests = rise(OfKind::Requests);
    let bytes = rise(OfKind::Bytes);
    let per_s = |count: u64| {
        if elapsed_s > 0.0 {
            count as f64 / elapsed_s
        } else {
            0.0
        }
    };
    KindCounters {
        requests,
        bytes,
        requests_per_s: per_s(requests),
        bytes_per_s: per_s(bytes),
        response: times(
            Histogram::Response,
            OfKind::ResponseSumNs,
            OfKind::ResponseMaxNs,
        ),
        service: times(
            Histogram::Service,
            OfKind::ServiceSumNs,
            OfKind::ServiceMaxNs,
        ),
    }
}

/// Which histogram of a page.
#[derive(Clone, Copy)]
struct Part {
    role: Role,
    kind: Kind,
    histogram: Histogram,
    max: OfKind,
}

impl Distribution {
    fn empty() -> Distribution {
        Distribution {
            buckets: vec![0; BUCKETS],
            sum_ns: 0,
            max_ns: 0,
        }
    }

    fn add(&mut self, begin: &Snapshot, end: &Snapshot, part: Part) {
        let before = begin.buckets(part.role, part.kind, part.histogram);
        let after = end.buckets(part.role, part.kind, part.histogram);
        let mut last = None;
        for (bucket, (before, after)) in before.iter().zip(after).enumerate() {
            let rise = after.saturating_sub(*before);
            self.buckets[bucket] += rise;
            if rise > 0 {
                last = Some(bucket);
            }
        }
        let Some(last) = last else { return };
        let max_before = begin.of_kind(part.role, part.kind, part.max);
        let max_after = end.of_kind(part.role, part.kind, part.max);
        // A page has the largest of all time: where it did not rise, this part's was below it.
        let max_ns = if max_after > max_before {
            max_after
        } else {
            max_after.min(bucket_floor_ns(last + 1))
        };
        self.max_ns = self.max_ns.max(max_ns);
    }

    fn times(&self) -> Option<Times> {
        let count: u64 = self.buckets.iter().sum();
        if count == 0 {
            return None;
        }
        let us = |ns: u64| ns as f64 / 1e3;
        Some(Times {
            mean_us: us(self.sum_ns) / count as f64,
            p50_us: us(self.percentile_ns(count, 50)),
            p95_us: us(self.percentile_ns(count, 95)),
            p99_us: us(self.percentile_ns(count, 99)),
            max_us: us(self.max_ns),
        })
    }

    /// The middle of the bucket that holds this rank, and no more than the largest.
    fn percentile_ns(&self, count: u64, percent: u64) -> u64 {
        let rank = (count * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (bucket, occurrences) in self.buckets.iter().enumerate() {
            seen += occurrences;
            if seen >= rank {
                let middle = u64::midpoint(bucket_floor_ns(bucket), bucket_floor_ns(bucket + 1));
                return middle.min(self.max_ns);
            }
        }
        self.max_ns
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::Delta;
    use device::Role;
    use device::page::{
        Global, Histogram, Kind, OfKind, OfRole, Snapshot, bucket_of, bucket_word, global_word,
        kind_word, role_word,
    };
    use std::time::Duration;

    /// A page that is written as the shim would.
    struct Page(Vec<u8>);

    impl Page {
        fn add(&mut self, word: usize, value: u64) {
            let bytes = &mut self.0[word * 8..][..8];
            let old = u64::from_ne_bytes(bytes.try_into().unwrap());
            bytes.copy_from_slice(&(old + value).to_ne_bytes());
        }

        fn requests(&mut self, role: Role, kind: Kind, count: u64, ns: u64) {
            self.add(kind_word(role, kind, OfKind::Requests), count);
            self.add(kind_word(role, kind, OfKind::Bytes), count * 4096);
            self.add(kind_word(role, kind, OfKind::ResponseSumNs), count * ns);
            self.add(
                bucket_word(role, kind, Histogram::Response, bucket_of(ns)),
                count,
            );
        }

        fn snapshot(&self) -> Snapshot {
            Snapshot::decode(&self.0).unwrap()
        }
    }

    fn close(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() <= expected.abs() / 16.0,
            "{value} {expected}"
        );
    }

    #[test]
    fn only_what_happened_in_between_counts() {
        let mut page = Page(Snapshot::fresh());
        page.requests(Role::Data, Kind::Read, 1000, 9_000_000);
        page.add(
            kind_word(Role::Data, Kind::Read, OfKind::ResponseMaxNs),
            9_000_000,
        );
        let begin = page.snapshot();
        page.requests(Role::Data, Kind::Read, 98, 100_000);
        page.requests(Role::Data, Kind::Read, 2, 4_000_000);
        page.requests(Role::Redo, Kind::Write, 50, 200_000);
        page.add(
            kind_word(Role::Redo, Kind::Write, OfKind::ResponseMaxNs),
            200_000,
        );
        page.add(role_word(Role::Data, OfRole::OutstandingNs), 6_000_000_000);
        page.add(role_word(Role::Data, OfRole::BusyNs), 1_000_000_000);
        let delta = Delta::between(&begin, &page.snapshot(), Duration::from_secs(2));

        let data = delta.role(Role::Data).unwrap();
        assert_eq!((data.reads.requests, data.reads.bytes), (100, 409_600));
        close(data.reads.requests_per_s, 50.0);
        close(data.mean_queue_depth, 3.0);
        assert_eq!(data.busy_share, Some(0.5));
        let times = data.reads.response.unwrap();
        close(times.mean_us, 178.0);
        close(times.p50_us, 100.0);
        close(times.p99_us, 4000.0);
        // The largest is of before; this part's is known by its bucket.
        close(times.max_us, 4000.0);
        assert_eq!(data.writes.response, None);
        assert_eq!(data.reads.service, None);

        let redo = delta.role(Role::Redo).unwrap();
        assert_eq!(redo.writes.response.unwrap().max_us, 200.0);
        assert_eq!(delta.total.reads.requests, 100);
        assert_eq!(delta.total.writes.requests, 50);
        assert_eq!(delta.warnings(), Vec::<String>::new());
    }

    #[test]
    fn doubts_are_told() {
        let mut page = Page(Snapshot::fresh());
        let begin = page.snapshot();
        for (word, value) in [
            (OfRole::Judged, 1000),
            (OfRole::WithinTolerance, 970),
            (OfRole::Overruns, 20),
            (OfRole::LateNs, 5_000_000),
        ] {
            page.add(role_word(Role::Redo, word), value);
        }
        page.add(role_word(Role::Data, OfRole::Judged), 100);
        page.add(role_word(Role::Data, OfRole::WithinTolerance), 90);
        page.add(global_word(Global::UringRefused), 1);
        page.add(global_word(Global::ModelFull), 3);
        page.add(global_word(Global::CacheHits), 3);
        page.add(global_word(Global::CacheMisses), 1);
        let delta = Delta::between(&begin, &page.snapshot(), Duration::from_secs(1));
        let redo = delta.role(Role::Redo).unwrap();
        assert_eq!(redo.fidelity_share, Some(0.97));
        assert_eq!(redo.overrun_share, Some(0.02));
        assert_eq!(redo.lateness_mean_us, Some(5.0));
        assert_eq!(delta.process.cache_hit_ratio, Some(0.75));
        let warnings = delta.warnings();
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert!(warnings[0].contains("data completed") || warnings[0].contains("of data"));
        assert!(warnings[1].contains("2.0 %"), "{warnings:?}");
        assert!(warnings[3].contains("io_uring"), "{warnings:?}");
    }
}
