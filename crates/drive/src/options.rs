//! How to run, and why a run does not come to its end, or not to be.

use crate::client::Failed;
use crate::pace::Pace;
use base::Exit;
use serde::{Deserialize, Serialize};
use spec::Pauses;
use std::time::Duration;

/// How to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    pub connections: u32,
    /// Threads of this process that carry connections; at least 1.
    pub workers: u32,
    /// Which of all workers these are, where partners have others; `connections` are those of all.
    pub place: Option<WorkerPlace>,
    /// The longest that each may be: [`Control::EndPhase`](crate::Control::EndPhase) ends it
    /// earlier.
    pub warmup: Duration,
    pub window: Duration,
    pub interval: Duration,
    pub pace: Pace,
    pub pauses: Pauses,
    pub seed: u64,
}

impl RunOptions {
    /// Is none of its times one that no run has, so that sums of them are times, too? Pauses have a
    /// bound where they are made.
    pub fn is_consistent(&self) -> bool {
        const DECADE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
        let mut times = vec![self.warmup, self.window, self.interval];
        if let Pace::Terminals(of) = &self.pace {
            times.extend(of.keying.iter().chain(&of.think_mean));
        }
        times.iter().all(|time| *time <= DECADE)
    }
}

/// The workers of one process among those of all who drive a run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerPlace {
    /// The number of its first worker, from 0.
    pub first: u32,
    /// Workers of all processes; at most as many as there are connections.
    pub workers_of_all: u32,
}

/// Why a run is ended before its time, where it was not the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abort {
    pub cause: AbortCause,
    /// For people.
    pub reason: String,
}

/// The kinds of [`Abort`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AbortCause {
    ServerGone,
    /// Every transaction fails.
    Useless,
    /// One that drives a share of the connections is gone, or late.
    PartnerLost,
}

/// Why there was no run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot open {connections} connections: {}", failed.message)]
    Open { connections: u32, failed: Failed },
    #[error("interrupted before all connections were open")]
    Interrupted,
    #[error("{0}")]
    Aborted(String),
    #[error("a worker thread failed: {0}; check the limits of open files and memory")]
    Worker(std::io::Error),
    #[error("{0}")]
    PartnerLost(String),
}

impl RunError {
    /// What the shell is told.
    pub fn exit(&self) -> Exit {
        match self {
            RunError::Interrupted => Exit::Interrupted,
            RunError::Aborted(_) => Exit::ServerFailed,
            RunError::Open { .. } | RunError::Worker(_) | RunError::PartnerLost(_) => {
                Exit::Environment
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RunOptions;
    use crate::client::per_type;
    use crate::pace::{Pace, Terminals};
    use std::time::Duration;

    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

    #[test]
    fn no_run_takes_longer_than_a_decade() {
        let terminals = |keying, think| {
            Pace::Terminals(Terminals {
                keying: per_type([keying]),
                think_mean: per_type([think]),
                count: 1,
                deck_size: 1,
            })
        };
        for (years, is_consistent) in [(9, true), (11, false)] {
            let time = years * YEAR;
            for options in [
                RunOptions { warmup: time, ..RunOptions::default() },
                RunOptions { window: time, ..RunOptions::default() },
                RunOptions { interval: time, ..RunOptions::default() },
                RunOptions { pace: terminals(time, YEAR), ..RunOptions::default() },
                RunOptions { pace: terminals(YEAR, time), ..RunOptions::default() },
            ] {
                assert_eq!(options.is_consistent(), is_consistent, "{options:?}");
            }
        }
    }
}
