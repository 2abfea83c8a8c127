//! One measurement as a JSON document, computed from the results file alone. `docs/json.md` describes its keys, which are
//! a contract: keys are added, and change their meaning or go only with [`SUMMARY_SCHEMA_VERSION`].

use crate::presets::CellPreset;
use crate::summary_devices::{DeviceSummary, ShimSummary};
use crate::summary_pacing::{OpenLoopSummary, TerminalsSummary, VerdictSummary};
use crate::summary_time::{TimeSpent, TimesSpent};
use crate::totals::Totals;
use crate::types::{Cell, CheckedOn, NoteOn, Phase, Repeat, RepeatId, RepeatResult, RepeatStatus};
use crate::{Results, StoreError};
use serde::Serialize;
use std::collections::BTreeMap;

/// The version of [`Summary`] as a document.
pub const SUMMARY_SCHEMA_VERSION: u32 = 2;

/// What `mydyno run --json` prints. `None` is `null`: not measured, or not to be shown because the repeat failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub schema_version: u32,
    pub results_file: String,
    pub lab_id: i64,
    pub repeat_id: i64,
    pub status: String,
    pub reason_code: Option<String>,
    pub reason: Option<String>,
    pub interrupted: bool,
    pub engine: String,
    pub server_version: String,
    pub flavour: String,
    pub transport: String,
    pub target: String,
    pub workload: String,
    pub style: String,
    pub warehouses: u32,
    pub connections: u32,
    pub home: bool,
    pub foreign_keys: bool,
    pub partitions: u32,
    pub history_key: Option<bool>,
    pub isolation: Option<String>,
    /// What the inputs derive from.
    pub seed: u64,
    pub driver_threads: Option<u32>,
    pub schemas: u32,
    /// Servers that were driven together; `nopm` and everything else is of all of them.
    pub instances: u32,
    pub result_metadata: Option<String>,
    /// What became of the preset that the server was started with.
    pub preset: Option<CellPreset>,
    /// As planned; the most, where it is automatic.
    pub warmup_s: f64,
    pub warmup_auto: bool,
    /// As it was; `None` where no window followed.
    pub warmup_measured_s: Option<f64>,
    /// Was the server steady when an automatic warm-up ended?
    pub warmup_steady: Option<bool>,
    /// As it was.
    pub window_s: Option<f64>,
    pub window_auto: bool,
    /// Of an automatic window: how well its mean throughput was to be known, and is.
    pub precision_share: Option<f64>,
    pub window_precision_share: Option<f64>,
    /// New orders per minute that ended in the window, deliberate rollbacks included; exact.
    pub nopm: Option<f64>,
    /// The part of each of several servers; empty where there was one.
    pub nopm_by_instance: Vec<f64>,
    /// Transactions of all types per minute that ended in the window.
    pub tpm_total: Option<f64>,
    pub client_cpu_s: Option<f64>,
    pub client_peak_rss_bytes: Option<u64>,
    pub statements: Option<u64>,
    pub statements_per_new_order: Option<f64>,
    pub client_cpu_us_per_statement: Option<f64>,
    pub client_cpu_s_per_1000_new_orders: Option<f64>,
    pub transactions: ByTransaction<TransactionSummary>,
    pub errors: Vec<ErrorSummary>,
    pub reconnects: Option<u64>,
    /// Rise of sum(d_next_o_id) over the whole run, warm-up and drain included.
    pub new_orders_in_database: Option<i64>,
    pub new_orders_committed_by_driver: Option<u64>,
    pub new_orders_in_doubt: Option<u64>,
    pub inputs: Vec<InputSummary>,
    pub terminals: Option<TerminalsSummary>,
    pub open_loop: Option<OpenLoopSummary>,
    pub verdicts: Vec<VerdictSummary>,
    pub devices: Vec<DeviceSummary>,
    /// Of emulated requests of all roles, those that completed when they should; 0 to 1.
    pub fidelity: Option<f64>,
    pub overrun_share: Option<f64>,
    pub shim: Option<ShimSummary>,
    pub checks: Vec<CheckSummary>,
    pub notes: Vec<String>,
}

/// Something for each of the five transaction types.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ByTransaction<T> {
    pub new_order: T,
    pub payment: T,
    pub order_status: T,
    pub delivery: T,
    pub stock_level: T,
}

impl<T> ByTransaction<T> {
    /// What `of` makes of each type's name.
    pub(crate) fn new(of: impl Fn(&str) -> T) -> ByTransaction<T> {
        ByTransaction {
            new_order: of("new_order"),
            payment: of("payment"),
            order_status: of("order_status"),
            delivery: of("delivery"),
            stock_level: of("stock_level"),
        }
    }
}

/// One transaction type in the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransactionSummary {
    pub committed: u64,
    pub rolled_back: u64,
    /// Of all causes.
    pub retries: u64,
    pub retries_deadlock: u64,
    pub retries_lock_wait_timeout: u64,
    pub retries_other: u64,
    pub errors: u64,
    pub mean_us: Option<f64>,
    pub p50_us: Option<f64>,
    pub p90_us: Option<f64>,
    pub p95_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub p999_us: Option<f64>,
    pub max_us: Option<f64>,
    /// Response times above the histogram's bound.
    pub latency_out_of_bounds: u64,
    /// Where the response time went.
    pub time_spent: Vec<TimeSpent>,
}

/// Failed tries of the whole run by type and error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorSummary {
    pub transaction: String,
    pub code: String,
    pub count: u64,
    pub first_message: String,
}

/// A clause-5 counter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputSummary {
    pub name: String,
    pub title: String,
    pub unit: String,
    pub hits: u64,
    pub trials: u64,
    pub value: Option<f64>,
    pub allowed_low: Option<f64>,
    pub allowed_high: Option<f64>,
    pub chance_low: Option<f64>,
    pub chance_high: Option<f64>,
    pub verdict: String,
}

/// A consistency check after the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckSummary {
    pub name: String,
    pub title: String,
    pub clause: String,
    pub passed: bool,
    pub offending_rows: u64,
    pub duration_s: f64,
}

/// Totals of each transaction type over the window.
pub type WindowTotals = BTreeMap<String, Totals>;

impl Results {
    /// Adds up the window of a repeat by transaction type.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn window_totals(&self, repeat: RepeatId) -> Result<WindowTotals, StoreError> {
        let mut totals = WindowTotals::new();
        self.for_each_interval(repeat, |row| {
            if row.phase == Phase::Window {
                totals.entry(row.transaction.clone()).or_default().add(&row);
            }
        })?;
        Ok(totals)
    }

    /// The document of one repeat.
    ///
    /// # Errors
    /// There is no such repeat, or the file cannot be read.
    pub fn summary(&self, id: RepeatId) -> Result<Summary, StoreError> {
        let repeat = self.repeat(id)?;
        let cell = self.cell(repeat.cell)?;
        let totals = self.window_totals(id)?;
        let rates = Rates::of(&repeat, &totals);
        let pacing = self.pacing_summary(&repeat, &cell, &totals)?;
        let storage = self.storage_summary(&repeat, &cell)?;
        Ok(Summary {
            transactions: transaction_summaries(
                &totals,
                &self.times_spent(&repeat)?,
                repeat.status == RepeatStatus::Done,
            ),
            errors: self.error_summaries(id)?,
            inputs: self.input_summaries(id)?,
            nopm_by_instance: self.nopm_by_instance(&repeat)?,
            terminals: pacing.terminals,
            open_loop: pacing.open_loop,
            verdicts: self.verdict_summaries(&repeat)?,
            devices: storage.devices,
            fidelity: storage.fidelity,
            overrun_share: storage.overrun_share,
            shim: storage.shim,
            checks: self.check_summaries(id)?,
            notes: self.notes(NoteOn::Repeat(id))?,
            ..self.summary_of_one(&repeat, &cell, &rates)
        })
    }

    /// What needs no further reading.
    fn summary_of_one(&self, repeat: &Repeat, cell: &Cell, rates: &Rates) -> Summary {
        let what = &cell.what;
        let result = repeat.result.as_ref();
        let done = result.filter(|_| repeat.status == RepeatStatus::Done);
        Summary {
            schema_version: SUMMARY_SCHEMA_VERSION,
            results_file: self.path.display().to_string(),
            lab_id: cell.lab.0,
            repeat_id: repeat.id.0,
            status: repeat.status.to_string(),
            reason_code: repeat.reason_code.clone(),
            reason: repeat.reason.clone(),
            interrupted: result.is_some_and(|r| r.interrupted),
            engine: what.engine.clone(),
            server_version: what.server_version.clone(),
            flavour: what.flavour.clone(),
            transport: what.transport.clone(),
            target: what.target.clone(),
            workload: what.workload.clone(),
            style: what.style.clone(),
            warehouses: what.warehouses,
            connections: what.connections,
            home: what.home,
            foreign_keys: what.foreign_keys,
            partitions: what.partitions,
            seed: repeat.seed.unwrap_or(what.seed),
            driver_threads: repeat.driver_threads,
            history_key: what.history_key,
            isolation: what.isolation.clone(),
            schemas: what.schemas,
            instances: what.instances,
            result_metadata: what.result_metadata.clone(),
            preset: what.preset.clone(),
            warmup_s: seconds(what.warmup_ns),
            warmup_auto: what.warmup_auto,
            warmup_measured_s: result.map(|_| seconds(repeat.warmup_ns(what))),
            warmup_steady: done.and_then(|r| r.warmup_steady),
            window_s: rates.window_s,
            window_auto: what.window_auto,
            precision_share: what.precision_share,
            window_precision_share: done.and_then(|r| r.window_precision_share),
            nopm: rates.nopm,
            nopm_by_instance: Vec::new(),
            tpm_total: rates.tpm_total,
            client_cpu_s: rates.client_cpu_s,
            client_peak_rss_bytes: result.and_then(|r| r.client_peak_rss_bytes),
            statements: rates.statements,
            statements_per_new_order: rates.statements_per_new_order,
            client_cpu_us_per_statement: rates.client_cpu_us_per_statement,
            client_cpu_s_per_1000_new_orders: rates.client_cpu_s_per_1000_new_orders,
            transactions: transaction_summaries(&WindowTotals::new(), &TimesSpent::new(), false),
            errors: Vec::new(),
            reconnects: result.map(|r| r.reconnects),
            new_orders_in_database: result.and_then(RepeatResult::new_orders_in_database),
            new_orders_committed_by_driver: result.map(|r| r.committed_new_orders),
            new_orders_in_doubt: result.map(|r| r.in_doubt_new_orders),
            inputs: Vec::new(),
            terminals: None,
            open_loop: None,
            verdicts: Vec::new(),
            devices: Vec::new(),
            fidelity: None,
            overrun_share: None,
            shim: None,
            checks: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn error_summaries(&self, id: RepeatId) -> Result<Vec<ErrorSummary>, StoreError> {
        let failures = self.failures(id)?;
        Ok(failures
            .into_iter()
            .map(|failure| ErrorSummary {
                transaction: failure.transaction,
                code: failure.error_code,
                count: failure.occurrences,
                first_message: failure.first_message,
            })
            .collect())
    }

    fn input_summaries(&self, id: RepeatId) -> Result<Vec<InputSummary>, StoreError> {
        let counters = self.inputs(id)?;
        Ok(counters
            .into_iter()
            .map(|counter| InputSummary {
                name: counter.name,
                title: counter.title,
                unit: counter.unit.to_string(),
                hits: counter.hits,
                trials: counter.trials,
                value: counter.value,
                allowed_low: counter.allowed.low,
                allowed_high: counter.allowed.high,
                chance_low: counter.chance.low,
                chance_high: counter.chance.high,
                verdict: counter.verdict.to_string(),
            })
            .collect())
    }

    fn check_summaries(&self, id: RepeatId) -> Result<Vec<CheckSummary>, StoreError> {
        let checks = self.checks(CheckedOn::Repeat(id))?;
        Ok(checks
            .into_iter()
            .map(|check| CheckSummary {
                name: check.name,
                title: check.title,
                clause: check.clause,
                passed: check.passed,
                offending_rows: check.offending_rows,
                duration_s: seconds(check.duration_ns),
            })
            .collect())
    }
}

impl RepeatResult {
    /// Rise of sum(d_next_o_id) over the whole run, where it was read before and after.
    #[must_use]
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
    #[must_use]
    pub fn of(repeat: &Repeat, totals: &WindowTotals) -> Rates {
        let (RepeatStatus::Done, Some(result)) = (repeat.status, &repeat.result) else {
            return Rates::default();
        };
        let window_s = seconds(result.measured_window_ns);
        let cpu_s = seconds(result.client_cpu_ns);
        let in_intervals = totals.get("new_order").map_or(0, Totals::completed);
        let new_orders = (in_intervals + repeat.new_orders_left_out.unwrap_or(0)) as f64;
        let all: u64 = totals.values().map(Totals::completed).sum();
        let statements = result.statements as f64;
        Rates {
            window_s: Some(window_s),
            nopm: ratio(new_orders * 60.0, window_s),
            tpm_total: ratio(all as f64 * 60.0, window_s),
            client_cpu_s: Some(cpu_s),
            statements: Some(result.statements),
            statements_per_new_order: ratio(statements, new_orders),
            client_cpu_us_per_statement: ratio(cpu_s * 1e6, statements),
            client_cpu_s_per_1000_new_orders: ratio(cpu_s * 1000.0, new_orders),
        }
    }
}

fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn transaction_summaries(
    totals: &WindowTotals,
    spent: &TimesSpent,
    done: bool,
) -> ByTransaction<TransactionSummary> {
    let nothing = Totals::default();
    ByTransaction::new(|name| TransactionSummary {
        time_spent: spent.get(name).cloned().unwrap_or_default(),
        ..transaction_summary(totals.get(name).unwrap_or(&nothing), done)
    })
}

/// Counts are evidence and always there; response times of a repeat that is not done are not shown.
fn transaction_summary(totals: &Totals, done: bool) -> TransactionSummary {
    let shown = |ns: Option<f64>| ns.filter(|_| done).map(|ns| ns / 1000.0);
    let quantile = |q: f64| shown(totals.quantile_ns(q).map(|ns| ns as f64));
    TransactionSummary {
        committed: totals.committed,
        rolled_back: totals.rolled_back,
        retries: totals.retries(),
        retries_deadlock: totals.deadlocks,
        retries_lock_wait_timeout: totals.lock_wait_timeouts,
        retries_other: totals.other_retries,
        errors: totals.errors,
        mean_us: shown(totals.mean_ns()),
        p50_us: quantile(0.5),
        p90_us: quantile(0.9),
        p95_us: quantile(0.95),
        p99_us: quantile(0.99),
        p999_us: quantile(0.999),
        max_us: shown(totals.max_ns().map(|ns| ns as f64)),
        latency_out_of_bounds: totals.latency_out_of_bounds,
        time_spent: Vec::new(),
    }
}
