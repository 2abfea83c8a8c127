//! Who else drives a run: partners, each of whom carries a share of the connections in another
//! process, and the one who leads them.

use crate::abort::{Abort, RunError};
use crate::breakdown::Breakdown;
use crate::client::{Failed, PerType};
use crate::interval::Interval;
use crate::schedule::{PhaseOffsets, Schedule};
use crate::totals::Totals;
use base::Instant;
use std::time::Duration;

/// Between the word that a run starts and its start: the word has to reach all partners by then.
pub(crate) const START_LEAD: Duration = Duration::from_millis(250);

/// Who takes part in a run beside this process.
pub enum Company<'a> {
    /// Nobody.
    Alone,
    /// Partners, who begin and end as this process says.
    Leads(Vec<Box<dyn Partner + 'a>>),
    /// Another, who leads: asked for the start once all connections of this process are open.
    Follows(&'a mut dyn FnMut() -> Result<Instant, RunError>),
}

/// Who drives a share of the connections elsewhere, and reports like a worker. Called on a thread
/// of its own.
pub trait Partner: Send {
    /// Has it open its connections; returns when all are open, or soon after `is_cancelled`.
    ///
    /// # Errors
    /// Why they cannot be opened.
    fn open(&mut self, is_cancelled: &dyn Fn() -> bool) -> Result<(), Failed>;

    /// The run that it has opened its connections for does not come.
    fn cancel(&mut self);

    /// Has it drive, and reports what comes of that, its share last.
    ///
    /// # Errors
    /// Why the run cannot go on without it.
    fn drive(
        &mut self,
        schedule: &CommonSchedule<'_>,
        report: &mut dyn FnMut(PartnerReport),
    ) -> Result<PartnerEnd, Abort>;
}

/// What a partner reports.
pub enum PartnerReport {
    /// One that is over on all of its workers. They come in order.
    Interval(Box<Interval>),
    Share(Box<DrivenShare>),
}

/// How a partner ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartnerEnd {
    /// It has reported its share.
    Finished,
    /// It is gone, and the run goes on without it.
    Gone,
}

/// What a worker, or all of a partner's, did in the whole run.
#[derive(Clone, Debug, Default)]
pub struct DrivenShare {
    pub totals: Totals,
    pub breakdowns: PerType<Breakdown>,
    /// Transactions that were still under way at the end.
    pub abandoned: usize,
    /// CPU time of the partner's process over the window; 0 of a worker, whose process is read as a
    /// whole.
    pub client_cpu_ns: u64,
}

/// The times of a run, for a partner.
pub struct CommonSchedule<'a>(pub(crate) &'a Schedule);

impl CommonSchedule<'_> {
    pub fn start(&self) -> Instant {
        self.0.start()
    }

    pub fn phases(&self) -> PhaseOffsets {
        PhaseOffsets { warmup_end_ns: self.0.warmup_ns(), window_end_ns: self.0.end_ns() }
    }

    /// Is the run cut, so that nobody waits for transactions under way?
    pub fn is_aborted(&self) -> bool {
        self.0.aborted()
    }

    /// Time since everybody should have ended; none before.
    pub fn past_drain(&self) -> Duration {
        Duration::from_nanos(self.0.now_ns().saturating_sub(self.0.drain_end_ns()))
    }
}
