//! What a reader sees first: the headline, the table of cells, and throughput over connections.

use crate::bound::bound_tags;
use crate::format::{
    NOT_AVAILABLE, capitalised, integer, or_dash, or_na, primary, significant, truncated,
};
use crate::lab::missing::{absent, footnotes, has_result};
use crate::model::{CellView, LabView, RepeatView};
use crate::table::{TableContent, shown_as};
use analyse::{MeanValue, Table};
use base::{by_key, counted};
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
                    div.value { (truncated(nopm)) " " small { (cell.metric().title()) } }
                    div.detail { (spread(&cell.nopm())) @if many { ", " (cell.label) } }
                }
                div {
                    div.name { (primary(cell.metric())) " response time" @if many { " there" } }
                    div.value { (cell.primary_ms(0.95)) " " small { "ms p95" } }
                    div.detail {
                        "p50 " (cell.primary_ms(0.5)) " ms, maximum " (cell.primary_max_ms()) " ms"
                    }
                }
            } @else {
                div {
                    div.name { "Throughput" }
                    div.value { (NOT_AVAILABLE) }
                    div.detail { "no cell has a result" }
                }
            }
            (verdict_tile(view))
            (cost_tile(view))
        }
    }
}

/// How a mean stands: its interval, or that there is none.
pub fn spread(number: &MeanValue) -> String {
    let Some(of) = number.estimate else { return "one repeat".to_owned() };
    let width = of.half_width();
    let share = if of.mean > 0.0 { width * 100.0 / of.mean } else { 0.0 };
    format!("± {} ({share:.1} %), {} repeats, 95 % confidence", significant(width), of.count)
}

fn verdict_tile(view: &LabView) -> Markup {
    let on_runs = view.repeats().flat_map(|repeat| &repeat.summary().checks);
    let on_loads = view.loads.iter().flat_map(|load| &load.checks);
    let all = on_runs.chain(on_loads).chain(&view.checks).collect_vec();
    let passed = all.iter().filter(|check| check.passed).count();
    let has_failed =
        |cell: &&CellView| cell.repeats.iter().any(|of| of.repeat.status == RepeatStatus::Failed);
    let failed_cells = view.cells.iter().filter(has_failed).count();
    let done = view.repeats().filter(|repeat| repeat.is_done());
    let gaps = done.filter_map(|repeat| order_gap(&repeat.repeat)).collect_vec();
    html! {
        div {
            div.name { "Consistency" }
            div.value {
                @if all.is_empty() { "not checked" }
                @else { (passed) " " small { "of " (all.len()) " checks passed" } }
            }
            div.detail {
                @if gaps.iter().any(|gap| *gap != 0) {
                    span.tag.bad { "orders differ from the database" }
                }
                @else if gaps.is_empty() { "orders were not counted in the database" }
                @else { "every committed order is in the database" }
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
    let rates = || view.repeats().map(RepeatView::rates);
    let costs = rates().filter_map(|rates| rates.client_cpu_us_per_statement).collect_vec();
    let cpu_s: f64 = rates().filter_map(|rates| rates.client_cpu_s).sum();
    let done = view.repeats().filter(|repeat| repeat.is_done());
    let types = done.flat_map(|repeat| repeat.totals.iter());
    let retries: u64 = types.map(|(_, totals)| totals.retries()).sum();
    html! {
        div {
            div.name { "Client CPU" }
            @match analyse::mean(&costs) {
                Some(cost) => {
                    div.value { (significant(cost)) " " small { "µs per statement" } }
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

/// One row for each cell.
pub fn results_section(view: &LabView) -> Markup {
    let caption = "Means over repeats; ± is the 95 % confidence interval of the mean. NA: no \
        result, with the reason.";
    html! {
        details open[view.cells.len() <= ROWS_OPEN_MAX] {
            summary { "Data table" }
            (shown_as("cells", caption, cells_table(view)))
        }
        (footnotes(&view.cells))
        @for note in &view.notes { p.soft.small { "Note: " (note) } }
    }
}

fn cells_table(view: &LabView) -> Table<&CellView, TableContent> {
    let metric = view.metric();
    let counted = capitalised(metric.transaction());
    // Connections have a column of their own.
    let has_groups = !view.cells.iter().map(|cell| &cell.group).all_equal();
    let is_known = |of: fn(&RepeatView) -> bool| view.repeats().any(of);
    let fidelity = |cell: &CellView| cell.repeated(|repeat| repeat.summary().fidelity).mean;
    let cpu = |cell: &CellView| {
        cell.repeated(|repeat| repeat.rates().client_cpu_s_per_1000_new_orders).mean
    };
    let orders = format!("s per 1,000 {}s", metric.transaction().trim_start_matches("new "));
    Table::of(&view.cells)
        .words("Cell", |cell| {
            let name = if has_groups { &cell.group } else { &cell.label };
            html! { a href={ "#cell-" (cell.cell.id) } { (name) } }
        })
        .numbers("Connections", |cell| cell.cell.what.connections)
        .when(is_known(|repeat| repeat.dilation().is_some()), |table| {
            table.numbers_in(("Dilation", "K"), |cell| dilation(cell))
        })
        .numbers_in(("Throughput", metric.title()), |cell| throughput(view, cell))
        .words("Uncertainty", |cell| html! { span.small { (uncertainty(&cell.nopm())) } })
        .numbers_in((&format!("{counted} p95"), "ms"), |cell| cell.primary_ms(0.95))
        .numbers_in((&format!("{counted} max"), "ms"), |cell| cell.primary_max_ms())
        .when(is_known(|repeat| repeat.summary().fidelity.is_some()), |table| {
            table.numbers_in(("Fidelity", "% of emulated I/O"), |cell| {
                let shown = or_dash(fidelity(cell), |share| format!("{:.2}", share * 100.0));
                if has_result(cell) { shown } else { NOT_AVAILABLE.to_owned() }
            })
        })
        .numbers_in(("Client CPU", &orders), |cell| or_na(cpu(cell), significant))
        .when(is_known(|repeat| repeat.bound().is_some()), |table| {
            table.words("Bound by", |cell| bound_tags(cell))
        })
        .words("Status", |cell| status(cell))
}

/// Its mean, and how long it is beside that of the best cell.
fn throughput(view: &LabView, cell: &CellView) -> Markup {
    let best = view.best().map_or(0.0, |(_, nopm)| nopm);
    html! {
        @match cell.nopm().mean {
            Some(mean) => {
                // Nothing of nothing is 0.
                @let bar = (mean * 100.0 / best).clamp(0.0, 100.0) as u32;
                b { (truncated(mean)) }
                span.bar aria-hidden="true" { i style={ "width:" (bar) "%" } {} }
            }
            None => b { (absent(Some(cell))) },
        }
    }
}

fn uncertainty(nopm: &MeanValue) -> String {
    match nopm.half_width() {
        _ if nopm.mean.is_none() => String::new(),
        Some(width) => format!("± {}", significant(width)),
        None => "one repeat".to_owned(),
    }
}

/// Those of its repeats, each once.
fn dilation(cell: &CellView) -> String {
    cell.repeats.iter().map(|repeat| repeat.repeat.dilation.to_string()).dedup().join(", ")
}

/// Where the cell stands, with the reason of each repeat that has no result.
fn status(cell: &CellView) -> Markup {
    let done = cell.repeats.iter().filter(|repeat| repeat.is_done());
    let whole = done.clone().filter(|repeat| repeat.repeat.is_whole()).count();
    let cut = done.clone().count() - whole;
    let failed_checks: usize = done.map(RepeatView::failed_checks).sum();
    let without_result = by_key(
        cell.repeats
            .iter()
            .filter(|repeat| !repeat.is_done())
            .map(|of| ((of.repeat.status, of.repeat.reason_code.as_deref().unwrap_or("")), ())),
    );
    // Of how many repeats something is told, where there are several.
    let of_all = |count: usize| {
        html! { @if cell.repeats.len() > 1 { " " (count) " of " (cell.repeats.len()) } }
    };
    html! {
        @if cell.repeats.is_empty() { span.tag { "not run yet" } }
        @if failed_checks > 0 {
            span.tag.bad { (counted(failed_checks, "check failed", "checks failed")) }
        } @else if whole > 0 { span.tag.good { "done" (of_all(whole)) } }
        @if cut > 0 { " " span.tag.warn { "ended early" (of_all(cut)) } }
        @for ((status, code), all) in &without_result {
            " " span.tag.bad[*status == RepeatStatus::Failed] { (status) (of_all(all.len())) }
            " " span.small { (code) }
        }
    }
}
