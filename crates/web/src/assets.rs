//! The script and the styles of the pages.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

const SCRIPT: &str = include_str!("../assets/serve.js");
const STYLE: &str = include_str!("../assets/serve.css");

fn asset(kind: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "max-age=60")], text).into_response()
}

pub async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

pub async fn style() -> Response {
    asset("text/css; charset=utf-8", STYLE)
}

pub async fn chart_script() -> Response {
    asset("text/javascript; charset=utf-8", report::UPLOT_JS)
}

pub async fn chart_style() -> Response {
    asset("text/css; charset=utf-8", report::UPLOT_CSS)
}
