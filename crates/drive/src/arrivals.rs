//! An open loop: transactions come when the schedule says.

use crate::pace::{Arrivals, IntendedStarts, WorkerShare};
use crate::recorder::Recorder;
use crate::schedule::Schedule;
use base::limits;
use reactor::Queue;
use std::cell::RefCell;
use std::io;

/// The transactions of the schedule that are due, by intended start. Only that waits: what is to be
/// done is drawn when a connection is free.
pub(crate) struct Backlog {
    plan: RefCell<IntendedStarts>,
    due: Queue<u64>,
}

impl Backlog {
    pub(crate) fn new(arrivals: &Arrivals, share: WorkerShare, seed: u64) -> io::Result<Backlog> {
        Ok(Backlog {
            plan: RefCell::new(IntendedStarts::new(arrivals, share, seed)),
            due: Queue::new()?,
        })
    }

    /// Puts transactions into the queue when their time comes.
    pub(crate) async fn fill(&self, schedule: &Schedule, recorder: &RefCell<Recorder>) {
        loop {
            let next_ns = self.plan.borrow().next_ns();
            if next_ns >= schedule.end_ns() {
                return;
            }
            reactor::sleep_until(schedule.instant(next_ns)).await;
            // This task may have slept long: all that is due now comes at once, none is left out.
            self.offer_due(schedule.now_ns(), &mut recorder.borrow_mut());
        }
    }

    /// Puts what is due by `now_ns` into the queue.
    pub(crate) fn offer_due(&self, now_ns: u64, recorder: &mut Recorder) {
        let until_ns = now_ns.min(recorder.schedule.end_ns().saturating_sub(1));
        let mut plan = self.plan.borrow_mut();
        while plan.next_ns() <= until_ns {
            let intended_ns = plan.next_ns();
            recorder.offered(intended_ns);
            if self.due.len().0 < limits::QUEUE_MAX {
                recorder.came(intended_ns);
                self.due.push(intended_ns);
            } else {
                recorder.skipped(intended_ns);
            }
            plan.advance();
        }
    }

    /// The intended start of the next transaction and the moment at which a connection takes it;
    /// `None` once the window is over.
    pub(crate) async fn next(&self, recorder: &RefCell<Recorder>) -> Option<(u64, u64)> {
        while let Some(intended_ns) = self.due.pop().await {
            let mut recorder = recorder.borrow_mut();
            let now_ns = recorder.schedule.now_ns();
            if !recorder.schedule.is_over() {
                recorder.begun(intended_ns..now_ns);
                return Some((intended_ns, now_ns));
            }
            recorder.never_begun(intended_ns);
        }
        None
    }

    /// The window is over: what has not begun will not. May be called again.
    pub(crate) fn end(&self, recorder: &mut Recorder) {
        self.offer_due(u64::MAX, recorder);
        while let Some(intended_ns) = self.due.try_pop() {
            recorder.never_begun(intended_ns);
        }
        self.due.close();
    }
}
