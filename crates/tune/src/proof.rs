//! What came of proposals, and the order in which they are measured.

use crate::gain::WholeGain;
use crate::judge::{JudgedProposal, ProposalVerdict};
use crate::settings::{Settings, changes, with};
use advise::{Finding, VariableChange};
use serde::Serialize;

/// What came of all proposals.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AdviceProof {
    /// Of the results file.
    pub lab_id: Option<i64>,
    pub dilation: f64,
    /// The user ended it: what is said of earlier proposals holds.
    pub interrupted: bool,
    /// What else ended it before its end.
    pub ended_by: Option<String>,
    pub error_rate: f64,
    pub gain_min_percent: f64,
    /// In the order in which they were measured first. One that was dropped before another was kept
    /// was measured twice: the second result counts.
    pub proposals: Vec<ProvenFinding>,
    /// All kept proposals against the start; `None` where none was kept.
    pub whole: Option<WholeGain>,
    /// For the section `[mysqld]` of the option file.
    pub option_lines: Vec<String>,
}

/// A proposal that is to be measured.
pub(crate) struct Step<'a> {
    pub name: &'a str,
    /// What is set without it.
    pub base: &'a Settings,
    /// What is set with it.
    pub other: &'a Settings,
    /// At most so many are measured after it.
    pub later: usize,
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
    /// Measures each proposal on top of those that were kept, but for those that are left out for
    /// a reason of `left_out`, and once more each that was dropped before another was kept: it may
    /// need the other. A larger redo log gains nothing while pages are written in a hurry for
    /// another reason. Returns what was kept.
    ///
    /// # Errors
    /// Of `judge`; the proof then has what was measured before.
    pub(crate) fn measure<E>(
        &mut self,
        findings: &[Finding],
        left_out: Vec<Option<String>>,
        mut judge: impl FnMut(&Step<'_>) -> Result<JudgedProposal, E>,
    ) -> Result<Settings, E> {
        let mut set = Settings::new();
        let all = findings.len();
        let mut kept_before = Vec::new();
        for ((finding, left_out), number) in findings.iter().zip(left_out).zip(1..) {
            let left_out = left_out.or_else(|| {
                let is_set = changes(finding, &set).is_empty();
                is_set.then(|| "another proposal, which was kept, sets it".to_owned())
            });
            kept_before.push(self.kept());
            let judged = match left_out {
                Some(_) => None,
                None => {
                    let name = format!("{} ({number} of {all})", finding.rule);
                    let later = 2 * all - number - self.kept();
                    Some(self.judge_on(&mut set, finding, (&name, later), &mut judge)?)
                }
            };
            self.proposals.push(ProvenFinding {
                rule: finding.rule,
                title: finding.title,
                changes: finding.changes.clone(),
                judged,
                left_out,
            });
        }
        for (index, finding) in findings.iter().enumerate() {
            let has_new_base = kept_before[index] < self.kept();
            if self.proposals[index].was_dropped()
                && has_new_base
                && !changes(finding, &set).is_empty()
            {
                let name = format!("{} ({} of {all}), once more", finding.rule, index + 1);
                let later = all - index - 1;
                let judged = self.judge_on(&mut set, finding, (&name, later), &mut judge)?;
                self.proposals[index].judged = Some(judged);
            }
        }
        Ok(set)
    }

    /// Measures a proposal on top of `set`, to which it is added if it is kept.
    fn judge_on<E>(
        &mut self,
        set: &mut Settings,
        finding: &Finding,
        (name, later): (&str, usize),
        judge: &mut impl FnMut(&Step<'_>) -> Result<JudgedProposal, E>,
    ) -> Result<JudgedProposal, E> {
        let more = changes(finding, set);
        let other = with(set, &more);
        let judged = judge(&Step { name, base: set, other: &other, later })?;
        if judged.verdict == ProposalVerdict::Kept {
            *set = other;
            let is_replaced = |line: &String| {
                let name = line.split(" = ").next().unwrap_or_default();
                more.contains_key(name)
            };
            self.option_lines.retain(|line| !is_replaced(line));
            self.option_lines.extend(finding.option_lines.iter().cloned());
        }
        Ok(judged)
    }

    fn kept(&self) -> usize {
        let is_kept = |of: &&ProvenFinding| of.verdict() == Some(ProposalVerdict::Kept);
        self.proposals.iter().filter(is_kept).count()
    }
}

impl ProvenFinding {
    fn verdict(&self) -> Option<ProposalVerdict> {
        self.judged.as_ref().map(|judged| judged.verdict)
    }

    /// It was measured, and helped nothing on what was kept then.
    fn was_dropped(&self) -> bool {
        matches!(self.verdict(), Some(ProposalVerdict::NoGain | ProposalVerdict::Harms))
    }
}

#[cfg(test)]
mod tests {
    use super::{AdviceProof, Step};
    use crate::judge::{JudgedProposal, ProposalVerdict};
    use advise::{Finding, Gain, VariableChange};
    use std::convert::Infallible;

    fn finding(rule: &'static str) -> Finding {
        let (current, proposed) = ("0".to_owned(), "1".to_owned());
        Finding {
            rule,
            topic: "",
            title: "",
            gain: Gain::Some,
            seen: String::new(),
            reason: "",
            source: "",
            changes: vec![VariableChange { variable: rule, current, proposed }],
            action: None,
            risks: Vec::new(),
            restart_needed: false,
            statements: Vec::new(),
            option_lines: vec![format!("{rule} = 1")],
        }
    }

    fn judged(helps: bool) -> Result<JudgedProposal, Infallible> {
        Ok(JudgedProposal {
            verdict: if helps { ProposalVerdict::Kept } else { ProposalVerdict::NoGain },
            pairs: 3,
            ratio: None,
            ratio_low: None,
            ratio_high: None,
            reason: None,
        })
    }

    #[test]
    fn what_needs_a_later_proposal_is_found_and_nothing_is_measured_thrice() {
        let findings = ["redo", "useless", "capacity", "late"].map(finding);
        let mut proof = AdviceProof::default();
        let mut names = Vec::new();
        let set = proof.measure(&findings, vec![None; 4], |step: &Step<'_>| {
            names.push(step.name.to_owned());
            // The log helps where the capacity is right, and "late" where the log is large.
            judged(match step.other.keys().find(|name| !step.base.contains_key(*name)) {
                Some(&"redo") => step.base.contains_key("capacity"),
                Some(&"late") => step.base.contains_key("redo"),
                Some(&"capacity") => true,
                _ => false,
            })
        });
        let set = set.unwrap_or_else(|never| match never {});
        let expected = [
            "redo (1 of 4)",
            "useless (2 of 4)",
            "capacity (3 of 4)",
            "late (4 of 4)",
            "redo (1 of 4), once more",
            "useless (2 of 4), once more",
            "late (4 of 4), once more",
        ];
        assert_eq!(names, expected);
        assert_eq!(set.into_keys().collect::<Vec<_>>(), ["capacity", "late", "redo"]);
        assert_eq!(proof.option_lines, ["capacity = 1", "redo = 1", "late = 1"]);
        assert_eq!(proof.kept(), 3);
    }

    #[test]
    fn without_a_new_base_nothing_is_measured_twice() {
        let findings = ["first", "second", "third"].map(finding);
        let left_out = vec![None, None, Some("it is not to be".to_owned())];
        let mut proof = AdviceProof::default();
        let mut measured = 0;
        let set = proof.measure(&findings, left_out, |step: &Step<'_>| {
            measured += 1;
            judged(step.name.starts_with("first"))
        });
        let set = set.unwrap_or_else(|never| match never {});
        assert_eq!((measured, set.len()), (2, 1));
        assert_eq!(proof.proposals[2].left_out.as_deref(), Some("it is not to be"));
    }
}
