//! Measuring one cell on a server that is up and loaded: variables, sums, the run, checks,
//! everything stored as it comes.

use crate::error::{LabError, LabResult, unfit};
use crate::measure::before::{BeforeRun, before};
use crate::measure::changed_columns::{columns, misread};
use crate::measure::changed_variables::{another_server, note_on_changed};
use crate::measure::check::{check, record, unexpected};
use crate::measure::cpus::RunCpus;
use crate::measure::drill::Drill;
use crate::measure::driving::driver_threads;
use crate::measure::failed_transactions::{TRANSACTION_ERRORS, all_errors, refusal, with_silence};
use crate::measure::fleet_run::FleetRun;
use crate::measure::lengths::PhaseEnds;
use crate::measure::pacing::{self, Concurrency};
use crate::measure::planned_row::planned_row;
use crate::measure::preflight::{self, ServerTold};
use crate::measure::prepared;
use crate::measure::records::{failures_of, in_flight_of, result_of, times_of};
use crate::measure::workload::{self, isolation_on};
use crate::progress::{Job, Progress, Stopwatch};
use crate::stop;
use crate::target::nodes;
use crate::target::populate::engine_name;
use crate::target::preset::PRESET_SETTING;
use crate::target::sessions::with_session;
use crate::target::subject::Subject;
use base::{Exit, clock};
use drive::{Abort, AbortCause, Facts, RunError, RunReport, Schemas};
use fleet::Leader;
use plan::{PlannedCell, size_in_warehouses};
use spec::{AccountFrom, Cell, Load, Server, Topology, WorkloadKind};
use std::iter;
use store::{
    DISK_FULL, InstanceResult, LabId, Moment, NewCell, NewRepeat, RampId, RepeatId, RepeatResult,
    Results,
};
use tpcc::{CheckSet, InputCounters, TpccWorkload};
use wire::{ConnectError, Connector};

/// Where a cell belongs.
#[derive(Clone, Copy)]
pub(crate) struct RepeatPlace<'a> {
    pub(crate) results: &'a Results,
    pub(crate) lab: LabId,
    /// The cell as far as it is known before its server is.
    pub(crate) planned: &'a PlannedCell,
    /// Of the cell in the lab, from 1: a point of a ramp has one of its own.
    pub(crate) ordinal: u32,
    /// Which measurement of the cell, from 1.
    pub(crate) repeat: u32,
    /// Told before, to be stored with it; of a ramp with its first point.
    pub(crate) notes: &'a [String],
    /// What the inputs of this measurement derive from; each point of a ramp has a seed of its own.
    pub(crate) seed: u64,
    /// That the measurement is a point of.
    pub(crate) ramp: Option<RampId>,
    /// Cells of the plan: those of points come after them.
    pub(crate) planned_cells: u32,
    /// Drives the load together with this process.
    pub(crate) fleet: Option<&'a Leader>,
}

/// Measures one cell. A run that fails is stored as failed, and its place in the store returned,
/// with Ok, Interrupted, ServerFailed, CheckFailed, Environment (no room) or Failed.
///
/// # Errors
/// Where it could not begin, or the results file cannot be written.
pub(crate) fn measure(
    place: RepeatPlace<'_>,
    subject: &Subject,
    cell: &Cell,
    job: &Job<'_>,
) -> LabResult<(RepeatId, Exit)> {
    let mut watch = Stopwatch::begin();
    subject.require_armed()?;
    subject.look_at_sessions(cell.load.account_from)?;
    let _clock = clock::dilate(subject.dilation());
    let databases = subject.databases()?;
    let begun = before(subject, &databases, (cell, place.seed), job.stop)
        .map_err(|error| subject.explain(error))?;
    let sessions_each = if cell.load.xa { subject.instances() } else { 1 };
    let concurrency = begun.fitted.concurrency;
    preflight::raise_file_limit(concurrency.connections.saturating_mul(sessions_each))?;
    let (threads, fleet) = drivers(place.fleet, subject, &cell.load, concurrency)?;
    let cpus = RunCpus::keep(subject)?;
    let new_cell = cell_of(place, subject, cell, &begun);
    let new = NewRepeat {
        cell: place.results.begin_cell(place.lab, &new_cell)?,
        ordinal: place.repeat,
        my_cnf: subject.instance().map(|instance| instance.my_cnf()),
        seed: Some(place.seed),
        driver_threads: Some(threads),
        dilation: subject.dilation().factor(),
        data_bytes: begun.data_bytes.map(|bytes| bytes * u64::from(subject.schemas())),
        server_cpus: cpus.as_ref().and_then(|cpus| Some(cpus.servers.as_ref()?.to_string())),
        driver_cpus: cpus.as_ref().map(|cpus| cpus.driver.to_string()),
    };
    let repeat = match place.ramp {
        Some(ramp) => place.results.begin_ramp_point(ramp, &new)?,
        None => place.results.begin_repeat(&new)?,
    };
    place.notes.iter().try_for_each(|note| place.results.record_note(repeat, note))?;
    // Each is stored as it is told: what kills this process leaves it.
    let mut not_stored = None;
    let mut storing = |progress: Progress<'_>| {
        if let Progress::Note(note) = &progress {
            let stored = place.results.record_note(repeat, note);
            not_stored = not_stored.take().or(stored.err());
        }
        job.tell(progress);
    };
    let job = &job.telling(&mut storing);
    job.notes(notes(subject, cell, &begun));
    watch.lap("reading variables, status and tables", job);
    let measurement = Measurement {
        results: place.results,
        repeat,
        subject,
        databases: &databases,
        cell,
        begun: &begun,
        seed: place.seed,
        threads,
        fleet,
        job,
    };
    let exit = match measurement.take() {
        Ok(exit) => exit,
        // What cannot be stored cannot be told to the store.
        Err(error @ LabError::Store(_)) => return Err(error),
        Err(error) => return Err(measurement.broken_off(error)?),
    };
    if subject.placed.is_emulated()
        && let Some(factor) = analyse::measurement(place.results, repeat)?.dilation_needed
    {
        job.note(&format!(
            "this host was too slow for the emulated devices; with --dilate {factor} it would not \
             have been, as far as this run tells (--dilate auto looks for the least)"
        ));
    }
    not_stored.map_or(Ok((repeat, exit)), |error| Err(error.into()))
}

/// Driver threads of this process, and the fleet that they are part of.
fn drivers<'a>(
    leader: Option<&'a Leader>,
    subject: &Subject,
    load: &Load,
    concurrency: Concurrency,
) -> LabResult<(u32, Option<FleetRun<'a>>)> {
    let threads = driver_threads(load, concurrency.connections, subject);
    let Some(leader) = leader else {
        return Ok((threads, None));
    };
    if load.account_from == Some(AccountFrom::PerformanceSchema) {
        return Err(unfit(
            "a rank of a fleet does not know the connections of the others, whose time \
             performance_schema has to tell; leave out --account-from, or drive from one process",
        ));
    }
    if subject.topology == Topology::PrimaryReplicas {
        return Err(unfit(
            "a rank of a fleet does not know the orders of the others, so it cannot tell which \
             reads of a replica are stale; drive primary and replicas from one process",
        ));
    }
    let fleet = FleetRun::of(leader, concurrency, (threads, subject.dilation()))?;
    Ok((fleet.workers().own, Some(fleet)))
}

/// What is to be known of a measurement before it begins.
fn notes(subject: &Subject, cell: &Cell, begun: &BeforeRun) -> Vec<String> {
    let own_cores = cell.server.private().and_then(|private| private.cores);
    let cores = own_cores.map_or_else(storage::cores, |cores| cores as usize);
    let dilated = subject.dilation().as_on(cores).into_iter();
    let of_preset = subject.configured.as_ref().and_then(|one| one.note.clone());
    let of_pace = pacing::notes(&cell.lengths, begun.fitted.concurrency, begun.configured());
    let all = dilated.chain(subject.notes()).chain(of_preset);
    all.chain(begun.notes(&cell.load)).chain(of_pace).collect()
}

/// The cell with what its server tells.
fn cell_of(place: RepeatPlace<'_>, subject: &Subject, cell: &Cell, begun: &BeforeRun) -> NewCell {
    let (planned, load) = (planned_row(place.planned), &cell.load);
    let mut settings = planned.settings.clone();
    // What was found is what was planned, where that says it.
    settings.retain(|(name, _)| begun.fitted.settings.iter().all(|(found, _)| found != name));
    settings.extend(begun.fitted.settings.iter().cloned());
    let warehouses = begun.fitted.concurrency.active;
    let made = cell.server.private().map(|private| size_in_warehouses(&private.population));
    let database = begun.database();
    if let Some(configured) = &subject.configured {
        settings.retain(|(name, _)| name != PRESET_SETTING);
        settings.extend(configured.settings(made.unwrap_or(warehouses).0));
    }
    let terminals = begun.fitted.concurrency.terminals;
    let inactive = begun.configured().0 - warehouses.0;
    NewCell {
        ordinal: place.ordinal,
        engine: match &cell.server {
            Server::Private(_) => planned.engine,
            Server::External(_) => engine_name(subject, &begun.server),
        },
        server_version: begun.server.version.clone(),
        flavour: begun.server.family().name().to_owned(),
        transport: begun.transport.to_owned(),
        target: subject.dsn(),
        transactions: workload::cell_transactions(begun.fitted.workload.types()),
        warehouses: database.map(|_| warehouses.0),
        connections: begun.fitted.concurrency.connections,
        home: database.map(|_| load.home),
        foreign_keys: database.map(|of| of.foreign_keys),
        partitions: database.map_or(0, |of| of.partitions),
        history_key: database.map(|of| of.history_key),
        isolation: isolation_on(load, &begun.told.variables),
        schemas: subject.schemas(),
        instances: subject.instances(),
        result_metadata: Some(begun.result_metadata.to_owned()),
        terminals,
        inactive_warehouses: terminals.map(|_| inactive),
        rate_asked: load.rate.as_ref().map(|open| open.rate.to_string()),
        arrivals: load.rate.as_ref().map(|open| open.spacing.name().to_owned()),
        places: subject.placed.places.clone(),
        settings,
        preset: subject.configured.as_ref().map(|one| one.preset.clone()),
        ..planned
    }
}

pub(crate) struct Measurement<'a, 'j> {
    pub(crate) results: &'a Results,
    pub(crate) repeat: RepeatId,
    pub(crate) subject: &'a Subject,
    pub(crate) databases: &'a Schemas<Connector>,
    pub(crate) cell: &'a Cell,
    pub(crate) begun: &'a BeforeRun,
    /// Of the transactions' inputs.
    pub(crate) seed: u64,
    /// Of the driver.
    pub(crate) threads: u32,
    pub(crate) fleet: Option<FleetRun<'a>>,
    pub(crate) job: &'a Job<'j>,
}

impl Measurement<'_, '_> {
    fn take(&self) -> LabResult<Exit> {
        let Measurement { begun, job, .. } = self;
        let mut watch = Stopwatch::begin();
        self.record_server(Moment::Start, &begun.told)?;
        self.look_at_host()?;
        watch.lap("seeing whether the host is quiet", job);
        let redo_bytes = begun.redo_bytes() * f64::from(self.subject.instances());
        let mut lengths = PhaseEnds::of(&self.cell.lengths, redo_bytes);
        let (report, rates) = match self.drive(&mut lengths) {
            Err(LabError::Run(error @ (RunError::Interrupted | RunError::Aborted(_)))) => {
                return self.failed_after(&RunReport::default(), error.into());
            }
            other => other?,
        };
        watch.lap("connecting, warm-up, window and drain", job);
        job.notes(lengths.finish(&report));
        job.notes(begun.fitted.workload.tpcc().and_then(TpccWorkload::replica_note));
        job.notes(pacing::notes_after(&self.cell.lengths, begun.fitted.concurrency, &report));
        self.results.put(self.repeat, &failures_of(&report.totals.failed_tries))?;
        if begun.fitted.tpcc.is_some() {
            let counters = InputCounters::from(report.counters);
            let shares = counters.shares(begun.remote_warehouses(&self.cell.load));
            self.results.put(self.repeat, &shares)?;
        }
        // A server that is gone is what a drill is for.
        let is_drilled = begun.drill.is_some() && report.window_ns > 0;
        if let Some(abort) = report.aborted.as_ref().filter(|_| !is_drilled) {
            return self.aborted(abort, &report);
        }
        if let Some(drill) = &begun.drill {
            if report.interrupted || report.window_ns == 0 || self.is_ended_by_stop(drill) {
                let reason = "the load was interrupted before the server was ended";
                return self.fail(Exit::Interrupted, "interrupted", reason);
            }
            self.finish(&report, &lengths.complete(result_of(&report, None, rates)))?;
            return self.recover(drill, &report);
        }
        job.notes(self.resolve_prepared()?);
        let (facts, told) = match self.read_after() {
            Ok(after) => after,
            Err(error) => return self.failed_after(&report, error),
        };
        self.record_server(Moment::End, &told)?;
        job.notes(note_on_changed(&begun.told.variables, &told.variables));
        if report.window_ns == 0 {
            let reason = "the run was interrupted before its window began";
            return self.fail(Exit::Interrupted, "interrupted", reason);
        }
        let sums = begun.fitted.tpcc.is_some().then_some((&begun.facts, &facts));
        let mut result = lengths.complete(result_of(&report, sums, rates));
        let (concurrency, configured) = (begun.fitted.concurrency, begun.configured());
        let requirements = pacing::judge(&mut result, concurrency, configured, &report);
        self.results.put(self.repeat, &requirements)?;
        self.finish(&report, &result)?;
        // From here on the measurement is kept, whatever becomes of its proof.
        let ended = match self.misread()? {
            Some(misread) => self.fail(Exit::CheckFailed, "check_failed", &misread).map(Some)?,
            None => self.prove(&report, (&facts, &told))?,
        };
        watch.lap("reading them again, and storing", job);
        ended.map_or_else(|| self.check(), Ok)
    }

    /// What the database and its server tell when all has been driven.
    fn read_after(&self) -> LabResult<(Facts, ServerTold)> {
        let (workload, stop) = (&self.begun.fitted.workload, self.job.stop);
        let facts = nodes::facts_of_all(self.databases, workload, nodes::PATIENCE_AFTER, stop)?;
        with_session(self.databases.first(), async |session| {
            Ok((facts, preflight::told(session).await?))
        })
    }

    /// Columns whose values were taken for others, in words.
    fn misread(&self) -> LabResult<Option<String>> {
        let Some(before) = &self.begun.columns else { return Ok(None) };
        with_session(self.databases.first(), async |session| {
            Ok(misread(before, &columns(session).await?))
        })
    }

    /// Ends what connections that were lost have left over shards.
    fn resolve_prepared(&self) -> LabResult<Option<String>> {
        let shards = self.begun.fitted.workload.shards().filter(|_| self.cell.load.xa);
        shards.map_or(Ok(None), |shards| prepared::resolve(self.databases, shards, true))
    }

    /// What ends the measurement before its checks: the database does not have what was committed,
    /// transactions failed, or the user ended it.
    fn prove(
        &self,
        report: &RunReport,
        (facts, told): (&Facts, &ServerTold),
    ) -> LabResult<Option<Exit>> {
        let begun = self.begun;
        if report.partners_lost == 0
            && let Some(mismatch) = begun.fitted.workload.mismatch(report, (&begun.facts, facts))
        {
            let reason = match another_server(&begun.told.variables, &told.variables) {
                None => format!("{mismatch}; does somebody else use it?"),
                Some(which) => format!(
                    "{mismatch}; {which}: it was not sent all that was committed before (as \
                     replication that does not wait for it loses), or is no copy of the first"
                ),
            };
            return self.fail(Exit::CheckFailed, "check_failed", &reason).map(Some);
        }
        if report.totals.errors > 0 && self.subject.no_room().is_some() {
            return self.fail(Exit::Failed, TRANSACTION_ERRORS, &all_errors(report)).map(Some);
        }
        // Who ends a run early keeps its numbers, where it has any.
        let window = report.window.as_ref();
        let completed = window.map_or(0, |window| window.primary_completed());
        if report.interrupted && completed > 0 {
            return Ok(Some(Exit::Interrupted));
        }
        let timeouts_max_share = self.cell.lock_wait_timeouts_max_share;
        if let Some(refusal) = refusal(report, begun.fitted.concurrency, timeouts_max_share) {
            return self.fail(Exit::Failed, refusal.code, &refusal.reason).map(Some);
        }
        Ok(report.interrupted.then_some(Exit::Interrupted))
    }

    fn record_server(&self, moment: Moment, told: &ServerTold) -> LabResult<()> {
        Ok(self.results.record_server(self.repeat, moment, &told.variables, &told.status)?)
    }

    /// Stores the result, and before it where the time of transactions went and what each of
    /// several servers did in the window.
    fn finish(&self, report: &RunReport, result: &RepeatResult) -> LabResult<()> {
        // The first server is written to.
        let replicas = self.begun.fitted.workload.tpcc().map(TpccWorkload::replica_reads);
        let replicas = replicas.unwrap_or_default();
        self.results.put(self.repeat, replicas.get(1..).unwrap_or_default())?;
        let servers = self.subject.instances() as usize;
        if let (Some(window), true) = (&report.window, servers > 1) {
            // One without any has no place at the end of the list.
            let transactions = window.primary.iter().copied().chain(iter::repeat(0));
            let rows = (1..).zip(transactions).take(servers);
            let row = |(instance, primary_transactions)| InstanceResult {
                instance,
                primary_transactions,
            };
            self.results.put(self.repeat, &rows.map(row).collect::<Vec<_>>())?;
        }
        let (transactions, statements) = times_of(report);
        self.results.put(self.repeat, &transactions)?;
        self.results.put(self.repeat, &statements)?;
        if report.window_ns > 0 {
            let (in_flight, time, silences) = in_flight_of(report);
            self.results.put(self.repeat, &in_flight)?;
            self.results.put(self.repeat, &[time])?;
            self.results.put(self.repeat, &silences)?;
        }
        Ok(self.results.finish_repeat(self.repeat, result)?)
    }

    /// Did the user ask for an end, at this rank or another?
    fn is_stopped(&self) -> bool {
        self.job.is_stop_asked() || self.fleet.is_some_and(|fleet| fleet.leader.is_stop_asked())
    }

    /// Did the server of a drill end before the fault came, by what stops this process too?
    fn is_ended_by_stop(&self, drill: &Drill) -> bool {
        let is_early = self.subject.ended().is_some() && !drill.has_struck();
        if is_early { self.await_stop() } else { self.is_stopped() }
    }

    /// Before somebody is named who died: gives a stop that took them along the time to be seen,
    /// and says whether there is one.
    pub(crate) fn await_stop(&self) -> bool {
        stop::comes(|| self.is_stopped())
    }

    /// Stores the repeat as failed: by a full disk, where there is one, for whatever else that
    /// brings. What fails while a stop is asked for is interrupted, but for a database that was
    /// found to have lost something.
    fn fail(&self, exit: Exit, reason_code: &str, reason: &str) -> LabResult<Exit> {
        let (exit, reason_code, reason) = match self.subject.no_room() {
            _ if exit == Exit::CheckFailed => (exit, reason_code, reason.to_owned()),
            _ if exit == Exit::Interrupted => (exit, "interrupted", reason.to_owned()),
            _ if self.is_stopped() => {
                let reason = format!("interrupted by a stop; at the same time: {reason}");
                (Exit::Interrupted, "interrupted", reason)
            }
            Some(no_room) => (Exit::Environment, DISK_FULL, format!("{no_room}; {reason}")),
            None => (exit, reason_code, reason.to_owned()),
        };
        self.results.fail_repeat(self.repeat, &self.subject.failure(reason_code, reason))?;
        Ok(exit)
    }

    fn aborted(&self, abort: &Abort, report: &RunReport) -> LabResult<Exit> {
        self.await_stop();
        match abort.cause {
            AbortCause::ServerGone => {
                let reason = self.subject.ended().unwrap_or(abort.reason.clone());
                self.fail(Exit::ServerFailed, "server_died", &with_silence(reason, report))
            }
            AbortCause::PartnerLost => self.fail(Exit::Failed, "rank_lost", &abort.reason),
            AbortCause::Useless => {
                let reason = format!("{}: {}", abort.reason, all_errors(report));
                self.fail(Exit::Failed, TRANSACTION_ERRORS, &reason)
            }
        }
    }

    /// Stores what the measurement could not go on after, and says what the command dies of.
    fn broken_off(&self, error: LabError) -> LabResult<LabError> {
        let error = self.subject.explain(error);
        if error.may_be_a_stop() {
            self.await_stop();
        }
        Ok(match self.fail(error.exit(), "failed", &error.to_string())? {
            Exit::Interrupted => LabError::Interrupted,
            _ => error,
        })
    }

    /// Stores what stopped a run that had begun, which reported this.
    fn failed_after(&self, report: &RunReport, error: LabError) -> LabResult<Exit> {
        if error.may_be_a_stop() {
            self.await_stop();
        }
        self.store_failure(report, error)
    }

    fn store_failure(&self, report: &RunReport, error: LabError) -> LabResult<Exit> {
        let error = self.subject.explain(error);
        // A server that answered before and cannot be reached now is gone.
        let is_gone = error.exit() == Exit::ServerFailed
            || matches!(error, LabError::Connect(ConnectError::Unreachable { .. }));
        let (exit, code) =
            if is_gone { (Exit::ServerFailed, "server_died") } else { (error.exit(), "failed") };
        self.fail(exit, code, &with_silence(error.to_string(), report))
    }

    /// The workload's checks, where they are asked for.
    fn check(&self) -> LabResult<Exit> {
        let Measurement { begun, job, .. } = self;
        if !self.cell.checks {
            return Ok(Exit::Ok);
        }
        let mut watch = Stopwatch::begin();
        let asked = (&begun.fitted.workload, CheckSet::Consistency);
        let checks = match check(self.subject, self.databases, asked, job) {
            Ok(checks) => checks,
            Err(error @ LabError::Store(_)) => return Err(error),
            // A database whose server was stopped is not checked, and has lost nothing.
            Err(error) if error.exit() == Exit::Interrupted || self.await_stop() => {
                // What goes with its server cannot be checked later.
                match self.subject.is_private() {
                    true => self.results.cut_repeat(self.repeat)?,
                    false => job.note("the checks were interrupted: run `mydyno check`"),
                }
                return Ok(Exit::Interrupted);
            }
            Err(error) => return self.store_failure(&RunReport::default(), error),
        };
        watch.lap("checking", job);
        if checks.is_empty() {
            job.note(&format!("workload {} has no checks", self.cell.load.workload));
            return Ok(Exit::Ok);
        }
        let is_driven = self.cell.load.workload == WorkloadKind::TpccMysql
            || begun.database().is_some_and(|of| of.driven_by_tpcc_mysql);
        let unexpected = unexpected(&checks, is_driven, job);
        record(self.results, self.repeat, &checks, &unexpected, self.subject)
    }
}
