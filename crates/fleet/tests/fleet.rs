//! Fleets of threads over loopback, with a workload that no database stands behind: merging is
//! exact, phases end together, and what goes wrong has a name.

use base::Instant;
use drive::{
    AbortCause, Attempt, Client, Company, Control, Event, Failed, FailureKind, Interval, Opening,
    Phase, RunError, RunOptions, RunReport, Source, TransactionInfo, TransactionType, WorkerPlace,
    Workload, WorkloadCounters,
};
use fleet::{
    Agreement, FleetError, FleetPlace, Follower, Leader, RankOptions, RankUsage, RunJob, RunOrder,
    Token,
};
use std::cell::RefCell;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const TYPES: &[TransactionInfo] = &[TransactionInfo {
    name: "work",
    is_primary: true,
    is_deferred: false,
    share: 1.0,
    row_bytes: None,
}];
static RUNS: AtomicBool = AtomicBool::new(false);
static STOPS: AtomicBool = AtomicBool::new(true);
const MS: Duration = Duration::from_millis(1);

/// Counts what it committed, and where its connections were.
#[derive(Default)]
struct Fake {
    /// It opens no connection.
    is_closed: bool,
    committed: AtomicU64,
    connections: std::sync::Mutex<Vec<u32>>,
}

struct Ones;

impl Source for Ones {
    type Operation = ();

    fn deal(&mut self) -> TransactionType {
        TransactionType(0)
    }

    fn draw(&mut self, _: TransactionType) {}
}

struct Committing<'a>(&'a Fake);

impl Client for Committing<'_> {
    type Operation = ();

    async fn attempt(&mut self, (): &()) -> Attempt {
        reactor::sleep_until(std::time::Instant::now() + 2 * MS).await;
        self.0.committed.fetch_add(1, Ordering::Relaxed);
        Attempt::Committed
    }

    fn statements(&self) -> u64 {
        0
    }

    fn count(&self, (): &(), counters: &mut WorkloadCounters) {
        counters.0[3] += 1;
    }

    async fn close(self) {}
}

impl<'a> Workload for &'a Fake {
    type Operation = ();
    type Source = Ones;
    type Client = Committing<'a>;

    fn transactions(&self) -> &'static [TransactionInfo] {
        TYPES
    }

    fn source(&self, _: u32) -> Ones {
        Ones
    }

    async fn open(&self, which: Opening) -> Result<Committing<'a>, Failed> {
        if self.is_closed {
            let message = "too many connections".to_owned();
            return Err(Failed { kind: FailureKind::Fatal, code: "1040".into(), message });
        }
        self.connections.lock().unwrap().push(which.connection);
        Ok(Committing(self))
    }
}

fn agreement(key: &str) -> Agreement {
    Agreement { command: "run".to_owned(), key: key.to_owned() }
}

fn token() -> Token {
    Token::new("only for these tests").unwrap()
}

/// Places of a fleet on a free port.
fn places(size: u32) -> Vec<FleetPlace> {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let leader = free.to_string();
    let place = |rank| FleetPlace { rank, size, leader: leader.clone(), names_come_late: false };
    (0..size).map(place).collect()
}

fn gather(place: &FleetPlace, tolerate: u32, wait: Duration) -> Result<Leader, FleetError> {
    let (token, agreement) = (token(), agreement("cell"));
    let options = RankOptions { place, token: &token, agreement: &agreement, wait };
    Leader::gather(&options, tolerate, &RUNS, &mut |_| {})
}

fn join(place: &FleetPlace, token: &Token, key: &str) -> Result<Follower, FleetError> {
    let (agreement, wait) = (agreement(key), Duration::from_secs(10));
    let options = RankOptions { place, token, agreement: &agreement, wait };
    Follower::join(&options, 2, &RUNS, &mut |_| {})
}

/// Does what rank 0 orders, but for leaving after `leaves_after` intervals, where that is said.
/// Returns the code that rank 0 ended with.
fn follow(place: &FleetPlace, fake: &Fake, leaves_after: Option<u32>) -> Result<u8, FleetError> {
    let mut follower = join(place, &token(), "cell")?;
    loop {
        let job = match follower.next(&RUNS)? {
            RunOrder::End { exit_code } => return Ok(exit_code),
            RunOrder::Run(job) => job,
            RunOrder::Load { .. } => panic!("nobody orders it"),
        };
        let turn = RefCell::new(follower.turn());
        let mut start = || turn.borrow_mut().start(&RUNS);
        let mut intervals = 0;
        let company = Company::Follows(&mut start);
        let ended = drive::run(&fake, &job.options, company, &mut |event| {
            intervals += u32::from(matches!(event, Event::Interval(_)));
            if leaves_after.is_some_and(|most| intervals >= most) {
                return Control::Stop;
            }
            turn.borrow_mut().take(&event, &RUNS)
        });
        if leaves_after.is_some() {
            return Ok(0);
        }
        turn.into_inner().finish(ended, RankUsage { cpu_ns: 5, ..RankUsage::default() })?;
    }
}

/// A run that a leader leads; `control` is asked at each interval.
fn lead(
    leader: &Leader,
    fake: &Fake,
    window: Duration,
    control: impl Fn(&Interval) -> Control,
) -> (RunReport, Vec<Interval>) {
    let (report, intervals) = try_lead(leader, fake, window, control);
    (report.unwrap(), intervals)
}

fn try_lead(
    leader: &Leader,
    fake: &Fake,
    window: Duration,
    control: impl Fn(&Interval) -> Control,
) -> (Result<RunReport, RunError>, Vec<Interval>) {
    let workers = leader.divide(NonZeroU32::MIN, 40);
    let options = RunOptions {
        connections: 40,
        workers: workers.own,
        place: Some(WorkerPlace { first: 0, workers_of_all: workers.of_all() }),
        warmup: 400 * MS,
        window,
        interval: 200 * MS,
        seed: 7,
        ..RunOptions::default()
    };
    let job = RunJob { options, input_seed: 7 };
    let mut intervals = Vec::new();
    let company = Company::Leads(leader.partners(&job, &workers, TYPES));
    let report = drive::run(&fake, &job.options, company, &mut |event| match event {
        Event::Interval(interval) => {
            intervals.push(interval.clone());
            control(interval)
        }
        _ => Control::Continue,
    });
    (report, intervals)
}

#[test]
fn a_rank_that_cannot_open_ends_the_run_for_all() {
    let places = places(3);
    let fakes: Vec<Fake> =
        (0..3).map(|rank| Fake { is_closed: rank == 2, ..Fake::default() }).collect();
    thread::scope(|scope| {
        let followers: Vec<_> = (1..3)
            .map(|rank| {
                scope.spawn({
                    let (place, fake) = (&places[rank], &fakes[rank]);
                    move || follow(place, fake, None)
                })
            })
            .collect();
        let leader = gather(&places[0], 0, Duration::from_secs(20)).unwrap();
        // Again: what was said of the first run is not taken for an answer to the second.
        for _ in 0..2 {
            let (ended, _) = try_lead(&leader, &fakes[0], 1000 * MS, |_| Control::Continue);
            let words = ended.unwrap_err().to_string();
            assert!(words.contains("rank 2 (") && words.contains("too many"), "{words}");
        }
        leader.end(4);
        for follower in followers {
            assert_eq!(follower.join().unwrap().unwrap(), 4);
        }
    });
}

#[test]
fn counts_of_all_ranks_are_merged_to_the_last_one() {
    let places = places(4);
    let fakes: Vec<Fake> = (0..4).map(|_| Fake::default()).collect();
    let (report, intervals, outcomes) = thread::scope(|scope| {
        for (place, fake) in places.iter().zip(&fakes).skip(1) {
            scope.spawn(move || assert_eq!(follow(place, fake, None).unwrap(), 6));
        }
        let leader = gather(&places[0], 0, Duration::from_secs(20)).unwrap();
        let own = NonZeroU32::new(8).unwrap();
        assert_eq!((leader.size(), leader.divide(own, 40).of_all()), (4, 14));
        assert_eq!((leader.divide(own, 5).own, leader.divide(own, 5).of_all()), (2, 5));
        let (report, intervals) = lead(&leader, &fakes[0], 1000 * MS, |_| Control::Continue);
        leader.end(6);
        (report, intervals, leader.outcomes())
    });
    let really: u64 = fakes.iter().map(|fake| fake.committed.load(Ordering::Relaxed)).sum();
    assert_eq!(report.totals.committed[0], really);
    assert_eq!(report.totals.counters.0[3], really);
    assert_eq!((report.window_ns, report.partners_lost), (1_000_000_000, 0));
    let of_intervals: u64 = intervals.iter().map(|of| of.transactions[0].committed).sum();
    assert_eq!(of_intervals, really);
    // Each connection is driven by one rank.
    let mut driven: Vec<u32> =
        fakes.iter().flat_map(|fake| fake.connections.lock().unwrap().clone()).collect();
    driven.sort_unstable();
    assert_eq!(driven, (0..40).collect::<Vec<_>>());
    let window = report.window.unwrap();
    assert!(outcomes.iter().all(|rank| rank.primary_transactions > 0 && rank.client_cpu_ns == 5));
    assert!(
        outcomes.iter().map(|rank| rank.primary_transactions).sum::<u64>()
            < window.primary_completed()
    );
    assert!(outcomes.iter().all(|rank| rank.clock_error_ns > 0), "{outcomes:?}");
    // 2 ms a transaction of 40 connections.
    let per_s = window.primary_completed();
    assert!((5_000..=20_000).contains(&per_s), "{per_s}");
}

#[test]
fn a_phase_ends_for_all_ranks_at_once() {
    let places = places(3);
    let fakes: Vec<Fake> = (0..3).map(|_| Fake::default()).collect();
    let (report, intervals) = thread::scope(|scope| {
        for (place, fake) in places.iter().zip(&fakes).skip(1) {
            scope.spawn(move || follow(place, fake, None).unwrap());
        }
        let leader = gather(&places[0], 0, Duration::from_secs(20)).unwrap();
        let driven = lead(&leader, &fakes[0], 60_000 * MS, |interval| {
            let is_enough =
                interval.phase == Phase::Window && interval.start_offset_ns >= 800_000_000;
            if is_enough { Control::EndPhase(Phase::Window) } else { Control::Continue }
        });
        leader.end(0);
        driven
    });
    assert!(report.aborted.is_none() && report.window_ns < 4_000_000_000, "{}", report.window_ns);
    let really: u64 = fakes.iter().map(|fake| fake.committed.load(Ordering::Relaxed)).sum();
    assert_eq!(report.totals.committed[0], really);
    // No interval came in two parts, as it would where ranks have ends of their own.
    let whole = intervals.iter().filter(|of| of.phase != Phase::Drain);
    assert!(whole.clone().all(|of| of.end_offset_ns - of.start_offset_ns == 200_000_000));
    let ends: Vec<u64> = whole.map(|of| of.end_offset_ns).collect();
    assert!(ends.windows(2).all(|pair| pair[1] == pair[0] + 200_000_000), "{ends:?}");
}

/// One rank leaves in the window.
fn with_a_loss(tolerate: u32) -> (RunReport, Vec<Interval>, Leader) {
    let places = places(3);
    let fakes: Vec<Fake> = (0..3).map(|_| Fake::default()).collect();
    thread::scope(|scope| {
        for (place, fake) in places.iter().zip(&fakes).skip(1) {
            let leaves_after = (place.rank == 2).then_some(4);
            scope.spawn(move || follow(place, fake, leaves_after));
        }
        let leader = gather(&places[0], tolerate, Duration::from_secs(20)).unwrap();
        let (report, intervals) = lead(&leader, &fakes[0], 1600 * MS, |_| Control::Continue);
        leader.end(0);
        (report, intervals, leader)
    })
}

#[test]
fn a_lost_rank_fails_the_run_by_its_name() {
    let (report, _, _) = with_a_loss(0);
    let abort = report.aborted.unwrap();
    assert_eq!(abort.cause, AbortCause::PartnerLost);
    assert!(abort.reason.starts_with("rank 2 ("), "{}", abort.reason);
    assert!(abort.reason.contains("--tolerate 1"), "{}", abort.reason);
}

#[test]
fn a_loss_that_is_tolerated_is_marked() {
    let (report, intervals, leader) = with_a_loss(1);
    assert!(report.aborted.is_none(), "{:?}", report.aborted);
    assert_eq!((report.partners_lost, report.window_ns), (1, 1_600_000_000));
    // The next run goes on without it.
    assert_eq!(leader.divide(NonZeroU32::MIN, 40).of_all(), 3);
    let lost: Vec<u32> =
        leader.outcomes().iter().filter(|rank| rank.lost.is_some()).map(|rank| rank.rank).collect();
    assert_eq!(lost, [2]);
    let starts: Vec<u64> = intervals
        .iter()
        .filter(|of| of.phase != Phase::Drain)
        .map(|of| of.start_offset_ns)
        .collect();
    assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "{starts:?}");
    let (first, last) = (&intervals[2], &intervals[intervals.len() - 2]);
    assert!(last.transactions[0].committed < first.transactions[0].committed);
}

#[test]
fn strangers_are_turned_away_and_ranks_that_disagree_end_the_fleet() {
    let refused = |place: &FleetPlace, token: &Token, key: &str| {
        let place = place.clone();
        join(&place, token, key).err().map(|error| error.to_string()).unwrap_or_default()
    };
    // A wrong token, and garbage, do not keep the fleet from coming together.
    let places = places(2);
    let fake = Fake::default();
    thread::scope(|scope| {
        let leader = scope.spawn(|| gather(&places[0], 0, Duration::from_secs(20)));
        let wrong = Token::new("another token of tests").unwrap();
        let words = refused(&places[1], &wrong, "cell");
        assert!(words.contains("it does not know the fleet's token"), "{words}");
        let mut garbage = TcpStream::connect(places[0].leader.as_str()).unwrap();
        garbage.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let follower = scope.spawn(|| follow(&places[1], &fake, None));
        let leader = leader.join().unwrap().unwrap();
        leader.end(0);
        assert_eq!(follower.join().unwrap().unwrap(), 0);
    });
    let places = self::places(2);
    thread::scope(|scope| {
        let leader = scope.spawn(|| gather(&places[0], 0, Duration::from_secs(20)));
        let words = refused(&places[1], &token(), "another cell");
        assert!(words.contains("asks for another measurement"), "{words}");
        let words = leader.join().unwrap().unwrap_err().to_string();
        assert!(words.starts_with("rank 1 is refused: its command line"), "{words}");
    });
}

#[test]
fn who_does_not_come_is_named() {
    let places = places(3);
    let error = thread::scope(|scope| {
        scope.spawn(|| join(&places[1], &token(), "cell"));
        gather(&places[0], 0, Duration::from_secs(2)).unwrap_err().to_string()
    });
    assert!(error.contains("1 of 3 ranks did not come within 2 s: 2"), "{error}");
    let place = &self::places(2)[1];
    let agreement = agreement("cell");
    let options = RankOptions { place, token: &token(), agreement: &agreement, wait: 300 * MS };
    let error = Follower::join(&options, 1, &RUNS, &mut |_| {}).err().unwrap().to_string();
    assert!(error.contains("no rank 0 answers at 127.0.0.1"), "{error}");
}

#[test]
fn ranks_start_together() {
    let places = places(2);
    let fake = Fake::default();
    let started = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut follower = join(&places[1], &token(), "cell").unwrap();
            let RunOrder::Run(job) = follower.next(&RUNS).unwrap() else { panic!("it is to run") };
            let turn = RefCell::new(follower.turn());
            let mut start = || turn.borrow_mut().start(&RUNS);
            let company = Company::Follows(&mut start);
            let ended = drive::run(&&Fake::default(), &job.options, company, &mut |event| {
                if matches!(event, Event::Started) {
                    started.store(Instant::now().since_origin_ns(), Ordering::Relaxed);
                }
                // Its user wants an end, of which rank 0 decides.
                turn.borrow_mut().take(&event, &STOPS)
            });
            turn.into_inner().finish(ended, RankUsage::default()).unwrap();
        });
        let leader = gather(&places[0], 0, Duration::from_secs(20)).unwrap();
        assert!(!leader.is_stop_asked());
        lead(&leader, &fake, 200 * MS, |_| Control::Continue);
        assert!(leader.is_stop_asked());
        let outcome = &leader.outcomes()[0];
        // On a machine that other tests keep busy; the figure itself is a benchmark's.
        assert!(outcome.start_late_ns < 250_000_000, "{outcome:?}");
        assert!(outcome.clock_error_ns < 50_000_000, "{outcome:?}");
    });
    assert!(started.load(Ordering::Relaxed) > 0);
}
