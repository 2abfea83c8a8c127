//! The numbers of a lab as CSV files, for other programs. Units stand in the names of the columns; a number that is not
//! there is an empty field.

use crate::error::ReportError;
use crate::model::{CellView, LabView, RepeatView};
use analyse::RampOutcome;
use std::path::{Path, PathBuf};
use store::{LabId, Results};

/// One CSV file on its way.
struct Table {
    path: PathBuf,
    writer: csv::Writer<std::fs::File>,
}

impl Table {
    fn create(directory: &Path, name: &str, header: &[&str]) -> Result<Table, ReportError> {
        let path = directory.join(name);
        let writer = csv::Writer::from_path(&path).map_err(|cause| failed(&path, &cause))?;
        let mut table = Table { path, writer };
        table.row(header)?;
        Ok(table)
    }

    fn row<T: AsRef<[u8]>>(&mut self, fields: &[T]) -> Result<(), ReportError> {
        self.writer
            .write_record(fields)
            .map_err(|cause| failed(&self.path, &cause))
    }

    fn finish(mut self) -> Result<PathBuf, ReportError> {
        self.writer
            .flush()
            .map_err(|cause| failed(&self.path, &cause))?;
        Ok(self.path)
    }
}

fn failed(path: &Path, cause: &dyn std::error::Error) -> ReportError {
    ReportError::Write {
        path: path.to_path_buf(),
        cause: cause.to_string(),
    }
}

/// Writes `cells.csv`, `intervals.csv`, `latency.csv`, `statements.csv`, `devices.csv`, `inputs.csv`,
/// `checks.csv`, `variables.csv`, `samples.csv` and `ramps.csv` into `directory`, which is made where it is missing. Returns their paths.
///
/// # Errors
/// There is no such lab, the results file cannot be read, or the directory cannot be written.
pub fn export_csv(
    results: &Results,
    lab: LabId,
    directory: &Path,
) -> Result<Vec<PathBuf>, ReportError> {
    let view = LabView::read(results, lab)?;
    std::fs::create_dir_all(directory).map_err(|cause| failed(directory, &cause))?;
    Ok(vec![
        cells(&view, directory)?,
        intervals(results, &view, directory)?,
        latency(&view, directory)?,
        statements(&view, directory)?,
        devices(&view, directory)?,
        inputs(&view, directory)?,
        checks(&view, directory)?,
        variables(&view, directory)?,
        samples(results, &view, directory)?,
        ramps(&analyse::ramps(results, lab)?, directory)?,
    ])
}

fn each(view: &LabView) -> impl Iterator<Item = (&CellView, &RepeatView)> {
    view.cells
        .iter()
        .flat_map(|cell| cell.repeats.iter().map(move |repeat| (cell, repeat)))
}

fn number<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// The two columns by which the files are joined.
fn key(cell: &CellView, repeat: &RepeatView) -> [String; 2] {
    [
        cell.cell.what.ordinal.to_string(),
        repeat.repeat.ordinal.to_string(),
    ]
}

const CELLS_HEADER: [&str; 45] = [
    "cell",
    "repeat",
    "label",
    "engine",
    "server_version",
    "transport",
    "workload",
    "style",
    "warehouses",
    "connections",
    "home",
    "foreign_keys",
    "seed",
    "warmup_s",
    "window_s",
    "status",
    "reason_code",
    "interrupted",
    "nopm",
    "tpm_total",
    "new_order_p50_us",
    "new_order_p95_us",
    "new_order_p99_us",
    "new_order_max_us",
    "client_cpu_s",
    "statements",
    "client_cpu_us_per_statement",
    "reconnects",
    "new_orders_in_database",
    "new_orders_committed_by_driver",
    "new_orders_in_doubt",
    "schemas",
    "device",
    "fidelity",
    "overrun_share",
    "warmup_measured_s",
    "warmup_steady",
    "window_precision_share",
    "partitions",
    "instances",
    "preset",
    "isolation",
    "history_key",
    "settings_json",
    "driver_threads",
];

fn cells(view: &LabView, directory: &Path) -> Result<PathBuf, ReportError> {
    let mut table = Table::create(directory, "cells.csv", &CELLS_HEADER)?;
    for (cell, repeat) in each(view) {
        table.row(&cells_row(cell, repeat))?;
    }
    table.finish()
}

/// In the order of [`CELLS_HEADER`]; its length is part of both types.
fn cells_row(cell: &CellView, repeat: &RepeatView) -> [String; CELLS_HEADER.len()] {
    let what = &cell.cell.what;
    let result = repeat.repeat.result.as_ref();
    let done = result.filter(|_| repeat.is_done());
    let new_order = repeat.totals.get("new_order").filter(|_| repeat.is_done());
    let quantile = |q: f64| {
        number(
            new_order
                .and_then(|t| t.quantile_ns(q))
                .map(|ns| ns as f64 / 1e3),
        )
    };
    let [ordinal, repeat_ordinal] = key(cell, repeat);
    let settings: serde_json::Map<String, serde_json::Value> = what
        .settings
        .iter()
        .map(|(name, value)| (name.clone(), value.clone().into()))
        .collect();
    let settings = serde_json::Value::from(settings);
    [
        ordinal,
        repeat_ordinal,
        cell.label.clone(),
        what.engine.clone(),
        what.server_version.clone(),
        what.transport.clone(),
        what.workload.clone(),
        what.style.clone(),
        what.warehouses.to_string(),
        what.connections.to_string(),
        what.home.to_string(),
        what.foreign_keys.to_string(),
        repeat.repeat.seed.unwrap_or(what.seed).to_string(),
        (what.warmup_ns as f64 / 1e9).to_string(),
        number(repeat.rates.window_s),
        repeat.repeat.status.to_string(),
        repeat.repeat.reason_code.clone().unwrap_or_default(),
        number(result.map(|r| r.interrupted)),
        number(repeat.rates.nopm),
        number(repeat.rates.tpm_total),
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        number(
            new_order
                .and_then(store::Totals::max_ns)
                .map(|ns| ns as f64 / 1e3),
        ),
        number(repeat.rates.client_cpu_s),
        number(repeat.rates.statements),
        number(repeat.rates.client_cpu_us_per_statement),
        number(result.map(|r| r.reconnects)),
        number(result.and_then(store::RepeatResult::new_orders_in_database)),
        number(result.map(|r| r.committed_new_orders)),
        number(result.map(|r| r.in_doubt_new_orders)),
        what.schemas.to_string(),
        what.devices_in_words().unwrap_or_default(),
        number(repeat.storage.fidelity),
        number(repeat.storage.overrun_share),
        number(result.map(|_| repeat.repeat.warmup_ns(what) as f64 / 1e9)),
        number(done.and_then(|r| r.warmup_steady)),
        number(done.and_then(|r| r.window_precision_share)),
        what.partitions.to_string(),
        what.instances.to_string(),
        number(what.preset.as_ref().map(|preset| &preset.name)),
        what.isolation.clone().unwrap_or_default(),
        number(what.history_key),
        settings.to_string(),
        number(repeat.repeat.driver_threads),
    ]
}

/// Where each ramp ended; its points are cells and repeats, each with a line of its own.
fn ramps(all: &[RampOutcome], directory: &Path) -> Result<PathBuf, ReportError> {
    let header = [
        "ramp",
        "ramp_repeat",
        "cell",
        "repeat",
        "connections",
        "is_saturation_point",
        "saturation",
    ];
    let mut table = Table::create(directory, "ramps.csv", &header)?;
    for ramp in all {
        let saturated = ramp.supported_connections();
        for point in &ramp.points {
            table.row(&[
                ramp.ordinal.to_string(),
                ramp.repeat.to_string(),
                point.cell.to_string(),
                point.repeat.to_string(),
                point.connections.to_string(),
                (saturated == Some(point.connections)).to_string(),
                ramp.words.clone(),
            ])?;
        }
    }
    table.finish()
}

fn intervals(results: &Results, view: &LabView, directory: &Path) -> Result<PathBuf, ReportError> {
    let header = [
        "cell",
        "repeat",
        "phase",
        "start_s",
        "end_s",
        "transaction",
        "committed",
        "rolled_back",
        "deadlocks",
        "lock_wait_timeouts",
        "other_retries",
        "errors",
        "mean_us",
        "p50_us",
        "p95_us",
        "p99_us",
        "max_us",
        "latency_out_of_bounds",
    ];
    let mut table = Table::create(directory, "intervals.csv", &header)?;
    for (cell, repeat) in each(view) {
        let mut outcome = Ok(());
        results.for_each_interval(repeat.repeat.id, |row| {
            if outcome.is_err() {
                return;
            }
            let mut totals = store::Totals::default();
            totals.add(&row);
            let us = |ns: Option<f64>| number(ns.map(|ns| ns / 1e3));
            let quantile = |q: f64| us(totals.quantile_ns(q).map(|ns| ns as f64));
            let [ordinal, repeat_ordinal] = key(cell, repeat);
            outcome = table.row(&[
                ordinal,
                repeat_ordinal,
                row.phase.to_string(),
                (row.start_offset_ns as f64 / 1e9).to_string(),
                (row.end_offset_ns as f64 / 1e9).to_string(),
                row.transaction,
                row.committed.to_string(),
                row.rolled_back.to_string(),
                row.deadlocks.to_string(),
                row.lock_wait_timeouts.to_string(),
                row.other_retries.to_string(),
                row.errors.to_string(),
                us(totals.mean_ns()),
                quantile(0.5),
                quantile(0.95),
                quantile(0.99),
                us(totals.max_ns().map(|ns| ns as f64)),
                row.latency_out_of_bounds.to_string(),
            ]);
        })?;
        outcome?;
    }
    table.finish()
}

/// Response times of the window by type: the recorded values with their counts.
fn latency(view: &LabView, directory: &Path) -> Result<PathBuf, ReportError> {
    let header = [
        "cell",
        "repeat",
        "transaction",
        "up_to_us",
        "transactions",
        "cumulative_share",
    ];
    let mut table = Table::create(directory, "latency.csv", &header)?;
    for (cell, repeat) in each(view).filter(|(_, repeat)| repeat.is_done()) {
        for (name, totals) in &repeat.totals {
            let all = (totals.latency.len() + totals.latency_out_of_bounds) as f64;
            let mut below = 0;
            for value in totals.latency.iter_recorded() {
                below += value.count_at_value();
                let [ordinal, repeat_ordinal] = key(cell, repeat);
                table.row(&[
                    ordinal,
                    repeat_ordinal,
                    name.clone(),
                    (value.value_iterated_to() as f64 / 1e3).to_string(),
                    value.count_at_value().to_string(),
                    (below as f64 / all).to_string(),
                ])?;
            }
        }
    }
    table.finish()
}

/// Where the response time of each type goes in the window.
fn statements(view: &LabView, directory: &Path) -> Result<PathBuf, ReportError> {
    let header = [
        "cell",
        "repeat",
        "transaction",
        "what",
        "is_statement",
        "per_transaction",
        "mean_us",
        "p95_us",
        "p99_us",
        "max_us",
        "share",
    ];
    let mut table = Table::create(directory, "statements.csv", &header)?;
    for (cell, repeat) in each(view) {
        for (name, rows) in &repeat.times_spent {
            for row in rows {
                let [ordinal, repeat_ordinal] = key(cell, repeat);
                table.row(&[
                    ordinal,
                    repeat_ordinal,
                    name.clone(),
                    row.what.clone(),
                    row.is_statement().to_string(),
                    row.per_transaction.to_string(),
                    row.mean_us.to_string(),
                    number(row.p95_us),
                    number(row.p99_us),
                    number(row.max_us),
                    row.share.to_string(),
                ])?;
            }
        }
    }
    table.finish()
}

/// What each role asked of its device in the window, by kind of request.
fn devices(view: &LabView, directory: &Path) -> Result<PathBuf, ReportError> {
    let header = [
        "cell",
        "repeat",
        "role",
        "device",
        "emulated",
        "backing",
        "request",
        "requests",
        "per_s",
        "mb_per_s",
        "response_mean_us",
        "response_p50_us",
        "response_p95_us",
        "response_p99_us",
        "response_max_us",
        "service_mean_us",
        "queue_depth_mean",
        "queue_depth_max",
        "busy_share",
        "fidelity",
        "overrun_share",
    ];
    let mut table = Table::create(directory, "devices.csv", &header)?;
    for (cell, repeat) in each(view) {
        for device in &repeat.storage.devices {
            let kinds = [
                ("read", &device.read),
                ("write", &device.write),
                ("flush", &device.flush),
            ];
            for (name, kind) in kinds {
                let Some(kind) = kind else { continue };
                let [ordinal, repeat_ordinal] = key(cell, repeat);
                table.row(&[
                    ordinal,
                    repeat_ordinal,
                    device.role.clone(),
                    device.device.clone(),
                    device.emulated.to_string(),
                    device.backing.clone(),
                    name.to_owned(),
                    kind.requests.to_string(),
                    number(kind.per_s),
                    number(kind.mb_per_s),
                    number(kind.response_mean_us),
                    number(kind.response_p50_us),
                    number(kind.response_p95_us),
                    number(kind.response_p99_us),
                    number(kind.response_max_us),
                    number(kind.service_mean_us),
                    number(device.queue_depth_mean),
                    number(device.queue_depth_max),
                    number(device.busy_share),
                    number(device.fidelity),
                    number(device.overrun_share),
                ])?;
            }
        }
    }
    table.finish()
}

fn inputs(view: &LabView, directory: &Path) -> Result<PathBuf, ReportError> {
    let header = [
        "cell",
        "repeat",
        "counter",
        "title",
        "unit",
        "hits",
        "trials",
        "value",
        "allowed_low",
        "allowed_high",
        "chance_low",
        "chance_high",
        "verdict",
    ];
    let mut table = Table::create(directory, "inputs.csv", &header)?;
    for (cell, repeat) in each(view) {
        for counter in &repeat.inputs {
            let [ordinal, repeat_ordinal] = key(cell, repeat);
            table.row(&[
                ordinal,
                repeat_ordinal,
                counter.name.clone(),
                counter.title.clone(),
                counter.unit.to_string(),
                counter.hits.to_string(),
                counter.trials.to_string(),
                number(counter.value),
                number(counter.allowed.low),
                number(counter.allowed.high),
                number(counter.chance.low),
                number(counter.chance.high),
                counter.verdict.to_string(),
            ])?;
        }
    }
    table.finish()
}

fn checks(view: &LabView, directory: &Path) -> Result<PathBuf, ReportError> {
    let header = [
        "cell",
        "repeat",
        "check",
        "title",
        "clause",
        "passed",
        "offending_rows",
        "duration_s",
        "examples_json",
    ];
    let mut table = Table::create(directory, "checks.csv", &header)?;
    for (cell, repeat) in each(view) {
        for check in &repeat.checks {
            let [ordinal, repeat_ordinal] = key(cell, repeat);
            table.row(&[
                ordinal,
                repeat_ordinal,
                check.name.clone(),
                check.title.clone(),
                check.clause.clone(),
                check.passed.to_string(),
                check.offending_rows.to_string(),
                (check.duration_ns as f64 / 1e9).to_string(),
                check.examples_json.clone(),
            ])?;
        }
    }
    table.finish()
}

fn variables(view: &LabView, directory: &Path) -> Result<PathBuf, ReportError> {
    let header = [
        "cell",
        "repeat",
        "variable",
        "value_at_start",
        "value_at_end",
    ];
    let mut table = Table::create(directory, "variables.csv", &header)?;
    for (cell, repeat) in each(view) {
        for variable in &repeat.variables {
            let [ordinal, repeat_ordinal] = key(cell, repeat);
            table.row(&[
                ordinal,
                repeat_ordinal,
                variable.name.clone(),
                variable.start.clone().unwrap_or_default(),
                variable.end.clone().unwrap_or_default(),
            ])?;
        }
    }
    table.finish()
}

/// What was observed beside the load, raw: counters as their source has them, and gauges.
fn samples(results: &Results, view: &LabView, directory: &Path) -> Result<PathBuf, ReportError> {
    let header = [
        "cell", "repeat", "source", "metric", "label", "kind", "at_s", "value",
    ];
    let mut table = Table::create(directory, "samples.csv", &header)?;
    for (cell, repeat) in each(view) {
        for series in results.samples(repeat.repeat.id)? {
            for (at_ns, value) in &series.samples {
                let [ordinal, repeat_ordinal] = key(cell, repeat);
                table.row(&[
                    ordinal,
                    repeat_ordinal,
                    series.metric.source.to_string(),
                    series.metric.name.clone(),
                    series.metric.label.clone(),
                    series.metric.kind.to_string(),
                    (*at_ns as f64 / 1e9).to_string(),
                    value.to_string(),
                ])?;
            }
        }
    }
    table.finish()
}
