//! The times of a run, which all its workers share. A phase may end earlier than was planned: at a
//! moment on which all agree, as none has begun an interval beyond it.

use crate::interval::Phase;
use crate::options::RunOptions;
use base::{Instant, clock, limits, lock};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{self, Duration};

/// Where partners take part, an end of a phase that is decided on is at least so far ahead: word of
/// it has to reach all of them by then.
const END_LEAD: Duration = Duration::from_millis(500);

/// Ends of phases, in ns from the start of the run. They only ever come earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseOffsets {
    pub warmup_end_ns: u64,
    pub window_end_ns: u64,
}

/// In ns from the start of the run, and the few facts that workers share.
pub struct Schedule {
    start: Instant,
    interval_ns: u64,
    /// A phase that is ended goes on for so long at least.
    end_lead_ns: u64,
    window_max_ns: u64,
    /// Only ever earlier, and while `begun_ns` is held.
    warmup_ns: AtomicU64,
    /// Only ever earlier.
    end_ns: AtomicU64,
    /// After the end. Only ever shorter.
    drain_ns: AtomicU64,
    /// The latest end of an interval that a worker has begun. Locked once an interval, which costs
    /// nothing.
    begun_ns: Mutex<u64>,
    aborted: AtomicBool,
    connected: AtomicU32,
}

/// 584 years fit.
fn ns(time: Duration) -> u64 {
    time.as_nanos() as u64
}

impl Schedule {
    /// Of a run with this window, from the end of the warm-up on.
    pub(crate) fn new(start: Instant, window_ns: Range<u64>, interval_ns: u64) -> Schedule {
        Schedule {
            start,
            interval_ns: interval_ns.max(1),
            end_lead_ns: 0,
            window_max_ns: window_ns.end.saturating_sub(window_ns.start),
            warmup_ns: AtomicU64::new(window_ns.start),
            end_ns: AtomicU64::new(window_ns.end),
            drain_ns: AtomicU64::new(ns(limits::DRAIN_TIMEOUT)),
            begun_ns: Mutex::new(0),
            aborted: AtomicBool::new(false),
            connected: AtomicU32::new(0),
        }
    }

    /// Of a run with these options. Where partners take part, an early end has to reach them first.
    pub(crate) fn of(options: &RunOptions, start: Instant, has_partners: bool) -> Schedule {
        let window_ns = ns(options.warmup)..ns(options.warmup + options.window);
        let schedule = Schedule::new(start, window_ns, ns(options.interval));
        let end_lead = if has_partners { clock::dilated(END_LEAD) } else { Duration::ZERO };
        Schedule { end_lead_ns: ns(end_lead), ..schedule }
    }

    /// The moment at which all start.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// The ends of phases, as far as they are known.
    pub fn phases(&self) -> PhaseOffsets {
        PhaseOffsets { warmup_end_ns: self.warmup_ns(), window_end_ns: self.end_ns() }
    }

    /// Time since everybody should have ended; none before.
    pub fn past_drain(&self) -> Duration {
        Duration::from_nanos(self.now_ns().saturating_sub(self.drain_end_ns()))
    }

    pub(crate) fn now_ns(&self) -> u64 {
        ns(self.start.elapsed())
    }

    /// When to wake who waits until then.
    pub(crate) fn instant(&self, at_ns: u64) -> time::Instant {
        (self.start + Duration::from_nanos(at_ns)).real()
    }

    /// The end of the warm-up, as far as is known.
    pub(crate) fn warmup_ns(&self) -> u64 {
        self.warmup_ns.load(Ordering::Relaxed)
    }

    /// The end of the window, as far as is known.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns.load(Ordering::Relaxed)
    }

    /// The phase of the interval that begins at `start_ns`, and its end: from now on neither phase
    /// ends inside it, unless the whole run does.
    pub(crate) fn begin_interval(&self, start_ns: u64) -> (Phase, u64) {
        let mut begun_ns = lock(&self.begun_ns);
        let (warmup_ns, run_end_ns) = (self.warmup_ns(), self.end_ns());
        if start_ns >= run_end_ns {
            return (Phase::Drain, u64::MAX);
        }
        let whole_ns = start_ns + self.interval_ns;
        let (phase, end_ns) = if start_ns < warmup_ns {
            (Phase::Warmup, whole_ns.min(warmup_ns))
        } else {
            (Phase::Window, whole_ns)
        };
        *begun_ns = (*begun_ns).max(end_ns.min(run_end_ns));
        (phase, end_ns)
    }

    /// Ends a phase with the interval that is under way at `now_ns`; nothing where the phase is
    /// over.
    pub(crate) fn end_phase(&self, phase: Phase, now_ns: u64) {
        let begun_ns = lock(&self.begun_ns);
        // Where all workers are late, as on a machine that stood still, intervals go on in the same
        // steps.
        let from_ns = now_ns + self.end_lead_ns;
        let late_ns = from_ns.checked_sub(*begun_ns);
        let steps = late_ns.map_or(0, |late_ns| late_ns / self.interval_ns + 1);
        let at_ns = *begun_ns + steps * self.interval_ns;
        match phase {
            Phase::Warmup if at_ns < self.warmup_ns() => {
                self.warmup_ns.store(at_ns, Ordering::Relaxed);
                self.end_at(at_ns + self.window_max_ns);
            }
            Phase::Window if now_ns >= self.warmup_ns() => self.end_at(at_ns),
            Phase::Warmup | Phase::Window | Phase::Drain => {}
        }
    }

    /// Ends the window as soon as others can hear of it.
    pub(crate) fn end_soon(&self) {
        self.end_at(self.now_ns() + self.end_lead_ns);
    }

    /// Ends phases where another decided; false where an interval beyond such an end has begun.
    pub(crate) fn agree(&self, phases: PhaseOffsets) -> bool {
        let begun_ns = lock(&self.begun_ns);
        let is_past = |end_ns: u64, known_ns: u64| end_ns < known_ns.min(*begun_ns);
        let is_late = is_past(phases.warmup_end_ns, self.warmup_ns())
            || is_past(phases.window_end_ns, self.end_ns());
        if !is_late {
            self.warmup_ns.fetch_min(phases.warmup_end_ns, Ordering::Relaxed);
        }
        self.end_at(phases.window_end_ns);
        !is_late
    }

    /// Ends the window earlier, wherever workers are.
    pub(crate) fn end_at(&self, at_ns: u64) {
        self.end_ns.fetch_min(at_ns, Ordering::Relaxed);
    }

    pub(crate) fn drain_end_ns(&self) -> u64 {
        self.end_ns() + self.drain_ns.load(Ordering::Relaxed)
    }

    /// Waits no longer than that for what is under way.
    pub(crate) fn drain_within(&self, real: Duration) {
        self.drain_ns.fetch_min(ns(clock::dilated(real)), Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.now_ns() >= self.end_ns() || self.aborted()
    }

    pub(crate) fn abort(&self) {
        self.aborted.store(true, Ordering::Relaxed);
        self.end_at(self.now_ns());
    }

    /// Is the run cut, so that nobody waits for transactions under way?
    pub fn aborted(&self) -> bool {
        self.aborted.load(Ordering::Relaxed)
    }

    pub(crate) fn connected(&self) {
        self.connected.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn disconnected(&self) {
        self.connected.fetch_sub(1, Ordering::Relaxed);
    }

    /// Connections that are open now.
    pub(crate) fn connections(&self) -> u32 {
        self.connected.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::{PhaseOffsets, Schedule};
    use crate::interval::Phase;
    use crate::interval::Phase::{Drain, Warmup, Window};
    use crate::recorder::Recorder;
    use base::{Instant, lock};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    fn schedule() -> Arc<Schedule> {
        Arc::new(Schedule::new(Instant::now(), 10_000..30_000, 1_000))
    }

    /// (phase, start, end) of the intervals so far.
    fn seen(recorder: &mut Recorder, now_ns: u64) -> Vec<(Phase, u64, u64)> {
        let all = recorder.finish(now_ns);
        all.iter().map(|i| (i.phase, i.start_offset_ns, i.end_offset_ns)).collect()
    }

    #[test]
    fn a_phase_ends_with_the_interval_under_way() {
        let schedule = schedule();
        let mut recorder = Recorder::new(&[], &schedule);
        recorder.advance(1_001);
        schedule.end_phase(Warmup, 1_002);
        assert_eq!((schedule.warmup_ns(), schedule.end_ns()), (2_000, 22_000));
        recorder.advance(2_500);
        // It is over: another word on it says nothing of the window.
        schedule.end_phase(Warmup, 2_500);
        assert_eq!((schedule.warmup_ns(), schedule.end_ns()), (2_000, 22_000));
        schedule.end_phase(Window, 2_999);
        assert_eq!(schedule.end_ns(), 3_000);
        let expected = [
            (Warmup, 0, 1_000),
            (Warmup, 1_000, 2_000),
            (Window, 2_000, 3_000),
            (Drain, 3_000, 3_100),
        ];
        assert_eq!(seen(&mut recorder, 3_100), expected);
    }

    #[test]
    fn no_interval_that_was_begun_is_cut() {
        let schedule = schedule();
        let (mut fast, mut slow) = (Recorder::new(&[], &schedule), Recorder::new(&[], &schedule));
        fast.advance(5_000);
        // This thread read the clock before the other began the next interval.
        schedule.end_phase(Warmup, 4_999);
        assert_eq!(schedule.warmup_ns(), 6_000);
        let ends = |recorder: &mut Recorder| {
            let all = seen(recorder, 6_500);
            all.iter().map(|i| i.2).collect::<Vec<_>>()
        };
        let expected = [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 6_500];
        assert_eq!(ends(&mut slow), expected);
        assert_eq!(ends(&mut fast), expected);
    }

    #[test]
    fn late_workers_do_not_end_a_phase_in_the_past() {
        let late = schedule();
        let _recorder = Recorder::new(&[], &late);
        late.end_phase(Warmup, 3_000);
        assert_eq!(late.warmup_ns(), 4_000);
        // Of a phase that has not begun there is nothing to end.
        late.end_phase(Window, 3_500);
        assert_eq!(late.end_ns(), 24_000);
        late.end_phase(Drain, 3_500);
        late.end_phase(Warmup, 9_800);
        assert_eq!((late.warmup_ns(), late.end_ns()), (4_000, 24_000));
        // Nor is anything ended later than it was to end.
        let stopped = schedule();
        stopped.end_at(2_000);
        stopped.end_phase(Warmup, 3_000);
        assert!(stopped.end_ns() == 2_000 && stopped.warmup_ns() >= 2_000);
    }

    #[test]
    fn an_end_that_another_decided_comes_before_what_was_begun() {
        let ends = |warmup_end_ns, window_end_ns| PhaseOffsets { warmup_end_ns, window_end_ns };
        let followed = schedule();
        let mut recorder = Recorder::new(&[], &followed);
        recorder.advance(2_500);
        assert!(followed.agree(ends(4_000, 20_000)));
        assert_eq!((followed.warmup_ns(), followed.end_ns()), (4_000, 20_000));
        // An interval beyond either has begun.
        recorder.advance(6_500);
        assert!(!followed.agree(ends(4_000, 6_000)));
        assert!(!schedule_begun_to(5_500).agree(ends(3_000, 20_000)));
    }

    fn schedule_begun_to(now_ns: u64) -> Arc<Schedule> {
        let schedule = schedule();
        Recorder::new(&[], &schedule).advance(now_ns);
        schedule
    }

    /// Four workers that hurry through their intervals while phases are ended: all have the same
    /// ones.
    #[test]
    fn workers_agree_whenever_a_phase_ends() {
        for round in 0..200 {
            let schedule = Arc::new(Schedule::new(Instant::now(), 50_000..100_000, 1_000));
            let is_done = AtomicBool::new(false);
            let all: Vec<Vec<(Phase, u64, u64)>> = thread::scope(|scope| {
                let worker = || {
                    let mut recorder = Recorder::new(&[], &schedule);
                    let mut now_ns = 0;
                    while now_ns < 120_000 {
                        now_ns += 700;
                        recorder.advance(now_ns);
                    }
                    is_done.store(true, Ordering::Relaxed);
                    seen(&mut recorder, 120_000)
                };
                let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
                // The end of the warm-up comes anywhere in it.
                let wanted = round * 250;
                while *lock(&schedule.begun_ns) < wanted && !is_done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                schedule.end_phase(Warmup, wanted);
                workers.into_iter().map(|worker| worker.join().unwrap()).collect()
            });
            assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
            let joined = all[0].windows(2).all(|pair| pair[0].2 == pair[1].1);
            let window: u64 = all[0].iter().filter(|i| i.0 == Window).map(|i| i.2 - i.1).sum();
            assert!(joined && window == 50_000, "{window}: {:?}", all[0]);
        }
    }
}
