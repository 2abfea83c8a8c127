//! Plans: what they would do while they are edited, and their labs, started and stopped.

use crate::app::{App, Refused};
use crate::files::is_plain_name;
use crate::page::{encoded, page, said};
use crate::program::CommandOutput;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;

const ENDING: &str = ".toml";

#[derive(Deserialize)]
pub struct WhichPlan {
    name: String,
}

#[derive(Deserialize)]
pub struct CheckForm {
    text: String,
}

#[derive(Deserialize)]
pub struct StartForm {
    name: String,
    text: String,
    results: String,
}

#[derive(Deserialize)]
pub struct StopForm {
    pid: u32,
}

/// `/plans`: those of the directory, and labs that were started here.
pub async fn list(State(app): State<Arc<App>>) -> Markup {
    let mut names: Vec<String> = std::fs::read_dir(&app.plans)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_plain_name(name, ENDING))
        .collect();
    names.sort();
    let runs = app.runs.all();
    page(
        "Plans",
        &html! {
            @if !runs.is_empty() { section {
                h2 { "Started here" }
                @for run in &runs {
                    h3 { (run.plan.display()) " into " (run.results.display()) }
                    @match &run.ended {
                        Some(how) => { p { "It has ended: " (how) "." } }
                        None => {
                            form method="post" action="/plan/stop" {
                                input type="hidden" name="pid" value=(run.pid);
                                button { "Stop in good order" }
                            }
                        }
                    }
                    pre tabindex="0" { (run.log) }
                }
            } }
            section {
                h2 { (app.plans.display()) }
                @if names.is_empty() { p { "There is no plan here; `mydyno serve --plans \
                    DIRECTORY` names where they are." } }
                ul { @for name in &names {
                    li { a href={ "/plan?name=" (encoded(name)) } { (name) } }
                } }
            }
        },
    )
}

/// `/plan`: one of them, to be edited.
pub async fn edit(
    State(app): State<Arc<App>>,
    Query(which): Query<WhichPlan>,
) -> Result<Markup, Refused> {
    if !is_plain_name(&which.name, ENDING) {
        return Err(Refused::missing("There is no such plan here."));
    }
    let path = app.plans.join(&which.name);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Refused::missing(format!("Cannot read {}: {error}.", path.display())))?;
    let results = which.name.replace(ENDING, ".db");
    let needs = check_text(&app, &text).await;
    Ok(page(
        &which.name,
        &html! {
            form method="post" action="/plan/start" data-plan="" {
                textarea name="text" spellcheck="false" rows="24" aria-label="Plan" { (text) }
                p {
                    label { "Save as " input name="name" value=(which.name) required; } " "
                    label { "Results file " input name="results" value=(results) required; } " "
                    button { "Start the lab" }
                }
            }
            section #needs aria-live="polite" { h2 { "What it would do" } (said(&needs)) }
        },
    ))
}

/// `/plan/check`: what a text would do as a plan; nothing is kept.
pub async fn check(State(app): State<Arc<App>>, Form(plan): Form<CheckForm>) -> Markup {
    let said = check_text(&app, &plan.text).await;
    html! { h2 { "What it would do" } (crate::page::said(&said)) }
}

/// The validator of `lab plan` reads files.
async fn check_text(app: &App, text: &str) -> CommandOutput {
    let written = tempfile::Builder::new()
        .suffix(ENDING)
        .tempfile()
        .and_then(|file| std::fs::write(file.path(), text).map(|()| file));
    match written {
        Ok(file) => {
            let mut said =
                app.program.ask([Path::new("lab"), Path::new("plan"), file.path()]).await;
            said.text = said.text.replace(&file.path().display().to_string(), "the plan");
            said
        }
        Err(error) => CommandOutput {
            text: format!("cannot write a temporary file: {error}\n"),
            is_ok: false,
        },
    }
}

/// `/plan/start`: keeps the plan, and measures it.
pub async fn start(
    State(app): State<Arc<App>>,
    Form(start): Form<StartForm>,
) -> Result<Redirect, Refused> {
    if !is_plain_name(&start.name, ENDING) || !is_plain_name(&start.results, ".db") {
        let words = "A plan's name ends in .toml and a results file's in .db; letters, digits, \
            dots, _ and - are allowed, and no directories.";
        return Err(Refused::wrong(words));
    }
    let said = check_text(&app, &start.text).await;
    if !said.is_ok {
        return Err(Refused::wrong(said.text));
    }
    let plan = app.plans.join(&start.name);
    let text = start.text.replace("\r\n", "\n");
    let failed = |what: &str, error: std::io::Error| Refused::failed(format!("{what}: {error}."));
    if std::fs::read_to_string(&plan).ok().as_deref() != Some(text.as_str()) {
        std::fs::write(&plan, text)
            .map_err(|error| failed(&format!("Cannot write {}", plan.display()), error))?;
    }
    let results = app.files.directory().join(&start.results);
    app.runs
        .start(&app.program.path, &plan, &results)
        .map_err(|error| failed("Cannot start the lab", error))?;
    Ok(Redirect::to("/plans"))
}

/// `/plan/stop`
pub async fn stop(State(app): State<Arc<App>>, Form(stop): Form<StopForm>) -> Redirect {
    app.runs.stop(stop.pid);
    Redirect::to("/plans")
}
