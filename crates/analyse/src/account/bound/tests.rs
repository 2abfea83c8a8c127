use super::{Bound, BoundBy, DriverThread, Evidence, HostCpu, Offered, bound};
use crate::account::{Account, KnownBy, OfParts, Part};

const FREE: DriverThread = thread(0.2, 0.05);

/// 10 ms, of which nothing is large.
const EVEN: Account = Account {
    time_us: 10_000.0,
    known_by: KnownBy::Sessions,
    parts: OfParts([
        Some(1_500.0),
        Some(500.0),
        Some(2_000.0),
        Some(1_500.0),
        None,
        Some(1_500.0),
        None,
        Some(0.0),
        None,
        None,
        None,
        None,
        None,
        Some(2_000.0),
        Some(1_000.0),
    ]),
    excess_share: 0.0,
    queued_us: None,
};

const fn thread(on_core_share: f64, run_wait_share: f64) -> DriverThread {
    DriverThread { on_core_share, run_wait_share: Some(run_wait_share) }
}

const fn busy(busy_share: f64) -> Option<HostCpu> {
    Some(HostCpu {
        busy_share,
        steal_share: 0.0,
        own_share: Some(busy_share * 0.9),
        is_drivers: true,
        server_cores: None,
    })
}

/// With what is special of an account whose other parts take a tenth each of the rest.
fn with(change: fn(&mut Account)) -> Evidence<'static> {
    let mut account = EVEN;
    change(&mut account);
    // The time is what the parts make it.
    let parts = Part::ALL.map(|part| account.parts[part].unwrap_or(0.0));
    account.time_us = parts.iter().sum();
    Evidence {
        account: Some(account),
        offered: None,
        cpu: busy(0.4),
        driver_threads: &[FREE],
        silent_share: 0.0,
    }
}

#[track_caller]
fn judged(evidence: &Evidence) -> Bound {
    bound(evidence).unwrap()
}

#[test]
fn a_window_in_which_the_server_stood_still_is_bound_by_nothing_that_is_known() {
    let reads = with(|of| of.parts[Part::Reads] = Some(20_000.0));
    assert!(bound(&Evidence { silent_share: 0.09, ..reads }).is_some());
    assert_eq!(bound(&Evidence { silent_share: 0.1, ..reads }), None);
}

#[test]
fn the_largest_part_limits() {
    for (evidence, expected, words) in [
        (with(|_| {}), BoundBy::Mixed, "no part is large"),
        (
            with(|a| a.parts[Part::Reads] = Some(20_000.0)),
            BoundBy::ReadIo,
            "waits for reads of pages are 71 % of a transaction's time",
        ),
        (
            with(|a| a.parts[Part::Log] = Some(16_000.0)),
            BoundBy::Log,
            "waits for the log at commit are 65 % of a transaction's time",
        ),
        (
            with(|a| a.parts[Part::PageWrites] = Some(40_000.0)),
            BoundBy::PageWrites,
            "waits for free pages and page writes are 80 %",
        ),
        (
            with(|a| a.parts[Part::NetworkAndDriver] = Some(40_000.0)),
            BoundBy::Network,
            "the network and the driver are 83 %",
        ),
        (
            with(|a| a.parts[Part::Remainder] = Some(30_000.0)),
            BoundBy::Mixed,
            "what is not explained is 77 %",
        ),
        (
            with(|a| a.parts[Part::RowLocks] = Some(34_000.0)),
            BoundBy::Lock,
            "waits for row locks are 80 % of a transaction's time, and ",
        ),
    ] {
        let bound = judged(&evidence);
        assert_eq!(bound.by, expected, "{bound:?}");
        assert!(bound.because.starts_with(words), "{bound:?}");
        let share = bound.share.unwrap();
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
}

#[test]
fn cores_limit_where_there_is_nothing_left_of_them() {
    let on_cores = |a: &mut Account| a.parts[Part::Running] = Some(30_000.0);
    let evidence = Evidence { cpu: busy(0.95), ..with(on_cores) };
    assert_eq!(judged(&evidence).by, BoundBy::Cpu);
    // The client of a server that shares its cores waits for them too.
    let evidence =
        Evidence { cpu: busy(0.95), ..with(|a| a.parts[Part::NetworkAndDriver] = Some(12_000.0)) };
    assert_eq!(judged(&evidence).by, BoundBy::Cpu);
    // One connection runs all the time, and most cores are idle.
    let bound = judged(&with(on_cores));
    assert_eq!(bound.by, BoundBy::Mixed);
    assert!(bound.because.ends_with("more connections may do more"));
    // Cores are idle, and the server may not have them.
    let waits = |a: &mut Account| a.parts[Part::CoreWait] = Some(30_000.0);
    assert_eq!(judged(&with(waits)).by, BoundBy::CoreWait);
    // Others have them.
    let others = busy(1.0).map(|cpu| HostCpu { own_share: Some(0.2), ..cpu });
    let evidence = Evidence { cpu: others, ..with(waits) };
    let bound = judged(&evidence);
    assert_eq!(bound.by, BoundBy::CoreWait);
    let words = "20 % of it by the server and mydyno";
    assert!(bound.because.ends_with(words), "{bound:?}");
}

#[test]
fn cores_of_the_servers_own_limit_it_alone() {
    let own = |busy_share: f64, cores: u32| {
        busy(busy_share).map(|cpu| HostCpu { is_drivers: false, server_cores: Some(cores), ..cpu })
    };
    let on_cores = |a: &mut Account| a.parts[Part::Running] = Some(30_000.0);
    let bound = judged(&Evidence { cpu: own(0.97, 2), ..with(on_cores) });
    assert_eq!(bound.by, BoundBy::Cpu);
    let words = "the server's 2 cores were busy for 97 % of the time";
    assert!(bound.because.ends_with(words), "{bound:?}");
    // What the driver does is no wait for them.
    let client = |a: &mut Account| a.parts[Part::NetworkAndDriver] = Some(40_000.0);
    let bound = judged(&Evidence { cpu: own(0.97, 1), ..with(client) });
    assert_eq!(bound.by, BoundBy::Network);
    // Others have them.
    let others = own(1.0, 1).map(|cpu| HostCpu { own_share: Some(0.2), ..cpu });
    let bound = judged(&Evidence { cpu: others, ..with(on_cores) });
    assert_eq!(bound.by, BoundBy::CoreWait);
    let words = "the server's core was busy for 100 % of the time, 20 % of it by the server";
    assert!(bound.because.ends_with(words), "{bound:?}");
    // Threads of the driver that share too few cores of its own.
    let crowded = [thread(0.5, 0.45), thread(0.5, 0.45)];
    let evidence = Evidence { cpu: own(0.97, 1), driver_threads: &crowded, ..with(on_cores) };
    let bound = judged(&evidence);
    assert_eq!(bound.by, BoundBy::Driver);
    assert!(bound.because.ends_with(", on cores that the server did not have"), "{bound:?}");
}

#[test]
fn group_commit_on_a_slow_flush_is_not_log_bound() {
    // 64 clients with 40 ms of other work and a flush of 2 ms: 3 of 43 ms.
    let evidence = with(|a| {
        a.parts[Part::Reads] = Some(0.0);
        a.parts[Part::RowLocks] = Some(0.0);
        a.parts[Part::Running] = Some(1_000.0);
        a.parts[Part::CoreWait] = Some(0.0);
        a.parts[Part::NetworkAndDriver] = Some(38_500.0);
        a.parts[Part::Log] = Some(3_000.0);
        a.parts[Part::Remainder] = Some(500.0);
    });
    assert_eq!(judged(&evidence).by, BoundBy::Network);
}

#[test]
fn who_waits_for_a_lock_waits_for_what_its_holder_does() {
    // The log is busy, and its waits are most of what is done under locks.
    let evidence = with(|a| {
        a.parts[Part::RowLocks] = Some(70_000.0);
        a.parts[Part::Log] = Some(20_000.0);
    });
    let bound = judged(&evidence);
    assert_eq!(bound.by, BoundBy::Log);
    assert_eq!(
        bound.because,
        "waits for row locks are 72 % of a transaction's time, and waits for the log at commit \
         are 74 % of what those who hold them do"
    );
    // The log is as busy, and its waits are little of it.
    let evidence = with(|a| {
        a.parts[Part::RowLocks] = Some(70_000.0);
        a.parts[Part::Log] = Some(4_000.0);
    });
    let bound = judged(&evidence);
    assert_eq!(bound.by, BoundBy::Lock);
    assert!(bound.because.contains("the log at commit are 36 %"), "{bound:?}");
    // Holders run, on cores that are busy; from a long queue on it is the locks.
    let runs = |a: &mut Account| {
        a.parts[Part::Running] = Some(14_000.0);
        a.parts[Part::RowLocks] = Some(30_000.0);
    };
    let evidence = Evidence { cpu: busy(0.95), ..with(runs) };
    assert_eq!(judged(&evidence).by, BoundBy::Cpu);
    assert_eq!(judged(&with(runs)).by, BoundBy::Lock);
    let queue = |a: &mut Account| a.parts[Part::RowLocks] = Some(200_000.0);
    let evidence = Evidence { cpu: busy(0.95), ..with(queue) };
    assert_eq!(judged(&evidence).by, BoundBy::Lock);
}

#[test]
fn who_did_what_was_asked_is_not_bound() {
    let reads = with(|a| a.parts[Part::Reads] = Some(20_000.0));
    let schedule = |ended, lag_us| Evidence {
        offered: Some(Offered::Schedule { offered: 1_000, ended, lag_us, service_us: 8_000.0 }),
        ..reads
    };
    let bound = judged(&schedule(998, 100.0));
    assert_eq!((bound.by, bound.share), (BoundBy::OfferedLoad, None));
    assert_eq!(
        bound.because,
        "it did what was asked: of 1000 transactions offered 998 ended; one waited 0.10 ms to be \
         begun and was served in 8.00 ms"
    );
    // It falls behind, or they queue.
    assert_eq!(judged(&schedule(900, 100.0)).by, BoundBy::ReadIo);
    assert_eq!(judged(&schedule(998, 9_000.0)).by, BoundBy::ReadIo);
    let terminals = |nopm| Evidence {
        offered: Some(Offered::Terminals { nopm, ceiling_nopm: 128.6, deviation_nopm: 1.0 }),
        ..reads
    };
    assert_eq!(judged(&terminals(126.0)).by, BoundBy::OfferedLoad);
    assert_eq!(judged(&terminals(80.0)).by, BoundBy::ReadIo);
    // A driver without time asks for less than it should.
    let evidence = Evidence { driver_threads: &[thread(0.95, 0.0)], ..terminals(126.0) };
    assert_eq!(judged(&evidence).by, BoundBy::Driver);
}

#[test]
fn each_thread_of_the_driver_is_looked_at() {
    fn on(driver_threads: &[DriverThread]) -> Evidence<'_> {
        Evidence { driver_threads, ..with(|_| {}) }
    }
    assert_eq!(judged(&on(&[FREE, thread(0.95, 0.0)])).by, BoundBy::Driver);
    // The one that is starved was on a core for less time than the one that is free.
    let starved = [thread(0.45, 0.01), thread(0.2, 0.75)];
    let verdict = judged(&on(&starved));
    assert_eq!(verdict.by, BoundBy::Driver);
    let words =
        "one of mydyno's threads was on a core for 20 % of the time and waited for one for 75 %";
    assert!(verdict.because.starts_with(words), "{verdict:?}");
    // On a busy host waiting for cores is everybody's, and another machine's say nothing of it.
    let evidence = Evidence { cpu: busy(0.95), ..on(&starved) };
    assert_ne!(judged(&evidence).by, BoundBy::Driver);
    let cpu = busy(0.3).map(|cpu| HostCpu { is_drivers: false, ..cpu });
    let evidence = Evidence { cpu, ..on(&starved) };
    assert_ne!(judged(&evidence).by, BoundBy::Driver);
    assert_eq!(judged(&on(&[])).by, BoundBy::Mixed);
}

/// Of a server whose process is not known the CPU time is in what has no instrument.
#[test]
fn what_is_not_seen_is_cpu_where_cores_are_busy() {
    let unseen = with(|of| {
        of.known_by = KnownBy::PerformanceSchema;
        of.parts[Part::Running] = None;
        of.parts[Part::Unseen] = Some(20_000.0);
    });
    assert_eq!(bound(&unseen), None);
    assert_eq!(judged(&Evidence { cpu: busy(0.95), ..unseen }).by, BoundBy::Cpu);
    assert_eq!(bound(&Evidence { cpu: None, ..unseen }), None);
}

#[test]
fn what_is_not_known_is_not_judged() {
    // A server on a machine of which nothing is known.
    let remote = |locks_us: f64| Evidence {
        account: Some(Account {
            known_by: KnownBy::Server,
            parts: {
                let mut parts = OfParts::default();
                parts[Part::RowLocks] = Some(locks_us);
                parts[Part::Remainder] = Some(10_000.0 - locks_us);
                parts
            },
            ..EVEN
        }),
        cpu: None,
        ..Evidence::default()
    };
    assert_eq!(bound(&remote(500.0)), None);
    assert_eq!(bound(&remote(6_000.0)), None);
    assert_eq!(judged(&remote(9_000.0)).by, BoundBy::Lock);
    let evidence = Evidence { driver_threads: &[thread(0.99, 0.0)], ..remote(500.0) };
    assert_eq!(judged(&evidence).by, BoundBy::Driver);
    // And nothing but the host's cores.
    let bare = Evidence { cpu: busy(0.95), ..Evidence::default() };
    assert_eq!(judged(&bare).by, BoundBy::Cpu);
    assert_eq!(bound(&Evidence::default()), None);
}

#[test]
fn the_reason_tells_what_was_stolen() {
    let cpu = busy(0.9).map(|cpu| HostCpu { steal_share: 0.45, own_share: None, ..cpu });
    let evidence = Evidence { cpu, ..with(|a| a.parts[Part::Running] = Some(30_000.0)) };
    let verdict = judged(&evidence);
    assert_eq!(verdict.by, BoundBy::Cpu);
    let words = "cores were busy for 90 % of the time, 50 % of it stolen by other guests of the \
                 hypervisor";
    assert!(verdict.because.ends_with(words), "{verdict:?}");
}

#[test]
fn waits_for_other_threads_have_verdicts_of_their_own() {
    for (part, by, word) in [
        (Part::Latches, BoundBy::Latches, "latches"),
        (Part::RedoRoom, BoundBy::RedoRoom, "room in the redo log"),
        (Part::Admission, BoundBy::Admission, "innodb_thread_concurrency"),
        (Part::Metadata, BoundBy::Metadata, "metadata locks"),
        (Part::Replication, BoundBy::Replication, "replicas"),
        (Part::OtherWaits, BoundBy::Mixed, "other waits"),
    ] {
        let mut account = EVEN;
        account.parts[part] = Some(10_000.0);
        account.time_us = 20_000.0;
        let bound = judged(&Evidence { account: Some(account), ..with(|_| {}) });
        assert_eq!((bound.by, bound.share), (by, Some(0.5)), "{part}");
        assert!(bound.because.contains(word), "{}", bound.because);
    }
}
