//! Two things measured, against each other: each several runs, from the results file alone.
//!
//! A machine drifts, so that runs are compared with those that were measured beside them: runs of a
//! lab inside its blocks, others by the time of their measurement, each with its neighbour. Where
//! all of one side came first, drift and difference cannot be told apart, and nothing is claimed.

use crate::lab::ratios::{Ratio, correct};
use crate::lab::unlike::{Difference, differences};
use crate::run::runs::{Basis, MeanValue, Run, Runs};
use crate::stats::blocks::{Base, Blocks, CLAIM_REPEATS_MIN, Observation};
use itertools::Itertools;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use store::{CellId, LabId, RepeatId, Results, StoreResult};

/// One side, as asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct RunsAsked {
    pub name: String,
    pub repeats: Vec<RepeatId>,
}

/// What is compared with what.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonAsked {
    pub base: RunsAsked,
    pub other: RunsAsked,
    /// A slowdown by less, as a share, is of no practical meaning.
    pub at_least_share: f64,
}

/// What `mydyno compare --json` prints. `docs/json.md` describes its keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    pub schema_version: u32,
    pub results_file: String,
    /// What is not the same in all runs, apart from their numbers.
    pub differences: Vec<Difference>,
    /// What is compared with; ratios are `other` / `base`.
    pub base: Runs,
    pub other: Runs,
    /// `None` where runs were not measured in turns.
    pub paired_by: Option<PairedBy>,
    /// Blocks, or neighbours in time, with a run of either side.
    pub pairs: usize,
    pub nopm: Ratio,
    pub new_order_p95_us: Ratio,
    pub at_least_percent: f64,
    /// `other` has less throughput, or longer response times, by more than `at_least_percent`: the
    /// interval excludes less.
    pub regression: bool,
    /// A regression is excluded by both intervals.
    pub regression_excluded: bool,
    pub notes: Vec<String>,
}

/// What makes two runs a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairedBy {
    /// The same block of one lab.
    Block,
    /// One was measured next to the other.
    Time,
}

/// A run with its place.
struct PlacedRun {
    run: Run,
    cell: CellId,
    block: (LabId, u32),
    started_utc_ns: i64,
}

/// Places of the two sides among the cells of the model.
const BASE: usize = 0;
const OTHER: usize = 1;

/// Compares `other` with `base`.
///
/// # Errors
/// A repeat does not exist, or the file cannot be read.
pub fn compare_runs(results: &Results, asked: &ComparisonAsked) -> StoreResult<RunComparison> {
    let mut notes = Vec::new();
    let base = placed(results, &asked.base, &mut notes)?;
    let other = placed(results, &asked.other, &mut notes)?;
    let ids = |side: &[PlacedRun]| side.iter().map(|one| one.run.id).collect_vec();
    let differences = differences(results, &ids(&base), &ids(&other))?;
    let names = [asked.base.name.as_str(), asked.other.name.as_str()];
    let paired = Paired::of(results, [&base, &other])?;
    let runs = base.len() + other.len();
    let [base, other] = [base, other].map(|side| side.into_iter().map(|one| one.run).collect_vec());
    let ratio = |of: fn(&Run) -> Option<f64>, number: fn(&RunNumbers) -> Option<f64>| {
        let measured = paired.measured.iter().filter_map(|one| {
            let (cell, block) = one.place;
            Some(Observation { cell, block, value: number(one)? })
        });
        let contrast = Blocks::of(&measured.collect_vec()).contrast(OTHER, Base(BASE));
        Ratio::of(&MeanValue::over_runs(&other, of), contrast.as_ref())
    };
    let mut nopm = ratio(|run| run.nopm, |one| one.nopm);
    let mut p95 = ratio(|run| run.p95_us, |one| one.p95_us);
    correct(vec![&mut nopm, &mut p95]);
    notes.extend(paired.notes(names, runs, &nopm));
    let least = asked.at_least_share;
    let (base, other) = (Runs::of(names[0], &base), Runs::of(names[1], &other));
    for Runs { name, .. } in [&base, &other].iter().filter(|of| of.basis == Basis::Intervals) {
        notes.push(format!(
            "{name} is one run: its interval says how well its own mean is known, and not how \
             another run would differ"
        ));
    }
    Ok(RunComparison {
        schema_version: 2,
        results_file: results.path().display().to_string(),
        differences,
        base,
        other,
        paired_by: paired.by,
        pairs: paired.pairs,
        regression: exceeds(&nopm, |(_, high)| high < 1.0 - least)
            || exceeds(&p95, |(low, _)| low > 1.0 + least),
        regression_excluded: exceeds(&nopm, |(low, _)| low > 1.0 - least)
            && exceeds(&p95, |(_, high)| high < 1.0 + least),
        nopm,
        new_order_p95_us: p95,
        at_least_percent: least * 100.0,
        notes,
    })
}

/// Does the interval of a ratio that supports a claim have this property?
fn exceeds(ratio: &Ratio, of: impl Fn((f64, f64)) -> bool) -> bool {
    ratio.p_corrected.is_some() && ratio.ratio.interval().is_some_and(of)
}

fn placed(
    results: &Results,
    asked: &RunsAsked,
    notes: &mut Vec<String>,
) -> StoreResult<Vec<PlacedRun>> {
    let mut all = Vec::new();
    for id in &asked.repeats {
        let Some(run) = Run::read(results, *id)? else {
            let name = &asked.name;
            notes.push(format!("{name}: repeat {id} has no result and is left out"));
            continue;
        };
        let repeat = results.repeat(*id)?;
        all.push(PlacedRun {
            run,
            cell: repeat.cell,
            block: (results.cell(repeat.cell)?.lab, repeat.block),
            started_utc_ns: repeat.started_utc_ns,
        });
    }
    Ok(all)
}

/// Numbers of one run, and where the model has them.
struct RunNumbers {
    /// Its cell and its block.
    place: (usize, usize),
    nopm: Option<f64>,
    p95_us: Option<f64>,
}

impl RunNumbers {
    fn of(&Run { nopm, p95_us, .. }: &Run, place: (usize, usize)) -> RunNumbers {
        RunNumbers { place, nopm, p95_us }
    }
}

/// Runs of both sides, with those beside them.
struct Paired {
    by: Option<PairedBy>,
    pairs: usize,
    measured: Vec<RunNumbers>,
    /// In time, was the base the first of each pair?
    base_first: bool,
}

impl Paired {
    fn of(results: &Results, sides: [&[PlacedRun]; 2]) -> StoreResult<Paired> {
        let [base, other] = sides
            .map(|side| -> BTreeSet<(LabId, u32)> { side.iter().map(|one| one.block).collect() });
        match base.intersection(&other).count() {
            0 => Ok(Paired::by_time(sides)),
            pairs => Paired::by_block(results, sides, pairs),
        }
    }

    /// With all other cells of the labs: they tell of the blocks, and of the scatter.
    fn by_block(results: &Results, sides: [&[PlacedRun]; 2], pairs: usize) -> StoreResult<Paired> {
        let mut blocks: BTreeMap<(LabId, u32), usize> = BTreeMap::new();
        let mut block_of = |block| {
            let next = blocks.len();
            *blocks.entry(block).or_insert(next)
        };
        let mut measured = Vec::new();
        let mut compared = BTreeSet::new();
        for (cell, side) in sides.iter().enumerate() {
            for one in *side {
                measured.push(RunNumbers::of(&one.run, (cell, block_of(one.block))));
                compared.insert((one.block.0, one.cell));
            }
        }
        let labs: BTreeSet<LabId> = compared.iter().map(|(lab, _)| *lab).collect();
        let mut last = OTHER;
        for lab in labs {
            for cell in results.cells(lab)? {
                if compared.contains(&(lab, cell.id)) {
                    continue;
                }
                last += 1;
                for repeat in results.repeats(cell.id)? {
                    let run = Run::read(results, repeat.id)?.filter(|_| repeat.is_whole());
                    let block = block_of((lab, repeat.block));
                    measured.extend(run.map(|run| RunNumbers::of(&run, (last, block))));
                }
            }
        }
        Ok(Paired { by: Some(PairedBy::Block), pairs, measured, base_first: false })
    }

    fn by_time(sides: [&[PlacedRun]; 2]) -> Paired {
        let of = |cell: usize| sides[cell].iter().map(move |one| (cell, one));
        let order = of(BASE).chain(of(OTHER)).sorted_by_key(|(_, one)| one.started_utc_ns);
        let order = order.collect_vec();
        let sequence: Vec<usize> = order.iter().map(|(cell, _)| *cell).collect();
        let pairs = neighbours(&sequence);
        let in_turns =
            pairs.len() >= CLAIM_REPEATS_MIN.min(sides[BASE].len()).min(sides[OTHER].len());
        let numbers = |(block, first): (usize, &usize)| {
            let pair = order[*first..*first + 2].iter();
            pair.map(move |(cell, one)| RunNumbers::of(&one.run, (*cell, block)))
        };
        let measured = pairs.iter().enumerate().flat_map(numbers).collect();
        Paired {
            by: in_turns.then_some(PairedBy::Time),
            pairs: pairs.len(),
            measured: if in_turns { measured } else { Vec::new() },
            base_first: pairs.iter().all(|first| sequence[*first] == BASE),
        }
    }

    fn notes(&self, [base, other]: [&str; 2], runs: usize, nopm: &Ratio) -> Vec<String> {
        let mut notes = Vec::new();
        if self.by.is_none() {
            notes.push(format!(
                "runs of {base} and {other} were not measured in turns, so that drift of the \
                 machine and a difference between them cannot be told apart: nothing is claimed; \
                 measure them in turns, such as A B B A A B"
            ));
            return notes;
        }
        let by_time = self.by == Some(PairedBy::Time);
        let alone = runs.saturating_sub(2 * self.pairs);
        if by_time && alone > 0 {
            let runs = base::counted(alone, "run has", "runs have");
            notes.push(format!("{runs} no neighbour of the other side, and no part in the ratios"));
        }
        if nopm.p_corrected.is_none() {
            let why = match nopm.p_value {
                None if self.pairs >= CLAIM_REPEATS_MIN => {
                    "there is no noise to hold a difference against, and nothing is claimed"
                        .to_owned()
                }
                _ => format!("nothing is claimed of fewer than {CLAIM_REPEATS_MIN}"),
            };
            let pairs = base::counted(self.pairs, "pair", "pairs");
            notes.push(format!("{pairs} with a run of either side: {why}"));
        } else if by_time && self.base_first {
            notes.push(format!(
                "{base} was the first of every pair, so that what changes steadily is part of the \
                 difference; measure A B B A A B"
            ));
        }
        notes
    }
}

/// Where pairs of neighbours of unlike sides begin in a sequence: as many as there can be, each run
/// in one.
fn neighbours(sequence: &[usize]) -> Vec<usize> {
    let mut pairs = Vec::new();
    let mut at = 0;
    while at + 1 < sequence.len() {
        if sequence[at] == sequence[at + 1] {
            at += 1;
        } else {
            pairs.push(at);
            at += 2;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::neighbours;

    #[test]
    fn neighbours_in_time() {
        for (sequence, pairs) in [
            (&[0, 1, 0, 1, 0, 1][..], &[0, 2, 4][..]),
            (&[0, 1, 1, 0, 0, 1], &[0, 2, 4]),
            (&[0, 0, 0, 1, 1, 1], &[2]),
            (&[0, 0, 1, 1, 0, 0, 1, 1], &[1, 3, 5]),
            (&[0], &[]),
            (&[], &[]),
        ] {
            assert_eq!(neighbours(sequence), pairs, "{sequence:?}");
        }
    }
}
