//! Whole proofs of simulated servers, by the code that decides real ones.

use crate::course::Course;
use crate::elimination::{Elimination, ProposalBlock, Window};
use crate::gain::WholeGain;
use crate::judge::{JudgeLimits, ProposalVerdict};
use crate::proof::ProvenFinding;
use crate::settings::Settings;
use ProposalVerdict::{Fails, Harms, Kept, NoGain};
use advise::{Finding, Gain, VariableChange};
use base::Random;
use std::convert::Infallible;
use std::f64::consts::TAU;

pub(crate) fn finding(rule: &'static str, variables: &[&'static str]) -> Finding {
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

/// The logarithm of the throughput with these settings, or why there is none.
type SimulatedServer<'a> = &'a dyn Fn(&Settings) -> Result<f64, String>;

/// A machine on which windows of a server are measured.
struct Machine {
    random: Random,
    /// Of each window.
    noise: f64,
    /// Of each block, added up: a random walk.
    walk: f64,
    /// Deviation of a wander of which neighbouring windows share 0.98. It slows those alone that
    /// the device does not hold up: those with `flush`.
    wander: f64,
    /// The share of windows without a result.
    hiccups: f64,
    walked: f64,
    wandered: f64,
    windows: usize,
}

/// What came of a simulated proof.
struct SimulatedProof {
    kept: Settings,
    whole: Option<WholeGain>,
    proposed: Option<WholeGain>,
    measured_anew: bool,
    windows: usize,
}

impl Machine {
    /// It drifts by 5 % a block.
    fn new(seed: u64, noise: f64) -> Machine {
        Machine {
            random: Random::new(seed, &[]),
            noise,
            walk: 0.05,
            wander: 0.0,
            hiccups: 0.0,
            walked: 0.0,
            wandered: 0.0,
            windows: 0,
        }
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.random.unit().ln()).sqrt();
        radius * (TAU * self.random.unit()).cos()
    }

    fn window(&mut self, server: SimulatedServer<'_>, set: &Settings) -> Window {
        self.windows += 1;
        self.wandered = 0.98 * self.wandered + (1.0_f64 - 0.98 * 0.98).sqrt() * self.normal();
        if self.random.unit() < self.hiccups {
            return Err("a hiccup".to_owned());
        }
        let own = if has(set, "flush") { self.wander * self.wandered } else { 0.0 };
        Ok((server(set)? + self.walked + own + self.noise * self.normal()).exp())
    }

    /// As [`crate::Prover`] does: the first is in the middle.
    fn measure(
        &mut self,
        server: SimulatedServer<'_>,
        block: &ProposalBlock,
    ) -> Result<Vec<Window>, Infallible> {
        self.walked += self.walk * self.normal();
        let mut order: Vec<usize> = (1..block.sets.len()).collect();
        order.insert(order.len() / 2, 0);
        let mut windows = vec![Ok(0.0); block.sets.len()];
        for place in order {
            windows[place] = self.window(server, &block.sets[place]);
        }
        Ok(windows)
    }

    fn begin(&mut self) {
        self.windows = 0;
        self.wandered = self.normal();
    }

    /// What is decided, without the rounds that tell what that gives.
    fn prove(
        &mut self,
        findings: &[Finding],
        server: SimulatedServer<'_>,
    ) -> (Vec<ProvenFinding>, Settings, usize) {
        self.begin();
        let left_out = vec![None; findings.len()];
        let mut proof = Elimination::new(JudgeLimits::default(), findings, left_out);
        let Ok(()) = (|| {
            while proof.block(&mut |block| self.measure(server, &block))? {}
            Ok::<(), Infallible>(())
        })();
        let kept = proof.kept();
        (proof.proven(), kept, self.windows)
    }

    fn prove_whole(&mut self, findings: &[Finding], server: SimulatedServer<'_>) -> SimulatedProof {
        self.begin();
        let left_out = vec![None; findings.len()];
        let mut course = Course::new(Elimination::new(JudgeLimits::default(), findings, left_out));
        let Ok(()) = course.run(|block| self.measure(server, &block));
        assert_eq!(course.failed, None);
        SimulatedProof {
            kept: course.elimination.kept(),
            whole: course.whole(),
            proposed: course.proposed(),
            measured_anew: course.is_repeated,
            windows: self.windows,
        }
    }
}

fn verdicts(
    server: SimulatedServer<'_>,
    findings: &[Finding],
) -> (Vec<Option<ProposalVerdict>>, usize) {
    let (proposals, _, windows) = Machine::new(5, 0.01).prove(findings, server);
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
    let mut machine = Machine::new(11, noise);
    let (mut ended, mut pairs) = (0, 0);
    let runs = 2000;
    for _ in 0..runs {
        let judged = machine.prove(&findings, &server).0.remove(0).judged.unwrap();
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
    let mut machine = Machine::new(12, 0.05);
    let runs = 500;
    let (mut wrong, mut windows) = ([0; 2], 0);
    for _ in 0..runs {
        let (_, kept, taken) = machine.prove(&findings, &server);
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

/// Proofs of two that do the same, of which both are dropped; and the mean of what the other is
/// said to give, where one is kept.
fn both_lost(topics: [&'static str; 2], noise: f64, runs: usize) -> (usize, f64) {
    let rules = topics.map(|topic| finding(topic, &[topic]));
    let does = |set: &Settings| topics.iter().any(|name| has(set, name));
    let server = |set: &Settings| Ok(if does(set) { 1.3_f64.ln() } else { 0.0 });
    let mut machine = Machine::new(21, noise);
    let mut gains = Vec::new();
    for _ in 0..runs {
        let (proposals, _, _) = machine.prove(&rules, &server);
        let mut judged = proposals.into_iter().filter_map(|of| of.judged);
        gains.extend(judged.find(|of| of.verdict == Kept).and_then(|of| of.ratio.value));
    }
    (runs - gains.len(), gains.iter().sum::<f64>() / gains.len().max(1) as f64)
}

#[test]
fn of_two_that_do_the_same_one_is_kept() {
    for topics in [["pool-one", "pool-other"], ["redo-size", "writes-capacity"]] {
        for noise in [0.01, 0.03, 0.05] {
            let (lost, _) = both_lost(topics, noise, 500);
            assert!(lost <= 15, "{lost} of 500 {topics:?} with a noise of {noise}");
        }
        // What was measured while the other was there, which is 0, is no part of it.
        let (_, gain) = both_lost(topics, 0.01, 100);
        assert!((1.29..1.31).contains(&gain), "{gain} of {topics:?}");
    }
}

#[test]
fn one_without_which_nothing_runs_is_kept() {
    let needs = |set: &Settings| match has(set, "log") && !has(set, "capacity") {
        true => Err("lock wait timeouts".to_owned()),
        false => Ok(if has(set, "log") { 1.7_f64.ln() } else { 0.0 }),
    };
    let rules = findings(&["log", "capacity"]);
    for noise in [0.01, 0.03, 0.05] {
        let mut machine = Machine::new(22, noise);
        for _ in 0..100 {
            let (proposals, kept, _) = machine.prove(&rules, &needs);
            assert_eq!(kept.len(), 2, "{proposals:?}");
            let reason = proposals[1].judged.as_ref().and_then(|of| of.reason.clone());
            let reason = reason.unwrap();
            assert_eq!(reason, "without it nothing runs: lock wait timeouts");
        }
    }
    // One that others need which are of no use is judged by itself.
    let useless = |set: &Settings| needs(set).map(|_| 0.0);
    assert_eq!(verdicts(&useless, &rules).0, [Some(NoGain), Some(NoGain)]);
    let each_other = |set: &Settings| match set.len() {
        1 => Err("only together".to_owned()),
        both => Ok(0.2 * both as f64),
    };
    assert_eq!(verdicts(&each_other, &rules).0, [Some(Kept), Some(Kept)]);
}

#[test]
fn one_bad_window_decides_nothing() {
    let rules = findings(&["a", "b", "c", "d", "e", "f"]);
    let server = |set: &Settings| Ok(1.3_f64.ln() * set.len() as f64);
    for (hiccups, lost_most) in [(0.01, 2), (0.03, 10)] {
        let mut machine = Machine { hiccups, ..Machine::new(23, 0.03) };
        let runs = 400;
        let lost = (0..runs).filter(|_| machine.prove(&rules, &server).1.len() < 6).count();
        assert!(lost <= lost_most, "{lost} of {runs} where {hiccups} of windows fail");
    }
}

#[test]
fn of_many_that_change_nothing_each_is_kept_seldom() {
    let rules = findings(&["a", "b", "c", "d", "e", "f", "g", "h"]);
    for (noise, windows_most) in [(0.01, 32), (0.03, 44), (0.05, 54)] {
        let mut machine = Machine::new(24, noise);
        let runs = 500;
        let (mut kept, mut windows) = (0, 0);
        for _ in 0..runs {
            let (_, of_proof, taken) = machine.prove(&rules, &|_| Ok(0.0));
            kept += of_proof.len();
            windows += taken;
        }
        let of = runs * rules.len();
        assert!(kept * 20 <= of, "{kept} of {of} with a noise of {noise}");
        assert!(windows <= windows_most * runs, "{} windows", windows / runs);
    }
}

/// Seven as on a real server: the device holds up what has no `flush`.
fn seven() -> Vec<Finding> {
    findings(&["flush", "redo", "capacity", "spin", "neighbours", "buffering", "hash"])
}

fn of_seven(set: &Settings) -> f64 {
    let worth = |name, worth| if has(set, name) { worth } else { 0.0 };
    let redo = if has(set, "capacity") { worth("redo", 0.3) } else { 0.0 };
    worth("flush", 1.5) + redo + worth("capacity", 0.2) + worth("spin", 0.1)
}

#[test]
fn nine_of_ten_intervals_hold_on_a_machine_that_drifts() {
    for (wander, noise) in [(0.0, 0.03), (0.05, 0.03), (0.05, 0.05)] {
        let mut machine = Machine { wander, ..Machine::new(25, noise) };
        let (runs, mut hold, mut windows) = (400, 0, 0);
        for _ in 0..runs {
            let proof = machine.prove_whole(&seven(), &|set| Ok(of_seven(set)));
            let (whole, truth) = (proof.whole.unwrap(), of_seven(&proof.kept).exp());
            let interval = whole.ratio.low.unwrap()..whole.ratio.high.unwrap();
            hold += usize::from(interval.contains(&truth));
            windows += proof.windows;
        }
        assert!(hold * 10 >= runs * 9, "{hold} of {runs}: wander {wander}, noise {noise}");
        assert!(windows < 62 * runs, "{} windows", windows / runs);
    }
}

#[test]
fn all_that_was_proposed_has_a_gain_too() {
    let worth = |set: &Settings, name, worth| if has(set, name) { worth } else { 0.0 };
    let server = |set: &Settings| Ok(worth(set, "helps", 0.5) + worth(set, "harms", -0.8));
    let proof = Machine::new(26, 0.01).prove_whole(&findings(&["helps", "harms"]), &server);
    assert_eq!(proof.kept.len(), 1);
    assert!((proof.whole.unwrap().ratio.value.unwrap().ln() - 0.5).abs() < 0.05);
    assert!((proof.proposed.unwrap().ratio.value.unwrap().ln() + 0.3).abs() < 0.05);
    assert!(!proof.measured_anew);
}

/// Windows of the proposals say that nothing helps, and fresh ones that all of them do.
#[test]
fn what_was_dropped_is_measured_anew_where_all_together_gave_more() {
    let rules = findings(&["a", "b"]);
    let elimination = Elimination::new(JudgeLimits::default(), &rules, vec![None; 2]);
    let mut course = Course::new(elimination);
    let mut rounds = 0;
    let Ok(()) = course.run(|block| {
        let is_round = block.title != "proposals";
        rounds += u32::from(is_round);
        let helps = is_round || rounds >= 3;
        let gain = 1.3 + 0.001 * f64::from(rounds % 3);
        let value = |set: &Settings| if helps && !set.is_empty() { gain } else { 1.0 };
        Ok::<_, Infallible>(block.sets.iter().map(|set| Ok(value(set))).collect())
    });
    assert!(course.is_repeated && !course.is_better_together());
    assert_eq!(course.elimination.kept().len(), 1);
    assert!(course.whole().unwrap().is_confirmed());
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
    let mut measure = |block: ProposalBlock| {
        blocks += 1;
        (blocks < 3).then(|| vec![Ok(100.0); block.sets.len()]).ok_or(())
    };
    assert_eq!(proof.block(&mut measure), Ok(true));
    assert_eq!(proof.block(&mut measure), Ok(true));
    assert_eq!(proof.block(&mut measure), Err(()));
    assert!(proof.kept().is_empty() && proof.option_lines().is_empty());
    for of in proof.proven() {
        let judged = of.judged.unwrap();
        assert_eq!((judged.verdict, judged.pairs), (ProposalVerdict::Undecided, 2));
    }
}
