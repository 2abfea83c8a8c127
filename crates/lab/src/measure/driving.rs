//! The run of a measurement: a closed loop that finds the capacity where that is asked for, then
//! what was asked for.

use crate::error::LabResult;
use crate::measure::capacity::{self, KnownCapacity};
use crate::measure::device_io::WindowIo;
use crate::measure::failed_transactions::first_failures;
use crate::measure::fleet_run::note_on_lost;
use crate::measure::lengths::PhaseEnds;
use crate::measure::measurement::Measurement;
use crate::measure::observing::Observer;
use crate::measure::pacing;
use crate::measure::rank_usage::WindowUsage;
use crate::measure::records::rows_of;
use crate::measure::workload::of_each;
use crate::progress::{Job, Progress};
use crate::target::schemas::{self, Inspected};
use crate::target::subject::Subject;
use analyse::RunProgress;
use base::{clock, limits};
use drive::{
    Abort, AbortCause, Company, Control, Event, Interval, Pace, Phase, RunOptions, RunReport,
};
use fleet::RunJob;
use spec::{Load, OpenLoop, Rate, WorkloadKind};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use store::{RepeatResult, StoreError};

/// So often samples go to the store and are told, also where an interval is longer.
const SAMPLES_EVERY: Duration = Duration::from_secs(1);

/// Threads that carry a run's connections: as many as are asked for, else one for each core of this
/// machine or, where the server is on it and needs the cores more than a driver of TPC-C does, for
/// every fourth. sysbench's statements are so short that one thread would bound them: on 2 cores
/// point selects had 75 % of what two threads gave. A thread needs a connection. Where the driver
/// has cores of its own, it has no more threads than these, and else as many as without: the driver
/// of a lab over the server's cores is one and the same, as long as it can be.
pub(crate) fn driver_threads(load: &Load, connections: u32, subject: &Subject) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let cores = DriverCores {
        of_machine: cores,
        own: subject.driver_cpus().map_or(cores, |cpus| cpus.len() as u32),
        leaves_most: subject.is_local() && load.workload.is_tpcc(),
    };
    threads_of(load.threads, connections, cores)
}

/// Cores that a driver may use.
#[derive(Clone, Copy)]
struct DriverCores {
    of_machine: u32,
    /// Those that it does not leave to the server alone.
    own: u32,
    leaves_most: bool,
}

fn threads_of(asked: Option<u32>, connections: u32, cores: DriverCores) -> u32 {
    let DriverCores { of_machine, own, leaves_most } = cores;
    let by_default = if leaves_most { of_machine / 4 } else { of_machine }.min(own);
    asked.unwrap_or(by_default).min(limits::DRIVER_THREADS_MAX).clamp(1, connections.max(1))
}

/// A run that was not begun, because the closed loop before it gave no rate.
fn no_capacity(report: RunReport) -> RunReport {
    let mut report = report.without_window();
    if !report.interrupted {
        report.aborted.get_or_insert_with(|| Abort {
            cause: AbortCause::Useless,
            reason: "no transaction ended well in the closed loop that finds the capacity"
                .to_owned(),
        });
    }
    report
}

/// How far a run has come that has gone on for `elapsed` of `total`.
fn progress(ends: &PhaseEnds, in_warmup: bool, [elapsed, total]: [Duration; 2]) -> RunProgress {
    RunProgress {
        elapsed: clock::real(elapsed),
        total: clock::real(total),
        total_is_most: ends.may_end_early(in_warmup),
        in_warmup,
        awaited: ends.awaited(in_warmup, elapsed),
    }
}

/// Stores what was observed, and has it looked at.
fn keep(
    observer: &mut Option<Observer<'_>>,
    lengths: &mut PhaseEnds,
    job: &Job<'_>,
) -> Result<(), StoreError> {
    let Some(observer) = observer else { return Ok(()) };
    observer.store(&job.telling(&mut |progress: Progress<'_>| {
        if let Progress::Samples(batches) = &progress {
            lengths.sampled(batches);
        }
        job.tell(progress);
    }))
}

impl Measurement<'_, '_> {
    /// Runs the workload with emulated devices at work. Returns the rates that were found or asked
    /// for, too.
    pub(crate) fn drive(&self, lengths: &mut PhaseEnds) -> LabResult<(RunReport, RepeatResult)> {
        self.subject.arm(true)?;
        let driven = self.drive_armed(lengths);
        // What follows is proof; where the run failed, that is the cause to tell.
        let disarmed = self.subject.arm(false);
        let driven = driven?;
        disarmed?;
        if driven.0.aborted.is_none() {
            let window = Duration::from_nanos(driven.0.window_ns);
            self.job.notes(self.subject.supervisor.wait(window, self.job.stop)?);
        }
        Ok(driven)
    }

    /// After a closed loop that finds the capacity where the rate is a share of that.
    fn drive_armed(&self, lengths: &mut PhaseEnds) -> LabResult<(RunReport, RepeatResult)> {
        let Measurement { begun, job, .. } = self;
        let mut rates = RepeatResult::default();
        let mut earlier = None;
        if let Some(OpenLoop { rate: Rate::OfCapacity(_), .. }) = &self.cell.load.rate {
            let (report, known) = self.capacity()?;
            let is_whole = report.aborted.is_none() && !report.interrupted;
            let Some(known) = known.filter(|_| is_whole) else {
                return Ok((no_capacity(report), rates));
            };
            job.note(&known.in_words(Duration::from_nanos(report.window_ns)));
            rates.capacity_per_s = Some(known.per_s);
            rates.capacity_precision_share = known.half_width_share;
            earlier = Some(report);
        }
        let concurrency = begun.fitted.concurrency;
        let pace = pacing::pace(self.cell, concurrency, rates.capacity_per_s);
        if let Pace::Arrivals(arrivals) = &pace {
            rates.rate_per_s = Some(arrivals.mean_per_s(self.cell.lengths.window.most));
        }
        let options = self.options(pace);
        job.tell(Progress::RunStarts {
            types: begun.fitted.workload.types(),
            warehouses: concurrency.active,
            connections: concurrency.connections,
        });
        let mut report = self.run(lengths, &options)?;
        if let Some(earlier) = earlier {
            report.include_earlier(earlier);
        }
        Ok((report, rates))
    }

    /// A closed loop, of which no interval is stored, and what it found. The run behind it warms up
    /// again, at its own rate.
    fn capacity(&self) -> LabResult<(RunReport, Option<KnownCapacity>)> {
        self.job.step("finding the capacity: a closed loop over the same number of connections");
        let lengths = capacity::loop_of(&self.cell.lengths);
        let options = RunOptions {
            window: lengths.window.most,
            interval: lengths.interval,
            ..self.options(Pace::Closed)
        };
        let mut ends = PhaseEnds::of_capacity(&self.cell.lengths);
        let report = self.run(&mut ends, &options)?;
        Ok((report, ends.capacity))
    }

    fn options(&self, pace: Pace) -> RunOptions {
        let lengths = &self.cell.lengths;
        let options =
            RunOptions {
                connections: self.begun.fitted.concurrency.connections,
                workers: self.threads,
                warmup: lengths.warmup.most,
                window: self.begun.drill.as_ref().map_or(lengths.window.most, |drill| {
                    drill.window(lengths.window.most, self.seed)
                }),
                interval: lengths.interval,
                pace,
                pauses: self.cell.load.pauses,
                seed: self.seed,
                ..RunOptions::default()
            };
        if let Some(fleet) = &self.fleet { fleet.own_share(options) } else { options }
    }

    fn run(&self, ends: &mut PhaseEnds, options: &RunOptions) -> LabResult<RunReport> {
        let begun = self.begun;
        let is_tpcc_mysql = self.cell.load.workload == WorkloadKind::TpccMysql;
        let is_ours = |inspected: &Inspected| inspected.database.c_load.is_some();
        if is_tpcc_mysql && begun.fitted.tpcc.as_ref().is_some_and(is_ours) {
            schemas::mark_driven_by_tpcc_mysql(self.databases)?;
        }
        // No inputs are used twice.
        let seed = if ends.is_capacity { !self.seed } else { self.seed };
        let other_inputs = ends.is_capacity.then(|| begun.fitted.workload.with_seed(seed));
        let workload = other_inputs.as_ref().unwrap_or(&begun.fitted.workload);
        of_each!(workload, workload => self.run_workload(workload, (ends, seed), options))
    }

    /// Intervals and samples go to the store as they come, but for those of the closed loop before
    /// what was asked for.
    fn run_workload<W: drive::Workload>(
        &self,
        workload: &W,
        (ends, seed): (&mut PhaseEnds, u64),
        options: &RunOptions,
    ) -> LabResult<RunReport> {
        let job = self.job;
        let is_result = !ends.is_capacity;
        let mut in_warmup = true;
        let mut window_io = WindowIo::of(self.subject);
        let mut observer = None;
        let mut observed = Instant::now();
        let mut usage = WindowUsage::default();
        let mut told_failures = BTreeSet::new();
        let company = self.fleet.as_ref().map_or(Company::Alone, |fleet| {
            let run = RunJob { options: options.clone(), input_seed: seed };
            Company::Leads(fleet.leader.partners(&run, &fleet.workers(), workload.transactions()))
        });
        let mut on_event = |event: Event<'_>| -> Result<Control, StoreError> {
            match event {
                Event::Started if is_result => observer = self.started(options),
                Event::Started => {}
                Event::WindowBegins => {
                    in_warmup = false;
                    window_io.begins();
                    usage.begins();
                }
                Event::WindowEnds => {
                    window_io.ends();
                    usage.ends();
                }
                Event::Opening => return Ok(self.control()),
                Event::Interval(interval) => {
                    // Before the interval is told, so that its line has what was sampled in it.
                    observed = Instant::now();
                    let kept = keep(&mut observer, ends, job);
                    job.notes(first_failures(interval, &mut told_failures));
                    job.tell(Progress::Interval(interval));
                    kept?;
                    if is_result {
                        self.store(interval, &options.pace)?;
                    }
                    return Ok(ends.take(interval));
                }
                Event::Tick { elapsed, total } => {
                    job.notes(self.subject.supervisor.look(elapsed));
                    let told = progress(ends, in_warmup, [elapsed, total]);
                    let mut kept = Ok(());
                    if observed.elapsed() >= SAMPLES_EVERY {
                        observed = Instant::now();
                        kept = keep(&mut observer, ends, job);
                    }
                    job.tell(Progress::Run(told));
                    kept?;
                    return Ok(self.control());
                }
            }
            Ok(Control::Continue)
        };
        let mut store_error = None;
        let report = drive::run(workload, options, company, &mut |event| {
            // A store that takes nothing ends the run, and its first error is kept.
            on_event(event).unwrap_or_else(|error| {
                store_error.get_or_insert(error);
                Control::Stop
            })
        })?;
        if let Some(error) = store_error {
            return Err(error.into());
        }
        if let Some(observer) = observer {
            observer.stop(job)?;
        }
        if is_result {
            self.record_window(&report, usage, window_io)?;
        }
        Ok(report)
    }

    /// Stores what the ranks of a fleet and the storage of servers did in the window.
    fn record_window(
        &self,
        report: &RunReport,
        usage: WindowUsage,
        window_io: WindowIo<'_>,
    ) -> LabResult<()> {
        if let Some(fleet) = &self.fleet {
            let ranks = fleet.rows(report, usage.used());
            self.results.put(self.repeat, &ranks)?;
            self.job.notes(note_on_lost(&ranks));
        }
        if let Some((io, warnings)) = window_io.counted()? {
            self.results.record_device_io(self.repeat, &io)?;
            self.job.notes(&warnings);
        }
        Ok(())
    }

    /// Sets when the fault of a drill comes, and begins to observe; a run that cannot be observed
    /// is one all the same.
    fn started(&self, options: &RunOptions) -> Option<Observer<'_>> {
        if let Some(drill) = &self.begun.drill {
            drill.strike_in(self.subject, options.warmup + options.window);
        }
        let started = Observer::start(self.results, self.repeat, self.subject, self.cell);
        let started = started.inspect_err(|error| {
            self.job.note(&format!(
                "nothing was observed beside the load, as no thread could be made for it: {error}"
            ));
        });
        started.ok()
    }

    fn store(&self, interval: &Interval, pace: &Pace) -> Result<(), StoreError> {
        self.results.put(self.repeat, &rows_of(interval))?;
        let paced = pacing::paced_interval(interval, pace);
        paced.map_or(Ok(()), |paced| self.results.append_paced(self.repeat, &paced))
    }

    fn control(&self) -> Control {
        // A named server may come back.
        let ended = self.subject.instance().and_then(|_| self.subject.ended());
        if let Some(drill) = &self.begun.drill {
            // It is ended on purpose, or by itself.
            if ended.is_some() || drill.witness.is_full() {
                return Control::EndPhase(Phase::Window);
            }
        } else if let Some(reason) = ended {
            return Control::Abort(Abort { cause: AbortCause::ServerGone, reason });
        }
        let is_stopped =
            self.job.is_stopped() || self.fleet.is_some_and(|fleet| fleet.leader.is_stop_asked());
        if is_stopped { Control::Stop } else { Control::Continue }
    }
}

#[cfg(test)]
mod tests {
    use super::{DriverCores, threads_of};

    #[test]
    fn the_driver_has_all_cores_where_the_server_has_others() {
        let cores =
            |of_machine, leaves_most| DriverCores { of_machine, own: of_machine, leaves_most };
        let by_default = |of_machine, is_local| threads_of(None, 64, cores(of_machine, is_local));
        assert_eq!(by_default(16, false), 16);
        assert_eq!(by_default(16, true), 4);
        assert_eq!(by_default(2, true), 1);
        // A core without a connection has nothing to do.
        assert_eq!(threads_of(None, 3, cores(16, false)), 3);
        assert_eq!(threads_of(Some(6), 64, cores(16, true)), 6);
        assert_eq!(threads_of(Some(6), 4, cores(16, true)), 4);
    }

    #[test]
    fn the_driver_has_no_more_threads_than_cores_of_its_own() {
        let beside = |own, leaves_most| DriverCores { of_machine: 16, own, leaves_most };
        let by_default = |own, leaves_most| threads_of(None, 64, beside(own, leaves_most));
        assert_eq!((by_default(12, true), by_default(2, true)), (4, 2));
        assert_eq!((by_default(12, false), by_default(1, false)), (12, 1));
        assert_eq!(threads_of(Some(6), 64, beside(2, true)), 6);
    }
}
