//! The shim's counters of a managed server, by role.

use crate::error::ObserveResult;
use crate::proc_file::as_stored;
use crate::readings::{Readings, SampleSource};
use crate::waits::WaitStacks;
use device::Role;
use device::page::{AccessKind, Global, OfKind, OfRole, Snapshot};
use std::sync::atomic::AtomicBool;
use storage::ShimPage;
use store::MetricSource::Shim;

/// The page of a server that runs under the shim.
pub struct ShimSource {
    page: ShimPage,
    waits: WaitStacks,
}

impl ShimSource {
    pub fn new(page: ShimPage) -> ShimSource {
        ShimSource { page, waits: WaitStacks::default() }
    }
}

impl SampleSource for ShimSource {
    fn title(&self) -> &'static str {
        "the shim's counters"
    }

    fn read(&mut self, into: &mut Readings, _stop: &AtomicBool) -> ObserveResult<()> {
        let page = self.page.snapshot()?;
        into.taken_now();
        // Those without a request too: their zeros are true, and a rate over the time of the first
        // request needs one.
        for role in Role::ALL {
            add_role(&page, role, into);
        }
        let global = |word| as_stored(page.global(word));
        into.gauge(Shim, "cache_pages", "", global(Global::CachePages));
        into.gauge(Shim, "cache_dirty_pages", "", global(Global::CacheDirtyPages));
        into.counter(Shim, "cache_hits", "", global(Global::CacheHits));
        into.counter(Shim, "cache_misses", "", global(Global::CacheMisses));
        into.counter(Shim, "spin_ns", "", global(Global::SpinNs));
        if page.global(Global::NoAccount) != 0 {
            return Ok(());
        }
        for (name, word) in [
            ("session_active_ns", Global::SessionActiveNs),
            ("session_sleep_ns", Global::SessionSleepNs),
            ("session_blocked_ns", Global::SessionBlockedNs),
            ("session_spin_ns", Global::SessionSpinNs),
        ] {
            into.counter(Shim, name, "", global(word));
        }
        for (cause, ns) in self.waits.by_cause(&page) {
            into.counter(Shim, "session_wait_ns", &cause, as_stored(ns));
        }
        Ok(())
    }
}

fn add_role(page: &Snapshot, role: Role, into: &mut Readings) {
    for (name, kind, word) in [
        ("reads", AccessKind::Read, OfKind::Requests),
        ("read_bytes", AccessKind::Read, OfKind::Bytes),
        ("read_response_ns", AccessKind::Read, OfKind::ResponseSumNs),
        ("writes", AccessKind::Write, OfKind::Requests),
        ("write_bytes", AccessKind::Write, OfKind::Bytes),
        ("write_response_ns", AccessKind::Write, OfKind::ResponseSumNs),
        ("flushes", AccessKind::Flush, OfKind::Requests),
        ("flush_response_ns", AccessKind::Flush, OfKind::ResponseSumNs),
        ("session_read_ns", AccessKind::Read, OfKind::SessionNs),
        ("session_write_ns", AccessKind::Write, OfKind::SessionNs),
        ("session_flush_ns", AccessKind::Flush, OfKind::SessionNs),
    ] {
        let value = page.of_kind(role, kind, word);
        into.counter(Shim, name, role.name(), as_stored(value));
    }
    for (name, word) in [
        ("busy_ns", OfRole::BusyNs),
        ("outstanding_ns", OfRole::OutstandingNs),
        ("overruns", OfRole::Overruns),
        ("judged", OfRole::Judged),
        ("within_tolerance", OfRole::WithinTolerance),
        ("programmed_bytes", OfRole::ProgrammedBytes),
    ] {
        let value = page.of_role(role, word);
        into.counter(Shim, name, role.name(), as_stored(value));
    }
    for (name, word) in [("outstanding", OfRole::Outstanding), ("unsettled", OfRole::Unsettled)] {
        into.gauge(Shim, name, role.name(), as_stored(page.of_role(role, word)));
    }
}

#[cfg(test)]
mod tests {
    use super::ShimSource;
    use crate::error::ObserveResult;
    use crate::readings::{Readings, SampleSource};
    use base::WaitCause;
    use device::Role;
    use device::page::{
        AccessKind, Global, OfKind, OfRole, Snapshot, global_word, kind_word, role_word,
    };
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use storage::ShimPage;

    fn read(directory: &Path) -> ObserveResult<Readings> {
        let mut readings = Readings::default();
        let mut source = ShimSource::new(ShimPage::in_directory(directory));
        source.read(&mut readings, &AtomicBool::new(false))?;
        Ok(readings)
    }

    fn put(page: &mut [u8], word: usize, value: u64) {
        page[word * 8..][..8].copy_from_slice(&value.to_ne_bytes());
    }

    /// A page with other numbers in all words.
    fn page() -> Vec<u8> {
        let mut page = Snapshot::fresh();
        let globals = [
            Global::CachePages,
            Global::CacheDirtyPages,
            Global::CacheHits,
            Global::CacheMisses,
            Global::SpinNs,
            Global::SessionActiveNs,
            Global::SessionSleepNs,
            Global::SessionSpinNs,
            Global::SessionBlockedNs,
        ];
        for (word, value) in globals.into_iter().zip(70..) {
            put(&mut page, global_word(word), value);
        }
        for (kind, requests) in
            [(AccessKind::Read, 10), (AccessKind::Write, 20), (AccessKind::Flush, 30)]
        {
            let words = [OfKind::Requests, OfKind::Bytes, OfKind::ResponseSumNs, OfKind::SessionNs];
            for (word, value) in words.into_iter().zip(requests..) {
                put(&mut page, kind_word(Role::Redo, kind, word), value);
            }
        }
        let of_role = [
            OfRole::Outstanding,
            OfRole::BusyNs,
            OfRole::OutstandingNs,
            OfRole::Judged,
            OfRole::WithinTolerance,
            OfRole::Overruns,
            OfRole::ProgrammedBytes,
            OfRole::Unsettled,
        ];
        for (word, value) in of_role.into_iter().zip(40..) {
            put(&mut page, role_word(Role::Redo, word), value);
        }
        put(&mut page, kind_word(Role::Binlog, AccessKind::Flush, OfKind::Requests), 5);
        page
    }

    #[test]
    fn every_role_is_told() {
        let temp = tempfile::tempdir().unwrap();
        let page = page();
        std::fs::write(temp.path().join(ShimPage::FILE), page).unwrap();
        let readings = read(temp.path()).unwrap();
        for (name, label, value) in [
            ("reads", "redo", 10),
            ("read_bytes", "redo", 11),
            ("read_response_ns", "redo", 12),
            ("writes", "redo", 20),
            ("write_bytes", "redo", 21),
            ("write_response_ns", "redo", 22),
            ("flushes", "redo", 30),
            ("flush_response_ns", "redo", 32),
            ("outstanding", "redo", 40),
            ("busy_ns", "redo", 41),
            ("outstanding_ns", "redo", 42),
            ("judged", "redo", 43),
            ("within_tolerance", "redo", 44),
            ("overruns", "redo", 45),
            ("session_read_ns", "redo", 13),
            ("session_write_ns", "redo", 23),
            ("session_flush_ns", "redo", 33),
            ("programmed_bytes", "redo", 46),
            ("unsettled", "redo", 47),
            ("reads", "binlog", 0),
            ("flushes", "binlog", 5),
            ("cache_pages", "", 70),
            ("cache_dirty_pages", "", 71),
            ("cache_hits", "", 72),
            ("cache_misses", "", 73),
            ("spin_ns", "", 74),
            ("session_active_ns", "", 75),
            ("session_sleep_ns", "", 76),
            ("session_spin_ns", "", 77),
            ("session_blocked_ns", "", 78),
            ("session_wait_ns", "row_lock", 0),
        ] {
            assert_eq!(readings.value(name, label), Some(value), "{name} {label}");
        }
        // Before its first request a role has done nothing, which is known.
        assert_eq!(readings.value("reads", "data"), Some(0));
        assert_eq!(readings.values().len(), Role::ALL.len() * 19 + 9 + WaitCause::ALL.len());
    }

    #[test]
    fn a_page_that_is_none_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        assert!(read(temp.path()).is_err());
        std::fs::write(temp.path().join(ShimPage::FILE), "no page").unwrap();
        let error = read(temp.path()).unwrap_err().to_string();
        assert!(error.starts_with("cannot read the shim's counters: "), "{error}");
    }
}
