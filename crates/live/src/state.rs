//! What a measurement looks like now: a model that is told what happens. All views show it; it
//! knows no terminal and no clock.

use crate::usage::{Recent, Usage};
use analyse::{RunProgress, Window};
use base::{Dilation, Warehouses, named};
use drive::{Interval, Merge, Phase, Silence, SilenceWatch, Times, TransactionInfo};
use std::collections::VecDeque;
use std::time::Duration;
use store::SampleBatch;

/// How much of the past is kept.
pub const HISTORY: Duration = Duration::from_secs(120);
/// How many of the last notes are kept.
const NOTES_MAX: usize = 16;
/// How many results of a lab's last repeats are kept.
const RESULTS_MAX: usize = 3;
/// The shares of response times that are kept of an interval.
pub(crate) const QUANTILES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];
/// The one of [`QUANTILES`] that people are shown.
const P95: usize = 2;
const NS_PER_S: f64 = 1e9;

named! {
    /// How far a run has come.
    #[derive(Default)]
    pub enum Stage {
        /// The server or the connections are not ready.
        #[default]
        Starting = "starting" => "starting",
        /// A closed loop finds the capacity; it is not stored.
        Capacity = "capacity" => "capacity",
        Warmup = "warmup" => "warm-up",
        Window = "window" => "window",
        /// The last transactions end.
        Drain = "drain" => "drain",
        /// Checks and results follow.
        Finished = "finished" => "finished",
    }
}

/// What is run.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The engine, where mydyno started the server, else the DSN without its password.
    pub target: String,
    pub workload: String,
    pub style: String,
    /// How many times slower than real clocks those that measure run.
    pub dilation: Dilation,
}

/// The repeat of a lab that is measured, and the results of the ones before.
#[derive(Clone, Debug, Default)]
pub struct LabTurn {
    /// `3 of 8: cell 2 (data=hdd-15k connections=8), repeat 1 of 3; about 12 min left`
    pub title: String,
    /// While there is no load: `checking: 5 of 18`.
    doing: String,
    /// Of the last repeats, the newest one last.
    pub results: VecDeque<String>,
}

/// One transaction type.
#[derive(Clone, Debug, Default)]
pub struct TypeState {
    pub name: &'static str,
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
    pub(crate) response_ns: Option<[u64; 4]>,
}

impl TypeState {
    pub fn retries(&self) -> u64 {
        self.deadlocks + self.lock_wait_timeouts + self.other_retries
    }

    pub fn p95_us(&self) -> Option<f64> {
        self.response_ns.map(|at| at[P95] as f64 / 1e3)
    }
}

/// What a load did in some time of one phase.
#[derive(Debug, Default)]
pub struct RecentLoad {
    phase: Option<Phase>,
    length_ns: u64,
    completed: u64,
    latency: Times,
}

impl RecentLoad {
    /// Takes an interval; one of another phase begins anew.
    fn take(&mut self, interval: &Interval) {
        if self.phase != Some(interval.phase) {
            *self = RecentLoad { phase: Some(interval.phase), ..RecentLoad::default() };
        }
        self.length_ns += interval.length_ns();
        self.completed += interval.primary_completed();
        self.latency.merge(&interval.primary_latency());
    }

    pub fn nopm(&self) -> Option<f64> {
        let minutes = self.length_ns as f64 / (60.0 * NS_PER_S);
        (minutes > 0.0).then(|| self.completed as f64 / minutes)
    }

    /// The 95th percentile of new orders.
    pub fn p95_us(&self) -> Option<f64> {
        let p95_us = || self.latency.at_quantile_ns(QUANTILES[P95]) as f64 / 1e3;
        (self.latency.count() > 0).then(p95_us)
    }
}

/// The model.
#[derive(Debug, Default)]
pub struct State {
    pub about: About,
    /// The lab that the run belongs to, where it has a plan.
    pub lab: Option<LabTurn>,
    pub stage: Stage,
    /// The user has asked for the end.
    pub is_ending: bool,
    /// Of each schema of TPC-C; none before all connections are open.
    pub warehouses: Option<Warehouses>,
    pub connections: Option<u32>,
    pub run: RunProgress,
    /// What the last interval was like, while there is a load.
    pub now: Option<RecentLoad>,
    /// The same since [`State::take_load`] told of it.
    since_told: RecentLoad,
    /// Those of the workload, in its order; none before all connections are open.
    pub types: Vec<TypeState>,
    /// The last ones.
    pub notes: VecDeque<String>,
    /// NOPM of the intervals in [`HISTORY`], the oldest first.
    points: VecDeque<(Window, f64)>,
    silences: SilenceWatch,
    recent: Recent,
}

impl State {
    /// Another repeat of a lab begins: results and notes of those before stay.
    pub fn begin_turn(&mut self, title: &str, about: About) {
        let before = std::mem::take(self);
        self.about = about;
        self.lab = Some(LabTurn {
            title: title.to_owned(),
            doing: "starting a server".to_owned(),
            results: before.lab.map(|lab| lab.results).unwrap_or_default(),
        });
        self.is_ending = before.is_ending;
        self.notes = before.notes;
    }

    /// Keeps what a repeat of a lab came to.
    pub fn end_turn(&mut self, result: &str) {
        if let Some(lab) = &mut self.lab {
            push_last(&mut lab.results, result, RESULTS_MAX);
        }
    }

    /// Takes what a lab does before and after a load.
    pub fn step(&mut self, doing: impl Into<String>) {
        if let Some(lab) = &mut self.lab {
            lab.doing = doing.into();
        }
    }

    /// What a lab does while there is no load.
    pub fn doing(&self) -> Option<&str> {
        let lab = self.lab.as_ref()?;
        let has_load = !matches!(self.stage, Stage::Starting | Stage::Finished);
        (!has_load).then_some(lab.doing.as_str())
    }

    pub fn note(&mut self, note: &str) {
        push_last(&mut self.notes, note, NOTES_MAX);
    }

    /// All connections are open, and the warm-up begins.
    pub fn begin_run(
        &mut self,
        types: &[TransactionInfo],
        warehouses: Warehouses,
        connections: u32,
    ) {
        let named = |of: &TransactionInfo| TypeState { name: of.name, ..TypeState::default() };
        self.types = types.iter().map(named).collect();
        // Workloads of other databases than TPC-C's have none.
        self.warehouses = Some(warehouses).filter(|of| of.0 > 0);
        self.connections = Some(connections);
        self.stage = Stage::Warmup;
        self.silences = SilenceWatch::default();
        self.run.elapsed = Duration::ZERO;
        (self.now, self.since_told) = (None, RecentLoad::default());
    }

    /// Takes how far the run is.
    pub fn run_goes_on(&mut self, run: RunProgress) {
        self.run = run;
        self.stage = match self.stage {
            Stage::Starting | Stage::Capacity => Stage::Capacity,
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

    /// Of a load that has ended nothing is now as it was: a gap, instead of the last values for
    /// ever.
    fn forget_load(&mut self) {
        (self.now, self.since_told) = (None, RecentLoad::default());
        self.connections = None;
        for of in &mut self.types {
            of.completed_per_s = None;
            of.response_ns = None;
        }
    }

    /// Takes what was sampled beside the run.
    pub fn take_samples(&mut self, batches: &[SampleBatch]) {
        for batch in batches {
            self.recent.take(batch);
        }
    }

    /// Takes an interval that is over.
    pub fn end_interval(&mut self, interval: &Interval) {
        let window = Window { start_ns: interval.start_offset_ns, end_ns: interval.end_offset_ns };
        self.silences.take(interval);
        let ns = interval.length_ns() as f64;
        // The drain has no fixed length and ever fewer transactions: its counts are shown, its
        // rates mean nothing. The last interval of the window may come when the drain has begun.
        let has_rates = interval.phase != Phase::Drain;
        let is_now = has_rates && !matches!(self.stage, Stage::Drain | Stage::Finished);
        if is_now {
            self.now.insert(RecentLoad::default()).take(interval);
            self.since_told.take(interval);
        }
        // The loop that finds the capacity is no part of the run.
        if matches!(self.stage, Stage::Starting | Stage::Capacity) {
            return;
        }
        self.recent.end_interval(window);
        for (state, stats) in self.types.iter_mut().zip(&interval.transactions) {
            state.committed += stats.committed;
            state.rolled_back += stats.rolled_back;
            state.deadlocks += stats.deadlocks;
            state.lock_wait_timeouts += stats.lock_wait_timeouts;
            state.other_retries += stats.other_retries;
            state.errors += stats.errors;
            if is_now {
                state.completed_per_s = Some(stats.completed() as f64 * NS_PER_S / ns);
                let at = || QUANTILES.map(|quantile| stats.latency.at_quantile_ns(quantile));
                state.response_ns = (stats.latency.count() > 0).then(at);
            }
        }
        if !has_rates {
            self.finish();
            return;
        }
        self.points.push_back((window, interval.primary_per_minute()));
        let oldest_ns = window.end_ns.saturating_sub(HISTORY.as_nanos() as u64);
        let is_old = |(of, _): &(Window, f64)| of.end_ns <= oldest_ns;
        while self.points.front().is_some_and(is_old) {
            self.points.pop_front();
        }
    }

    pub fn nopm(&self) -> Option<f64> {
        self.now.as_ref()?.nopm()
    }

    /// What the load was like since this last told of it, or since its phase began; `None` where no
    /// interval has ended since.
    pub fn take_load(&mut self) -> Option<RecentLoad> {
        Some(std::mem::take(&mut self.since_told)).filter(|load| load.length_ns > 0)
    }

    /// The time in which nothing has ended well, where there is one.
    pub fn silence(&self) -> Option<Silence> {
        self.silences.now().filter(|_| self.stage != Stage::Finished)
    }

    /// What is left of the run, in whole seconds that add up with those that are over.
    pub fn left(&self) -> Duration {
        let RunProgress { total, elapsed, .. } = self.run;
        Duration::from_secs(total.as_secs().saturating_sub(elapsed.as_secs()))
    }

    /// The share of the run that is over.
    pub fn done_share(&self) -> f64 {
        if self.run.total.is_zero() {
            return 0.0;
        }
        (self.run.elapsed.as_secs_f64() / self.run.total.as_secs_f64()).min(1.0)
    }

    pub fn retries(&self) -> u64 {
        self.types.iter().map(TypeState::retries).sum()
    }

    pub fn errors(&self) -> u64 {
        self.types.iter().map(|of| of.errors).sum()
    }

    /// NOPM over [`HISTORY`] in so many equal times, the oldest first; `None` where nothing was
    /// measured.
    pub fn history(&self, columns: usize) -> Vec<Option<f64>> {
        let Some((newest, _)) = self.points.back() else {
            return vec![None; columns];
        };
        // The times begin at multiples of their length, so that they do not change as the history
        // moves on.
        let length_ns = (HISTORY.as_nanos() as u64 / columns.max(1) as u64).max(1);
        let last = newest.end_ns.saturating_sub(1) / length_ns;
        let of_column = |column: usize| {
            let slot = (last + 1 + column as u64).checked_sub(columns as u64)?;
            let (start_ns, end_ns) = (slot * length_ns, (slot + 1) * length_ns);
            let inside = |of: &Window| of.start_ns < end_ns && of.end_ns > start_ns;
            let points = self.points.iter().filter(|(of, _)| inside(of));
            analyse::mean(&points.map(|(_, nopm)| *nopm).collect::<Vec<_>>())
        };
        (0..columns).map(of_column).collect()
    }

    /// The highest NOPM of an interval in [`HISTORY`].
    pub fn nopm_max(&self) -> Option<f64> {
        self.points.iter().map(|(_, nopm)| *nopm).reduce(f64::max)
    }

    /// What CPUs and storage do now.
    pub fn usage(&self) -> Usage {
        self.recent.now()
    }

    /// What they did in the mean of the last interval.
    pub fn usage_of_interval(&self) -> Usage {
        self.recent.in_interval()
    }
}

/// Adds one to the last few of something.
fn push_last(last: &mut VecDeque<String>, text: &str, max: usize) {
    last.push_back(text.to_owned());
    if last.len() > max {
        last.pop_front();
    }
}

#[cfg(test)]
mod tests {
    const TYPES: &[drive::TransactionInfo] = tpcc::Transaction::TYPES;
    use super::{About, Stage, State};
    use crate::testkit::{in_window, interval, run};
    use base::Warehouses;
    use drive::Phase;
    use std::time::Duration;

    #[test]
    fn a_run_goes_through_its_stages() {
        let mut state = State::default();
        assert_eq!(state.stage, Stage::Starting);
        state.run_goes_on(run(1, Duration::from_secs(13), true));
        assert_eq!(state.stage, Stage::Capacity);
        state.begin_run(TYPES, Warehouses(3), 50);
        assert_eq!((state.stage, state.connections), (Stage::Warmup, Some(50)));
        state.run_goes_on(run(1, Duration::from_secs(4), true));
        assert_eq!(state.stage, Stage::Warmup);
        state.run_goes_on(run(3, Duration::from_secs(4), false));
        assert_eq!(state.stage, Stage::Window);
        state.end_interval(&interval(Phase::Window, 1.0..3.0, 20));
        assert_eq!(state.nopm(), Some(600.0));
        assert_eq!(state.types[0].completed_per_s, Some(10.0));
        assert!(state.types[0].response_ns.is_some());
        assert_eq!((state.left(), state.done_share()), (Duration::from_secs(1), 0.75));
        state.run_goes_on(run(5, Duration::from_secs(4), false));
        assert_eq!((state.stage, state.left()), (Stage::Drain, Duration::ZERO));
        has_no_load(&state);
        // The last interval of the window may come late: it is counted, and of the past.
        state.end_interval(&interval(Phase::Window, 3.0..4.0, 30));
        has_no_load(&state);
        assert_eq!(state.nopm_max(), Some(1_800.0));
        state.end_interval(&interval(Phase::Drain, 4.0..5.5, 3));
        assert_eq!(state.stage, Stage::Finished);
        assert_eq!(state.types[0].committed, 53);
        has_no_load(&state);
    }

    /// Nothing of a load that has ended is shown as if it went on.
    #[track_caller]
    fn has_no_load(state: &State) {
        assert_eq!((state.nopm(), state.connections), (None, None));
        for of in &state.types {
            assert_eq!((of.completed_per_s, of.response_ns), (None, None));
        }
    }

    #[test]
    fn a_run_that_is_broken_off_leaves_a_gap() {
        let mut state = in_window();
        assert!(state.nopm().is_some() && state.connections == Some(8));
        state.finish();
        assert_eq!(state.stage, Stage::Finished);
        has_no_load(&state);
        assert_eq!(state.types[0].committed, 6_000, "what was counted stays");
    }

    #[test]
    fn a_line_tells_of_the_time_since_the_one_before() {
        let mut state = State::default();
        state.begin_run(TYPES, Warehouses(1), 10);
        state.end_interval(&interval(Phase::Warmup, 0.0..1.0, 9));
        for (second, new_orders) in (1_i8..).zip([1, 2, 0, 1]) {
            let start_s = f64::from(second);
            state.end_interval(&interval(Phase::Window, start_s..start_s + 1.0, new_orders));
        }
        let load = state.take_load().unwrap();
        assert_eq!(load.nopm(), Some(60.0));
        assert!(load.p95_us().is_some_and(|us| (us / 1e4 - 1.0).abs() < 0.01));
        assert!(state.take_load().is_none());
        assert_eq!(state.nopm(), Some(60.0));
    }

    #[test]
    fn throughput_and_response_times_are_of_the_last_interval() {
        let mut state = in_window();
        assert_eq!(state.nopm(), Some(12_000.0));
        let [new_order, payment, order_status, ..] = &state.types[..] else {
            panic!("{:?}", state.types)
        };
        assert_eq!(new_order.completed_per_s, Some(200.0));
        let p95_ms = new_order.p95_us().unwrap() / 1e3;
        assert!((p95_ms - 10.0).abs() < 0.02, "{p95_ms}");
        assert_eq!((new_order.committed, payment.committed), (6_000, 3_000));
        assert_eq!((payment.retries(), state.retries()), (30, 30));
        assert_eq!((order_status.completed_per_s, order_status.response_ns), (Some(0.0), None));
        state.end_interval(&interval(Phase::Window, 30.0..32.0, 100));
        assert_eq!(state.nopm(), Some(3_000.0));
        assert_eq!(state.nopm_max(), Some(12_000.0));
    }

    #[test]
    fn the_history_is_two_minutes() {
        let mut state = State::default();
        assert_eq!(state.history(3), [None; 3]);
        state.begin_run(TYPES, Warehouses(1), 1);
        for second in 0..300u32 {
            // A minute without intervals, as of a machine that slept.
            if (200..260).contains(&second) {
                continue;
            }
            let (start_s, end_s) = (f64::from(second), f64::from(second + 1));
            let of_second = interval(Phase::Window, start_s..end_s, u64::from(second / 60));
            state.end_interval(&of_second);
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
            state.note(&format!("note {number}"));
        }
        assert_eq!(state.notes.len(), 16);
        assert_eq!(state.notes.back().map(String::as_str), Some("note 39"));
    }

    #[test]
    fn each_turn_of_a_lab_begins_anew_and_keeps_results() {
        let mut state = State::default();
        state.step("of no lab");
        assert_eq!(state.doing(), None);
        state.begin_turn("1 of 9", About::default());
        assert_eq!(state.doing(), Some("starting a server"));
        state.step("populating");
        assert_eq!(state.doing(), Some("populating"));
        state.begin_run(TYPES, Warehouses(2), 4);
        assert_eq!((state.stage, state.doing()), (Stage::Warmup, None));
        state.finish();
        state.step("checking: 5 of 18");
        assert_eq!(state.doing(), Some("checking: 5 of 18"));
        state.note("told");
        for number in 1..=5 {
            state.end_turn(&format!("result {number}"));
        }
        state.begin_turn("2 of 9", About::default());
        assert_eq!((state.stage, state.connections), (Stage::Starting, None));
        let lab = state.lab.as_ref().unwrap();
        assert_eq!(lab.title, "2 of 9");
        assert_eq!(lab.results, ["result 3", "result 4", "result 5"]);
        assert_eq!(state.notes, ["told"]);
    }
}
