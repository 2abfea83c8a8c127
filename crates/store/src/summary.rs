//! One measurement as a JSON document, computed from the results file alone. `docs/json.md` describes its keys, which are
//! a contract: keys are added, and change their meaning or go only with [`SUMMARY_SCHEMA_VERSION`].

use crate::cell_transactions::ThroughputMetric;
use crate::document::document;
use crate::ids::RepeatId;
use crate::presets::CellPreset;
use crate::summary_devices::{DeviceSummary, ShimSummary};
use crate::summary_pacing::{OpenLoopSummary, TerminalsSummary, VerdictSummary};
use crate::summary_time::TimeSpent;
use crate::totals::{Totals, WindowTotals};
use crate::types::{
    CheckResult, CheckedOn, Failure, InputCounter, NoteOn, Repeat, RepeatResult, RepeatStatus,
};
use crate::{Results, StoreError};
use serde::{Serialize, Serializer};

/// The version of [`Summary`] as a document.
pub const SUMMARY_SCHEMA_VERSION: u32 = 2;

document! {
    /// What `mydyno run --json` prints. `None` is `null`: not measured, or not to be shown because the
    /// repeat failed.
    pub struct Summary from (results: &Results, id: RepeatId)?;
    let repeat = results.repeat(id)?;
    let cell = results.cell(repeat.cell)?;
    let what = &cell.what;
    let result = repeat.result.as_ref();
    let is_done = repeat.status == RepeatStatus::Done;
    let done = result.filter(|_| is_done);
    let totals = results.window_totals(id)?;
    let rates = Rates::of(&repeat, &totals);
    let spent = results.times_spent(&repeat)?;
    let pacing = results.pacing_summary(&repeat, &cell, &totals)?;
    let storage = results.storage_summary(&repeat, &cell)?;
    {
        pub schema_version: u32 = SUMMARY_SCHEMA_VERSION,
        pub results_file: String = results.path.display().to_string(),
        pub lab_id: i64 = cell.lab.0,
        pub repeat_id: i64 = repeat.id.0,
        pub status: String = repeat.status.to_string(),
        pub reason_code: Option<String> = repeat.reason_code.clone(),
        pub reason: Option<String> = repeat.reason.clone(),
        pub interrupted: bool = result.is_some_and(|r| r.interrupted),
        pub engine: String = what.engine.clone(),
        pub server_version: String = what.server_version.clone(),
        pub flavour: String = what.flavour.clone(),
        pub transport: String = what.transport.clone(),
        pub target: String = what.target.clone(),
        pub workload: String = what.workload.clone(),
        #[serde(skip)]
        pub throughput_metric: ThroughputMetric = what.throughput_metric,
        /// Response times of the transactions that the throughput counts.
        #[serde(skip)]
        pub primary_p95_us: Option<f64> =
            totals.primary().quantile_ns(0.95).filter(|_| is_done).map(|ns| ns as f64 / 1e3),
        pub style: String = what.style.clone(),
        pub warehouses: Option<u32> = what.warehouses,
        pub connections: u32 = what.connections,
        pub home: Option<bool> = what.home,
        pub foreign_keys: Option<bool> = what.foreign_keys,
        pub partitions: u32 = what.partitions,
        pub history_key: Option<bool> = what.history_key,
        pub isolation: Option<String> = what.isolation.clone(),
        /// What the inputs derive from.
        pub seed: u64 = repeat.seed.unwrap_or(what.seed),
        pub driver_threads: Option<u32> = repeat.driver_threads,
        pub schemas: u32 = what.schemas,
        /// Servers that were driven together; `nopm` and everything else is of all of them.
        pub instances: u32 = what.instances,
        pub result_metadata: Option<String> = what.result_metadata.clone(),
        /// What became of the preset that the server was started with.
        pub preset: Option<CellPreset> = what.preset.clone(),
        /// As planned; the most, where it is automatic.
        pub warmup_s: f64 = seconds(what.warmup_ns),
        pub warmup_auto: bool = what.warmup_auto,
        /// As it was; `None` where no window followed.
        pub warmup_measured_s: Option<f64> = result.map(|_| seconds(repeat.warmup_ns(what))),
        /// Was the server steady when an automatic warm-up ended?
        pub warmup_steady: Option<bool> = done.and_then(|r| r.warmup_steady),
        /// As it was.
        pub window_s: Option<f64> = rates.window_s,
        pub window_auto: bool = what.window_auto,
        /// Of an automatic window: how well its mean throughput was to be known, and is.
        pub precision_share: Option<f64> = what.precision_share,
        pub window_precision_share: Option<f64> = done.and_then(|r| r.window_precision_share),
        /// New orders per minute that ended in the window, deliberate rollbacks included; exact.
        pub nopm: Option<f64> = rates.nopm,
        /// The part of each of several servers; empty where there was one.
        pub nopm_by_instance: Vec<f64> = results.throughput_by_instance(&repeat)?,
        /// Transactions of all types per minute that ended in the window.
        pub tpm_total: Option<f64> = rates.tpm_total,
        pub client_cpu_s: Option<f64> = rates.client_cpu_s,
        pub client_peak_rss_bytes: Option<u64> = result.and_then(|r| r.client_peak_rss_bytes),
        pub statements: Option<u64> = rates.statements,
        pub statements_per_new_order: Option<f64> = rates.statements_per_new_order,
        pub client_cpu_us_per_statement: Option<f64> = rates.client_cpu_us_per_statement,
        pub client_cpu_s_per_1000_new_orders: Option<f64> = rates.client_cpu_s_per_1000_new_orders,
        pub transactions: ByTransaction<TransactionSummary> = ByTransaction(totals.iter().map(|(of, totals)| {
            let spent = spent.get(&of.name);
            (of.name.clone(), TransactionSummary::of(totals, spent, is_done))
        }).collect()),
        pub errors: Vec<ErrorSummary> = each(results.failures(id)?, ErrorSummary::of),
        pub reconnects: Option<u64> = result.map(|r| r.reconnects),
        /// Rise of sum(d_next_o_id) over the whole run, warm-up and drain included.
        pub new_orders_in_database: Option<i64> =
            result.and_then(RepeatResult::new_orders_in_database),
        pub new_orders_committed_by_driver: Option<u64> =
            result.and_then(|r| r.committed_new_orders),
        pub new_orders_in_doubt: Option<u64> =
            result.and_then(|r| r.in_doubt_new_orders),
        pub inputs: Vec<InputSummary> = each(results.inputs(id)?, InputSummary::of),
        pub terminals: Option<TerminalsSummary> = pacing.terminals,
        pub open_loop: Option<OpenLoopSummary> = pacing.open_loop,
        pub verdicts: Vec<VerdictSummary> = each(results.requirements(id)?, VerdictSummary::of),
        pub devices: Vec<DeviceSummary> = storage.devices,
        /// Of emulated requests of all roles, those that completed when they should; 0 to 1.
        pub fidelity: Option<f64> = storage.fidelity,
        pub overrun_share: Option<f64> = storage.overrun_share,
        pub shim: Option<ShimSummary> = storage.shim,
        pub checks: Vec<CheckSummary> =
            each(results.checks(CheckedOn::Repeat(id))?, CheckSummary::of),
        pub notes: Vec<String> = results.notes(NoteOn::Repeat(id))?,
    }
}

fn each<T, U>(rows: Vec<T>, of: fn(T) -> U) -> Vec<U> {
    rows.into_iter().map(of).collect()
}

/// Something for each type of transactions, in the workload's order: an object in JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct ByTransaction<T>(pub Vec<(String, T)>);

impl<T> ByTransaction<T> {
    /// Each type's name with what there is for it.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, of)| (name.as_str(), of))
    }

    /// What there is for the type of this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        let found = self.iter().find(|(of, _)| *of == name);
        found.map(|(_, of)| of)
    }
}

impl<T: Serialize> Serialize for ByTransaction<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

document! {
    /// One transaction type in the window. Counts are evidence and always there; response times of a
    /// repeat that is not done are not shown.
    pub struct TransactionSummary from (
        totals: &Totals, spent: Option<&Vec<TimeSpent>>, done: bool
    );
    let shown = |ns: Option<f64>| ns.filter(|_| done).map(|ns| ns / 1000.0);
    let quantile = |q: f64| shown(totals.quantile_ns(q).map(|ns| ns as f64));
    {
        pub committed: u64 = totals.committed,
        pub rolled_back: u64 = totals.rolled_back,
        /// Of all causes.
        pub retries: u64 = totals.retries(),
        pub retries_deadlock: u64 = totals.deadlocks,
        pub retries_lock_wait_timeout: u64 = totals.lock_wait_timeouts,
        pub retries_other: u64 = totals.other_retries,
        pub errors: u64 = totals.errors,
        pub mean_us: Option<f64> = shown(totals.mean_ns()),
        pub p50_us: Option<f64> = quantile(0.5),
        pub p90_us: Option<f64> = quantile(0.9),
        pub p95_us: Option<f64> = quantile(0.95),
        pub p99_us: Option<f64> = quantile(0.99),
        pub p999_us: Option<f64> = quantile(0.999),
        pub max_us: Option<f64> = shown(totals.max_ns().map(|ns| ns as f64)),
        /// Response times above the histogram's bound.
        pub latency_out_of_bounds: u64 = totals.response.out_of_bounds,
        /// Where the response time went.
        pub time_spent: Vec<TimeSpent> = spent.cloned().unwrap_or_default(),
    }
}

document! {
    /// Failed tries of the whole run by type and error.
    pub struct ErrorSummary from (failure: Failure);
    {
        pub transaction: String = failure.transaction,
        pub code: String = failure.error_code,
        pub count: u64 = failure.occurrences,
        pub first_message: String = failure.first_message,
    }
}

document! {
    /// A clause-5 counter.
    pub struct InputSummary from (counter: InputCounter);
    {
        pub name: String = counter.name,
        pub title: String = counter.title,
        pub unit: String = counter.unit.to_string(),
        pub hits: u64 = counter.hits,
        pub trials: u64 = counter.trials,
        pub value: Option<f64> = counter.value,
        pub allowed_low: Option<f64> = counter.allowed.low,
        pub allowed_high: Option<f64> = counter.allowed.high,
        pub chance_low: Option<f64> = counter.chance.low,
        pub chance_high: Option<f64> = counter.chance.high,
        pub verdict: String = counter.verdict.to_string(),
    }
}

document! {
    /// A consistency check after the run.
    pub struct CheckSummary from (check: CheckResult);
    {
        pub name: String = check.name,
        pub title: String = check.title,
        pub clause: String = check.clause,
        pub passed: bool = check.passed,
        pub offending_rows: u64 = check.offending_rows,
        pub duration_s: f64 = seconds(check.duration_ns),
    }
}

impl Results {
    /// Adds up the window of a repeat by transaction type.
    pub fn window_totals(&self, repeat: RepeatId) -> Result<WindowTotals, StoreError> {
        let mut totals = WindowTotals::of_types(self.transactions(repeat)?);
        self.for_each_interval(repeat, |row| totals.add(&row))?;
        Ok(totals)
    }

    /// The document of one repeat.
    pub fn summary(&self, id: RepeatId) -> Result<Summary, StoreError> {
        Summary::of(self, id)
    }
}

impl RepeatResult {
    /// Rise of sum(d_next_o_id) over the whole run, where it was read before and after.
    pub fn new_orders_in_database(&self) -> Option<i64> {
        Some(self.district_next_o_id_sum_after? - self.district_next_o_id_sum_before?)
    }
}

/// Numbers of a repeat that may be shown: all `None` unless it is `done`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    pub window_s: Option<f64>,
    pub nopm: Option<f64>,
    pub tpm_total: Option<f64>,
    pub client_cpu_s: Option<f64>,
    pub statements: Option<u64>,
    pub statements_per_new_order: Option<f64>,
    pub client_cpu_us_per_statement: Option<f64>,
    pub client_cpu_s_per_1000_new_orders: Option<f64>,
}

impl Rates {
    /// The rates of `repeat`, whose window added up to `totals`.
    pub fn of(repeat: &Repeat, totals: &WindowTotals) -> Rates {
        let (RepeatStatus::Done, Some(result)) = (repeat.status, &repeat.result) else {
            return Rates::default();
        };
        let window_s = seconds(result.measured_window_ns);
        let cpu_s = seconds(result.client_cpu_ns);
        let in_intervals = totals.primary().completed();
        let primary = (in_intervals + repeat.new_orders_left_out.unwrap_or(0)) as f64;
        let all = totals.completed();
        let statements = result.statements as f64;
        Rates {
            window_s: Some(window_s),
            nopm: ratio(primary * 60.0, window_s),
            tpm_total: ratio(all as f64 * 60.0, window_s),
            client_cpu_s: Some(cpu_s),
            statements: Some(result.statements),
            statements_per_new_order: ratio(statements, primary),
            client_cpu_us_per_statement: ratio(cpu_s * 1e6, statements),
            client_cpu_s_per_1000_new_orders: ratio(cpu_s * 1000.0, primary),
        }
    }
}

fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
