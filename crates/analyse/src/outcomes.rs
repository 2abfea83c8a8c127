//! A lab as one document: its cells, what their repeats gave, and how well that is known.

use crate::blocks::{Blocks, Measured};
use crate::comparisons::{CellComparison, comparisons};
use crate::interference::instance_spread;
use crate::matrix::{Dimension, Matrix};
use crate::ramps::{RampOutcome, ramps};
use crate::reversals::{Reversal, reversals};
use crate::runs::{Basis, Run, Runs, Value};
use crate::statistics::mean;
use crate::sweep::{Sweep, sweeps};
use serde::Serialize;
use std::collections::BTreeMap;
use store::{Block, Canary, Cell, LabId, Repeat, Results, StoreError};

/// What `mydyno lab run --json` and `lab status --json` print. `docs/json.md` describes its keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabOutcome {
    pub schema_version: u32,
    pub results_file: String,
    pub lab_id: i64,
    pub name: String,
    pub status: String,
    pub reason: Option<String>,
    /// Those that were begun.
    pub cells: Vec<CellOutcome>,
    /// Cells that differ in one thing alone, against the first of them.
    pub comparisons: Vec<CellComparison>,
    /// Settings that help in some of them and hurt in others.
    pub reversals: Vec<Reversal>,
    /// Throughput over the numbers of one variable.
    pub sweeps: Vec<Sweep>,
    /// Whose points are among the cells.
    pub ramps: Vec<RampOutcome>,
    /// In the order of time.
    pub blocks: Vec<BlockOutcome>,
}

/// One block, and what its canary took: fixed work, so that more of it is a slower host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlockOutcome {
    pub block: u32,
    pub started_utc_ns: i64,
    pub canary_cpu_us: Option<f64>,
    pub canary_memory_us: Option<f64>,
    pub canary_wake_up_latency_us: Option<f64>,
}

impl BlockOutcome {
    fn of(block: &Block) -> BlockOutcome {
        let us =
            |of: fn(&Canary) -> u64| block.canary.as_ref().map(|canary| of(canary) as f64 / 1e3);
        BlockOutcome {
            block: block.block,
            started_utc_ns: block.started_utc_ns,
            canary_cpu_us: us(|canary| canary.cpu_ns),
            canary_memory_us: us(|canary| canary.memory_ns),
            canary_wake_up_latency_us: us(|canary| canary.wake_up_latency_ns),
        }
    }
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellOutcome {
    pub ordinal: u32,
    pub engine: String,
    pub preset: Option<String>,
    /// Device by role, where mydyno placed files.
    pub places: BTreeMap<String, String>,
    pub settings: BTreeMap<String, String>,
    pub warehouses: u32,
    pub foreign_keys: bool,
    pub partitions: u32,
    pub history_key: Option<bool>,
    pub isolation: Option<String>,
    pub workload: String,
    pub style: String,
    pub connections: u32,
    /// Servers that were driven together; `nopm` is of all of them.
    pub instances: u32,
    /// How far they are apart ([`instance_spread`]), the mean of the repeats; `None` of one.
    pub instance_spread: Option<f64>,
    pub repeats: Vec<RepeatOutcome>,
    pub basis: Basis,
    pub nopm: Value,
    pub new_order_p95_us: Value,
}

/// One repeat, by its last attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RepeatOutcome {
    pub repeat: u32,
    pub repeat_id: i64,
    pub attempt: u32,
    /// See [`BlockOutcome`]. What has the same number was measured close together in time, and is
    /// compared.
    pub block: u32,
    pub status: String,
    pub reason_code: Option<String>,
    pub reason: Option<String>,
    /// It measured a ramp's number of connections once more on the same server. That sharpens the
    /// ramp, and is no further repeat of the cell: it has no part in the cell's numbers.
    pub measured_again: bool,
    /// What it gave, where it was measured over its whole window.
    pub nopm: Option<f64>,
    pub new_order_p95_us: Option<f64>,
    #[serde(skip)]
    pub has_failed: bool,
}

impl CellOutcome {
    /// What tells cells apart: name and value of everything that a plan can vary, connections last. Of a lab without a plan, the
    /// device of data is among them.
    #[must_use]
    pub fn names(&self) -> Vec<(String, String)> {
        let mut names = vec![("engine".to_owned(), self.engine.clone())];
        // A preset and places are settings where they differ.
        let settings = self.settings.iter();
        names.extend(settings.map(|(name, value)| (name.clone(), value.clone())));
        if let (None, Some(device)) = (self.settings.get(DATA), self.places.get(DATA)) {
            names.push((DATA.to_owned(), device.clone()));
        }
        names.push((INSTANCES.to_owned(), self.instances.to_string()));
        names.push(("warehouses".to_owned(), self.warehouses.to_string()));
        names.push(("partitions".to_owned(), self.partitions.to_string()));
        names.push(("workload".to_owned(), self.workload.clone()));
        names.push(("style".to_owned(), self.style.clone()));
        // A cell that has met no server yet, or that an earlier mydyno measured, does not say it.
        let isolation = self.isolation.as_deref().unwrap_or("repeatable-read");
        names.push(("isolation".to_owned(), isolation.to_owned()));
        names.push((CONNECTIONS.to_owned(), self.connections.to_string()));
        names
    }

    /// Has a repeat failed by itself, so that a missing number is NA?
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.repeats.iter().any(|repeat| repeat.has_failed)
    }
}

const DATA: &str = "data";
/// Of [`CellOutcome::names`]: how many servers are driven together.
pub const INSTANCES: &str = "instances";
/// The last name of [`CellOutcome::names`].
pub const CONNECTIONS: &str = "connections";

/// The lab as it is in the results file.
///
/// # Errors
/// There is no such lab, or the file cannot be read.
pub fn lab_outcome(results: &Results, id: LabId) -> Result<LabOutcome, StoreError> {
    let lab = results.lab(id)?;
    let mut cells = Vec::new();
    for cell in results.cells(id)? {
        cells.push(cell_outcome(results, &cell)?);
    }
    let matrix = matrix(&cells);
    let comparisons = comparisons(&cells, &matrix);
    Ok(LabOutcome {
        schema_version: 2,
        results_file: results.path().display().to_string(),
        lab_id: id.0,
        name: lab.name,
        status: lab.status.as_str().to_owned(),
        reason: lab.reason,
        reversals: reversals(&comparisons),
        comparisons,
        sweeps: sweeps(&cells, &matrix),
        cells,
        ramps: ramps(results, id)?,
        blocks: results.blocks(id)?.iter().map(BlockOutcome::of).collect(),
    })
}

/// Names of [`CellOutcome::names`] that tell cells apart, but for their connections. What a cell that never had a server does not say
/// is no difference.
#[must_use]
pub fn varying(cells: &[CellOutcome]) -> Vec<String> {
    let matrix = matrix(cells);
    let names = matrix.dimensions().iter().flat_map(Dimension::names);
    names
        .filter(|name| *name != CONNECTIONS)
        .map(str::to_owned)
        .collect()
}

/// What the cells differ in.
pub(crate) fn matrix(cells: &[CellOutcome]) -> Matrix {
    let names: Vec<_> = cells.iter().map(CellOutcome::names).collect();
    Matrix::of(&names)
}

/// The model of all cells, by their places in the list.
pub(crate) fn blocks(cells: &[CellOutcome], number: fn(&RepeatOutcome) -> Option<f64>) -> Blocks {
    let mut measured = Vec::new();
    for (cell, of) in cells.iter().enumerate() {
        measured.extend(of.repeats.iter().filter_map(|repeat| {
            Some(Measured {
                cell,
                block: repeat.block as usize,
                value: number(repeat)?,
            })
        }));
    }
    Blocks::of(&measured)
}

fn cell_outcome(results: &Results, cell: &Cell) -> Result<CellOutcome, StoreError> {
    let repeats = results.repeats(cell.id)?;
    let again = results.measured_again(cell.id)?;
    let is_again = |repeat: &Repeat| again.contains(&repeat.id);
    let mut measured = Vec::new();
    let counted = repeats.iter().filter(|repeat| !is_again(repeat));
    for repeat in counted.filter(|repeat| repeat.is_whole()) {
        measured.extend(Run::read(results, repeat.id)?);
    }
    let values = Runs::of(&cell.what.ordinal.to_string(), &measured);
    let of_repeat = |repeat| RepeatOutcome {
        measured_again: is_again(repeat),
        ..RepeatOutcome::of(repeat, &measured)
    };
    let what = &cell.what;
    Ok(CellOutcome {
        ordinal: what.ordinal,
        engine: what.engine.clone(),
        preset: what.preset.as_ref().map(|preset| preset.name.clone()),
        places: what
            .places
            .iter()
            .map(|place| (place.role.clone(), place.device.clone()))
            .collect(),
        settings: what.settings.iter().cloned().collect(),
        warehouses: what.warehouses,
        foreign_keys: what.foreign_keys,
        partitions: what.partitions,
        history_key: what.history_key,
        isolation: what.isolation.clone(),
        workload: what.workload.clone(),
        style: what.style.clone(),
        connections: what.connections,
        instances: what.instances,
        instance_spread: spread(results, &repeats)?,
        repeats: repeats.iter().map(of_repeat).collect(),
        basis: values.basis,
        nopm: values.nopm,
        new_order_p95_us: values.new_order_p95_us,
    })
}

/// Between the servers of a cell, the mean of its repeats.
fn spread(results: &Results, repeats: &[Repeat]) -> Result<Option<f64>, StoreError> {
    let mut spreads = Vec::new();
    for repeat in repeats.iter().filter(|repeat| repeat.is_whole()) {
        spreads.extend(instance_spread(&results.nopm_by_instance(repeat)?));
    }
    Ok(mean(&spreads))
}

impl RepeatOutcome {
    fn of(repeat: &Repeat, measured: &[Run]) -> RepeatOutcome {
        let run = measured.iter().find(|run| run.id == repeat.id);
        RepeatOutcome {
            repeat: repeat.ordinal,
            repeat_id: repeat.id.0,
            attempt: repeat.attempt,
            block: repeat.block,
            status: repeat.status.as_str().to_owned(),
            reason_code: repeat.reason_code.clone(),
            reason: repeat.reason.clone(),
            measured_again: false,
            nopm: run.and_then(|run| run.nopm),
            new_order_p95_us: run.and_then(|run| run.p95_us),
            has_failed: repeat.own_failure().is_some(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{CONNECTIONS, CellOutcome, DATA, RepeatOutcome};
    use crate::runs::{Basis, Value};
    use std::collections::BTreeMap;

    /// A cell on a device and with an `innodb_io_capacity`, with the NOPM of its repeats by block; p95 is a thousand times that.
    pub(crate) fn cell(
        ordinal: u32,
        (device, capacity): (&str, &str),
        connections: u32,
        nopm: &[f64],
    ) -> CellOutcome {
        let settings = [(DATA, device), ("innodb_io_capacity", capacity)];
        let p95: Vec<f64> = nopm.iter().map(|nopm| nopm * 1_000.0).collect();
        CellOutcome {
            ordinal,
            engine: "mysql-5.7".to_owned(),
            preset: None,
            places: BTreeMap::new(),
            settings: settings
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            warehouses: 10,
            foreign_keys: true,
            partitions: 0,
            history_key: Some(false),
            isolation: Some("repeatable-read".to_owned()),
            workload: "tpcc".to_owned(),
            style: "statements".to_owned(),
            connections,
            instances: 1,
            instance_spread: None,
            repeats: nopm.iter().zip(1..).map(repeat).collect(),
            basis: if nopm.len() == 1 {
                Basis::Intervals
            } else {
                Basis::Repeats
            },
            nopm: Value::of_repeats(nopm),
            new_order_p95_us: Value::of_repeats(&p95),
        }
    }

    fn repeat((nopm, repeat): (&f64, u32)) -> RepeatOutcome {
        RepeatOutcome {
            repeat,
            repeat_id: i64::from(repeat),
            block: repeat,
            attempt: 1,
            status: "done".to_owned(),
            reason_code: None,
            reason: None,
            nopm: Some(*nopm),
            new_order_p95_us: Some(nopm * 1_000.0),
            measured_again: false,
            has_failed: false,
        }
    }

    #[test]
    fn names_end_with_connections() {
        let names = cell(1, ("hdd-15k", "200"), 8, &[1.0]).names();
        assert_eq!(names.last().unwrap().0, CONNECTIONS);
    }
}
