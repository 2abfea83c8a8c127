//! One lab: live, and its report.

use crate::app::{App, Refused};
use crate::page::page;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Html;
use axum::response::sse::{Event, KeepAlive, Sse};
use maud::{Markup, html};
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use store::{LabId, Results};
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt};

/// Which lab.
#[derive(Deserialize)]
pub struct WhichLab {
    file: String,
    lab: i64,
}

/// `/lab`: the page, which the script fills from the events.
pub async fn live(
    State(app): State<Arc<App>>,
    Query(which): Query<WhichLab>,
) -> Result<Markup, Refused> {
    let path = app.results_file(&which.file)?;
    let id = LabId(which.lab);
    let lab = blocking(move || Ok(Results::open(&path)?.lab(id)?)).await?;
    let query = format!("file={}&lab={}", base::percent_encoded(&which.file), which.lab);
    let title = format!("{}, lab {}", lab.name, which.lab);
    let body = html! {
        p { (which.file) " · " a href={ "/report?" (query) } { "report" } }
        p #connection.problem role="alert" hidden {
            "The connection to mydyno is lost. Trying again." }
        div data-events={ "/events?" (query) } {
            p #state role="status" { "Reading." }
            section #running hidden {}
            section {
                h2 { "Cells, with the throughput of each repeat" }
                div.scroll { table { tbody #matrix {} } }
            }
        }
        noscript { p { "What runs is shown by a script; the report needs none for its \
            tables." } }
    };
    Ok(page(&title, &body))
}

/// `/events`: the lab as JSON, whenever something was written.
pub async fn events(
    State(app): State<Arc<App>>,
    Query(which): Query<WhichLab>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refused> {
    let path = app.results_file(&which.file)?;
    let feed = app.feeds.watch(&path, LabId(which.lab));
    let busy = "Too many labs are watched; close some pages.";
    let feed = feed.ok_or_else(|| Refused::new(StatusCode::SERVICE_UNAVAILABLE, busy))?;
    let told = WatchStream::new(feed).filter(|text| !text.is_empty());
    Ok(Sse::new(told.map(|text| Ok(Event::default().data(&*text))))
        .keep_alive(KeepAlive::default()))
}

/// `/report`
pub async fn report(
    State(app): State<Arc<App>>,
    Query(which): Query<WhichLab>,
) -> Result<Html<String>, Refused> {
    let path = app.results_file(&which.file)?;
    let id = LabId(which.lab);
    let html = blocking(move || Ok(report::render(&Results::open(&path)?, id)?)).await?;
    Ok(Html(html))
}

/// Reads files beside the threads that answer.
async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    let ended = tokio::task::spawn_blocking(read).await;
    ended.unwrap_or_else(|_| Err(Refused::failed("Reading the results file failed.")))
}
