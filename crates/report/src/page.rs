//! The page: everything in one file, nothing asked of a network.

use crate::advice::advice_section;
use crate::cell::{cell_section, cell_sections};
use crate::config::{configuration, loads, reproduce};
use crate::error::{ReportError, ReportResult};
use crate::format::{bytes, instant};
use crate::instances::interference_section;
use crate::lab::account::account_section;
use crate::lab::comparisons::{comparisons, first_bars};
use crate::lab::curves::{
    Curves, by_connections, connection_charts, number_by_connections, resources,
};
use crate::lab::drills::drills;
use crate::lab::effects::effects;
use crate::lab::numbers::THROUGHPUT;
use crate::lab::over_time::{OverTime, over_time, over_time_charts};
use crate::lab::published::beside_study;
use crate::lab::sweeps::{SweptVariable, sweeps, variables};
use crate::model::{LabView, RepeatView};
use crate::overview::{results_section, tiles};
use crate::panels::Panels;
use crate::ramp::{RampMark, ramp_marks, ramp_section};
use crate::series::{Distribution, Series, distribution};
use base::joined;
use itertools::Itertools;
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

/// What the sections draw that are about several cells.
struct LabCharts<'a> {
    connections: Option<Curves>,
    variables: Vec<SweptVariable<'a>>,
    over_time: Vec<OverTime>,
    advice: Markup,
}

/// A section that the navigation leads to: its id, its title there, its heading where that is
/// another, and what is in it, which is nothing where the lab has nothing for it.
type Section = (&'static str, &'static str, Option<&'static str>, Markup);

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
pub fn render(results: &Results, lab: LabId) -> ReportResult<String> {
    let view = LabView::read(results, lab)?;
    let charts = LabCharts {
        variables: variables(&view),
        over_time: over_time(&view),
        connections: by_connections(&view),
        advice: advice_section(results, &view)?,
    };
    let swept = charts.variables.iter().map(|of| (of.key.as_str(), &of.curves));
    let by_connections = charts.connections.iter().map(|of| ("connections", of));
    let data = ChartData {
        repeats: drawn(&view),
        curves: swept.chain(by_connections).collect(),
        over_time: &charts.over_time,
        ramps: ramp_marks(&view),
        throughput: view.metric().title(),
        primary: view.metric().transaction(),
    };
    let json = script_safe(&serde_json::to_string(&data).map_err(ReportError::Json)?);
    Ok(page(&view, &json, &charts).into_string())
}

/// What the charts of repeats draw, by the repeat's key.
fn drawn(view: &LabView) -> BTreeMap<i64, RepeatData<'_>> {
    let is_brief = view.is_brief();
    let repeats = view.cells.iter().flat_map(|cell| {
        let all = cell.repeats.iter().filter(|_| !is_brief);
        all.chain(cell.shown().filter(|_| is_brief))
    });
    repeats
        .filter(|repeat| !repeat.series.time_s.is_empty())
        .map(|repeat| (repeat.repeat.id.0, data(repeat, is_brief)))
        .collect()
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

fn page(view: &LabView, json: &str, charts: &LabCharts<'_>) -> Markup {
    let sections = sections(view, charts);
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
                    (header(view, &sections))
                    (answer_section(view))
                    (picture(view, charts))
                    (tiles(view))
                    @for (id, title, heading, body) in &sections {
                        @if !body.0.is_empty() {
                            // The section of charts over time chooses for all of them.
                            section id=(id) data-choices=[(*id == "over-time").then_some("")] {
                                h2 { (heading.unwrap_or(title)) }
                                (body)
                            }
                        }
                        @if *id == "results" && !view.is_folded() {
                            @for cell in &view.cells { (cell_section(view, cell)) }
                        }
                    }
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

/// The sections in their order.
fn sections(view: &LabView, charts: &LabCharts<'_>) -> Vec<Section> {
    let curves = charts.connections.as_ref();
    let study = Some("Beside Percona Lab's report of 2026");
    let over_time = over_time_charts(view, &charts.over_time);
    vec![
        ("results", "Results", None, results_section(view)),
        ("ramp", "Ramp", None, ramp_section(view)),
        ("drills", "What survives", None, drills(view)),
        ("connections", "By connections", None, connection_charts(view, curves)),
        ("published", "Beside a published study", study, beside_study(view)),
        ("comparisons", "Comparisons", None, comparisons(view)),
        ("effects", "Each setting", Some("What each setting does"), effects(&view.outcome)),
        ("sweeps", "Turning points", None, sweeps(view, &charts.variables)),
        ("account", "Where the time goes", None, account_section(view)),
        ("over-time", "Over time", Some("Over time, and how response times spread"), over_time),
        ("resources", "CPU, I/O and costs", None, resources(view, curves.is_some())),
        ("instances", "By servers", Some("By servers on one machine"), interference_section(view)),
        ("advice", "What to set", None, charts.advice.clone()),
        ("load", "Load", None, loads(&view.loads)),
        ("configuration", "Configuration", None, configuration(view)),
        ("reproduce", "Reproduce", None, reproduce(view)),
    ]
}

fn header(view: &LabView, sections: &[Section]) -> Markup {
    html! {
        header {
            p.kicker { "mydyno report · " (instant(view.lab.started_utc_ns)) }
            h1 { (view.lab.name) }
            p.lead {
                @if !view.cells.is_empty() { (workloads(view)) "." }
                @if let Some(machine) = machine(view) { " On " (machine) "." }
            }
            @if view.lab.status != LabStatus::Done {
                div.callout.calm[view.lab.status == LabStatus::Running] { p {
                    b { @match view.lab.status {
                        LabStatus::Running => "This lab is still running",
                        LabStatus::Failed => "This lab failed",
                        _ => "This lab was interrupted",
                    } }
                    @if let Some(reason) = &view.lab.reason { ": " (reason) } "."
                } }
            }
            @if view.lab.adaptive {
                div.callout.calm { p {
                    b { "What came out decided what was measured next" }
                    " (advise, tune): what seemed good has more windows, and was chosen for its \
                     luck too. The intervals below are those of so many repeats, had their number \
                     been known before; p-values, reversals and turning points are left out. What \
                     holds is what the command itself said of fresh windows."
                } }
            }
            (navigation(view, sections))
        }
    }
}

/// The answer first: what was asked, what is shown, and what cannot be said.
fn answer_section(view: &LabView) -> Markup {
    let answer = view.answer();
    html! {
        section.answer id="answer" {
            h2 { (answer.question) }
            @if answer.shown.is_empty() { p { "Nothing was measured yet." } }
            @else { ul.shown { @for sentence in &answer.shown { li { (sentence) } } } }
            @if !answer.limits.is_empty() {
                h3 { "What this does not tell" }
                ul.limits { @for limit in &answer.limits { li { (in_code(limit)) } } }
            }
        }
    }
}

/// What stands between backquotes is set as code.
fn in_code(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The picture that shows the answer: throughput by connections, else by the last variable that was
/// swept, else by the first thing that varies. Nothing of a single cell, whose charts come next.
fn picture(view: &LabView, charts: &LabCharts<'_>) -> Markup {
    let title = "Throughput by connections";
    let curves =
        charts.connections.as_ref().map(|_| number_by_connections(view, &THROUGHPUT, title));
    let swept = || charts.variables.last().map(|of| of.chart(view, &THROUGHPUT));
    let drawn = curves.or_else(swept).or_else(|| first_bars(view));
    html! { @if let Some(drawn) = drawn { section id="picture" { (drawn) } } }
}

/// Links to the sections, and to all cells, which a word narrows down.
fn navigation(view: &LabView, sections: &[Section]) -> Markup {
    html! {
        nav aria-label="Sections" {
            @for (id, title, _, body) in sections {
                @if !body.0.is_empty() { a href={ "#" (id) } { (title) } }
            }
            @if view.is_folded() { details.menu {
                summary { (view.cells.len()) " cells" }
                div {
                    input type="search" placeholder="Filter cells" aria-label="Filter cells"
                        data-rows="cell-menu";
                    ul id="cell-menu" { @for cell in &view.cells {
                        li { a href={ "#cell-" (cell.cell.id) } { (cell.label) } }
                    } }
                }
            } }
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
    joined(&names.unique().collect_vec())
}

/// `1 warehouse`, `5, 10 and 20 warehouses`.
fn warehouses(each: impl Iterator<Item = u32>) -> String {
    match all_of(each.map(|number| number.to_string())).as_str() {
        "" => String::new(),
        "1" => "1 warehouse".to_owned(),
        numbers => format!("{numbers} warehouses"),
    }
}

/// What the page says of its numbers.
fn disclaimer(view: &LabView) -> String {
    let metric = view.metric();
    let (unit, one) = (metric.title(), metric.transaction());
    let counted = format!(
        "{unit} is {one}s that ended in the window, per minute, deliberate rollbacks included."
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
    let text = |key: &str| machine.fact(key).map(str::to_owned);
    let cores = machine.fact("cpu_cores").map(|n| format!("{n} cores"));
    let memory = machine.fact("memory_bytes").and_then(|n| n.parse().ok()).map(bytes);
    let parts = [text("cpu_model"), cores, memory, text("os")].into_iter().flatten().join(", ");
    (!parts.is_empty()).then_some(parts)
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
