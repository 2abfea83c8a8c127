//! Advice, proven: what a rule proposes is measured against what there is, on this server, this
//! device and this load, and kept where it helps. And a search, where rules do not reach.

mod course;
mod elimination;
mod gain;
mod halving;
mod judge;
mod proof;
mod prove;
mod search;
mod settings;
#[cfg(test)]
mod tests;

pub use gain::WholeGain;
pub use judge::{JudgeLimits, JudgedProposal, ProposalVerdict};
pub use proof::{AdviceProof, ProvenFinding};
pub use prove::{LookedAt, Prover};
pub use search::{Found, FoundCell, Objective, Search, SearchAsked};
