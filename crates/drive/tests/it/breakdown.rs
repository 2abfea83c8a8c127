//! Where response times go adds up to them, with clients that no database stands behind.

use drive::{
    Arrivals, Attempt, Breakdown, Client, Company, Control, Event, Failed, FailureKind, Interval,
    Opening, Pace, RunOptions, RunReport, Source, StatementTime, StatementTimes, TransactionInfo,
    TransactionType, Workload, run,
};
use spec::{Pauses, Spacing};
use std::time::{Duration, Instant};

const KINDS: [&str; 3] = ["commit", "rollback", "lock_stock"];
const COMMIT: usize = 0;
const ROLLBACK: usize = 1;
const LOCK: usize = 2;
const STATEMENT: Duration = Duration::from_millis(3);

const PAYMENT: TransactionType = TransactionType(1);
const NEW_ORDER: TransactionInfo = TransactionInfo {
    name: "new_order",
    is_primary: true,
    is_deferred: false,
    share: 1.0,
    row_bytes: None,
};
const TYPES: &[TransactionInfo] = &[NEW_ORDER, TransactionInfo { name: "payment", ..NEW_ORDER }];

/// The first try of each transaction is a deadlock in its second statement.
struct Deadlocks;

struct DeadlockedClient {
    tries: u32,
    times: Vec<StatementTime>,
    sent: u64,
}

struct Payments;

impl Source for Payments {
    type Operation = ();

    fn deal(&mut self) -> TransactionType {
        PAYMENT
    }

    fn draw(&mut self, _: TransactionType) {}
}

impl Workload for Deadlocks {
    type Operation = ();
    type Source = Payments;
    type Client = DeadlockedClient;

    fn transactions(&self) -> &'static [TransactionInfo] {
        TYPES
    }

    fn source(&self, _: u32) -> Payments {
        Payments
    }

    async fn open(&self, _which: Opening) -> Result<DeadlockedClient, Failed> {
        Ok(DeadlockedClient { tries: 0, times: Vec::new(), sent: 0 })
    }
}

impl DeadlockedClient {
    async fn statement(&mut self, kind: usize) {
        let begin = Instant::now();
        reactor::sleep_until(begin + STATEMENT).await;
        self.sent += 1;
        let ns = begin.elapsed().as_nanos() as u64;
        self.times.push(StatementTime { kind, ns });
    }
}

impl Client for DeadlockedClient {
    type Operation = ();

    fn begin(&mut self) {
        self.tries = 0;
        self.times.clear();
    }

    async fn attempt(&mut self, (): &()) -> Attempt {
        self.tries += 1;
        self.statement(LOCK).await;
        self.statement(LOCK).await;
        if self.tries == 1 {
            self.statement(ROLLBACK).await;
            return Attempt::Failed(Failed {
                kind: FailureKind::Deadlock,
                code: "1213".into(),
                message: "made up".to_owned(),
            });
        }
        self.statement(COMMIT).await;
        Attempt::Committed
    }

    fn statements(&self) -> u64 {
        self.sent
    }

    fn statement_times(&self) -> StatementTimes<'_> {
        StatementTimes { kinds: &KINDS, times: &self.times }
    }

    async fn close(self) {}
}

fn drive(pace: Pace) -> (RunReport, Box<Interval>) {
    drive_with(pace, Duration::from_millis(2))
}

fn drive_with(pace: Pace, retry_pause: Duration) -> (RunReport, Box<Interval>) {
    let options = RunOptions {
        connections: 4,
        workers: 2,
        warmup: Duration::from_millis(200),
        window: Duration::from_millis(1_500),
        interval: Duration::from_millis(100),
        pace,
        pauses: Pauses { retry: retry_pause, ..Pauses::default() },
        seed: 1,
        ..RunOptions::default()
    };
    let ignore = &mut |_: Event<'_>| Control::Continue;
    let mut report = run(&Deadlocks, &options, Company::Alone, ignore).unwrap();
    let window = report.window.take().unwrap();
    (report, window)
}

/// Checks the sums, and returns the driver's own share of the response time.
fn own_share(breakdown: &Breakdown, window: &Interval) -> f64 {
    let stats = &window.transactions[PAYMENT.index()];
    let counted = breakdown.transactions;
    assert_eq!((counted, counted > 0), (stats.completed(), true));
    assert_eq!(breakdown.response_ns, stats.latency.sum_ns);
    // Warm-up and drain do not count; the statements of all tries do.
    let executions = |kind| {
        let of = breakdown.statements.iter().find(|(name, _)| *name == kind);
        of.unwrap().1.count()
    };
    assert_eq!(executions("commit"), counted);
    assert_eq!(executions("rollback"), counted);
    assert_eq!(executions("lock_stock"), 4 * counted);
    let statements = breakdown.statements.iter();
    let statements_ns: u64 = statements.map(|(_, times)| times.sum_ns).sum();
    let accounted_ns = breakdown.queued_ns + breakdown.paused_ns + statements_ns;
    assert!(accounted_ns <= breakdown.response_ns);
    1.0 - accounted_ns as f64 / breakdown.response_ns as f64
}

#[test]
fn statements_and_pauses_add_up_to_the_response_time() {
    let (report, window) = drive(Pace::Closed);
    let breakdown = &report.breakdowns[PAYMENT.index()];
    let own = own_share(breakdown, &window);
    // What remains is the time between two readings of the clock.
    assert!(own < 0.1, "{own}");
    assert_eq!(breakdown.queued_ns, 0);
    assert!(breakdown.paused_ns > 0);
    assert_eq!(report.breakdowns[0].transactions, 0);
}

#[test]
fn pauses_before_a_retry_are_as_long_as_was_asked_for() {
    let mean_us = |retry_pause| {
        let (report, _) = drive_with(Pace::Closed, retry_pause);
        let breakdown = &report.breakdowns[PAYMENT.index()];
        breakdown.paused_ns as f64 / 1e3 / breakdown.transactions as f64
    };
    let (none_us, long_us) = (mean_us(Duration::ZERO), mean_us(Duration::from_millis(100)));
    // A random time up to 100 ms; the mean of the forty and more that fit into the window.
    assert!(long_us > 25_000.0 && none_us < long_us / 4.0, "{none_us} {long_us}");
}

#[test]
fn waiting_for_a_connection_is_no_statement() {
    // Each transaction takes 18 ms and more, so four connections end 222 a second at most.
    let pace = Pace::Arrivals(Arrivals::steady(400.0, Spacing::Uniform));
    let (report, window) = drive(pace);
    let breakdown = &report.breakdowns[PAYMENT.index()];
    assert!(own_share(breakdown, &window) < 0.1);
    let service_ns = breakdown.response_ns - breakdown.queued_ns;
    assert_eq!(service_ns, window.schedule.service.sum_ns);
    assert!(breakdown.queued_ns > breakdown.response_ns / 4);
}
