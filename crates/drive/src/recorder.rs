//! Counts and response times, interval by interval, on the worker that makes them. Nothing is
//! shared until an interval is over, then it is sent whole.

use crate::breakdown::{Breakdown, Waits};
use crate::client::{
    Attempt, Failed, FailureKind, PerType, TransactionInfo, TransactionType, WorkloadCounters,
};
use crate::interval::{Interval, Phase, TerminalStats};
use crate::merge::Merge;
use crate::schedule::Schedule;
use crate::silence::{Failures, Silence};
use crate::timed::StatementTimes;
use crate::totals::{ConnectionTime, FailedTries, FailuresByCode, Totals};
use base::limits;
use std::ops::Range;
use std::sync::Arc;

/// What failed, where it was no transaction.
const RECONNECT: &str = "reconnect";

/// The recorder of one worker.
pub(crate) struct Recorder {
    types: &'static [TransactionInfo],
    pub(crate) schedule: Arc<Schedule>,
    current: Interval,
    finished: Vec<Interval>,
    pub(crate) totals: Totals,
    /// Of what the window counts.
    pub(crate) breakdowns: PerType<Breakdown>,
    /// Transactions that have begun, or wait for their turn, and have not ended.
    in_flight: u64,
    /// One has failed, and none has ended well since.
    is_failing: bool,
    /// Since when there was always one in flight, or they failed.
    busy_from_ns: u64,
    /// When the last one ended well, or the interval under way began.
    silent_from_ns: u64,
    /// Since then.
    failures: Failures,
    /// Transactions that never began, by the type that they are counted for.
    never_begun: PerType<u64>,
}

impl Recorder {
    pub(crate) fn new(types: &'static [TransactionInfo], schedule: &Arc<Schedule>) -> Recorder {
        Recorder {
            types,
            schedule: Arc::clone(schedule),
            current: beginning(types, 0, schedule),
            finished: Vec::new(),
            totals: Totals::default(),
            breakdowns: Default::default(),
            in_flight: 0,
            is_failing: false,
            busy_from_ns: 0,
            silent_from_ns: 0,
            failures: Failures::default(),
            never_begun: Default::default(),
        }
    }

    /// When the interval under way ends.
    pub(crate) fn current_end_ns(&self) -> u64 {
        let Interval { phase, start_offset_ns, end_offset_ns, .. } = self.current;
        match phase {
            Phase::Drain => u64::MAX,
            // An early end may lie before an interval that another thread's reading of the clock
            // has just begun.
            _ => end_offset_ns.min(self.schedule.end_ns()).max(start_offset_ns),
        }
    }

    /// Closes every interval that is over at `now_ns`.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        while self.current_end_ns() <= now_ns {
            let end = self.current_end_ns();
            self.end_silence(end, true);
            let next = beginning(self.types, end, &self.schedule);
            let mut over = std::mem::replace(&mut self.current, next);
            over.end_offset_ns = end;
            self.finished.push(over);
        }
    }

    /// Does nobody wait for the answer?
    pub(crate) fn is_deferred(&self, transaction: TransactionType) -> bool {
        self.types[transaction.index()].is_deferred
    }

    /// Intervals that are over and not yet taken.
    pub(crate) fn take_finished(&mut self) -> Vec<Interval> {
        std::mem::take(&mut self.finished)
    }

    /// Closes the interval under way, which is the drain or, where the run is cut, any other.
    pub(crate) fn finish(&mut self, now_ns: u64) -> Vec<Interval> {
        self.advance(now_ns);
        self.end_silence(now_ns, true);
        let none = Interval::new(self.types, Phase::Drain, now_ns..now_ns);
        let mut last = std::mem::replace(&mut self.current, none);
        last.end_offset_ns = now_ns.max(last.start_offset_ns);
        self.finished.push(last);
        self.take_finished()
    }

    /// A try that failed, whatever comes of its transaction.
    pub(crate) fn failed_try(&mut self, transaction: TransactionType, failed: &Failed) {
        let stats = &mut self.current.transactions[transaction.index()];
        match failed.kind {
            FailureKind::Deadlock => stats.deadlocks += 1,
            FailureKind::LockWaitTimeout => stats.lock_wait_timeouts += 1,
            FailureKind::Conflict => stats.other_retries += 1,
            FailureKind::Fatal | FailureKind::NoWrites => {}
            FailureKind::Lost { in_doubt } => {
                self.totals.in_doubt[transaction.index()] += u64::from(in_doubt);
            }
        }
        let name = self.types[transaction.index()].name;
        add_failed(&mut self.totals.failed_tries, name, failed);
    }

    /// A try to open a connection again that failed.
    pub(crate) fn failed_reconnect(&mut self, failed: &Failed, at_ns: u64) {
        self.advance(at_ns);
        add_failed(&mut self.totals.failed_tries, RECONNECT, failed);
        self.failure(RECONNECT, failed, at_ns);
    }

    /// What no other try follows at once.
    fn failure(&mut self, what: &'static str, failed: &Failed, at_ns: u64) {
        add_failed(&mut self.current.failures, what, failed);
        self.failures.add(at_ns);
        if self.in_flight == 0 && !self.is_failing {
            self.busy_from_ns = at_ns;
        }
        self.is_failing = true;
    }

    /// A transaction that was still under way when the run was cut: whether it commits nobody will
    /// say, unless it paused between two tries.
    pub(crate) fn abandoned(&mut self, of: UnderWay) {
        self.pending(of.transaction, of.begin_ns);
        self.worked(of.taken_ns..self.schedule.end_ns());
        self.totals.in_doubt[of.transaction.index()] += u64::from(!of.is_paused);
    }

    /// A transaction begins or, before that, is due or submitted.
    pub(crate) fn came(&mut self, at_ns: u64) {
        if self.in_flight == 0 && !self.is_failing {
            self.busy_from_ns = at_ns;
        }
        self.in_flight += 1;
    }

    /// Ends the time in which nothing ended well: with a transaction or, at `is_last`, the
    /// interval. Of a time with failures in another worker this one has a part.
    fn end_silence(&mut self, at_ns: u64, is_last: bool) {
        let from_ns = std::mem::replace(&mut self.silent_from_ns, at_ns);
        let failures = std::mem::take(&mut self.failures);
        let is_first = from_ns == self.current.start_offset_ns;
        let length_ns = u128::from(at_ns.saturating_sub(from_ns));
        let is_long = length_ns >= limits::FAILED_SILENCE_MIN.as_nanos();
        if (is_first || is_last || is_long) && from_ns < at_ns {
            let is_busy = self.in_flight > 0 || self.is_failing;
            let busy_from_ns = if is_busy { self.busy_from_ns } else { at_ns };
            self.current.silences.push(Silence {
                from_ns,
                to_ns: at_ns,
                busy_from_ns: busy_from_ns.clamp(from_ns, at_ns),
                in_flight: self.in_flight,
                failures,
                is_over: false,
            });
        }
    }

    /// The part of a time that is in the window. It may end now at the latest, so that the window's
    /// begin is known where the window has begun.
    fn in_window(&self, time_ns: &Range<u64>) -> u64 {
        if self.current.phase == Phase::Warmup {
            return 0;
        }
        let from_ns = time_ns.start.max(self.schedule.warmup_ns());
        time_ns.end.min(self.schedule.end_ns()).saturating_sub(from_ns)
    }

    /// A connection was in a transaction.
    pub(crate) fn worked(&mut self, time_ns: Range<u64>) {
        self.totals.connection_time.in_transactions_ns += self.in_window(&time_ns);
    }

    /// A connection was in none, until now; `counted` is the time that this belongs to.
    pub(crate) fn rested(
        &mut self,
        counted: impl FnOnce(&mut ConnectionTime) -> &mut u64,
        time_ns: Range<u64>,
    ) {
        self.advance(time_ns.end);
        *counted(&mut self.totals.connection_time) += self.in_window(&time_ns);
    }

    /// A transaction ends in an error.
    pub(crate) fn ended_badly(
        &mut self,
        transaction: TransactionType,
        failed: &Failed,
        at_ns: u64,
    ) {
        self.failure(self.types[transaction.index()].name, failed, at_ns);
        self.in_flight = self.in_flight.saturating_sub(1);
        self.given_up(transaction);
    }

    /// A transaction that was given up.
    pub(crate) fn given_up(&mut self, transaction: TransactionType) {
        self.current.transactions[transaction.index()].errors += 1;
        self.totals.errors += 1;
    }

    /// A transaction that ended well. It counts for the interval in which it ended, whenever it
    /// began. `count` adds what the workload counts of it. Where its response time went is kept of
    /// what ends in the window.
    pub(crate) fn ended_well(
        &mut self,
        transaction: TransactionType,
        how: &Attempt,
        operated: Operated,
        statements: StatementTimes<'_>,
        count: impl FnOnce(&mut WorkloadCounters),
    ) {
        let committed = u64::from(*how == Attempt::Committed);
        self.end_silence(operated.end_ns, false);
        self.in_flight = self.in_flight.saturating_sub(1);
        self.is_failing = false;
        self.totals.committed[transaction.index()] += committed;
        self.pending(transaction, operated.begin_ns);
        let in_window = self.current.phase == Phase::Window;
        let response_ns = operated.end_ns - operated.begin_ns;
        if in_window && operated.begin_ns < self.schedule.warmup_ns() {
            self.totals.begun_before_window[transaction.index()].record(response_ns);
        }
        let stats = &mut self.current.transactions[transaction.index()];
        stats.committed += committed;
        stats.rolled_back += 1 - committed;
        stats.latency.record(response_ns);
        if let Some(try_ns) = operated.scheduled_try_ns {
            self.current.schedule.service.record(operated.end_ns - try_ns);
        }
        if self.types[transaction.index()].is_primary {
            self.current.add_primary(operated.server, 1);
        }
        let mut counters = WorkloadCounters::default();
        count(&mut counters);
        self.totals.counters.merge(&counters);
        if in_window {
            self.current.counters.merge(&counters);
            self.breakdowns[transaction.index()].add(response_ns, operated.waits, statements);
        }
    }

    /// A transaction ends, however: where the window is over and it began before that, it was in
    /// flight at the end of the window.
    pub(crate) fn pending(&mut self, transaction: TransactionType, begin_ns: u64) {
        let end_ns = self.schedule.end_ns();
        if self.current.phase == Phase::Drain && begin_ns < end_ns {
            self.totals.in_flight[transaction.index()].record(end_ns - begin_ns);
        }
    }

    pub(crate) fn add_statements(&mut self, statements: u64) {
        self.current.statements += statements;
    }

    /// The interval that holds a moment or, where that has been sent already, the oldest that has
    /// not.
    fn interval_at(&mut self, at_ns: u64) -> &mut Interval {
        if at_ns >= self.current.start_offset_ns || self.finished.is_empty() {
            return &mut self.current;
        }
        let holds = |interval: &Interval| interval.start_offset_ns <= at_ns;
        let index = self.finished.iter().rposition(holds).unwrap_or(0);
        &mut self.finished[index]
    }

    /// A transaction of the schedule is due.
    pub(crate) fn offered(&mut self, intended_ns: u64) {
        self.advance(intended_ns);
        self.interval_at(intended_ns).schedule.offered += 1;
    }

    /// A transaction of the schedule will never begin.
    pub(crate) fn skipped(&mut self, intended_ns: u64) {
        self.interval_at(intended_ns).schedule.skipped += 1;
    }

    /// The same because the window is over: it has waited until then. What it would have been was
    /// not drawn, so that it counts for the type that has least of its share.
    pub(crate) fn never_begun(&mut self, intended_ns: u64) {
        self.skipped(intended_ns);
        let lag_ns = self.schedule.end_ns().saturating_sub(intended_ns);
        self.interval_at(intended_ns).schedule.lag.record(lag_ns);
        self.in_flight = self.in_flight.saturating_sub(1);
        let dealt = self.never_begun.iter().sum::<u64>() as f64 + 1.0;
        let lacking = |of: usize| self.types[of].share * dealt - self.never_begun[of] as f64;
        let types = 0..self.types.len();
        if let Some(of) = types.max_by(|a, b| lacking(*a).total_cmp(&lacking(*b))) {
            self.never_begun[of] += 1;
            self.pending(TransactionType(of as u8), intended_ns);
        }
    }

    /// A transaction of the schedule begins: it was due at the start of `lag_ns`, and now is the
    /// end.
    pub(crate) fn begun(&mut self, lag_ns: Range<u64>) {
        self.advance(lag_ns.end);
        let stats = &mut self.current.schedule;
        let lag_ns = lag_ns.end.saturating_sub(lag_ns.start);
        stats.lag.record(lag_ns);
        stats.late += u64::from(u128::from(lag_ns) > limits::LATE_AFTER.as_nanos());
    }

    /// The recording of what terminals do at `now_ns`.
    pub(crate) fn terminals_at(&mut self, now_ns: u64) -> &mut TerminalStats {
        self.advance(now_ns);
        &mut self.current.terminals
    }
}

fn add_failed(to: &mut FailuresByCode, what: &'static str, failed: &Failed) {
    let none = || FailedTries { occurrences: 0, first_message: failed.message.clone() };
    to.entry((what, failed.code.to_string())).or_insert_with(none).occurrences += 1;
}

/// The interval that begins at `start_ns`.
fn beginning(types: &'static [TransactionInfo], start_ns: u64, schedule: &Schedule) -> Interval {
    let (phase, end_ns) = schedule.begin_interval(start_ns);
    Interval::new(types, phase, start_ns..end_ns)
}

/// A transaction that a connection is in, and when it began or was submitted or due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnderWay {
    pub(crate) transaction: TransactionType,
    pub(crate) begin_ns: u64,
    /// When the connection took it.
    pub(crate) taken_ns: u64,
    /// It has been rolled back and will be tried again.
    pub(crate) is_paused: bool,
}

/// Where a transaction ran, and its moments from the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Operated {
    /// [`crate::Client::server`].
    pub(crate) server: usize,
    /// Begin of the first try or, before it, submission or intended start.
    pub(crate) begin_ns: u64,
    /// Begin of the first try, where the transaction had an intended start.
    pub(crate) scheduled_try_ns: Option<u64>,
    /// End of the last try.
    pub(crate) end_ns: u64,
    pub(crate) waits: Waits,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::TransactionStats;
    use base::Instant;

    const NEW_ORDER: TransactionInfo = TransactionInfo {
        name: "new_order",
        is_primary: true,
        is_deferred: false,
        share: 1.0,
        row_bytes: None,
    };
    const TYPES: &[TransactionInfo] =
        &[NEW_ORDER, TransactionInfo { name: "payment", is_primary: false, ..NEW_ORDER }];

    fn schedule() -> Arc<Schedule> {
        Arc::new(Schedule::new(Instant::now(), 1_500..4_000, 1_000))
    }

    fn committed(recorder: &mut Recorder, begin_ns: u64, end_ns: u64) {
        recorder.advance(end_ns);
        let operated = Operated { begin_ns, end_ns, ..Operated::default() };
        let (payment, statements) = (TransactionType(1), StatementTimes::default());
        recorder.ended_well(payment, &Attempt::Committed, operated, statements, |counters| {
            counters.0[0] += 1;
        });
    }

    /// 32 connections of 3 s a transaction, evenly staggered: 10.67 end each second. Counting
    /// those alone that also began in the window loses 12 %.
    #[test]
    fn slow_transactions_are_counted_at_the_rate_at_which_they_end() {
        const CONNECTIONS: u64 = 32;
        const RESPONSE_MS: u64 = 3_000;
        const WINDOW_MS: u64 = 25_000;
        let ms = |ms: u64| ms * 1_000_000;
        let (warmup, end) = (ms(10_000), ms(10_000 + WINDOW_MS));
        let schedule = Arc::new(Schedule::new(Instant::now(), warmup..end, ms(1_000)));
        let mut recorder = Recorder::new(TYPES, &schedule);
        for place in 1.. {
            // The last of each round of connections ends one response time after the round before.
            let end_ns = place * ms(RESPONSE_MS) / CONNECTIONS;
            if end_ns > end + ms(RESPONSE_MS) {
                break;
            }
            let begin_ns = end_ns.saturating_sub(ms(RESPONSE_MS));
            committed(&mut recorder, begin_ns, end_ns);
        }
        let mut window = TransactionStats::default();
        for interval in recorder.finish(end + ms(RESPONSE_MS)) {
            let payment = &interval.transactions[1];
            let length_ns = interval.end_offset_ns - interval.start_offset_ns;
            let expected = (CONNECTIONS * length_ns) as f64 / ms(RESPONSE_MS) as f64;
            // No interval is poorer than another, the first one neither.
            let off = (payment.committed as f64 - expected).abs();
            assert!(off <= 1.0, "{:?}: {off}", interval.phase);
            if interval.phase == Phase::Window {
                window.merge(payment);
            }
        }
        let truth = (CONNECTIONS * WINDOW_MS) as f64 / RESPONSE_MS as f64;
        let error = window.committed as f64 / truth - 1.0;
        assert!(error.abs() < 0.01, "{} of {truth}", window.committed);
        assert_eq!(window.latency.count(), window.committed);
        // What clause 5.4.2 leaves out is known apart: one transaction of each connection.
        let earlier = &recorder.totals.begun_before_window[1];
        assert_eq!(earlier.count(), CONNECTIONS);
        assert_eq!(window.latency.mean_ns(), Some(ms(RESPONSE_MS) as f64));
    }

    #[test]
    fn what_ends_in_the_window_is_measured() {
        let schedule = schedule();
        let mut recorder = Recorder::new(TYPES, &schedule);
        // The second and the last one straddle an end of the window.
        for (begin_ns, end_ns) in
            [(0, 900), (1_400, 1_600), (1_600, 2_400), (2_400, 3_999), (3_999, 4_100)]
        {
            committed(&mut recorder, begin_ns, end_ns);
        }
        let intervals = recorder.finish(5_000);
        let seen: Vec<_> = intervals
            .iter()
            .map(|i| {
                (
                    i.phase,
                    i.start_offset_ns,
                    i.end_offset_ns,
                    i.transactions[1].committed,
                    i.counters.0[0],
                )
            })
            .collect();
        use Phase::{Drain, Warmup, Window};
        assert_eq!(
            seen,
            [
                (Warmup, 0, 1_000, 1, 0),
                (Warmup, 1_000, 1_500, 0, 0),
                (Window, 1_500, 2_500, 2, 2),
                (Window, 2_500, 3_500, 0, 0),
                (Window, 3_500, 4_000, 1, 1),
                (Drain, 4_000, 5_000, 1, 0),
            ]
        );
        assert_eq!(recorder.totals.committed[1], 5);
        assert_eq!(recorder.totals.counters.0[0], 5);
        assert_eq!(recorder.totals.begun_before_window[1].count(), 1);
    }

    #[test]
    fn what_begins_with_the_window_is_of_it() {
        let mut recorder = Recorder::new(TYPES, &schedule());
        committed(&mut recorder, 1_500, 1_600);
        assert_eq!(recorder.totals.begun_before_window[1].count(), 0);
        committed(&mut recorder, 1_499, 1_601);
        assert_eq!(recorder.totals.begun_before_window[1].count(), 1);
        // What begins with its end was never in flight at that.
        committed(&mut recorder, 4_000, 4_100);
        assert_eq!(recorder.totals.in_flight[1].count(), 0);
        committed(&mut recorder, 3_999, 4_101);
        assert_eq!(recorder.totals.in_flight[1].count(), 1);
        assert_eq!(recorder.totals.in_flight[1].max_ns, 1);
    }

    #[test]
    fn what_is_throughput_is_counted_by_database() {
        let mut recorder = Recorder::new(TYPES, &schedule());
        for (of, server) in [(0, 2), (0, 2), (0, 0), (1, 1)] {
            let operated = Operated { server, begin_ns: 1, end_ns: 2, ..Operated::default() };
            let (of, statements) = (TransactionType(of), StatementTimes::default());
            recorder.ended_well(of, &Attempt::Committed, operated, statements, |_| {});
        }
        let mut interval = recorder.finish(3).remove(0);
        assert_eq!(interval.primary, [1, 0, 2], "payments are none");
        interval.merge(&interval.clone());
        assert_eq!(interval.primary, [2, 0, 4]);
    }

    #[test]
    fn an_early_end_cuts_the_interval_under_way() {
        let schedule = schedule();
        let mut recorder = Recorder::new(TYPES, &schedule);
        recorder.advance(2_000);
        schedule.end_at(2_200);
        let intervals = recorder.finish(2_300);
        let ends: Vec<_> = intervals.iter().map(|i| (i.phase, i.end_offset_ns)).collect();
        use Phase::{Drain, Warmup, Window};
        assert_eq!(ends, [(Warmup, 1_000), (Warmup, 1_500), (Window, 2_200), (Drain, 2_300)]);
    }

    /// A server that stands still at the end of the window: what waits for it is not on time.
    #[test]
    fn what_never_begins_has_lagged_until_the_end() {
        let schedule = schedule();
        let mut recorder = Recorder::new(TYPES, &schedule);
        for intended_ns in [1_600, 2_600] {
            recorder.offered(intended_ns);
            recorder.came(intended_ns);
        }
        recorder.begun(1_600..1_700);
        recorder.advance(4_100);
        recorder.never_begun(2_600);
        let mut window = crate::interval::ScheduleStats::default();
        for interval in recorder.finish(4_200) {
            if interval.phase == Phase::Window {
                window.merge(&interval.schedule);
            }
        }
        assert_eq!((window.offered, window.skipped, window.late), (2, 1, 0));
        assert_eq!((window.lag.count(), window.lag.max_ns), (2, 4_000 - 2_600));
    }

    #[test]
    fn what_never_begins_is_of_the_types_by_their_shares() {
        let schedule = schedule();
        let of_shares = |share| TransactionInfo { share, ..TYPES[0] };
        let types = Box::leak(Box::new([0.7, 0.3].map(of_shares)));
        let mut recorder = Recorder::new(types, &schedule);
        recorder.never_begun(2_600);
        assert_eq!(recorder.never_begun[..2], [1, 0]);
        (1..10).for_each(|_| recorder.never_begun(2_600));
        assert_eq!(recorder.never_begun[..2], [7, 3]);
    }

    #[test]
    fn what_is_skipped_counts_where_it_was_intended() {
        let schedule = schedule();
        let mut recorder = Recorder::new(TYPES, &schedule);
        for intended_ns in [100, 1_600, 2_600, 3_900] {
            recorder.offered(intended_ns);
        }
        recorder.advance(4_100);
        recorder.skipped(1_600);
        recorder.skipped(3_900);
        let seen: Vec<_> = recorder
            .finish(4_200)
            .iter()
            .map(|i| (i.schedule.offered, i.schedule.skipped))
            .collect();
        assert_eq!(seen, [(1, 0), (0, 0), (1, 1), (1, 0), (1, 1), (0, 0)]);
        // Once an interval was sent, the oldest that is here takes what belonged to it.
        let mut recorder = Recorder::new(TYPES, &schedule);
        recorder.offered(3_600);
        recorder.take_finished();
        recorder.skipped(1_600);
        assert_eq!(recorder.finish(3_700)[0].schedule.skipped, 1);
    }
}
