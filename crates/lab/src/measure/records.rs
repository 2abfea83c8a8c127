//! From what the driver reports to what the store keeps.

use drive::{ConnectionTime, Facts, FailedTries, Interval, PerType, Phase, RunReport, Times};
use observe::peak_rss_bytes;
use std::collections::BTreeMap;
use store::{
    InFlight, IntervalRow, RepeatResult, StoredConnectionTime, StoredFailure, StoredSilence,
    StoredStatementTime, TimeTotals, TransactionTime, empty_histogram,
};
use tpcc::database::Sums;

/// What a finished run counted, beside its rates; of TPC-C with the facts before and after it.
pub(crate) fn result_of(
    report: &RunReport,
    facts: Option<(&Facts, &Facts)>,
    rates: RepeatResult,
) -> RepeatResult {
    let next_orders = |facts: &Facts| Sums::from(facts).next_orders;
    let of_primary = |counts: &PerType<u64>| {
        let primary = report.types.iter().zip(counts).filter(|(of, _)| of.is_primary);
        primary.map(|(_, count)| count).sum()
    };
    RepeatResult {
        window_started_utc_ns: report.window_started_utc_ns,
        window_ended_utc_ns: report.window_ended_utc_ns,
        warmup_measured_ns: Some(report.warmup_ns),
        measured_window_ns: report.window_ns,
        interrupted: report.interrupted,
        client_cpu_ns: report.client_cpu_ns,
        client_peak_rss_bytes: peak_rss_bytes(),
        statements: report.statements,
        committed_new_orders: facts.map(|_| of_primary(&report.totals.committed)),
        in_doubt_new_orders: facts.map(|_| of_primary(&report.totals.in_doubt)),
        district_next_o_id_sum_before: facts.map(|(before, _)| next_orders(before)),
        district_next_o_id_sum_after: facts.map(|(_, after)| next_orders(after)),
        reconnects: report.totals.reconnects,
        ..rates
    }
}

/// Where the time of the window's transactions went.
pub(crate) fn times_of(report: &RunReport) -> (Vec<TransactionTime>, Vec<StoredStatementTime>) {
    let of_types = report.types.iter().zip(&report.breakdowns);
    let transactions = of_types.clone().map(|(transaction, of)| TransactionTime {
        transaction: transaction.name.to_owned(),
        transactions: of.transactions,
        response_ns: of.response_ns,
        queued_ns: of.queued_ns,
        paused_ns: of.paused_ns,
    });
    let statements = of_types.flat_map(|(transaction, of)| {
        let executed = of.statements.iter().filter(|(_, times)| times.count() > 0);
        executed.map(|(kind, times)| StoredStatementTime {
            transaction: transaction.name.to_owned(),
            kind: (*kind).to_owned(),
            times: totals_of(times),
        })
    });
    (transactions.collect(), statements.collect())
}

pub(crate) fn totals_of(times: &Times) -> TimeTotals {
    let histogram = times.histogram.as_ref();
    TimeTotals {
        histogram: histogram.map_or_else(empty_histogram, |histogram| histogram.as_ref().clone()),
        sum_ns: times.sum_ns,
        max_ns: times.max_ns,
        out_of_bounds: times.out_of_bounds,
    }
}

/// What the window has besides the transactions that ended in it.
pub(crate) fn in_flight_of(
    report: &RunReport,
) -> (Vec<InFlight>, StoredConnectionTime, Vec<StoredSilence>) {
    let of_types = report.types.iter().zip(&report.totals.in_flight);
    let in_flight = of_types
        .filter(|(_, ages)| ages.count() > 0)
        .map(|(of, ages)| InFlight { transaction: of.name.to_owned(), ages: totals_of(ages) });
    let ConnectionTime { in_transactions_ns, idle_ns, error_pauses_ns, lost_ns } =
        report.totals.connection_time;
    let time = StoredConnectionTime { in_transactions_ns, idle_ns, error_pauses_ns, lost_ns };
    let silences = report.silences.iter().map(|of| StoredSilence {
        start_offset_ns: of.busy_from_ns,
        end_offset_ns: of.to_ns,
        in_flight: of.in_flight,
        failures: of.failures.count,
        is_over: of.is_over,
    });
    (in_flight.collect(), time, silences.collect())
}

/// One row for each transaction type.
pub(crate) fn rows_of(interval: &Interval) -> Vec<IntervalRow> {
    let phase = phase_of(interval.phase);
    interval
        .by_type()
        .map(|(transaction, stats)| IntervalRow {
            phase,
            start_offset_ns: interval.start_offset_ns,
            end_offset_ns: interval.end_offset_ns,
            transaction: transaction.name.to_owned(),
            committed: stats.committed,
            rolled_back: stats.rolled_back,
            deadlocks: stats.deadlocks,
            lock_wait_timeouts: stats.lock_wait_timeouts,
            other_retries: stats.other_retries,
            errors: stats.errors,
            latency: totals_of(&stats.latency),
        })
        .collect()
}

/// The store's word for a phase.
pub(crate) fn phase_of(phase: Phase) -> store::Phase {
    match phase {
        Phase::Warmup => store::Phase::Warmup,
        Phase::Window => store::Phase::Window,
        Phase::Drain => store::Phase::Drain,
    }
}

/// Failed tries by transaction and error.
pub(crate) fn failures_of(
    failed_tries: &BTreeMap<(&'static str, String), FailedTries>,
) -> Vec<StoredFailure> {
    failed_tries
        .iter()
        .map(|((transaction, code), tries)| StoredFailure {
            transaction: (*transaction).to_owned(),
            error_code: code.clone(),
            occurrences: tries.occurrences,
            first_message: tries.first_message.clone(),
        })
        .collect()
}
