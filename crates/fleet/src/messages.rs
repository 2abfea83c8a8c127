//! What ranks say to each other.

use crate::auth::Nonce;
use crate::encode::{IntervalFrame, ShareFrame};
use serde::{Deserialize, Serialize};

/// A rank to the leader.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToLeader {
    /// The number of the order that it is about; 0 of none. A late word on an order that was
    /// cancelled is not taken for one on the next.
    pub(crate) order: u32,
    pub(crate) word: Word,
}

/// What a rank says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Word {
    /// The first one.
    Hello {
        version: String,
        rank: u32,
        size: u32,
        nonce: Nonce,
    },
    Proof {
        proof: Vec<u8>,
        agreement: Agreement,
        about: RankAbout,
    },
    /// What time is it?
    Ping,
    /// All its connections are open; its clock may be wrong by so much.
    Opened {
        clock_error_ns: u64,
    },
    OpenFailed(String),
    Interval(Box<IntervalFrame>),
    /// The last word on a run.
    Share(Box<ShareFrame>),
    /// Its part is loaded.
    Loaded,
    /// It cannot go on, and why.
    Failed(String),
    /// Its user asked it to stop.
    StopAsked,
    /// Nothing else to say.
    Alive,
}

/// The leader to a rank.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToFollower {
    Challenge {
        nonce: Nonce,
    },
    /// Another try is of no use.
    Refused(String),
    /// To one that has proven itself, with the leader's proof.
    Welcome {
        proof: Vec<u8>,
    },
    /// By the leader's clock, in ns.
    Pong {
        now_ns: u64,
    },
    Run {
        order: u32,
        job: Box<RunJob>,
    },
    /// Load its part of a schema, by number.
    Load {
        order: u32,
        schema: u32,
    },
    /// By the leader's clock, in ns.
    Start {
        at_ns: u64,
    },
    /// Ends of phases, in ns from the start of the run.
    Phases {
        warmup_end_ns: u64,
        window_end_ns: u64,
    },
    /// End what was ordered at once.
    Abort {
        order: u32,
    },
    /// All is done; the exit code of rank 0.
    End {
        exit_code: u8,
    },
}

/// What all ranks have to agree on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    /// `run`, `ramp` or `load`.
    pub command: String,
    /// Of what is measured ([`spec::Cell::key`]) or loaded.
    pub key: String,
}

/// What a rank tells of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RankAbout {
    pub(crate) host: String,
    /// Driver threads that it is to have.
    pub(crate) threads: u32,
}

/// A run, as a rank is to drive it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunJob {
    /// Of all ranks.
    pub connections: u32,
    pub workers: u32,
    pub first_worker: u32,
    pub workers_of_all: u32,
    pub warmup_ns: u64,
    pub window_ns: u64,
    pub interval_ns: u64,
    pub retry_pause_ns: u64,
    pub pace: JobPace,
    /// Of pauses and arrivals.
    pub seed: u64,
    /// Of the inputs.
    pub input_seed: u64,
}

/// When transactions come; a rank knows terminals' times from its own workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum JobPace {
    Closed,
    /// Of all ranks, per second.
    Arrivals {
        per_s: f64,
    },
    Terminals,
}

/// What a rank used in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankUsage {
    /// Of the process.
    pub cpu_ns: u64,
    /// Time that the driver's threads were ready to run while no core was free.
    pub run_wait_ns: u64,
    /// Of the machine, in and out, without loopback.
    pub network_bytes: u64,
}

/// Why a rank ended its part before the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RankAbort {
    pub(crate) cause: RankAbortCause,
    pub(crate) reason: String,
}

/// What [`drive::AbortCause`] is between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RankAbortCause {
    ServerGone,
    Useless,
    /// The rank itself is of no use.
    Rank,
}
