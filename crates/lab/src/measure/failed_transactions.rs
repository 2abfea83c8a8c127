//! Is a run whose transactions fail a result? One rule for every workload, lab and ramp.

use crate::measure::pacing::Concurrency;
use base::{counted, limits};
use drive::{Interval, RunReport, Silence, TransactionStats};
use itertools::Itertools;
use std::collections::BTreeSet;

/// ER_LOCK_WAIT_TIMEOUT.
const LOCK_WAIT_TIMEOUT: &str = "1205";
/// Of the transactions of a type, and of the time of connections.
const ERRORS_MAX_SHARE: f64 = 0.01;
/// Kinds of errors that a reason names.
const ERRORS_TOLD_MAX: usize = 5;

/// [`Refusal::code`] where too many transactions end in errors.
pub(crate) const TRANSACTION_ERRORS: &str = "transaction_errors";

/// Why a run is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: &'static str,
    pub(crate) reason: String,
}

/// Why the run is no result, where that is so. Of all tries, `lock_wait_timeouts_max_share` may end
/// in a lock wait timeout; any where it is `None`.
pub(crate) fn refusal(
    report: &RunReport,
    concurrency: Concurrency,
    lock_wait_timeouts_max_share: Option<f64>,
) -> Option<Refusal> {
    lock_wait_timeouts(report, lock_wait_timeouts_max_share)
        .or_else(|| errors(report))
        .or_else(|| no_recovery(report))
        .or_else(|| pauses(report, concurrency.connections))
        .or_else(|| mix(report, concurrency))
}

/// More than that share of the tries ended in lock wait timeouts: the papers print NA for it.
fn lock_wait_timeouts(report: &RunReport, max_share: Option<f64>) -> Option<Refusal> {
    let failed = |is_counted: &dyn Fn(&str) -> bool| -> u64 {
        let tries = report.totals.failed_tries.iter().filter(|((_, code), _)| is_counted(code));
        tries.map(|(_, tries)| tries.occurrences).sum()
    };
    let timeouts = failed(&|code| code == LOCK_WAIT_TIMEOUT);
    let tries = failed(&|_| true) + report.totals.committed.iter().sum::<u64>();
    let share = timeouts as f64 / tries.max(1) as f64;
    let max_share = max_share?;
    (share > max_share).then(|| Refusal {
        code: "lock_wait_timeout",
        reason: format!(
            "{timeouts} of {tries} tries of transactions ended in lock wait timeouts ({:.1} %, of \
             which at most {:.1} % are allowed)",
            share * 100.0,
            max_share * 100.0
        ),
    })
}

/// Transactions of a type that ended in the window, well or as errors; deliberate rollbacks are
/// well.
fn ended(of: &TransactionStats) -> u64 {
    of.completed() + of.errors
}

/// Transactions of a type that ended, and those of them that ended in errors.
#[derive(Clone, Copy, Default)]
struct EndedTransactions {
    errors: u64,
    all: u64,
}

impl EndedTransactions {
    fn error_share(self) -> f64 {
        self.errors as f64 / self.all.max(1) as f64
    }

    /// Are so many of all beyond [`ERRORS_MAX_SHARE`], and by more than chance? By the bound of
    /// Chernoff: two of two are, one of twenty is not.
    fn is_beyond(self) -> bool {
        let share = self.error_share();
        if share <= ERRORS_MAX_SHARE {
            return false;
        }
        let part = |seen: f64, expected: f64| {
            if seen > 0.0 { seen * (seen / expected).ln() } else { 0.0 }
        };
        let divergence = part(share, ERRORS_MAX_SHARE) + part(1.0 - share, 1.0 - ERRORS_MAX_SHARE);
        // One false alarm in a thousand.
        self.all as f64 * divergence > 1000_f64.ln()
    }
}

/// More than the allowed share of a type ended in errors. What was under way at the end of the
/// window counts too: where a server stalls until then, nothing fails before.
fn errors(report: &RunReport) -> Option<Refusal> {
    let window = report.window.as_ref()?;
    let parts = [Some(window), report.drain.as_ref()];
    let counts = |index: usize| {
        let of_type = parts.iter().flatten().map(|part| &part.transactions[index]);
        of_type.fold(EndedTransactions::default(), |sum, of| EndedTransactions {
            errors: sum.errors + of.errors,
            all: sum.all + ended(of),
        })
    };
    let types = window.types.iter().enumerate().map(|(index, of)| (of.name, counts(index)));
    let failing: Vec<_> = types.filter(|(_, of)| of.is_beyond()).collect();
    let (name, of) = failing.iter().max_by_key(|(_, of)| of.errors)?;
    let EndedTransactions { errors, all } = of;
    let is_failing = |of: &str| failing.iter().any(|(name, _)| *name == of);
    Some(Refusal {
        code: TRANSACTION_ERRORS,
        reason: format!(
            "{errors} of {all} transactions of type {name} ended in errors ({:.1} %, of which at \
             most {:.1} % are allowed): {}",
            of.error_share() * 100.0,
            ERRORS_MAX_SHARE * 100.0,
            first_errors(report, is_failing)
        ),
    })
}

/// Connections paused so long after errors that few of these could come.
fn pauses(report: &RunReport, connections: u32) -> Option<Refusal> {
    let available_ns = report.window_ns as f64 * f64::from(connections);
    let share = report.totals.connection_time.error_pauses_ns as f64 / available_ns.max(1.0);
    (share > ERRORS_MAX_SHARE).then(|| Refusal {
        code: TRANSACTION_ERRORS,
        reason: format!(
            "connections paused for {:.1} % of the window after transactions that ended in errors \
             (of which at most {:.1} % are allowed): {}",
            share * 100.0,
            ERRORS_MAX_SHARE * 100.0,
            all_errors(report)
        ),
    })
}

/// The first error of each kind that transactions met, the most frequent kind first.
pub(crate) fn all_errors(report: &RunReport) -> String {
    first_errors(report, |_| true)
}

/// What failed in an interval and is told of for the first time, by its error: what comes of it is
/// known much later.
pub(crate) fn first_failures(interval: &Interval, told: &mut BTreeSet<String>) -> Vec<String> {
    let mut notes = Vec::new();
    for ((what, code), failed) in &interval.failures {
        if told.len() < ERRORS_TOLD_MAX && told.insert(code.clone()) {
            let end_s = interval.end_offset_ns as f64 / 1e9;
            let message = &failed.first_message;
            notes.push(format!("{end_s:.1} s into the run: {code} in {what}: {message}"));
        }
    }
    notes
}

/// The time without a commit that the window ended in, if it did.
fn last_silence(report: &RunReport) -> Option<&Silence> {
    let end_ns = report.warmup_ns + report.window_ns;
    report.silences.last().filter(|of| of.to_ns >= end_ns)
}

fn in_window_s(at_ns: u64, report: &RunReport) -> f64 {
    at_ns.saturating_sub(report.warmup_ns) as f64 / 1e9
}

/// Why a server is gone, and that nothing ended any more before, where that is so: it may stand
/// still.
pub(crate) fn with_silence(reason: String, report: &RunReport) -> String {
    let Some(last) = last_silence(report) else {
        return reason;
    };
    let from_s = in_window_s(last.busy_from_ns, report);
    if last.failures.count > 0 {
        return format!(
            "{reason}; nothing was committed from {from_s:.1} s of the window on: {}",
            all_errors(report)
        );
    }
    let in_flight = counted(last.in_flight as usize, "transaction", "transactions");
    format!(
        "{reason}; nothing ended from {from_s:.1} s of the window on, with {in_flight} in flight"
    )
}

/// No server took writes any more when the window ended. Where one did again, that is a result, and
/// the time that it took is a part of it.
fn no_recovery(report: &RunReport) -> Option<Refusal> {
    let last = last_silence(report).filter(|of| of.failures.count > 0 && !of.is_over)?;
    let from_s = in_window_s(last.busy_from_ns, report);
    let length_s = report.window_ns as f64 / 1e9;
    (length_s - from_s >= limits::SILENCE_MIN.as_secs_f64()).then(|| Refusal {
        code: TRANSACTION_ERRORS,
        reason: format!(
            "nothing was committed from {from_s:.1} s of the window to its end at {length_s:.1} \
             s: {}",
            all_errors(report)
        ),
    })
}

/// The same of some types of transactions.
fn first_errors(report: &RunReport, is_of_type: impl Fn(&str) -> bool) -> String {
    let kinds = report.totals.failed_tries.iter().filter(|((of, _), _)| is_of_type(of));
    let kinds = kinds.sorted_by_key(|(_, tries)| std::cmp::Reverse(tries.occurrences));
    let mut told = kinds.take(ERRORS_TOLD_MAX).map(|((of, code), tries)| {
        let times = counted(tries.occurrences as usize, "time", "times");
        format!("{code} in {of}, {times}: {}", tries.first_message)
    });
    told.join("; ")
}

/// The mix of what ended is not what was dealt. TPC-C deals decks of 23 cards, others draw; by the
/// inequality of Bernstein, which holds for draws from decks as for independent ones, and where at
/// each end of the window every connection may be in a transaction of one type.
fn mix(report: &RunReport, made: Concurrency) -> Option<Refusal> {
    let window = report.window.as_ref()?;
    let types = window.types;
    let counts: Vec<u64> = window
        .by_type()
        .map(|(of, stats)| match made.terminals {
            // They may wait in their queue: what was put into it was dealt.
            Some(_) if of.is_deferred => window.terminals.acknowledgement.count(),
            _ => ended(stats),
        })
        .collect();
    let all: u64 = counts.iter().sum();
    let under_way = f64::from(made.connections + made.terminals.unwrap_or(0));
    // A right mix is taken for a wrong one once in 10^9 runs.
    let false_alarm_ln = (1e9 * 2.0 * types.len() as f64).ln();
    types.iter().zip(counts).find_map(|(of, count)| {
        let dealt = of.share;
        let expected = all as f64 * dealt;
        let variance = expected * (1.0 - dealt);
        let third = false_alarm_ln / 3.0;
        let chance = third + (third * third + 2.0 * false_alarm_ln * variance).sqrt();
        let off = (count as f64 - expected).abs();
        (off > chance + under_way).then(|| Refusal {
            code: "mix_outside_chance",
            reason: format!(
                "{count} of {all} transactions of the window were of type {}, but of the mix that \
                 is dealt {expected:.0} were to come, give or take {:.0} by chance; what ended is \
                 another workload",
                of.name,
                chance + under_way
            ),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{EndedTransactions, Refusal};
    use crate::measure::pacing::Concurrency;
    use base::Warehouses;
    use drive::{FailedTries, Failures, Interval, Phase, RunReport, Silence, Totals, per_type};
    use std::collections::BTreeSet;
    use std::time::Duration;
    use tpcc::Transaction;

    const MADE: Concurrency =
        Concurrency { connections: 8, terminals: None, active: Warehouses(10) };

    fn refusal(report: &RunReport, made: Concurrency) -> Option<Refusal> {
        super::refusal(report, made, Some(0.05))
    }

    /// A minute in which so many of each type ended well, and so many as errors.
    fn report(completed: [u64; 5], errors: [u64; 5]) -> RunReport {
        let mut window = crate::measure::lengths::tests::interval(Phase::Window, 0, 60);
        let counts = completed.into_iter().zip(errors);
        for (of, (completed, errors)) in window.transactions.iter_mut().zip(counts) {
            of.committed = completed;
            of.errors = errors;
        }
        RunReport {
            types: Transaction::TYPES,
            window_ns: Duration::from_secs(60).as_nanos() as u64,
            totals: Totals { committed: per_type(completed), ..Totals::default() },
            window: Some(Box::new(window)),
            ..RunReport::default()
        }
    }

    fn code_of(report: &RunReport) -> Option<&'static str> {
        refusal(report, MADE).map(|refusal| refusal.code)
    }

    fn failed_tries(report: &mut RunReport, of: &'static str, code: &str, occurrences: u64) {
        let tries = FailedTries { occurrences, first_message: format!("the words of {code}") };
        report.totals.failed_tries.insert((of, code.to_owned()), tries);
    }

    const WELL: [u64; 5] = [10_000, 10_000, 1_000, 1_000, 1_000];

    #[test]
    fn a_run_without_errors_is_a_result() {
        assert_eq!(code_of(&report(WELL, [0; 5])), None);
        assert_eq!(code_of(&report(WELL, [90, 90, 9, 9, 9])), None);
        assert_eq!(code_of(&report([0; 5], [0; 5])), None);
    }

    /// A revoked privilege: throughput rises, as the work of these vanishes.
    #[test]
    fn one_type_that_fails_makes_the_run_none() {
        let mut all_deliveries = report([10_000, 10_000, 1_000, 0, 1_000], [0, 0, 0, 1_000, 0]);
        failed_tries(&mut all_deliveries, "delivery", "1142", 1_000);
        failed_tries(&mut all_deliveries, "delivery", "1213", 7);
        failed_tries(&mut all_deliveries, "payment", "1205", 3);
        let refusal = refusal(&all_deliveries, MADE).unwrap();
        assert_eq!(refusal.code, "transaction_errors");
        let words = "1000 of 1000 transactions of type delivery ended in errors (100.0 %, of which \
            at most 1.0 % are allowed): 1142 in delivery, 1000 times: the words of 1142; 1213 in \
            delivery, 7 times: the words of 1213";
        assert_eq!(refusal.reason, words);
        assert_eq!(code_of(&report(WELL, [150, 0, 0, 0, 0])), Some("transaction_errors"));
    }

    /// A minute that ended so long after the last commit.
    fn without_commits(seconds: u64, is_over: bool) -> RunReport {
        let second = 1_000_000_000;
        let failures = Failures { count: 48, ..Failures::default() };
        let (from_ns, to_ns) = ((60 - seconds) * second, 61 * second);
        let silence =
            Silence { from_ns, busy_from_ns: from_ns, to_ns, failures, is_over, in_flight: 0 };
        let mut report = RunReport { silences: vec![silence], ..report(WELL, [4, 0, 0, 0, 0]) };
        failed_tries(&mut report, "reconnect", "1290", 48);
        report
    }

    #[test]
    fn what_does_not_recover_in_its_window_is_no_result() {
        let refusal = refusal(&without_commits(20, false), MADE).unwrap();
        assert_eq!(refusal.code, "transaction_errors");
        let words = "nothing was committed from 40.0 s of the window to its end at 60.0 s: 1290 in \
            reconnect, 48 times: the words of 1290";
        assert_eq!(refusal.reason, words);
        assert_eq!(code_of(&without_commits(20, true)), None, "it recovered in the drain");
        assert_eq!(code_of(&without_commits(0, false)), None, "in the last second");
        let words = super::with_silence("gone".to_owned(), &without_commits(20, false));
        assert!(
            words.starts_with("gone; nothing was committed from 40.0 s of the window on: 1290")
        );
    }

    #[test]
    fn an_error_is_told_when_it_comes_first() {
        let mut interval = crate::measure::lengths::tests::interval(Phase::Window, 4, 5);
        let mut failed = |what, code: &str| {
            let tries = FailedTries { occurrences: 7, first_message: format!("words of {code}") };
            interval.failures.insert((what, code.to_owned()), tries);
        };
        failed("new_order", "1290");
        failed("payment", "1290");
        let mut told = BTreeSet::new();
        let notes = super::first_failures(&interval, &mut told);
        assert_eq!(notes, ["5.0 s into the run: 1290 in new_order: words of 1290"]);
        let mut failed = |code: u32| {
            let tries = FailedTries { occurrences: 1, first_message: String::new() };
            interval.failures.insert(("reconnect", code.to_string()), tries);
        };
        (1..20).for_each(&mut failed);
        assert_eq!(super::first_failures(&interval, &mut told).len(), 4, "five in all");
    }

    /// A server that takes no more writes, and says so only when the window is over.
    #[test]
    fn what_fails_after_the_window_fails_the_run() {
        let mut stalled = report([40, 40, 4, 4, 4], [0; 5]);
        let mut drain = crate::measure::lengths::tests::interval(Phase::Drain, 60, 0);
        drain.transactions[Transaction::NewOrder.index()].errors = 8;
        stalled.drain = Some(Box::new(drain));
        let refusal = refusal(&stalled, MADE).unwrap();
        assert_eq!(refusal.code, "transaction_errors");
        assert!(refusal.reason.starts_with("8 of 48 transactions"));
    }

    #[test]
    fn few_errors_by_chance_are_none() {
        for (errors, all) in
            [(0, 0), (0, 5), (1, 1), (1, 20), (2, 87), (130, 10_000), (10_200, 1_000_000)]
        {
            assert!(!EndedTransactions { errors, all }.is_beyond(), "{errors} of {all}");
        }
        for (errors, all) in [(2, 2), (4, 4), (7, 87), (150, 10_000), (10_500, 1_000_000)] {
            assert!(EndedTransactions { errors, all }.is_beyond(), "{errors} of {all}");
        }
    }

    #[test]
    fn pauses_after_errors_count_where_errors_are_few() {
        let mut last_tenth = report(WELL, [20, 20, 0, 2, 0]);
        failed_tries(&mut last_tenth, "new_order", "1290", 20);
        last_tenth.totals.connection_time.error_pauses_ns = 8 * last_tenth.window_ns / 10;
        let refusal = refusal(&last_tenth, MADE).unwrap();
        assert_eq!(refusal.code, "transaction_errors");
        assert!(refusal.reason.starts_with("connections paused for 10.0 %"));
        assert!(refusal.reason.ends_with("1290 in new_order, 20 times: the words of 1290"));
    }

    #[test]
    fn lock_wait_timeouts_have_their_own_bound() {
        let mut waiting = report(WELL, [0; 5]);
        failed_tries(&mut waiting, "payment", "1205", 1_000);
        assert_eq!(code_of(&waiting), None);
        failed_tries(&mut waiting, "payment", "1205", 2_000);
        assert_eq!(code_of(&waiting), Some("lock_wait_timeout"));
        assert_eq!(super::refusal(&waiting, MADE, None), None);
    }

    #[test]
    fn the_mix_is_what_was_dealt() {
        let no_deliveries = [10_000, 10_000, 1_000, 0, 1_000];
        let other = Some("mix_outside_chance");
        assert_eq!(code_of(&report(no_deliveries, [0; 5])), other);
        assert_eq!(code_of(&report([11_000, 9_000, 1_000, 1_000, 1_000], [0; 5])), other);
        // By chance, or as many are under way at an end of the window.
        assert_eq!(code_of(&report([10_250, 9_750, 960, 1_040, 1_000], [0; 5])), None);
        assert_eq!(code_of(&report([60, 70, 2, 0, 1], [0; 5])), None);
        assert_eq!(code_of(&report([20, 0, 0, 0, 0], [0; 5])), None);
    }

    #[test]
    fn deliveries_that_wait_in_the_queue_of_terminals_were_dealt() {
        let mut late = report([10_000, 10_000, 1_000, 0, 1_000], [0; 5]);
        let made = Concurrency { terminals: Some(100), ..MADE };
        assert!(refusal(&late, made).is_some());
        let window: &mut Interval = late.window.as_mut().unwrap();
        for _ in 0..1_000 {
            window.terminals.acknowledgement.record(2_000);
        }
        assert_eq!(refusal(&late, made), None);
    }
}
