//! A lab as one document: its cells, what their repeats gave, and how well that is known.

use crate::lab::cells::{CellOutcome, RepeatOutcome, blocks as model, matrix};
use crate::lab::comparisons::{CellComparison, comparisons};
use crate::lab::device_effects::{DeviceEffects, device_effects};
use crate::lab::drills::{DrillFigures, drills};
use crate::lab::effects::{DimensionEffects, effects};
use crate::lab::interference::instance_spread;
use crate::lab::machines::MachineOutcome;
use crate::lab::matrix::Matrix;
use crate::lab::reversals::{Reversal, reversals};
use crate::lab::sweep::{Sweep, sweeps};
use crate::ramp::ramps::{RampOutcome, ramps};
use crate::run::runs::Run;
use crate::stats::statistics::mean;
use base::document;
use store::{
    Block, Canary, Lab, LabId, LabMachine, Repeat, Results, StoreResult, StoredCell,
    ThroughputMetric,
};

document! {
    /// What `mydyno lab run --json` and `lab status --json` print. `docs/json.md` describes its
    /// keys.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LabOutcome from (
        results: &Results,
        lab: Lab,
        cells: Vec<CellOutcome>,
        drills: Vec<DrillFigures>,
        ramps: Vec<RampOutcome>,
        blocks: Vec<Block>,
        machines: Vec<LabMachine>
    );
    let matrix = matrix(&cells);
    let compared = compared(&cells, &matrix, lab.adaptive);
    let reversals = reversals(&compared);
    let (effects, device_effects) = (effects(&cells, &matrix), device_effects(&cells));
    let sweeps = if lab.adaptive { Vec::new() } else { sweeps(&cells, &matrix) };
    let model = model(&cells, |repeat| repeat.nopm);
    let of_machine = |machine| MachineOutcome::of(machine, &blocks, &cells, &model);
    let of_machines = machines.iter().map(of_machine).collect();
    {
        pub schema_version: u32 = 2,
        pub results_file: String = results.path().display().to_string(),
        pub lab_id: i64 = lab.id.0,
        pub name: String = lab.name,
        pub status: String = lab.status.name().to_owned(),
        pub reason: Option<String> = lab.reason,
        /// Did what came out decide what was measured next (`advise`, `tune`)? Such a lab has no
        /// p-values, reversals and turning points: these are of repeats whose number was known
        /// before.
        pub adaptive: bool = lab.adaptive,
        /// Those that were begun.
        pub cells: Vec<CellOutcome> = cells,
        /// Cells that differ in one thing alone, against the first of them.
        pub comparisons: Vec<CellComparison> = compared,
        /// What each value does by itself, from all cells at once.
        pub effects: Vec<DimensionEffects> = effects,
        /// The same for each device of data by itself, where there are two at least.
        pub device_effects: Vec<DeviceEffects> = device_effects,
        /// Settings that help in some of them and hurt in others.
        pub reversals: Vec<Reversal> = reversals,
        /// Throughput over the numbers of one variable.
        pub sweeps: Vec<Sweep> = sweeps,
        /// What survived, of the cells whose servers were ended.
        pub drills: Vec<DrillFigures> = drills,
        /// Whose points are among the cells.
        pub ramps: Vec<RampOutcome> = ramps,
        /// In the order of time.
        pub blocks: Vec<BlockOutcome> =
            blocks.iter().map(|block| BlockOutcome::of(block, &machines)).collect(),
        /// In the order in which they came to the lab.
        pub machines: Vec<MachineOutcome> = of_machines,
    }
}

document! {
    /// One block, and what its canary took: fixed work, so that more of it is a slower host.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BlockOutcome from (block: &Block, machines: &[LabMachine]);
    let machine = machines.iter().find(|machine| machine.machine == block.machine);
    let us =
        |of: fn(&Canary) -> u64| block.canary.as_ref().map(|canary| of(canary) as f64 / 1e3);
    {
        pub block: u32 = block.block,
        pub started_utc_ns: i64 = block.started_utc_ns,
        /// The name of the machine that measured it.
        pub machine: Option<String> = machine.map(LabMachine::name),
        pub canary_cpu_us: Option<f64> = us(|canary| canary.cpu_ns),
        pub canary_memory_us: Option<f64> = us(|canary| canary.memory_ns),
        pub canary_wake_up_latency_us: Option<f64> = us(|canary| canary.wake_up_latency_ns),
    }
}

/// The lab as it is in the results file.
///
/// # Errors
/// There is no such lab, or the file cannot be read.
pub fn lab_outcome(results: &Results, id: LabId) -> StoreResult<LabOutcome> {
    let lab = results.lab(id)?;
    let cells = results.cells(id)?;
    let cells = cells.iter().map(|cell| cell_outcome(results, cell)).collect::<Result<_, _>>()?;
    let (drills, ramps) = (drills(results, id)?, ramps(results, id)?);
    let (blocks, machines) = (results.get(id)?, results.machines(id)?);
    Ok(LabOutcome::of(results, lab, cells, drills, ramps, blocks, machines))
}

/// The comparisons of a lab. Of repeats whose number was not known before nothing is claimed.
fn compared(cells: &[CellOutcome], matrix: &Matrix, is_adaptive: bool) -> Vec<CellComparison> {
    let mut comparisons = comparisons(cells, matrix);
    let rows = comparisons.iter_mut().flat_map(|of| &mut of.rows).filter(|_| is_adaptive);
    for ratio in rows.flat_map(|row| [&mut row.nopm, &mut row.new_order_p95_us]) {
        (ratio.p_value, ratio.p_corrected) = (None, None);
    }
    comparisons
}

fn cell_outcome(results: &Results, cell: &StoredCell) -> StoreResult<CellOutcome> {
    let repeats = results.repeats(cell.id)?;
    let again = results.measured_again(cell.id)?;
    let counted = results.counted_repeats(cell)?;
    let measured = counted.iter().filter_map(|repeat| Run::read(results, *repeat).transpose());
    let measured = measured.collect::<StoreResult<Vec<_>>>()?;
    let of_repeat = |repeat: &Repeat| RepeatOutcome {
        measured_again: again.contains(&repeat.id),
        ..RepeatOutcome::of(repeat, &measured)
    };
    let repeat_outcomes = repeats.iter().map(of_repeat).collect();
    Ok(CellOutcome::of(&cell.what, &measured, repeat_outcomes, spread(results, &repeats)?))
}

impl LabOutcome {
    /// What throughput counts in all cells: any transactions, where they do not count the same.
    pub fn metric(&self) -> ThroughputMetric {
        let mut all = self.cells.iter().map(|cell| cell.metric);
        let first = all.next().unwrap_or_default();
        if all.all(|metric| metric == first) { first } else { ThroughputMetric::Tpm }
    }
}

/// Between the servers of a cell, the mean of its repeats.
fn spread(results: &Results, repeats: &[Repeat]) -> StoreResult<Option<f64>> {
    let mut spreads = Vec::new();
    for repeat in repeats.iter().filter(|repeat| repeat.is_whole()) {
        spreads.extend(instance_spread(&results.throughput_by_instance(repeat)?));
    }
    Ok(mean(&spreads))
}
