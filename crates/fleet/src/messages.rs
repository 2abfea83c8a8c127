//! What ranks say to each other.

use crate::auth::Nonce;
use drive::{Abort, DrivenShare, Interval, PhaseOffsets, RunOptions};
use serde::{Deserialize, Serialize};
use store::StoredRank;

/// A rank to the leader, before it has proven itself: nothing that takes more memory than the bytes
/// that it comes in.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Introduction {
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
}

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
    /// What time is it?
    Ping,
    /// All its connections are open; its clock may be wrong by so much.
    Opened {
        clock_error_ns: u64,
    },
    OpenFailed(String),
    Interval(Box<Interval>),
    /// The last word on a run.
    Share(Box<RankShare>),
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
    Challenge(Nonce),
    /// Another try is of no use.
    Refused(String),
    /// To one that has proven itself, with the leader's proof.
    Welcome(Vec<u8>),
    /// By the leader's clock, in ns.
    Pong {
        now_ns: u64,
    },
    Order {
        order: u32,
        what: RunOrder,
    },
    /// By the leader's clock, in ns.
    Start {
        at_ns: u64,
    },
    /// Ends of phases, in ns from the start of the run.
    Phases(PhaseOffsets),
    /// End what was ordered at once.
    Abort {
        order: u32,
    },
    /// All is done; the exit code of rank 0.
    End {
        exit_code: u8,
    },
}

/// What the leader wants of a rank next.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum RunOrder {
    Run(Box<RunJob>),
    /// Load its part of a schema, by number.
    Load {
        schema: u32,
    },
    /// Exit so. It does not travel as an order.
    #[serde(skip)]
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
    pub options: RunOptions,
    /// Of the inputs.
    pub input_seed: u64,
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

impl RankUsage {
    /// Into what is stored of the rank.
    pub fn tell(self, rank: &mut StoredRank) {
        rank.client_cpu_ns = self.cpu_ns;
        rank.run_wait_ns = self.run_wait_ns;
        rank.network_bytes = self.network_bytes;
    }
}

/// What a rank did in the whole run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RankShare {
    pub(crate) share: DrivenShare,
    pub(crate) usage: RankUsage,
    /// Between the agreed start and the moment at which the rank began.
    pub(crate) start_late_ns: u64,
    /// Why the rank ended its part before the time, where it did; [`AbortCause::PartnerLost`] where
    /// it is of no use itself.
    ///
    /// [`AbortCause::PartnerLost`]: drive::AbortCause::PartnerLost
    pub(crate) aborted: Option<Abort>,
}

#[cfg(test)]
mod tests {
    use super::{RankShare, RankUsage};
    use drive::{
        DrivenShare, FailedTries, Interval, Merge, Phase, Silence, Times, TransactionInfo,
    };

    const TYPES: &[TransactionInfo] = &[TransactionInfo {
        name: "new_order",
        is_primary: true,
        is_deferred: false,
        share: 1.0,
        row_bytes: None,
    }];

    fn travelled(interval: &Interval) -> Interval {
        let told = postcard::from_bytes(&postcard::to_stdvec(interval).unwrap()).unwrap();
        Interval { types: TYPES, ..told }
    }

    /// Merged percentiles equal those of one histogram of all operations.
    #[test]
    fn merging_what_travelled_is_exact() {
        let mut merged = Interval::new(TYPES, Phase::Window, 0..1_000_000_000);
        let mut whole = Times::default();
        for rank in 0..4u64 {
            let mut own = Interval::new(TYPES, Phase::Window, 0..1_000_000_000);
            let stats = &mut own.transactions[0];
            for at in 0..5_000u64 {
                let ns = 50_000 + (at * 7_919 + rank * 104_729) % 40_000_000;
                stats.latency.record(ns);
                whole.record(ns);
                stats.committed += 1;
            }
            let travelled = travelled(&own);
            assert!(travelled.is_consistent());
            assert_eq!(travelled.transactions[0].committed, 5_000);
            merged.transactions[0].latency.merge(&travelled.transactions[0].latency);
        }
        let latency = &merged.transactions[0].latency;
        assert_eq!((latency.count(), latency.sum_ns), (20_000, whole.sum_ns));
        for quantile in [0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
            assert_eq!(latency.at_quantile_ns(quantile), whole.at_quantile_ns(quantile));
        }
    }

    #[test]
    fn a_share_comes_as_it_went() {
        let mut share = DrivenShare { abandoned: 3, client_cpu_ns: 11, ..DrivenShare::default() };
        share.totals.committed[0] = 7;
        share.totals.in_doubt[0] = 1;
        share.totals.counters.0[2] = 9;
        let tries = FailedTries { occurrences: 2, first_message: "Deadlock found".to_owned() };
        share.totals.failed_tries.insert(("new_order", "1213".to_owned()), tries);
        let mut times = Times::default();
        times.record_coarsely(2_000_000);
        share.breakdowns[0].statements.push(("lock_stock", times));
        let usage = RankUsage { cpu_ns: 11, run_wait_ns: 12, network_bytes: 13 };
        let went = RankShare { share, usage, start_late_ns: 5, aborted: None };
        let bytes = postcard::to_stdvec(&went).unwrap();
        let came: RankShare = postcard::from_bytes(&bytes).unwrap();
        let (back, share) = (came.share, went.share);
        assert_eq!((came.usage, came.start_late_ns, back.client_cpu_ns), (usage, 5, 11));
        assert_eq!((back.totals.committed[0], back.totals.in_doubt[0], back.abandoned), (7, 1, 3));
        assert_eq!(back.totals.counters, share.totals.counters);
        assert_eq!(back.totals.failed_tries, share.totals.failed_tries);
        assert_eq!(back.breakdowns[0].statements[0].0, "lock_stock");
        assert_eq!(back.breakdowns[0].statements[0].1.count(), 1);
    }

    #[test]
    fn what_no_rank_says_is_not_understood() {
        let interval = Interval::new(TYPES, Phase::Window, 0..10);
        assert!(travelled(&interval).is_consistent());
        let silence = Silence { from_ns: 5, to_ns: 9, busy_from_ns: 4, ..Silence::default() };
        let odd = Interval { silences: vec![silence], ..interval.clone() };
        assert!(!travelled(&odd).is_consistent());
        assert!(!Interval { end_offset_ns: 0, start_offset_ns: 1, ..interval }.is_consistent());
        let mut of_another = Interval::new(TYPES, Phase::Window, 0..10);
        of_another.transactions[1].committed = 1;
        assert!(!travelled(&of_another).is_consistent());
        let decoded = |bytes: &[u8]| postcard::from_bytes::<Times>(bytes).is_ok();
        // No histogram, a sum, a maximum and a count; then with three bytes of a histogram.
        assert!(decoded(&[0, 0, 0, 0]));
        assert!(!decoded(&[1, 3, 1, 2, 3, 0, 0, 0]));
        assert!(postcard::from_bytes::<Phase>(&[9]).is_err());
    }

    /// Each histogram takes more memory than the bytes that it comes in.
    #[test]
    fn more_statements_than_there_are_are_refused() {
        let share = |statements: usize| {
            let mut share = DrivenShare::default();
            share.breakdowns[0].statements = vec![("lock_stock", Times::default()); statements];
            postcard::from_bytes::<DrivenShare>(&postcard::to_stdvec(&share).unwrap()).is_ok()
        };
        assert!(share(256) && !share(257));
    }

    #[test]
    fn an_interval_is_small() {
        let mut interval = Interval::new(TYPES, Phase::Window, 0..1_000_000_000);
        for at in 0..3_000u64 {
            interval.transactions[0].latency.record(1_000_000 + at * at * 7);
        }
        let bytes = postcard::to_stdvec(&interval).unwrap();
        assert!(bytes.len() < 8_000, "{}", bytes.len());
    }
}
