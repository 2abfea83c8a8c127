//! Who else drives a run: partners, each of whom carries a share of the connections in another
//! process, and the one who leads them.

use crate::breakdown::Breakdown;
use crate::client::{Failed, PerType};
use crate::interval::Interval;
use crate::options::{Abort, RunError};
use crate::schedule::Schedule;
use crate::totals::Totals;
use base::Instant;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Between the word that a run starts and its start: the word has to reach all partners by then.
pub(crate) const START_LEAD: Duration = Duration::from_millis(250);

/// Other processes that drive the same run.
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

    /// Has it drive, and reports each interval that is over on all of its workers, in order.
    fn drive(&mut self, schedule: &Schedule, report: &mut dyn FnMut(Interval)) -> PartnerEnd;
}

/// How a partner ended.
pub enum PartnerEnd {
    /// It has driven its share.
    Finished(Box<DrivenShare>),
    /// It is gone, and why the run cannot go on without it, where that is so.
    Gone(Option<Abort>),
}

/// What a worker, or all of a partner's, did in the whole run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DrivenShare {
    pub totals: Totals,
    pub breakdowns: PerType<Breakdown>,
    /// Transactions that were still under way at the end.
    pub abandoned: usize,
    /// CPU time of the partner's process over the window; 0 of a worker, whose process is read as a
    /// whole.
    pub client_cpu_ns: u64,
}
