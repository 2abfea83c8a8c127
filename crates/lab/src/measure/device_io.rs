//! What the storage of servers does in the window, as the shim counts it.

use crate::error::LabResult;
use crate::target::subject::Subject;
use base::Instant;
use device::Role;
use device::page::{
    AccessKind, BUCKETS, Global, Histogram, OfKind, OfRole, Snapshot, bucket_floor_ns,
};
use itertools::Itertools;
use storage::{Delta, ShimPage};
use store::{DeviceIo, RequestIo, RequestKind, RoleIo, ShimFacts, TimeTotals, empty_histogram};

/// The shim's counters at the begin and the end of a window, of all servers.
pub(crate) struct WindowIo<'a> {
    pages: Vec<&'a ShimPage>,
    begin: Option<LabResult<Reading>>,
    end: Option<LabResult<Reading>>,
}

struct Reading {
    at: Instant,
    /// Of each server.
    counters: Vec<Snapshot>,
}

impl<'a> WindowIo<'a> {
    /// Of a server that may have no shim.
    pub(crate) fn of(subject: &'a Subject) -> WindowIo<'a> {
        WindowIo { pages: subject.pages().collect(), begin: None, end: None }
    }

    pub(crate) fn begins(&mut self) {
        self.begin = Some(self.read());
    }

    pub(crate) fn ends(&mut self) {
        self.end = Some(self.read());
    }

    fn read(&self) -> LabResult<Reading> {
        let counters = self.pages.iter().map(|page| page.snapshot()).collect::<Result<_, _>>()?;
        Ok(Reading { at: Instant::now(), counters })
    }

    /// What was counted, and what makes it doubtful; `None` without a shim or a whole window.
    ///
    /// # Errors
    /// Where the counters could not be read.
    pub(crate) fn counted(self) -> LabResult<Option<(DeviceIo, Vec<String>)>> {
        let (begin, end) = (self.begin.transpose()?, self.end.transpose()?);
        let (Some(page), Some(begin), Some(end)) = (self.pages.first(), begin, end) else {
            return Ok(None);
        };
        let counted_ns = (end.at - begin.at).as_nanos() as u64;
        let both = || begin.counters.iter().zip(&end.counters);
        let all = both().flat_map(|(before, after)| Delta::between(before, after).warnings());
        let warnings = all.unique().collect();
        let rise = Snapshot::sum(both().map(|(before, after)| after.since(before)));
        let counted = CountedRise { rise, ends: &end.counters };
        let io = DeviceIo {
            shim: counted.shim_facts(page.setup_text()?),
            roles: Role::ALL
                .into_iter()
                .map(|role| counted.role_io(role, counted_ns))
                .filter(|role| role.requests.iter().any(|kind| kind.requests > 0))
                .collect(),
        };
        Ok(Some((io, warnings)))
    }
}

/// What was counted in a window.
struct CountedRise<'a> {
    /// Of all servers together.
    rise: Snapshot,
    /// What each of them says at the end.
    ends: &'a [Snapshot],
}

impl CountedRise<'_> {
    /// The greatest of what all servers say at the end.
    fn greatest(&self, of: impl Fn(&Snapshot) -> u64) -> u64 {
        self.ends.iter().map(of).max().unwrap_or(0)
    }

    fn shim_facts(&self, setup: String) -> ShimFacts {
        let rise = |word| self.rise.global(word);
        let last = |word| self.ends.iter().map(|page| page.global(word)).sum();
        ShimFacts {
            setup,
            cache_hits: rise(Global::CacheHits),
            cache_misses: rise(Global::CacheMisses),
            cache_pages: last(Global::CachePages),
            cache_dirty_pages: last(Global::CacheDirtyPages),
            uring_refused: last(Global::UringRefused),
            model_full: last(Global::ModelFull),
            files_unseen: last(Global::FilesUnseen),
            maps_refused: last(Global::MapsRefused),
            model_ns: rise(Global::ModelNs),
            model_calls: rise(Global::ModelCalls),
            spin_ns: rise(Global::SpinNs),
        }
    }

    fn role_io(&self, role: Role, counted_ns: u64) -> RoleIo {
        let rise = |word| self.rise.of_role(role, word);
        RoleIo {
            role: role.name().to_owned(),
            counted_ns,
            outstanding_max: self.greatest(|page| page.of_role(role, OfRole::OutstandingMax)),
            // The share of time that a server has something outstanding: of several, the mean.
            busy_ns: rise(OfRole::BusyNs) / self.ends.len().max(1) as u64,
            outstanding_ns: rise(OfRole::OutstandingNs),
            judged: rise(OfRole::Judged),
            within_tolerance: rise(OfRole::WithinTolerance),
            late_ns: rise(OfRole::LateNs),
            overruns: rise(OfRole::Overruns),
            requests: AccessKind::ALL.map(|kind| self.request_io(role, kind)).into(),
        }
    }

    fn request_io(&self, role: Role, kind: AccessKind) -> RequestIo {
        let rise = |word| self.rise.of_kind(role, kind, word);
        let times = |histogram, sum, max| {
            let buckets = self.rise.buckets(role, kind, histogram).iter().copied();
            let max_ns = self.greatest(|page| page.of_kind(role, kind, max));
            TimeTotals { sum_ns: rise(sum), ..times_of(buckets, max_ns) }
        };
        RequestIo {
            kind: match kind {
                AccessKind::Read => RequestKind::Read,
                AccessKind::Write => RequestKind::Write,
                AccessKind::Flush => RequestKind::Flush,
            },
            requests: rise(OfKind::Requests),
            bytes: rise(OfKind::Bytes),
            response: times(Histogram::Response, OfKind::ResponseSumNs, OfKind::ResponseMaxNs),
            service: times(Histogram::Service, OfKind::ServiceSumNs, OfKind::ServiceMaxNs),
        }
    }
}

/// A histogram of the store from the counts of buckets, which do not tell the sum; `max_ns` is that
/// of the server's whole life, which the window's does not exceed.
fn times_of(buckets: impl Iterator<Item = u64>, max_ns: u64) -> TimeTotals {
    let mut histogram = empty_histogram();
    let mut last = None;
    for (bucket, count) in buckets.enumerate().filter(|(_, count)| *count > 0) {
        let floor_ns = bucket_floor_ns(bucket);
        let next_ns = bucket_floor_ns((bucket + 1).min(BUCKETS - 1)).max(floor_ns + 1);
        let middle_ns = floor_ns + (next_ns - floor_ns) / 2;
        histogram
            .record_n(middle_ns, count)
            .expect("a histogram that resizes itself takes any time below 2^63 ns");
        last = Some(next_ns - 1);
    }
    TimeTotals {
        histogram,
        max_ns: last.map_or(0, |last| last.min(max_ns)),
        ..TimeTotals::default()
    }
}

#[cfg(test)]
mod tests {
    use super::{CountedRise, times_of};
    use device::Role;
    use device::page::{
        AccessKind, Histogram, OfKind, OfRole, Snapshot, bucket_of, bucket_word, kind_word,
        role_word,
    };
    use store::RequestKind;

    fn page(words: &[(usize, u64)]) -> Snapshot {
        let mut bytes = Snapshot::fresh();
        for (word, value) in words {
            bytes[word * 8..word * 8 + 8].copy_from_slice(&value.to_ne_bytes());
        }
        Snapshot::decode(&bytes).unwrap()
    }

    #[test]
    fn the_window_is_the_difference_of_two_readings() {
        let kind = |word| kind_word(Role::Redo, AccessKind::Write, word);
        let bucket =
            |ns| bucket_word(Role::Redo, AccessKind::Write, Histogram::Response, bucket_of(ns));
        let before = page(&[
            (kind(OfKind::Requests), 5),
            (kind(OfKind::ResponseMaxNs), 9_000_000),
            (bucket(9_000_000), 5),
            (role_word(Role::Redo, OfRole::Judged), 5),
            (role_word(Role::Redo, OfRole::BusyNs), 50),
        ]);
        let after = page(&[
            (kind(OfKind::Requests), 105),
            (kind(OfKind::Bytes), 51_200),
            (kind(OfKind::ResponseSumNs), 2_000_000),
            (kind(OfKind::ResponseMaxNs), 9_000_000),
            (bucket(9_000_000), 5),
            (bucket(20_000), 100),
            (role_word(Role::Redo, OfRole::Judged), 105),
            (role_word(Role::Redo, OfRole::BusyNs), 750),
            (role_word(Role::Redo, OfRole::WithinTolerance), 99),
        ]);
        let role_io = |servers: usize| {
            let ends = vec![after.clone(); servers];
            let rise = Snapshot::sum(ends.iter().map(|after| after.since(&before)));
            CountedRise { rise, ends: &ends }.role_io(Role::Redo, 1_000)
        };
        let io = role_io(1);
        assert_eq!((io.judged, io.within_tolerance), (100, 99));
        let write = &io.requests[1];
        assert_eq!(write.kind, RequestKind::Write);
        assert_eq!((write.requests, write.bytes), (100, 51_200));
        assert_eq!(write.response.mean_ns(), Some(20_000.0));
        // What was before the window is no part of it, nor is its maximum.
        let max_ns = write.response.max_ns().unwrap();
        assert!((20_000..22_000).contains(&max_ns), "{max_ns}");
        let median_ns = write.response.quantile_ns(0.5).unwrap();
        assert!((19_000..21_500).contains(&median_ns), "{median_ns}");
        assert_eq!(io.requests[0].requests, 0);
        // Servers that are driven together have done both.
        let both = role_io(2);
        assert_eq!((both.judged, both.requests[1].requests), (200, 200));
        assert_eq!(both.requests[1].response.mean_ns(), Some(20_000.0));
        assert_eq!(both.requests[1].response.max_ns(), Some(max_ns));
        assert_eq!((io.busy_ns, both.busy_ns), (700, 700));
    }

    #[test]
    fn the_last_bucket_has_no_end() {
        let last = [0, 0, 1]
            .into_iter()
            .chain(std::iter::repeat_n(0, device::page::BUCKETS - 4))
            .chain([1]);
        let times = times_of(last, 1 << 50);
        assert_eq!(times.count(), 2);
        assert!(times.max_ns > 1 << 39);
    }
}
