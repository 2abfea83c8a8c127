//! The list of labs of all results files.

use crate::app::App;
use crate::page::{instant, page};
use axum::extract::{Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Lab, LabEngines, LabId, Results, StoreError};

/// Labs that one page shows, the newest first; the search finds others.
const SHOWN_MAX: usize = 2_000;

#[derive(Deserialize)]
pub struct LabSearch {
    #[serde(default)]
    q: String,
}

/// What a file has, or why it cannot be read.
struct FileLabs {
    file: PathBuf,
    labs: Result<Vec<(Lab, Option<LabEngines>)>, StoreError>,
}

/// `/`
pub async fn list(State(app): State<Arc<App>>, Query(search): Query<LabSearch>) -> Markup {
    let words = search.q.clone();
    let read = move || {
        let files = app.files.all().into_iter();
        files.map(|file| FileLabs { labs: labs_of(&file), file }).collect::<Vec<_>>()
    };
    // A thread that panics is a defect, and the list is then empty.
    let files = tokio::task::spawn_blocking(read).await.unwrap_or_default();
    let mut left = SHOWN_MAX;
    page(
        "Labs",
        &html! {
            form role="search" {
                label { "Search " input type="search" name="q" value=(words) placeholder=
                    "name, engine, status, date"; }
                button { "Search" }
            }
            @if files.is_empty() { p { "There is no results file here yet; `mydyno lab run` and \
                `mydyno run` write one." } }
            @for of in &files { (file_section(of, &words.to_lowercase(), &mut left)) }
        },
    )
}

fn labs_of(file: &Path) -> Result<Vec<(Lab, Option<LabEngines>)>, StoreError> {
    let results = Results::open(file)?;
    let mut engines: BTreeMap<i64, LabEngines> =
        results.lab_engines()?.into_iter().map(|(LabId(id), engines)| (id, engines)).collect();
    let labs = results.labs()?.into_iter().rev();
    Ok(labs.map(|lab| (engines.remove(&lab.id.0), lab)).map(|(of, lab)| (lab, of)).collect())
}

fn file_section(of: &FileLabs, words: &str, left: &mut usize) -> Markup {
    let name = of.file.display().to_string();
    let labs = match &of.labs {
        Ok(labs) => labs,
        Err(error) => {
            return html! { section { h2 { (name) } p.problem { (error) } } };
        }
    };
    let is_meant = |(lab, of): &&(Lab, Option<LabEngines>)| {
        let engines = of.as_ref().map_or("", |of| of.engines.as_str());
        let text =
            format!("{} {engines} {} {}", lab.name, lab.status.name(), instant(lab.started_utc_ns));
        words.split_whitespace().all(|word| text.to_lowercase().contains(word))
    };
    let meant: Vec<_> = labs.iter().filter(is_meant).collect();
    let shown = meant.len().min(*left);
    *left -= shown;
    html! {
        section {
            h2 { (name) }
            div.scroll { table {
                thead { tr {
                    th { "Lab" } th { "Name" } th { "Status" } th { "Started, UTC" }
                    th.num { "Cells" } th { "Engines" } th { "Page" }
                } }
                tbody { @for (lab, engines) in meant.iter().take(shown) {
                    (row(&name, lab, engines.as_ref()))
                } }
            } }
            @if shown < meant.len() { p { (meant.len() - shown)
                " older labs are not shown; search for them." } }
            @if meant.is_empty() { p { "No lab of this file is meant." } }
        }
    }
}

fn row(file: &str, lab: &Lab, of: Option<&LabEngines>) -> Markup {
    let query = format!("file={}&lab={}", base::percent_encoded(file), lab.id);
    html! {
        tr {
            td.num { (lab.id) }
            td { a href={ "/lab?" (query) } { (lab.name) } }
            td { span.tag data-status=(lab.status.name()) { (lab.status.name()) } }
            td { (instant(lab.started_utc_ns)) }
            td.num { (of.map_or(0, |of| of.cells)) }
            td { (of.map_or("", |of| of.engines.as_str())) }
            td { a href={ "/report?" (query) } { "report" } }
        }
    }
}
