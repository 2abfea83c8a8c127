//! The engine with clients that no database stands behind: instant, stalling, failing, conflicting,
//! lost, stuck.

use drive::{
    Abort, AbortCause, Attempt, Client, Company, Control, Event, Failed, FailureKind, Interval,
    Opening, Phase, RunError, RunOptions, RunReport, Silence, Source, TransactionInfo,
    TransactionStats, TransactionType, Workload, WorkloadCounters, process_cpu_ns, run,
};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// All operations are of one type.
const TYPES: &[TransactionInfo] = &[TransactionInfo {
    name: "work",
    is_primary: true,
    is_deferred: false,
    share: 1.0,
    row_bytes: None,
}];

/// What one try of a fake client does: nothing for `busy`, then ends like `script` says for this
/// operation and try.
struct Fake<F> {
    busy: Duration,
    script: F,
    opened: AtomicU32,
    /// The most that a connection was told to have been opened before.
    earlier: AtomicU32,
    opens_max: u32,
    opening: Duration,
    takes_writes: fn() -> bool,
}

impl<F: Fn(u64, u32) -> Attempt + Sync + Clone> Fake<F> {
    fn new(busy: Duration, script: F) -> Fake<F> {
        let [opened, earlier] = [0, 0].map(AtomicU32::new);
        let (opens_max, opening) = (u32::MAX, Duration::ZERO);
        Fake { busy, script, opened, earlier, opens_max, opening, takes_writes: || true }
    }
}

struct FakeClient<F> {
    busy: Duration,
    script: F,
    operations: u64,
    /// The operation tried last, and how often.
    tried: (u64, u32),
    statements: Cell<u64>,
    takes_writes: fn() -> bool,
}

/// Numbers its operations.
struct Numbers(u64);

impl Source for Numbers {
    type Operation = u64;

    fn deal(&mut self) -> TransactionType {
        TransactionType(0)
    }

    fn draw(&mut self, _: TransactionType) -> u64 {
        self.0 += 1;
        self.0
    }
}

impl<F: Fn(u64, u32) -> Attempt + Sync + Clone> Workload for Fake<F> {
    type Operation = u64;
    type Source = Numbers;
    type Client = FakeClient<F>;

    fn transactions(&self) -> &'static [TransactionInfo] {
        TYPES
    }

    fn source(&self, _: u32) -> Numbers {
        Numbers(0)
    }

    async fn open(&self, which: Opening) -> Result<FakeClient<F>, Failed> {
        self.earlier.fetch_max(which.earlier, Ordering::Relaxed);
        if self.opened.fetch_add(1, Ordering::Relaxed) >= self.opens_max {
            return Err(failed(FailureKind::Lost { in_doubt: false }, "connect"));
        }
        reactor::sleep_until(Instant::now() + self.opening).await;
        Ok(FakeClient {
            busy: self.busy,
            script: self.script.clone(),
            operations: 0,
            tried: (0, 0),
            statements: Cell::new(0),
            takes_writes: self.takes_writes,
        })
    }
}

impl<F: Fn(u64, u32) -> Attempt> Client for FakeClient<F> {
    type Operation = u64;

    async fn attempt(&mut self, operation: &u64) -> Attempt {
        if self.tried.0 == *operation {
            self.tried.1 += 1;
        } else {
            self.tried = (*operation, 1);
            self.operations += 1;
        }
        self.statements.set(self.statements.get() + 2);
        let end = (self.script)(self.operations, self.tried.1);
        let busy = if end == stall() { Duration::from_millis(300) } else { self.busy };
        reactor::sleep_until(Instant::now() + busy).await;
        if end == stall() { Attempt::Committed } else { end }
    }

    fn statements(&self) -> u64 {
        self.statements.get()
    }

    async fn takes_writes(&mut self) -> Result<(), Failed> {
        match (self.takes_writes)() {
            true => Ok(()),
            false => Err(failed(FailureKind::NoWrites, "1290")),
        }
    }

    fn count(&self, _: &u64, counters: &mut WorkloadCounters) {
        counters.0[0] += 1;
    }

    async fn close(self) {}
}

fn failed(kind: FailureKind, code: &'static str) -> Failed {
    Failed { kind, code: code.into(), message: format!("made up: {code}") }
}

/// A script's word for a try that takes 300 ms and commits.
fn stall() -> Attempt {
    Attempt::Failed(failed(FailureKind::Fatal, "stall"))
}

fn options(connections: u32, window: Duration) -> RunOptions {
    RunOptions {
        connections,
        workers: 2,
        warmup: Duration::from_millis(100),
        window,
        interval: Duration::from_millis(100),
        seed: 1,
        ..RunOptions::default()
    }
}

fn drive<W: Workload>(workload: &W, options: &RunOptions) -> (RunReport, Vec<Interval>) {
    drive_until(workload, options, |_| Control::Continue)
}

fn drive_until<W: Workload>(
    workload: &W,
    options: &RunOptions,
    mut on_tick: impl FnMut(Duration) -> Control,
) -> (RunReport, Vec<Interval>) {
    let mut intervals = Vec::new();
    let report = run(workload, options, Company::Alone, &mut |event| match event {
        Event::Interval(interval) => {
            intervals.push(interval.clone());
            Control::Continue
        }
        Event::Tick { elapsed, .. } => on_tick(elapsed),
        Event::WindowBegins | Event::WindowEnds | Event::Opening | Event::Started => {
            Control::Continue
        }
    })
    .unwrap();
    (report, intervals)
}

fn gone() -> Abort {
    Abort { cause: AbortCause::ServerGone, reason: "the server has ended".to_owned() }
}

const MS: Duration = Duration::from_millis(1);
/// A phase that is ended by something else.
const LONG: Duration = Duration::from_secs(600);

#[test]
fn intervals_join_and_add_up() {
    let (report, intervals) =
        drive(&Fake::new(MS, |_, _| Attempt::Committed), &options(3, 500 * MS));
    assert!(intervals.windows(2).all(|pair| pair[0].end_offset_ns == pair[1].start_offset_ns));
    let window: Vec<&Interval> = intervals.iter().filter(|i| i.phase == Phase::Window).collect();
    assert_eq!(window.len(), 5);
    assert_eq!(report.window_ns, 500_000_000);
    let counted: u64 = window.iter().map(|i| i.transactions[0].committed).sum();
    // Three connections at 1 ms and what this machine adds: below 1,500, and more than two would
    // do.
    let of_window = &report.window.as_ref().unwrap().transactions[0];
    let by_one = report.window_ns as f64 / of_window.latency.mean_ns().unwrap();
    let is_of_three = counted as f64 > 2.0 * by_one && counted <= 1_500;
    assert!(is_of_three, "{counted}, {by_one} by one");
    assert_eq!(report.counters.0[0], counted);
    assert!(report.totals.committed[0] > counted, "warm-up is in the whole run only");
    assert!(report.statements >= 2 * counted - 6 && report.statements <= 2 * counted + 12);
    assert!(!report.interrupted && report.aborted.is_none() && report.abandoned == 0);
    let fastest = window
        .iter()
        .map(|i| i.transactions[0].latency.histogram.as_ref().unwrap().min())
        .min()
        .unwrap();
    assert!(fastest >= 999_000, "{fastest} ns is shorter than the operation");
}

#[test]
fn an_interval_has_rates_and_an_order() {
    const S: u64 = 1_000_000_000;
    let mut interval = Interval::new(TYPES, Phase::Window, 4 * S..6 * S);
    interval.transactions[0].committed = 30;
    assert_eq!(interval.primary_per_minute(), 900.0);
    assert_eq!(interval.completed_per_s(), 15.0);
    assert!(interval.is_consistent());
    let backwards = Interval { end_offset_ns: 3 * S, ..interval.clone() };
    assert!(!backwards.is_consistent());
    // Of a type that the workload does not have.
    for (committed, errors) in [(1, 0), (0, 1)] {
        let mut other = interval.clone();
        other.transactions[1] = TransactionStats { committed, errors, ..Default::default() };
        assert!(!other.is_consistent());
    }
    let silence = |from_ns, busy_from_ns, to_ns| Silence {
        from_ns,
        to_ns,
        busy_from_ns,
        ..Silence::default()
    };
    for (silence, is_consistent) in [
        (silence(1, 2, 3), true),
        (silence(1, 1, 1), true),
        (silence(2, 1, 3), false),
        (silence(1, 3, 2), false),
    ] {
        let of_it = Interval { silences: vec![silence], ..interval.clone() };
        assert_eq!(of_it.is_consistent(), is_consistent, "{silence:?}");
    }
}

/// As the loop that finds the capacity before a run at a share of it.
#[test]
fn an_earlier_run_counts_for_the_whole_and_not_for_the_window() {
    let fake = Fake::new(MS, |_, _| Attempt::Committed);
    let (report, _) = drive(&fake, &options(2, 100 * MS));
    let earlier = RunReport { abandoned: 3, partners_lost: 2, ..report.clone() };
    let committed = earlier.totals.committed[0];
    let nothing = earlier.clone().without_window();
    assert_eq!((nothing.statements, nothing.window_ns), (0, 0));
    assert!(nothing.window.is_none() && nothing.totals.committed[0] == committed);
    let mut whole = RunReport { abandoned: 1, partners_lost: 1, ..report };
    whole.include_earlier(earlier);
    assert_eq!((whole.abandoned, whole.partners_lost), (4, 3));
    assert_eq!(whole.totals.committed[0], 2 * committed);
}

#[test]
fn the_cpu_time_of_this_process_is_known() {
    let (from_ns, begin) = (process_cpu_ns(), Instant::now());
    while process_cpu_ns() < from_ns + 20_000_000 {
        assert!(begin.elapsed() < Duration::from_secs(10), "it does not rise");
    }
    // No more than both cores, or all, had in that time.
    let cores = std::thread::available_parallelism().unwrap().get() as u32;
    assert!(begin.elapsed() * cores >= 15 * MS, "{:?}", begin.elapsed());
}

/// 32 connections of 300 ms a transaction, of which the first is shorter, so that they are evenly
/// staggered: 267 end in 2.5 s. Counting those alone that also began in the window loses 12 %.
#[test]
fn an_engine_counts_slow_transactions_at_the_rate_at_which_they_end() {
    const CONNECTIONS: u32 = 32;
    let workload = Staggered { opened: AtomicU32::new(0) };
    let options = RunOptions { warmup: 2 * RESPONSE, ..options(CONNECTIONS, 2_500 * MS) };
    let (report, intervals) = drive(&workload, &options);
    let counted: u64 = intervals.iter().map(|i| i.transactions[0].committed).sum();
    assert_eq!(report.totals.committed[0], counted, "each is in one interval");
    let window = &report.window.unwrap().transactions[0];
    // Whatever the machine makes of the 300 ms: by Little's law all connections are always busy.
    let mean_s = window.latency.mean_ns().unwrap() / 1e9;
    let truth = f64::from(CONNECTIONS) * report.window_ns as f64 / 1e9 / mean_s;
    let error = window.committed as f64 / truth - 1.0;
    assert!(error.abs() < 0.03, "{} of {truth}", window.committed);
    assert_eq!(report.totals.begun_before_window[0].count(), u64::from(CONNECTIONS));
}

const RESPONSE: Duration = Duration::from_millis(300);

/// Connections whose first transactions end one after another.
struct Staggered {
    opened: AtomicU32,
}

struct StaggeredClient {
    next: Duration,
}

impl Workload for Staggered {
    type Operation = u64;
    type Source = Numbers;
    type Client = StaggeredClient;

    fn transactions(&self) -> &'static [TransactionInfo] {
        TYPES
    }

    fn source(&self, _: u32) -> Numbers {
        Numbers(0)
    }

    async fn open(&self, _which: Opening) -> Result<StaggeredClient, Failed> {
        let before = self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(StaggeredClient { next: RESPONSE * (before + 1) / 32 })
    }
}

impl Client for StaggeredClient {
    type Operation = u64;

    async fn attempt(&mut self, _: &u64) -> Attempt {
        let end = Instant::now() + std::mem::replace(&mut self.next, RESPONSE);
        reactor::sleep_until(end).await;
        Attempt::Committed
    }

    fn statements(&self) -> u64 {
        0
    }

    async fn close(self) {}
}

#[test]
fn the_window_is_told_as_it_begins_and_ends() {
    let seen = |options: &RunOptions, stop_at: Duration| {
        let mut marks = Vec::new();
        let workload = Fake::new(MS, |_, _| Attempt::Committed);
        let start = Instant::now();
        run(&workload, options, Company::Alone, &mut |event| match event {
            Event::WindowBegins | Event::WindowEnds => {
                let begins = matches!(event, Event::WindowBegins);
                marks.push((begins, start.elapsed()));
                Control::Continue
            }
            Event::Tick { elapsed, .. } if elapsed >= stop_at => Control::Stop,
            _ => Control::Continue,
        })
        .unwrap();
        marks
    };
    let marks = seen(&options(2, 1_000 * MS), Duration::MAX);
    let kinds: Vec<bool> = marks.iter().map(|(begins, _)| *begins).collect();
    assert_eq!(kinds, [true, false]);
    let length = marks[1].1 - marks[0].1;
    assert!((500 * MS..10_000 * MS).contains(&length), "{length:?}");
    let no_window = RunOptions { warmup: LONG, ..options(2, 300 * MS) };
    assert!(seen(&no_window, 100 * MS).is_empty());
}

#[test]
fn a_stall_is_seen_in_full() {
    let script = |operation, _| {
        if operation == 200 { stall() } else { Attempt::Committed }
    };
    let (_, intervals) = drive(&Fake::new(MS, script), &options(1, 900 * MS));
    let worst = intervals.iter().map(|i| i.transactions[0].latency.max_ns).max().unwrap();
    assert!(worst >= 300_000_000, "{worst}");
    let empty = intervals.iter().filter(|i| i.transactions[0].committed == 0).count();
    assert!(empty >= 2, "intervals inside the stall are there and empty");
}

#[test]
fn conflicts_are_tried_again_and_counted_by_cause() {
    let script = |operation, tries| match (operation % 3, tries) {
        (1, 1) => Attempt::Failed(failed(FailureKind::Deadlock, "1213")),
        (2, 1 | 2) => Attempt::Failed(failed(FailureKind::LockWaitTimeout, "1205")),
        (0, 1) => Attempt::Failed(failed(FailureKind::Conflict, "1020")),
        _ => Attempt::RolledBack,
    };
    let (report, intervals) = drive(&Fake::new(MS, script), &options(2, 600 * MS));
    let sum = |of: fn(&drive::TransactionStats) -> u64| -> u64 {
        intervals.iter().map(|i| of(&i.transactions[0])).sum()
    };
    assert_eq!((report.totals.errors, sum(|s| s.errors), report.totals.committed[0]), (0, 0, 0));
    assert!(sum(|s| s.rolled_back) > 10);
    let occurrences =
        |code: &str| report.totals.failed_tries[&("work", code.to_owned())].occurrences;
    assert_eq!(sum(|s| s.deadlocks), occurrences("1213"));
    assert_eq!(sum(|s| s.lock_wait_timeouts), occurrences("1205"));
    assert_eq!(sum(|s| s.other_retries), occurrences("1020"));
    // Retries lie inside the response time: three tries of 1 ms.
    let slowest = intervals.iter().map(|i| i.transactions[0].latency.max_ns).max().unwrap();
    assert!(slowest >= 3_000_000, "{slowest}");
}

#[test]
fn lost_connections_are_opened_again_and_commits_in_doubt_are_counted_apart() {
    let lost = |in_doubt| Attempt::Failed(failed(FailureKind::Lost { in_doubt }, "lost"));
    let script = move |operation, _| match operation {
        5 => lost(false),
        9 => lost(true),
        _ => Attempt::Committed,
    };
    let fake = Fake::new(MS, script);
    let (report, _) = drive(&fake, &options(2, 800 * MS));
    // A fresh client counts its operations anew, so each is lost at its fifth.
    assert!(report.totals.reconnects >= 2);
    assert!(report.totals.errors >= report.totals.reconnects);
    assert_eq!(report.totals.in_doubt[0], 0);
    assert_eq!(u64::from(fake.opened.into_inner()), 2 + report.totals.reconnects);
    assert!(u64::from(fake.earlier.into_inner()) * 2 >= report.totals.reconnects);

    let only_commits = move |operation, _| {
        if operation == 9 { lost(true) } else { Attempt::Committed }
    };
    let (report, _) = drive(&Fake::new(MS, only_commits), &options(1, 500 * MS));
    assert!(report.totals.in_doubt[0] >= 1);
}

#[test]
fn a_run_in_which_everything_fails_ends_early() {
    let script = |_, _| Attempt::Failed(failed(FailureKind::Fatal, "1146"));
    let start = Instant::now();
    let (report, _) = drive(&Fake::new(MS / 10, script), &options(8, LONG));
    assert!(start.elapsed() < LONG / 2);
    assert!(report.aborted.is_some_and(|why| why.reason.contains("every transaction fails")));
    assert!(report.totals.errors >= 100);
}

/// As a server does that turns read-only in mid-run: without pauses each connection would try some
/// 10,000 times a second.
#[test]
fn connections_pause_while_everything_fails() {
    let script = |operation, _| match operation {
        ..20 => Attempt::Committed,
        _ => Attempt::Failed(failed(FailureKind::Fatal, "1290")),
    };
    let fake = Fake::new(MS / 10, script);
    let (report, _) = drive(&fake, &options(4, 2_500 * MS));
    assert_eq!(report.totals.committed[0], 4 * 19);
    // In the mean 1 s until pauses are of 0.5 s each: some 14 by each connection.
    let errors = report.totals.errors;
    assert!((4 * 5..4 * 40).contains(&errors), "{errors}");
    let paused =
        report.totals.connection_time.error_pauses_ns as f64 / (4 * report.window_ns) as f64;
    assert!((0.7..=1.0).contains(&paused), "{paused}");
    assert!(report.aborted.is_none());
}

#[test]
fn errors_in_between_cost_next_to_nothing() {
    let script = |operation, _| match operation % 10 {
        0 => Attempt::Failed(failed(FailureKind::Fatal, "missing_row")),
        _ => Attempt::Committed,
    };
    let (report, _) = drive(&Fake::new(MS, script), &options(2, 500 * MS));
    let paused =
        report.totals.connection_time.error_pauses_ns as f64 / (2 * report.window_ns) as f64;
    assert!(report.totals.errors > 10 && paused < 0.2, "{paused}");
    assert_eq!(report.totals.counters.0[0], report.totals.committed[0]);
}

#[test]
fn connections_that_stay_lost_end_the_run() {
    let script = |operation, _| match operation {
        20 => Attempt::Failed(failed(FailureKind::Lost { in_doubt: false }, "lost")),
        _ => Attempt::Committed,
    };
    let fake = Fake { opens_max: 2, ..Fake::new(MS, script) };
    let start = Instant::now();
    let (report, _) = drive(&fake, &options(2, LONG));
    assert!(start.elapsed() < LONG / 2);
    assert!(report.aborted.is_some_and(|why| why.reason.contains("all connections are lost")));
}

/// A server that takes no more writes, and another in its place after a while: connections are
/// opened until one is found that does, and that costs one transaction each.
#[test]
fn connections_look_for_a_server_that_takes_writes() {
    static WRITES_AT: OnceLock<Instant> = OnceLock::new();
    let script = |operation, _| match operation {
        20 if WRITES_AT.get().is_none_or(|at| Instant::now() < *at) => {
            WRITES_AT.get_or_init(|| Instant::now() + 10_700 * MS);
            Attempt::Failed(failed(FailureKind::NoWrites, "1290"))
        }
        _ => Attempt::Committed,
    };
    let takes_writes: fn() -> bool = || WRITES_AT.get().is_none_or(|at| Instant::now() >= *at);
    let fake = Fake { takes_writes, ..Fake::new(MS, script) };
    let (report, intervals) = drive(&fake, &options(4, 12_500 * MS));
    // A server that answers is none that is gone, however long it takes no writes.
    assert_eq!(report.aborted, None);
    assert_eq!((report.totals.errors, report.totals.reconnects), (4, 4));
    let refused = |code: &str| {
        let of_code = report.totals.failed_tries.iter().filter(|((_, of), _)| of == code);
        of_code.map(|((what, _), tries)| (*what, tries.occurrences)).collect::<Vec<_>>()
    };
    let [("reconnect", probes), ("work", 4)] = refused("1290")[..] else {
        panic!("{:?}", report.totals.failed_tries)
    };
    // Pauses are of 0.5 s in the mean, in the end.
    assert!((4 * 10..4 * 60).contains(&probes), "{probes}");
    let told: u64 =
        intervals.iter().flat_map(|of| of.failures.values()).map(|of| of.occurrences).sum();
    assert_eq!(told, 4 + probes);
    let [silence] = report.silences[..] else { panic!("{:?}", report.silences) };
    let recovery = Duration::from_nanos(silence.busy_ns());
    assert!((10_600 * MS..12_400 * MS).contains(&recovery), "{silence:?}");
    assert!(silence.is_over && silence.failures.count == 4 + probes, "{silence:?}");
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let on_tick = |elapsed| {
        if elapsed > 350 * MS { Control::Stop } else { Control::Continue }
    };
    let fake = Fake::new(MS, |_, _| Attempt::Committed);
    let (report, intervals) = drive_until(&fake, &options(2, LONG), on_tick);
    assert!(report.interrupted);
    assert!((200_000_000..60_000_000_000).contains(&report.window_ns), "{}", report.window_ns);
    let measured = intervals.iter().filter(|i| i.phase == Phase::Window);
    let ns: u64 = measured.map(|i| i.end_offset_ns - i.start_offset_ns).sum();
    assert_eq!(ns, report.window_ns);
}

#[test]
fn phases_end_when_the_observer_says() {
    let options = RunOptions { warmup: LONG, ..options(4, LONG) };
    let fake = Fake::new(MS, |_, _| Attempt::Committed);
    let (mut intervals, mut totals): (Vec<Interval>, Vec<Duration>) = (Vec::new(), Vec::new());
    let report = run(&fake, &options, Company::Alone, &mut |event| {
        match event {
            Event::Interval(interval) => {
                intervals.push(interval.clone());
                let of_phase = intervals.iter().filter(|i| i.phase == interval.phase);
                if of_phase.count() >= 3 {
                    return Control::EndPhase(interval.phase);
                }
            }
            Event::Tick { total, .. } => totals.push(total),
            _ => {}
        }
        Control::Continue
    })
    .unwrap();
    assert!(!report.interrupted && report.aborted.is_none());
    let lengths = |phase: Phase| -> Vec<u64> {
        let of_phase = intervals.iter().filter(|i| i.phase == phase);
        of_phase.map(|i| i.end_offset_ns - i.start_offset_ns).collect()
    };
    for (phase, ns) in [(Phase::Warmup, report.warmup_ns), (Phase::Window, report.window_ns)] {
        let lengths = lengths(phase);
        // Whole intervals: the three, and those that were under way when they had come.
        assert!(
            (4..100).contains(&lengths.len()) && lengths.iter().all(|ns| *ns == 100_000_000),
            "{lengths:?}"
        );
        assert_eq!(lengths.iter().sum::<u64>(), ns);
    }
    let joined = |pair: &[Interval]| pair[0].end_offset_ns == pair[1].start_offset_ns;
    assert!(intervals.windows(2).all(joined));
    // Each transaction is in one interval.
    let counted: u64 = intervals.iter().map(|i| i.transactions[0].committed).sum();
    assert_eq!(report.totals.committed[0], counted);
    assert_eq!(totals[0], 2 * LONG);
    assert!(totals.is_sorted_by(|one, next| one >= next));
    let after_warmup = Duration::from_nanos(report.warmup_ns) + options.window;
    assert!(totals.contains(&after_warmup), "{totals:?}");
}

#[test]
fn an_abort_leaves_stuck_operations_behind() {
    let fake = Fake::new(Duration::from_secs(3600), |_, _| Attempt::Committed);
    let on_tick = |_| Control::Abort(gone());
    let (report, _) = drive_until(&fake, &options(3, LONG), on_tick);
    assert_eq!((report.abandoned, report.totals.in_doubt[0]), (3, 3));
    assert_eq!(report.aborted, Some(gone()));
}

#[test]
fn no_run_without_all_connections() {
    let refused = |connections, opens_max, opening| {
        let fake = Fake { opens_max, opening, ..Fake::new(MS, |_, _| Attempt::Committed) };
        let options = options(connections, MS);
        run(&fake, &options, Company::Alone, &mut |_| Control::Continue).unwrap_err()
    };
    let error = refused(8, 3, Duration::ZERO);
    assert!(matches!(error, RunError::Open { connections: 8, .. }), "{error}");
    assert!(error.to_string().contains("made up: connect"));
    // Nobody waits for those that are still being opened, here or at another worker.
    refused(8, 3, LONG);
    refused(2, 1, LONG);
}
