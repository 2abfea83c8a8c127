//! Why there is no fleet.

use base::Exit;
use std::io;

pub type FleetResult<T> = Result<T, FleetError>;

/// What stops a fleet before or between its runs.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// Something about the command line or the environment.
    #[error("{0}")]
    Usage(String),
    #[error("cannot listen at {address} for the other ranks: {error}; name another with --join")]
    Listen { address: String, error: io::Error },
    #[error(
        "{} of {size} ranks did not come within {waited_s} s: {}; see that all were started, and \
         reach {address}",
        missing.len(), listed(missing)
    )]
    Missing { missing: Vec<u32>, size: u32, waited_s: u64, address: String },
    #[error("no rank 0 answers at {address}: {why}; see that it was started, or name it by --join")]
    NoLeader { address: String, why: String },
    /// Both sides say it.
    #[error("rank {rank} is refused: {why}")]
    Refused { rank: u32, why: String },
    #[error("{who} is lost: {why}")]
    Lost { who: String, why: String },
    #[error("interrupted")]
    Interrupted,
}

fn listed(ranks: &[u32]) -> String {
    ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

impl FleetError {
    /// What the shell is told.
    pub fn exit(&self) -> Exit {
        match self {
            FleetError::Usage(_) => Exit::Usage,
            FleetError::Interrupted => Exit::Interrupted,
            // Machines, networks and processes that are not there.
            FleetError::Listen { .. }
            | FleetError::Missing { .. }
            | FleetError::NoLeader { .. }
            | FleetError::Refused { .. }
            | FleetError::Lost { .. } => Exit::Environment,
        }
    }
}
