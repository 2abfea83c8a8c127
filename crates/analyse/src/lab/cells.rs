//! The cells of a lab: what they are, what their repeats gave, and what tells them apart.

use crate::lab::matrix::{CONNECTIONS, DILATE, Dimension, Matrix, NamedValue};
use crate::run::runs::{MeanValue, Run};
use crate::stats::blocks::{Blocks, Observation};
use base::document;
use std::collections::BTreeMap;
use store::{NewCell, Repeat, StoredCell, ThroughputMetric};

document! {
    /// One cell.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CellOutcome from (
        what: &NewCell,
        measured: &[Run],
        repeats: Vec<RepeatOutcome>,
        instance_spread: Option<f64>
    );
    let places = what.places.iter();
    {
        pub ordinal: u32 = what.ordinal,
        pub engine: String = what.engine.clone(),
        pub preset: Option<String> = what.preset.as_ref().map(|preset| preset.name.clone()),
        /// Device by role, where mydyno placed files.
        pub places: BTreeMap<String, String> =
            places.map(|place| (place.role.clone(), place.device.clone())).collect(),
        pub settings: BTreeMap<String, String> = what.settings.iter().cloned().collect(),
        pub warehouses: Option<u32> = what.warehouses,
        pub foreign_keys: Option<bool> = what.foreign_keys,
        pub partitions: u32 = what.partitions,
        pub history_key: Option<bool> = what.history_key,
        pub isolation: Option<String> = what.isolation.clone(),
        pub workload: String = what.workload.clone(),
        /// What `nopm` counts.
        #[serde(skip)]
        pub metric: ThroughputMetric = what.throughput_metric,
        pub style: String = what.style.clone(),
        pub connections: u32 = what.connections,
        #[serde(skip)]
        pub schemas: u32 = what.schemas,
        /// Servers that were driven together; `nopm` is of all of them.
        pub instances: u32 = what.instances,
        /// That they were kept to; `None` where they had all that they found.
        pub cores: Option<u32> = what.cores,
        /// How far they are apart ([`crate::instance_spread`]), the mean of the repeats; `None` of
        /// one.
        pub instance_spread: Option<f64> = instance_spread,
        pub repeats: Vec<RepeatOutcome> = repeats,
        pub nopm: MeanValue = MeanValue::over_runs(measured, |run| run.nopm),
        pub new_order_p95_us: MeanValue =
            MeanValue::over_runs(measured, |run| run.p95_us).at_least_of(measured),
    }
}

document! {
    /// One repeat, by its last attempt.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RepeatOutcome from (repeat: &Repeat, measured: &[Run]);
    let run = measured.iter().find(|run| run.id == repeat.id);
    {
        pub repeat: u32 = repeat.ordinal,
        pub repeat_id: i64 = repeat.id.0,
        pub attempt: u32 = repeat.attempt,
        /// See [`crate::BlockOutcome`]. What has the same number was measured close together in
        /// time, and is compared.
        pub block: u32 = repeat.block,
        pub status: String = repeat.status.name().to_owned(),
        pub reason_code: Option<String> = repeat.reason_code.clone(),
        pub reason: Option<String> = repeat.reason.clone(),
        /// It measured a ramp's number of connections once more on the same server. That sharpens
        /// the ramp, and is no further repeat of the cell: it has no part in the cell's numbers.
        pub measured_again: bool = false,
        /// What it gave, where it was measured over its whole window.
        pub nopm: Option<f64> = run.and_then(|run| run.nopm),
        pub new_order_p95_us: Option<f64> = run.and_then(|run| run.p95_us),
        #[serde(skip)]
        pub has_failed: bool = repeat.own_failure().is_some(),
    }
}

impl CellOutcome {
    /// What tells cells apart: name and value of everything that a plan can vary, connections
    /// last. Of a lab without a plan, the device of data is among them.
    pub fn names(&self) -> Vec<(String, String)> {
        // A preset and places are settings where they differ.
        let settings =
            self.settings.iter().map(|(name, value)| (name.as_str(), Some(value.clone())));
        let unless_set = |name: &str, value: &str| {
            Some(value.to_owned()).filter(|_| !self.settings.contains_key(name))
        };
        let count = |count: u32| Some(count.to_string());
        let others = [
            (DILATE, unless_set(DILATE, "1")),
            (DATA, self.places.get(DATA).and_then(|device| unless_set(DATA, device))),
            (INSTANCES, count(self.instances)),
            ("schemas", count(self.schemas)),
            ("cores", self.cores.and_then(count)),
            ("warehouses", self.warehouses.and_then(count)),
            ("partitions", count(self.partitions)),
            ("workload", Some(self.workload.clone())),
            ("style", Some(self.style.clone())),
            // A cell that has met no server yet does not say it.
            ("isolation", self.isolation.clone().or_else(|| Some("repeatable-read".to_owned()))),
            (CONNECTIONS, count(self.connections)),
        ];
        let all = [("engine", Some(self.engine.clone()))].into_iter().chain(settings).chain(others);
        all.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// Has a repeat failed by itself, so that a missing number is NA?
    pub fn has_failed(&self) -> bool {
        self.repeats.iter().any(|repeat| repeat.has_failed)
    }

    /// How many of its repeats have a number that counts.
    pub(crate) fn counted_repeats(&self) -> usize {
        self.repeats.iter().filter(|of| of.nopm.is_some() && !of.measured_again).count()
    }

    /// How many of its repeats failed by themselves, and how many there are.
    pub(crate) fn failures(&self) -> (usize, usize) {
        let counted = || self.repeats.iter().filter(|repeat| !repeat.measured_again);
        (counted().filter(|repeat| repeat.has_failed).count(), counted().count())
    }

    /// Have more of its repeats failed, as a share, than of another cell? Those that did not may
    /// be the better ones, so its numbers support no claim against that cell.
    pub(crate) fn failed_more_often(&self, than: &CellOutcome) -> bool {
        let ((failed, all), (of_other, all_of_other)) = (self.failures(), than.failures());
        failed * all_of_other > of_other * all
    }
}

/// Of [`CellOutcome::names`]: the device of data.
pub const DATA: &str = "data";
/// Of [`CellOutcome::names`]: how many servers are driven together.
pub const INSTANCES: &str = "instances";

/// Names of [`CellOutcome::names`] that tell cells apart, but for their connections. What a cell
/// that never had a server does not say is no difference.
pub fn varying(cells: &[CellOutcome]) -> Vec<String> {
    let matrix = matrix(cells);
    let names = matrix.dimensions().iter().flat_map(Dimension::names);
    names.filter(|name| *name != CONNECTIONS).map(str::to_owned).collect()
}

/// What the cells differ in.
pub(crate) fn matrix(cells: &[CellOutcome]) -> Matrix {
    let names: Vec<_> = cells.iter().map(CellOutcome::names).collect();
    Matrix::of(&names)
}

/// What tells each cell from the others of its lab, in words: with its connections, and without.
pub fn labels(cells: &[CellOutcome]) -> Vec<(String, String)> {
    let matrix = matrix(cells);
    let label = |(at, cell): (usize, &CellOutcome)| {
        let connections = NamedValue::of(CONNECTIONS, &cell.connections.to_string()).words();
        match matrix.words(at, |dimension, _| dimension.name != CONNECTIONS) {
            line if line.is_empty() => (connections, cell.engine.clone()),
            line => (format!("{line}, {connections}"), line),
        }
    };
    cells.iter().enumerate().map(label).collect()
}

/// The same of cells whose repeats are not read.
pub fn labels_of_stored(cells: &[StoredCell]) -> Vec<(String, String)> {
    let cell = |cell: &StoredCell| CellOutcome::of(&cell.what, &[], Vec::new(), None);
    labels(&cells.iter().map(cell).collect::<Vec<_>>())
}

/// The model of all cells, by their places in the list.
pub(crate) fn blocks(cells: &[CellOutcome], number: fn(&RepeatOutcome) -> Option<f64>) -> Blocks {
    let repeats =
        cells.iter().enumerate().flat_map(|(cell, of)| of.repeats.iter().map(move |r| (cell, r)));
    let measured = repeats.filter_map(|(cell, repeat)| {
        Some(Observation { cell, block: repeat.block as usize, value: number(repeat)? })
    });
    Blocks::of(&measured.collect::<Vec<_>>())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{CellOutcome, DATA, RepeatOutcome, labels_of_stored};
    use crate::lab::matrix::CONNECTIONS;
    use crate::run::runs::MeanValue;
    use std::collections::BTreeMap;
    use store::{CellId, LabId, NewCell, StoredCell};

    /// A cell on a device and with an `innodb_io_capacity`, with the NOPM of its repeats by block;
    /// p95 is a thousand times that.
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
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            warehouses: Some(10),
            foreign_keys: Some(true),
            partitions: 0,
            history_key: Some(false),
            isolation: Some("repeatable-read".to_owned()),
            metric: Default::default(),
            workload: "tpcc".to_owned(),
            style: "statements".to_owned(),
            connections,
            schemas: 1,
            instances: 1,
            cores: None,
            instance_spread: None,
            repeats: nopm.iter().zip(1..).map(repeat).collect(),
            nopm: MeanValue::of_repeats(nopm),
            new_order_p95_us: MeanValue::of_repeats(&p95),
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

    /// On a device, as a plan has it; with a server, or one that never started.
    fn stored(id: i64, device: &str, connections: u32, is_started: bool) -> StoredCell {
        let mut what = NewCell {
            engine: "mysql-5.7".to_owned(),
            connections,
            settings: vec![(DATA.to_owned(), device.to_owned())],
            ..NewCell::default()
        };
        if is_started {
            what.transport = "tcp".to_owned();
            what.settings.push(("scale".to_owned(), "papers".to_owned()));
        }
        StoredCell { id: CellId(id), lab: LabId(1), what }
    }

    #[test]
    fn a_cell_that_never_started_is_among_its_like() {
        let cells = [
            stored(1, "hdd-15k", 8, true),
            stored(2, "hdd-15k", 16, false),
            stored(3, "nvme-pm1725", 8, true),
        ];
        let pair = |label: &str, line: &str| (label.to_owned(), line.to_owned());
        assert_eq!(
            labels_of_stored(&cells),
            [
                pair("hdd-15k, 8 connections", "hdd-15k"),
                pair("hdd-15k, 16 connections", "hdd-15k"),
                pair("nvme-pm1725, 8 connections", "nvme-pm1725"),
            ]
        );
        assert_eq!(labels_of_stored(&cells[..1])[0], pair("8 connections", "mysql-5.7"));
        let mut two = [stored(1, "hdd-15k", 8, true), stored(4, "hdd-15k", 8, true)];
        two[1].what.schemas = 2;
        assert_eq!(labels_of_stored(&two)[1], pair("2 schemas, 8 connections", "2 schemas"));
    }

    #[test]
    fn names_end_with_connections() {
        let names = cell(1, ("hdd-15k", "200"), 8, &[1.0]).names();
        assert_eq!(names.last().unwrap().0, CONNECTIONS);
    }
}
