use super::*;
use crate::interval::TransactionStats;

const S: u64 = 1_000_000_000;

/// Of a run with this many connections, two workers and a window from 10 s to 20 s.
fn dispatcher(connections: u32) -> Dispatcher {
    let options = RunOptions {
        connections,
        workers: 2,
        warmup: Duration::from_secs(10),
        window: Duration::from_secs(10),
        interval: Duration::from_secs(1),
        ..RunOptions::default()
    };
    let schedule = Schedule::of(&options, base::Instant::now(), false);
    Dispatcher::start(schedule, options.workers, &options)
}

fn cause(dispatcher: &Dispatcher) -> Option<AbortCause> {
    assert_eq!(dispatcher.report.aborted.is_some(), dispatcher.schedule.aborted());
    dispatcher.report.aborted.as_ref().map(|abort| abort.cause)
}

#[test]
fn a_server_is_gone_where_no_connection_comes_back_for_long() {
    let lost_for = |seconds: u64, connected: bool, is_over: bool| {
        let mut dispatcher = dispatcher(4);
        dispatcher.last_connected -= Duration::from_secs(seconds);
        if connected {
            dispatcher.schedule.connected();
        }
        if is_over {
            dispatcher.schedule.end_at(0);
        }
        dispatcher.abort_if_hopeless();
        cause(&dispatcher)
    };
    assert_eq!(lost_for(11, false, false), Some(AbortCause::ServerGone));
    assert_eq!(lost_for(9, false, false), None);
    assert_eq!(lost_for(11, true, false), None);
    assert_eq!(lost_for(11, false, true), None, "what has ended has lost nothing");
}

#[test]
fn a_run_is_useless_where_all_of_many_transactions_fail() {
    let failed = |connections, errors, completed| {
        let mut dispatcher = dispatcher(connections);
        let mut interval = Interval::new(&[], Phase::Window, 10 * S..11 * S);
        interval.transactions[0] =
            TransactionStats { errors, committed: completed, ..TransactionStats::default() };
        dispatcher.close(&interval, &mut |_| Control::Continue);
        dispatcher.abort_if_hopeless();
        cause(&dispatcher)
    };
    assert_eq!(failed(4, 100, 0), Some(AbortCause::Useless));
    assert_eq!(failed(4, 99, 0), None);
    assert_eq!(failed(4, 100, 1), None);
    // Four for each connection, where that is more.
    assert_eq!(failed(30, 119, 0), None);
    assert_eq!(failed(30, 120, 0), Some(AbortCause::Useless));
}

/// The window intervals that are reported, by their committed transactions.
fn taken(dispatcher: &mut Dispatcher, messages: Vec<Message>) -> Vec<u64> {
    let mut reported = Vec::new();
    for message in messages {
        let taken = dispatcher.take(message, &mut |event| {
            if let Event::Interval(interval) = event {
                reported.push(interval.transactions[0].committed);
            }
            Control::Continue
        });
        taken.unwrap();
    }
    reported
}

/// The second of the window that begins there, with this many transactions and statements.
fn interval(start_s: u64, committed: u64) -> Message {
    let mut interval = Interval::new(&[], Phase::Window, start_s * S..(start_s + 1) * S);
    interval.transactions[0].committed = committed;
    interval.statements = 10 * committed;
    Message::Interval(Box::new(interval))
}

#[test]
fn an_interval_is_reported_once_all_workers_have_come() {
    let mut dispatcher = dispatcher(4);
    let first = taken(&mut dispatcher, vec![interval(10, 1), interval(11, 2)]);
    assert!(first.is_empty(), "{first:?}");
    let second = taken(&mut dispatcher, vec![interval(10, 3), interval(11, 4)]);
    assert_eq!(second, [4, 6]);
    let report = &dispatcher.report;
    assert_eq!((report.window_ns, report.statements), (2 * S, 100));
    assert_eq!(report.window.as_ref().unwrap().transactions[0].committed, 10);
}

#[test]
fn a_partner_that_is_gone_is_not_waited_for() {
    let mut dispatcher = dispatcher(4);
    let key = (Phase::Window, 10 * S);
    let gone = |reported, abort| Message::Gone { reported, abort };
    // It has reported the first second; the other worker both.
    let both = vec![interval(10, 1), interval(10, 2), interval(11, 4), gone(Some(key), None)];
    assert_eq!(taken(&mut dispatcher, both), [3, 4]);
    assert_eq!((dispatcher.workers, dispatcher.report.partners_lost), (1, 1));
    assert_eq!(cause(&dispatcher), None);
    let reason = "it is needed".to_owned();
    let abort = Abort { cause: AbortCause::PartnerLost, reason };
    taken(&mut dispatcher, vec![gone(None, Some(abort))]);
    assert_eq!(cause(&dispatcher), Some(AbortCause::PartnerLost));
}

#[test]
fn shares_of_all_workers_add_up() {
    let mut dispatcher = dispatcher(4);
    let share = |abandoned, client_cpu_ns| {
        let share = DrivenShare { abandoned, client_cpu_ns, ..DrivenShare::default() };
        Message::Finished(Box::new(share))
    };
    taken(&mut dispatcher, vec![share(3, 70), share(4, 80)]);
    assert_eq!((dispatcher.finished, dispatcher.report.abandoned), (2, 7));
    let mark = |utc_ns, cpu_ns| Some(Mark { utc_ns, cpu_ns });
    (dispatcher.window_begin, dispatcher.window_end) = (mark(5, 1_000), mark(9, 1_600));
    let report = dispatcher.into_report();
    assert_eq!(report.client_cpu_ns, 70 + 80 + 600);
    assert_eq!((report.window_started_utc_ns, report.window_ended_utc_ns), (5, 9));
    assert_eq!(report.warmup_ns, 10 * S);
}

#[test]
fn silences_of_the_window_are_kept() {
    let silence = |from_s: u64, to_s: u64| Silence {
        from_ns: from_s * S,
        to_ns: to_s * S,
        busy_from_ns: from_s * S,
        in_flight: 1,
        is_over: true,
        ..Silence::default()
    };
    let all =
        [(0, 3), (4, 10), (8, 12), (13, 15), (18, 22), (20, 24)].map(|of| silence(of.0, of.1));
    let mut silences = Silences::default();
    silences.take(&all, 0..30 * S);
    let mut report = RunReport::default();
    report.keep_silences(silences.clone(), 10 * S..20 * S);
    assert!(report.silences.is_empty(), "there was no window");
    report.window = Some(Box::new(Interval::new(&[], Phase::Window, 10 * S..20 * S)));
    report.keep_silences(silences, 10 * S..20 * S);
    assert_eq!(report.silences, all[2..5], "those that only touch it are not of it");
    // The longest, where there are many, in order of time.
    let mut many = Silences::default();
    let count = limits::SILENCES_MAX as u64 + 2;
    let lengths = (0..count).map(|n| silence(10 * n, 10 * n + if n == 0 { 2 } else { 3 }));
    many.take(&lengths.collect::<Vec<_>>(), 0..10 * count * S);
    report.keep_silences(many, 0..10 * count * S);
    assert_eq!(report.silences.len(), limits::SILENCES_MAX);
    assert_eq!(report.silences[0].from_ns, 10 * S);
    assert!(report.silences.is_sorted_by_key(|of| of.from_ns));
}
