//! A whole proof: proposals are measured until they are decided, and what the choice gives in
//! windows that have no part in it. Those are spread over the proof, so that the machine's hour is
//! in them.

use crate::elimination::{Elimination, Measure, ProposalBlock};
use crate::gain::WholeGain;
use crate::settings::Settings;
use analyse::{Base, DriftRound, RatioInterval, mean, ratio_in_drift};

/// Rounds of the start and all that was proposed, one after each of the first blocks.
const ROUNDS_BESIDE: usize = 3;
/// Rounds of the start, what was kept and all that was proposed, when it is known what was kept.
const ROUNDS_AFTER: usize = 3;
/// Of [`Course::arms`].
const START: usize = 0;

/// A proof on its way.
pub(crate) struct Course<'a> {
    pub elimination: Elimination<'a>,
    /// What fresh windows were of; the first is the start.
    arms: Vec<Settings>,
    rounds: Vec<DriftRound>,
    windows: usize,
    /// Rounds that are left, of the start and all that was proposed, while proposals are measured.
    beside_left: usize,
    /// Was all that was proposed better than what was kept, so that what was dropped was measured
    /// anew?
    pub is_repeated: bool,
    /// What has no result in the fresh windows, and why.
    pub failed: Option<(Settings, String)>,
}

impl<'a> Course<'a> {
    pub(crate) fn new(elimination: Elimination<'a>) -> Course<'a> {
        Course {
            elimination,
            arms: vec![Settings::new()],
            rounds: Vec::new(),
            windows: 0,
            beside_left: ROUNDS_BESIDE,
            is_repeated: false,
            failed: None,
        }
    }

    /// Measures all.
    ///
    /// # Errors
    /// Of `measure`; what was decided before holds.
    pub(crate) fn run<E>(&mut self, mut measure: impl Measure<E>) -> Result<(), E> {
        loop {
            while self.block(&mut measure)? {
                self.round_beside(&mut measure)?;
            }
            self.rounds_after(&mut measure)?;
            if self.is_repeated || !self.is_better_together() {
                return Ok(());
            }
            self.is_repeated = true;
            self.elimination.reopen();
        }
    }

    /// What was kept against the start.
    pub(crate) fn whole(&self) -> Option<WholeGain> {
        let kept = self.elimination.kept();
        if kept.is_empty() { None } else { self.gain(&kept) }
    }

    /// All that was proposed against the start.
    pub(crate) fn proposed(&self) -> Option<WholeGain> {
        self.gain(self.elimination.proposed()?)
    }

    /// Is all that was proposed more than what was kept, by more than is worth a line?
    pub(crate) fn is_better_together(&self) -> bool {
        let all = self.elimination.proposed();
        let found = all.and_then(|all| self.ratio(all, &self.elimination.kept()));
        found.is_some_and(|found| {
            let matters = |ratio| ratio > 1.0 + self.elimination.limits.gain_min_share;
            found.low.is_some_and(|low| low > 1.0) && found.value.is_some_and(matters)
        })
    }

    fn block<E>(&mut self, measure: &mut impl Measure<E>) -> Result<bool, E> {
        let after = 2 * self.beside_left + 3 * ROUNDS_AFTER;
        let windows = &mut self.windows;
        self.elimination.block(&mut |mut block: ProposalBlock| {
            block.windows_left += after;
            *windows += block.sets.len();
            measure(block)
        })
    }

    fn round_beside<E>(&mut self, measure: &mut impl Measure<E>) -> Result<(), E> {
        let proposed = self.elimination.proposed().cloned();
        if let Some(proposed) = proposed.filter(|_| self.beside_left > 0) {
            self.beside_left -= 1;
            let left = 2 * self.beside_left + 3 * ROUNDS_AFTER;
            if self.round(&[proposed], left, measure)?.is_some() {
                self.beside_left = 0;
            }
        }
        Ok(())
    }

    fn rounds_after<E>(&mut self, measure: &mut impl Measure<E>) -> Result<(), E> {
        let kept = self.elimination.kept();
        if kept.is_empty() {
            return Ok(());
        }
        let mut sets = vec![kept];
        sets.extend(self.elimination.proposed().filter(|all| **all != sets[0]).cloned());
        for round in 1..=ROUNDS_AFTER {
            let left = (1 + sets.len()) * (ROUNDS_AFTER - round);
            let failed = self.round(&sets, left, measure)?;
            // All that was proposed need not run.
            if let Some((failed, _)) = &failed
                && sets.iter().skip(1).any(|all| all == failed)
            {
                sets.truncate(1);
            } else if failed.is_some() {
                self.failed = failed;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Measures the start and these beside it; once more, where one has no result. Tells what has
    /// none then.
    fn round<E>(
        &mut self,
        sets: &[Settings],
        windows_left: usize,
        measure: &mut impl Measure<E>,
    ) -> Result<Option<(Settings, String)>, E> {
        let sets = [&[Settings::new()], sets].concat();
        let windows_left = sets.len() + windows_left;
        let mut failed = None;
        for _ in 0..2 {
            let windows_before = self.windows;
            self.windows += sets.len();
            let title = "what was chosen, in fresh windows";
            let windows = measure(ProposalBlock { sets: sets.clone(), title, windows_left })?;
            let mut values = Vec::new();
            failed = None;
            for (set, window) in sets.iter().zip(windows) {
                match window {
                    Ok(value) => values.push((self.arm(set), value)),
                    Err(reason) => failed = failed.or(Some((set.clone(), reason))),
                }
            }
            if values.len() > 1 && values[0].0 == START {
                self.rounds.push(DriftRound { windows_before, values });
            }
            if failed.is_none() {
                break;
            }
        }
        Ok(failed)
    }

    fn arm(&mut self, set: &Settings) -> usize {
        self.place(set).unwrap_or_else(|| {
            self.arms.push(set.clone());
            self.arms.len() - 1
        })
    }

    fn place(&self, set: &Settings) -> Option<usize> {
        self.arms.iter().position(|arm| arm == set)
    }

    fn ratio(&self, set: &Settings, base: &Settings) -> Option<RatioInterval> {
        ratio_in_drift(&self.rounds, self.place(set)?, Base(self.place(base)?))
    }

    fn gain(&self, set: &Settings) -> Option<WholeGain> {
        let arm = self.place(set)?;
        let ratio = self.ratio(set, &self.arms[START])?;
        let value = |round: &DriftRound, arm| {
            round.values.iter().find(|(of, _)| *of == arm).map(|(_, value)| *value)
        };
        let with = self.rounds.iter().filter(|round| value(round, arm).is_some());
        let values = |arm| with.clone().filter_map(|round| value(round, arm)).collect::<Vec<_>>();
        Some(WholeGain {
            pairs: self.rounds.len(),
            start_value: mean(&values(START)),
            chosen_value: mean(&values(arm)),
            ratio,
        })
    }
}
