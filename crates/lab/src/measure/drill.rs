//! The fault of a drill, how the server takes it, and what was acknowledged until then.

use crate::error::{LabResult, WhileDoing, unfit};
use crate::target::sessions::with_session;
use crate::target::subject::Subject;
use base::{Random, clock};
use device::page::Global;
use drive::RunReport;
use drive::streams::END_OF_SERVER;
use server::Instance;
use spec::Fault;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use store::StoredDrill;
use tpcc::Witness;
use wire::Connector;

/// The server is ended so long before the window is over, while all connections are at work.
const BEFORE_THE_END: Duration = Duration::from_millis(5);
/// The shortest part of a window after which the fault comes.
const LEAST_SHARE: f64 = 0.5;
/// A fault of devices is there so long, to the end of the load.
const DEVICE_FAULT: Duration = Duration::from_secs(10);

/// What a measurement that is a drill has beside others.
#[derive(Debug)]
pub(crate) struct Drill {
    pub(crate) fault: Fault,
    pub(crate) witness: Arc<Witness>,
    has_struck: Arc<AtomicBool>,
}

impl Drill {
    /// # Errors
    /// Where the database does not tell what it has.
    pub(crate) fn of(fault: Fault, database: &Connector) -> LabResult<Drill> {
        with_session(database, async |session| {
            let witness = Witness::begin(session).await.doing("asking for what is there")?;
            let has_struck = Arc::new(AtomicBool::new(false));
            Ok(Drill { fault, witness: Arc::new(witness), has_struck })
        })
    }

    /// Has the fault come?
    pub(crate) fn has_struck(&self) -> bool {
        self.has_struck.load(Ordering::Relaxed)
    }

    /// The window: to the fault, and where the server may outlive it, as long as it is there.
    pub(crate) fn window(&self, asked: Duration, seed: u64) -> Duration {
        before_fault(asked, seed) + self.fault.of_device().map_or(Duration::ZERO, |_| DEVICE_FAULT)
    }

    /// Lets the fault come, near the end of a run that takes so long and starts now.
    pub(crate) fn strike_in(&self, subject: &Subject, run: Duration) {
        let Some(instance) = subject.instance() else { return };
        let (fault, page) = (self.fault.of_device(), subject.pages().next().cloned());
        let before_end = fault.map_or(BEFORE_THE_END, |_| clock::real(DEVICE_FAULT));
        let delay = clock::real(run).saturating_sub(before_end);
        // A run that is interrupted has its server stopped and removed before that.
        let instance = Arc::downgrade(instance);
        let has_struck = Arc::clone(&self.has_struck);
        // Without a thread the server is ended where the load is over, which is a drill, too.
        let striking = move || {
            thread::sleep(delay);
            if let Some(instance) = instance.upgrade() {
                has_struck.store(true, Ordering::Relaxed);
                // What cannot be killed is told when it is killed again; and what was not told of
                // its fault is not taken for a drill.
                match (fault, page) {
                    (Some(fault), Some(page)) => drop(page.set_fault(Some(fault))),
                    _ => drop(instance.kill()),
                }
            }
        };
        drop(thread::Builder::new().name("drill".to_owned()).spawn(striking));
    }

    /// Stores what a server did of a fault of its devices, and mends them before it is killed.
    ///
    /// # Errors
    /// Where the fault never came.
    pub(crate) fn react(
        &self,
        subject: &Subject,
        instance: &Instance,
        report: &RunReport,
        stored: &mut StoredDrill,
    ) -> LabResult<()> {
        let (Some(fault), Some(page)) = (self.fault.of_device(), subject.pages().next()) else {
            return Ok(());
        };
        if page.snapshot()?.global(Global::Fault) != fault.word() {
            return Err(unfit("the server could not be told of its fault"));
        }
        let ended = subject.ended();
        let reaction = match (&ended, report.abandoned) {
            (Some(_), _) => "stopped",
            (None, 0) => "kept running",
            (None, _) => "hung",
        };
        stored.reaction = Some(reaction.to_owned());
        stored.client_errors = Some(report.totals.errors);
        stored.said = instance.errors().or(ended);
        instance.kill()?;
        Ok(page.set_fault(None)?)
    }
}

/// The part of a window until the fault, by the seed of the inputs.
fn before_fault(asked: Duration, seed: u64) -> Duration {
    let drawn = Random::new(seed, &[END_OF_SERVER]).unit();
    asked.mul_f64(LEAST_SHARE + (1.0 - LEAST_SHARE) * drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drill_ends_in_the_second_half_of_the_window_by_its_seed() {
        let asked = Duration::from_secs(4);
        let windows: Vec<Duration> = (0..50).map(|seed| before_fault(asked, seed)).collect();
        assert!(windows.iter().all(|one| (asked / 2..asked).contains(one)), "{windows:?}");
        assert_eq!(windows[7], before_fault(asked, 7));
        assert!(windows.iter().any(|one| *one != windows[0]));
    }
}
