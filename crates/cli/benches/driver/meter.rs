//! Statements and CPU time of one thread over a window, and Ctrl-C.

use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Statements between two looks at the clock: often enough for slow threads, too seldom to cost.
const LOOK_EVERY: u64 = 16;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Was Ctrl-C pressed?
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Makes Ctrl-C and SIGTERM end the bench in good order, its servers and commands included.
pub fn catch_interrupts() -> anyhow::Result<()> {
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed))?;
    Ok(())
}

/// CPU time of the calling thread so far.
fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// How long a thread warms up and is then measured.
#[derive(Clone, Copy)]
pub struct Span {
    pub warmup: Duration,
    pub window: Duration,
}

/// A moment of a thread.
#[derive(Clone, Copy)]
struct Reading {
    at: Instant,
    cpu_ns: u64,
    statements: u64,
}

/// Counts a thread's statements and tells it when its window is over.
pub struct Meter {
    warm_at: Instant,
    window: Duration,
    statements: u64,
    begin: Option<Reading>,
    end: Option<Reading>,
}

impl Meter {
    pub fn start(span: Span) -> Meter {
        Meter {
            warm_at: Instant::now() + span.warmup,
            window: span.window,
            statements: 0,
            begin: None,
            end: None,
        }
    }

    /// Counts a statement that was answered; false where it is time to end.
    #[inline]
    pub fn answered(&mut self) -> bool {
        self.statements += 1;
        !self.statements.is_multiple_of(LOOK_EVERY) || self.look()
    }

    fn look(&mut self) -> bool {
        let at = Instant::now();
        let reading = |statements| Reading { at, cpu_ns: thread_cpu_ns(), statements };
        match self.begin {
            None if at >= self.warm_at => self.begin = Some(reading(self.statements)),
            Some(begin) if at >= begin.at + self.window => {
                self.end = Some(reading(self.statements));
            }
            _ => {}
        }
        self.end.is_none() && !interrupted()
    }

    /// CPU time of a statement in the window; none where that was cut.
    pub fn cpu_us_per_statement(&self) -> Option<f64> {
        let (begin, end) = (self.begin?, self.end?);
        let cpu_us = (end.cpu_ns - begin.cpu_ns) as f64 / 1e3;
        Some(cpu_us / (end.statements - begin.statements) as f64)
    }
}

/// The middle one; the mean of the two in the middle where there are two. None of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let high = *sorted.get(sorted.len() / 2)?;
    let low = *sorted.get((sorted.len() - 1) / 2)?;
    Some(f64::midpoint(low, high))
}
