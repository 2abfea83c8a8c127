//! Tables of one number: a row for each of what differs, a column for each number of connections.
//! Where only one of the two varies, all numbers share one table, a column for each.

use super::missing::{footnotes, has_result, number, to_cell};
use crate::format::{in_words_of, significant, trimmed, truncated};
use crate::model::{CellView, LabView, RepeatView};
use crate::stats::Repeated;
use analyse::Resources;
use maud::{Markup, html};
use store::DeviceSummary;

/// A number of a cell.
struct CellNumber {
    title: &'static str,
    unit: &'static str,
    of: Of,
    shown: fn(f64) -> String,
}

/// Where a number comes from.
enum Of {
    Cell(fn(&CellView) -> Option<Repeated>),
    /// The requests of a role; `None` where it had none.
    Role(&'static str, fn(&DeviceSummary) -> Option<f64>),
}

impl CellNumber {
    /// `Throughput`, `Reads of data`. Titles and units are written for TPC-C.
    fn title(&self, view: &LabView) -> String {
        match self.of {
            Of::Cell(_) => in_words_of(view.metric(), self.title),
            Of::Role(role, _) => format!("{} {role}", self.title),
        }
    }

    fn unit(&self, view: &LabView) -> String {
        in_words_of(view.metric(), self.unit)
    }

    fn of(&self, cell: &CellView) -> Option<Repeated> {
        match self.of {
            Of::Cell(number) => number(cell),
            Of::Role(role, number) => cell.repeated(|repeat| {
                let mut devices = repeat.storage.devices.iter();
                number(devices.find(|device| device.role == role)?)
            }),
        }
    }
}

const fn metric(
    title: &'static str,
    unit: &'static str,
    of: fn(&CellView) -> Option<Repeated>,
) -> CellNumber {
    CellNumber { title, unit, of: Of::Cell(of), shown: significant }
}

/// What clients saw.
const DELIVERED: [CellNumber; 5] = [
    CellNumber { shown: truncated, ..metric("Throughput", "NOPM", CellView::nopm) },
    metric("New-order mean", "ms", |cell| {
        let mean_ns = |repeat: &RepeatView| repeat.primary.mean_ns();
        cell.repeated(mean_ns).map(|ns| ns.per(1e6))
    }),
    metric("New-order p90", "ms", |cell| primary_ms(cell, 0.9)),
    metric("New-order p95", "ms", |cell| primary_ms(cell, 0.95)),
    metric("New-order maximum", "ms", |cell| Repeated::of(&[cell.primary_max_ns()? as f64 / 1e6])),
];

/// What the machine did.
const MACHINE: [CellNumber; 3] = [
    share("CPU, user and system", |cell| {
        used(cell, |r| Some(r.host.cpu_user_share? + r.host.cpu_system_share?))
    }),
    share("I/O wait", |cell| used(cell, |r| r.host.cpu_iowait_share)),
    share("Emulated I/O wait, derived from idle", |cell| {
        used(cell, |r| r.host.emulated_iowait_share)
    }),
];

/// A share of all cores, 0 to 1.
const fn share(title: &'static str, of: fn(&CellView) -> Option<Repeated>) -> CellNumber {
    CellNumber {
        title,
        unit: "% of all cores",
        of: Of::Cell(of),
        shown: |share| trimmed(share * 100.0, 2),
    }
}

/// A kind of requests: what stands before the role, its unit, its number.
type Requests = (&'static str, &'static str, fn(&DeviceSummary) -> Option<f64>);
const READS: Requests = ("Reads of", "1/s", |device| device.read.as_ref()?.per_s);
const WRITES: Requests = ("Writes of", "1/s", |device| device.write.as_ref()?.per_s);
const READ: Requests = ("Read from", "MB/s", |device| device.read.as_ref()?.mb_per_s);
const WRITTEN: Requests = ("Written to", "MB/s", |device| device.write.as_ref()?.mb_per_s);
const FLUSHES: Requests = ("Flushes of", "1/s", |device| device.flush.as_ref()?.per_s);

/// By role, as the shim counted.
const STORAGE: [(&str, &[Requests]); 6] = [
    ("data", &[READS, WRITES, READ, WRITTEN]),
    ("undo", &[READS, WRITES, READ, WRITTEN]),
    ("doublewrite", &[WRITES, WRITTEN]),
    ("redo", &[WRITES, WRITTEN, FLUSHES]),
    ("binlog", &[WRITES, WRITTEN, FLUSHES]),
    ("temp", &[READS, WRITES, READ, WRITTEN]),
];

fn storage_by_role() -> Vec<CellNumber> {
    let of_role = |(role, kinds): &(&'static str, &[Requests])| {
        let role = *role;
        let of_kind = |(title, unit, number): &Requests| CellNumber {
            title,
            unit,
            of: Of::Role(role, *number),
            shown: significant,
        };
        kinds.iter().map(of_kind).collect::<Vec<_>>()
    };
    STORAGE.iter().flat_map(of_role).collect()
}

/// The same as the server says, where nobody counted by role in some cell.
const STORAGE_BY_SERVER: [CellNumber; 4] = [
    metric("Reads, as the server says", "1/s", |cell| used(cell, |r| r.server.data_reads_per_s)),
    metric("Writes, as the server says", "1/s", |cell| used(cell, |r| r.server.data_writes_per_s)),
    metric("Writes of redo, as the server says", "1/s", |cell| {
        used(cell, |r| r.server.log_writes_per_s)
    }),
    metric("Written to redo, as the server says", "MB/s", |cell| {
        used(cell, |r| r.server.log_written_bytes_per_s).map(|bytes| bytes.per(1e6))
    }),
];

/// What a transaction, a watt and a dollar gave.
const COSTS: [CellNumber; 4] = [
    metric("Path length", "thousand cycles per transaction", |cell| {
        used(cell, |r| r.per_transaction.path_length_cycles).map(|cycles| cycles.per(1e3))
    }),
    metric("CPU of the server", "µs per transaction", |cell| {
        used(cell, |r| r.per_transaction.server_cpu_us)
    }),
    metric("New orders per minute", "per W", |cell| used(cell, |r| r.power.nopm_per_watt)),
    metric("New orders per minute", "per USD of the devices", |cell| {
        used(cell, |r| r.price.nopm_per_usd)
    }),
];

fn primary_ms(cell: &CellView, quantile: f64) -> Option<Repeated> {
    cell.primary_ns(quantile).map(|ns| ns.per(1e6))
}

fn used(cell: &CellView, number: fn(&Resources) -> Option<f64>) -> Option<Repeated> {
    cell.repeated(|repeat| number(repeat.resources.as_ref()?))
}

/// Tables of what clients saw by connections; nothing unless something else varies too.
pub fn delivered(view: &LabView) -> Markup {
    let axes = Axes::of(view);
    html! {
        @if axes.is_grid() {
            p.soft.small { "± is the 95 % confidence interval over repeats, and a number without it is of one repeat; a maximum is the longest of all repeats." }
            div.grids { @for metric in &DELIVERED { (axes.grid(metric)) } }
            (footnotes(&view.cells))
        }
    }
}

/// What the cells used of the machine, side by side; nothing where nothing was sampled, and of a
/// single cell.
pub fn resources(view: &LabView) -> Markup {
    let by_role = storage_by_role();
    let is_known = |metric: &&CellNumber| view.cells.iter().any(|cell| metric.of(cell).is_some());
    let is_counted = |cell: &CellView| by_role.iter().any(|metric| metric.of(cell).is_some());
    let mut metrics: Vec<&CellNumber> = MACHINE.iter().chain(&by_role).collect();
    let mut measured = view.cells.iter().filter(|cell| has_result(cell));
    if !measured.all(is_counted) {
        metrics.extend(&STORAGE_BY_SERVER);
    }
    metrics.extend(&COSTS);
    metrics.retain(is_known);
    let axes = Axes::of(view);
    html! {
        @if view.cells.len() > 1 && !metrics.is_empty() {
            section id="resources" {
                h2 { "CPU, I/O and costs" }
                p.soft.small {
                    "Means of the windows; ± is the 95 % confidence interval over repeats, and a number without it is of one repeat. "
                    "-: not measured. docs/metrics.md describes what is sampled."
                }
                @if axes.is_grid() { div.grids { @for metric in &metrics { (axes.grid(metric)) } } }
                @else { (list(view, &metrics)) }
                (footnotes(&view.cells))
            }
        }
    }
}

/// Rows and columns of a lab.
struct Axes<'a> {
    view: &'a LabView,
    groups: Vec<&'a str>,
    connections: Vec<u32>,
}

impl Axes<'_> {
    fn of(view: &LabView) -> Axes<'_> {
        let mut groups: Vec<&str> = Vec::new();
        let mut connections: Vec<u32> = Vec::new();
        for cell in &view.cells {
            if !groups.contains(&cell.group.as_str()) {
                groups.push(&cell.group);
            }
            connections.push(cell.cell.what.connections);
        }
        connections.sort_unstable();
        connections.dedup();
        Axes { view, groups, connections }
    }

    fn is_grid(&self) -> bool {
        self.groups.len() > 1 && self.connections.len() > 1
    }

    fn at(&self, group: &str, connections: u32) -> Option<&CellView> {
        let same =
            |cell: &&CellView| cell.group == group && cell.cell.what.connections == connections;
        self.view.cells.iter().find(same)
    }

    fn grid(&self, metric: &CellNumber) -> Markup {
        let count = self.connections.len();
        html! {
            div.scroll { table.grid {
                caption { b { (metric.title(self.view)) } ", " (metric.unit(self.view)) }
                thead {
                    tr { th scope="col" rowspan="2" {} th.num scope="colgroup" colspan=(count) { "connections" } }
                    tr { @for number in &self.connections { th.num scope="col" { (number) } } }
                }
                tbody { @for group in &self.groups {
                    tr {
                        th scope="row" { (group) }
                        @for connections in &self.connections {
                            td.num { @match self.at(group, *connections) {
                                Some(cell) => (number(cell, metric.of(cell).as_ref(), metric.shown)),
                                None => {}
                            } }
                        }
                    }
                } }
            } }
        }
    }
}

/// A row for each cell, a column for each number.
fn list(view: &LabView, metrics: &[&CellNumber]) -> Markup {
    html! {
        div.scroll { table.grid {
            thead { tr {
                th scope="col" { "Cell" }
                @for metric in metrics { th.num scope="col" { (metric.title(view)) span.unit { (metric.unit(view)) } } }
            } }
            tbody { @for cell in &view.cells {
                tr {
                    th scope="row" { (to_cell(cell, &cell.label)) }
                    @for metric in metrics {
                        td.num { (number(cell, metric.of(cell).as_ref(), metric.shown)) }
                    }
                }
            } }
        } }
    }
}
