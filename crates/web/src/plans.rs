//! Plans: what they would do while they are edited, and their labs, started and stopped.

use crate::access::TokenGiven;
use crate::app::{App, Refused};
use crate::drafts::{ENDING, draft_text, names};
use crate::files::is_plain_name;
use crate::page::{page, said};
use crate::program::CommandOutput;
use axum::Form;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Redirect;
use maud::{Markup, html};
use plan::PLAN_BYTES_MAX;
use rustix::fs::OFlags;
use serde::Deserialize;
use std::fs::OpenOptions;
use std::io::{self, Error, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use storage::{SymbolicLinks, read_regular};

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
    let names = names(&app.plans);
    let body = html! {
        (app.runs.section())
        section {
            h2 { (app.plans.display()) }
            @if names.is_empty() { p { "There is no plan here; `mydyno serve --plans \
                DIRECTORY` names where they are." } }
            ul { @for name in &names {
                li { a href={ "/plan?name=" (base::percent_encoded(name)) } { (name) } }
            } }
        }
    };
    page("Plans", &body)
}

/// `/plan`: one of them, to be edited.
pub async fn edit(
    State(app): State<Arc<App>>,
    Query(which): Query<WhichPlan>,
) -> Result<Markup, Refused> {
    if !names(&app.plans).contains(&which.name) {
        return Err(Refused::missing("There is no such plan here."));
    }
    let path = app.plans.join(&which.name);
    let text = read_regular(&path, PLAN_BYTES_MAX as u64, SymbolicLinks::Refused)
        .map_err(|error| Refused::missing(format!("Cannot read {}: {error}.", path.display())))?;
    let results = which.name.replace(ENDING, ".db");
    let needs = check_text(&app, text.clone()).await;
    let body = html! {
        form method="post" action="/plan/start" data-plan="" {
            textarea name="text" spellcheck="false" rows="24" aria-label="Plan" { (text) }
            p {
                label { "Save as " input name="name" value=(which.name) required; } " "
                label { "Results file " input name="results" value=(results) required; } " "
                button { "Start the lab" }
            }
        }
        section #needs aria-live="polite" { h2 { "What it would do" } (said(&needs)) }
    };
    Ok(page(&which.name, &body))
}

/// `/plan/check`: what a text would do as a plan; nothing is kept.
pub async fn check(State(app): State<Arc<App>>, Form(plan): Form<CheckForm>) -> Markup {
    let needs = check_text(&app, plan.text).await;
    html! { h2 { "What it would do" } (said(&needs)) }
}

async fn check_text(app: &Arc<App>, text: String) -> CommandOutput {
    let permit = Arc::clone(&app.drafts).acquire_owned().await;
    let plans = app.plans.clone();
    let draft = move || {
        let _until_done = permit;
        draft_text(&plans, &text)
    };
    match tokio::task::spawn_blocking(draft).await {
        Ok(Ok(text)) => CommandOutput { text, is_ok: true },
        Ok(Err(error)) => CommandOutput::failed(error),
        // A thread that panics is a defect, and nothing is known of the plan.
        Err(error) => CommandOutput::failed(error),
    }
}

/// `/plan/start`: keeps the plan, and measures it.
pub async fn start(
    State(app): State<Arc<App>>,
    token: TokenGiven,
    Form(start): Form<StartForm>,
) -> Result<Redirect, Refused> {
    let wrong = |words: &str| Refused::new(StatusCode::UNPROCESSABLE_ENTITY, words);
    if !is_plain_name(&start.name, ENDING) || !is_plain_name(&start.results, ".db") {
        let words = "A plan's name ends in .toml and a results file's in .db; letters, digits, \
            dots, _ and - are allowed, and no directories.";
        return Err(wrong(words));
    }
    let text = start.text.replace("\r\n", "\n");
    let said = check_text(&app, text.clone()).await;
    if !said.is_ok {
        return Err(wrong(&said.text));
    }
    let failed = |what: &str, error: Error| Refused::failed(format!("{what}: {error}."));
    let plan = app.plans.join(&start.name);
    keep(&plan, &text)
        .map_err(|error| failed(&format!("Cannot write {}", plan.display()), error))?;
    let results = app.files.directory().join(&start.results);
    app.runs
        .start(&token, &app.program.path, &plan, &results)
        .map_err(|error| failed("Cannot start the lab", error))?;
    Ok(Redirect::to("/plans"))
}

/// Writes a plan where it is not there yet as it is. A link would lead out of the directory.
fn keep(plan: &Path, text: &str) -> io::Result<()> {
    let there = read_regular(plan, PLAN_BYTES_MAX as u64, SymbolicLinks::Refused);
    if there.is_ok_and(|there| there == text) {
        return Ok(());
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).custom_flags(flags.bits().cast_signed());
    let mut file = options.open(plan)?;
    if !file.metadata()?.is_file() {
        return Err(Error::other("it is no regular file"));
    }
    file.set_len(0)?;
    file.write_all(text.as_bytes())
}

/// `/plan/stop`
pub async fn stop(
    State(app): State<Arc<App>>,
    _: TokenGiven,
    Form(stop): Form<StopForm>,
) -> Redirect {
    app.runs.stop(stop.pid);
    Redirect::to("/plans")
}
