//! What came of proposals.

use crate::gain::WholeGain;
use crate::judge::JudgedProposal;
use advise::VariableChange;
use serde::Serialize;

/// What came of all proposals.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AdviceProof {
    /// Of the results file.
    pub lab_id: Option<i64>,
    pub dilation: f64,
    /// The user ended it: what was decided holds.
    pub interrupted: bool,
    /// What else ended it before its end.
    pub ended_by: Option<String>,
    pub error_rate: f64,
    pub gain_min_percent: f64,
    /// In the order of expected gains.
    pub proposals: Vec<ProvenFinding>,
    /// All kept proposals against the start; `None` where none was kept.
    pub whole: Option<WholeGain>,
    /// All that was proposed and runs against the start; `None` where nothing did.
    pub proposed: Option<WholeGain>,
    /// All that was proposed gave more than what was kept, so that what was dropped for no gain was
    /// measured anew.
    pub measured_anew: bool,
    /// It gave more than what was kept after that too.
    pub better_together: bool,
    /// For the section `[mysqld]` of the option file.
    pub option_lines: Vec<String>,
}

/// A proposal and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProvenFinding {
    pub rule: &'static str,
    pub title: &'static str,
    pub changes: Vec<VariableChange>,
    /// `None` where it was not measured.
    pub judged: Option<JudgedProposal>,
    /// Why it was not measured.
    pub left_out: Option<String>,
}

impl AdviceProof {
    /// Was anything measured?
    pub(crate) fn is_begun(&self) -> bool {
        self.proposals.iter().any(|of| of.judged.is_some())
    }
}
