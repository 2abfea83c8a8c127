//! What a run looks like now: a model that is fed with the run's progress. All views show this; it knows no terminal and no clock.

use super::study::StudyState;
use super::usage::{Cpu, IoBy, IoRow, Recent};
use analyse::Window;
use lab::{Awaited, Interval, Phase, Progress, RunProgress};
use std::collections::VecDeque;
use std::time::Duration;
use tpcc::Transaction;
use tpcc::pacing::TERMINALS_PER_WAREHOUSE;

/// How much of the past is kept.
pub const HISTORY: Duration = Duration::from_secs(120);
/// How many of the last notes are kept.
const NOTES_MAX: usize = 16;
/// The shares of response times that are kept of an interval.
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];
/// That of [`QUANTILES`] which people are shown.
pub const P95: usize = 2;
const NS_PER_S: f64 = 1e9;

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// The server or the connections are not ready.
    #[default]
    Starting,
    /// A closed loop finds the capacity; it is not stored.
    Capacity,
    Warmup,
    Window,
    /// The last transactions end.
    Drain,
    /// Checks and results follow.
    Finished,
}

impl Stage {
    pub const ALL: [Stage; 6] = [
        Stage::Starting,
        Stage::Capacity,
        Stage::Warmup,
        Stage::Window,
        Stage::Drain,
        Stage::Finished,
    ];

    /// For programs.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Warmup => "warmup",
            other => other.title(),
        }
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Stage::Starting => "starting",
            Stage::Capacity => "capacity",
            Stage::Warmup => "warm-up",
            Stage::Window => "window",
            Stage::Drain => "drain",
            Stage::Finished => "finished",
        }
    }
}

/// What is run.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The engine, where mydyno started the server, else the DSN without its password.
    pub target: String,
    pub workload: String,
    pub style: String,
    /// None where each terminal has one.
    pub connections: Option<u32>,
    /// None: ten for each warehouse.
    pub terminals: Option<u32>,
}

/// One transaction type.
#[derive(Clone, Debug, Default)]
pub struct TypeState {
    /// Since the run began, warm-up included.
    pub committed: u64,
    pub rolled_back: u64,
    pub deadlocks: u64,
    pub lock_wait_timeouts: u64,
    pub other_retries: u64,
    /// Transactions given up.
    pub errors: u64,
    /// In the last interval: committed and deliberately rolled back.
    pub completed_per_s: Option<f64>,
    /// Response times in the last interval at [`QUANTILES`], where any transaction ended.
    pub response_ns: Option<[u64; 4]>,
}

impl TypeState {
    pub fn retries(&self) -> u64 {
        self.deadlocks + self.lock_wait_timeouts + self.other_retries
    }

    pub fn p95_us(&self) -> Option<f64> {
        self.response_ns.map(|at| at[P95] as f64 / 1e3)
    }
}

/// Throughput in one interval.
#[derive(Clone, Copy, Debug)]
struct Point {
    start_ns: u64,
    end_ns: u64,
    nopm: f64,
}

/// The model.
#[derive(Debug, Default)]
pub struct State {
    pub about: About,
    /// The lab that the run belongs to, of a plan.
    pub study: Option<StudyState>,
    pub stage: Stage,
    /// The user has asked for the end.
    pub is_ending: bool,
    /// Of each schema; none before all connections are open.
    pub warehouses: Option<u32>,
    pub connections: Option<u32>,
    pub elapsed: Duration,
    pub total: Duration,
    /// The run may end before its time.
    pub total_is_most: bool,
    /// What ends the phase under way, where its time does not.
    pub awaited: Option<Awaited>,
    /// Of the last interval.
    pub nopm: Option<f64>,
    /// By [`Transaction::index`].
    pub types: [TypeState; 5],
    /// The last ones.
    pub notes: VecDeque<String>,
    points: VecDeque<Point>,
    recent: Recent,
}

impl State {
    /// Takes what the run tells.
    pub fn take(&mut self, progress: &Progress<'_>) {
        if let Some(study) = &mut self.study {
            study.take(progress);
        }
        match progress {
            Progress::TurnStarts { title, cell } => self.next_turn(title, cell),
            Progress::RunStarts(warehouses) => {
                let warehouses = warehouses.0;
                let by_clause = warehouses.saturating_mul(TERMINALS_PER_WAREHOUSE);
                let asked = self.about.connections.or(self.about.terminals);
                self.connections = Some(asked.unwrap_or(by_clause));
                self.warehouses = Some(warehouses);
                self.stage = Stage::Warmup;
                self.elapsed = Duration::ZERO;
                self.nopm = None;
            }
            Progress::Run(run) => self.run(run),
            Progress::Interval(interval) => self.interval(interval),
            Progress::Samples(batches) => {
                for batch in *batches {
                    self.recent.take(batch);
                }
            }
            Progress::Note(note) => {
                self.notes.push_back((*note).to_owned());
                if self.notes.len() > NOTES_MAX {
                    self.notes.pop_front();
                }
            }
            Progress::Checks { .. } => self.finish(),
            Progress::Step(_) | Progress::Load(_) | Progress::TurnEnds(_) => {}
        }
    }

    fn run(&mut self, run: &RunProgress) {
        self.elapsed = run.elapsed;
        self.total = run.total;
        self.total_is_most = run.total_is_most;
        self.awaited = run.awaited;
        self.stage = match self.stage {
            Stage::Starting | Stage::Capacity => {
                // Intervals of this loop are not told.
                self.nopm = (run.nopm > 0.0).then_some(run.nopm);
                Stage::Capacity
            }
            Stage::Finished => Stage::Finished,
            _ if run.in_warmup => Stage::Warmup,
            _ if run.elapsed < run.total => Stage::Window,
            _ => Stage::Drain,
        };
        if self.stage == Stage::Drain {
            self.forget_load();
        }
    }

    /// The run is over.
    pub fn finish(&mut self) {
        self.stage = Stage::Finished;
        self.forget_load();
    }

    /// Of a load that has ended nothing is now as it was: a gap, instead of the last values for ever.
    fn forget_load(&mut self) {
        self.nopm = None;
        self.connections = None;
        for of in &mut self.types {
            of.completed_per_s = None;
            of.response_ns = None;
        }
    }

    fn interval(&mut self, interval: &Interval) {
        self.recent.interval(Window {
            start_ns: interval.start_offset_ns,
            end_ns: interval.end_offset_ns,
        });
        let ns = length_ns(interval);
        // The drain has no fixed length and ever fewer transactions: its counts are shown, its rates mean nothing. The last interval of
        // the window may come when the drain has begun.
        let has_rates = interval.phase != Phase::Drain;
        let is_now = has_rates && !matches!(self.stage, Stage::Drain | Stage::Finished);
        for (index, state) in self.types.iter_mut().enumerate() {
            let stats = &interval.transactions[index];
            state.committed += stats.committed;
            state.rolled_back += stats.rolled_back;
            state.deadlocks += stats.deadlocks;
            state.lock_wait_timeouts += stats.lock_wait_timeouts;
            state.other_retries += stats.other_retries;
            state.errors += stats.errors;
            if is_now {
                state.completed_per_s = Some(stats.completed() as f64 * NS_PER_S / ns);
                state.response_ns = response_ns(interval, index);
            }
        }
        if !has_rates {
            self.finish();
            return;
        }
        let nopm = nopm(interval);
        if is_now {
            self.nopm = Some(nopm);
        }
        self.points.push_back(Point {
            start_ns: interval.start_offset_ns,
            end_ns: interval.end_offset_ns,
            nopm,
        });
        let oldest_ns = interval
            .end_offset_ns
            .saturating_sub(HISTORY.as_nanos() as u64);
        while self
            .points
            .front()
            .is_some_and(|point| point.end_ns <= oldest_ns)
        {
            self.points.pop_front();
        }
    }

    /// What is left of the run, in whole seconds that add up with those that are over.
    pub fn left(&self) -> Duration {
        Duration::from_secs(self.total.as_secs().saturating_sub(self.elapsed.as_secs()))
    }

    /// The share of the run that is over.
    pub fn done_share(&self) -> f64 {
        if self.total.is_zero() {
            return 0.0;
        }
        (self.elapsed.as_secs_f64() / self.total.as_secs_f64()).min(1.0)
    }

    pub fn retries(&self) -> u64 {
        self.types.iter().map(TypeState::retries).sum()
    }

    pub fn errors(&self) -> u64 {
        self.types.iter().map(|of| of.errors).sum()
    }

    /// NOPM over [`HISTORY`] in so many equal times, the oldest first; `None` where nothing was measured.
    pub fn history(&self, columns: usize) -> Vec<Option<f64>> {
        let Some(newest) = self.points.back() else {
            return vec![None; columns];
        };
        // The times begin at multiples of their length, so that they do not change as the history moves on.
        let length_ns = (HISTORY.as_nanos() as u64 / columns.max(1) as u64).max(1);
        let last = newest.end_ns.saturating_sub(1) / length_ns;
        let of_column = |column: usize| {
            let slot = (last + 1 + column as u64).checked_sub(columns as u64)?;
            let (start_ns, end_ns) = (slot * length_ns, (slot + 1) * length_ns);
            let inside = |point: &&Point| point.start_ns < end_ns && point.end_ns > start_ns;
            let (count, sum) = self
                .points
                .iter()
                .filter(inside)
                .fold((0, 0.0), |(count, sum), point| {
                    (count + 1, sum + point.nopm)
                });
            (count > 0).then(|| sum / f64::from(count))
        };
        (0..columns).map(of_column).collect()
    }

    /// The highest NOPM of an interval in [`HISTORY`].
    pub fn nopm_max(&self) -> Option<f64> {
        self.points.iter().map(|point| point.nopm).reduce(f64::max)
    }

    /// The shares of host CPU time, and what the processes use now.
    pub fn cpu(&self) -> Cpu {
        Cpu::of(self.recent.now())
    }

    /// The same in the mean of the last interval.
    pub fn cpu_of_interval(&self) -> Cpu {
        Cpu::of(self.recent.in_interval())
    }

    /// I/O by role or by disk now.
    pub fn io(&self) -> (IoBy, Vec<IoRow>) {
        self.recent.io(self.recent.now())
    }

    /// The same in the mean of the last interval.
    pub fn io_of_interval(&self) -> (IoBy, Vec<IoRow>) {
        self.recent.io(self.recent.in_interval())
    }
}

fn length_ns(interval: &Interval) -> f64 {
    let ns = interval
        .end_offset_ns
        .saturating_sub(interval.start_offset_ns);
    ns.max(1) as f64
}

/// New orders per minute in an interval.
pub fn nopm(interval: &Interval) -> f64 {
    let new_orders = interval.transactions[Transaction::NewOrder.index()].completed();
    new_orders as f64 * 60.0 * NS_PER_S / length_ns(interval)
}

/// The response times of a type in an interval at [`QUANTILES`], where any of it ended.
pub fn response_ns(interval: &Interval, index: usize) -> Option<[u64; 4]> {
    let latency = &interval.transactions[index].latency;
    let at = || QUANTILES.map(|quantile| latency.at_quantile_ns(quantile));
    (latency.count() > 0).then(at)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{About, Stage, State};
    use crate::live::usage::tests::{S, batch};
    use base::Warehouses;
    use drive::{ScheduleStats, TerminalStats, TransactionStats};
    use lab::{Interval, Phase, Progress, RunProgress};
    use std::time::Duration;
    use store::MetricSource::{Host, Process, Shim};

    /// An interval with so many committed new orders, each of 10 ms, half as many payments, of which one deadlocked, and nothing
    /// else.
    pub(crate) fn interval(phase: Phase, start_s: f64, end_s: f64, new_orders: u64) -> Interval {
        let mut transactions: [TransactionStats; 5] =
            std::array::from_fn(|_| TransactionStats::default());
        let of_type = [(new_orders, 10_000_000), (new_orders / 2, 4_000_000)];
        for (stats, (committed, ns)) in transactions.iter_mut().zip(of_type) {
            stats.committed = committed;
            for _ in 0..committed {
                stats.latency.record(ns);
            }
        }
        transactions[1].deadlocks = 1;
        Interval {
            phase,
            start_offset_ns: (start_s * S as f64) as u64,
            end_offset_ns: (end_s * S as f64) as u64,
            transactions,
            new_orders: Vec::new(),
            statements: 0,
            inputs: tpcc::InputCounters::default(),
            schedule: ScheduleStats::default(),
            terminals: TerminalStats::default(),
        }
    }

    pub(crate) fn run(elapsed_s: u64, total_s: u64, in_warmup: bool) -> Progress<'static> {
        Progress::Run(RunProgress {
            elapsed: Duration::from_secs(elapsed_s),
            total: Duration::from_secs(total_s),
            total_is_most: false,
            in_warmup,
            awaited: None,
            nopm: 0.0,
            new_order_p95_us: 0.0,
            errors: 0,
            retries: 0,
        })
    }

    /// A run on mysql-5.7 with 8 connections in second 30 of 70: 200 new orders/s, a host of 4 cores, a shim that counts.
    pub(crate) fn in_window() -> State {
        let mut state = State {
            about: About {
                target: "mysql-5.7".to_owned(),
                workload: "tpcc".to_owned(),
                style: "statements".to_owned(),
                connections: Some(8),
                terminals: None,
            },
            ..State::default()
        };
        state.take(&Progress::RunStarts(Warehouses(10)));
        for second in 0..30 {
            let phase = if second < 10 {
                Phase::Warmup
            } else {
                Phase::Window
            };
            let (start_s, end_s) = (f64::from(second), f64::from(second + 1));
            state.take(&Progress::Interval(&interval(phase, start_s, end_s, 200)));
            let cpu_ns = i64::from(second) * 1_000_000_000;
            let values = [
                (Host, "cpu_cores", "", 4),
                (Host, "cpu_user_ns", "", 2 * cpu_ns),
                (Host, "cpu_system_ns", "", cpu_ns / 2),
                (Host, "cpu_iowait_ns", "", cpu_ns / 5),
                (Host, "cpu_irq_ns", "", 0),
                (Host, "cpu_softirq_ns", "", 0),
                (Host, "cpu_steal_ns", "", 0),
                (Process, "cpu_user_ns", "server", 3 * cpu_ns / 2),
                (Process, "cpu_system_ns", "server", cpu_ns / 4),
                (Shim, "reads", "data", i64::from(second) * 1234),
                (Shim, "read_bytes", "data", i64::from(second) * 20_000_000),
                (Shim, "writes", "data", i64::from(second) * 567),
                (Shim, "write_bytes", "data", i64::from(second) * 9_000_000),
                (Shim, "flushes", "data", i64::from(second) * 3),
                (Shim, "reads", "redo", 0),
                (Shim, "writes", "redo", i64::from(second) * 890),
                (Shim, "flushes", "redo", i64::from(second) * 445),
                (Shim, "reads", "", 5),
            ];
            state.take(&Progress::Samples(&[batch(end_s, &values)]));
        }
        state.take(&run(30, 70, false));
        state
    }

    #[test]
    fn a_run_goes_through_its_stages() {
        let mut state = State::default();
        assert_eq!(state.stage, Stage::Starting);
        state.take(&run(1, 13, true));
        assert_eq!(state.stage, Stage::Capacity);
        state.about.terminals = Some(50);
        state.take(&Progress::RunStarts(Warehouses(3)));
        assert_eq!((state.stage, state.connections), (Stage::Warmup, Some(50)));
        state.take(&run(1, 4, true));
        assert_eq!(state.stage, Stage::Warmup);
        state.take(&run(3, 4, false));
        assert_eq!(state.stage, Stage::Window);
        state.take(&Progress::Interval(&interval(Phase::Window, 1.0, 3.0, 20)));
        assert_eq!(state.nopm, Some(600.0));
        assert_eq!(state.types[0].completed_per_s, Some(10.0));
        assert!(state.types[0].response_ns.is_some());
        assert_eq!(
            (state.left(), state.done_share()),
            (Duration::from_secs(1), 0.75)
        );
        state.take(&run(5, 4, false));
        assert_eq!((state.stage, state.left()), (Stage::Drain, Duration::ZERO));
        has_no_load(&state);
        // The last interval of the window may come late: it is counted, and of the past.
        state.take(&Progress::Interval(&interval(Phase::Window, 3.0, 4.0, 30)));
        has_no_load(&state);
        assert_eq!(state.nopm_max(), Some(1_800.0));
        state.take(&Progress::Interval(&interval(Phase::Drain, 4.0, 5.5, 3)));
        assert_eq!(state.stage, Stage::Finished);
        assert_eq!(state.types[0].committed, 53);
        has_no_load(&state);
    }

    /// Nothing of a load that has ended is shown as if it went on.
    #[track_caller]
    fn has_no_load(state: &State) {
        assert_eq!((state.nopm, state.connections), (None, None));
        for of in &state.types {
            assert_eq!((of.completed_per_s, of.response_ns), (None, None));
        }
    }

    #[test]
    fn a_run_that_is_broken_off_leaves_a_gap() {
        let mut state = in_window();
        assert!(state.nopm.is_some() && state.connections == Some(8));
        state.finish();
        assert_eq!(state.stage, Stage::Finished);
        has_no_load(&state);
        assert_eq!(state.types[0].committed, 6_000, "what was counted stays");
    }

    #[test]
    fn throughput_and_response_times_are_of_the_last_interval() {
        let mut state = in_window();
        assert_eq!(state.nopm, Some(12_000.0));
        let [new_order, payment, order_status, ..] = &state.types;
        assert_eq!(new_order.completed_per_s, Some(200.0));
        let p95_ms = new_order.p95_us().unwrap() / 1e3;
        assert!((p95_ms - 10.0).abs() < 0.02, "{p95_ms}");
        assert_eq!((new_order.committed, payment.committed), (6_000, 3_000));
        assert_eq!((payment.retries(), state.retries()), (30, 30));
        assert_eq!(
            (order_status.completed_per_s, order_status.response_ns),
            (Some(0.0), None)
        );
        state.take(&Progress::Interval(&interval(
            Phase::Window,
            30.0,
            32.0,
            100,
        )));
        assert_eq!(state.nopm, Some(3_000.0));
        assert_eq!(state.nopm_max(), Some(12_000.0));
    }

    #[test]
    fn the_history_is_two_minutes() {
        let mut state = State::default();
        assert_eq!(state.history(3), [None; 3]);
        state.take(&Progress::RunStarts(Warehouses(1)));
        for second in 0..300u32 {
            // A minute without intervals, as of a machine that slept.
            if (200..260).contains(&second) {
                continue;
            }
            let (start_s, end_s) = (f64::from(second), f64::from(second + 1));
            let of_second = interval(Phase::Window, start_s, end_s, u64::from(second / 60));
            state.take(&Progress::Interval(&of_second));
        }
        assert_eq!(state.points.len(), 60);
        let half_minutes = [Some(180.0), None, Some(240.0), Some(240.0)];
        assert_eq!(state.history(4), half_minutes);
        assert_eq!(state.history(240).len(), 240);
        assert!(state.history(0).is_empty());
    }

    #[test]
    fn the_last_notes_are_kept() {
        let mut state = State::default();
        for number in 0..40 {
            state.take(&Progress::Note(&format!("note {number}")));
        }
        assert_eq!(state.notes.len(), 16);
        assert_eq!(state.notes.back().map(String::as_str), Some("note 39"));
    }
}
