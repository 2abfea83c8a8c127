//! Where a private server's files are, and what its storage does in the window.
//!
//! The shim emulates while it is armed. That is from just before the warm-up until the last transaction has ended: starting
//! a server and proving its database are not what is measured, and on a slow device they would take longer than the run.

use crate::error::LabError;
use crate::subject::Subject;
use device::Role;
use device::page::{
    AccessKind, BUCKETS, Global, Histogram, OfKind, OfRole, Snapshot, bucket_floor_ns,
};
use server::{ServerBuild, Storage};
use std::path::{Path, PathBuf};
use std::time::Instant;
use storage::{Arrangement, Delta, RoleDevice, ShimPage};
use store::{
    CellPlace, DeviceIo, RequestIo, RequestKind, RoleIo, ShimFacts, TimeTotals, empty_histogram,
};

/// Where the files of a server are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placed {
    pub(crate) places: Vec<CellPlace>,
    /// Where the server runs under the shim.
    pub(crate) page: Option<ShimPage>,
    /// For people.
    pub(crate) notes: Vec<String>,
    /// Directories of roles that are not where data is.
    pub(crate) scratch: Vec<PathBuf>,
}

impl Placed {
    /// What was arranged for a server whose own directory this is.
    pub(crate) fn of(arranged: &Arrangement, directory: &Path) -> Placed {
        let has_page = |(name, _): &(String, Vec<u8>)| name == ShimPage::FILE;
        Placed {
            places: places_of(arranged),
            page: arranged
                .files
                .iter()
                .any(has_page)
                .then(|| ShimPage::of(directory)),
            notes: arranged.notes.clone(),
            scratch: arranged.scratch.clone(),
        }
    }

    /// Refuses a server that was to run under the shim and does not: its devices would be this machine's.
    pub(crate) fn require_shim(&self, build: &ServerBuild) -> Result<(), LabError> {
        match &self.page {
            Some(page) if !page.is_taken()? => Err(LabError::Unfit(format!(
                "{} {} has not loaded the shim, which devices are emulated and counted with; see its log for what the loader \
                 said, and run without places",
                build.engine, build.version
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses devices that should be emulated and are not: those of a named server that is being stopped.
    pub(crate) fn require_armed(&self) -> Result<(), LabError> {
        let Some(page) = &self.page else {
            return Ok(());
        };
        let is_emulated = self.places.iter().any(|place| place.emulated);
        if !is_emulated || page.snapshot()?.global(Global::Armed) != 0 {
            return Ok(());
        }
        Err(LabError::Unfit(
            "the server's devices are not emulated now: it is being started or stopped; stop it (`mydyno server stop`), and \
             start it again"
                .to_owned(),
        ))
    }

    /// Where the server crashed, where it did under the shim.
    pub(crate) fn crash(&self) -> Option<String> {
        let page = self.page.as_ref()?.snapshot().ok()?;
        let signal = page.global(Global::CrashSignal);
        (signal != 0).then(|| {
            if page.global(Global::CrashInside) == 0 {
                format!("the crash (signal {signal}) was outside mydyno's shim")
            } else {
                format!("the crash (signal {signal}) was inside mydyno's shim: please report it")
            }
        })
    }
}

/// What was arranged, for results.
pub(crate) fn places_of(arranged: &Arrangement) -> Vec<CellPlace> {
    let place = |device: &RoleDevice| CellPlace {
        role: device.role.name().to_owned(),
        device: device.device.clone(),
        emulated: device.emulated,
        profile_fingerprint: device.profile_fingerprint.clone(),
        backing: device.backing.clone(),
    };
    arranged.devices.iter().map(place).collect()
}

/// What the data directory lies on.
pub(crate) fn storage_of(arranged: &Arrangement) -> Storage {
    if arranged.data_is_emulated() {
        Storage::Emulated
    } else {
        Storage::Real
    }
}

impl Subject {
    /// From now on the devices of a private server are emulated, or from now on they are not. Nothing where it has no shim.
    /// A named server is the user's, for whom its devices are at work all the time.
    pub(crate) fn arm(&self, armed: bool) -> Result<(), LabError> {
        if self.is_private() {
            for page in self.pages() {
                page.arm(armed)?;
            }
        }
        Ok(())
    }

    /// A private server's are armed later.
    pub(crate) fn require_armed(&self) -> Result<(), LabError> {
        if self.is_private() {
            return Ok(());
        }
        self.placed.require_armed()
    }
}

/// The shim's counters at the begin and the end of a window, of all servers.
pub(crate) struct WindowIo<'a> {
    pages: Vec<&'a ShimPage>,
    begin: Option<Reading>,
    end: Option<Reading>,
    failed: Option<LabError>,
}

struct Reading {
    at: Instant,
    /// Of each server.
    counters: Vec<Snapshot>,
}

impl<'a> WindowIo<'a> {
    /// Of a server that may have no shim.
    pub(crate) fn of(subject: &'a Subject) -> WindowIo<'a> {
        WindowIo {
            pages: subject.pages().collect(),
            begin: None,
            end: None,
            failed: None,
        }
    }

    pub(crate) fn begins(&mut self) {
        self.begin = self.read();
    }

    pub(crate) fn ends(&mut self) {
        self.end = self.read();
    }

    fn read(&mut self) -> Option<Reading> {
        let mut counters = Vec::with_capacity(self.pages.len());
        for page in &self.pages {
            match page.snapshot() {
                Ok(snapshot) => counters.push(snapshot),
                Err(error) => {
                    self.failed.get_or_insert(error.into());
                    return None;
                }
            }
        }
        (!counters.is_empty()).then(|| Reading {
            at: Instant::now(),
            counters,
        })
    }

    /// What was counted, and what makes it doubtful; `None` without a shim or a whole window.
    ///
    /// # Errors
    /// Where the counters could not be read.
    pub(crate) fn counted(self) -> Result<Option<(DeviceIo, Vec<String>)>, LabError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let (Some(page), Some(begin), Some(end)) = (self.pages.first(), self.begin, self.end)
        else {
            return Ok(None);
        };
        let counted_ns = end.at.duration_since(begin.at).as_nanos() as u64;
        let both = || begin.counters.iter().zip(&end.counters);
        let mut warnings = Vec::new();
        for warning in both().flat_map(|(before, after)| Delta::between(before, after).warnings()) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        let rises: Vec<Rise<'_>> = both()
            .map(|(before, after)| Rise { before, after })
            .collect();
        let io = DeviceIo {
            shim: shim_facts(page.setup_text()?, &rises),
            roles: Role::ALL
                .into_iter()
                .map(|role| role_io(role, &rises, counted_ns))
                .filter(|role| role.requests.iter().any(|kind| kind.requests > 0))
                .collect(),
        };
        Ok(Some((io, warnings)))
    }
}

/// What a server's counters were and became.
struct Rise<'a> {
    before: &'a Snapshot,
    after: &'a Snapshot,
}

/// By how much a counter rose, on all servers.
fn rise(rises: &[Rise<'_>], of: impl Fn(&Snapshot) -> u64) -> u64 {
    let each = rises.iter();
    each.map(|one| of(one.after).saturating_sub(of(one.before)))
        .sum()
}

/// The greatest of what all servers say at the end.
fn greatest(rises: &[Rise<'_>], of: impl Fn(&Snapshot) -> u64) -> u64 {
    rises.iter().map(|one| of(one.after)).max().unwrap_or(0)
}

fn shim_facts(setup: String, rises: &[Rise<'_>]) -> ShimFacts {
    let rise = |word| rise(rises, |page| page.global(word));
    let last = |word| rises.iter().map(|one| one.after.global(word)).sum();
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

fn role_io(role: Role, rises: &[Rise<'_>], counted_ns: u64) -> RoleIo {
    let rise = |word| rise(rises, |page| page.of_role(role, word));
    RoleIo {
        role: role.name().to_owned(),
        counted_ns,
        outstanding_max: greatest(rises, |page| page.of_role(role, OfRole::OutstandingMax)),
        // The share of time that a server has something outstanding: of several, the mean.
        busy_ns: rise(OfRole::BusyNs) / rises.len().max(1) as u64,
        outstanding_ns: rise(OfRole::OutstandingNs),
        judged: rise(OfRole::Judged),
        within_tolerance: rise(OfRole::WithinTolerance),
        late_ns: rise(OfRole::LateNs),
        overruns: rise(OfRole::Overruns),
        requests: AccessKind::ALL
            .into_iter()
            .map(|kind| request_io(role, kind, rises))
            .collect(),
    }
}

fn request_io(role: Role, kind: AccessKind, rises: &[Rise<'_>]) -> RequestIo {
    let rise_of = |word| rise(rises, |page| page.of_kind(role, kind, word));
    let times = |histogram, sum, max| {
        let bucket = |at: usize| rise(rises, |page| page.buckets(role, kind, histogram)[at]);
        times_of(
            (0..BUCKETS).map(bucket),
            rise_of(sum),
            greatest(rises, |page| page.of_kind(role, kind, max)),
        )
    };
    RequestIo {
        kind: match kind {
            AccessKind::Read => RequestKind::Read,
            AccessKind::Write => RequestKind::Write,
            AccessKind::Flush => RequestKind::Flush,
        },
        requests: rise_of(OfKind::Requests),
        bytes: rise_of(OfKind::Bytes),
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

/// A histogram of the store from the counts of buckets; `max_ns` is that of the server's whole life, which the window's does
/// not exceed.
fn times_of(buckets: impl Iterator<Item = u64>, sum_ns: u64, max_ns: u64) -> TimeTotals {
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
        sum_ns,
        max_ns: last.map_or(0, |last| last.min(max_ns)),
        out_of_bounds: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{Placed, Rise, role_io, times_of};
    use device::Role;
    use device::page::{
        AccessKind, Histogram, OfKind, OfRole, Snapshot, bucket_of, bucket_word, kind_word,
        role_word,
    };
    use storage::ShimPage;
    use store::{CellPlace, RequestKind};

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
        let bucket = |ns| {
            bucket_word(
                Role::Redo,
                AccessKind::Write,
                Histogram::Response,
                bucket_of(ns),
            )
        };
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
        let rise = || Rise {
            before: &before,
            after: &after,
        };
        let io = role_io(Role::Redo, &[rise()], 1_000);
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
        let both = role_io(Role::Redo, &[rise(), rise()], 1_000);
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
        let times = times_of(last, 7, 1 << 50);
        assert_eq!(times.count(), 2);
        assert!(times.max_ns > 1 << 39);
    }

    #[test]
    fn emulated_devices_have_to_be_armed() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join(ShimPage::FILE), Snapshot::fresh()).unwrap();
        let page = ShimPage::of(temp.path());
        let mut placed = Placed {
            places: vec![CellPlace {
                role: "data".to_owned(),
                device: "hdd-15k".to_owned(),
                emulated: true,
                backing: "memory".to_owned(),
                ..CellPlace::default()
            }],
            page: Some(page.clone()),
            ..Placed::default()
        };
        assert!(placed.require_armed().is_err());
        page.arm(true).unwrap();
        placed.require_armed().unwrap();
        // What is only counted is so all the time.
        page.arm(false).unwrap();
        placed.places[0].emulated = false;
        placed.require_armed().unwrap();
    }
}
