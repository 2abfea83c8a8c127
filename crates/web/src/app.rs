//! What pages are made from, and why there is none.

use crate::feeds::Feeds;
use crate::files::ResultsFiles;
use crate::labs::Glances;
use crate::page::page;
use crate::program::Program;
use crate::runs::StartedLabs;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::html;
use report::ReportError;
use std::path::PathBuf;
use std::sync::Arc;
use store::StoreError;
use tokio::sync::Semaphore;

/// What the pages are made from.
#[derive(Debug)]
pub struct App {
    pub files: ResultsFiles,
    pub plans: PathBuf,
    pub program: Program,
    /// Plans that are looked at, at one time.
    pub drafts: Arc<Semaphore>,
    pub feeds: Feeds,
    pub runs: StartedLabs,
    pub glances: Glances,
}

impl App {
    /// The results file of this name.
    pub fn results_file(&self, name: &str) -> Result<PathBuf, Refused> {
        let missing = || Refused::missing("There is no such results file here.");
        self.files.find(name).ok_or_else(missing)
    }
}

/// Why there is no page.
#[derive(Debug)]
pub struct Refused {
    status: StatusCode,
    words: String,
}

impl Refused {
    pub fn new(status: StatusCode, words: impl ToString) -> Refused {
        Refused { status, words: words.to_string() }
    }

    pub fn missing(words: impl ToString) -> Refused {
        Refused::new(StatusCode::NOT_FOUND, words)
    }

    pub fn failed(words: impl ToString) -> Refused {
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, words)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Refused {
        match error {
            StoreError::NotFound { .. } => Refused::missing(error),
            _ => Refused::failed(error),
        }
    }
}

impl From<ReportError> for Refused {
    fn from(error: ReportError) -> Refused {
        Refused::failed(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let words = html! { p.problem role="alert" { (self.words) } };
        (self.status, page("No page", &words)).into_response()
    }
}
