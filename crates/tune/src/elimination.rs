//! Which proposals to keep: each is compared with its absence, while all others are set.
//!
//! This is backward elimination. Proposals that need each other are seen to help, as each is
//! measured beside the others; and one window with all of them is the other half of a pair for
//! each, so that a block of n proposals has n + 1 windows instead of 2n.

use crate::judge::{JudgeLimits, JudgedProposal, Looks, ProposalVerdict, decided};
use crate::proof::ProvenFinding;
use crate::settings::{Settings, changes};
use advise::Finding;
use analyse::PairedRatios;

/// Pairs with and without all that show no gain by themselves.
const GROUP_PAIRS_MAX: usize = 2;

/// The throughput of a window, above 0, or why there is none.
pub(crate) type Window = Result<f64, String>;

/// Settings that are to be measured side by side.
pub(crate) struct ProposalBlock {
    pub sets: Vec<Settings>,
    /// What is compared, for people.
    pub title: &'static str,
    /// Windows that are left, with those of this block, where every proposal takes all its pairs.
    /// More are left only where the settings beside one change late.
    pub windows_left: usize,
}

/// Measures a window of each set of a block.
pub(crate) trait Measure<E>: FnMut(ProposalBlock) -> Result<Vec<Window>, E> {}
impl<E, F: FnMut(ProposalBlock) -> Result<Vec<Window>, E>> Measure<E> for F {}

/// Proposals of which some are decided.
pub(crate) struct Elimination<'a> {
    pub limits: JudgeLimits,
    proposals: Vec<ComparedFinding<'a>>,
    /// Places of those that help, in the order in which that was found.
    kept: Vec<usize>,
    /// All that was proposed: the first set of all open ones that had a result.
    proposed: Option<Settings>,
}

struct ComparedFinding<'a> {
    finding: &'a Finding,
    looks: Looks,
    /// Why others have no result without it. It is measured when these are decided.
    needed: Option<String>,
    judged: Option<JudgedProposal>,
    /// Why it is not measured.
    left_out: Option<String>,
}

impl<'a> Elimination<'a> {
    /// None of the findings is decided, but for those that are left out for a reason.
    pub(crate) fn new(
        limits: JudgeLimits,
        findings: &'a [Finding],
        left_out: Vec<Option<String>>,
    ) -> Elimination<'a> {
        let proposal = |(finding, left_out)| {
            let looks = Looks::default();
            ComparedFinding { finding, looks, needed: None, judged: None, left_out }
        };
        let proposals = findings.iter().zip(left_out).map(proposal).collect();
        Elimination { limits, proposals, kept: Vec::new(), proposed: None }
    }

    /// Measures a block, unless all proposals are decided. `measure` gives a window for each set.
    ///
    /// # Errors
    /// Of `measure`; what was decided before holds.
    pub(crate) fn block<E>(&mut self, measure: &mut impl Measure<E>) -> Result<bool, E> {
        let open = self.open();
        let is_free = |place: &usize| self.proposals[*place].needed.is_none();
        let mut asked: Vec<usize> = open.iter().copied().filter(is_free).collect();
        if asked.is_empty() {
            asked.clone_from(&open);
        }
        if asked.is_empty() {
            return Ok(false);
        }
        let mut sets = vec![self.set(&open, None)];
        sets.extend(asked.iter().map(|left| self.set(&open, Some(*left))));
        let mut without = self.measured(&sets, &open, measure)?;
        let [all, _] = without.remove(0);
        match all {
            Ok(_) => {
                self.proposed.get_or_insert_with(|| sets.swap_remove(0));
                let idle = self.learn(&open, &asked, without);
                self.drop_idle(&open, idle, measure)?;
            }
            Err(reason) => self.find_failing(&open, (&asked, &without), &reason, measure)?,
        }
        Ok(true)
    }

    /// Has those dropped for no gain measured anew.
    pub(crate) fn reopen(&mut self) {
        for of in &mut self.proposals {
            if of.judged.as_ref().is_some_and(|of| of.verdict == ProposalVerdict::NoGain) {
                (of.judged, of.looks) = (None, Looks::default());
            }
        }
    }

    /// All that was proposed, once it had a result.
    pub(crate) fn proposed(&self) -> Option<&Settings> {
        self.proposed.as_ref()
    }

    /// What was kept, as variables.
    pub(crate) fn kept(&self) -> Settings {
        self.set(&[], None)
    }

    /// What was kept, for the option file.
    pub(crate) fn option_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut set = Settings::new();
        for proposal in self.kept.iter().map(|kept| &self.proposals[*kept]) {
            let more = changes(proposal.finding, &set);
            lines.retain(|line| !more.contains_key(line.split(" = ").next().unwrap_or_default()));
            lines.extend(proposal.finding.option_lines.iter().cloned());
            set.extend(more);
        }
        lines
    }

    /// What came of each, in the order of the findings.
    pub(crate) fn proven(self) -> Vec<ProvenFinding> {
        let told = |of: ComparedFinding<'_>| {
            let begun = || {
                let verdict = ProposalVerdict::Undecided;
                (of.looks.pairs() > 0)
                    .then(|| JudgedProposal::of(&self.limits, &of.looks, verdict, None))
            };
            ProvenFinding {
                rule: of.finding.rule,
                title: of.finding.title,
                changes: of.finding.changes.clone(),
                judged: of.judged.or_else(begun),
                left_out: of.left_out,
            }
        };
        self.proposals.into_iter().map(told).collect()
    }

    /// Those that are to be measured now: of two that set one variable, the first.
    fn open(&mut self) -> Vec<usize> {
        let kept = self.kept();
        let mut open: Vec<usize> = Vec::new();
        for place in 0..self.proposals.len() {
            if self.proposals[place].is_decided() {
                continue;
            }
            let finding = self.proposals[place].finding;
            let is_taken = open.iter().any(|other| self.proposals[*other].overlaps(finding));
            if changes(finding, &kept).is_empty() {
                self.proposals[place].left_out =
                    Some("another proposal, which was kept, sets it".to_owned());
            } else if !is_taken {
                open.push(place);
            }
        }
        open
    }

    /// What was kept, and the open ones but for one.
    fn set(&self, open: &[usize], left_out: Option<usize>) -> Settings {
        let open = open.iter().filter(|place| Some(**place) != left_out);
        let findings = self.kept.iter().chain(open).map(|place| self.proposals[*place].finding);
        let changes = findings.flat_map(|finding| &finding.changes);
        changes.map(|change| (change.variable, change.proposed.clone())).collect()
    }

    /// A window of each, with one of the first beside it. What has no result is measured once more:
    /// a hiccup of the machine decides nothing.
    fn measured<E>(
        &self,
        sets: &[Settings],
        open: &[usize],
        measure: &mut impl Measure<E>,
    ) -> Result<Vec<[Window; 2]>, E> {
        let windows = measure(self.asked(sets.to_vec(), open))?;
        let first = windows[0].clone();
        let mut beside: Vec<[Window; 2]> =
            windows.into_iter().map(|window| [window, first.clone()]).collect();
        let failed: Vec<usize> = (0..sets.len()).filter(|at| beside[*at][0].is_err()).collect();
        if failed.is_empty() {
            return Ok(beside);
        }
        let again: Vec<usize> =
            (0..sets.len()).filter(|at| *at == 0 || failed.contains(at)).collect();
        let sets = again.iter().map(|at| sets[*at].clone()).collect();
        let windows = measure(self.asked(sets, open))?;
        let first = windows[0].clone();
        for (at, window) in again.into_iter().zip(windows).filter(|(at, _)| failed.contains(at)) {
            beside[at] = [window, first.clone()];
        }
        Ok(beside)
    }

    fn asked(&self, sets: Vec<Settings>, open: &[usize]) -> ProposalBlock {
        let most = self.limits.pairs_max;
        let left = |place: &usize| most.saturating_sub(self.proposals[*place].looks.pairs());
        let waits = |place: &usize| !self.proposals[*place].is_decided() && !open.contains(place);
        let waiting = (0..self.proposals.len()).filter(waits).count();
        let blocks = open.iter().map(left).max().unwrap_or(0);
        let windows: usize = open.iter().map(left).sum();
        let windows_left = (blocks + windows + 2 * waiting * most).max(sets.len());
        ProposalBlock { sets, title: "proposals", windows_left }
    }

    /// A block in which all of them together had a result. Returns those that show no gain.
    fn learn(&mut self, open: &[usize], asked: &[usize], without: Vec<[Window; 2]>) -> Vec<usize> {
        let mut idle = Vec::new();
        for (place, window) in asked.iter().zip(without) {
            match window {
                [Ok(without), Ok(all)] => self.proposals[*place].looks.ratios.push([without, all]),
                [Err(reason), _] => {
                    self.keep_what_is_needed(*place, open, reason);
                    continue;
                }
                // It had a result, but not beside the others.
                _ => {}
            }
            match decided(&self.limits, &self.proposals[*place].looks) {
                Some(ProposalVerdict::NoGain) => idle.push(*place),
                Some(verdict) => self.decide(*place, verdict, None),
                None => {}
            }
        }
        idle
    }

    /// Of those that do the same, each is useless only while another is there. So all of them are
    /// dropped only where they give nothing together; else the weakest, and what the others give is
    /// another thing then.
    fn drop_idle<E>(
        &mut self,
        open: &[usize],
        mut idle: Vec<usize>,
        measure: &mut impl Measure<E>,
    ) -> Result<(), E> {
        let ratio = |place: &usize| self.proposals[*place].looks.ratios.ratio();
        idle.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        if idle.len() > 1 && !self.is_idle_together(open, &idle, measure)? {
            for place in idle.drain(1..) {
                self.proposals[place].looks.renew();
            }
        }
        for place in idle {
            self.decide(place, ProposalVerdict::NoGain, None);
        }
        Ok(())
    }

    /// Do all of these give nothing beside the others? Two pairs tell at most: of a group without a
    /// gain the first one often says so, and one with a gain seldom seems to have none.
    fn is_idle_together<E>(
        &self,
        open: &[usize],
        idle: &[usize],
        measure: &mut impl Measure<E>,
    ) -> Result<bool, E> {
        let is_open = |place: &&usize| !self.proposals[**place].is_decided();
        let all: Vec<usize> = open.iter().filter(is_open).copied().collect();
        let others: Vec<usize> = all.iter().filter(|of| !idle.contains(of)).copied().collect();
        let sets = [self.set(&all, None), self.set(&others, None)];
        let mut ratios = PairedRatios::default();
        for _ in 0..GROUP_PAIRS_MAX {
            match self.measured(&sets, &all, measure)?.pop() {
                Some([Ok(without), Ok(with)]) => ratios.push([without, with]),
                _ => return Ok(false),
            }
            if ratios.ratio() <= 1.0 + self.limits.gain_min_share {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Nothing runs without it: there is nothing to compare it with. Whether that stays so depends
    /// on those that are still open, of which one may need it.
    fn keep_what_is_needed(&mut self, place: usize, open: &[usize], reason: String) {
        let waits = |other: &usize| *other == place || self.proposals[*other].needed.is_some();
        if open.iter().all(waits) {
            let reason = format!("without it nothing runs: {reason}");
            self.decide(place, ProposalVerdict::Kept, Some(reason));
        } else {
            self.proposals[place].needed = Some(reason);
        }
    }

    /// A block in which all of them together failed: it is the one without which the others run,
    /// or else each that fails alone. What fails only together loses the last, of which least is
    /// expected.
    fn find_failing<E>(
        &mut self,
        open: &[usize],
        (asked, without): (&[usize], &[[Window; 2]]),
        reason: &str,
        measure: &mut impl Measure<E>,
    ) -> Result<(), E> {
        let run = asked.iter().zip(without).filter(|(_, [window, _])| window.is_ok());
        let mut suspects: Vec<usize> = run.map(|(place, _)| *place).collect();
        if suspects.is_empty() {
            let with = |alone: &usize| {
                let is_in =
                    |place: &&usize| *place == alone || self.proposals[**place].needed.is_some();
                let with: Vec<usize> = open.iter().filter(is_in).copied().collect();
                self.set(&with, None)
            };
            let alone: Vec<Settings> = asked.iter().map(with).collect();
            let mut fail_alone = false;
            for (place, [window, _]) in asked.iter().zip(self.measured(&alone, open, measure)?) {
                if let Err(reason) = window {
                    fail_alone = true;
                    self.decide(*place, ProposalVerdict::Fails, Some(reason));
                }
            }
            if fail_alone {
                return Ok(());
            }
            suspects.extend(asked);
        }
        if let Some(last) = suspects.pop() {
            self.decide(last, ProposalVerdict::Fails, Some(reason.to_owned()));
        }
        Ok(())
    }

    fn decide(&mut self, place: usize, verdict: ProposalVerdict, reason: Option<String>) {
        let of = &mut self.proposals[place];
        of.judged = Some(JudgedProposal::of(&self.limits, &of.looks, verdict, reason));
        let topic = of.finding.topic;
        if verdict == ProposalVerdict::Kept {
            self.kept.push(place);
            return;
        }
        // Those of one topic replace each other.
        let others = self.proposals.iter_mut();
        others.filter(|of| of.finding.topic == topic).for_each(|of| of.looks.renew());
    }
}

impl ComparedFinding<'_> {
    fn is_decided(&self) -> bool {
        self.judged.is_some() || self.left_out.is_some()
    }

    /// Do both set a variable?
    fn overlaps(&self, other: &Finding) -> bool {
        let sets = |variable| self.finding.changes.iter().any(|of| of.variable == variable);
        other.changes.iter().any(|change| sets(change.variable))
    }
}
