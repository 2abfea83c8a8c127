//! Stalls by clients that no database stands behind: what is in flight at the end of a window,
//! where connections are, and for how long nothing ends.

use base::limits;
use drive::{
    Arrivals, Attempt, Client, Company, Control, Failed, FailureKind, Opening, Pace, RunOptions,
    RunReport, Source, Terminals, TransactionInfo, TransactionType, Workload, per_type, run,
};
use spec::Spacing;
use std::ops::Range;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const OFTEN: TransactionInfo = TransactionInfo {
    name: "often",
    is_primary: true,
    is_deferred: false,
    share: 0.75,
    row_bytes: None,
};
const TYPES: &[TransactionInfo] =
    &[OFTEN, TransactionInfo { name: "seldom", is_primary: false, share: 0.25, ..OFTEN }];

/// Transactions take `busy`, and none ends in these times after the first one began.
struct Fake {
    busy: Duration,
    stalls: Vec<Range<Duration>>,
    begun: Mutex<Option<Instant>>,
    ends: fn(u64) -> Attempt,
}

fn fake(busy: Duration, stalls: Vec<Range<Duration>>) -> Fake {
    Fake { busy, stalls, begun: Mutex::new(None), ends: |_| Attempt::Committed }
}

struct Dealt(u64);

impl Source for Dealt {
    type Operation = ();

    fn deal(&mut self) -> TransactionType {
        self.0 += 1;
        TransactionType(u8::from(self.0.is_multiple_of(4)))
    }

    fn draw(&mut self, _: TransactionType) {}
}

struct FakeClient<'a>(&'a Fake, u64);
struct Driven<'a>(&'a Fake);

impl<'a> Workload for Driven<'a> {
    type Operation = ();
    type Source = Dealt;
    type Client = FakeClient<'a>;

    fn transactions(&self) -> &'static [TransactionInfo] {
        TYPES
    }

    fn source(&self, _: u32) -> Dealt {
        Dealt(0)
    }

    async fn open(&self, _: Opening) -> Result<FakeClient<'a>, Failed> {
        Ok(FakeClient(self.0, 0))
    }
}

impl Client for FakeClient<'_> {
    type Operation = ();

    async fn attempt(&mut self, (): &()) -> Attempt {
        let begun = *self.0.begun.lock().unwrap().get_or_insert_with(Instant::now);
        let mut end = Instant::now() + self.0.busy;
        if let Some(stall) = self.0.stalls.iter().find(|of| of.contains(&(end - begun))) {
            end = begun + stall.end;
        }
        reactor::sleep_until(end).await;
        self.1 += 1;
        (self.0.ends)(self.1)
    }

    fn statements(&self) -> u64 {
        self.1
    }

    async fn close(self) {}
}

/// A warm-up of 1.5 s and a window of 4 s.
fn drive(fake: &Fake, pace: Pace, connections: u32) -> RunReport {
    let options = RunOptions {
        connections,
        workers: 3,
        warmup: 1_500 * MS,
        window: 4_000 * MS,
        interval: 300 * MS,
        pace,
        seed: 1,
        ..RunOptions::default()
    };
    run(&Driven(fake), &options, Company::Alone, &mut |_| Control::Continue).unwrap()
}

fn in_flight(report: &RunReport) -> u64 {
    report.totals.in_flight.iter().map(|of| of.count()).sum()
}

fn oldest(report: &RunReport) -> Duration {
    let ages = report.totals.in_flight.iter().map(|of| of.max_ns);
    Duration::from_nanos(ages.max().unwrap())
}

/// Connections x window, but for what this machine's clocks and threads are late.
#[track_caller]
fn all_time_is_known(report: &RunReport, connections: u64) {
    let time = report.totals.connection_time;
    let known = time.in_transactions_ns + time.idle_ns + time.error_pauses_ns + time.lost_ns;
    let share = known as f64 / (connections * report.window_ns) as f64;
    assert!((share - 1.0).abs() < 0.01, "{share}: {time:?}");
}

/// Their lengths, to 10 % and what a loaded machine adds.
#[track_caller]
fn are_silences(report: &RunReport, lengths: &[Duration]) {
    let seen: Vec<Duration> =
        report.silences.iter().map(|of| Duration::from_nanos(of.busy_ns())).collect();
    assert_eq!(seen.len(), lengths.len(), "{seen:?}");
    for (seen, length) in seen.iter().zip(lengths) {
        assert!((length.mul_f64(0.95)..length.mul_f64(1.1)).contains(seen), "{seen:?} {length:?}");
    }
}

/// Across the begin of the window, in it, and across its end.
#[test]
fn a_closed_loop_knows_when_nothing_ended() {
    let stalls = [500..2_500, 3_000..4_500, 4_800..6_800].map(|of| MS * of.start..MS * of.end);
    let fake = fake(5 * MS, stalls.to_vec());
    let report = drive(&fake, Pace::Closed, 7);
    are_silences(&report, &[2_000 * MS, 1_500 * MS, 2_000 * MS]);
    assert!(report.silences.iter().all(|of| of.in_flight == 7), "{:?}", report.silences);
    assert_eq!(in_flight(&report), 7);
    assert!((600 * MS..1_200 * MS).contains(&oldest(&report)), "{:?}", oldest(&report));
    all_time_is_known(&report, 7);
    let busy = report.totals.connection_time.in_transactions_ns as f64;
    assert!(busy / (7 * report.window_ns) as f64 > 0.98);
}

/// No transaction is shorter than the window, so that nothing has ended in it; and each is in
/// flight all through it.
#[test]
fn a_window_in_which_nothing_ends_has_all_connections_in_flight() {
    let fake = fake(7_000 * MS, Vec::new());
    let report = drive(&fake, Pace::Closed, 5);
    are_silences(&report, &[7_000 * MS]);
    assert_eq!(in_flight(&report), 5);
    assert!(oldest(&report) >= 5_400 * MS, "{:?}", oldest(&report));
    assert_eq!(report.window.as_ref().unwrap().primary_completed(), 0);
    all_time_is_known(&report, 5);
}

#[test]
fn an_open_loop_counts_what_waits_for_its_turn() {
    let fake = fake(2 * MS, vec![4_500 * MS..7_000 * MS]);
    let arrivals = Arrivals::steady(200.0, Spacing::Uniform);
    let report = drive(&fake, Pace::Arrivals(arrivals), 4);
    are_silences(&report, &[2_500 * MS]);
    // 200 come in the last second, of which connections had four.
    let waiting = in_flight(&report);
    assert!((150..=230).contains(&waiting), "{waiting}");
    assert!(report.silences[0].in_flight.abs_diff(waiting) <= 6, "{:?}", report.silences);
    let skipped = report.window.as_ref().unwrap().schedule.skipped;
    assert!(skipped > 0 && waiting >= skipped, "{skipped} {waiting}");
    // What was not drawn counts for the types by their shares.
    let seldom = report.totals.in_flight[1].count() as f64 / waiting as f64;
    assert!((0.2..0.3).contains(&seldom), "{seldom}");
    assert!((800 * MS..1_400 * MS).contains(&oldest(&report)), "{:?}", oldest(&report));
    all_time_is_known(&report, 4);
}

/// Few come, and between them nothing is in flight.
#[test]
fn times_without_work_are_no_silences() {
    let arrivals = Arrivals::steady(0.7, Spacing::Uniform);
    let report = drive(&fake(5 * MS, Vec::new()), Pace::Arrivals(arrivals), 3);
    are_silences(&report, &[]);
    all_time_is_known(&report, 3);
    let terminals = Terminals {
        count: 2,
        keying: per_type([1_500 * MS; 2]),
        think_mean: per_type([MS; 2]),
        deck_size: 4,
    };
    let report = drive(&fake(5 * MS, Vec::new()), Pace::Terminals(terminals), 3);
    are_silences(&report, &[]);
    all_time_is_known(&report, 3);
}

#[test]
fn terminals_know_when_nothing_ended() {
    let fake = fake(2 * MS, vec![3_000 * MS..5_000 * MS]);
    let terminals = Terminals {
        count: 40,
        keying: per_type([20 * MS; 2]),
        think_mean: per_type([20 * MS; 2]),
        deck_size: 4,
    };
    let report = drive(&fake, Pace::Terminals(terminals), 3);
    are_silences(&report, &[2_000 * MS]);
    // All have submitted within that.
    assert_eq!(report.silences[0].in_flight, 40);
    all_time_is_known(&report, 3);
}

#[test]
fn pauses_and_losses_have_their_place() {
    let ends = |number: u64| {
        let failed = |kind| {
            let message = "made up".to_owned();
            Attempt::Failed(Failed { kind, code: "made_up".into(), message })
        };
        match number % 40 {
            10 => failed(FailureKind::Fatal),
            20 => failed(FailureKind::Deadlock),
            30 => failed(FailureKind::Lost { in_doubt: false }),
            _ => Attempt::Committed,
        }
    };
    let fake = Fake { ends, ..fake(5 * MS, Vec::new()) };
    let report = drive(&fake, Pace::Closed, 6);
    all_time_is_known(&report, 6);
    let time = report.totals.connection_time;
    assert!(time.error_pauses_ns > 0 && time.lost_ns > 0, "{time:?}");
    assert!(limits::SILENCE_MIN > 500 * MS, "these pauses are no silences");
}
