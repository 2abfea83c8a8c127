//! Advice, proven: what a rule proposes is measured against what there is, on this server, this
//! device and this load, and kept where it helps.

mod judge;
mod prove;
mod settings;

pub use judge::{JudgeLimits, JudgedProposal, ProposalVerdict};
pub use prove::{AdviceProof, LookedAt, ProvenFinding, Prover, WholeGain};
