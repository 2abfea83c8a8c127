//! What survived the drills of a cell.

use crate::stats::statistics::mean;
use serde::Serialize;
use store::{LabId, Results, StoreResult, StoredDrill, StoredWitness};

/// The drills of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DrillFigures {
    /// Of the cell in its lab.
    pub ordinal: u32,
    /// As `--fault` names it.
    pub fault: String,
    /// How many there were, how many servers took connections again, after how many something that
    /// was acknowledged was lost, and after how many something was damaged.
    pub drills: u32,
    pub recovered: u32,
    pub with_losses: u32,
    pub damaged: u32,
    /// From the start of the server until it took connections.
    pub recovery_mean_s: Option<f64>,
    pub recovery_max_s: Option<f64>,
    /// From the first acknowledgement of what was lost to the last of all: the longest.
    pub lost_span_max_s: f64,
    /// Over all drills.
    pub witnessed: Vec<StoredWitness>,
    /// Of power cuts: writes that were not promised, of these those of which nothing is kept and
    /// those of which a part is, and those that count as kept because the journal was full.
    pub unstable_writes: u64,
    pub lost_writes: u64,
    pub torn_writes: u64,
    pub forced_writes: u64,
    /// Pages that were not whole before the recoveries, and at the end.
    pub torn_pages: u64,
    pub corrupt_pages: u64,
    /// What servers did of a fault of their devices, by the number of the drill.
    pub reactions: Vec<DrillReaction>,
    /// What was damaged, by the number of the drill.
    pub damage: Vec<DrillDamage>,
}

/// What a server did of a fault of its devices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrillReaction {
    pub drill: u32,
    /// `kept running`, `stopped` or `hung`.
    pub reaction: String,
    /// Transactions that clients gave up.
    pub client_errors: u64,
    /// Of its error log.
    pub said: Option<String>,
}

/// What one drill damaged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrillDamage {
    pub drill: u32,
    pub seed: Option<u64>,
    pub what: String,
}

impl DrillFigures {
    /// In how many drills a server did so, for what it did of a fault of its devices.
    pub fn reactions_in_words(&self) -> Option<String> {
        let counts = ["kept running", "stopped", "hung"].map(|did| {
            let alike = self.reactions.iter().filter(|of| of.reaction == did).count();
            (alike > 0).then(|| format!("{did} in {alike}"))
        });
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    }

    /// Is everything there that was acknowledged, and whole?
    pub fn is_kept(&self) -> bool {
        self.with_losses == 0 && self.damaged == 0 && self.unexplained() == 0
    }

    /// Rows that are there, and that neither an acknowledged transaction nor one in doubt explains.
    pub fn unexplained(&self) -> u64 {
        self.witnessed.iter().map(|of| of.unexplained).sum()
    }

    fn add(&mut self, drilled: &[StoredWitness]) {
        for (place, of) in drilled.iter().enumerate() {
            if self.witnessed.len() <= place {
                let name = of.name.clone();
                self.witnessed.push(StoredWitness { name, ..StoredWitness::default() });
            }
            let total = &mut self.witnessed[place];
            total.acknowledged += of.acknowledged;
            total.in_doubt += of.in_doubt;
            total.lost += of.lost;
            total.unexplained += of.unexplained;
        }
    }
}

/// The drills of a lab, by cell; cells without any are left out.
///
/// # Errors
/// There is no such lab, or the file cannot be read.
pub fn drills(results: &Results, lab: LabId) -> StoreResult<Vec<DrillFigures>> {
    let mut all = Vec::new();
    for cell in results.cells(lab)? {
        let mut figures = DrillFigures { ordinal: cell.what.ordinal, ..DrillFigures::default() };
        let mut recoveries_s = Vec::new();
        for repeat in results.repeats(cell.id)? {
            let Some(drill) = results.get::<StoredDrill>(repeat.id)?.pop() else { continue };
            figures.drills += 1;
            figures.fault = drill.fault;
            recoveries_s.extend(drill.recovery_ns.map(|ns| ns as f64 / 1e9));
            figures.torn_pages += drill.torn_pages.unwrap_or(0);
            figures.corrupt_pages += drill.corrupt_pages.unwrap_or(0);
            if let Some(reaction) = drill.reaction {
                figures.reactions.push(DrillReaction {
                    drill: repeat.ordinal,
                    reaction,
                    client_errors: drill.client_errors.unwrap_or(0),
                    said: drill.said,
                });
            }
            if let Some(what) = drill.damage {
                let (drill, seed) = (repeat.ordinal, repeat.seed);
                figures.damage.push(DrillDamage { drill, seed, what });
            }
            let witnessed: Vec<StoredWitness> = results.get(repeat.id)?;
            figures.with_losses += u32::from(witnessed.iter().any(|of| of.lost > 0));
            figures.add(&witnessed);
            let span_s = drill.lost_span_ns.unwrap_or(0) as f64 / 1e9;
            figures.lost_span_max_s = figures.lost_span_max_s.max(span_s);
            figures.unstable_writes += drill.unstable_writes.unwrap_or(0);
            figures.lost_writes += drill.lost_writes.unwrap_or(0);
            figures.torn_writes += drill.torn_writes.unwrap_or(0);
            figures.forced_writes += drill.forced_writes.unwrap_or(0);
        }
        figures.recovered = recoveries_s.len() as u32;
        figures.damaged = figures.damage.len() as u32;
        figures.recovery_mean_s = mean(&recoveries_s);
        figures.recovery_max_s = recoveries_s.into_iter().reduce(f64::max);
        if figures.drills > 0 {
            all.push(figures);
        }
    }
    Ok(all)
}
