//! Silences: times in which no transaction ended well although one was in flight, or after some
//! had failed. Each worker knows its own; what all of them have in common is the run's. One with
//! failures is what a failover costs: from the last commit before it to the first one after it.

use crate::interval::Interval;
use crate::merge::Merge;
use base::limits;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Transactions that were given up in a time, and connections that could not be opened again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    pub count: u64,
    /// When the first and the last of them came.
    pub first_ns: u64,
    pub last_ns: u64,
}

impl Failures {
    pub(crate) fn add(&mut self, at_ns: u64) {
        self.merge(&Failures { count: 1, first_ns: at_ns, last_ns: at_ns });
    }

    /// Those of them that were in this part of the time, as far as that is known.
    fn within(self, time_ns: &Range<u64>) -> Failures {
        match self.first_ns <= time_ns.end && self.last_ns >= time_ns.start {
            true => self,
            false => Failures::default(),
        }
    }
}

impl Merge for Failures {
    fn merge(&mut self, other: &Failures) {
        *self = match (self.count, other.count) {
            (_, 0) => *self,
            (0, _) => *other,
            (mine, theirs) => Failures {
                count: mine + theirs,
                first_ns: self.first_ns.min(other.first_ns),
                last_ns: self.last_ns.max(other.last_ns),
            },
        };
    }
}

/// A time in which nothing ended well, in ns from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    pub from_ns: u64,
    pub to_ns: u64,
    /// From here to its end a transaction was in flight, or one had failed and none had ended well
    /// since; the end where neither was.
    pub busy_from_ns: u64,
    /// Transactions that were in flight at its end, or at the end of an interval in it.
    pub in_flight: u64,
    pub failures: Failures,
    /// A transaction that ended well ended it, not the end of the run.
    pub is_over: bool,
}

impl Silence {
    /// Time in which a transaction was in flight, or failed, and none ended well.
    pub fn busy_ns(&self) -> u64 {
        self.to_ns - self.busy_from_ns
    }

    /// Is it so long that it is kept? By failures a shorter one is told from a slow response.
    fn is_long(&self) -> bool {
        let least = match self.failures.count {
            0 => limits::SILENCE_MIN,
            _ => limits::FAILED_SILENCE_MIN,
        };
        u128::from(self.busy_ns()) >= least.as_nanos()
    }

    /// What it has in common with that of another worker.
    fn common(&self, other: &Silence) -> Option<Silence> {
        let from_ns = self.from_ns.max(other.from_ns);
        let to_ns = self.to_ns.min(other.to_ns);
        (from_ns < to_ns).then(|| Silence {
            from_ns,
            to_ns,
            busy_from_ns: self.busy_from_ns.min(other.busy_from_ns).clamp(from_ns, to_ns),
            in_flight: self.in_flight + other.in_flight,
            failures: {
                let mut failures = self.failures.within(&(from_ns..to_ns));
                failures.merge(&other.failures.within(&(from_ns..to_ns)));
                failures
            },
            is_over: false,
        })
    }
}

/// What two workers' silences of one interval have in common; both are in order of time.
pub(crate) fn common(mine: &[Silence], theirs: &[Silence]) -> Vec<Silence> {
    let (mut i, mut j) = (0, 0);
    let mut both = Vec::new();
    while let (Some(one), Some(other)) = (mine.get(i), theirs.get(j)) {
        both.extend(one.common(other));
        if one.to_ns < other.to_ns {
            i += 1;
        } else {
            j += 1;
        }
    }
    both
}

/// Silences of a run, interval after interval.
#[derive(Clone, Debug, Default)]
pub struct Silences {
    ended: Vec<Silence>,
    /// The one that reaches the end of the last interval.
    open: Option<Silence>,
}

impl Silences {
    /// Takes those of the next interval, in ns from the start of the run.
    pub fn take(&mut self, of_interval: &[Silence], interval_ns: Range<u64>) {
        for next in of_interval {
            let joined = match self.open.take() {
                // Others that touch are divided by a transaction that ended.
                Some(before)
                    if before.to_ns == interval_ns.start && next.from_ns == before.to_ns =>
                {
                    let was_busy = before.busy_from_ns < before.to_ns;
                    let busy_from_ns =
                        if was_busy { before.busy_from_ns } else { next.busy_from_ns };
                    let in_flight = before.in_flight.max(next.in_flight);
                    let mut failures = before.failures;
                    failures.merge(&next.failures);
                    let from_ns = before.from_ns;
                    Silence { from_ns, busy_from_ns, in_flight, failures, ..*next }
                }
                before => {
                    self.end(before, true);
                    *next
                }
            };
            self.open = Some(joined);
        }
        if self.open.is_some_and(|open| open.to_ns < interval_ns.end) {
            let over = self.open.take();
            self.end(over, true);
        }
    }

    fn end(&mut self, silence: Option<Silence>, is_over: bool) {
        let long = silence.filter(Silence::is_long);
        self.ended.extend(long.map(|of| Silence { is_over, ..of }));
    }

    /// All of at least [`limits::SILENCE_MIN`], or [`limits::FAILED_SILENCE_MIN`] with failures,
    /// and `least_ns`, in order of time.
    pub fn longer_than(mut self, least_ns: u64) -> Vec<Silence> {
        let last = self.open.take();
        self.end(last, false);
        self.ended.retain(|of| of.busy_ns() >= least_ns);
        self.ended
    }
}

/// Watches a run for silences while it goes on.
#[derive(Clone, Debug, Default)]
pub struct SilenceWatch {
    silences: Silences,
    /// Of the type that most transactions were of, in the last interval in which one ended.
    median_ns: u64,
}

impl SilenceWatch {
    /// Takes the next interval.
    pub fn take(&mut self, interval: &Interval) {
        self.silences.take(&interval.silences, interval.start_offset_ns..interval.end_offset_ns);
        let most = interval.transactions.iter().map(|of| &of.latency);
        let most = most.max_by_key(|of| of.count());
        if let Some(most) = most.filter(|of| of.count() > 0) {
            self.median_ns = most.at_quantile_ns(0.5);
        }
    }

    /// The silence that goes on; `None` where it is too short to be one.
    pub fn now(&self) -> Option<Silence> {
        let is_long = |of: &Silence| of.busy_ns() >= limits::SILENCE_MEDIANS * self.median_ns;
        self.silences.open.filter(|of| of.is_long() && is_long(of))
    }
}

#[cfg(test)]
mod tests {
    use super::{Failures, Silence, SilenceWatch, Silences, common};
    use crate::client::{Attempt, TransactionInfo, TransactionType};
    use crate::interval::{Interval, Phase};
    use crate::merge::Merge;
    use crate::recorder::{Operated, Recorder};
    use crate::schedule::Schedule;
    use crate::timed::StatementTimes;
    use base::{Instant, Random};
    use std::sync::Arc;

    const S: u64 = 1_000_000_000;

    fn silence(from_s: u64, to_s: u64, busy_from_s: u64, in_flight: u64) -> Silence {
        let [from_ns, to_ns, busy_from_ns] = [from_s, to_s, busy_from_s].map(|s| s * S);
        Silence { from_ns, to_ns, busy_from_ns, in_flight, ..Silence::default() }
    }

    fn over(silence: Silence) -> Silence {
        Silence { is_over: true, ..silence }
    }

    #[test]
    fn a_run_is_silent_where_all_workers_are() {
        let mine = [silence(0, 4, 0, 2), silence(5, 9, 6, 2)];
        let theirs = [silence(1, 2, 1, 1), silence(3, 7, 7, 0)];
        let expected = [silence(1, 2, 1, 3), silence(3, 4, 3, 2), silence(5, 7, 6, 2)];
        assert_eq!(common(&mine, &theirs), expected);
        assert_eq!(common(&theirs, &mine), expected);
        assert!(common(&mine, &[]).is_empty());
        assert!(common(&[silence(0, 4, 0, 1)], &[silence(4, 8, 4, 1)]).is_empty(), "they touch");
    }

    #[test]
    fn a_silence_goes_on_over_ends_of_intervals() {
        let mut silences = Silences::default();
        silences.take(&[silence(0, 1, 1, 0)], 0..S);
        assert_eq!(silences.clone().longer_than(0), [], "nothing was in flight");
        let mut silences = Silences::default();
        // A transaction comes at 3 s, and nothing ends from 1 s to 13 s.
        silences.take(&[silence(0, 1, 0, 4), silence(1, 5, 3, 4)], 0..5 * S);
        assert_eq!(silences.open.map(|of| of.busy_ns()), Some(2 * S));
        silences.take(&[silence(5, 10, 5, 5)], 5 * S..10 * S);
        silences.take(&[silence(10, 13, 10, 6), silence(14, 15, 15, 0)], 10 * S..15 * S);
        assert_eq!(silences.open.map(|of| of.busy_ns()), Some(0));
        let (first, second) = (over(silence(0, 1, 0, 4)), over(silence(1, 13, 3, 6)));
        assert_eq!(silences.clone().longer_than(0), [first, second]);
        assert_eq!(silences.longer_than(2 * S), [second]);
        // Whom the end of the run finds silent has not gone on.
        let mut silences = Silences::default();
        silences.take(&[silence(2, 5, 2, 1)], 0..5 * S);
        assert_eq!(silences.longer_than(0), [silence(2, 5, 2, 1)]);
    }

    /// Where one worker's connections fail, the others' may go on.
    #[test]
    fn failures_are_of_the_time_that_they_came_in() {
        let failed = |silence: Silence, at_s: &[u64]| {
            let mut failures = Failures::default();
            at_s.iter().for_each(|at| failures.add(at * S));
            Silence { failures, ..silence }
        };
        let mine = [failed(silence(0, 6, 0, 1), &[1, 2])];
        let theirs = [failed(silence(0, 3, 0, 1), &[2]), silence(4, 6, 4, 1)];
        let expected = [failed(silence(0, 3, 0, 2), &[1, 2, 2]), silence(4, 6, 4, 2)];
        assert_eq!(common(&mine, &theirs), expected);
        // Over the end of an interval; shorter than a silence without.
        let mut silences = Silences::default();
        let fifth = |of: u64| of * S / 5;
        let short = |from: u64, to: u64| Silence {
            from_ns: fifth(from),
            busy_from_ns: fifth(from),
            to_ns: fifth(to),
            ..Silence::default()
        };
        silences.take(&[short(0, 2), failed(short(3, 5), &[1])], 0..S);
        silences.take(&[failed(short(5, 6), &[1]), short(8, 10)], S..2 * S);
        assert_eq!(silences.longer_than(0), [over(failed(short(3, 6), &[1, 1]))]);
    }

    /// As of a run whose transactions take a twentieth of a second, then two.
    #[test]
    fn a_watch_tells_of_what_is_long_beside_the_transactions() {
        let mut watch = SilenceWatch::default();
        let mut second = 0;
        let mut take = |watch: &mut SilenceWatch, silences, ended_ns: Option<u64>| {
            let interval_ns = second * S..(second + 1) * S;
            second += 1;
            let mut interval = Interval::new(TYPES, Phase::Window, interval_ns);
            interval.silences = silences;
            ended_ns.into_iter().for_each(|ns| interval.transactions[0].latency.record(ns));
            watch.take(&interval);
        };
        take(&mut watch, vec![], Some(S / 20));
        assert_eq!(watch.now(), None);
        take(&mut watch, vec![silence(1, 2, 1, 3)], None);
        let now = |watch: &SilenceWatch| watch.now().map(|of| (of.busy_ns() / S, of.in_flight));
        assert_eq!(now(&watch), Some((1, 3)), "of the least length");
        take(&mut watch, vec![silence(2, 3, 2, 4)], None);
        assert_eq!(now(&watch), Some((2, 4)));
        take(&mut watch, vec![], Some(2 * S));
        assert_eq!(watch.now(), None, "one has ended");
        // Two seconds are nothing now.
        take(&mut watch, vec![silence(4, 5, 4, 3)], None);
        take(&mut watch, vec![silence(5, 6, 5, 3)], None);
        assert_eq!(watch.now(), None);
        let idle = SilenceWatch::default();
        assert_eq!(idle.now(), None);
    }

    const TYPES: &[TransactionInfo] = &[TransactionInfo {
        name: "work",
        is_primary: true,
        is_deferred: false,
        share: 1.0,
        row_bytes: None,
    }];
    const END: u64 = 40 * S;

    /// Transactions of one connection, begin and end: one after another, or with pauses between.
    fn transactions(random: &mut Random) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        let mut at_ns = 0;
        while at_ns < END {
            let pause_ns = [0, 0, 0, 3 * S][random.below(4) as usize];
            let longest_ns = [S / 5, S / 5, S, 6 * S][random.below(4) as usize];
            let begin_ns = at_ns + (random.unit() * pause_ns as f64) as u64;
            at_ns = begin_ns + 1 + (random.unit() * longest_ns as f64) as u64;
            all.push((begin_ns, at_ns));
        }
        all
    }

    /// What a worker that carries these records.
    fn recorded(of: &[(u64, u64)], schedule: &Arc<Schedule>) -> Vec<Interval> {
        let begins = of.iter().map(|(begin_ns, _)| (*begin_ns, None));
        let ends = of.iter().map(|(begin_ns, end_ns)| (*end_ns, Some(*begin_ns)));
        let mut events: Vec<(u64, Option<u64>)> = begins.chain(ends).collect();
        events.retain(|(at_ns, _)| *at_ns < END);
        events.sort_unstable();
        let mut recorder = Recorder::new(TYPES, schedule);
        for (at_ns, begun) in events {
            recorder.advance(at_ns);
            let Some(begin_ns) = begun else {
                recorder.came(at_ns);
                continue;
            };
            let operated = Operated { begin_ns, end_ns: at_ns, ..Operated::default() };
            let (work, statements) = (TransactionType(0), StatementTimes::default());
            recorder.ended_well(work, &Attempt::Committed, operated, statements, |_| {});
        }
        recorder.finish(END)
    }

    fn silences(of: &[Interval]) -> Vec<Silence> {
        let mut silences = Silences::default();
        for interval in of {
            let interval_ns = interval.start_offset_ns..interval.end_offset_ns;
            silences.take(&interval.silences, interval_ns);
        }
        silences.longer_than(0)
    }

    /// Whatever connections do and however many workers carry them.
    #[test]
    fn silences_are_those_of_the_whole_run() {
        let mut found = 0;
        for round in 0..300 {
            let mut random = Random::new(round, &[]);
            let interval_ns = [S / 3, S, 7 * S][random.below(3) as usize];
            let schedule = Arc::new(Schedule::new(Instant::now(), 5 * S..30 * S, interval_ns));
            let workers: Vec<Vec<(u64, u64)>> =
                (0..=random.below(3)).map(|_| transactions(&mut random)).collect();
            let mut merged: Vec<Interval> = Vec::new();
            for worker in &workers {
                let own = recorded(worker, &schedule);
                match merged.is_empty() {
                    true => merged = own,
                    false => merged.iter_mut().zip(&own).for_each(|(all, own)| all.merge(own)),
                }
            }
            let all = workers.concat();
            let mut ends: Vec<u64> = all.iter().map(|(_, end_ns)| *end_ns).collect();
            ends.extend([0, END]);
            ends.retain(|end_ns| *end_ns <= END);
            ends.sort_unstable();
            let expected = ends.windows(2).filter_map(|gap| {
                let in_flight = || all.iter().filter(|of| of.0 < gap[1] && of.1 >= gap[1]);
                let busy_from_ns = in_flight().map(|of| of.0).min()?.max(gap[0]);
                let in_flight = in_flight().count() as u64;
                let (from_ns, to_ns, none) = (gap[0], gap[1], Silence::default());
                let silence = Silence { from_ns, to_ns, busy_from_ns, in_flight, ..none };
                (silence.busy_ns() >= S).then_some(silence)
            });
            let bounds = |of: Silence| (of.from_ns, of.busy_from_ns, of.to_ns);
            let expected: Vec<_> = expected.map(bounds).collect();
            let seen: Vec<_> = silences(&merged).into_iter().map(bounds).collect();
            assert_eq!(seen, expected, "round {round}");
            found += seen.len();
        }
        assert!(found > 300, "{found}");
    }
}
