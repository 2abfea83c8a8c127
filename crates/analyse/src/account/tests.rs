use super::{Account, BlockedTime, GroupCommit, KnownBy, Observed, Part, Sessions};
use base::{Random, WaitCause};

/// Clients that work for a random time and then commit: a log is flushed for all at once who came
/// while the flush before was under way. Times in seconds.
struct Simulated {
    /// From the begin of a transaction to its end, and from COMMIT to its end.
    response_s: f64,
    commit_s: f64,
    ended_per_s: f64,
    flushes_per_s: f64,
    /// Of the one in a group that flushes, over all transactions.
    leader_s: f64,
}

fn group_commit(clients: usize, work_s: f64, flush_s: f64) -> Simulated {
    const TRANSACTIONS: usize = 100_000;
    let mut random = Random::new(7, &[]);
    let mut work = || -work_s * (1.0 - random.unit()).ln();
    // When each client comes to its COMMIT, and when it began.
    let mut clients: Vec<(f64, f64)> = (0..clients).map(|_| (work(), 0.0)).collect();
    let (mut now_s, mut flushes, mut ended) = (0.0, 0, 0);
    let (mut response_s, mut commit_s) = (0.0, 0.0);
    while ended < TRANSACTIONS {
        let first_s = clients.iter().map(|of| of.0).fold(f64::MAX, f64::min);
        let begin_s = f64::max(now_s, first_s);
        now_s = begin_s + flush_s;
        flushes += 1;
        for client in clients.iter_mut().filter(|of| of.0 <= begin_s) {
            response_s += now_s - client.1;
            commit_s += now_s - client.0;
            *client = (now_s + work(), now_s);
            ended += 1;
        }
    }
    let each = |sum_s: f64| sum_s / ended as f64;
    Simulated {
        response_s: each(response_s),
        commit_s: each(commit_s),
        ended_per_s: ended as f64 / now_s,
        flushes_per_s: f64::from(flushes) / now_s,
        leader_s: each(f64::from(flushes) * flush_s),
    }
}

/// What would be seen of 64 clients of whose 41 ms at other work the server runs 1 ms.
fn seen(of: &Simulated) -> Observed {
    let amount = |time_s: f64| time_s * of.ended_per_s;
    let group = GroupCommit {
        flushes_per_s: of.flushes_per_s,
        flush_s: 0.002,
        commits_per_s: of.ended_per_s,
        group_max: 64.0,
    };
    Observed {
        under_way: amount(of.response_s),
        ended_per_s: of.ended_per_s,
        sessions: Some(Sessions {
            active: amount(0.001 + of.commit_s),
            running: amount(0.001),
            log: amount(of.leader_s),
            ..Sessions::default()
        }),
        row_locks: Some(0.0),
        committing: Some(amount(of.commit_s)),
        group_commit: Some(group.waiting()),
        ..Observed::default()
    }
}

#[test]
fn each_member_of_a_group_waits_for_the_log() {
    let simulated = group_commit(64, 0.040, 0.002);
    // The log is busy nearly always, and costs little.
    assert!(simulated.flushes_per_s * 0.002 > 0.95);
    let truth = simulated.commit_s / simulated.response_s;
    assert!((0.05..0.09).contains(&truth), "{truth}");
    let at_driver = seen(&simulated);
    let by_commit = at_driver.account().unwrap().share(Part::Log);
    assert!((by_commit - truth).abs() < 0.001, "{by_commit} {truth}");
    let without = Observed { committing: None, ..at_driver };
    let by_rule = without.account().unwrap().share(Part::Log);
    assert!((by_rule / truth - 1.0).abs() < 0.1, "{by_rule} {truth}");
    // Flush time by transactions is a fifth of it.
    assert!(simulated.leader_s < 0.3 * simulated.commit_s);
}

#[test]
fn one_that_commits_alone_waits_for_one_flush() {
    let simulated = group_commit(1, 0.040, 0.002);
    let account = seen(&simulated).account().unwrap();
    let waited_us = account.parts[Part::Log].unwrap();
    assert!((waited_us - 2_000.0).abs() < 1.0, "{waited_us}");
    // A server that flushes once a second lets nobody wait for it.
    let lazy =
        GroupCommit { flushes_per_s: 1.0, flush_s: 0.002, commits_per_s: 25.0, group_max: 1.0 };
    assert_eq!(lazy.waiting(), 0.0);
}

fn sessions() -> Observed {
    Observed {
        under_way: 10.0,
        ended_per_s: 100.0,
        queued: Some(1.0),
        sessions: Some(Sessions {
            known_by: KnownBy::Sessions,
            active: 9.0,
            running: 1.0,
            core_wait: 0.5,
            reads: 2.0,
            log: 0.25,
            page_writes: 0.25,
            asleep: 0.25,
            waits: None,
        }),
        row_locks: Some(3.0),
        committing: Some(1.25),
        ..Observed::default()
    }
}

#[test]
fn parts_add_up() {
    let account = sessions().account().unwrap();
    let parts = Part::ALL.into_iter().filter_map(|part| account.parts[part]);
    let parts: Vec<f64> = parts.map(|us| us / 1e4).collect();
    assert_eq!(parts, [1.0, 0.5, 2.0, 3.0, 1.25, 0.5, 1.0, 0.75]);
    assert_eq!(parts.iter().sum::<f64>() * 1e4, account.time_us);
    assert_eq!((account.time_us, account.queued_us), (1e5, Some(1e4)));
    assert_eq!(account.known_by, KnownBy::Sessions);
    assert_eq!(Observed::default().account(), None);
}

#[test]
fn waits_are_no_longer_than_the_blocked_time() {
    let observed = Observed { row_locks: Some(30.0), ..sessions() };
    let account = observed.account().unwrap();
    // 4.75 are blocked, and one of them by the log.
    let locked_us = account.parts[Part::RowLocks].unwrap();
    assert!((locked_us - 4.75e4 * 4.75 / 5.75).abs() < 1e-6, "{locked_us}");
    assert!(account.parts[Part::Remainder].unwrap().abs() < 1e-6, "{account:?}");
}

/// Its instruments have neither row locks nor flushes of the redo log.
#[test]
fn what_performance_schema_does_not_see_is_a_part() {
    let mut waits = BlockedTime { all: 3.25, other: 0.25, ..BlockedTime::default() };
    waits.by_cause[WaitCause::Read as usize] = 1.0;
    waits.by_cause[WaitCause::Metadata as usize] = 2.0;
    let of = |running: f64, waits: Option<BlockedTime>| {
        let known_by = KnownBy::PerformanceSchema;
        let seen = Sessions { known_by, active: 9.0, running, waits, ..Sessions::default() };
        Observed { sessions: Some(seen), ..sessions() }.account().unwrap()
    };
    let account = of(0.5, Some(waits));
    let amount = |account: &Account, part: Part| account.parts[part].map(|us| us / 1e4);
    assert_eq!(account.known_by, KnownBy::PerformanceSchema);
    for (part, expected) in [
        (Part::Running, Some(0.5)),
        (Part::Reads, Some(1.0)),
        (Part::RowLocks, Some(3.0)),
        (Part::Log, Some(1.25)),
        (Part::Metadata, Some(2.0)),
        (Part::OtherWaits, Some(0.25)),
        (Part::Unseen, Some(1.0)),
        (Part::NetworkAndDriver, Some(1.0)),
        (Part::Remainder, Some(0.0)),
    ] {
        assert_eq!(amount(&account, part), expected, "{part}");
    }
    // Whose process is not known.
    let remote = of(0.0, Some(waits));
    assert_eq!(amount(&remote, Part::Running), None);
    assert_eq!(amount(&remote, Part::Unseen), Some(1.5));
    let idle = of(0.0, Some(BlockedTime::default()));
    assert_eq!(amount(&idle, Part::Unseen), Some(4.75));
}

/// Threads that serve clients, with what stacks tell of 4.75 that they did not do alone.
fn with_stacks(all: f64, causes: &[(WaitCause, f64)], other: f64) -> Account {
    let observed = sessions();
    let mut waits = BlockedTime { all, other, ..BlockedTime::default() };
    causes.iter().for_each(|(cause, amount)| waits.by_cause[*cause as usize] = *amount);
    let of = observed.sessions.map(|of| Sessions { waits: Some(waits), ..of });
    Observed { sessions: of, ..observed }.account().unwrap()
}

#[test]
fn stacks_tell_what_blocks() {
    let causes = [
        (WaitCause::RowLock, 1.0),
        (WaitCause::Commit, 0.5),
        (WaitCause::PageLatch, 0.25),
        (WaitCause::IndexLatch, 0.125),
        (WaitCause::Admission, 0.125),
    ];
    let account = with_stacks(5.0, &causes, 0.0);
    let amount = |part| account.parts[part].unwrap() / 1e4;
    // 5 were not alone, as they were timed; stacks have 2 of them.
    assert_eq!(amount(Part::RowLocks), 2.5);
    assert_eq!(amount(Part::Log), 0.25 + 1.25);
    assert_eq!(amount(Part::Latches), 0.9375);
    assert_eq!(amount(Part::Admission), 0.3125);
    assert_eq!(amount(Part::OtherWaits), 0.0);
    assert!(amount(Part::Remainder).abs() < 1e-9, "{account:?}");
}

#[test]
fn every_cause_has_its_part() {
    for cause in WaitCause::ALL {
        let account = with_stacks(5.0, &[(cause, 1.0)], 0.0);
        assert!(account.parts[Part::Remainder].unwrap().abs() < 1e-6, "{cause}: {account:?}");
        assert_eq!(account.excess_share, 0.0, "{cause}");
    }
}

#[test]
fn what_has_no_name_is_told_by_the_server() {
    let causes = [(WaitCause::Unnamed, 3.0), (WaitCause::Metadata, 1.0)];
    let account = with_stacks(4.0, &causes, 0.0);
    let amount = |part| account.parts[part].unwrap() / 1e4;
    assert_eq!(amount(Part::Metadata), 1.0);
    // 3 behind row locks and 1 behind the flushes of others, of which 3 are unnamed.
    assert_eq!(amount(Part::RowLocks), 2.25);
    assert_eq!(amount(Part::Log), 0.25 + 0.75);
    assert_eq!(amount(Part::OtherWaits), 0.0);
    let named = with_stacks(4.0, &[(WaitCause::Unnamed, 1.0)], 3.0);
    assert_eq!(named.parts[Part::OtherWaits], Some(3e4));
}

/// A wait has in it what the thread then waited for a core; other such waits came before the work
/// for a message began, when the driver waited already.
#[test]
fn waits_for_a_core_are_counted_once() {
    let amounts = |all: f64| {
        let account = with_stacks(all, &[(WaitCause::Metadata, 1.0)], 0.0);
        assert_eq!(account.excess_share, 0.0);
        [Part::Metadata, Part::CoreWait, Part::NetworkAndDriver, Part::Remainder]
            .map(|part| (account.parts[part].unwrap() / 1e4 * 1e6).round() / 1e6)
    };
    // Of 5.5 at other things than work and files.
    assert_eq!(amounts(4.0), [4.0, 0.5, 1.0, 1.0]);
    assert_eq!(amounts(5.25), [5.25, 0.5, 0.75, 0.0]);
    assert_eq!(amounts(9.0), [5.5, 0.5, 0.5, 0.0]);
}

#[test]
fn without_sessions_parts_are_estimates_that_leave_no_less_than_nothing() {
    let observed = Observed {
        sessions: None,
        at_driver: Some(1.0),
        server_cores: Some(1.5),
        server_run_wait: Some(9.0),
        reading: Some(2.5),
        ..sessions()
    };
    let account = observed.account().unwrap();
    assert_eq!(account.known_by, KnownBy::Server);
    assert_eq!(account.parts[Part::NetworkAndDriver], Some(1e4));
    assert_eq!(account.parts[Part::Log], Some(1.25e4));
    assert_eq!(account.parts[Part::RowLocks], Some(3e4));
    assert_eq!(account.parts[Part::CoreWait], Some(0.75e4));
    assert_eq!(account.parts[Part::PageWrites], None);
    assert!(account.parts[Part::Remainder].unwrap().abs() < 1e-6, "{account:?}");
    let bare = Observed {
        under_way: 4.0,
        ended_per_s: 100.0,
        row_locks: Some(1.0),
        ..Observed::default()
    };
    let account = bare.account().unwrap();
    assert_eq!(account.parts[Part::Running], None);
    assert_eq!(account.parts[Part::Remainder], Some(3e4));
}

/// Samples are a second apart, and so may tell of more than the driver's window has.
#[test]
fn parts_are_never_more_than_the_whole() {
    let sessions = Sessions {
        active: 6.0,
        running: 1.0,
        core_wait: 1.0,
        reads: 3.0,
        log: 0.5,
        page_writes: 0.5,
        ..Sessions::default()
    };
    let observed = Observed {
        under_way: 4.0,
        ended_per_s: 100.0,
        sessions: Some(sessions),
        ..Observed::default()
    };
    let account = observed.account().unwrap();
    let remainder_us = |of: &Account| of.parts[Part::Remainder].unwrap();
    let shown = (account.time_us, remainder_us(&account), account.excess_share);
    assert_eq!(shown, (4e4, 0.0, 0.5));
    let parts: f64 = Part::ALL.iter().filter_map(|part| account.parts[*part]).sum();
    assert!((parts - account.time_us).abs() < 1e-6, "{account:?}");
    assert_eq!(account.parts[Part::Reads], Some(2e4));
    let whole = Observed { under_way: 7.0, ..observed }.account().unwrap();
    assert_eq!((whole.excess_share, remainder_us(&whole)), (0.0, 0.0));
    assert_eq!(whole.parts[Part::NetworkAndDriver], Some(1e4));
}
