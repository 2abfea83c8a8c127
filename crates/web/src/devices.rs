//! Devices that can be emulated, and each against its data sheet. A name is one of the builtins.

use crate::access::TokenGiven;
use crate::app::{App, Refused};
use crate::page::{page, said};
use crate::program::PATIENCE_TO_MEASURE;
use axum::Form;
use axum::extract::{Query, State};
use device::{Profile, builtin, builtins};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize)]
pub struct WhichDevice {
    #[serde(default)]
    name: String,
}

impl WhichDevice {
    fn profile(&self) -> Result<Profile, Refused> {
        let words = "There is no device of that name here; `mydyno device show FILE` reads a \
                     profile of your own.";
        builtin(&self.name).ok_or_else(|| Refused::missing(words))
    }
}

/// `/devices`: all of them, and the profile of one.
pub async fn list(Query(which): Query<WhichDevice>) -> Result<Markup, Refused> {
    let shown = if which.name.is_empty() { None } else { Some(which.profile()?) };
    let text = shown.as_ref().map(|profile| toml::to_string(profile).unwrap_or_default());
    let body = html! {
        @if let Some(text) = &text {
            h2 { (which.name) }
            pre tabindex="0" { (text) }
            form method="post" action="/devices/verify" {
                input type="hidden" name="name" value=(which.name);
                button { "Measure it against its sheet" }
                " " span.soft { "with fio, some 30 s; it disturbs what is measured now" }
            }
        }
        div.scroll { table {
            thead { tr {
                th { "Device" } th.num { "Read IOPS" } th.num { "Write IOPS" }
                th.num { "Read, MB/s" } th.num { "Write, MB/s" } th.num { "Read, us" }
                th.num { "Flush, us" } th.num { "USD" } th { "Title" }
            } }
            tbody { @for profile in builtins() { (row(&profile)) } }
        } }
    };
    Ok(page("Devices", &body))
}

fn row(profile: &Profile) -> Markup {
    let sheet = &profile.sheet;
    let figures = [
        sheet.random_read_iops,
        sheet.random_write_iops,
        sheet.sequential_read_mb_per_s,
        sheet.sequential_write_mb_per_s,
        sheet.read_latency_us,
        sheet.flush_latency_us,
        profile.price_usd,
    ];
    html! {
        tr {
            td { a href={ "/devices?name=" (profile.name) } { (profile.name) } }
            @for figure in figures {
                td.num { (figure.map_or_else(String::new, |figure| format!("{figure:.0}"))) }
            }
            td { (profile.title) }
        }
    }
}

/// `/devices/verify`: one under fio, each figure of its sheet beside what was measured.
pub async fn verify(
    State(app): State<Arc<App>>,
    token: TokenGiven,
    Form(which): Form<WhichDevice>,
) -> Result<Markup, Refused> {
    let name = which.profile()?.name;
    let asked = ["device", "verify", "--seconds=1", "--", &name];
    let measured = app.program.ask(&token, PATIENCE_TO_MEASURE, &asked).await;
    Ok(page(&name, &html! { (said(&measured)) p { a href="/devices" { "Devices" } } }))
}
