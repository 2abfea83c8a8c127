//! How good an emulation was between two copies of the shim's page: what verdicts and warnings
//! need. Results have numbers of their own, which `lab` and `store` take from the same copies.

use device::Role;
use device::page::{AccessKind, Global, OfKind, OfRole, Snapshot};

/// Above this share of overruns the host, not the device, was measured.
const OVERRUN_SHARE_MAX: f64 = 0.01;
/// Below this share of requests in time the emulation is not what it says.
const FIDELITY_SHARE_MIN: f64 = 0.99;

/// The difference of two copies of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    rise: Snapshot,
    end: Snapshot,
}

/// Did emulated requests complete when the model said? `None` without any.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Timeliness {
    /// The share that completed within 2 % or 20 us of their due time, of those that somebody
    /// waited for then.
    pub(crate) fidelity_share: Option<f64>,
    /// The share for which the host needed longer than the model.
    pub(crate) overrun_share: Option<f64>,
}

/// Means over the requests of one kind, or more; `None` without any.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct KindTimes {
    /// From a request to its completion.
    pub(crate) response_us: Option<f64>,
    /// How long after its due time it completed.
    pub(crate) lateness_us: Option<f64>,
}

impl Delta {
    /// What happened from one copy to a later one of the same process. How long it took does not
    /// matter to shares and means.
    pub fn between(begin: &Snapshot, end: &Snapshot) -> Delta {
        Delta { rise: end.since(begin), end: end.clone() }
    }

    /// Of these roles together.
    pub(crate) fn timeliness(&self, roles: &[Role]) -> Timeliness {
        let rise = |word| roles.iter().map(|role| self.rise.of_role(*role, word)).sum();
        let served = roles.iter().map(|role| self.rise.emulated_requests(*role)).sum();
        Timeliness {
            fidelity_share: share([rise(OfRole::WithinTolerance), rise(OfRole::Judged)]),
            overrun_share: share([rise(OfRole::Overruns), served]),
        }
    }

    /// Of all roles, and of these kinds, together.
    pub(crate) fn kinds(&self, kinds: &[AccessKind]) -> KindTimes {
        let of = |kind, word| Role::ALL.map(|role| self.rise.of_kind(role, kind, word));
        let rise = |word| kinds.iter().flat_map(|kind| of(*kind, word)).sum();
        let mean_us = |sum_ns, count| share([sum_ns, count]).map(|mean_ns| mean_ns / 1e3);
        KindTimes {
            response_us: mean_us(rise(OfKind::ResponseSumNs), rise(OfKind::Requests)),
            lateness_us: mean_us(rise(OfKind::LateNs), rise(OfKind::Judged)),
        }
    }

    /// What makes these numbers doubtful, for people, with what to do.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut late = Vec::new();
        for role in Role::ALL {
            let timeliness = self.timeliness(&[role]);
            let role = role.name();
            let above = |share: &f64| *share > OVERRUN_SHARE_MAX;
            let below = |share: &f64| *share < FIDELITY_SHARE_MIN;
            if let Some(share) = timeliness.overrun_share.filter(above) {
                warnings.push(format!(
                    "the host was slower than the emulated device of {role} for {:.1} % of its \
                     requests: the numbers are partly the host's; use a host with more cores or \
                     memory, or fewer connections (`mydyno device verify` shows its limits)",
                    share * 100.0
                ));
            } else if let Some(share) = timeliness.fidelity_share.filter(below) {
                late.push(format!("{role} {:.1} %", (1.0 - share) * 100.0));
            }
        }
        if !late.is_empty() {
            warnings.push(format!(
                "of the requests to emulated devices, these were more than 2 % and 20 us late: {}; \
                 a thread that has to wait for a core is late behind a real device too, so look at \
                 the host's CPU before you doubt the devices",
                late.join(", ")
            ));
        }
        // Files are not seen, and io_uring and maps refused, when the process starts.
        for (count, what) in [
            (
                self.rise.global(Global::ModelFull),
                "requests were not emulated, because more were outstanding than the model holds; \
                 lower the connections or innodb_*_io_threads",
            ),
            (
                self.end.global(Global::FilesUnseen),
                "files were not seen by the shim, because too many were open; lower \
                 innodb_open_files and table_open_cache",
            ),
            (
                self.end.global(Global::UringRefused),
                "attempts to use io_uring were refused, so that the server fell back to I/O that \
                 the shim sees",
            ),
            (
                self.end.global(Global::MapsRefused),
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

/// `None` of nothing.
fn share([of, all]: [u64; 2]) -> Option<f64> {
    (all > 0).then(|| of as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::Delta;
    use device::Role;
    use device::page::{
        AccessKind, Global, Histogram, OfKind, OfRole, Snapshot, bucket_word, global_word,
        kind_word, role_word,
    };

    /// A page that is written as the shim would.
    struct Page(Vec<u8>);

    impl Page {
        fn add(&mut self, word: usize, value: u64) {
            let bytes = &mut self.0[word * 8..][..8];
            let old = u64::from_ne_bytes(bytes.try_into().unwrap());
            bytes.copy_from_slice(&(old + value).to_ne_bytes());
        }

        fn requests(&mut self, role: Role, kind: AccessKind, count: u64, ns: u64) {
            self.add(kind_word(role, kind, OfKind::Requests), count);
            self.add(kind_word(role, kind, OfKind::ResponseSumNs), count * ns);
        }

        fn since(&self, begin: &Snapshot) -> Delta {
            Delta::between(begin, &self.snapshot())
        }

        fn snapshot(&self) -> Snapshot {
            Snapshot::decode(&self.0).unwrap()
        }
    }

    #[test]
    fn only_what_happened_in_between_counts() {
        let mut page = Page(Snapshot::fresh());
        page.requests(Role::Data, AccessKind::Read, 1000, 9_000_000);
        page.add(role_word(Role::Data, OfRole::Judged), 1000);
        page.add(role_word(Role::Data, OfRole::Overruns), 500);
        let begin = page.snapshot();
        page.requests(Role::Data, AccessKind::Read, 98, 100_000);
        page.requests(Role::Redo, AccessKind::Read, 2, 5_100_000);
        page.add(kind_word(Role::Redo, AccessKind::Read, OfKind::Judged), 2);
        page.add(kind_word(Role::Redo, AccessKind::Read, OfKind::LateNs), 9000);
        let delta = page.since(&begin);
        let reads = delta.kinds(&[AccessKind::Read]);
        assert_eq!(reads.response_us, Some(200.0));
        assert_eq!(reads.lateness_us, Some(4.5));
        assert_eq!(delta.kinds(&[AccessKind::Flush]), super::KindTimes::default());
        assert_eq!(delta.timeliness(&Role::ALL).overrun_share, None);
        assert_eq!(delta.warnings(), Vec::<String>::new());
    }

    #[test]
    fn doubts_are_told() {
        let mut page = Page(Snapshot::fresh());
        let begin = page.snapshot();
        for (word, value) in
            [(OfRole::Judged, 900), (OfRole::WithinTolerance, 870), (OfRole::Overruns, 18)]
        {
            page.add(role_word(Role::Redo, word), value);
        }
        page.add(role_word(Role::Data, OfRole::Judged), 100);
        page.add(role_word(Role::Data, OfRole::WithinTolerance), 90);
        // More were served than somebody waited for.
        for (role, served) in [(Role::Redo, 1000), (Role::Data, 1000)] {
            let bucket = bucket_word(role, AccessKind::Write, Histogram::Service, 7);
            page.add(bucket, served);
        }
        page.add(global_word(Global::UringRefused), 1);
        page.add(global_word(Global::ModelFull), 3);
        let delta = page.since(&begin);
        assert_eq!(delta.timeliness(&Role::ALL).fidelity_share, Some(0.96));
        assert_eq!(delta.timeliness(&Role::ALL).overrun_share, Some(0.009));
        let warnings = delta.warnings();
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert!(warnings[0].contains("1.8 %") && warnings[0].contains("of redo"));
        assert!(warnings[1].contains("late: data 10.0 %"), "{warnings:?}");
        assert!(warnings[2].starts_with("3 requests"), "{warnings:?}");
        assert!(warnings[3].contains("io_uring"), "{warnings:?}");
    }
}
