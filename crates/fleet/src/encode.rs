//! Intervals and shares as they travel. Histograms are in HdrHistogram's V2 format, so adding them
//! on the other side is exact.

use crate::messages::{RankAbort, RankUsage};
use drive::{
    Breakdown, ConnectionTime, DrivenShare, FailedTries, Interval, PerType, Phase, ScheduleStats,
    Silence, TerminalStats, Times, Totals, TransactionInfo, TransactionStats, WorkloadCounters,
    per_type,
};
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Names of statements and errors that ranks may tell: the sources have some fifty.
const NAMES_MAX: usize = 4096;
const NAME_BYTES_MAX: usize = 128;
/// Statements of one type of transaction that a rank may tell the times of.
const STATEMENTS_MAX: usize = 256;
/// The head of a histogram in V2 format: cookie, length of the counts, an offset, digits, lowest
/// and highest value, a ratio.
const HISTOGRAM_HEAD_BYTES: usize = 40;
const HISTOGRAM_COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
/// Last byte of the digits, and the most that any of ours has.
const DIGITS_AT: usize = 15;
const DIGITS_MAX: u8 = 3;

/// What cannot be understood; the other side is no rank of this version.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotUnderstood(pub(crate) &'static str);

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TimesFrame {
    histogram: Option<Vec<u8>>,
    sum_ns: u64,
    max_ns: u64,
    out_of_bounds: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct TransactionFrame {
    committed: u64,
    rolled_back: u64,
    deadlocks: u64,
    lock_wait_timeouts: u64,
    other_retries: u64,
    errors: u64,
    latency: TimesFrame,
}

/// An interval of a rank.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct IntervalFrame {
    phase: u8,
    start_offset_ns: u64,
    end_offset_ns: u64,
    transactions: Vec<TransactionFrame>,
    primary: Vec<u64>,
    statements: u64,
    counters: Vec<u64>,
    offered: u64,
    late: u64,
    skipped: u64,
    lag: TimesFrame,
    service: TimesFrame,
    keying: Vec<TimesFrame>,
    think: Vec<TimesFrame>,
    acknowledgement: TimesFrame,
    silences: Vec<SilenceFrame>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SilenceFrame {
    from_ns: u64,
    to_ns: u64,
    busy_from_ns: u64,
    in_flight: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct BreakdownFrame {
    transactions: u64,
    response_ns: u64,
    queued_ns: u64,
    paused_ns: u64,
    statements: Vec<(String, TimesFrame)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct FailedFrame {
    what: String,
    code: String,
    occurrences: u64,
    first_message: String,
}

/// What a rank did in the whole run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ShareFrame {
    committed: Vec<u64>,
    in_doubt: Vec<u64>,
    begun_before_window: Vec<TimesFrame>,
    in_flight: Vec<TimesFrame>,
    counters: Vec<u64>,
    in_doubt_counters: Vec<u64>,
    in_transactions_ns: u64,
    idle_ns: u64,
    error_pauses_ns: u64,
    lost_ns: u64,
    errors: u64,
    reconnects: u64,
    failed_tries: Vec<FailedFrame>,
    breakdowns: Vec<BreakdownFrame>,
    abandoned: u64,
    pub(crate) usage: RankUsage,
    /// Between the agreed start and the moment at which the rank began.
    pub(crate) start_late_ns: u64,
    /// Why the rank ended its part before the time, where it did.
    pub(crate) aborted: Option<RankAbort>,
}

impl TimesFrame {
    fn of(times: &Times) -> TimesFrame {
        let bytes = |histogram: &hdrhistogram::Histogram<u64>| {
            let mut bytes = Vec::new();
            // Into memory, nothing can fail but a count beyond i64, of which there is none.
            V2Serializer::new().serialize(histogram, &mut bytes).ok()?;
            Some(bytes)
        };
        TimesFrame {
            histogram: times.histogram.as_deref().and_then(bytes),
            sum_ns: times.sum_ns,
            max_ns: times.max_ns,
            out_of_bounds: times.out_of_bounds,
        }
    }

    fn times(&self) -> Result<Times, NotUnderstood> {
        let wrong = NotUnderstood("a histogram");
        let histogram = match &self.histogram {
            None => None,
            Some(bytes) if !takes_no_more_than_ours(bytes) => return Err(wrong),
            Some(bytes) => {
                let read = Deserializer::new().deserialize(&mut bytes.as_slice());
                let own = read.ok().and_then(|of| Times::in_own_shape(&of));
                Some(own.ok_or(wrong)?)
            }
        };
        Ok(Times {
            histogram,
            sum_ns: self.sum_ns,
            max_ns: self.max_ns,
            out_of_bounds: self.out_of_bounds,
        })
    }
}

/// Is memory for this histogram in proportion to its bytes? Its head could ask for gigabytes of
/// counts that do not follow, for more digits, or for text that swells when it is unpacked.
fn takes_no_more_than_ours(bytes: &[u8]) -> bool {
    let Some((head, counts)) = bytes.split_at_checked(HISTOGRAM_HEAD_BYTES) else {
        return false;
    };
    let length = u32::try_from(counts.len()).unwrap_or(u32::MAX).to_be_bytes();
    head.starts_with(&HISTOGRAM_COOKIE) && head[4..8] == length && head[DIGITS_AT] <= DIGITS_MAX
}

fn all_times(frames: &[TimesFrame]) -> Result<PerType<Times>, NotUnderstood> {
    let mut all: PerType<Times> = Default::default();
    for (mine, frame) in all.iter_mut().zip(frames) {
        *mine = frame.times()?;
    }
    Ok(all)
}

fn counters(values: &[u64]) -> WorkloadCounters {
    let mut counters = WorkloadCounters::default();
    for (mine, value) in counters.0.iter_mut().zip(values) {
        *mine = *value;
    }
    counters
}

fn per_type_of(values: &[u64]) -> PerType<u64> {
    let mut all = per_type([]);
    for (mine, value) in all.iter_mut().zip(values) {
        *mine = *value;
    }
    all
}

impl SilenceFrame {
    fn of(silence: &Silence) -> SilenceFrame {
        let Silence { from_ns, to_ns, busy_from_ns, in_flight } = *silence;
        SilenceFrame { from_ns, to_ns, busy_from_ns, in_flight }
    }

    fn silence(&self) -> Result<Silence, NotUnderstood> {
        let SilenceFrame { from_ns, to_ns, busy_from_ns, in_flight } = *self;
        let is_in_order = from_ns <= busy_from_ns && busy_from_ns <= to_ns;
        let silence = Silence { from_ns, to_ns, busy_from_ns, in_flight };
        is_in_order.then_some(silence).ok_or(NotUnderstood("a silence"))
    }
}

impl IntervalFrame {
    pub(crate) fn of(interval: &Interval) -> IntervalFrame {
        let types = interval.types.len();
        let frames = |all: &PerType<Times>| all[..types].iter().map(TimesFrame::of).collect();
        let transaction = |stats: &TransactionStats| TransactionFrame {
            committed: stats.committed,
            rolled_back: stats.rolled_back,
            deadlocks: stats.deadlocks,
            lock_wait_timeouts: stats.lock_wait_timeouts,
            other_retries: stats.other_retries,
            errors: stats.errors,
            latency: TimesFrame::of(&stats.latency),
        };
        IntervalFrame {
            phase: match interval.phase {
                Phase::Warmup => 0,
                Phase::Window => 1,
                Phase::Drain => 2,
            },
            start_offset_ns: interval.start_offset_ns,
            end_offset_ns: interval.end_offset_ns,
            transactions: interval.transactions[..types].iter().map(transaction).collect(),
            primary: interval.primary.clone(),
            statements: interval.statements,
            counters: interval.counters.0.to_vec(),
            offered: interval.schedule.offered,
            late: interval.schedule.late,
            skipped: interval.schedule.skipped,
            lag: TimesFrame::of(&interval.schedule.lag),
            service: TimesFrame::of(&interval.schedule.service),
            keying: frames(&interval.terminals.keying),
            think: frames(&interval.terminals.think),
            acknowledgement: TimesFrame::of(&interval.terminals.acknowledgement),
            silences: interval.silences.iter().map(SilenceFrame::of).collect(),
        }
    }

    /// The interval, of a workload with these types.
    pub(crate) fn interval(
        &self,
        types: &'static [TransactionInfo],
    ) -> Result<Interval, NotUnderstood> {
        let phase = match self.phase {
            0 => Phase::Warmup,
            1 => Phase::Window,
            2 => Phase::Drain,
            _ => return Err(NotUnderstood("a phase")),
        };
        if self.transactions.len() != types.len() || self.end_offset_ns < self.start_offset_ns {
            return Err(NotUnderstood("an interval"));
        }
        let mut interval = Interval::new(types, phase, self.start_offset_ns..self.end_offset_ns);
        for (mine, frame) in interval.transactions.iter_mut().zip(&self.transactions) {
            *mine = TransactionStats {
                committed: frame.committed,
                rolled_back: frame.rolled_back,
                deadlocks: frame.deadlocks,
                lock_wait_timeouts: frame.lock_wait_timeouts,
                other_retries: frame.other_retries,
                errors: frame.errors,
                latency: frame.latency.times()?,
            };
        }
        interval.primary.clone_from(&self.primary);
        interval.statements = self.statements;
        interval.counters = counters(&self.counters);
        interval.schedule = ScheduleStats {
            offered: self.offered,
            late: self.late,
            skipped: self.skipped,
            lag: self.lag.times()?,
            service: self.service.times()?,
        };
        interval.terminals = TerminalStats {
            keying: all_times(&self.keying)?,
            think: all_times(&self.think)?,
            acknowledgement: self.acknowledgement.times()?,
        };
        let silences = self.silences.iter().map(SilenceFrame::silence);
        interval.silences = silences.collect::<Result<_, _>>()?;
        Ok(interval)
    }
}

impl ShareFrame {
    pub(crate) fn of(share: &DrivenShare, usage: RankUsage, start_late_ns: u64) -> ShareFrame {
        let Totals {
            committed,
            in_doubt,
            begun_before_window,
            in_flight,
            counters,
            in_doubt_counters,
            connection_time,
            errors,
            reconnects,
            failed_tries,
        } = &share.totals;
        let failed = |((what, code), tries): (&(&'static str, String), &FailedTries)| FailedFrame {
            what: (*what).to_owned(),
            code: code.clone(),
            occurrences: tries.occurrences,
            first_message: tries.first_message.clone(),
        };
        let breakdown = |of: &Breakdown| BreakdownFrame {
            transactions: of.transactions,
            response_ns: of.response_ns,
            queued_ns: of.queued_ns,
            paused_ns: of.paused_ns,
            statements: of
                .statements
                .iter()
                .map(|(kind, times)| ((*kind).to_owned(), TimesFrame::of(times)))
                .collect(),
        };
        ShareFrame {
            committed: committed.to_vec(),
            in_doubt: in_doubt.to_vec(),
            begun_before_window: begun_before_window.iter().map(TimesFrame::of).collect(),
            in_flight: in_flight.iter().map(TimesFrame::of).collect(),
            counters: counters.0.to_vec(),
            in_doubt_counters: in_doubt_counters.0.to_vec(),
            in_transactions_ns: connection_time.in_transactions_ns,
            idle_ns: connection_time.idle_ns,
            error_pauses_ns: connection_time.error_pauses_ns,
            lost_ns: connection_time.lost_ns,
            errors: *errors,
            reconnects: *reconnects,
            failed_tries: failed_tries.iter().map(failed).collect(),
            breakdowns: share.breakdowns.iter().map(breakdown).collect(),
            abandoned: share.abandoned as u64,
            usage,
            start_late_ns,
            aborted: None,
        }
    }

    pub(crate) fn share(&self) -> Result<DrivenShare, NotUnderstood> {
        let mut totals = Totals {
            committed: per_type_of(&self.committed),
            in_doubt: per_type_of(&self.in_doubt),
            begun_before_window: all_times(&self.begun_before_window)?,
            in_flight: all_times(&self.in_flight)?,
            counters: counters(&self.counters),
            in_doubt_counters: counters(&self.in_doubt_counters),
            connection_time: ConnectionTime {
                in_transactions_ns: self.in_transactions_ns,
                idle_ns: self.idle_ns,
                error_pauses_ns: self.error_pauses_ns,
                lost_ns: self.lost_ns,
            },
            errors: self.errors,
            reconnects: self.reconnects,
            failed_tries: Default::default(),
        };
        for failed in &self.failed_tries {
            totals.failed_tries.insert(
                (known_name(&failed.what)?, failed.code.clone()),
                FailedTries {
                    occurrences: failed.occurrences,
                    first_message: failed.first_message.clone(),
                },
            );
        }
        let mut breakdowns: PerType<Breakdown> = Default::default();
        for (mine, frame) in breakdowns.iter_mut().zip(&self.breakdowns) {
            mine.transactions = frame.transactions;
            mine.response_ns = frame.response_ns;
            mine.queued_ns = frame.queued_ns;
            mine.paused_ns = frame.paused_ns;
            if frame.statements.len() > STATEMENTS_MAX {
                return Err(NotUnderstood("a list of statements"));
            }
            for (kind, times) in &frame.statements {
                mine.statements.push((known_name(kind)?, times.times()?));
            }
        }
        Ok(DrivenShare {
            totals,
            breakdowns,
            abandoned: usize::try_from(self.abandoned).unwrap_or(usize::MAX),
            client_cpu_ns: self.usage.cpu_ns,
        })
    }
}

/// A name that lives as long as the process, as those in the sources do: each is kept once, and
/// there is a bound to how many.
fn known_name(name: &str) -> Result<&'static str, NotUnderstood> {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return Ok(known);
    }
    if name.len() > NAME_BYTES_MAX || names.len() >= NAMES_MAX {
        return Err(NotUnderstood("the name of a statement"));
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::{IntervalFrame, NotUnderstood, ShareFrame, TimesFrame};
    use crate::messages::RankUsage;
    use drive::{DrivenShare, FailedTries, Interval, Phase, Times, TransactionInfo};

    const TYPES: &[TransactionInfo] = &[TransactionInfo {
        name: "new_order",
        is_primary: true,
        is_deferred: false,
        share: 1.0,
        row_bytes: None,
    }];

    fn travelled(interval: &Interval) -> Interval {
        let bytes = postcard::to_stdvec(&IntervalFrame::of(interval)).unwrap();
        postcard::from_bytes::<IntervalFrame>(&bytes).unwrap().interval(TYPES).unwrap()
    }

    /// Merged percentiles equal those of one histogram of all operations.
    #[test]
    fn merging_what_travelled_is_exact() {
        let mut merged = Interval::new(TYPES, Phase::Window, 0..1_000_000_000);
        let mut whole = Times::default();
        for rank in 0..4u64 {
            let mut own = Interval::new(TYPES, Phase::Window, 0..1_000_000_000);
            let stats = &mut own.transactions[0];
            for at in 0..5_000u64 {
                let ns = 50_000 + (at * 7_919 + rank * 104_729) % 40_000_000;
                stats.latency.record(ns);
                whole.record(ns);
                stats.committed += 1;
            }
            let travelled = travelled(&own);
            assert_eq!(travelled.transactions[0].committed, 5_000);
            merged.transactions[0].latency.merge(&travelled.transactions[0].latency);
        }
        let latency = &merged.transactions[0].latency;
        assert_eq!((latency.count(), latency.sum_ns), (20_000, whole.sum_ns));
        for quantile in [0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
            assert_eq!(latency.at_quantile_ns(quantile), whole.at_quantile_ns(quantile));
        }
    }

    #[test]
    fn a_share_comes_as_it_went() {
        let mut share = DrivenShare { abandoned: 3, ..DrivenShare::default() };
        share.totals.committed[0] = 7;
        share.totals.in_doubt[0] = 1;
        share.totals.counters.0[2] = 9;
        let tries = FailedTries { occurrences: 2, first_message: "Deadlock found".to_owned() };
        share.totals.failed_tries.insert(("new_order", "1213".to_owned()), tries);
        let mut times = Times::default();
        times.record_coarsely(2_000_000);
        share.breakdowns[0].statements.push(("lock_stock", times));
        let usage = RankUsage { cpu_ns: 11, run_wait_ns: 12, network_bytes: 13 };
        let bytes = postcard::to_stdvec(&ShareFrame::of(&share, usage, 5)).unwrap();
        let frame: ShareFrame = postcard::from_bytes(&bytes).unwrap();
        let back = frame.share().unwrap();
        assert_eq!((frame.usage, frame.start_late_ns, back.client_cpu_ns), (usage, 5, 11));
        assert_eq!((back.totals.committed[0], back.totals.in_doubt[0], back.abandoned), (7, 1, 3));
        assert_eq!(back.totals.counters, share.totals.counters);
        assert_eq!(back.totals.failed_tries, share.totals.failed_tries);
        assert_eq!(back.breakdowns[0].statements[0].1.count(), 1);
    }

    #[test]
    fn what_no_rank_says_is_not_understood() {
        let interval = Interval::new(TYPES, Phase::Window, 0..10);
        let frame = IntervalFrame::of(&interval);
        assert_eq!(frame.interval(&[]).err(), Some(NotUnderstood("an interval")));
        let frame = IntervalFrame { phase: 9, ..frame };
        assert_eq!(frame.interval(TYPES).err(), Some(NotUnderstood("a phase")));
        let times = TimesFrame { histogram: Some(vec![1, 2, 3]), ..TimesFrame::default() };
        assert_eq!(times.times().err(), Some(NotUnderstood("a histogram")));
        assert_eq!(
            super::known_name(&"x".repeat(500)).err(),
            Some(NotUnderstood("the name of a statement"))
        );
    }

    #[test]
    fn an_interval_is_small() {
        let mut interval = Interval::new(TYPES, Phase::Window, 0..1_000_000_000);
        for at in 0..3_000u64 {
            interval.transactions[0].latency.record(1_000_000 + at * at * 7);
        }
        let bytes = postcard::to_stdvec(&IntervalFrame::of(&interval)).unwrap();
        assert!(bytes.len() < 8_000, "{}", bytes.len());
    }
}
