//! Statements and CPU time of one thread over a window, and Ctrl-C.
//!
//! A thread measures itself: only its own CPU clock tells its cost where the server's stand-in lives in this process.

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
pub fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// How long a thread warms up and is then measured.
#[derive(Clone, Copy)]
pub struct Span {
    pub warmup: Duration,
    pub window: Duration,
}

/// What was counted in a window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    pub statements: u64,
    pub cpu_ns: u64,
    pub statements_per_s: f64,
}

impl Measured {
    pub fn cpu_us_per_statement(&self) -> f64 {
        self.cpu_ns as f64 / 1e3 / self.statements.max(1) as f64
    }

    pub fn statements_per_cpu_s(&self) -> f64 {
        1e6 / self.cpu_us_per_statement().max(f64::MIN_POSITIVE)
    }

    /// With another thread's share of the same load.
    pub fn and(self, other: Measured) -> Measured {
        Measured {
            statements: self.statements + other.statements,
            cpu_ns: self.cpu_ns + other.cpu_ns,
            statements_per_s: self.statements_per_s + other.statements_per_s,
        }
    }
}

/// A moment of a thread.
#[derive(Clone, Copy)]
pub struct Reading {
    at: Instant,
    cpu_ns: u64,
    statements: u64,
}

impl Reading {
    pub fn now(statements: u64) -> Reading {
        Reading {
            at: Instant::now(),
            cpu_ns: thread_cpu_ns(),
            statements,
        }
    }

    pub fn until(&self, end: &Reading) -> Measured {
        let statements = end.statements - self.statements;
        let seconds = (end.at - self.at).as_secs_f64();
        Measured {
            statements,
            cpu_ns: end.cpu_ns - self.cpu_ns,
            statements_per_s: statements as f64 / seconds.max(f64::MIN_POSITIVE),
        }
    }
}

/// Counts a thread's statements and tells it when its window is over.
pub struct Meter {
    warm_at: Instant,
    window: Duration,
    statements: u64,
    looked_at: u64,
    begin: Option<Reading>,
    end: Option<Reading>,
}

impl Meter {
    pub fn start(span: Span) -> Meter {
        Meter {
            warm_at: Instant::now() + span.warmup,
            window: span.window,
            statements: 0,
            looked_at: 0,
            begin: None,
            end: None,
        }
    }

    /// Counts statements that were answered; false where it is time to end.
    #[inline]
    pub fn answered(&mut self, statements: u64) -> bool {
        self.statements += statements;
        self.statements - self.looked_at < LOOK_EVERY || self.look()
    }

    fn look(&mut self) -> bool {
        self.looked_at = self.statements;
        let now = Instant::now();
        match self.begin {
            None if now >= self.warm_at => self.begin = Some(Reading::now(self.statements)),
            Some(begin) if now >= begin.at + self.window => {
                self.end = Some(Reading::now(self.statements));
            }
            _ => {}
        }
        self.end.is_none() && !interrupted()
    }

    /// What the window gave; none where it was cut.
    pub fn measured(&self) -> Option<Measured> {
        Some(self.begin?.until(&self.end?))
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
