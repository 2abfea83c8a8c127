//! Which address is answered by what.

use crate::access::{CHECK, Gatekeeper, REPORT, guard};
use crate::app::{App, Refused};
use crate::page::{page, said};
use crate::{assets, devices, lab, labs, plans};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// Most bytes of a form: a plan may have 64 KiB.
const FORM_BYTES_MAX: usize = 256 << 10;

/// All addresses, behind the guard.
pub fn router(app: Arc<App>, access: Arc<Gatekeeper>) -> Router {
    Router::new()
        .route("/", get(labs::list))
        .route("/lab", get(lab::live))
        .route("/events", get(lab::events))
        .route(REPORT, get(lab::report))
        .route("/plans", get(plans::list))
        .route("/plan", get(plans::edit))
        .route(CHECK, post(plans::check))
        .route("/plan/start", post(plans::start))
        .route("/plan/stop", post(plans::stop))
        .route("/compare", get(compare))
        .route("/devices", get(devices::list))
        .route("/devices/verify", post(devices::verify))
        .route("/servers", get(servers))
        .route("/serve.js", get(assets::script))
        .route("/serve.css", get(assets::style))
        .route("/uplot.js", get(assets::chart_script))
        .route("/uplot.css", get(assets::chart_style))
        .fallback(|| async { Refused::missing("There is no such page.") })
        .with_state(app)
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
        .layer(from_fn_with_state(access, guard))
}

#[derive(Deserialize)]
struct CompareForm {
    #[serde(default)]
    file: String,
    #[serde(default)]
    a: String,
    #[serde(default)]
    b: String,
}

/// `/compare`: two selections, as `mydyno compare` names them.
async fn compare(
    State(app): State<Arc<App>>,
    Query(asked): Query<CompareForm>,
) -> Result<Markup, Refused> {
    let files = app.files.all();
    let compared = if asked.a.is_empty() || asked.b.is_empty() {
        None
    } else {
        let file = app.files.find(&asked.file);
        let file = file.ok_or_else(|| Refused::missing("There is no such results file here."))?;
        let results = format!("--results={}", file.display());
        Some(app.program.ask(["compare", &results, "--", &asked.a, &asked.b]).await)
    };
    Ok(page(
        "Compare",
        &html! {
            form {
                p { label { "Results file " select name="file" { @for file in &files {
                    @let name = file.display().to_string();
                    option value=(name) selected[name == asked.file] { (name) }
                } } } }
                p {
                    label { "A " input name="a" value=(asked.a) placeholder="1,4,5 or 7.1"; } " "
                    label { "B " input name="b" value=(asked.b) placeholder="2,3,6 or 7.2"; } " "
                    button { "Compare" }
                }
                p.soft { "A lab by its number, several by commas, a cell as LAB.CELL; ratios are \
                    made inside blocks." }
            }
            @if let Some(compared) = &compared { (said(compared)) }
        },
    ))
}

/// `/servers`: engines and images.
async fn servers(State(app): State<Arc<App>>) -> Markup {
    let engines = app.program.ask(["server", "list"]).await;
    let images = app.program.ask(["server", "images"]).await;
    page("Servers", &html! { h2 { "Engines" } (said(&engines)) h2 { "Images" } (said(&images)) })
}
