//! A run: open all connections, start them together, warm up, measure, let the last transactions
//! end.

use crate::breakdown::Breakdown;
use crate::client::{PerType, TransactionInfo, Workload, WorkloadCounters};
use crate::company::{Company, DrivenShare, START_LEAD};
use crate::interval::{Interval, IntervalKey, Phase};
use crate::merge::Merge;
use crate::options::{Abort, AbortCause, RunError, RunOptions, WorkerPlace};
use crate::pace::WorkerShare;
use crate::schedule::{PhaseOffsets, Schedule};
use crate::silence::{Silence, Silences};
use crate::totals::Totals;
use crate::worker::{self, Message, Start, Work};
use base::limits::TRANSACTION_TYPES_MAX;
use base::{clock, limits, now_utc_ns};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// What a run tells while it goes on.
pub enum Event<'a> {
    /// Connections are being opened; comes ten times a second.
    Opening,
    /// All connections are open; the run starts now.
    Started,
    /// The warm-up is over and the window begins now.
    WindowBegins,
    /// The window, which had begun, is over now; transactions may still be under way.
    WindowEnds,
    /// An interval is over on all workers. They come in order.
    Interval(&'a Interval),
    /// Some time has passed; comes at least ten times a second. `total` is the most that the run
    /// may take, without its drain.
    Tick { elapsed: Duration, total: Duration },
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    Continue,
    /// End the warm-up or the window with the interval under way, as if its time were over then;
    /// nothing where it is over.
    EndPhase(Phase),
    /// End phases where the one who leads the run ends them.
    EndPhasesAt(PhaseOffsets),
    /// End the window now and keep what was measured.
    Stop,
    /// End at once.
    Abort(Abort),
}

/// Who is told of events, and says what to do next.
type OnEvent<'a> = dyn FnMut(Event<'_>) -> Control + 'a;

/// What a run counted. Intervals were reported as they came.
#[derive(Clone, Debug, Default)]
pub struct RunReport {
    /// The types of the workload.
    pub types: &'static [TransactionInfo],
    pub window_started_utc_ns: i64,
    pub window_ended_utc_ns: i64,
    /// Length of the warm-up as it was.
    pub warmup_ns: u64,
    /// Length of the window by the monotonic clock; 0 where the run ended before it.
    pub window_ns: u64,
    /// The window was ended early.
    pub interrupted: bool,
    /// CPU time of this process, and of those of partners, over the window.
    pub client_cpu_ns: u64,
    /// Statements of the window.
    pub statements: u64,
    /// What the workload counted in the window.
    pub counters: WorkloadCounters,
    /// All intervals of the window together; none where it was never reached.
    pub window: Option<Box<Interval>>,
    /// What the transactions came to that were under way at the end of the window; none where it
    /// was never reached.
    pub drain: Option<Box<Interval>>,
    /// Where the response time of the window's transactions went.
    pub breakdowns: PerType<Breakdown>,
    pub totals: Totals,
    /// Times of the window in which nothing ended, whole: they may begin before it, and end after.
    pub silences: Vec<Silence>,
    /// Transactions that did not end in time after the window; they are among those in doubt.
    pub abandoned: usize,
    /// Partners that were lost: of each, nothing is known beyond the intervals that it reported.
    pub partners_lost: u32,
    pub aborted: Option<Abort>,
}

impl RunReport {
    /// Of a run that only prepared another, which did not come: what concerns the whole run, and no
    /// window.
    pub fn without_window(self) -> RunReport {
        RunReport {
            window_ns: 0,
            window: None,
            drain: None,
            statements: 0,
            counters: WorkloadCounters::default(),
            totals: self.totals.without_window(),
            breakdowns: Default::default(),
            silences: Vec::new(),
            ..self
        }
    }

    /// Keeps what is a silence by the response times of the window: those of an open loop without
    /// its queue.
    fn keep_silences(&mut self, silences: Silences, window_ns: Range<u64>) {
        let Some(window) = &self.window else {
            return;
        };
        let mut times = window.schedule.service.clone();
        if times.count() == 0 {
            window.transactions.iter().for_each(|of| times.merge(&of.latency));
        }
        let mut kept = silences.longer_than(limits::SILENCE_MEDIANS * times.at_quantile_ns(0.5));
        kept.retain(|of| of.busy_from_ns < window_ns.end && of.to_ns > window_ns.start);
        kept.sort_by_key(|of| Reverse(of.busy_ns()));
        kept.truncate(limits::SILENCES_MAX);
        kept.sort_by_key(|of| of.from_ns);
        self.silences = kept;
    }

    /// Adds what an earlier run on the same database did to what concerns the whole run.
    pub fn include_earlier(&mut self, earlier: RunReport) {
        self.totals.merge(&earlier.totals.without_window());
        self.abandoned += earlier.abandoned;
        self.partners_lost += earlier.partners_lost;
    }
}

/// How long all connections together may stay lost before the server counts as gone.
const ALL_LOST_TIMEOUT: Duration = Duration::from_secs(10);
/// So many transactions given up, in all and by each connection, and none that ended well: the run
/// is pointless. Few, as connections pause after errors.
const USELESS_ERRORS: u64 = 100;
const USELESS_ERRORS_EACH: u64 = 4;
/// Name of the threads that carry connections; a number follows.
pub const WORKER_THREAD: &str = "driver-";
/// Time between two ticks.
const TICK: Duration = Duration::from_millis(100);

/// Runs `workload` and reports to `on_event`, on this thread.
///
/// # Errors
/// [`RunError`] where the connections cannot be opened. Whatever happens after the start is in the
/// report.
pub fn run<W: Workload>(
    workload: &W,
    options: &RunOptions,
    company: Company<'_>,
    on_event: &mut OnEvent<'_>,
) -> Result<RunReport, RunError> {
    let types = workload.transactions();
    assert!(
        types.len() <= TRANSACTION_TYPES_MAX,
        "a workload has more types than lists by type have places"
    );
    let workers = options.workers.clamp(1, options.connections.max(1));
    let WorkerPlace { first, workers_of_all } =
        options.place.unwrap_or(WorkerPlace { first: 0, workers_of_all: workers });
    let (partners, mut leader) = match company {
        Company::Alone => (Vec::new(), None),
        Company::Leads(partners) => (partners, None),
        Company::Follows(leader) => (Vec::new(), Some(leader)),
    };
    let (sender, messages) = channel();
    let cancelled = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let (mut starts, mut partner_starts) = (Vec::new(), Vec::new());
        let next_start = |starts: &mut Vec<Sender<Arc<Schedule>>>| {
            let (start_sender, schedule) = channel();
            starts.push(start_sender);
            Start { schedule, cancelled: Arc::clone(&cancelled) }
        };
        for worker in 0..workers {
            let start = next_start(&mut starts);
            let sender = sender.clone();
            let share = WorkerShare { worker: first + worker, workers: workers_of_all };
            let body = move || {
                let work = Work { workload, options, share };
                report_panic(&sender, || worker::work(&work, &sender, &start));
            };
            // The observers tell the driver's threads from others by their name.
            thread::Builder::new()
                .name(format!("{WORKER_THREAD}{worker}"))
                .spawn_scoped(scope, body)
                .map_err(RunError::Worker)?;
        }
        for mut partner in partners {
            let start = next_start(&mut partner_starts);
            let sender = sender.clone();
            let body = move || {
                report_panic(&sender, || worker::run_partner(&mut *partner, &sender, &start));
            };
            thread::Builder::new()
                .name("partner".to_owned())
                .spawn_scoped(scope, body)
                .map_err(RunError::Worker)?;
        }
        drop(sender);
        let sharing = workers + partner_starts.len() as u32;
        let opened = wait_until_open(&messages, sharing, options, on_event);
        let start = opened.and_then(|()| match &mut leader {
            Some(leader) => leader(),
            None if partner_starts.is_empty() => Ok(base::Instant::now()),
            None => Ok(base::Instant::now() + clock::dilated(START_LEAD)),
        });
        cancelled.store(start.is_err(), Ordering::Relaxed);
        let schedule = Schedule::of(options, start?, !partner_starts.is_empty());
        let mut dispatcher = Dispatcher::start(schedule, sharing, options);
        dispatcher.tell_start(&partner_starts);
        thread::sleep(dispatcher.schedule.instant(0).saturating_duration_since(Instant::now()));
        dispatcher.tell_start(&starts);
        dispatcher.report.types = types;
        let schedule = Arc::clone(&dispatcher.schedule);
        let result = dispatcher.dispatch(&messages, on_event);
        if result.is_err() {
            // The other workers must not go on to the end of the window.
            schedule.abort();
        }
        result
    })
}

/// A thread that panics says so, and the run ends as failed instead of waiting for it.
fn report_panic(sender: &Sender<Message>, work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        let _ = sender.send(Message::Broken(std::io::Error::other("it panicked")));
    }
}

fn wait_until_open(
    messages: &Receiver<Message>,
    workers: u32,
    options: &RunOptions,
    on_event: &mut OnEvent<'_>,
) -> Result<(), RunError> {
    let mut ready = 0;
    while ready < workers {
        match messages.recv_timeout(TICK) {
            Ok(Message::OpenFailed(failed)) => {
                return Err(RunError::Open { connections: options.connections, failed });
            }
            Ok(Message::Broken(error)) => return Err(RunError::Worker(error)),
            Ok(_) => ready += 1,
            Err(RecvTimeoutError::Disconnected) => return Err(worker_gone()),
            Err(RecvTimeoutError::Timeout) => match on_event(Event::Opening) {
                // No phase has begun.
                Control::Continue | Control::EndPhase(_) | Control::EndPhasesAt(_) => {}
                Control::Stop => return Err(RunError::Interrupted),
                Control::Abort(abort) => return Err(RunError::Aborted(abort.reason)),
            },
        }
    }
    Ok(())
}

fn worker_gone() -> RunError {
    RunError::Worker(std::io::Error::other("it ended without a word"))
}

/// CPU time of this process so far, in dilated time.
pub fn process_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let cpu_time = Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
    clock::dilated(cpu_time).as_nanos() as u64
}

/// Where the window began and ended, on each clock.
#[derive(Clone, Copy, Debug)]
struct Mark {
    utc_ns: i64,
    cpu_ns: u64,
}

impl Mark {
    fn now() -> Mark {
        Mark { utc_ns: now_utc_ns(), cpu_ns: process_cpu_ns() }
    }
}

struct Dispatcher {
    schedule: Arc<Schedule>,
    /// Workers and partners that report.
    workers: u32,
    /// Intervals that not all workers have reported, with the count of those that have.
    open: BTreeMap<IntervalKey, (u32, Interval)>,
    report: RunReport,
    silences: Silences,
    finished: u32,
    window_begin: Option<Mark>,
    window_end: Option<Mark>,
    last_connected: Instant,
    completed_seen: u64,
    errors_seen: u64,
    /// As many without one that ended well end the run.
    errors_before_abort: u64,
}

impl Dispatcher {
    /// `sharing` are this process' workers and the partners.
    fn start(schedule: Schedule, sharing: u32, options: &RunOptions) -> Dispatcher {
        Dispatcher {
            schedule: Arc::new(schedule),
            workers: sharing,
            open: BTreeMap::new(),
            report: RunReport::default(),
            silences: Silences::default(),
            finished: 0,
            window_begin: None,
            window_end: None,
            last_connected: Instant::now(),
            completed_seen: 0,
            errors_seen: 0,
            errors_before_abort: USELESS_ERRORS
                .max(USELESS_ERRORS_EACH * u64::from(options.connections)),
        }
    }

    fn tell_start(&self, starts: &[Sender<Arc<Schedule>>]) {
        for start in starts {
            // A worker that is gone has said so, or is found missing when its messages end.
            let _ = start.send(Arc::clone(&self.schedule));
        }
    }

    fn dispatch(
        mut self,
        messages: &Receiver<Message>,
        on_event: &mut OnEvent<'_>,
    ) -> Result<RunReport, RunError> {
        self.obey(on_event(Event::Started));
        let mut last_tick = Instant::now();
        while self.finished < self.workers {
            match messages.recv_timeout(self.until_next_mark().min(TICK)) {
                Ok(message) => self.take(message, on_event)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(worker_gone()),
            }
            self.set_marks(on_event);
            if last_tick.elapsed() >= TICK {
                last_tick = Instant::now();
                self.obey(on_event(Event::Tick {
                    elapsed: Duration::from_nanos(self.schedule.now_ns()),
                    total: Duration::from_nanos(self.schedule.end_ns()),
                }));
                self.abort_if_hopeless();
            }
        }
        for (_, interval) in std::mem::take(&mut self.open).into_values() {
            self.close(&interval, on_event);
        }
        Ok(self.into_report())
    }

    fn until_next_mark(&self) -> Duration {
        let next = match (&self.window_begin, &self.window_end) {
            (_, Some(_)) => u64::MAX,
            (None, None) => self.schedule.warmup_ns().min(self.schedule.end_ns()),
            (Some(_), None) => self.schedule.end_ns(),
        };
        clock::real(Duration::from_nanos(next.saturating_sub(self.schedule.now_ns())))
    }

    fn set_marks(&mut self, on_event: &mut OnEvent<'_>) {
        let now_ns = self.schedule.now_ns();
        let (warmup_ns, end_ns) = (self.schedule.warmup_ns(), self.schedule.end_ns());
        let has_window = end_ns > warmup_ns;
        if has_window && now_ns >= warmup_ns && self.window_begin.is_none() {
            self.window_begin = Some(Mark::now());
            self.obey(on_event(Event::WindowBegins));
        }
        if now_ns >= end_ns && self.window_end.is_none() {
            self.window_end = Some(Mark::now());
            if self.window_begin.is_some() {
                self.obey(on_event(Event::WindowEnds));
            }
        }
    }

    fn obey(&mut self, control: Control) {
        match control {
            Control::Continue => {}
            Control::EndPhase(phase) => self.schedule.end_phase(phase, self.schedule.now_ns()),
            Control::EndPhasesAt(phases) => {
                if !self.schedule.agree(phases) {
                    let reason = "it heard too late that the warm-up ends".to_owned();
                    self.obey(Control::Abort(Abort { cause: AbortCause::PartnerLost, reason }));
                }
            }
            Control::Stop => {
                self.schedule.drain_within(limits::STOPPED_DRAIN_TIMEOUT);
                if self.schedule.now_ns() < self.schedule.end_ns() && !self.report.interrupted {
                    self.report.interrupted = true;
                    self.schedule.end_soon();
                }
            }
            Control::Abort(abort) => {
                self.report.aborted.get_or_insert(abort);
                self.schedule.abort();
            }
        }
    }

    /// Ends a run that cannot come to anything.
    fn abort_if_hopeless(&mut self) {
        if self.schedule.connections() > 0 || self.schedule.is_over() {
            self.last_connected = Instant::now();
        }
        if self.last_connected.elapsed() > ALL_LOST_TIMEOUT {
            let seconds = ALL_LOST_TIMEOUT.as_secs();
            self.obey(Control::Abort(Abort {
                cause: AbortCause::ServerGone,
                reason: format!("all connections are lost and none came back within {seconds} s"),
            }));
        }
        if self.errors_seen >= self.errors_before_abort && self.completed_seen == 0 {
            self.obey(Control::Abort(Abort {
                cause: AbortCause::Useless,
                reason: format!("every transaction fails ({} of them so far)", self.errors_seen),
            }));
        }
    }

    fn take(&mut self, message: Message, on_event: &mut OnEvent<'_>) -> Result<(), RunError> {
        match message {
            Message::Interval(interval) => self.collect(*interval, on_event),
            Message::Finished(share) => {
                let DrivenShare { totals, breakdowns, abandoned, client_cpu_ns } = *share;
                self.report.totals.merge(&totals);
                self.report.breakdowns.merge(&breakdowns);
                self.report.abandoned += abandoned;
                self.report.client_cpu_ns += client_cpu_ns;
                self.finished += 1;
            }
            Message::Gone { reported, abort } => {
                self.workers -= 1;
                self.report.partners_lost += 1;
                // Those that it reported are awaited from one worker less, too.
                if let Some(last) = reported {
                    self.open.range_mut(..=last).for_each(|(_, (count, _))| {
                        *count = count.saturating_sub(1);
                    });
                }
                if let Some(abort) = abort {
                    self.obey(Control::Abort(abort));
                }
                self.close_whole(on_event);
            }
            Message::Broken(error) => {
                self.schedule.abort();
                return Err(RunError::Worker(error));
            }
            // Both belong to the opening, which is over.
            Message::Ready | Message::OpenFailed(_) => {}
        }
        Ok(())
    }

    /// Merges an interval with those of the other workers, and reports it once all have come.
    fn collect(&mut self, interval: Interval, on_event: &mut OnEvent<'_>) {
        self.open
            .entry(interval.key())
            .and_modify(|(count, merged)| {
                *count += 1;
                merged.merge(&interval);
            })
            .or_insert((1, interval));
        self.close_whole(on_event);
    }

    /// Reports the intervals that all workers have reported.
    fn close_whole(&mut self, on_event: &mut OnEvent<'_>) {
        while let Some(first) =
            self.open.first_entry().filter(|first| first.get().0 >= self.workers)
        {
            let (_, whole) = first.remove();
            self.close(&whole, on_event);
        }
    }

    fn close(&mut self, interval: &Interval, on_event: &mut OnEvent<'_>) {
        if interval.phase == Phase::Window {
            self.report.window_ns += interval.end_offset_ns - interval.start_offset_ns;
            self.report.statements += interval.statements;
            self.report.counters.merge(&interval.counters);
            match &mut self.report.window {
                Some(window) => window.merge(interval),
                none => *none = Some(Box::new(interval.clone())),
            }
        }
        self.silences.take(&interval.silences, interval.start_offset_ns..interval.end_offset_ns);
        if interval.phase == Phase::Drain {
            self.report.drain = Some(Box::new(interval.clone()));
        }
        for stats in &interval.transactions {
            self.completed_seen += stats.completed();
            self.errors_seen += stats.errors;
        }
        let control = on_event(Event::Interval(interval));
        self.obey(control);
    }

    fn into_report(mut self) -> RunReport {
        let end = self.window_end.unwrap_or_else(Mark::now);
        let begin = self.window_begin.unwrap_or(end);
        let window_end_ns = self.schedule.end_ns();
        self.report.warmup_ns = self.schedule.warmup_ns().min(window_end_ns);
        self.report.keep_silences(self.silences, self.report.warmup_ns..window_end_ns);
        self.report.window_started_utc_ns = begin.utc_ns;
        self.report.window_ended_utc_ns = end.utc_ns.max(begin.utc_ns);
        self.report.client_cpu_ns += end.cpu_ns.saturating_sub(begin.cpu_ns);
        self.report
    }
}

#[cfg(test)]
mod tests;
