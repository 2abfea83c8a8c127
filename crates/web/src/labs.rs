//! The list of labs of all results files.

use crate::app::App;
use crate::page::{instant, page};
use analyse::{LabGlance, lab_glance, marked};
use axum::extract::{Query, State};
use base::{counted, lock, now_utc_ns, truncated};
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use store::{Lab, LabFacts, LabStatus, Results, StoreError};

/// Labs that one page shows, the newest first; the search finds others.
const SHOWN_MAX: usize = 200;

#[derive(Deserialize)]
pub struct LabSearch {
    #[serde(default)]
    q: String,
}

/// A lab of a file, as it ended.
type EndedLab = (PathBuf, i64, Option<i64>);

/// What labs found that have ended. It does not change.
#[derive(Debug, Default)]
pub struct Glances(Mutex<HashMap<EndedLab, Arc<LabGlance>>>);

/// `/`
pub async fn list(State(app): State<Arc<App>>, Query(search): Query<LabSearch>) -> Markup {
    let words = search.q.clone();
    let read = move || {
        let mut left = SHOWN_MAX;
        let words = search.q.to_lowercase();
        let section = |file: PathBuf| {
            let labs = meant(&file, &words, &mut left, &app.glances);
            file_section(&file.display().to_string(), labs)
        };
        app.files.all().into_iter().map(section).collect::<Vec<_>>()
    };
    // A thread that panics is a defect, and the list is then empty.
    let files = tokio::task::spawn_blocking(read).await.unwrap_or_default();
    let body = html! {
        form role="search" {
            label { "Search " input type="search" name="q" value=(words) placeholder=
                "name, engine, preset, device, status, date"; }
            button { "Search" }
        }
        @if files.is_empty() { p { "There is no results file here yet; `mydyno lab run` and \
            `mydyno run` write one." } }
        @for section in &files { (section) }
    };
    page("Labs", &body)
}

/// A lab with what a list has of it; nothing is found before it has ended.
type ListedLab = (Lab, LabFacts, Option<Arc<LabGlance>>);

/// The labs of a file that have all the words, the newest first: as many as are `left`, and how
/// many older ones there are.
fn meant(
    file: &Path,
    words: &str,
    left: &mut usize,
    glances: &Glances,
) -> Result<(Vec<ListedLab>, usize), StoreError> {
    let results = Results::open(file)?;
    let mut facts = results.lab_facts()?;
    let labs = results.labs()?.into_iter().rev();
    let labs = labs.map(|lab| (facts.remove(&lab.id).unwrap_or_default(), lab));
    let is_meant = |(facts, lab): &(LabFacts, Lab)| {
        let (measured, started) = (measured(facts).join(" "), instant(lab.started_utc_ns));
        let parts = [lab.name.as_str(), lab.status.name(), &measured, &started];
        let text = parts.join(" ").to_lowercase();
        words.split_whitespace().all(|word| text.contains(word))
    };
    let mut meant: Vec<(LabFacts, Lab)> = labs.filter(is_meant).collect();
    let left_out = meant.len().saturating_sub(*left);
    meant.truncate(*left);
    *left -= meant.len();
    let found = |(facts, lab)| {
        let found = glances.of(file, &results, &lab);
        (lab, facts, found)
    };
    Ok((meant.into_iter().map(found).collect(), left_out))
}

impl Glances {
    /// What a lab found, or why that cannot be read; `None` while it runs.
    fn of(&self, file: &Path, results: &Results, lab: &Lab) -> Option<Arc<LabGlance>> {
        if lab.status == LabStatus::Running {
            return None;
        }
        // A lab that was interrupted may have gone on.
        let which = (file.to_owned(), lab.id.0, lab.finished_utc_ns);
        // However many ask, each is read once, and one core at most is taken from what is measured.
        let mut known = lock(&self.0);
        if let Some(found) = known.get(&which) {
            return Some(Arc::clone(found));
        }
        Some(match lab_glance(results, lab.id) {
            Ok(found) => Arc::clone(known.entry(which).or_insert(Arc::new(found))),
            Err(error) => {
                Arc::new(LabGlance { verdict: error.to_string(), ..LabGlance::default() })
            }
        })
    }
}

fn file_section(name: &str, labs: Result<(Vec<ListedLab>, usize), StoreError>) -> Markup {
    let (labs, left_out) = match labs {
        Ok(labs) => labs,
        Err(error) => return html! { section { h2 { (name) } p.problem { (error) } } },
    };
    html! {
        section {
            h2 { (name) }
            div.scroll { table {
                thead { tr {
                    th { "Lab" } th { "State" } th { "Started" } th { "What was measured" }
                    th.num { "Highest" } th.num { "p95 ms" } th { "Throughput" } th { "Found" }
                    th { "Page" }
                } }
                tbody { @for listed in &labs { (row(name, listed)) } }
            } }
            @if left_out > 0 { p { (left_out) " older labs are not shown; search for them." } }
            @if labs.is_empty() && left_out == 0 { p { "No lab of this file is meant." } }
        }
    }
}

fn row(file: &str, (lab, facts, found): &ListedLab) -> Markup {
    let query = format!("file={}&lab={}", base::percent_encoded(file), lab.id);
    let found = found.as_deref();
    let highest = found.and_then(|of| Some((of.highest?, of.metric.title())));
    let p95 = found.and_then(|of| of.p95_us);
    let p95 = p95.and_then(|us| Some(marked(format!("{:.1}", us.mean? / 1e3), us.at_least)));
    html! {
        tr {
            td { a href={ "/lab?" (query) } { (lab.id) " " (lab.name) } }
            td { span.tag data-status=(lab.status.name()) { (lab.status.name()) } }
            td title={ (instant(lab.started_utc_ns)) " UTC" } { (ago(lab.started_utc_ns)) }
            td.told { @for part in measured(facts) { (part) br; } }
            td.num { @if let Some((highest, metric)) = highest {
                (truncated(highest)) br; span.soft { (metric) } } }
            td.num { @if let Some(ms) = p95 { (ms) } }
            td { @if let Some(of) = found { (chart(&of.chart, facts.cells)) } }
            td.told { @if let Some(of) = found { (of.verdict) } }
            td { a href={ "/report?" (query) } { "report" } }
        }
    }
}

/// Server, storage and load, in words.
fn measured(facts: &LabFacts) -> Vec<String> {
    let range = |[least, most]: [u32; 2], one: &str, many: &str| match least == most {
        true => counted(most as usize, one, many),
        false => format!("{least} to {most} {many}"),
    };
    let given = |text: &str, title: &str| (!text.is_empty()).then(|| format!("{title}{text}"));
    let [least, most] = facts.warehouses;
    let load = [
        given(&facts.workloads, ""),
        least.zip(most).map(|(least, most)| range([least, most], "warehouse", "warehouses")),
        (facts.cells > 0).then(|| range(facts.connections, "connection", "connections")),
        (facts.cells > 1).then(|| counted(facts.cells as usize, "cell", "cells")),
    ];
    let presets = given(&facts.presets, "").filter(|presets| presets != spec::defaults::PRESET);
    let server = [given(&facts.engines, ""), presets];
    let parts = [
        server.into_iter().flatten().collect::<Vec<_>>().join(", "),
        given(&facts.devices, "on ").unwrap_or_default(),
        load.into_iter().flatten().collect::<Vec<_>>().join(", "),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

/// Bars from 0 on, of cells or of intervals.
fn chart(bars: &[f64], cells: u32) -> Markup {
    let most = bars.iter().copied().fold(0.0, f64::max);
    if bars.len() < 2 || most <= 0.0 {
        return html! {};
    }
    let of = if cells > 1 { "of each cell" } else { "over the window" };
    html! {
        svg.bars viewBox={ "0 0 " (bars.len() * 4) " 24" } preserveAspectRatio="none" role="img"
            aria-label={ "Throughput " (of) } {
            @for (index, bar) in bars.iter().enumerate() {
                @let height = (bar / most * 24.0).max(0.5);
                rect x=(index * 4) width="3" y=(format!("{:.1}", 24.0 - height))
                    height=(format!("{height:.1}")) {}
            }
        }
    }
}

/// How long ago something was.
fn ago(utc_ns: i64) -> String {
    let seconds = u64::try_from(now_utc_ns() - utc_ns).unwrap_or(0) / 1_000_000_000;
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} ago", counted((seconds / 86_400) as usize, "day", "days")),
    }
}

#[cfg(test)]
mod tests {
    use super::{ago, chart, measured};
    use base::now_utc_ns;
    use store::LabFacts;

    #[test]
    fn what_was_measured_is_told_in_words() {
        let facts = LabFacts {
            cells: 6,
            engines: "mysql-5.7, mysql-8.0".to_owned(),
            workloads: "tpcc".to_owned(),
            presets: "config-3".to_owned(),
            devices: "nvme-pm1725".to_owned(),
            connections: [8, 64],
            warehouses: [Some(10), Some(10)],
        };
        let expected = [
            "mysql-5.7, mysql-8.0, config-3",
            "on nvme-pm1725",
            "tpcc, 10 warehouses, 8 to 64 connections, 6 cells",
        ];
        assert_eq!(measured(&facts), expected);
        assert_eq!(measured(&LabFacts::default()), Vec::<String>::new());
    }

    #[test]
    fn the_highest_bar_is_as_high_as_its_chart() {
        let bars = |values: &[f64]| chart(values, 1).into_string().matches("<rect").count();
        assert_eq!((bars(&[1.0]), bars(&[0.0, 0.0]), bars(&[1.0, 2.0])), (0, 0, 2));
        let text = chart(&[1.0, 2.0], 1).into_string();
        assert!(text.contains("y=\"12.0\" height=\"12.0\""), "{text}");
        assert!(text.contains("y=\"0.0\" height=\"24.0\""), "{text}");
    }

    #[test]
    fn an_age_has_one_unit() {
        let of = |seconds: i64| ago(now_utc_ns() - seconds * 1_000_000_000);
        assert_eq!([of(300), of(7_300), of(90_000)], ["5 min ago", "2 h ago", "1 day ago"]);
    }
}
