//! Terminals and schedules of a measurement: how many, how fast, and what the clauses say of the
//! result.

use crate::error::{LabResult, unfit};
use crate::measure::records::{phase_of, totals_of};
use base::{Warehouses, limits};
use drive::{Arrivals, Interval, Merge, Pace, RunReport, Times};
use spec::{Cell, Connections, Length, Lengths, Load, OpenLoop, WorkloadKind, defaults};
use std::time::Duration;
use store::{PacedInterval, RepeatResult, ScheduleCounts, StoredRequirement, TimeKind, TimeRow};
use tpcc::terminal_times::{TERMINALS_PER_WAREHOUSE, ceiling, terminals};
use tpcc::verdicts::{MeasuredRun, WINDOW_MIN};
use tpcc::{InputCounters, Transaction, verdicts};

/// With keying times of 18 s and think times of 12 s, a shorter warm-up leaves the server's caches
/// and queues no time to settle at the load of the terminals.
const WARMUP_ADVISED: Duration = Duration::from_secs(60);

/// The terminals of a run, their connections, and the warehouses that they work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Concurrency {
    /// None where connections have no terminals.
    pub(crate) terminals: Option<u32>,
    pub(crate) connections: u32,
    /// Those that transactions are for; the others of the database are inactive.
    pub(crate) active: Warehouses,
}

impl Concurrency {
    /// Of a workload without warehouses.
    pub(crate) fn without_terminals(load: &Load) -> Concurrency {
        Concurrency {
            terminals: None,
            connections: load.connections.first().unwrap_or(defaults::CONNECTIONS),
            active: Warehouses(0),
        }
    }

    /// For a database with rows for `loaded` warehouses.
    pub(crate) fn of(load: &Load, loaded: Warehouses) -> LabResult<Concurrency> {
        let used = load.warehouses.unwrap_or(loaded).0;
        let active = Warehouses(used.saturating_sub(load.inactive_warehouses));
        if active.0 == 0 {
            return Err(unfit(format!(
                "--inactive-warehouses {} leaves none of {used} warehouses with terminals; name \
                 fewer",
                load.inactive_warehouses
            )));
        }
        if load.workload != WorkloadKind::TpccSpec {
            return Ok(Concurrency { active, ..Concurrency::without_terminals(load) });
        }
        let by_default = u64::from(active.0) * u64::from(TERMINALS_PER_WAREHOUSE);
        let wanted = load.terminals.map_or(by_default, u64::from);
        if wanted > u64::from(limits::TERMINALS_MAX) {
            return Err(unfit(format!(
                "{active} warehouses have {wanted} terminals, but a run has at most {}; use fewer \
                 with -w",
                limits::TERMINALS_MAX
            )));
        }
        let terminals = wanted as u32;
        let connections = load.connections.first().unwrap_or(terminals);
        if connections > limits::CONNECTIONS_MAX {
            return Err(unfit(format!(
                "{terminals} terminals would have a connection each, but a run has at most {}; let \
                 them share some with -c",
                limits::CONNECTIONS_MAX
            )));
        }
        Ok(Concurrency { terminals: Some(terminals), connections, active })
    }
}

/// Connections that this load opens at most on a database with rows for `loaded` warehouses: of a
/// ramp its largest count, else as many as were asked for, else one for each terminal.
///
/// # Errors
/// [`crate::LabError::Unfit`] where that is more than a run may have.
pub(crate) fn connections_most(load: &Load, loaded: Warehouses) -> LabResult<u32> {
    match &load.connections {
        Connections::Ramp(limits) => Ok(limits.connections_max),
        _ if !load.workload.is_tpcc() => Ok(Concurrency::without_terminals(load).connections),
        _ => Ok(Concurrency::of(load, loaded)?.connections),
    }
}

/// When the transactions of the run come; `capacity_per_s` is what a closed loop did, where that
/// was asked.
pub(crate) fn pace(cell: &Cell, concurrency: Concurrency, capacity_per_s: Option<f64>) -> Pace {
    if let Some(count) = concurrency.terminals {
        return Pace::Terminals(terminals(count));
    }
    match &cell.load.rate {
        None => Pace::Closed,
        Some(OpenLoop { rate, spacing }) => {
            let (steps, period) = rate.steps(capacity_per_s.unwrap_or(0.0));
            // Of a warm-up whose length is known: validated.
            let lead = if rate.changes() { cell.lengths.warmup.most } else { Duration::ZERO };
            Pace::Arrivals(Arrivals { steps, period, lead, spacing: *spacing })
        }
    }
}

/// What a reader of the numbers should know, as far as it is known before the run; `configured` are
/// all warehouses of the database.
pub(crate) fn notes(
    lengths: &Lengths,
    concurrency: Concurrency,
    configured: Warehouses,
) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(terminals) = concurrency.terminals else {
        return notes;
    };
    let active = concurrency.active.0;
    let warehouses = concurrency.active.counted();
    if configured.0 > active {
        notes.push(format!(
            "{} of {configured} warehouses are inactive (clause 4.2.2): they have rows and no \
             terminals, and no transaction is for them",
            configured.0 - active
        ));
    }
    let by_clause = u64::from(active) * u64::from(TERMINALS_PER_WAREHOUSE);
    if u64::from(terminals) != by_clause {
        notes.push(format!(
            "{terminals} terminals on {warehouses} are not the ten of each warehouse that clauses \
             2.8.1.1 and 4.2.2 have: nothing is said of clause 4.1.3"
        ));
    }
    let fixed = |length: Length| (!length.is_auto).then_some(length.most);
    notes.extend(fixed(lengths.warmup).and_then(note_on_warmup));
    notes.extend(fixed(lengths.window).and_then(note_on_window));
    notes
}

/// The rest of it, after the run.
pub(crate) fn notes_after(
    lengths: &Lengths,
    concurrency: Concurrency,
    report: &RunReport,
) -> Vec<String> {
    let Some(window) = &report.window else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    if concurrency.terminals.is_some() {
        let (warmup, window) = (report.warmup_ns, report.window_ns);
        let of_auto = |length: Length, ns: u64| length.is_auto.then_some(Duration::from_nanos(ns));
        notes.extend(of_auto(lengths.warmup, warmup).and_then(note_on_warmup));
        notes.extend(of_auto(lengths.window, window).and_then(note_on_window));
    }
    // In percentiles each is at least as old as it was at the end of the window.
    let skipped = window.schedule.skipped;
    if skipped > 0 {
        notes.push(format!(
            "{skipped} transactions of the schedule never began: percentiles have the time that \
             they had waited by then. Where nothing stood still, the server does not keep up with \
             this rate; lower --rate, or raise -c"
        ));
    }
    notes
}

fn note_on_warmup(warmup: Duration) -> Option<String> {
    (warmup < WARMUP_ADVISED).then(|| {
        format!(
            "the warm-up is shorter than {} s: the server may not have settled at the load of the \
             terminals",
            WARMUP_ADVISED.as_secs()
        )
    })
}

fn note_on_window(window: Duration) -> Option<String> {
    let least_s = verdicts::DEFERRED_P90_MAX_S;
    let deferred = (window.as_secs_f64() < least_s).then(|| {
        format!(
            "; in less than {least_s} s nothing can be said of deferred deliveries (clause 2.7.2.2)"
        )
    });
    (window < WINDOW_MIN).then(|| {
        format!(
            "the window is shorter than the standard's {} min (clause 5.5.2.1): chance weighs \
             more{}",
            WINDOW_MIN.as_secs() / 60,
            deferred.unwrap_or_default()
        )
    })
}

/// What an interval has beside its transactions, where it has anything.
pub(crate) fn paced_interval(interval: &Interval, pace: &Pace) -> Option<PacedInterval> {
    let (schedule, terminals) = (&interval.schedule, &interval.terminals);
    let mut rows = Vec::new();
    let mut add = |kind, transaction: Option<Transaction>, times: &Times| {
        if times.count() > 0 {
            let transaction = transaction.map(|of| of.name().to_owned());
            rows.push(TimeRow { kind, transaction, times: totals_of(times) });
        }
    };
    let counts = match pace {
        Pace::Closed => return None,
        Pace::Arrivals(_) => {
            add(TimeKind::Lag, None, &schedule.lag);
            add(TimeKind::Service, None, &schedule.service);
            Some(ScheduleCounts {
                offered: schedule.offered,
                late: schedule.late,
                skipped: schedule.skipped,
            })
        }
        Pace::Terminals(_) => {
            for transaction in Transaction::ALL {
                let index = transaction.index();
                add(TimeKind::Keying, Some(transaction), &terminals.keying[index]);
                add(TimeKind::Think, Some(transaction), &terminals.think[index]);
            }
            add(TimeKind::Acknowledgement, Some(Transaction::Delivery), &terminals.acknowledgement);
            None
        }
    };
    Some(PacedInterval {
        phase: phase_of(interval.phase),
        start_offset_ns: interval.start_offset_ns,
        end_offset_ns: interval.end_offset_ns,
        schedule: counts,
        times: rows,
    })
}

/// Judges the window of a run with terminals, where it had one: adds to its result what the clauses
/// say of it, and returns what they require.
pub(crate) fn judge(
    result: &mut RepeatResult,
    concurrency: Concurrency,
    configured: Warehouses,
    report: &RunReport,
) -> Vec<StoredRequirement> {
    let (Some(terminals), Some(window)) = (concurrency.terminals, &report.window) else {
        return Vec::new();
    };
    let window_s = report.window_ns as f64 / 1e9;
    // Clause 5.4.2 takes what began and ended in the window.
    let within_window: [Times; 5] = std::array::from_fn(|index| {
        window.transactions[index].latency.without(&report.totals.begun_before_window[index])
    });
    let new_orders = within_window[Transaction::NewOrder.index()].count();
    let ceiling = ceiling(terminals, window_s);
    let measured = MeasuredRun {
        new_orders_per_minute: new_orders as f64 * 60.0 / window_s,
        ceiling,
        terminals,
        warehouses: concurrency.active,
        configured,
        response: within_window.each_ref().map(times_of),
        deferred: deferred(report),
        acknowledgement: times_of(&window.terminals.acknowledgement),
        keying: std::array::from_fn(|index| times_of(&window.terminals.keying[index])),
        think: std::array::from_fn(|index| times_of(&window.terminals.think[index])),
        inputs: &InputCounters::from(report.counters),
    };
    result.ceiling_nopm = Some(ceiling.nopm);
    result.ceiling_deviation_nopm = Some(ceiling.nopm_deviation);
    result.new_orders_within_window = Some(new_orders);
    result.pending_deliveries = Some(pending_deliveries(report).count());
    result.efficiency = measured.efficiency();
    measured.requirements()
}

/// Deliveries that ended in the window, and those that were pending at its end, with their age: a
/// server that does none at all would have the best of times.
fn deferred(report: &RunReport) -> Option<verdicts::TimeSummary> {
    let window = report.window.as_ref()?;
    let mut times = window.transactions[Transaction::Delivery.index()].latency.clone();
    times.merge(pending_deliveries(report));
    let tells = report.window_ns as f64 / 1e9 >= verdicts::DEFERRED_P90_MAX_S;
    tells.then(|| times_of(&times))
}

fn pending_deliveries(report: &RunReport) -> &Times {
    &report.totals.in_flight[Transaction::Delivery.index()]
}

fn times_of(times: &Times) -> verdicts::TimeSummary {
    verdicts::TimeSummary {
        count: times.count(),
        mean_s: times.mean_ns().unwrap_or(0.0) / 1e9,
        p90_s: times.at_quantile_ns(0.9) as f64 / 1e9,
    }
}

#[cfg(test)]
mod tests {
    use super::{Concurrency, deferred, notes, notes_after};
    use crate::measure::lengths::tests::{asked, interval};
    use base::Warehouses;
    use drive::{Phase, RunReport};
    use spec::{Length, Load, WorkloadKind};
    use std::time::Duration;

    /// Nine deliveries were done at once, and one hundred wait for two minutes.
    #[test]
    fn deliveries_that_wait_at_the_end_count_with_their_age() {
        let mut report = RunReport {
            window_ns: 600_000_000_000,
            window: Some(Box::new(interval(Phase::Window, 0, 0))),
            ..RunReport::default()
        };
        let done = &mut report.window.as_mut().unwrap().transactions[3].latency;
        (0..9).for_each(|_| done.record(10_000_000));
        assert!(deferred(&report).unwrap().p90_s < 0.1);
        (0..100).for_each(|_| report.totals.in_flight[3].record(120_000_000_000));
        let times = deferred(&report).unwrap();
        assert!(times.p90_s > 119.0 && times.count == 109);
        // A window in which none can have taken too long.
        report.window_ns = 79_000_000_000;
        assert_eq!(deferred(&report), None);
    }

    #[test]
    fn short_times_are_told_once_they_are_known() {
        let concurrency =
            Concurrency { terminals: Some(10), connections: 10, active: Warehouses(1) };
        let report = RunReport {
            warmup_ns: 30_000_000_000,
            window_ns: 600_000_000_000,
            window: Some(Box::new(interval(Phase::Window, 30, 200))),
            ..RunReport::default()
        };
        let told = |warmup, window| {
            let lengths = asked(warmup, window);
            let after = notes_after(&lengths, concurrency, &report).len();
            (notes(&lengths, concurrency, Warehouses(1)).len(), after)
        };
        let day = Duration::from_secs(86_400);
        let short = Duration::from_secs(10);
        assert_eq!(told(Length::fixed(day), Length::fixed(day)), (0, 0));
        assert_eq!(told(Length::fixed(short), Length::fixed(short)), (2, 0));
        assert_eq!(told(Length::auto(day), Length::auto(day)), (0, 2));
    }

    #[test]
    fn inactive_warehouses_have_rows_and_no_terminals() {
        let day = Length::fixed(Duration::from_secs(86_400));
        let lengths = asked(day, day);
        let load = |inactive_warehouses, terminals| Load {
            workload: WorkloadKind::TpccSpec,
            inactive_warehouses,
            terminals,
            ..Load::of_seed(1)
        };
        let loaded = Warehouses(10);
        let concurrency = Concurrency::of(&load(4, None), loaded).unwrap();
        assert_eq!(concurrency.terminals, Some(60));
        assert_eq!(concurrency.active, Warehouses(6));
        let told = notes(&lengths, concurrency, loaded);
        assert!(told[0].contains("4 of 10 warehouses are inactive"), "{told:?}");
        assert_eq!(told.len(), 1);

        let concurrency = Concurrency::of(&load(0, Some(3_000)), loaded).unwrap();
        assert_eq!((concurrency.terminals, concurrency.active), (Some(3_000), loaded));
        let told = notes(&lengths, concurrency, loaded);
        assert!(told[0].contains("nothing is said of clause 4.1.3"), "{told:?}");

        assert!(Concurrency::of(&load(10, None), loaded).is_err());
    }
}
