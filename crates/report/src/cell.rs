//! One cell: its charts and tables, for each of its repeats.

use crate::bound::bound_sentence;
use crate::devices::devices_section;
use crate::format::{NOT_AVAILABLE, duration, integer, or_na, sentence, significant, truncated};
use crate::instances::{each_node, each_rank, each_server};
use crate::lab::account::account_stack;
use crate::model::{CellView, LabView, RepeatView, warehouses};
use crate::overview::spread;
use crate::panels::Panel;
use crate::plot::plot;
use crate::stacks::{Stack, parts_table, stacked};
use crate::statements::statements_section;
use crate::tables::{
    checks_table, failures_table, inputs_table, terminals_section, transactions_table,
};
use crate::used::used_section;
use crate::variables::Variable;
use analyse::sentences;
use base::{counted, percent};
use itertools::Itertools;
use maud::{Markup, html};
use store::{InputCounter, NewCell, RepeatStatus, Verdict};

/// All cells of a lab of several, closed.
pub fn cell_sections(view: &LabView) -> Markup {
    html! {
        div.cells-head id="cells" {
            h2 { "Cells" }
            button type="button" data-open-cells="" { "Open all cells, as for printing" }
        }
        @for cell in &view.cells { (cell_section(view, cell)) }
    }
}

/// The section of a cell.
pub fn cell_section(view: &LabView, cell: &CellView) -> Markup {
    let (is_folded, is_brief) = (view.is_folded(), view.is_brief());
    let title = html! {
        h2 { @if view.cells.len() > 1 { "Cell " (cell.cell.what.ordinal) ": " } (cell.label) }
    };
    html! {
        section.folded[is_folded] id={ "cell-" (cell.cell.id) } {
            @if is_folded {
                details {
                    summary { (title) " " span.soft {
                        (or_na(cell.nopm().mean, truncated)) " " (cell.metric().title())
                    } }
                    (inside(cell, is_brief))
                }
            } @else { (title) (inside(cell, is_brief)) }
        }
    }
}

fn inside(cell: &CellView, is_brief: bool) -> Markup {
    let what = &cell.cell.what;
    let stacks: Vec<Stack> = account_stack(cell).into_iter().collect();
    html! {
        p.soft {
            @match cell.nopm().mean {
                Some(nopm) => {
                    b { (truncated(nopm)) " " (cell.metric().title()) } " ("
                    (spread(&cell.nopm())) "); "
                }
                None => { b { (NOT_AVAILABLE) } "; " }
            }
            (what.engine) " " (what.server_version) ", "
            (servers(what))
            (warehouses(what.warehouses))
            @if what.schemas > 1 { " in each of " (what.schemas) " schemas" }
            @if what.instances > 1 && what.topology().is_none() { " in each" }
            @if what.warehouses.is_some() || what.schemas > 1 { ", " }
            @if let Some(devices) = what.devices_in_words() { "on " (devices) ", " }
            @if what.home == Some(true) { "connections bound to warehouses, " }
            @if what.foreign_keys == Some(false) { "no foreign keys, " }
            @if what.history_key == Some(true) { "HISTORY with a primary key, " }
            @if let Some(level) = &what.isolation { "isolation level " (level) ", " }
            @if what.partitions > 0 {
                "tables in " (counted(what.partitions as usize, "partition", "partitions")) ", "
            }
            (times(what))
            @if let Some(words) = cell.shown().and_then(RepeatView::dilation) { ", " (words) }
            "."
        }
        (bound_sentence(cell))
        // What one transaction waited for; nothing where nobody knows.
        (stacked("Where the time of a transaction goes", &stacks, &parts_table("Cell", &stacks)))
        @if cell.earlier_attempts > 0 {
            p.soft.small { (counted(cell.earlier_attempts, "earlier attempt is",
                "earlier attempts are")) " in the results file and not shown." }
        }
        @if cell.repeats.is_empty() { div.callout.calm { p { "This cell was not run yet." } } }
        @if is_brief { (one_repeat(cell)) } @else { (all_repeats(cell)) }
        (used_section(cell))
    }
}

/// Warm-up and window as planned, in words.
fn times(what: &NewCell) -> String {
    let planned = |ns: u64, is_auto: bool| {
        let time = duration(ns);
        if is_auto { format!("automatic ({time} at most)") } else { time }
    };
    let precision = what.precision_share.map(|share| format!(" to ± {}", percent(share)));
    format!(
        "warm-up {}, window {}{}, intervals of {}, seed {}",
        planned(what.warmup_ns, what.warmup_auto),
        planned(what.window_ns, what.window_auto),
        precision.unwrap_or_default(),
        duration(what.interval_ns),
        what.seed
    )
}

/// How many servers, on how many cores; nothing of one that had all that it found.
fn servers(what: &NewCell) -> String {
    let cores = what.cores.map(|cores| counted(cores as usize, "core", "cores"));
    let on = cores.map(|cores| format!(" on {cores}")).unwrap_or_default();
    match what.instances {
        1 if on.is_empty() => String::new(),
        1 => format!("server{on}, "),
        servers => format!("{servers} servers{on}, "),
    }
}

fn title(repeat: &RepeatView) -> String {
    let nopm = or_na(repeat.rates().nopm, truncated);
    format!("Repeat {}: {nopm}", repeat.repeat.ordinal)
}

fn all_repeats(cell: &CellView) -> Markup {
    let shown = cell.shown().map(|repeat| repeat.repeat.id);
    html! {
        @if cell.repeats.len() > 1 {
            div.tabs role="group" aria-label="Repeats" { @for repeat in &cell.repeats {
                button type="button" aria-pressed=(Some(repeat.repeat.id) == shown)
                    aria-controls={ "repeat-" (repeat.repeat.id) } { (title(repeat)) }
            } }
        }
        @for repeat in &cell.repeats {
            div id={ "repeat-" (repeat.repeat.id) } hidden[Some(repeat.repeat.id) != shown] {
                (repeat_panel(cell, repeat, false))
            }
        }
    }
}

/// Of a lab with very many repeats: the first, and what the others gave.
fn one_repeat(cell: &CellView) -> Markup {
    html! {
        @if cell.repeats.len() > 1 {
            p.soft.small { @for repeat in &cell.repeats { (title(repeat)) ". " } }
        }
        @if let Some(repeat) = cell.shown() {
            (repeat_panel(cell, repeat, true))
            p.soft.small {
                "Of repeat " (repeat.repeat.ordinal) "; the lab has so many that `mydyno export` \
                    has the rest: samples, checks, inputs, variables."
            }
        }
    }
}

/// A repeat; in brief without what `mydyno export` has.
fn repeat_panel(cell: &CellView, repeat: &RepeatView, is_brief: bool) -> Markup {
    let is_done = repeat.is_done();
    let summary = repeat.summary();
    let remarks = &repeat.run.remarks;
    html! {
        @if is_done {
            (tags(repeat))
            // What warm-up and window of automatic length came to.
            @if let Some(of) = sentences::lengths(summary) { p.soft.small { (sentence(&of)) } }
        } @else { (no_result(repeat)) }
        @if !remarks.is_empty() {
            div.callout { @for remark in remarks { p { "In this window " (remark) "." } } }
        }
        @for note in &summary.notes { p.soft.small { "Note: " (note) } }
        @if !repeat.series.time_s.is_empty() { (charts(cell, repeat, !is_brief)) }
        @if is_done && is_brief { (transactions_table(repeat)) (devices_section(repeat)) }
        @else if is_done {
            (each_server(repeat)) (each_node(repeat)) (each_rank(repeat))
            h3 { "Transaction types" }
            (transactions_table(repeat))
            (statements_section(repeat))
            (counts(cell, repeat))
            (devices_section(repeat))
            (terminals_section(repeat))
        }
        @if !is_brief {
            @if !summary.errors.is_empty() { h3 { "Errors" } (failures_table(&summary.errors)) }
            @if !summary.inputs.is_empty() {
                h3 { "Inputs that were generated, against clause 5.5.1.5" }
                (inputs_table(&summary.inputs))
            }
            @if !summary.checks.is_empty() {
                h3 { "Consistency after the run" }
                (checks_table(&summary.checks))
            }
        }
    }
}

/// Why there is nothing, with what the server said last.
fn no_result(repeat: &RepeatView) -> Markup {
    let row = &repeat.repeat;
    html! {
        div.callout.calm[row.status != RepeatStatus::Failed] {
            p {
                b {
                    @match row.status {
                        RepeatStatus::Running => "Running; there is no result yet.",
                        RepeatStatus::Skipped => "Skipped.",
                        _ => "Failed.",
                    }
                    " Result: " (NOT_AVAILABLE) "."
                }
                @if let Some(code) = &row.reason_code { " " code { (code) } }
                @if let Some(reason) = &row.reason { ": " (reason) }
            }
            @if !repeat.series.time_s.is_empty() { p.small { "The charts show what happened until \
                then; it is evidence, not a result." } }
        }
        @if let Some(tail) = &row.log_tail {
            details open { summary { "Last lines of the server's error log" } pre { (tail) } }
        }
    }
}

fn tags(repeat: &RepeatView) -> Markup {
    let summary = repeat.summary();
    let failed = repeat.failed_checks();
    let outside = |counter: &&InputCounter| counter.judged.verdict == Verdict::Outside;
    let outside = summary.inputs.iter().filter(outside).count();
    let checks = counted(summary.checks.len(), "check", "checks");
    html! {
        div.tags {
            @if failed > 0 { span.tag.bad { (failed) " of " (checks) " failed" } }
            @else if !summary.checks.is_empty() { span.tag.good { (checks) " passed" } }
            @if outside > 0 {
                span.tag.bad { (counted(outside, "input", "inputs")) " outside the clauses" }
            } @else if !summary.inputs.is_empty() {
                span.tag.good { "inputs as the clauses want" }
            }
            @if let Some(result) = &repeat.repeat.result {
                @if result.interrupted { span.tag.warn { "window ended early by the user" } }
                @if result.reconnects > 0 { span.tag.warn {
                    (counted(result.reconnects as usize, "reconnect", "reconnects"))
                } }
            }
            @if let Some(recovery_s) = summary.recovery_s {
                span.tag.warn { (format!("recovery took {recovery_s:.1} s")) }
            }
            @if repeat.variables.iter().any(Variable::changed) {
                span.tag.warn { "server variables changed during the run" }
            }
        }
    }
}

/// A chart of a repeat; `panel` is which one, of kind `panel`.
fn figure(
    repeat: &RepeatView,
    (kind, title, is_wide): (&str, &str, bool),
    panel: Option<&str>,
    controls: &Markup,
) -> Markup {
    html! {
        figure.wide[is_wide] data-chart=(kind) data-panel=[panel] data-repeat=(repeat.repeat.id) {
            (plot(title, controls))
        }
    }
}

fn charts(cell: &CellView, repeat: &RepeatView, with_panels: bool) -> Markup {
    let chart =
        |kind, title, is_wide, controls| figure(repeat, (kind, title, is_wide), None, &controls);
    let types = &repeat.series.names;
    html! {
        div.charts {
            (chart("throughput", "Throughput over time", true, html! {
                label { "Show " select data-choice="types" aria-label="Transactions shown" {
                    option value="primary" { (cell.metric().transaction()) "s" }
                    option value="all" { "all " (spelt(types.len())) " types" }
                } }
            }))
            @if with_panels { (panels(repeat)) }
            (chart("latency", "Response time over time", !repeat.is_done(), html! {
                label { select data-choice="type" aria-label="Transaction type" {
                    @for (name, title) in types { option value=(name) { (title) } }
                } }
                label { input type="checkbox" data-choice="log" checked; " log" }
            }))
            // Of a failed repeat the course is shown as evidence, and nothing that adds it up.
            @if repeat.is_done() {
                (chart("distribution", "Response time distribution in the window", false, html! {
                    label { select data-choice="kind" aria-label="Kind of chart" {
                        option value="tail" { "percentiles" } option value="bins" { "histogram" }
                    } }
                }))
            }
        }
        p.soft.small.hint {
            "Each point is " (duration((repeat.series.point_s * 1e9) as u64))
            ". Drag to zoom, double-click to see all; click a name to hide its line."
        }
    }
}

/// Small numbers as words.
fn spelt(count: usize) -> String {
    let words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    words.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

/// What was observed beside the load, on the time axis of the throughput.
fn panels(repeat: &RepeatView) -> Markup {
    let (at_once, others): (Vec<&Panel>, Vec<&Panel>) =
        repeat.panels.panels.iter().partition(|panel| panel.is_seen_at_once());
    let draw =
        |panel: &Panel| figure(repeat, ("panel", &panel.title, true), Some(panel.name), &html! {});
    html! {
        @for panel in at_once { (draw(panel)) }
        @if !others.is_empty() {
            details.wide.panels {
                summary { (others.iter().map(|panel| &panel.title).join(", ")) }
                @for panel in others { (draw(panel)) }
            }
        }
    }
}

/// Orders in the database against those that the driver counted.
fn counts(cell: &CellView, repeat: &RepeatView) -> Markup {
    let rates = repeat.rates();
    html! {
        p.soft.small {
            @if let Some(words) = sentences::orders(repeat.summary()) { (sentence(&words)) " " }
            (or_na(rates.statements, integer)) " statements in the window, "
            (or_na(rates.statements_per_new_order, significant)) " for each "
            (cell.metric().transaction()) "."
        }
    }
}
