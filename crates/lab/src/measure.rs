//! Measuring one cell on a server that is up and loaded: variables, sums, the run, checks, everything stored as it comes.

use crate::check::check;
use crate::error::LabError;
use crate::populate::engine_name;
use crate::preflight;
use crate::progress::{OnProgress, Progress};
use crate::records::{Last, counters_of, failures_of, result_of, rows_of};
use crate::spec::RunSpec;
use crate::subject::{Subject, with_session};
use base::{Exit, Warehouses};
use drive::{
    Abort, AbortCause, Control, Event, Homes, Pace, RunError, RunOptions, RunReport, TpccOptions,
    TpccWorkload,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::{CheckedOn, LabId, Moment, NewCell, NewRepeat, RepeatFailure, RepeatId, Results};
use tpcc::{Database, RunConstants, Transaction};
use wire::{ConnectError, Connection, Connector, ServerInfo};

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
    for note in begun.notes() {
        on_progress(Progress::Note(&note));
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
            measurement.fail(error.exit(), "failed", &error.to_string())?;
            return Err(error);
        }
    };
    Ok(Measured { repeat, exit })
}

/// What is known before a run.
struct Begun {
    database: Database,
    warehouses: Warehouses,
    server: ServerInfo,
    transport: &'static str,
    /// TLS version and cipher.
    tls: Option<String>,
    next_order_sum: i64,
    variables: Vec<(String, String)>,
}

impl Begun {
    /// What of the target a reader of the numbers should know.
    fn notes(&self) -> Vec<String> {
        let tls = self.tls.as_ref();
        let mut notes: Vec<String> = tls
            .map(|tls| format!("connections were encrypted: {tls}"))
            .into_iter()
            .collect();
        if self.database.c_load.is_none() {
            notes.push(
                "the database was not loaded by mydyno: its constant for last names is unknown, so the distance that \
                 clause 2.1.6.1 asks for between load and run cannot be kept"
                    .to_owned(),
            );
        }
        notes
    }
}

async fn before(session: &mut Connection, spec: &RunSpec) -> Result<Begun, LabError> {
    let database = tpcc::database::inspect(session, spec.warehouses).await?;
    preflight::check_server(session, spec.connections).await?;
    let variables = preflight::variables(session).await?;
    let next_order_sum = sum(session).await?;
    Ok(Begun {
        database,
        warehouses: spec.warehouses.unwrap_or(database.warehouses),
        server: session.server().clone(),
        transport: session.transport(),
        tls: session.tls(),
        next_order_sum,
        variables,
    })
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
        engine: engine_name(subject, &begun.server),
        server_version: begun.server.version.clone(),
        flavour: if begun.server.is_mariadb {
            "mariadb"
        } else {
            "mysql"
        }
        .to_owned(),
        transport: begun.transport.to_owned(),
        target: subject.dsn(),
        workload: spec.workload.name().to_owned(),
        style: spec.style.name().to_owned(),
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
        let report = match self.drive(connector, begun, on_progress) {
            Err(LabError::Run(error @ (RunError::Interrupted | RunError::Aborted(_)))) => {
                return self.failed(error.into());
            }
            other => other?,
        };
        self.results
            .record_failures(self.repeat, &failures_of(&report.failed_tries))?;
        let counters = counters_of(&report.inputs, begun.warehouses);
        self.results.record_inputs(self.repeat, &counters)?;
        if let Some(abort) = &report.aborted {
            return self.aborted(abort);
        }
        let after = with_session(connector, async |session| {
            Ok((sum(session).await?, preflight::variables(session).await?))
        });
        let (next_order_sum, variables) = match after {
            Ok(after) => after,
            Err(error) => return self.failed(error),
        };
        self.results
            .record_variables(self.repeat, Moment::End, &variables)?;
        if report.window_ns == 0 {
            let reason = "the run was interrupted before its window began";
            return self.fail(Exit::Interrupted, "interrupted", reason);
        }
        let sums = (begun.next_order_sum, next_order_sum);
        self.results
            .finish_repeat(self.repeat, &result_of(&report, sums))?;
        // From here on the measurement is kept, whatever becomes of its proof.
        if let Some(reason) = mismatch(&report, sums) {
            return self.fail(Exit::CheckFailed, "check_failed", &reason);
        }
        if report.inputs.new_orders == 0 && report.errors > 0 {
            let reason = format!(
                "no new order ended well, and {} transactions failed",
                report.errors
            );
            return self.fail(Exit::Failed, "transactions_fail", &reason);
        }
        if report.interrupted {
            return Ok(Exit::Interrupted);
        }
        self.check(connector, begun, on_progress)
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
            TpccOptions {
                style: self.spec.style,
                constants,
                warehouses: begun.warehouses,
                seed: self.spec.seed,
                homes: match self.spec.home {
                    true => Homes::Connections,
                    false => Homes::None,
                },
            },
        );
        let options = RunOptions {
            connections: self.spec.connections,
            workers: workers(self.spec.connections),
            warmup: self.spec.warmup,
            window: self.spec.window,
            interval: self.spec.interval,
            pace: Pace::Closed,
            seed: self.spec.seed,
        };
        let mut last = Last::default();
        let mut store_error = None;
        let report = drive::run(&workload, &options, &mut |event| match event {
            Event::Started => Control::Continue,
            Event::Opening => self.control(),
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
            return Control::Abort(Abort {
                cause: AbortCause::ServerGone,
                reason,
            });
        }
        if self.stop.load(Ordering::Relaxed) {
            Control::Stop
        } else {
            Control::Continue
        }
    }

    /// Stores the repeat as failed.
    fn fail(&self, exit: Exit, reason_code: &str, reason: &str) -> Result<Exit, LabError> {
        let failure = RepeatFailure {
            reason_code: reason_code.to_owned(),
            reason: reason.to_owned(),
            log_tail: self.subject.log_tail(),
        };
        self.results.fail_repeat(self.repeat, &failure)?;
        Ok(exit)
    }

    fn aborted(&self, abort: &Abort) -> Result<Exit, LabError> {
        match abort.cause {
            AbortCause::ServerGone => self.fail(Exit::ServerFailed, "server_died", &abort.reason),
            AbortCause::Useless => self.fail(Exit::Failed, "transactions_fail", &abort.reason),
        }
    }

    /// Stores what stopped a run that had begun.
    fn failed(&self, error: LabError) -> Result<Exit, LabError> {
        let error = self.subject.explain(error);
        // A server that answered before and cannot be reached now is gone.
        let unreachable = matches!(error, LabError::Connect(ConnectError::Unreachable { .. }));
        let (exit, code) = match error.exit() {
            _ if unreachable => (Exit::ServerFailed, "server_died"),
            Exit::ServerFailed => (Exit::ServerFailed, "server_died"),
            Exit::Interrupted => (Exit::Interrupted, "interrupted"),
            exit => (exit, "failed"),
        };
        self.fail(exit, code, &error.to_string())
    }

    /// The eighteen checks, where they are asked for.
    fn check(
        &self,
        connector: &Connector,
        begun: &Begun,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Exit, LabError> {
        if !self.spec.checks {
            return Ok(Exit::Ok);
        }
        let checked = check(connector, begun.database.warehouses, self.stop, on_progress);
        let checks = match checked {
            Ok(checks) => checks,
            Err(LabError::Interrupted) => {
                on_progress(Progress::Note(
                    "the checks were interrupted: run `mydyno check`",
                ));
                return Ok(Exit::Interrupted);
            }
            Err(error) => return self.failed(error),
        };
        self.results
            .record_checks(CheckedOn::Repeat(self.repeat), &checks)?;
        let failed: Vec<&str> = checks
            .iter()
            .filter(|check| !check.passed)
            .map(|check| check.name.as_str())
            .collect();
        if failed.is_empty() {
            return Ok(Exit::Ok);
        }
        let reason = format!("checks failed: {}", failed.join(", "));
        self.fail(Exit::CheckFailed, "check_failed", &reason)
    }
}

/// What is wrong where the database does not have the new orders that the driver committed.
fn mismatch(report: &RunReport, (before, after): (i64, i64)) -> Option<String> {
    let rise = after - before;
    let committed = report.committed[Transaction::NewOrder.index()] as i64;
    let in_doubt = report.in_doubt[Transaction::NewOrder.index()] as i64;
    (!(committed..=committed + in_doubt).contains(&rise)).then(|| {
        format!(
            "the driver committed {committed} new orders ({in_doubt} in doubt), but the database has {rise} more; does \
             somebody else use it?"
        )
    })
}
