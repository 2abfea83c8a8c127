//! The page: everything in one file, nothing asked of a network.

use crate::advice::advice_section;
use crate::answer::answer_section;
use crate::cell::{cell_section, cell_sections};
use crate::config::{configuration, loads, reproduce};
use crate::error::ReportError;
use crate::format::{each_once, instant};
use crate::instances::interference_section;
use crate::lab::account::account_section;
use crate::lab::comparisons::{comparisons, first_bars};
use crate::lab::curves::{Curves, by_connections, connection_charts, throughput_by_connections};
use crate::lab::device_effects::device_effects;
use crate::lab::drills::drills;
use crate::lab::effects::effects;
use crate::lab::multiples::resources;
use crate::lab::numbers::THROUGHPUT;
use crate::lab::over_time::{OverTime, over_time, over_time_charts};
use crate::lab::sweeps::{SweptVariable, sweeps, variables};
use crate::model::{CellView, LabView, RepeatView};
use crate::overview::{results_table, tiles};
use crate::panels::Panels;
use crate::ramp::{RampMark, ramp_marks, ramp_section};
use crate::series::{Distribution, Series, distribution};
use analyse::{LabOutcome, interference, lab_outcome};
use base::joined;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use std::collections::BTreeMap;
use store::{CellTransaction, LabId, LabStatus, NewCell, Results, ThroughputMetric};

/// What every page says of its numbers.
pub const DISCLAIMER: &str =
    "The workload is derived from TPC-C; results are not comparable with published TPC-C results.";

/// The library of the charts.
pub const UPLOT_JS: &str = include_str!("../assets/uPlot.iife.min.js");
/// Its styles.
pub const UPLOT_CSS: &str = include_str!("../assets/uPlot.min.css");
const UPLOT_LICENSE: &str = include_str!("../assets/uPlot.LICENSE");
const REPORT_JS: &str = include_str!("../assets/report.js");
const REPORT_CSS: &str = include_str!("../assets/report.css");

/// Scripts may only be the two of the page, and nothing may be loaded.
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

/// Numbers of the charts.
#[derive(Serialize)]
struct ChartData<'a> {
    repeats: BTreeMap<i64, RepeatData<'a>>,
    /// By name: `connections`, and one for each variable that was swept.
    curves: BTreeMap<&'a str, &'a Curves>,
    over_time: &'a [OverTime],
    ramps: Vec<RampMark<'a>>,
    /// `NOPM`, and what one of the transactions is called that it counts.
    throughput: &'static str,
    primary: &'static str,
}

/// What the sections show that are about several cells.
struct LabSections<'a> {
    outcome: &'a LabOutcome,
    connections: Option<Curves>,
    variables: Vec<SweptVariable<'a>>,
    over_time: Vec<OverTime>,
    /// Nothing where nothing is known of them.
    account: Markup,
    resources: Markup,
}

#[derive(Serialize)]
struct RepeatData<'a> {
    series: &'a Series,
    distribution: BTreeMap<&'a str, Distribution>,
    /// `None` where the page has no charts of it.
    observed: Option<&'a Panels>,
}

/// The report of one lab as one HTML file.
///
/// # Errors
/// There is no such lab, or the file cannot be read.
pub fn render(results: &Results, lab: LabId) -> Result<String, ReportError> {
    let view = LabView::read(results, lab)?;
    let outcome = lab_outcome(results, lab)?;
    let connections = by_connections(&view);
    let sections = LabSections {
        variables: variables(&view, &outcome.sweeps),
        over_time: over_time(&view),
        account: account_section(&view),
        resources: resources(&view, connections.is_some()),
        connections,
        outcome: &outcome,
    };
    let swept = sections.variables.iter();
    let by_connections = sections.connections.iter().map(|of| ("connections", of));
    let data = ChartData {
        repeats: drawn(&view),
        curves: swept
            .map(|variable| (variable.key.as_str(), &variable.curves))
            .chain(by_connections)
            .collect(),
        over_time: &sections.over_time,
        ramps: ramp_marks(&outcome.ramps, &view),
        throughput: view.metric().title(),
        primary: view.metric().transaction(),
    };
    let json = script_safe(&serde_json::to_string(&data).map_err(ReportError::Json)?);
    Ok(page(&view, &json, &sections).into_string())
}

/// What the charts of repeats draw, by the repeat's key.
fn drawn(view: &LabView) -> BTreeMap<i64, RepeatData<'_>> {
    let is_brief = view.is_brief();
    let repeats = view.cells.iter().flat_map(|cell| all_or_one(cell, is_brief));
    repeats
        .filter(|repeat| !repeat.series.time_s.is_empty())
        .map(|repeat| (repeat.repeat.id.0, data(repeat, is_brief)))
        .collect()
}

fn all_or_one(cell: &CellView, is_brief: bool) -> Vec<&RepeatView> {
    if is_brief { cell.shown().into_iter().collect() } else { cell.repeats.iter().collect() }
}

fn data<'a>(repeat: &'a RepeatView, is_brief: bool) -> RepeatData<'a> {
    let of_type =
        |(of, totals): (&'a CellTransaction, &_)| Some((of.name.as_str(), distribution(totals)?));
    let shown = repeat.totals.iter().filter(|_| repeat.is_done());
    RepeatData {
        series: &repeat.series,
        distribution: shown.filter_map(of_type).collect(),
        observed: (!is_brief).then_some(&repeat.panels),
    }
}

/// JSON that may stand in a script element: no `</script>`, no `<!--`.
fn script_safe(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn page(view: &LabView, json: &str, sections: &LabSections<'_>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content={ "mydyno " (view.lab.mydyno_version) };
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (view.lab.name) " - mydyno report" }
                style { (PreEscaped(UPLOT_CSS)) (PreEscaped(REPORT_CSS)) }
            }
            body {
                main {
                    (header(view, sections))
                    (answer_section(view, sections.outcome))
                    (picture(view, sections))
                    (tiles(view))
                    (results_table(view))
                    @if !view.is_folded() {
                        @for cell in &view.cells { (cell_section(view, cell)) }
                    }
                    (ramp_section(&sections.outcome.ramps, view))
                    (drills(view, sections.outcome))
                    @if let Some(curves) = &sections.connections {
                        (connection_charts(view, curves))
                    }
                    (comparisons(view, sections.outcome))
                    (effects(sections.outcome))
                    (device_effects(sections.outcome))
                    (sweeps(view, &sections.variables))
                    (sections.account)
                    (over_time_charts(view, &sections.over_time))
                    (sections.resources)
                    (interference_section(view, &sections.outcome.cells))
                    (advice_section(view.advice.as_ref(), view.cells.len() > 1))
                    (loads(&view.loads))
                    (configuration(view, sections.outcome))
                    (reproduce(view))
                    @if view.is_folded() { (cell_sections(view)) }
                    footer {
                        p { (disclaimer(view)) }
                        p {
                            "Made by mydyno " (view.lab.mydyno_version) " from "
                            span.mono { (view.results_file) }
                            ", lab " (view.lab.id) ". Charts: uPlot, MIT licence."
                        }
                    }
                }
                noscript { main { p { "Charts need JavaScript; the tables do not. `mydyno export` \
                    writes the numbers of the charts as CSV." } } }
                script type="application/json" id="data" { (PreEscaped(json)) }
                script {
                    (PreEscaped("/*\n")) (PreEscaped(UPLOT_LICENSE)) (PreEscaped("*/\n"))
                    (PreEscaped(UPLOT_JS))
                }
                script { (PreEscaped(REPORT_JS)) }
            }
        }
    }
}

fn header(view: &LabView, sections: &LabSections<'_>) -> Markup {
    html! {
        header {
            p.kicker { "mydyno report · " (instant(view.lab.started_utc_ns)) }
            h1 { (view.lab.name) }
            p.lead {
                @if !view.cells.is_empty() { (workloads(view)) "." }
                @if let Some(machine) = machine(view) { " On " (machine) "." }
            }
            @if view.lab.status != LabStatus::Done {
                div.callout.calm[view.lab.status == LabStatus::Running] {
                    p {
                        b { @match view.lab.status {
                            LabStatus::Running => "This lab is still running",
                            LabStatus::Failed => "This lab failed",
                            _ => "This lab was interrupted",
                        } }
                        @if let Some(reason) = &view.lab.reason { ": " (reason) } "."
                    }
                }
            }
            @if view.lab.adaptive {
                div.callout.calm {
                    p {
                        b { "What came out decided what was measured next" }
                        " (advise, tune): what seemed good has more windows, and was chosen for \
                         its luck too. The intervals below are those of so many repeats, had their \
                         number been known before; p-values, reversals and turning points are left "
                        "out. What holds is what the command itself said of fresh windows."
                    }
                }
            }
            (navigation(view, sections))
        }
    }
}

/// The picture that shows the answer: throughput by connections, else by the last variable that was
/// swept, else by the first thing that varies. Nothing of a single cell, whose charts come next.
fn picture(view: &LabView, sections: &LabSections<'_>) -> Markup {
    let swept = || sections.variables.last().map(|of| of.chart(view, &THROUGHPUT));
    let drawn = match &sections.connections {
        Some(_) => Some(throughput_by_connections(view)),
        None => swept().or_else(|| first_bars(view, sections.outcome)),
    };
    html! { @if let Some(drawn) = drawn { section id="picture" { (drawn) } } }
}

fn navigation(view: &LabView, sections: &LabSections<'_>) -> Markup {
    html! {
        nav aria-label="Sections" {
            a href="#results" { "Results" }
            @if !sections.outcome.drills.is_empty() { a href="#drills" { "What survives" } }
            @if !sections.outcome.ramps.is_empty() { a href="#ramp" { "Ramp" } }
            @if sections.connections.is_some() { a href="#connections" { "By connections" } }
            @if !sections.outcome.comparisons.is_empty() { a href="#comparisons" { "Comparisons" } }
            @if !sections.outcome.effects.is_empty() { a href="#effects" { "Each setting" } }
            @if !sections.outcome.device_effects.is_empty() { a href="#by-device" { "By device" } }
            @if !sections.variables.is_empty() { a href="#sweeps" { "Turning points" } }
            @if !sections.account.0.is_empty() { a href="#account" { "Where the time goes" } }
            @if !sections.over_time.is_empty() { a href="#over-time" { "Over time" } }
            @if !sections.resources.0.is_empty() { a href="#resources" { "CPU, I/O and costs" } }
            @if !interference(&sections.outcome.cells).is_empty() { a href="#instances" {
                "By servers" } }
            @if view.advice.as_ref().is_some_and(|advice| !advice.findings.is_empty()) {
                a href="#advice" { "What to set" }
            }
            @if !view.loads.is_empty() { a href="#load" { "Load" } }
            a href="#configuration" { "Configuration" }
            a href="#reproduce" { "Reproduce" }
            @if view.is_folded() { (cell_menu(view)) }
        }
    }
}

/// Links to all cells, which a word narrows down.
fn cell_menu(view: &LabView) -> Markup {
    html! {
        details.menu {
            summary { (view.cells.len()) " cells" }
            div {
                input type="search" placeholder="Filter cells" aria-label="Filter cells"
                    data-rows="cell-menu";
                ul id="cell-menu" { @for cell in &view.cells {
                    li { a href={ "#cell-" (cell.cell.id) } { (cell.label) } }
                } }
            }
        }
    }
}

/// What the cells asked of which servers: `mysql-5.7 (5.7.22), 10 warehouses, workload tpcc, style
/// statements, over a unix socket`. What they differ in has all of its values.
fn workloads(view: &LabView) -> String {
    let whats = || view.cells.iter().map(|cell| &cell.cell.what);
    let started = || whats().filter(|what| !what.server_version.is_empty());
    let engine = |what: &NewCell| format!("{} ({})", what.engine, what.server_version);
    let not_started = whats().filter(|what| !started().any(|other| other.engine == what.engine));
    let engines = started().map(engine);
    let mut parts = vec![
        all_of(engines.chain(not_started.map(|what| what.engine.clone()))),
        warehouses(whats().filter_map(|what| what.warehouses)),
        format!("workload {}", all_of(whats().map(|what| what.workload.clone()))),
        format!("style {}", all_of(whats().map(|what| what.style.clone()))),
    ];
    let transport = all_of(started().map(|what| what.transport.clone()));
    if !transport.is_empty() {
        parts.push(format!("over {transport}"));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// Each of them once: `a, b and c`.
fn all_of(names: impl Iterator<Item = String>) -> String {
    joined(&each_once(names))
}

/// `1 warehouse`, `5, 10 and 20 warehouses`.
fn warehouses(each: impl Iterator<Item = u32> + Clone) -> String {
    if each.clone().next().is_none() {
        return String::new();
    }
    let numbers = all_of(each.clone().map(|number| number.to_string()));
    let is_one = each.max() == Some(1);
    format!("{numbers} {}", if is_one { "warehouse" } else { "warehouses" })
}

/// What the page says of its numbers.
fn disclaimer(view: &LabView) -> String {
    let metric = view.metric();
    let counted = format!(
        "{} is {}s that ended in the window, per minute, deliberate rollbacks included.",
        metric.title(),
        metric.transaction()
    );
    match metric {
        ThroughputMetric::Nopm => format!("{DISCLAIMER} {counted}"),
        ThroughputMetric::Tpm => counted,
    }
}

fn machine(view: &LabView) -> Option<String> {
    let machine = match view.machines.as_slice() {
        [machine] => machine,
        [] => return None,
        several => return Some(format!("{} machines", several.len())),
    };
    let fact = |key: &str| machine.fact(key).map(str::to_owned);
    let parts: Vec<String> = [
        fact("cpu_model"),
        fact("cpu_cores").map(|n| format!("{n} cores")),
        fact("memory_bytes").and_then(|n| n.parse().ok()).map(crate::format::bytes),
        fact("os"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::script_safe;

    #[test]
    fn json_cannot_end_its_element() {
        let json = script_safe("{\"a\":\"</script><!--\u{2028}\"}");
        assert!(!json.contains('<') && !json.contains('\u{2028}'), "{json}");
        assert!(json.contains("\\u003c/script>"));
    }
}
