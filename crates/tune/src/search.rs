//! A search through the matrix of a plan: which of its cells is best, without measuring all.

use crate::gain::{CONFIRM_PAIRS, WholeGain, gain_of};
use crate::halving::{SETTINGS_MIN, WindowsAllowed, kept, rounds, settings_for, windows};
use crate::prove::{NOT_FINISHED, NOTHING_ENDED, snapshot_of_run};
use advise::{Finding, advise};
use analyse::{Base, Blocks, DimensionEffects, Observation, lab_outcome, mean, measurement};
use base::{Exit, Random, named};
use itertools::Itertools;
use lab::{Eta, Job, LabError, LabResult, LabRun, LabRunOptions, Planned, TrialCell};
use plan::{Plan, PlannedCell};
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use store::{RepeatId, Results};

/// The cell that all others are compared with: the first values of the plan's lists.
const START: TrialCell = TrialCell(0);

named! {
    /// What is best.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Objective {
        /// The highest throughput.
        Nopm = "nopm",
        /// The shortest 95th percentile of new orders, as at a fixed rate.
        P95 = "p95",
        /// The highest throughput for the price of the devices.
        NopmPerUsd = "nopm-per-usd",
    }
}

/// What is searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchAsked {
    pub objective: Objective,
    /// Cells with a longer 95th percentile of new orders are worse than all others.
    pub p95_max: Option<Duration>,
    /// Real time that it may take.
    pub budget: Duration,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    pub lab_id: i64,
    pub objective: Objective,
    /// That was asked for.
    pub p95_max_ms: Option<f64>,
    /// The user ended it.
    pub interrupted: bool,
    /// The checks of a cell found that something was lost.
    pub checks_failed: bool,
    /// Of the plan's matrix, and how many of them were measured.
    pub cells: usize,
    pub tried: usize,
    pub start: FoundCell,
    /// `None` where none was found that is better.
    pub best: Option<FoundCell>,
    /// Of the best against the start; values are those of the objective (of `p95` its inverse).
    pub gain: Option<WholeGain>,
    /// What each value does by itself.
    pub effects: Vec<DimensionEffects>,
}

/// A cell with what tells it from the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundCell {
    pub ordinal: u32,
    pub settings: Vec<(String, String)>,
    /// The 95th percentile of new orders, mean of its windows.
    pub p95_ms: Option<f64>,
}

impl FoundCell {
    fn of(cell: &PlannedCell, p95_us: Option<f64>) -> FoundCell {
        let name = |name: &str| name.strip_prefix("set.").unwrap_or(name).to_owned();
        let settings = cell.varying.iter().map(|of| (name(of.name()), of.value().to_owned()));
        FoundCell {
            ordinal: cell.ordinal,
            settings: settings.collect(),
            p95_ms: p95_us.map(|us| us / 1e3),
        }
    }
}

/// A search that goes on where an earlier call ended: what is stored of it is not measured again,
/// and the same results lead to the same choices.
pub struct Search<'a> {
    results: &'a Results,
    lab: LabRun<'a>,
    job: &'a Job<'a>,
    asked: SearchAsked,
    seed: u64,
    /// How long windows took.
    eta: Eta,
    observed: Vec<SearchWindow>,
    /// What is better than the start, and by how much in fresh windows.
    best: Option<TrialCell>,
    gain: Option<WholeGain>,
}

/// One window.
#[derive(Clone, Copy, Debug)]
struct SearchWindow {
    cell: TrialCell,
    /// In which it was measured: what an earlier call left of a block comes into another one.
    block: u32,
    /// Above 0, and more is better; `None` where the window has no result.
    value: Option<f64>,
    p95_us: Option<f64>,
}

impl<'a> Search<'a> {
    /// Begins the plan's lab or goes on with it.
    ///
    /// # Errors
    /// As [`LabRun::begin_search`]; the plan has one cell only.
    pub fn begin(
        plan: &Plan,
        planned: Planned,
        asked: SearchAsked,
        (results, options): (&'a Results, &'a LabRunOptions),
        job: &'a Job<'a>,
    ) -> LabResult<Search<'a>> {
        if planned.cells.iter().any(|(cell, _)| cell.what.server.dilate().fixed().is_none()) {
            return Err(LabError::Unfit(
                "a search compares cells of one clock: name K (`dilate = 8`) instead of \"auto\""
                    .to_owned(),
            ));
        }
        let seed = plan.schedule().seed;
        let lab = LabRun::new(results, planned, options);
        lab.begin_search(plan, job)?;
        let (observed, eta) = (Vec::new(), Eta::default());
        Ok(Search { results, lab, job, asked, seed, eta, observed, best: None, gain: None })
    }

    /// Searches, measures the best against the start, and stores that the lab is over.
    ///
    /// # Errors
    /// The start has no result, the budget is too small, or nothing can be stored.
    pub fn run(mut self) -> LabResult<Found> {
        let found = self.found();
        self.lab.finish(found.as_ref().is_ok_and(|found| !found.interrupted))?;
        found
    }

    fn found(&mut self) -> LabResult<Found> {
        let ended = self.search();
        let interrupted = ended.as_ref().is_err_and(|error| error.exit() == Exit::Interrupted);
        if !interrupted {
            ended?;
        }
        let Some(lab) = self.lab.begun() else { return Err(LabError::Interrupted) };
        let cell = |cell: TrialCell| {
            let planned = self.lab.cells().nth(cell.0)?;
            Some(FoundCell::of(planned, self.p95_us(cell)))
        };
        let start =
            cell(START).ok_or_else(|| LabError::Unfit("the plan has no cell".to_owned()))?;
        Ok(Found {
            lab_id: lab.0,
            objective: self.asked.objective,
            p95_max_ms: self.asked.p95_max.map(|limit| limit.as_secs_f64() * 1e3),
            interrupted,
            checks_failed: self.lab.has_failed_checks()?,
            cells: self.lab.cells().len(),
            tried: self.observed.iter().map(|of| of.cell).sorted().dedup().count(),
            start,
            best: self.best.and_then(cell),
            gain: self.gain.clone(),
            effects: lab_outcome(self.results, lab)?.effects,
        })
    }

    fn search(&mut self) -> LabResult<()> {
        let begun = Instant::now();
        let (window, findings) = self.look()?;
        let mut left = self.candidates(window, &findings)?;
        let settings = left.len();
        for (round, number) in rounds(settings).into_iter().zip(1..) {
            let rounds = rounds(settings).len();
            for at in 0..round.windows {
                // So that the pairs at the end have their time.
                if begun.elapsed() + self.confirming() > self.asked.budget {
                    break;
                }
                let cells = self.shuffled(&left);
                let time = self.time_left(begun.elapsed());
                let title = format!(
                    "round {number} of {rounds}: {} settings, window {} of {}; {time}",
                    left.len(),
                    at + 1,
                    round.windows
                );
                self.block(&cells, &title)?;
                left.retain(|cell| !self.has_failed(*cell));
            }
            let mut ranked = self.ranked(&left);
            ranked.truncate(kept(round.settings));
            left = ranked;
        }
        let Some(first) = left.first().copied() else { return Ok(()) };
        if self.rank(first) <= self.rank(START) {
            return Ok(());
        }
        self.best = Some(first);
        let mut pairs = Vec::new();
        // A pair that an end divided is no pair.
        for pair in 0..2 * CONFIRM_PAIRS {
            if pairs.len() == CONFIRM_PAIRS {
                break;
            }
            let at = pairs.len() + 1;
            let time = self.time_left(begun.elapsed());
            let title = format!("the best against the start: pair {at} of {CONFIRM_PAIRS}; {time}");
            let cells = if pair % 2 == 0 { [START, first] } else { [first, START] };
            self.block(&cells, &title)?;
            let of = |cell| last_window(&self.observed, cell);
            if let (Some(start), Some(best)) = (of(START), of(first))
                && start.block == best.block
                && let (Some(start), Some(best)) = (start.value, best.value)
            {
                pairs.push([start, best]);
            }
        }
        self.gain = Some(gain_of(&pairs));
        Ok(())
    }

    /// Measures the start once. How long that took tells what the budget allows; and what rules
    /// say of the server, under that load.
    fn look(&mut self) -> LabResult<(Duration, Vec<Finding>)> {
        let runs = self.block(&[START], "the start")?;
        let Some(run) = runs.first().copied() else { return Err(LabError::Interrupted) };
        // From the results file: a call that goes on comes to the same.
        let findings = advise(&snapshot_of_run(self.results, run)?);
        let repeat = self.results.repeat(run)?;
        let ended = repeat.finished_utc_ns.unwrap_or(repeat.started_utc_ns);
        Ok((Duration::from_nanos((ended - repeat.started_utc_ns).max(1) as u64), findings))
    }

    /// What the pairs at the end will take, as windows have taken so far.
    fn confirming(&self) -> Duration {
        self.eta.of(2.0 * CONFIRM_PAIRS as f64).unwrap_or_default()
    }

    /// Of the budget, for people.
    fn time_left(&self, elapsed: Duration) -> String {
        let left = self.asked.budget.saturating_sub(elapsed);
        format!("at most {:.0} min left", (left.as_secs_f64() / 60.0).ceil().max(1.0))
    }

    /// The cells of the first round: what the rules would choose, and others at random.
    fn candidates(&self, window: Duration, findings: &[Finding]) -> LabResult<Vec<TrialCell>> {
        let cells: Vec<&PlannedCell> = self.lab.cells().collect();
        let allowed = (self.asked.budget.as_secs_f64() / window.as_secs_f64()) as usize;
        // The start, and the pairs at the end.
        let allowed = WindowsAllowed(allowed.saturating_sub(1 + 2 * CONFIRM_PAIRS));
        let Some(settings) = settings_for(allowed, cells.len() - 1) else {
            let needed = windows(SETTINGS_MIN) + 1 + 2 * CONFIRM_PAIRS;
            let minutes = (window * needed as u32).as_secs_f64() / 60.0;
            return Err(LabError::Unfit(format!(
                "a window takes {:.0} s here, so that the smallest search takes {minutes:.1} min; \
                 give it a larger --budget, or shorten `window` and `warmup` of the plan",
                window.as_secs_f64()
            )));
        };
        let mut others: Vec<TrialCell> = (1..cells.len()).map(TrialCell).collect();
        Random::new(self.seed, &[0]).shuffle(&mut others);
        if let Some(chosen) = choice_of_rules(findings, &cells) {
            others.retain(|cell| *cell != chosen);
            others.insert(0, chosen);
        }
        others.truncate(settings);
        Ok(others)
    }

    /// The start and these, in a random order.
    fn shuffled(&self, left: &[TrialCell]) -> Vec<TrialCell> {
        let mut cells = [&[START], left].concat();
        Random::new(self.seed, &[1, u64::from(self.lab.asked_blocks)]).shuffle(&mut cells);
        cells
    }

    /// Measures a block, and keeps what came of it. What has no result is measured once more,
    /// beside the start: a hiccup of the machine decides nothing.
    fn block(&mut self, cells: &[TrialCell], title: &str) -> LabResult<Vec<RepeatId>> {
        let runs = self.measured(cells, title)?;
        let mut again: Vec<TrialCell> =
            cells.iter().copied().filter(|cell| self.has_failed(*cell)).collect();
        if again.is_empty() {
            return Ok(runs);
        }
        again.retain(|cell| *cell != START);
        again.insert(0, START);
        let runs = self.measured(&again, title)?;
        match runs.first() {
            Some(start) if self.has_failed(START) => Err(self.without_start(*start)?),
            _ => Ok(runs),
        }
    }

    fn measured(&mut self, cells: &[TrialCell], title: &str) -> LabResult<Vec<RepeatId>> {
        let begun = Instant::now();
        let runs = self.lab.block(cells, title, self.job)?;
        self.eta.learn(runs.len() as f64, begun.elapsed());
        for (cell, run) in cells.iter().zip(&runs) {
            let observed = self.observe(*cell, *run)?;
            self.observed.push(observed);
        }
        Ok(runs)
    }

    fn observe(&self, cell: TrialCell, run: RepeatId) -> LabResult<SearchWindow> {
        let measured = measurement(self.results, run)?;
        let repeat = self.results.repeat(run)?;
        let is_whole = repeat.is_whole();
        let p95_us = measured.summary.primary.p95_us;
        let price = measured.resources.map(|resources| resources.price);
        let value = match self.asked.objective {
            Objective::Nopm => measured.summary.rates.nopm,
            Objective::P95 => p95_us.map(|us| 1e6 / us),
            Objective::NopmPerUsd => price.and_then(|price| price.nopm_per_usd),
        };
        let value = value.filter(|value| is_whole && *value > 0.0);
        Ok(SearchWindow { cell, block: repeat.block, value, p95_us })
    }

    /// Why nothing can be compared with the start.
    fn without_start(&self, run: RepeatId) -> LabResult<LabError> {
        let repeat = self.results.repeat(run)?;
        let why = match (self.asked.objective, repeat.is_whole()) {
            (Objective::NopmPerUsd, true) => {
                "its devices have no price: place all files on emulated ones that have (`mydyno \
                 device list`), or search for another objective"
                    .to_owned()
            }
            (_, true) => format!("{NOTHING_ENDED}; make it longer"),
            (_, false) => format!(
                "{}; mend that, and measure it again (`mydyno lab run PLAN --only 1 --redo`)",
                repeat.reason.as_deref().unwrap_or(NOT_FINISHED)
            ),
        };
        Ok(LabError::Unfit(format!("the first cell of the plan has no result: {why}")))
    }

    /// Has its last window no result? After a block that is its second one in a row: such a setting
    /// is of no use.
    fn has_failed(&self, cell: TrialCell) -> bool {
        last_window(&self.observed, cell).is_some_and(|of| of.value.is_none())
    }

    /// The best first.
    fn ranked(&self, left: &[TrialCell]) -> Vec<TrialCell> {
        let ranked = left.iter().map(|cell| (self.rank(*cell), *cell));
        let ranked = ranked.sorted_by(|(a, _), (b, _)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
        ranked.map(|(_, cell)| cell).collect()
    }

    /// How good a cell is, by all of its windows, each beside the others of its block.
    fn rank(&self, cell: TrialCell) -> Rank {
        let observed = self.observed.iter().filter_map(|of| {
            let (TrialCell(cell), block) = (of.cell, of.block as usize);
            Some(Observation { cell, block, value: of.value? })
        });
        let blocks = Blocks::of(&observed.collect::<Vec<_>>());
        let ratio = match cell {
            START => Some(1.0),
            TrialCell(cell) => blocks.contrast(cell, Base(START.0)).map(|of| of.ratio()),
        };
        let limit = self.asked.p95_max.map(|limit| limit.as_secs_f64() * 1e6);
        // Who has no new orders is not known to be within it.
        let p95_us = self.p95_us(cell).unwrap_or(f64::MAX);
        match limit.filter(|limit| p95_us > *limit) {
            // Of those that are too slow, the one that is nearest to the limit is the best.
            Some(limit) => Rank { is_within: false, value: limit / p95_us },
            None => Rank { is_within: true, value: ratio.unwrap_or(0.0) },
        }
    }

    fn p95_us(&self, cell: TrialCell) -> Option<f64> {
        let of_cell = self.observed.iter().filter(|of| of.cell == cell);
        mean(&of_cell.filter_map(|of| of.p95_us).collect::<Vec<_>>())
    }
}

/// The cell that is nearest to what the rules propose; `None` where that is the start.
fn choice_of_rules(findings: &[Finding], cells: &[&PlannedCell]) -> Option<TrialCell> {
    let mut proposed: BTreeMap<&str, &str> = BTreeMap::new();
    for change in findings.iter().flat_map(|finding| &finding.changes) {
        proposed.entry(change.variable).or_insert(&change.proposed);
    }
    let start = cells.first()?;
    let distance = |cell: &PlannedCell| -> f64 {
        let settings = cell.settings.iter().zip(&start.settings);
        settings
            .map(|(of, of_start)| {
                let variable = of.name().strip_prefix("set.");
                match variable.and_then(|name| proposed.get(name)) {
                    Some(wanted) => difference(of.value(), wanted),
                    None => difference(of.value(), of_start.value()),
                }
            })
            .sum()
    };
    let nearest = cells.iter().map(|cell| distance(cell)).position_min_by(f64::total_cmp)?;
    (nearest > 0).then_some(TrialCell(nearest))
}

fn last_window(observed: &[SearchWindow], cell: TrialCell) -> Option<&SearchWindow> {
    observed.iter().rev().find(|of| of.cell == cell)
}

/// What is within the limit is better than what is not.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Rank {
    is_within: bool,
    value: f64,
}

/// How far two values of a setting are apart: numbers and sizes by their ratio, words by being
/// others.
fn difference(value: &str, wanted: &str) -> f64 {
    let number = |text: &str| {
        let plain = text.parse::<f64>().ok();
        plain.or_else(|| base::parse_size(text).map(|bytes| bytes as f64))
    };
    match (number(value), number(wanted)) {
        (Some(a), Some(b)) if a > 0.0 && b > 0.0 => (a / b).ln().abs(),
        _ if value.eq_ignore_ascii_case(wanted) => 0.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::{Rank, START, SearchWindow, difference, last_window};
    use lab::TrialCell;

    /// A cell that failed is measured again in the same block, so that its last window decides.
    #[test]
    fn the_last_window_of_a_cell_tells_whether_it_has_failed() {
        let window = |cell, value| SearchWindow { cell, block: 1, value, p95_us: None };
        let mut observed =
            vec![window(START, Some(1.0)), window(TrialCell(2), None), window(START, Some(1.0))];
        let has_failed = |observed: &[SearchWindow]| {
            last_window(observed, TrialCell(2)).is_some_and(|of| of.value.is_none())
        };
        assert!(has_failed(&observed));
        observed.extend([window(TrialCell(2), Some(2.0)), window(START, None)]);
        assert!(!has_failed(&observed));
        assert!(last_window(&observed, TrialCell(3)).is_none());
    }

    #[test]
    fn values_are_as_far_apart_as_their_ratio() {
        assert_eq!(difference("O_DIRECT", "o_direct"), 0.0);
        assert_eq!(difference("O_DIRECT", "fsync"), 1.0);
        assert!((difference("512M", "1073741824") - 2.0_f64.ln()).abs() < 1e-9);
        assert!(difference("200", "2000") > difference("1000", "2000"));
        assert_eq!((difference("0", "0"), difference("0", "1")), (0.0, 1.0));
    }

    #[test]
    fn what_is_too_slow_is_worse_than_all_others() {
        let rank = |is_within, value| Rank { is_within, value };
        assert!(rank(true, 0.1) > rank(false, 0.99));
        assert!(rank(false, 0.9) > rank(false, 0.5));
        assert!(rank(true, 1.2) > rank(true, 1.1));
    }
}
