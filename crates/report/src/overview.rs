//! What a reader sees first: the headline, the table of cells, and throughput over connections.

use crate::bound::bound_tags;
use crate::format::{
    NOT_AVAILABLE, by_key, capitalised, integer, ms, or_na, primary, significant, truncated,
};
use crate::lab::missing::{absent, footnotes};
use crate::model::{CellView, LabView};
use crate::stats::Repeated;
use base::counted;
use itertools::Itertools;
use maud::{Markup, html};
use store::{Repeat, RepeatStatus};

/// The four numbers of the lab.
pub fn tiles(view: &LabView) -> Markup {
    let many = view.cells.len() > 1;
    html! {
        div.tiles {
            @if let Some((cell, nopm)) = view.best() {
                div {
                    div.name { @if many { "Highest throughput" } @else { "Throughput" } }
                    div.value { (truncated(nopm.mean)) " " small { (cell.metric().title()) } }
                    div.detail { (spread(&nopm)) @if many { ", " (cell.label) } }
                }
                div {
                    div.name { (primary(cell.metric())) " response time" @if many { " there" } }
                    div.value {
                        (or_na(cell.primary_ns(0.95).map(|r| r.mean), ms)) " " small { "ms p95" }
                    }
                    div.detail {
                        "p50 " (or_na(cell.primary_ns(0.5).map(|r| r.mean), ms))
                        " ms, maximum " (or_na(cell.primary_max_ns().map(|ns| ns as f64), ms)) " ms"
                    }
                }
            } @else {
                div { div.name { "Throughput" } div.value { (NOT_AVAILABLE) } div.detail {
                    "no cell has a result" } }
            }
            (verdict_tile(view))
            (cost_tile(view))
        }
    }
}

/// How a mean stands: its interval, or that there is none.
pub fn spread(number: &Repeated) -> String {
    match number.half_width {
        None => "one repeat".to_owned(),
        Some(width) => format!(
            "± {} ({:.1} %), {} repeats, 95 % confidence",
            significant(width),
            if number.mean > 0.0 { width * 100.0 / number.mean } else { 0.0 },
            number.count
        ),
    }
}

fn verdict_tile(view: &LabView) -> Markup {
    let on_runs = view.repeats().flat_map(|repeat| &repeat.checks);
    let on_loads = view.loads.iter().flat_map(|load| &load.checks);
    let all: Vec<bool> =
        on_runs.chain(on_loads).chain(&view.checks).map(|check| check.passed).collect();
    let passed = all.iter().filter(|passed| **passed).count();
    let failed_cells = view
        .cells
        .iter()
        .filter(|cell| cell.repeats.iter().any(|r| r.repeat.status == RepeatStatus::Failed))
        .count();
    let short = view
        .repeats()
        .filter(|repeat| repeat.is_done() && order_gap(&repeat.repeat).is_some_and(|gap| gap != 0))
        .count();
    let counted_runs = view
        .repeats()
        .filter(|repeat| repeat.is_done() && order_gap(&repeat.repeat).is_some())
        .count();
    html! {
        div {
            div.name { "Consistency" }
            div.value {
                @if all.is_empty() { "not checked" }
                @else { (passed) " " small { "of " (all.len()) " checks passed" } }
            }
            div.detail {
                @if short > 0 { span.tag.bad { "orders differ from the database" } }
                @else if counted_runs > 0 { "every committed order is in the database" }
                @else { "orders were not counted in the database" }
                @if failed_cells > 0 { ", " (counted(failed_cells, "cell failed", "cells failed")) }
            }
        }
    }
}

/// Committed orders that the database does not show, beyond those in doubt.
fn order_gap(repeat: &Repeat) -> Option<i64> {
    let result = repeat.result.as_ref()?;
    let in_database = result.new_orders_in_database()?;
    let low = i64::try_from(result.committed_new_orders?).ok()?;
    let high = low + i64::try_from(result.in_doubt_new_orders?).ok()?;
    Some(if in_database < low { in_database - low } else { (in_database - high).max(0) })
}

fn cost_tile(view: &LabView) -> Markup {
    let costs: Vec<f64> =
        view.repeats().filter_map(|repeat| repeat.rates.client_cpu_us_per_statement).collect();
    let cpu_s: f64 = view.repeats().filter_map(|repeat| repeat.rates.client_cpu_s).sum();
    let retries: u64 = view
        .repeats()
        .filter(|repeat| repeat.is_done())
        .flat_map(|repeat| repeat.totals.iter())
        .map(|(_, totals)| totals.retries())
        .sum();
    html! {
        div {
            div.name { "Client CPU" }
            @match Repeated::of(&costs) {
                Some(cost) => {
                    div.value { (significant(cost.mean)) " " small { "µs per statement" } }
                    div.detail {
                        (significant(cpu_s)) " s in all windows, " (integer(retries))
                        @if retries == 1 { " retry" } @else { " retries" }
                    }
                }
                None => { div.value { (NOT_AVAILABLE) } }
            }
        }
    }
}

/// A table of more cells is closed.
const ROWS_OPEN_MAX: usize = 8;

/// What the table has only where there is something to put there.
#[derive(Clone, Copy)]
struct OptionalColumns {
    /// Cells differ in more than connections.
    groups: bool,
    /// Some were measured in dilated time.
    dilation: bool,
    fidelity: bool,
    bound: bool,
}

/// One row for each cell.
pub fn results_table(view: &LabView) -> Markup {
    let top = view.best().map_or(0.0, |(_, nopm)| nopm.mean);
    let metric = view.metric();
    let counted = capitalised(metric.transaction());
    let columns = OptionalColumns {
        groups: !view.cells.iter().map(|cell| &cell.group).all_equal(),
        dilation: view.repeats().any(|repeat| repeat.dilation().is_some()),
        fidelity: view.repeats().any(|repeat| repeat.storage.fidelity.is_some()),
        bound: view.repeats().any(|repeat| repeat.bound().is_some()),
    };
    html! {
        section id="results" {
            h2 { "Results" }
            details open[view.cells.len() <= ROWS_OPEN_MAX] { summary { "Data table" }
            div.scroll { table.cells {
                caption { "Means over repeats; ± is the 95 % confidence interval of the mean. NA: \
                    no result, with the reason." }
                thead { tr {
                    th scope="col" { "Cell" }
                    th.num scope="col" { "Connections" }
                    @if columns.dilation { th.num scope="col" { "Dilation" span.unit { "K" } } }
                    th.num scope="col" { "Throughput" span.unit { (metric.title()) } }
                    th scope="col" { "Uncertainty" }
                    th.num scope="col" { (counted) " p95" span.unit { "ms" } }
                    th.num scope="col" { (counted) " max" span.unit { "ms" } }
                    @if columns.fidelity { th.num scope="col" { "Fidelity" span.unit {
                        "% of emulated I/O" } } }
                    th.num scope="col" {
                        "Client CPU"
                        span.unit {
                            "s per 1,000 " (metric.transaction().trim_start_matches("new ")) "s"
                        }
                    }
                    @if columns.bound { th scope="col" { "Bound by" } }
                    th scope="col" { "Status" }
                } }
                tbody { @for cell in &view.cells { (row(cell, top, columns)) } }
            } } }
            (footnotes(&view.cells))
            @for note in &view.notes { p.soft.small { "Note: " (note) } }
        }
    }
}

/// Those of its repeats, each once.
fn dilation(cell: &CellView) -> String {
    cell.repeats.iter().map(|repeat| repeat.repeat.dilation.to_string()).dedup().join(", ")
}

fn row(cell: &CellView, top: f64, columns: OptionalColumns) -> Markup {
    let nopm = cell.nopm();
    let fidelity = cell.repeated(|repeat| repeat.storage.fidelity);
    let fidelity = fidelity.map(|share| format!("{:.2}", share.mean * 100.0));
    let cpu = cell.repeated(|repeat| repeat.rates.client_cpu_s_per_1000_new_orders);
    html! {
        tr {
            // Connections have a column of their own.
            th scope="row" {
                a href={ "#cell-" (cell.cell.id) } {
                    @if columns.groups { (cell.group) } @else { (cell.label) }
                }
            }
            td.num { (cell.cell.what.connections) }
            @if columns.dilation { td.num { (dilation(cell)) } }
            @match &nopm {
                Some(nopm) => {
                    // Nothing of nothing is 0.
                    @let bar = (nopm.mean * 100.0 / top).clamp(0.0, 100.0) as u32;
                    td.num {
                        b { (truncated(nopm.mean)) }
                        span.bar aria-hidden="true" { i style={ "width:" (bar) "%" } {} }
                    }
                    td.small {
                        @match nopm.half_width {
                            Some(width) => { "± " (significant(width)) },
                            None => "one repeat"
                        }
                    }
                    td.num { (or_na(cell.primary_ns(0.95).map(|r| r.mean), ms)) }
                    td.num { (or_na(cell.primary_max_ns(), |ns| ms(ns as f64))) }
                    @if columns.fidelity { td.num { (fidelity.as_deref().unwrap_or("-")) } }
                    td.num { (or_na(cpu, |r| significant(r.mean))) }
                }
                None => {
                    td.num { b { (absent(cell)) } } td {}
                    td.num { (NOT_AVAILABLE) } td.num { (NOT_AVAILABLE) }
                    @if columns.fidelity { td.num { (NOT_AVAILABLE) } }
                    td.num { (NOT_AVAILABLE) }
                }
            }
            @if columns.bound { td { (bound_tags(cell)) } }
            td { (status(cell)) }
        }
    }
}

/// Where the cell stands, with the reason of each repeat that has no result.
fn status(cell: &CellView) -> Markup {
    let whole = cell.whole().count();
    let done = cell.repeats.iter().filter(|repeat| repeat.is_done());
    let cut = done.clone().count() - whole;
    let failed_checks: usize = done.map(crate::model::RepeatView::failed_checks).sum();
    html! {
        @if cell.repeats.is_empty() { span.tag { "not run yet" } }
        @if whole + cut > 0 {
            @if failed_checks > 0 { span.tag.bad { (counted(failed_checks, "check failed",
                "checks failed")) } }
            @else if whole > 0 {
                span.tag.good {
                    "done" @if cell.repeats.len() > 1 { " " (whole) " of " (cell.repeats.len()) }
                }
            }
            @if cut > 0 {
                " "
                span.tag.warn {
                    "ended early"
                    @if cell.repeats.len() > 1 { " " (cut) " of " (cell.repeats.len()) }
                }
            }
        }
        @for (status, code, count) in without_result(cell) {
            " " span.tag.bad[status == RepeatStatus::Failed] {
                (status) @if cell.repeats.len() > 1 { " " (count) " of " (cell.repeats.len()) }
            }
            " " span.small { (code) }
        }
    }
}

/// (status, reason, how many) of the repeats that have no result.
fn without_result(cell: &CellView) -> Vec<(RepeatStatus, &str, usize)> {
    let kinds =
        cell.repeats.iter().filter(|repeat| !repeat.is_done()).map(|view| {
            ((view.repeat.status, view.repeat.reason_code.as_deref().unwrap_or("")), ())
        });
    by_key(kinds).into_iter().map(|((status, code), all)| (status, code, all.len())).collect()
}
