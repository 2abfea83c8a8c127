//! Measuring one cell on a server that is up and loaded: variables, sums, the run, checks, everything stored as it comes.

use crate::error::LabError;
use crate::populate::engine_name;
use crate::preflight;
use crate::progress::{OnProgress, Progress, RunProgress};
use crate::subject::{Subject, with_session};
use base::{Exit, Warehouses};
use drive::{Control, Event, Interval, Phase, RunOptions, RunReport, TpccWorkload};
use observe::peak_rss_bytes;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::{
    Band, CheckResult, CheckedOn, CounterUnit, Failure, InputCounter, IntervalRow, LabId, Moment,
    NewCell, NewRepeat, NoteOn, RepeatFailure, RepeatId, RepeatResult, Results, Verdict,
};
use tpcc::{Database, InputCounters, RunConstants, Transaction};
use wire::{Connection, Connector};

/// What to run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    pub connections: u32,
    pub warmup: Duration,
    pub window: Duration,
    pub interval: Duration,
    pub seed: u64,
    /// Warehouses to use; all that the database has where none are named.
    pub warehouses: Option<Warehouses>,
    pub home: bool,
    /// Run the eighteen checks after the run.
    pub checks: bool,
    /// What else names this cell: server variables that were set.
    pub settings: Vec<(String, String)>,
}

/// Where a cell belongs.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub results: &'a Results,
    pub lab: LabId,
    /// From 1.
    pub ordinal: u32,
}

/// How a measurement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    pub repeat: RepeatId,
    /// Ok, Interrupted, ServerFailed, CheckFailed or Failed.
    pub exit: Exit,
}

const WORKLOAD: &str = "tpcc";
const STYLE: &str = "statements";

/// Measures one cell. A run that fails is stored as failed, and its place in the store returned.
///
/// # Errors
/// Where it could not begin, or the results file cannot be written.
pub fn measure(
    place: Place<'_>,
    subject: &Subject,
    spec: &RunSpec,
    stop: &AtomicBool,
    on_progress: &mut OnProgress<'_>,
) -> Result<Measured, LabError> {
    preflight::raise_file_limit(spec.connections)?;
    let connector = subject.connector()?;
    let begun = with_session(&connector, async |session| before(session, spec).await)
        .map_err(|error| subject.explain(error))?;
    let cell = place
        .results
        .begin_cell(place.lab, &cell_of(place, subject, spec, &begun))?;
    let new = NewRepeat {
        cell,
        ordinal: 1,
        my_cnf: subject.my_cnf(),
    };
    let repeat = place.results.begin_repeat(&new)?;
    if let Some(tls) = &begun.tls {
        let note = format!("connections were encrypted: {tls}");
        place.results.record_note(NoteOn::Repeat(repeat), &note)?;
    }
    let measurement = Measurement {
        results: place.results,
        repeat,
        subject,
        spec,
        stop,
    };
    let exit = match measurement.take(&connector, &begun, on_progress) {
        Ok(exit) => exit,
        // What cannot be stored cannot be told to the store.
        Err(error @ LabError::Store(_)) => return Err(error),
        Err(error) => {
            let error = subject.explain(error);
            measurement.fail("not_started", &error.to_string())?;
            return Err(error);
        }
    };
    Ok(Measured { repeat, exit })
}

/// What is known before a run.
struct Begun {
    database: Database,
    warehouses: Warehouses,
    version: String,
    is_mariadb: bool,
    engine_server: wire::ServerInfo,
    /// `tcp`, `tcp+tls` or `unix`, as the results file has it.
    transport: String,
    /// TLS version and cipher.
    tls: Option<String>,
    next_order_sum: i64,
    variables: Vec<(String, String)>,
}

async fn before(session: &mut Connection, spec: &RunSpec) -> Result<Begun, LabError> {
    let database = tpcc::database::inspect(session, spec.warehouses).await?;
    preflight::check_server(session, spec.connections).await?;
    let variables = preflight::variables(session).await?;
    let next_order_sum = sum(session).await?;
    let (transport, tls) = split_transport(&session.transport());
    Ok(Begun {
        database,
        warehouses: spec.warehouses.unwrap_or(database.warehouses),
        version: session.server().version.clone(),
        is_mariadb: session.server().is_mariadb,
        engine_server: session.server().clone(),
        transport,
        tls,
        next_order_sum,
        variables,
    })
}

/// `tcp, TLSv1.2 CIPHER` as the word for programs and the rest for people.
fn split_transport(transport: &str) -> (String, Option<String>) {
    match transport.split_once(", ") {
        Some((base, tls)) => (format!("{base}+tls"), Some(tls.to_owned())),
        None => (transport.to_owned(), None),
    }
}

async fn sum(session: &mut Connection) -> Result<i64, LabError> {
    tpcc::database::next_order_sum(session)
        .await
        .map_err(|error| LabError::Session {
            doing: "summing d_next_o_id",
            error,
        })
}

fn cell_of(place: Place<'_>, subject: &Subject, spec: &RunSpec, begun: &Begun) -> NewCell {
    let ns = |duration: Duration| duration.as_nanos() as u64;
    NewCell {
        ordinal: place.ordinal,
        engine: engine_name(subject, &begun.engine_server),
        server_version: begun.version.clone(),
        flavour: if begun.is_mariadb { "mariadb" } else { "mysql" }.to_owned(),
        transport: begun.transport.clone(),
        target: subject.dsn(),
        workload: WORKLOAD.to_owned(),
        style: STYLE.to_owned(),
        warehouses: begun.warehouses.0,
        connections: spec.connections,
        home: spec.home,
        foreign_keys: begun.database.foreign_keys,
        warmup_ns: ns(spec.warmup),
        window_ns: ns(spec.window),
        interval_ns: ns(spec.interval),
        seed: spec.seed,
        settings: spec.settings.clone(),
    }
}

/// Connections that one driver thread carries well: a thread does some 100,000 statements a second.
const CONNECTIONS_PER_WORKER: u32 = 64;

fn workers(connections: u32) -> u32 {
    // The server needs the cores more than the driver: at most every fourth is the driver's.
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    connections
        .div_ceil(CONNECTIONS_PER_WORKER)
        .clamp(1, (cores / 4).max(1))
}

struct Measurement<'a> {
    results: &'a Results,
    repeat: RepeatId,
    subject: &'a Subject,
    spec: &'a RunSpec,
    stop: &'a AtomicBool,
}

impl Measurement<'_> {
    fn take(
        &self,
        connector: &Connector,
        begun: &Begun,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Exit, LabError> {
        self.results
            .record_variables(self.repeat, Moment::Start, &begun.variables)?;
        let report = self.drive(connector, begun, on_progress)?;
        self.record_counts(&report, begun.warehouses)?;
        if let Some(reason) = &report.aborted {
            return self.aborted(reason);
        }
        let after = with_session(connector, async |session| {
            Ok((sum(session).await?, preflight::variables(session).await?))
        });
        let (next_order_sum, variables) = match after {
            Ok(after) => after,
            Err(error) => return self.aborted(&error.to_string()),
        };
        self.results
            .record_variables(self.repeat, Moment::End, &variables)?;
        if report.window_ns == 0 {
            self.fail(
                "interrupted",
                "the run was interrupted before its window began",
            )?;
            return Ok(Exit::Interrupted);
        }
        let verdict = self.verify(connector, begun, &report, next_order_sum, on_progress);
        let result = result_of(&report, begun, next_order_sum);
        self.results.finish_repeat(self.repeat, &result)?;
        match verdict {
            Ok(None) if report.interrupted => Ok(Exit::Interrupted),
            Ok(None) => Ok(Exit::Ok),
            Ok(Some(reason)) => {
                self.fail("check_failed", &reason)?;
                Ok(Exit::CheckFailed)
            }
            Err(error @ LabError::Store(_)) => Err(error),
            Err(error) => self.aborted(&self.subject.explain(error).to_string()),
        }
    }

    /// Runs the workload; intervals go to the store as they come.
    fn drive(
        &self,
        connector: &Connector,
        begun: &Begun,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<RunReport, LabError> {
        let constants = RunConstants::for_run(begun.database.c_load, self.spec.seed);
        let workload = TpccWorkload::new(
            connector.clone(),
            constants,
            begun.warehouses,
            self.spec.seed,
            self.spec.home,
        );
        let options = RunOptions {
            connections: self.spec.connections,
            workers: workers(self.spec.connections),
            warmup: self.spec.warmup,
            window: self.spec.window,
            interval: self.spec.interval,
            seed: self.spec.seed,
        };
        let mut last = Last::default();
        let mut store_error = None;
        let report = drive::run(&workload, &options, &mut |event| match event {
            Event::Started => Control::Continue,
            Event::Interval(interval) => {
                last.take(interval);
                let stored = self
                    .results
                    .append_intervals(self.repeat, &rows_of(interval));
                match stored {
                    Ok(()) => Control::Continue,
                    Err(error) => {
                        store_error.get_or_insert(error);
                        Control::Stop
                    }
                }
            }
            Event::Tick { elapsed, total } => {
                on_progress(Progress::Run(last.progress(
                    elapsed,
                    total,
                    self.spec.warmup,
                )));
                self.control()
            }
        })?;
        match store_error {
            Some(error) => Err(error.into()),
            None => Ok(report),
        }
    }

    fn control(&self) -> Control {
        if let Some(reason) = self.subject.ended() {
            return Control::Abort(reason);
        }
        if self.stop.load(Ordering::Relaxed) {
            Control::Stop
        } else {
            Control::Continue
        }
    }

    fn record_counts(&self, report: &RunReport, warehouses: Warehouses) -> Result<(), LabError> {
        let failures: Vec<Failure> = report
            .failed_tries
            .iter()
            .map(|((transaction, code), tries)| Failure {
                transaction: transaction.name().to_owned(),
                error_code: code.clone(),
                occurrences: tries.occurrences,
                first_message: tries.first_message.clone(),
            })
            .collect();
        self.results.record_failures(self.repeat, &failures)?;
        self.results
            .record_inputs(self.repeat, &counters_of(&report.inputs, warehouses))?;
        Ok(())
    }

    fn fail(&self, reason_code: &str, reason: &str) -> Result<(), LabError> {
        let failure = RepeatFailure {
            reason_code: reason_code.to_owned(),
            reason: reason.to_owned(),
            log_tail: self.subject.log_tail(),
        };
        Ok(self.results.fail_repeat(self.repeat, &failure)?)
    }

    fn aborted(&self, reason: &str) -> Result<Exit, LabError> {
        self.fail("server_died", reason)?;
        Ok(Exit::ServerFailed)
    }

    /// The database against the driver's count, then the eighteen checks where they are asked for. Returns what is wrong.
    fn verify(
        &self,
        connector: &Connector,
        begun: &Begun,
        report: &RunReport,
        next_order_sum: i64,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Option<String>, LabError> {
        let checks = match self.spec.checks {
            true => check(connector, begun.database.warehouses, on_progress)?,
            false => Vec::new(),
        };
        self.results
            .record_checks(CheckedOn::Repeat(self.repeat), &checks)?;
        let failed: Vec<&str> = checks
            .iter()
            .filter(|check| !check.passed)
            .map(|check| check.name.as_str())
            .collect();
        let rise = next_order_sum - begun.next_order_sum;
        let committed = report.committed[Transaction::NewOrder.index()] as i64;
        // Each connection given up may have committed one transaction more, as may each COMMIT without an answer.
        let in_doubt =
            report.in_doubt[Transaction::NewOrder.index()] as i64 + report.abandoned as i64;
        if !(committed..=committed + in_doubt).contains(&rise) {
            return Ok(Some(format!(
                "the driver committed {committed} new orders ({in_doubt} in doubt), but the database has {rise} more; \
                 does somebody else use it?"
            )));
        }
        Ok((!failed.is_empty()).then(|| format!("checks failed: {}", failed.join(", "))))
    }
}

/// Runs the twelve conditions and six invariants.
///
/// # Errors
/// Where the server refuses or is gone.
fn check(
    connector: &Connector,
    warehouses: Warehouses,
    on_progress: &mut OnProgress<'_>,
) -> Result<Vec<CheckResult>, LabError> {
    let found = with_session(connector, async |session| {
        tpcc::checks::run_checks(session, warehouses.0, &mut |done, total| {
            on_progress(Progress::Checks { done, total });
        })
        .await
        .map_err(|error| LabError::Session {
            doing: "checking the database",
            error,
        })
    })?;
    Ok(found
        .into_iter()
        .map(|check| CheckResult {
            name: check.name.to_owned(),
            title: check.title.to_owned(),
            clause: check.clause.to_owned(),
            passed: check.passed,
            offending_rows: check.offending_rows,
            examples_json: serde_json::Value::from(check.examples).to_string(),
            duration_ns: check.duration_ns,
        })
        .collect())
}

/// Checks the database of a subject, of whatever size it is.
///
/// # Errors
/// As [`check`], and where the schema holds no database.
pub fn check_subject(
    subject: &Subject,
    on_progress: &mut OnProgress<'_>,
) -> Result<(Warehouses, Vec<CheckResult>), LabError> {
    let connector = subject.connector()?;
    let found = with_session(&connector, async |session| {
        Ok(tpcc::database::inspect(session, None).await?.warehouses)
    });
    let result =
        found.and_then(|warehouses| Ok((warehouses, check(&connector, warehouses, on_progress)?)));
    result.map_err(|error| subject.explain(error))
}

fn result_of(report: &RunReport, begun: &Begun, next_order_sum: i64) -> RepeatResult {
    RepeatResult {
        window_started_utc_ns: report.window_started_utc_ns,
        window_ended_utc_ns: report.window_ended_utc_ns,
        measured_window_ns: report.window_ns,
        interrupted: report.interrupted,
        client_cpu_ns: report.client_cpu_ns,
        client_peak_rss_bytes: peak_rss_bytes(),
        statements: report.statements,
        committed_new_orders: report.committed[Transaction::NewOrder.index()],
        in_doubt_new_orders: report.in_doubt[Transaction::NewOrder.index()],
        district_next_o_id_sum_before: Some(begun.next_order_sum),
        district_next_o_id_sum_after: Some(next_order_sum),
        reconnects: report.reconnects,
    }
}

fn rows_of(interval: &Interval) -> Vec<IntervalRow> {
    let phase = match interval.phase {
        Phase::Warmup => store::Phase::Warmup,
        Phase::Window => store::Phase::Window,
        Phase::Drain => store::Phase::Drain,
    };
    Transaction::ALL
        .iter()
        .zip(&interval.transactions)
        .map(|(transaction, stats)| IntervalRow {
            phase,
            start_offset_ns: interval.start_offset_ns,
            end_offset_ns: interval.end_offset_ns,
            transaction: transaction.name().to_owned(),
            committed: stats.committed,
            rolled_back: stats.rolled_back,
            deadlocks: stats.deadlocks,
            lock_wait_timeouts: stats.lock_wait_timeouts,
            other_retries: stats.other_retries,
            errors: stats.errors,
            latency: stats.latency.clone(),
            latency_sum_ns: stats.latency_sum_ns,
            latency_max_ns: stats.latency_max_ns,
            latency_out_of_bounds: stats.latency_out_of_bounds,
        })
        .collect()
}

fn counters_of(inputs: &InputCounters, warehouses: Warehouses) -> Vec<InputCounter> {
    let band = |(low, high): (f64, f64)| Band::between(low, high);
    inputs
        .shares(warehouses)
        .into_iter()
        .map(|share| {
            let (value, allowed, chance) = (share.value(), band(share.allowed), band(share.chance));
            InputCounter {
                name: share.name.to_owned(),
                title: share.title.to_owned(),
                unit: if share.is_average {
                    CounterUnit::Average
                } else {
                    CounterUnit::Share
                },
                hits: share.hits,
                trials: share.trials,
                value,
                allowed,
                chance,
                verdict: Verdict::of(value, allowed, chance),
            }
        })
        .collect()
}

/// What the last interval showed, for the person who waits.
#[derive(Default)]
struct Last {
    nopm: f64,
    new_order_p95_us: f64,
    errors: u64,
    retries: u64,
}

impl Last {
    fn take(&mut self, interval: &Interval) {
        let new_order = &interval.transactions[Transaction::NewOrder.index()];
        let ns = (interval.end_offset_ns - interval.start_offset_ns).max(1);
        self.nopm = new_order.completed() as f64 * 60e9 / ns as f64;
        self.new_order_p95_us = new_order.latency.value_at_quantile(0.95) as f64 / 1e3;
        for stats in &interval.transactions {
            self.errors += stats.errors;
            self.retries += stats.deadlocks + stats.lock_wait_timeouts + stats.other_retries;
        }
    }

    fn progress(&self, elapsed: Duration, total: Duration, warmup: Duration) -> RunProgress {
        RunProgress {
            elapsed,
            total,
            in_warmup: elapsed < warmup,
            nopm: self.nopm,
            new_order_p95_us: self.new_order_p95_us,
            errors: self.errors,
            retries: self.retries,
        }
    }
}
