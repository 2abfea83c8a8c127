//! One measurement as a JSON document, computed from the results file alone. `docs/json.md`
//! describes its keys, which are a contract: keys are added, and change their meaning or go only
//! with [`SUMMARY_SCHEMA_VERSION`].

use crate::document::{ByTransaction, document, object};
use crate::rows::{
    CellPreset, InputCounter, Repeat, RepeatResult, RepeatStatus, StoredCell, StoredCheck,
    StoredFailure, StoredRank, StoredRequirement, ThroughputMetric,
};
use crate::summary_devices::{DeviceSummary, ShimSummary, devices, lateness_share, share};
use crate::summary_in_flight::{ConnectionTimeSummary, SilenceSummary};
use crate::summary_terminals::{OpenLoopSummary, TerminalsSummary};
use crate::summary_time::TimeSpent;
use crate::totals::{TransactionTotals, WindowTotals, finite};
use crate::values::RepeatId;
use crate::{Results, StoreResult, WindowTimes};

/// The version of [`Summary`] as a document.
pub const SUMMARY_SCHEMA_VERSION: u32 = 2;

document! {
    /// What `mydyno run --json` prints. `None` is `null`: not measured, or not to be shown because
    /// the repeat failed.
    pub struct Summary from (
        results: &Results, measured: (&Repeat, &StoredCell), totals: &WindowTotals
    ) -> StoreResult<Summary> as Ok;
    let (repeat, cell) = measured;
    let id = repeat.id;
    let what = &cell.what;
    let result = repeat.result.as_ref();
    let is_done = repeat.status == RepeatStatus::Done;
    let done = result.filter(|_| is_done);
    let spent = results.times_spent(repeat)?;
    let is_paced = what.terminals.is_some() || what.rate_asked.is_some();
    let times = if is_paced { results.window_times(id)? } else { WindowTimes::new() };
    let schedule = if is_paced { results.window_schedule(id)? } else { None }.unwrap_or_default();
    let counted = results.device_io(id)?.filter(|_| is_done);
    let roles = counted.as_ref().map_or(&[][..], |io| &io.roles);
    let window = results.window_summary(repeat, what, totals)?;
    {
        /// The version of this document, 2.
        pub schema_version: u32 = SUMMARY_SCHEMA_VERSION,
        /// The file that holds everything.
        pub results_file: String = results.path.display().to_string(),
        /// Keys in it.
        pub lab_id: i64 = cell.lab.0,
        pub repeat_id: i64 = repeat.id.0,
        /// `done`, `failed`, `skipped` or `running`.
        pub status: String = repeat.status.to_string(),
        /// Why there is no result, for programs and for people.
        pub reason_code: Option<String> = repeat.reason_code.clone(),
        pub reason: Option<String> = repeat.reason.clone(),
        /// The user ended the window early; the numbers are of the shorter window.
        pub interrupted: bool = result.is_some_and(|r| r.interrupted),
        /// The server.
        pub engine: String = what.engine.clone(),
        pub server_version: String = what.server_version.clone(),
        pub flavour: String = what.flavour.clone(),
        /// `tcp`, `tcp+tls`, `unix` or `unix+tls`, as it was used.
        pub transport: String = what.transport.clone(),
        /// DSN without password.
        pub target: String = what.target.clone(),
        /// What was driven, and how statements travelled.
        pub workload: String = what.workload.clone(),
        #[serde(skip)]
        pub throughput_metric: ThroughputMetric = what.throughput_metric,
        #[serde(skip)]
        pub primary: TransactionSummary =
            TransactionSummary::of(&totals.primary(), None, is_done),
        pub style: String = what.style.clone(),
        /// As in the results file; `warehouses`, `home` and `foreign_keys` are `None` where the
        /// workload has none.
        pub warehouses: Option<u32> = what.warehouses,
        pub connections: u32 = what.connections,
        pub home: Option<bool> = what.home,
        pub foreign_keys: Option<bool> = what.foreign_keys,
        pub partitions: u32 = what.partitions,
        /// Does HISTORY have a primary key, which TPC-C does not give it (`mydyno load
        /// --history-key`).
        pub history_key: Option<bool> = what.history_key,
        /// Isolation level of the sessions: `repeatable-read`, `read-committed`, `serializable` or
        /// `read-uncommitted`, with `tpcc-mysql` any that the server has by itself.
        pub isolation: Option<String> = what.isolation.clone(),
        /// What the inputs derive from: with `--seed` the same come again.
        pub seed: u64 = repeat.seed.unwrap_or(what.seed),
        /// Threads that carried the connections; `None` where it was not driven.
        pub driver_threads: Option<u32> = repeat.driver_threads,
        /// How many times slower than real clocks those of the server and of the driver ran: all
        /// durations and rates are in their time; 1 is real time.
        pub dilation: f64 = repeat.dilation,
        /// As in the results file; `warehouses`, `home` and `foreign_keys` are `None` where the
        /// workload has none.
        pub schemas: u32 = what.schemas,
        pub instances: u32 = what.instances,
        /// How several servers belong together (`--topology`); `None` where there is one, or each
        /// has a database of its own.
        pub topology: Option<String> = what.topology().map(str::to_owned),
        pub result_metadata: Option<String> = what.result_metadata.clone(),
        /// Cores that the servers were kept to, and which CPUs they and mydyno had; `None` where
        /// they were kept to none.
        pub cores: Option<u32> = what.cores,
        pub server_cpus: Option<String> = repeat.server_cpus.clone(),
        pub driver_cpus: Option<String> = repeat.driver_cpus.clone(),
        /// What the server was configured with, `None` where that was no preset or mydyno did not
        /// start it; see below.
        pub preset: Option<CellPreset> = what.preset.clone(),
        /// As planned; where the warm-up is automatic, the most that it might take.
        pub warmup_s: f64 = seconds(what.warmup_ns),
        pub warmup_auto: bool = what.warmup_auto,
        /// Length of the warm-up as it was, and whether the server was steady at its end; `None`
        /// where no window followed, and `warmup_steady` where the warm-up is not automatic or the
        /// repeat failed.
        pub warmup_measured_s: Option<f64> = result.map(|_| seconds(repeat.warmup_ns(what))),
        pub warmup_steady: Option<bool> = done.and_then(|r| r.warmup_steady),
        /// Whether the window was automatic.
        pub window_auto: bool = what.window_auto,
        /// Of an automatic window: how well its mean throughput was to be known (half the width of
        /// the 95 % confidence interval, as a share of the mean), and how well it is; `None` where
        /// it is not automatic, and `window_precision_share` where the repeat failed or the window
        /// was too short to tell (`docs/statistics.md`).
        pub precision_share: Option<f64> = what.precision_share,
        pub window_precision_share: Option<f64> = done.and_then(|r| r.window_precision_share),
        #[serde(flatten)]
        pub rates: Rates = Rates::of(repeat, totals),
        /// `nopm` of each of several servers, in their order; empty where there was one.
        pub nopm_by_instance: Vec<f64> = results.throughput_by_instance(repeat)?,
        /// The ranks of a fleet that drove together; empty where one process drove; see below.
        pub ranks: Vec<StoredRank> = results.get(id)?,
        /// Largest memory of mydyno.
        pub client_peak_rss_bytes: Option<u64> = result.and_then(|r| r.client_peak_rss_bytes),
        /// An object with a key for each type of the workload: `new_order`, `payment`,
        /// `order_status`, `delivery`, `stock_level` of TPC-C; each as below.
        pub transactions: ByTransaction<TransactionSummary> = ByTransaction(
            totals.iter().map(|(of, totals)| {
                let spent = spent.get(&of.name);
                (of.name.clone(), TransactionSummary::of(totals, spent, is_done))
            }).collect()
        ),
        /// The longest time to recovery after transactions or connections failed, as in a failover:
        /// from the last commit before to the first one after them; `None` where there was none.
        pub recovery_s: Option<f64> =
            window.silences.iter().filter_map(|of| of.recovery_s).max_by(f64::total_cmp),
        /// Times in which transactions were in flight, or failed, and none ended well; see below.
        pub silences: Vec<SilenceSummary> = window.silences,
        /// Where the connections were in the window; `None` where there was none; see below.
        pub connection_time: Option<ConnectionTimeSummary> = window.connection_time,
        /// Failed tries of the whole run; see below.
        pub errors: Vec<StoredFailure> = results.get(id)?,
        /// Connections made again after a loss, over the whole run.
        pub reconnects: Option<u64> = result.map(|r| r.reconnects),
        /// Rise of sum(`d_next_o_id`) over the whole run, warm-up and drain included.
        pub new_orders_in_database: Option<i64> =
            result.and_then(RepeatResult::new_orders_in_database),
        /// New orders that the driver saw committed over the whole run; equal to the above up to
        /// those in doubt.
        pub new_orders_committed_by_driver: Option<u64> =
            result.and_then(|r| r.committed_new_orders),
        /// The connection was lost before COMMIT was answered, or the run ended before the
        /// transaction did.
        pub new_orders_in_doubt: Option<u64> =
            result.and_then(|r| r.in_doubt_new_orders),
        /// Clause-5 counters; see below.
        pub inputs: Vec<InputCounter> = results.get(id)?,
        /// Of `tpcc-spec`, else `None`; see below.
        pub terminals: Option<TerminalsSummary> =
            what.terminals.map(|_| TerminalsSummary::of(repeat, what, totals, &times)),
        /// Of a run with `--rate`, else `None`; see below.
        pub open_loop: Option<OpenLoopSummary> = what.rate_asked.as_ref()
            .map(|_| OpenLoopSummary::of(repeat, what, totals, schedule, &times)),
        /// What the clauses ask of a run with terminals; see below.
        pub verdicts: Vec<StoredRequirement> = results.get(id)?,
        /// Where files were placed, and what was asked of each place; see below.
        pub devices: Vec<DeviceSummary> = devices(&what.places, roles),
        /// Of the emulated requests, of all devices, that somebody waited for when they were due:
        /// share that completed within 2 % of the response time or 20 us of their due time; `None`
        /// where nothing is emulated.
        pub fidelity: Option<f64> =
            share(roles, |role| (role.within_tolerance, role.judged)),
        /// How late the same requests were in the mean, as a share of the mean response time of
        /// the devices.
        pub lateness_share: Option<f64> = lateness_share(roles),
        /// Share of all emulated requests for which the host needed longer than the model.
        pub overrun_share: Option<f64> =
            share(roles, |role| (role.overruns, role.emulated_requests())),
        /// What the shim did besides; `None` where it was not there; see below.
        pub shim: Option<ShimSummary> = counted.as_ref().map(|io| ShimSummary::of(&io.shim)),
        /// Consistency checks after the run; see below.
        pub checks: Vec<StoredCheck> = results.get(id)?,
        /// Texts: deviations and warnings.
        pub notes: Vec<String> = results.notes(id)?,
    }
}

document! {
    /// One transaction type in the window. Counts are evidence and always there; response times of
    /// a repeat that is not done are not shown.
    pub struct TransactionSummary from (
        totals: &TransactionTotals, spent: Option<&Vec<TimeSpent>>, done: bool
    );
    let shown = |ns: Option<f64>| ns.filter(|_| done).map(|ns| ns / 1000.0);
    let quantile = |q: f64| shown(totals.quantile_ns(q).map(|ns| ns as f64));
    let percentiles =
        [("p50_us", 0.5), ("p90_us", 0.9), ("p95_us", 0.95), ("p99_us", 0.99), ("p999_us", 0.999)];
    let at_least = percentiles.into_iter().filter(|(_, q)| totals.is_at_least(*q));
    let at_least = at_least.map(|(key, _)| key).chain(totals.max_is_at_least().then_some("max_us"));
    {
        /// Committed transactions.
        pub committed: u64 = totals.committed,
        /// Deliberate rollbacks.
        pub rolled_back: u64 = totals.rolled_back,
        /// Tries made again, whatever the cause.
        pub retries: u64 = totals.retries(),
        /// The same by cause.
        pub retries_deadlock: u64 = totals.deadlocks,
        pub retries_lock_wait_timeout: u64 = totals.lock_wait_timeouts,
        pub retries_other: u64 = totals.other_retries,
        /// Transactions given up.
        pub errors: u64 = totals.errors,
        /// Response time of committed and rolled back transactions, retries included; exact. It
        /// counts from the first try; in an open loop from the intended start; of terminals from
        /// the submission, waiting for a connection included, that of a delivery until its deferred
        /// end.
        pub mean_us: Option<f64> = shown(totals.mean_ns()),
        /// Percentiles of the same, to three digits. A transaction that was in flight at the end of
        /// the window counts where its age then is longer.
        pub p50_us: Option<f64> = quantile(0.5),
        pub p90_us: Option<f64> = quantile(0.9),
        pub p95_us: Option<f64> = quantile(0.95),
        pub p99_us: Option<f64> = quantile(0.99),
        pub p999_us: Option<f64> = quantile(0.999),
        /// The longest of them or, where that is longer, the highest age of a transaction in
        /// flight.
        pub max_us: Option<f64> = shown(totals.max_ns().map(|ns| ns as f64)),
        /// Transactions that were in flight at the end of the window, or waited for their turn. Of
        /// an open loop those that had not begun count for the types by their shares.
        pub in_flight: u64 = totals.in_flight.count(),
        /// The mean of `mean_us` with the ages of those in flight: it is at least so long.
        pub mean_with_in_flight_us: Option<f64> = shown(totals.mean_with_in_flight_ns()),
        /// Which of the percentiles and the maximum are ages of transactions in flight (`p99_us`,
        /// `max_us`, ...): the response times are at least so long.
        pub at_least: Vec<String> = at_least.filter(|_| done).map(str::to_owned).collect(),
        /// Response times above the histogram's bound; they count as slowest.
        pub latency_out_of_bounds: u64 = totals.response.out_of_bounds,
        /// Where the response time went, as below; empty where the repeat failed.
        pub time_spent: Vec<TimeSpent> = spent.cloned().unwrap_or_default(),
    }
}

impl Results {
    /// Adds up the window of a repeat by transaction type.
    pub fn window_totals(&self, repeat: RepeatId) -> StoreResult<WindowTotals> {
        let mut totals = self.no_window_totals(repeat)?;
        self.for_each_interval(repeat, |row| totals.add(&row))?;
        Ok(totals)
    }

    /// The document of one repeat.
    pub fn summary(&self, id: RepeatId) -> StoreResult<Summary> {
        let repeat = self.repeat(id)?;
        let cell = self.cell(repeat.cell)?;
        Summary::of(self, (&repeat, &cell), &self.window_totals(id)?)
    }
}

impl RepeatResult {
    /// Rise of sum(d_next_o_id) over the whole run, where it was read before and after.
    pub fn new_orders_in_database(&self) -> Option<i64> {
        Some(self.district_next_o_id_sum_after? - self.district_next_o_id_sum_before?)
    }
}

object! {
    /// Numbers of a repeat that may be shown: all `None` unless it is `done`.
    #[derive(Default)]
    pub struct Rates {
        /// Length of the window as it was.
        pub window_s: Option<f64>,
        /// New orders that ended in the window, whenever they began, per minute; deliberate
        /// rollbacks included.
        pub nopm: Option<f64>,
        /// Transactions of all types that ended in the window, per minute.
        pub tpm_total: Option<f64>,
        /// User and system time of mydyno over the window.
        pub client_cpu_s: Option<f64>,
        /// Statements that were sent in the window.
        pub statements: Option<u64>,
        /// `statements` / new orders of the window.
        pub statements_per_new_order: Option<f64>,
        /// `client_cpu_s` / `statements`.
        pub client_cpu_us_per_statement: Option<f64>,
        /// `client_cpu_s` / thousand new orders of the window.
        pub client_cpu_s_per_1000_new_orders: Option<f64>,
    }
}

impl Rates {
    /// The rates of `repeat`, whose window added up to `totals`.
    pub fn of(repeat: &Repeat, totals: &WindowTotals) -> Rates {
        let (RepeatStatus::Done, Some(result)) = (repeat.status, &repeat.result) else {
            return Rates::default();
        };
        let window_s = seconds(result.measured_window_ns);
        let cpu_s = seconds(result.client_cpu_ns);
        let primary = totals.primary().completed() as f64;
        let all = totals.completed();
        let statements = result.statements as f64;
        Rates {
            window_s: Some(window_s),
            nopm: finite(primary * 60.0 / window_s),
            tpm_total: finite(all as f64 * 60.0 / window_s),
            client_cpu_s: Some(cpu_s),
            statements: Some(result.statements),
            statements_per_new_order: finite(statements / primary),
            client_cpu_us_per_statement: finite(cpu_s * 1e6 / statements),
            client_cpu_s_per_1000_new_orders: finite(cpu_s * 1000.0 / primary),
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
