//! Devices that can be emulated, and each against its data sheet.

use crate::app::App;
use crate::page::{page, said};
use axum::Form;
use axum::extract::{Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize)]
pub struct WhichDevice {
    #[serde(default)]
    name: String,
}

/// `/devices`: all of them, and the profile of one.
pub async fn list(State(app): State<Arc<App>>, Query(which): Query<WhichDevice>) -> Markup {
    let list = app.program.ask(["device", "list"]).await;
    let shown = match which.name.as_str() {
        "" => None,
        name => Some(app.program.ask(["device", "show", "--", name]).await),
    };
    page(
        "Devices",
        &html! {
            form {
                label { "Show " input name="name" value=(which.name) placeholder="nvme-pm1725"; }
                " " button { "Show" }
            }
            @if let Some(shown) = &shown {
                (said(shown))
                @if shown.is_ok { form method="post" action="/devices/verify" {
                    input type="hidden" name="name" value=(which.name);
                    button { "Measure it against its sheet" }
                    " " span.soft { "with fio, some 30 s; it disturbs what is measured now" }
                } }
            }
            (said(&list))
        },
    )
}

/// `/devices/verify`: one under fio, each figure of its sheet beside what was measured.
pub async fn verify(State(app): State<Arc<App>>, Form(which): Form<WhichDevice>) -> Markup {
    let asked = ["device", "verify", "--seconds=1", "--", &which.name];
    let measured = app.program.measure(asked).await;
    page(&which.name, &html! { (said(&measured)) p { a href="/devices" { "Devices" } } })
}
