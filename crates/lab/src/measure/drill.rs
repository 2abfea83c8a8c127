//! The fault that ends the server of a drill, and what was acknowledged until then.

use crate::error::LabError;
use crate::target::sessions::with_session;
use base::{Random, clock};
use drive::streams::END_OF_SERVER;
use server::Instance;
use spec::Fault;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tpcc::Witness;
use wire::Connector;

/// The server is ended so long before the window is over, while all connections are at work.
const BEFORE_THE_END: Duration = Duration::from_millis(5);
/// The shortest part of a window after which the server is ended.
const LEAST_SHARE: f64 = 0.5;

/// What a measurement that is a drill has beside others.
#[derive(Debug)]
pub(crate) struct Drill {
    pub(crate) fault: Fault,
    pub(crate) witness: Arc<Witness>,
}

impl Drill {
    /// # Errors
    /// Where the database does not tell what it has.
    pub(crate) fn of(fault: Fault, database: &Connector) -> Result<Drill, LabError> {
        with_session(database, async |session| {
            let witness = Witness::begin(session).await;
            let witness = witness
                .map_err(|error| LabError::Session { doing: "asking for what is there", error })?;
            Ok(Drill { fault, witness: Arc::new(witness) })
        })
    }
}

/// The window of a drill: a part of the one that was asked for, by the seed of the inputs.
pub(crate) fn window_of(asked: Duration, seed: u64) -> Duration {
    let drawn = Random::new(seed, &[END_OF_SERVER]).unit();
    asked.mul_f64(LEAST_SHARE + (1.0 - LEAST_SHARE) * drawn)
}

/// Ends a server near the end of a run that takes so long and starts now.
pub(crate) fn end_in(instance: &Arc<Instance>, run: Duration) {
    let delay = clock::real(run).saturating_sub(BEFORE_THE_END);
    // A run that is interrupted has its server stopped and removed before that.
    let instance = Arc::downgrade(instance);
    // Without a thread it is ended where the load is over, which is a drill, too.
    let killing = move || {
        thread::sleep(delay);
        if let Some(instance) = instance.upgrade() {
            // What cannot be killed is told when it is killed again.
            let _ = instance.kill();
        }
    };
    drop(thread::Builder::new().name("drill".to_owned()).spawn(killing));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drill_ends_in_the_second_half_of_the_window_by_its_seed() {
        let asked = Duration::from_secs(4);
        let windows: Vec<Duration> = (0..50).map(|seed| window_of(asked, seed)).collect();
        assert!(windows.iter().all(|one| (asked / 2..asked).contains(one)), "{windows:?}");
        assert_eq!(windows[7], window_of(asked, 7));
        assert!(windows.iter().any(|one| *one != windows[0]));
    }
}
