//! The numbers of a lab as CSV files, for other programs. Units stand in the names of the columns;
//! a number that is not there is an empty field.

use crate::devices::kinds;
use crate::error::{ReportResult, cannot_write};
use crate::format::seconds;
use crate::model::{CellView, LabView, RepeatView, Variable};
use analyse::{RampOutcome, RampPoint};
use std::path::{Path, PathBuf};
use store::{
    DeviceSummary, InputCounter, IntervalRow, LabId, Metric, RepeatResult, RequestSummary, Results,
    StoreResult, StoredCheck, TimeSpent, TransactionTotals,
};

/// The names of a file's columns, and what makes the fields of a line: each column is listed once.
/// `[row: share]` is the field `share` of `row`, in a column of that name.
macro_rules! columns {
    (
        |$($argument:ident: $type:ty),+|
        $(let $local:ident = $known:expr;)*
        $($([$row:ident: $($field:ident),+])? $($name:literal = $value:expr)?),+
    ) => {
        (
            [$($($(stringify!($field),)+)? $($name,)?)+],
            |$($argument: $type),+| {
                $(let $local = $known;)*
                vec![$($($(CsvField::text(&$row.$field),)+)? $(CsvField::text(&$value),)?)+]
            },
        )
    };
}

/// A field as text; nothing where there is no value.
trait CsvField {
    fn text(&self) -> String;
}

macro_rules! text {
    ($($type:ty),+) => { $(
        impl CsvField for $type {
            fn text(&self) -> String {
                self.to_string()
            }
        }
    )+ };
}

text!(bool, u32, u64, i64, f64, str, String);

impl<T: CsvField + ?Sized> CsvField for &T {
    fn text(&self) -> String {
        (**self).text()
    }
}

impl<T: CsvField> CsvField for Option<T> {
    fn text(&self) -> String {
        self.as_ref().map(CsvField::text).unwrap_or_default()
    }
}

/// Writes a file that has lines of each repeat; they begin with the two columns by which the files
/// are joined.
fn write<'a, L: IntoIterator<Item = Vec<String>>>(
    view: &'a LabView,
    path: PathBuf,
    names: &[&str],
    lines_of: impl Fn(&'a CellView, &'a RepeatView) -> StoreResult<L>,
) -> ReportResult<PathBuf> {
    let metric = view.metric();
    let names = ["cell", "repeat"].iter().chain(names);
    let names = names.map(|name| metric.key(name).into_owned());
    let mut file = csv::Writer::from_path(&path).map_err(cannot_write(&path))?;
    file.write_record(names).map_err(cannot_write(&path))?;
    for cell in &view.cells {
        for repeat in &cell.repeats {
            let key = [cell.cell.what.ordinal, repeat.repeat.ordinal].map(|n| n.to_string());
            for fields in lines_of(cell, repeat)? {
                file.write_record(key.iter().chain(&fields)).map_err(cannot_write(&path))?;
            }
        }
    }
    file.flush().map_err(cannot_write(&path))?;
    Ok(path)
}

/// Writes `cells.csv`, `intervals.csv`, `latency.csv`, `statements.csv`, `devices.csv`,
/// `inputs.csv`, `checks.csv`, `variables.csv`, `samples.csv` and `ramps.csv` into `directory`,
/// which is made where it is missing. Returns their paths.
///
/// # Errors
/// There is no such lab, the results file cannot be read, or the directory cannot be written.
pub fn export_csv(results: &Results, lab: LabId, directory: &Path) -> ReportResult<Vec<PathBuf>> {
    let view = LabView::read(results, lab)?;
    std::fs::create_dir_all(directory).map_err(cannot_write(directory))?;
    let file = |name: &str| directory.join(name);
    Ok(vec![
        cells(&view, file("cells.csv"))?,
        intervals(results, &view, file("intervals.csv"))?,
        latency(&view, file("latency.csv"))?,
        statements(&view, file("statements.csv"))?,
        devices(&view, file("devices.csv"))?,
        inputs(&view, file("inputs.csv"))?,
        checks(&view, file("checks.csv"))?,
        variables(&view, file("variables.csv"))?,
        samples(results, &view, file("samples.csv"))?,
        ramps(&view.outcome.ramps, file("ramps.csv"))?,
    ])
}

fn cells(view: &LabView, path: PathBuf) -> ReportResult<PathBuf> {
    let (names, fields) = columns!(|cell: &CellView, of: &RepeatView|
        let what = &cell.cell.what;
        let repeat = &of.repeat;
        let summary = of.summary();
        let rates = of.rates();
        let result = repeat.result.as_ref();
        let done = result.filter(|_| of.is_done());
        let primary = Some(&of.primary).filter(|_| of.is_done());
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        let quantile = |q: f64| us(primary.and_then(|totals| totals.quantile_ns(q)));
        "label" = cell.label,
        [what: engine, server_version, transport, workload, style, warehouses, connections, home,
            foreign_keys],
        "seed" = repeat.seed.unwrap_or(what.seed),
        "warmup_s" = seconds(what.warmup_ns),
        [rates: window_s],
        "status" = repeat.status.name(),
        [repeat: reason_code],
        "interrupted" = result.map(|r| r.interrupted),
        [rates: nopm, tpm_total],
        "new_order_p50_us" = quantile(0.5),
        "new_order_p95_us" = quantile(0.95),
        "new_order_p99_us" = quantile(0.99),
        "new_order_max_us" = us(primary.and_then(TransactionTotals::max_ns)),
        [rates: client_cpu_s, statements, client_cpu_us_per_statement],
        "reconnects" = result.map(|r| r.reconnects),
        "new_orders_in_database" = result.and_then(RepeatResult::new_orders_in_database),
        "new_orders_committed_by_driver" = result.and_then(|r| r.committed_new_orders),
        "new_orders_in_doubt" = result.and_then(|r| r.in_doubt_new_orders),
        [what: schemas],
        "device" = what.devices_in_words(),
        [summary: fidelity, overrun_share],
        "warmup_measured_s" = result.map(|_| seconds(repeat.warmup_ns(what))),
        "warmup_steady" = done.and_then(|r| r.warmup_steady),
        "window_precision_share" = done.and_then(|r| r.window_precision_share),
        [what: partitions, instances],
        "preset" = what.preset.as_ref().map(|preset| &preset.name),
        [what: isolation, history_key],
        "settings_json" = serde_json::Value::from_iter(what.settings.iter().cloned()).to_string(),
        [repeat: driver_threads, dilation],
        [what: cores],
        [summary: lateness_share],
        // Those of the percentiles that response times are at least as long as.
        "new_order_at_least" = summary.primary.at_least.join(" ")
    );
    write(view, path, &names, |cell, repeat| Ok([fields(cell, repeat)]))
}

/// Where each ramp ended; its points are cells and repeats, each with a line of its own.
fn ramps(all: &[RampOutcome], path: PathBuf) -> ReportResult<PathBuf> {
    let (names, fields) = columns!(
        |ramp: &RampOutcome, point: &RampPoint| "ramp" = ramp.ordinal,
        "ramp_repeat" = ramp.repeat,
        [point: cell, repeat, connections],
        "is_saturation_point" = ramp.supported_connections() == Some(point.connections),
        "saturation" = ramp.words
    );
    let mut file = csv::Writer::from_path(&path).map_err(cannot_write(&path))?;
    file.write_record(names).map_err(cannot_write(&path))?;
    for ramp in all {
        for point in &ramp.points {
            file.write_record(fields(ramp, point)).map_err(cannot_write(&path))?;
        }
    }
    file.flush().map_err(cannot_write(&path))?;
    Ok(path)
}

fn intervals(results: &Results, view: &LabView, path: PathBuf) -> ReportResult<PathBuf> {
    let (names, fields) = columns!(|row: &IntervalRow, totals: &TransactionTotals|
        let us = |ns: Option<f64>| ns.map(|ns| ns / 1e3);
        let quantile = |q: f64| us(totals.quantile_ns(q).map(|ns| ns as f64));
        "phase" = row.phase.name(),
        "start_s" = seconds(row.start_offset_ns),
        "end_s" = seconds(row.end_offset_ns),
        [row: transaction, committed, rolled_back, deadlocks, lock_wait_timeouts, other_retries,
            errors],
        "mean_us" = us(totals.mean_ns()),
        "p50_us" = quantile(0.5),
        "p95_us" = quantile(0.95),
        "p99_us" = quantile(0.99),
        "max_us" = us(totals.max_ns().map(|ns| ns as f64)),
        "latency_out_of_bounds" = row.latency.out_of_bounds
    );
    write(view, path, &names, |_, repeat| {
        let mut lines = Vec::new();
        results.for_each_interval(repeat.repeat.id, |row| {
            let mut totals = TransactionTotals::default();
            totals.add(&row);
            lines.push(fields(&row, &totals));
        })?;
        Ok(lines)
    })
}

/// Response times of the window by type: the recorded values with their counts.
fn latency(view: &LabView, path: PathBuf) -> ReportResult<PathBuf> {
    let (names, fields) = columns!(
        |transaction: &str, up_to_ns: u64, count: u64, share: f64| "transaction" = transaction,
        "up_to_us" = up_to_ns as f64 / 1e3,
        "transactions" = count,
        "cumulative_share" = share
    );
    write(view, path, &names, |_, repeat| {
        let mut lines = Vec::new();
        let mut types: Vec<_> = repeat.totals.iter().filter(|_| repeat.is_done()).collect();
        types.sort_by_key(|(of, _)| &of.name);
        for (of, totals) in types {
            let all = totals.response.count() as f64;
            let mut below = 0;
            for value in totals.response.histogram.iter_recorded() {
                let count = value.count_at_value();
                below += count;
                lines.push(fields(&of.name, value.value_iterated_to(), count, below as f64 / all));
            }
        }
        Ok(lines)
    })
}

/// Where the response time of each type goes in the window.
fn statements(view: &LabView, path: PathBuf) -> ReportResult<PathBuf> {
    let (names, fields) = columns!(
        |transaction: &str, row: &TimeSpent| "transaction" = transaction,
        [row: what],
        "is_statement" = row.is_statement(),
        [row: per_transaction, mean_us, p95_us, p99_us, max_us, share]
    );
    write(view, path, &names, |_, repeat| {
        Ok(repeat
            .times_spent
            .iter()
            .flat_map(move |(name, rows)| rows.iter().map(move |row| fields(name, row))))
    })
}

/// What each role asked of its device in the window, by kind of request.
fn devices(view: &LabView, path: PathBuf) -> ReportResult<PathBuf> {
    let (names, fields) = columns!(
        |device: &DeviceSummary, request: &str, kind: &RequestSummary|
        [device: role, device, emulated, used, backing],
        "request" = request,
        [kind: requests, per_s, mb_per_s, response_mean_us, response_p50_us, response_p95_us,
            response_p99_us, response_max_us, service_mean_us],
        [device: queue_depth_mean, queue_depth_max, busy_share, fidelity, overrun_share,
            lateness_share]
    );
    write(view, path, &names, |_, repeat| {
        Ok(repeat.summary().devices.iter().flat_map(move |device| {
            kinds(device).map(move |(request, kind)| fields(device, request, kind))
        }))
    })
}

fn inputs(view: &LabView, path: PathBuf) -> ReportResult<PathBuf> {
    let (names, fields) = columns!(
        |counter: &InputCounter|
        let judged = &counter.judged;
        "counter" = counter.name,
        [counter: title],
        "unit" = judged.unit.name(),
        [counter: hits, trials],
        [judged: value, allowed_low, allowed_high, chance_low, chance_high],
        "verdict" = judged.verdict.name()
    );
    write(view, path, &names, |_, of| Ok(of.summary().inputs.iter().map(fields)))
}

fn checks(view: &LabView, path: PathBuf) -> ReportResult<PathBuf> {
    let (names, fields) = columns!(
        |check: &StoredCheck| "check" = check.name,
        [check: title, clause, passed, offending_rows],
        "duration_s" = seconds(check.duration_ns),
        "examples_json" = check.examples_json()
    );
    write(view, path, &names, |_, of| Ok(of.summary().checks.iter().map(fields)))
}

fn variables(view: &LabView, path: PathBuf) -> ReportResult<PathBuf> {
    let (names, fields) = columns!(
        |variable: &Variable| "variable" = variable.name,
        "value_at_start" = variable.start,
        "value_at_end" = variable.end
    );
    write(view, path, &names, |_, of| Ok(of.variables.iter().map(fields)))
}

/// What was observed beside the load, raw: counters as their source has them, and gauges.
fn samples(results: &Results, view: &LabView, path: PathBuf) -> ReportResult<PathBuf> {
    let (names, fields) = columns!(
        |metric: &Metric, at_ns: u64, value: i64| "source" = metric.source.name(),
        "metric" = metric.name,
        [metric: label],
        "kind" = metric.kind.name(),
        "at_s" = seconds(at_ns),
        "value" = value
    );
    write(view, path, &names, |_, repeat| {
        let series = results.samples(repeat.repeat.id)?.into_iter();
        Ok(series.flat_map(move |of| {
            of.samples.into_iter().map(move |(at_ns, value)| fields(&of.metric, at_ns, value))
        }))
    })
}
