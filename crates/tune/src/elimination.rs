//! Which proposals to keep: each is compared with its absence, while all others are set.
//!
//! This is backward elimination. Proposals that need each other are seen to help, as each is
//! measured beside the others; and one window with all of them is the other half of a pair for
//! each, so that a block of n proposals has n + 1 windows instead of 2n.

use crate::judge::{JudgeLimits, JudgedProposal, ProposalVerdict, decided, judged};
use crate::proof::ProvenFinding;
use crate::settings::{Settings, changes, with};
use advise::Finding;
use analyse::PairedRatios;
use std::collections::BTreeSet;

/// The throughput of a window, above 0, or why there is none.
pub(crate) type Window = Result<f64, String>;

/// Settings that are to be measured side by side.
pub(crate) struct ProposalBlock {
    pub sets: Vec<Settings>,
    /// Windows that are left at most, with those of this block.
    pub windows_left: usize,
}

/// Proposals of which some are decided.
pub(crate) struct Elimination<'a> {
    limits: JudgeLimits,
    proposals: Vec<ComparedFinding<'a>>,
    /// Places of those that help, in the order in which that was found.
    kept: Vec<usize>,
}

struct ComparedFinding<'a> {
    finding: &'a Finding,
    /// Throughput with it by that without it.
    ratios: PairedRatios,
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
            let ratios = PairedRatios::default();
            ComparedFinding { finding, ratios, judged: None, left_out }
        };
        let proposals = findings.iter().zip(left_out).map(proposal).collect();
        Elimination { limits, proposals, kept: Vec::new() }
    }

    /// Measures blocks until all proposals are decided. `measure` gives a window for each set.
    ///
    /// # Errors
    /// Of `measure`; what was decided before holds.
    pub(crate) fn run<E>(
        &mut self,
        mut measure: impl FnMut(&ProposalBlock) -> Result<Vec<Window>, E>,
    ) -> Result<(), E> {
        loop {
            let open = self.open();
            if open.is_empty() {
                return Ok(());
            }
            let mut sets = vec![self.set(&open, None)];
            sets.extend(open.iter().map(|left| self.set(&open, Some(*left))));
            let mut windows = measure(&self.block(sets, &open))?;
            let without = windows.split_off(1);
            match windows.swap_remove(0) {
                Ok(all) => self.learn(&open, all, without),
                Err(reason) => self.find_failing(&open, &without, &reason, &mut measure)?,
            }
        }
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
            set = with(&set, &more);
        }
        lines
    }

    /// What came of each, in the order of the findings.
    pub(crate) fn proven(self) -> Vec<ProvenFinding> {
        let told = |of: ComparedFinding<'_>| {
            let begun = || {
                let verdict = ProposalVerdict::Undecided;
                (of.ratios.pairs() > 0).then(|| judged(&self.limits, &of.ratios, verdict, None))
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
        findings.fold(Settings::new(), |set, finding| with(&set, &changes(finding, &set)))
    }

    fn block(&self, sets: Vec<Settings>, open: &[usize]) -> ProposalBlock {
        let most = self.limits.pairs_max;
        let left = |place: &usize| most.saturating_sub(self.proposals[*place].ratios.pairs());
        let waiting = self.proposals.iter().filter(|of| !of.is_decided()).count() - open.len();
        let blocks = open.iter().map(left).max().unwrap_or(0);
        let windows: usize = open.iter().map(left).sum();
        ProposalBlock { sets, windows_left: blocks + windows + 2 * waiting * most }
    }

    /// A block in which all of them together had a result. It drops one proposal of a topic at
    /// most for having no gain.
    fn learn(&mut self, open: &[usize], all: f64, without: Vec<Window>) {
        let mut futile = Vec::new();
        for (place, without) in open.iter().zip(without) {
            let of = &mut self.proposals[*place];
            let verdict = match without {
                Ok(without) => {
                    of.ratios.push([without, all]);
                    decided(&self.limits, &of.ratios)
                }
                Err(reason) => {
                    let reason = format!("the others do not run without it: {reason}");
                    self.decide(*place, ProposalVerdict::Fails, Some(reason));
                    continue;
                }
            };
            let is_last = of.ratios.pairs() >= self.limits.pairs_max;
            match verdict {
                Some(ProposalVerdict::NoGain) if !is_last => futile.push(*place),
                Some(verdict) => self.decide(*place, verdict, None),
                None => {}
            }
        }
        // Of two that do the same, each is useless only while the other is there.
        let ratio = |place: &usize| self.proposals[*place].ratios.ratio();
        futile.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        let mut topics = BTreeSet::new();
        for place in futile {
            if topics.insert(self.proposals[place].finding.topic) {
                self.decide(place, ProposalVerdict::NoGain, None);
            }
        }
    }

    /// A block in which all of them together failed: it is the one without which the others run,
    /// or else each that fails alone. What fails only together loses the last, of which least is
    /// expected.
    fn find_failing<E>(
        &mut self,
        open: &[usize],
        without: &[Window],
        reason: &str,
        measure: &mut impl FnMut(&ProposalBlock) -> Result<Vec<Window>, E>,
    ) -> Result<(), E> {
        let run = open.iter().zip(without).filter(|(_, window)| window.is_ok());
        let mut suspects: Vec<usize> = run.map(|(place, _)| *place).collect();
        if suspects.is_empty() {
            let alone = open.iter().map(|place| self.set(&[*place], None)).collect();
            let mut fail_alone = false;
            for (place, window) in open.iter().zip(measure(&self.block(alone, open))?) {
                if let Err(reason) = window {
                    fail_alone = true;
                    self.decide(*place, ProposalVerdict::Fails, Some(reason));
                }
            }
            if fail_alone {
                return Ok(());
            }
            suspects.extend(open);
        }
        if let Some(last) = suspects.pop() {
            self.decide(last, ProposalVerdict::Fails, Some(reason.to_owned()));
        }
        Ok(())
    }

    fn decide(&mut self, place: usize, verdict: ProposalVerdict, reason: Option<String>) {
        let of = &mut self.proposals[place];
        of.judged = Some(judged(&self.limits, &of.ratios, verdict, reason));
        if verdict == ProposalVerdict::Kept {
            self.kept.push(place);
        }
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

#[cfg(test)]
mod tests {
    use super::{Elimination, Window};
    use crate::judge::{JudgeLimits, ProposalVerdict};
    use crate::proof::ProvenFinding;
    use crate::settings::Settings;
    use ProposalVerdict::{Fails, Harms, Kept, NoGain};
    use advise::{Finding, Gain, VariableChange};
    use base::Random;
    use std::convert::Infallible;
    use std::f64::consts::TAU;

    fn finding(rule: &'static str, variables: &[&'static str]) -> Finding {
        let change = |variable: &&'static str| {
            let (current, proposed) = ("0".to_owned(), "1".to_owned());
            VariableChange { variable, current, proposed }
        };
        Finding {
            rule,
            topic: rule.split('-').next().unwrap(),
            title: "",
            gain: Gain::Some,
            seen: String::new(),
            reason: "",
            source: "",
            changes: variables.iter().map(change).collect(),
            action: None,
            risks: Vec::new(),
            restart_needed: false,
            statements: Vec::new(),
            option_lines: variables.iter().map(|name| format!("{name} = 1")).collect(),
        }
    }

    fn findings(rules: &[&'static str]) -> Vec<Finding> {
        rules.iter().map(|rule| finding(rule, &[rule])).collect()
    }

    /// A server whose windows scatter by `noise`, on a machine that drifts by 5 % a block.
    struct Machine<'a> {
        random: Random,
        noise: f64,
        /// The logarithm of the throughput with these settings, or why there is none.
        server: &'a dyn Fn(&Settings) -> Result<f64, String>,
    }

    impl Machine<'_> {
        fn normal(&mut self) -> f64 {
            let radius = (-2.0 * self.random.unit().ln()).sqrt();
            radius * (TAU * self.random.unit()).cos()
        }

        fn prove(&mut self, findings: &[Finding]) -> (Vec<ProvenFinding>, Settings, usize) {
            let left_out = vec![None; findings.len()];
            let mut proof = Elimination::new(JudgeLimits::default(), findings, left_out);
            let (mut drift, mut windows, mut at_most) = (0.0, 0, None);
            let ended = proof.run(|block| {
                drift += 0.05 * self.normal();
                assert!(*at_most.get_or_insert(block.windows_left) >= windows + block.sets.len());
                windows += block.sets.len();
                let window = |set: &Settings| {
                    let log = (self.server)(set)?;
                    Ok((drift + log + self.noise * self.normal()).exp())
                };
                Ok::<Vec<Window>, Infallible>(block.sets.iter().map(window).collect())
            });
            ended.unwrap_or_else(|never| match never {});
            let kept = proof.kept();
            (proof.proven(), kept, windows)
        }
    }

    fn verdicts(
        server: &dyn Fn(&Settings) -> Result<f64, String>,
        findings: &[Finding],
    ) -> (Vec<Option<ProposalVerdict>>, usize) {
        let mut machine = Machine { random: Random::new(5, &[]), noise: 0.01, server };
        let (proposals, _, windows) = machine.prove(findings);
        let verdict = |of: ProvenFinding| of.judged.map(|judged| judged.verdict);
        (proposals.into_iter().map(verdict).collect(), windows)
    }

    fn has(set: &Settings, name: &str) -> bool {
        set.contains_key(name)
    }

    /// How many of `runs` proofs end so, and their mean number of pairs, where the proposal is
    /// worth `effect`.
    fn ended(verdict: ProposalVerdict, effect: f64, noise: f64) -> (usize, f64) {
        let findings = findings(&["planted"]);
        let server = |set: &Settings| Ok(if has(set, "planted") { effect } else { 0.0 });
        let mut machine = Machine { random: Random::new(11, &[]), noise, server: &server };
        let (mut ended, mut pairs) = (0, 0);
        let runs = 2000;
        for _ in 0..runs {
            let judged = machine.prove(&findings).0.remove(0).judged.unwrap();
            ended += usize::from(judged.verdict == verdict);
            pairs += judged.pairs;
        }
        (ended, pairs as f64 / f64::from(runs))
    }

    #[test]
    fn what_changes_nothing_is_left_out() {
        for noise in [0.005, 0.02, 0.1] {
            let (kept, pairs) = ended(Kept, 0.0, noise);
            assert!(kept < 100, "{kept} of 2000 with a noise of {noise}");
            assert!(pairs < 7.0, "{pairs} pairs with a noise of {noise}");
        }
    }

    #[test]
    fn what_harms_is_never_kept() {
        for (effect, noise) in [(-0.05, 0.02), (-0.1, 0.05), (-0.5, 0.1)] {
            let (kept, _) = ended(Kept, effect, noise);
            assert_eq!(kept, 0, "{effect} with a noise of {noise}");
        }
    }

    #[test]
    fn what_helps_is_kept() {
        for (effect, noise, least, pairs_most) in [
            (0.5, 0.05, 1990, 4.0),
            (0.1, 0.05, 1800, 8.0),
            (0.1, 0.02, 1980, 6.0),
            (0.05, 0.01, 1980, 6.0),
        ] {
            let (kept, pairs) = ended(Kept, effect, noise);
            assert!(kept >= least, "{kept} of 2000 of {effect} with a noise of {noise}");
            assert!(pairs < pairs_most, "{pairs} pairs of {effect} with a noise of {noise}");
        }
    }

    #[test]
    fn among_others_a_useless_proposal_is_dropped_and_a_harmful_one_never_kept() {
        let findings = findings(&["flush", "redo", "capacity", "useless", "harmful", "idle"]);
        let server = |set: &Settings| {
            let worth = |name, worth| if has(set, name) { worth } else { 0.0 };
            Ok(worth("flush", 1.0) + worth("capacity", 0.2) + worth("harmful", -0.2))
        };
        let mut machine = Machine { random: Random::new(12, &[]), noise: 0.05, server: &server };
        let runs = 500;
        let (mut wrong, mut windows) = ([0; 2], 0);
        for _ in 0..runs {
            let (_, kept, taken) = machine.prove(&findings);
            assert!(has(&kept, "flush") && !has(&kept, "harmful"), "{kept:?}");
            wrong[0] += usize::from(has(&kept, "useless"));
            wrong[1] += usize::from(has(&kept, "idle"));
            windows += taken;
        }
        assert!(wrong.iter().all(|wrong| *wrong <= runs / 20), "{wrong:?} of {runs}");
        // One after the other, the six would take 60 and more.
        assert!(windows < 43 * runs, "{} windows", windows / runs);
    }

    #[test]
    fn what_needs_another_is_kept_with_it() {
        // The log helps where pages are not written in a hurry, and nothing does before.
        let server = |set: &Settings| {
            let log = if has(set, "redo") && has(set, "capacity") { 0.4 } else { 0.0 };
            Ok(log + if has(set, "capacity") { 0.3 } else { 0.0 })
        };
        let (verdicts, windows) = verdicts(&server, &findings(&["redo", "capacity", "idle"]));
        assert_eq!(verdicts, [Some(Kept), Some(Kept), Some(NoGain)]);
        assert!(windows < 20, "{windows}");
    }

    #[test]
    fn of_two_that_do_the_same_one_is_kept() {
        let does = |set: &Settings| has(set, "pool-one") || has(set, "pool-other");
        let server = |set: &Settings| Ok(if does(set) { 0.4 } else { 0.0 });
        let (verdicts, _) = verdicts(&server, &findings(&["pool-one", "pool-other"]));
        assert!(verdicts.contains(&Some(Kept)) && verdicts.contains(&Some(NoGain)), "{verdicts:?}");
    }

    #[test]
    fn of_two_that_set_one_variable_the_second_waits_for_the_first() {
        let findings = [finding("flush", &["flush", "pool"]), finding("pool", &["pool"])];
        let worth = |flush: f64, set: &Settings| {
            let pool = if has(set, "pool") { 0.3 } else { 0.0 };
            Ok(pool + if has(set, "flush") { flush } else { 0.0 })
        };
        assert_eq!(verdicts(&|set| worth(0.1, set), &findings).0, [Some(Kept), None]);
        assert_eq!(verdicts(&|set| worth(-0.5, set), &findings).0, [Some(Harms), Some(Kept)]);
    }

    #[test]
    fn what_fails_is_found_and_the_others_are_measured() {
        let good = |set: &Settings| if has(set, "good") { 0.3 } else { 0.0 };
        let refuses = |name: &'static str| {
            move |set: &Settings| match has(set, name) {
                true => Err(format!("no {name}")),
                false => Ok(good(set)),
            }
        };
        let three = findings(&["good", "bad", "worse"]);
        let (of_one, _) = verdicts(&refuses("bad"), &three);
        assert_eq!(of_one, [Some(Kept), Some(Fails), Some(NoGain)]);
        let (of_two, _) = verdicts(&|set| refuses("bad")(set).and(refuses("worse")(set)), &three);
        assert_eq!(of_two, [Some(Kept), Some(Fails), Some(Fails)]);
        let both = |set: &Settings| match has(set, "bad") && has(set, "worse") {
            true => Err("not both".to_owned()),
            false => Ok(good(set)),
        };
        assert_eq!(verdicts(&both, &three).0, [Some(Kept), Some(NoGain), Some(Fails)]);
    }

    #[test]
    fn what_was_measured_of_an_ended_proof_is_told() {
        let findings = findings(&["a", "b"]);
        let mut proof = Elimination::new(JudgeLimits::default(), &findings, vec![None; 2]);
        let mut blocks = 0;
        let ended = proof.run(|block| {
            blocks += 1;
            (blocks < 3).then(|| vec![Ok(100.0); block.sets.len()]).ok_or(())
        });
        assert_eq!(ended, Err(()));
        assert!(proof.kept().is_empty() && proof.option_lines().is_empty());
        for of in proof.proven() {
            let judged = of.judged.unwrap();
            assert_eq!((judged.verdict, judged.pairs), (ProposalVerdict::Undecided, 2));
        }
    }
}
